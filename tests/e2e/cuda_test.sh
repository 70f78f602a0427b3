#!/usr/bin/env bash
# cuda_test.sh - a run on a GPU, as far as the stand-in for its runtime goes; what is said where there is none.
. "$(dirname "$0")/lib.sh"
standin="$(dirname "$TUTTI")/standin"
[ -d "$standin" ] || skip_all "the stand-in is not built"
small_run | sed 's/"callbacks": .*/"callbacks": []/' >run.json

gpu() { # gpu <settings> <command...>
  local settings=$1
  shift
  LD_LIBRARY_PATH="$standin" TUTTI_CUDA_STANDIN="$settings" "$@"
}
check "version tells of the GPU" sh -c "LD_LIBRARY_PATH='$standin' '$TUTTI' version | grep -qx 'cuda:0: Stand-in GPU'"
check "info tells its memory" sh -c "LD_LIBRARY_PATH='$standin' '$TUTTI' plugins info cuda | grep -qx '  0: Stand-in GPU, 2.0 GiB of 2.0 GiB free, kernels cuda, memory of its own, asynchronous'"
check "a run on the GPU, nothing leaks" gpu leaks=1 "$TUTTI" train run.json --device cuda --duration 4ba
export TUTTI_CUDA_TRACE=$PWD/trace
check "auto takes the GPU" gpu leaks=1 "$TUTTI" train run.json --duration 4ba
check "and replays segments as graphs" grep -q '^launch graph' trace
# A step of a run in which <events> are heard, of the three that can be: so many launches of graphs; always
# the same weights, as on the CPU nearly.
heard() { # heard <graphs> <events>
  local folder=heard$1
  rm -rf "$folder" && mkdir "$folder"
  echo "{\"eval\": [], \"handlers\": [{\"on\": [$2], \"call\": \"demo.mark\"}]}" >members.json
  small_run | python3 "$e2e/small_run.py" members.json >"$folder/run.json"
  TUTTI_CUDA_TRACE=$PWD/$folder/trace gpu leaks=1 "$TUTTI" train "$folder/run.json" --device cuda --duration 6ba || return 1
  [ "$(grep -c '^launch graph' "$folder/trace")" = $((4 * $1)) ] # the first two steps are launch by launch
}
check "a step that nobody listens inside of is one graph" heard 1 '"batch_end"'
check "two where the forward pass is heard of" heard 2 '"after_forward", "before_loss"'
check "four where everything is" heard 4 '"after_forward", "after_loss", "after_backward"'
check "with the same weights" python3 "$e2e/same_weights.py" "$(latest heard1)" "$(latest heard4)"
check "and the same again" python3 "$e2e/same_weights.py" "$(latest heard1)" "$(latest heard2)"
says "plan tells of one graph" 0 "" sh -c "LD_LIBRARY_PATH='$standin' '$TUTTI' plan heard1/run.json --device cuda |
  grep -qx 'segments of a step: forward + loss + backward + update'"
says "and of how many launches" 0 "" sh -c "LD_LIBRARY_PATH='$standin' '$TUTTI' plan heard1/run.json --device cuda |
  grep -qE '^launches expected: forward [1-9][0-9]*, loss [1-9][0-9]*, backward [1-9][0-9]*, one a step; '"
# Loss and metrics of a step are looked at when it is over: waits are at the end of an epoch and of the run.
echo '{"eval": [], "callbacks": [], "microbatch_size": 40}' >members.json
small_run | python3 "$e2e/small_run.py" members.json |
  sed 's/"workers": 2/"workers": 2, "metrics": [{"name": "accuracy"}]/' >metrics.json
waits() { # waits <batches>: for work of a stream or of the device
  rm -f trace
  TUTTI_CUDA_TRACE=$PWD/trace gpu leaks=1,eager=1 "$TUTTI" train metrics.json --device cuda --duration "$1ba" >/dev/null || return 1
  grep -cE '^wait for (stream|the device)' trace
}
check "no wait inside of steps with metrics" test "$(waits 5)" = "$(waits 9)"
small_run '"precision": "amp_fp16"' | python3 "$e2e/small_run.py" members.json >metrics.json
check "nor for the loss scale" test "$(waits 5)" = "$(waits 9)"
check "whose update is in the graph" test "$(grep -c '^launch adam_step_cuda' trace)" = 3
echo '{"eval": [], "callbacks": [], "microbatch_size": 40, "algorithms": [{"name": "sam"}]}' >members.json
small_run | python3 "$e2e/small_run.py" members.json |
  sed 's/"workers": 2/"workers": 2, "metrics": [{"name": "accuracy"}]/' >metrics.json
