#!/usr/bin/env bash
# plan_test.sh - what a training step computes, as text and as a drawing, without training.
. "$(dirname "$0")/lib.sh"
small_run >run.json
"$TUTTI" plan run.json >out.txt 2>err.txt
check "it goes well and quietly" test "$?$(cat err.txt)" = 0
check "sizes come first" grep -qE \
  '^nodes [0-9]+, steps [0-9]+, arena [0-9.]+ KiB of [0-9.]+ KiB of results, in all [0-9.]+ (K|M)iB, [0-9.]+ GFLOP$' \
  <(head -1 out.txt)
check "nodes name their modules" grep -qE '^%[0-9]+ F32 \(64, 32\) = matmul\(.*# ' out.txt
check "the microbatch is the batch" grep -qE '^%1 F32 \(64, ' out.txt
check "steps tell places" grep -qE '^ +[0-9]+ matmul .* at [0-9]+' out.txt
check "the loss is there" grep -qE 'softmax_cross_entropy\(' out.txt
check "the arena has a map" grep -qE '^arena [0-9]+ \+[0-9]+ steps [0-9]+-[0-9]+$' out.txt
"$TUTTI" plan run.json --dot --set microbatch_size=16 >out.dot 2>err.txt
check "drawn" test "$?$(cat err.txt)" = 0
check "a drawing opens and closes" test "$(head -1 out.dot) $(tail -1 out.dot)" = "digraph plan { }"
check "of microbatches" grep -q 'F32 (16, 32)' out.dot
check "with edges" grep -qE '^  n[0-9]+ -> n[0-9]+ \[label="F32' out.dot
if command -v dot >/dev/null; then
  check "Graphviz reads it" dot -Tsvg out.dot -o out.svg
else
  skip "there is no Graphviz"
fi
# Where the gradient of outputs lies: in their place unless somebody may look at them.
outputs() { # outputs <folder> <members of the run> <what the plan says of outputs>
  mkdir -p "$1"
  echo "$2" >members.json
  small_run | python3 "$e2e/small_run.py" members.json >"$1/run.json"
  "$TUTTI" plan "$1/run.json" >plan.txt
  test "$(grep '^output' plan.txt)" = "$3"
}
spent='output 0: its gradient lies where it lay' kept='outputs: kept beside their gradients, since'
check "outputs that nobody looks at make room" outputs none '{"loggers": [{"name": "progress_bar"}]}' "$spent"
check "in a convolutional network too" outputs cnn '{"model": {"name": "cnn"}}' "$spent"
check "a plugin that may look is named" outputs plugin '{"callbacks": [{"name": "image_visualizer", "mode": "input"}]}' \
  "$kept image_visualizer may read them"
check "and so are handlers" outputs handlers '{"handlers": [{"on": "batch_end", "call": "demo.mark"}]}' \
  "$kept handlers may read them"
check "metrics of training keep them" outputs metrics "{\"train\": $(small_run | python3 -c \
  'import json, sys; print(json.dumps(json.load(sys.stdin)["train"] | {"metrics": [{"name": "accuracy"}]}))')}" ""
for folder in none handlers; do
  check "a run, $folder" "$TUTTI" train "$folder/run.json" --quiet --duration 4ba --set eval=[]
done
check "the weights are the same" python3 "$e2e/same_weights.py" "$(latest none)" "$(latest handlers)"
rm -rf runs
# Where results of batch norm's gradient lie, with ReLU's in it: dx in the place of x, that of ReLU in the place of dy.
echo '{"model": {"name": "resnet_cifar"}}' >members.json
small_run | python3 "$e2e/small_run.py" members.json | "$TUTTI" plan /dev/stdin >plan.txt 2>err.txt
check "a residual network" test "$?$(cat err.txt)" = 0
grep -E '^ +[0-9]+ batch_norm_relu_grad ' plan.txt >steps.txt
check "a norm's gradient in each of its nine blocks" test "$(wc -l <steps.txt)" = 9
check "has the addition in it, but for the last one's" test "$(grep -cE '( %[0-9]+ F32 \([0-9, ]+\) [^%>]*){7} ->' steps.txt)" = 8
check "and writes where it read" python3 - <<'PY'
import re
for line in open("steps.txt", encoding="utf-8"):
    read, written = line.split("->")
    places = [re.findall(r"at (\d+)", part.split("scratch")[0]) for part in (read, written)]
    assert places[1][0] == places[0][0] and places[1][-1] == places[0][1], line
PY
# Weights are counted, not drawn: 200 million numbers take no memory.
cat >large.py <<'PY'
import resource, subprocess, sys
subprocess.run([sys.argv[1], "plan", "run.json", "--set", 'model={"name":"mlp","hidden":[10000,10000,10000]}'],
               check=True, stdout=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024)
PY
if [ -z "$SANITIZE" ]; then
  check "a plan of 800 MB of weights takes less than a quarter of that" test "$(python3 large.py "$TUTTI")" -lt 200
else
  skip "the memory of a plan: sanitizers take more"
fi
# What a step moves, by operation; the sums are those of the rows.
"$TUTTI" plan run.json --traffic >traffic.txt 2>err.txt
check "traffic" test "$?$(cat err.txt)" = 0
check "of products: x, w, b and y of the first" awk '$NF == "matmul" { found = $2 >= 4e-9 * (64 * 784 + 32 * 784 + 32) && $3 >= 4e-9 * 64 * 32 } END { exit !found }' traffic.txt
check "adds up" awk 'NR > 1 && $NF != "all" { sum += $1; steps += $6; if (last && $1 > last) exit 1; last = $1 }
  $NF == "all" { good = sum - $1 < 1e-5 && $1 - sum < 1e-5 && steps == $6 && $4 == "100.0" } END { exit !good }' traffic.txt
# Over more processes than there are: measured here, predicted by a model.
"$TUTTI" plan run.json --world 4 --link 1:50 --set microbatch_size=16 >world.txt 2>err.txt
check "a step over four ranks is predicted quietly" test "$?$(cat err.txt)" = 0
check "with its slots" grep -qxE '4 ranks: 4 slots of at most 16 samples, 1 on a rank at most' world.txt
check "its memory" grep -qE '^memory of a rank: .*: weights .*, gradients .*, optimizer state .*, sums of slots .*, the step' world.txt
check "its bytes" grep -qE '^sent by a rank in a step: [0-9.]+ [KM]iB$' world.txt
check "its time" grep -qE '^predicted: a step of .* ms of it waiting for other ranks; efficiency [01]\.[0-9]+$' world.txt
check "and the link that was assumed" grep -qE 'assumed: links of 1 Gbit/s, 50 us' world.txt
check "no better sizes than these" test "$(grep -c better world.txt)" = 0
"$TUTTI" plan run.json --world 3 --set microbatch_size=16 >world.txt
check "better sizes than three ranks are named" grep -qx 'the slots do not divide evenly: better are 2 ranks' world.txt
says "no number of ranks is refused" 2 "tutti: --world many, want a number of processes from 1 to 4096, and behind a colon how many share a machine, such as 64:8" "$TUTTI" plan run.json --world many
says "nor one of a machine" 2 "tutti: --world 4:0, want a number of processes from 1 to 4096, and behind a colon how many share a machine, such as 64:8" "$TUTTI" plan run.json --world 4:0
"$TUTTI" plan run.json --world 4:2 --set microbatch_size=16 >world.txt
check "ranks of a machine" grep -qx '4 ranks, 2 a machine: 4 slots of at most 16 samples, 1 on a rank at most' world.txt
check "what crosses is told" grep -qE '^sent by a rank in a step: [0-9.]+ [KM]iB, [0-9.]+ [KM]iB of it to other machines$' world.txt
page=$(grep -oE '^tutti plan run.json --world [^#]*[0-9]' "$SOURCE/docs/distributed.md")
# shellcheck disable=SC2086
"$TUTTI" ${page#tutti } --set microbatch_size=1 >page.txt
check "the command of docs/distributed.md" grep -qx '64 ranks, 8 a machine: 64 slots of at most 1 samples, 1 on a rank at most' page.txt
check "with its links" grep -qE 'assumed: links of 25 Gbit/s a machine, 10 us' page.txt
"$TUTTI" plan run.json --world 64 --set microbatch_size=2 >page.txt
check "64 ranks of 32 slots: better sizes are named" grep -qE 'better (are|is) ' page.txt
check "and that copies were measured" grep -qE 'copies between processes [0-9.]+ .iB a second; assumed: links of 10 Gbit/s a machine, 30 us' world.txt
check "nothing was trained" test ! -e runs
"$TUTTI" plan run.json --set 'model={"name":"cnn"}' --set 'loggers=[{"name": "jsonl"}]' \
  --set 'algorithms=[{"name": "squeeze_excite", "min_channels": 1}, {"name": "blurpool", "min_channels": 1}]' >surgery.txt 2>err.txt
check "surgery before training is planned quietly" test "$?$(cat err.txt)" = 0
check "its blocks are in the plan" grep -qE '= sigmoid\(.*# body\.conv0$' surgery.txt
check "also the modules of a second one" grep -qE '# body\.pool0\.pool$' surgery.txt
check "and loggers have begun nothing" test ! -e runs
says "unknown options are refused" 2 "tutti: --perspective is no option" "$TUTTI" plan run.json --perspective

# The algorithm of each convolution is in the plan; measured ones are kept in a file, which decides.
cnn='model={"name":"cnn"}'
"$TUTTI" plan run.json --set "$cnn" >default.txt 2>err.txt
check "an algorithm by default" grep -qE '^ +[0-9]+ conv2d \[oneDNN [0-9.]+ direct\] ' default.txt
check "and nothing said" test ! -s err.txt
export XDG_CACHE_HOME=$PWD/cache
TUTTI_TUNE=1 "$TUTTI" plan run.json --set "$cnn" >measured.txt 2>err.txt
check "measured quietly" test "$?$(cat err.txt)" = 0
check "and kept" grep -qE ', [0-9]+ threads, algorithms [0-9a-f]{8}: conv2d F32 .*oneDNN [0-9.]+ (direct|blocked|Winograd)$' cache/tutti/kernels
cp cache/tutti/kernels kept
TUTTI_TUNE=1 "$TUTTI" plan run.json --set "$cnn" >again.txt
check "the same next time" cmp measured.txt again.txt
check "without a change" cmp kept cache/tutti/kernels
sed -i 's/direct$/blocked/; s/Winograd$/blocked/' cache/tutti/kernels
TUTTI_TUNE=1 "$TUTTI" plan run.json --set "$cnn" >chosen.txt
check "the file decides" grep -q 'conv2d \[oneDNN [0-9.]* blocked\]' chosen.txt
check "about all of them" test "$(grep -c 'direct\]' chosen.txt)" = 0
echo '{}' >cache/tutti/kernels
TUTTI_TUNE=1 "$TUTTI" plan run.json --set "$cnn" >chosen.txt 2>err.txt
check "a broken file is told" grep -q 'cache/tutti/kernels: line 1 is no choice of a kernel; the file is left aside$' err.txt
check "and replaced" grep -q '^tutti kernel choices 1$' cache/tutti/kernels
finish