check "nor where the batch is evaluated twice" test "$(waits 5)" = "$(waits 9)"
echo '{"eval": [], "callbacks": [], "algorithms": [{"name": "selective_backprop", "start": 0, "end": 1, "interrupt": 0}]}' >members.json
small_run | python3 "$e2e/small_run.py" members.json >metrics.json
check "nor where samples are chosen by their losses" test "$(waits 5)" = "$(waits 9)"
unset TUTTI_CUDA_TRACE

# Weights in 16 bits: written by the optimizer step, made anew after a checkpoint, a swap of weights (ema)
# or an update that another wraps (sam); a run taken up again has read the same ones if it ends alike.
for more in '[{"name": "ema", "half_life": "3ba"}]' '[{"name": "sam", "interval": 2}]'; do
  rm -rf a b && mkdir a b
  small_run "\"precision\": \"amp_bf16\", \"algorithms\": $more" |
    sed 's/"3ep"/"8ba"/; s/"samples": 640/"samples": 320/; s/"keep": 2/"keep": -1/' | tee a/run.json >b/run.json
  check "16 bits with $more" sh -c "cd a && LD_LIBRARY_PATH='$standin' '$TUTTI' train run.json --device cuda"
  check "taken up again" sh -c "cd b && LD_LIBRARY_PATH='$standin' '$TUTTI' train run.json --device cuda --resume \$(ls ../a/saves/*-ba4.*)"
  check "ends alike" python3 "$e2e/same_weights.py" "$(latest a)" "$(latest b)"
done
gpu "" "$TUTTI" plan a/run.json --device cuda >plan.txt
check "no step rounds weights" sh -c "! grep -E '^ +[0-9]+ cast %[0-9]+ F32 .* fixed ->' plan.txt"
gpu "" "$TUTTI" plan run.json --device cuda >plan.txt
check "plan tells what a step takes" grep -qE '^  the plan of a step [0-9.]+ [KM]iB$' plan.txt
gpu memory=1500000 "$TUTTI" train run.json --device cuda --set train.batch_size=640 2>err.txt
check "a plan larger than the GPU is refused with its size" grep -qE \
  '^tutti: the training plan for inputs of .* needs [0-9.]+ [KM]iB, [0-9.]+ [KM]iB are available on Stand-in GPU; use a smaller microbatch_size$' err.txt
says "no driver" 2 'tutti: cuda: there is no NVIDIA driver, the runtime of CUDA 13.0 wants one' \
  gpu driver=0 "$TUTTI" train run.json --device cuda
says "not so many" 2 'tutti: there is no device 3, this machine has 1' \
  gpu devices=1 "$TUTTI" train run.json --device cuda:3
says "too old" 2 'tutti: cuda:0: Stand-in GPU has compute capability 7.0, want 8.0 or newer' \
  gpu capability=70 "$TUTTI" train run.json --device cuda

# The object form of the device: what it allows, and what is wrong with it.
on() { # on <settings of the device>: a run on it
  small_run | sed 's/"callbacks": .*/"callbacks": [], "device": {"name": "cuda"'"${1:+, $1}"'}/' >on.json
}
rm -f "$PWD/trace"
on '"index": 0, "graphs": false, "tf32": true'
check "a run without graphs" env TUTTI_CUDA_GRAPHS=1 TUTTI_CUDA_TRACE="$PWD/trace" LD_LIBRARY_PATH="$standin" \
  "$TUTTI" train on.json --duration 4ba
check "has none" sh -c "grep -q '^launch ' trace && ! grep -q '^capture' trace"
on '"memory_limit": 0.25'
check "a limit that is wide enough" gpu leaks=1 "$TUTTI" train on.json --duration 2ba
on '"memory_limit": 0.001'
gpu "" "$TUTTI" train on.json --set train.batch_size=640 2>err.txt
check "a plan larger than its limit is refused" grep -qE \
  '^tutti: the training plan for inputs of .* needs [0-9.]+ MiB, [0-9.]+ [KM]iB are available on Stand-in GPU; use a smaller microbatch_size$' err.txt
on '"memory_limt": 2, "graphs": 1, "memory_limit": 0, "index": -1'
says "what is wrong with it is told at once" 2 'on.json:20: device.index: is -1, want an integer of at least 0 and of at most 1023
on.json:20: device.memory_limt: unknown key; did you mean memory_limit?
on.json:20: device.graphs: is 1, want true or false
on.json:20: device.memory_limit: is 0, want a number of GiB above 0 and of at most 1048576' \
  "$TUTTI" validate on.json

# Who computes is told: library and algorithm of each step, why there is none, what becomes of graphs.
images() { # images <command...>: on a net with convolutions
  gpu "" "$TUTTI" "$@" "$SOURCE/host/recipes/glyphs_cnn.json" --device cuda --set train.batch_size=8 --set 'eval=[]'
}
images plan >plan.txt
check "plan names the algorithm of a product" grep -qE '^ +[0-9]+ matmul\S* \[cuBLASLt 13\.0\.0: algorithm [0-9]+, no TF32.*\] %' plan.txt
check "and the engine of a convolution" grep -qE '^ +[0-9]+ conv2d \[cuDNN 9\.[0-9.]+: engine [0-9]+ .*no TF32\] %' plan.txt
check "and how many steps have one" grep -qE '^  [0-9]+ steps by cuDNN 9\.[0-9.]+, [0-9]+ by cuBLASLt 13\.0\.0; F32 without TF32$' plan.txt
images plan --set 'model={"name": "lenet"}' --set precision=amp_bf16 >plan.txt
check "in 16 bits those with a bias have one too" grep -qE '^ +[0-9]+ conv2d\S* \[cuDNN 9\.[0-9.]+: engine [0-9]+.*\] %' plan.txt
check "all of them" sh -c "! grep 'conv2d.*own kernel' plan.txt"
TUTTI_CUDA_LIBRARIES=0 images plan >plan.txt
check "and why there is none" grep -qE '^ +[0-9]+ conv2d \[own kernel: cuDNN: cudnnCreate failed with [0-9]+\] %' plan.txt
gpu "" "$TUTTI" plan run.json --device cuda --set precision=amp_bf16 >plan.txt
check "in 16 bits too" grep -qE '\[cuBLASLt 13\.0\.0: algorithm [0-9]+[^T]*\] %[0-9]+ BF16' plan.txt
small_run '"precision": "fp32_fast", "loggers": [{"name": "jsonl"}]' | sed 's/"callbacks": .*/"callbacks": []/' >fast.json
fast() { # fast <device> <words>: what the log of a run there says of its precision
  rm -rf runs
  gpu "" "$TUTTI" train fast.json --quiet --duration 1ba --device "$1" && grep -qF "precision fp32_fast: $2" runs/small/log.jsonl
}
check "fp32_fast is TF32 on the GPU" fast cuda "factors of products and convolutions are rounded to TF32"
check "and three products of bf16 on the CPU" fast cpu "products go as three of bf16"
on '"tf32": true'
rm -f trace
TUTTI_CUDA_TRACE=$PWD/trace gpu leaks=1 "$TUTTI" train on.json --duration 4ba >out.txt 2>err.txt
check "a run tells the same in its first lines" grep -qx '  libraries   5 steps by cuBLASLt 13.0.0; F32 by TF32' out.txt
check "and the nodes of its graph, as the runtime counts them" grep -qx \
  "  graphs      1 gathered, of $(sed -n 's/^capture ends .* of //p' trace) nodes the newest" out.txt
check "without a warning" test ! -s err.txt
on '"graphs": false'
gpu "" "$TUTTI" train on.json --duration 3ba >out.txt 2>err.txt
check "there are none where none are wanted" grep -qx '  graphs      cuda:0: no graphs are wanted' out.txt
check "which is no warning" test ! -s err.txt
on ''
gpu captures=0 "$TUTTI" train on.json --duration 3ba 2>err.txt
check "a graph that cannot be gathered is told with its reason" grep -qE \
  '^tutti: device: work that could not become a graph is launched kernel by kernel: cuda:0: a graph: .* \(cudaErrorStreamCaptureInvalidated\)$' err.txt
check "once" test "$(wc -l <err.txt)" = 1
without() { # without libraries
  TUTTI_CUDA_LIBRARIES=0 gpu leaks=1 "$TUTTI" "$@" --duration 1ba >out.txt 2>err.txt
}
check "a run without libraries" without train on.json
check "says so" grep -qx 'tutti: device: 5 steps of a plan, matmul of body.linear0 the first, run by slow kernels of our own: cuBLASLt: cublasLtCreate failed with 1' err.txt
check "and counts" grep -qx '  libraries   5 steps by own kernels; F32 without TF32' out.txt
on '"require": "libraries"'
check "who requires libraries trains where they are" gpu leaks=1 "$TUTTI" train on.json --duration 1ba
without train on.json
check "and nowhere else" test $? != 0 -a "$(cat err.txt)" = \
  'tutti: body.linear0: matmul: device.require wants a library for it: cuBLASLt: cublasLtCreate failed with 1'

# The template with device code: its kernel is launched where the weights are, and does there what it does here.
template="$(dirname "$TUTTI")/lib/tutti/template"
small_run '"algorithms": [{"name": "weight_pull", "rate": 0.05}]' | sed 's/"interval": "1ba"/"interval": "1dur"/' >pull.json
for device in cpu cuda; do
  mkdir -p $device && cp pull.json $device/run.json
  (cd $device && TUTTI_CUDA_TRACE=$PWD/trace gpu leaks=1 "$TUTTI" train run.json --device $device \
    --duration 4ba --plugin-path "$template" >out.txt 2>&1)
done
check "the template's kernel is launched on the GPU" test "$(grep -c '^launch weight_pull_cuda ' cuda/trace)" = 4
check "and does the same as on the CPU" python3 "$e2e/near_weights.py" "$(latest cpu)" "$(latest cuda)" 0.001
# Launches of the loss, of four steps, once so many are left out.
profiled() { # profiled <steps>
  TUTTI_CUDA_PROFILE=$PWD/times.tsv TUTTI_CUDA_PROFILE_AFTER=$1 TUTTI_CUDA_GRAPHS=0 gpu leaks=1 "$TUTTI" train run.json \
    --device cuda --set 'eval=[]' --duration 4ba >/dev/null && sed -n 's/^[0-9.]*\t\([0-9]*\)\tloss: softmax_cross_entropy_and_grad$/\1/p' times.tsv
}
check "the time of launches is told of all steps" test "$(profiled 0)" = 4
check "or without the first two" test "$(profiled 2)" = 2
# Outputs that stay in 16 bits on the GPU are those that somebody sees who hears the forward pass.
observer="$(dirname "$TUTTI")/tests/fixtures/observer"
outputs() { # outputs <events>
  echo "{\"eval\": [], \"precision\": \"amp_bf16\", \"callbacks\": [{\"name\": \"observer\", \"training\": false, \"outputs\": true}],
    \"loggers\": [{\"name\": \"jsonl\", \"filename\": \"$PWD/outputs.jsonl\"}], \"handlers\": [{\"on\": [$1], \"call\": \"demo.mark\"}]}" >members.json
  rm -f outputs.jsonl
  small_run | python3 "$e2e/small_run.py" members.json >outputs.json
  gpu leaks=1 "$TUTTI" train outputs.json --device cuda --duration 4ba --plugin-path "$observer" >/dev/null &&
    grep -oE '"(metrics/observer/outputs|loss/train/total)": ?[^,}]*' outputs.jsonl
}
outputs '"batch_end"' >hidden.txt
outputs '"after_forward", "batch_end"' >shown.txt
check "outputs and losses of four batches" test "$(wc -l <hidden.txt)" = 8
check "are the same bits for who hears the forward pass" cmp hidden.txt shown.txt
# What a plan computes again where the GPU's memory is short, and what it keeps where there is enough.
echo '{"model": {"name": "resnet_cifar", "depth": 20}, "optimizer": {"name": "sgd", "lr": 0.1}, "max_duration": "1ba",
  "train": {"dataset": {"name": "glyphs", "samples": 64}, "transforms": [{"name": "normalize", "mean": [0.5], "std": [0.5]}], "batch_size": 64}}' >again.json
again() { # again <bytes of the GPU>
  TUTTI_TUNE=0 gpu "memory=$1" "$TUTTI" plan again.json --device cuda >again.txt && grep -c '^computed again: ' again.txt
}
check "a GPU with room computes nothing again" test "$(again 900000000)" = 0
check "one without does" test "$(again 80000000)" = 1
check "auto without one is the CPU" gpu devices=0 "$TUTTI" train run.json --duration 1ba
gpu fail_launch=50 "$TUTTI" train run.json --device cuda >out.txt 2>err.txt
check "a failure names what was launched last" \
  grep -qE '^tutti: cuda:0: unspecified launch failure \(cudaErrorLaunchFailure\); launched last: [a-z0-9_.]+.*: [a-z0-9_]+' err.txt
finish
