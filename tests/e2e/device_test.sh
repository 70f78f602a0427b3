#!/usr/bin/env bash
# device_test.sh - runs on a plugin's device, and the devices that a run refuses.
. "$(dirname "$0")/lib.sh"
shadow="$(dirname "$TUTTI")/tests/devices/plugins"
[ -d "$shadow" ] || skip_all "the shadow device is not built"
small_run '"device": "cpu"' >cpu.json
small_run '"device": {"name": "shadow", "index": 1, "unified": true}' >shadow.json
small_run '"device": "shadow:7"' >seven.json
small_run '"device": 3' >number.json
small_run '"device": {"name": "shadow", "unifed": true}' >typo.json

for run in cpu shadow; do
  mkdir -p $run && cp $run.json $run/
  check "a run on $run" "$TUTTI" train $run/$run.json --plugin-path "$shadow"
done
check "both end with the same weights" python3 "$e2e/same_weights.py" "$(latest cpu)" "$(latest shadow)"
check "auto is a device" "$TUTTI" validate cpu.json --set device=auto
says "which has no settings" 2 'cpu.json: device.name: auto has no settings, want "device": "auto", or the name cpu, cuda or that of a plugin'"'"'s device here' \
  "$TUTTI" validate cpu.json --set 'device={"name": "auto"}'
says "a misspelt name is told as that" 2 "cpu.json: device.nmae: unknown key; did you mean name?" \
  "$TUTTI" validate cpu.json --set 'device={"nmae": "cpu"}'
says "a name is wanted" 2 "cpu.json: device: name is missing, want the name of a device" \
  "$TUTTI" validate cpu.json --set 'device={"unified": true}'
says "cpu has no settings of cuda" 2 "cpu.json: device.require: is a setting of the device cuda, cpu does not have it" \
  "$TUTTI" validate cpu.json --set 'device={"name": "cpu", "require": "libraries"}'

# Memory that the host cannot reach: the same numbers, in every precision and microbatch by microbatch.
for precision in fp32 amp_bf16 amp_fp16; do
  rm -rf here there && mkdir here there
  small_run "\"microbatch_size\": 24, \"precision\": \"$precision\"" | tee here/run.json >there/run.json
  check "$precision on cpu" "$TUTTI" train here/run.json
  check "$precision on a device of its own memory" "$TUTTI" train there/run.json --device shadow --plugin-path "$shadow"
  check "$precision: the same weights" python3 "$e2e/same_weights.py" "$(latest here)" "$(latest there)"
done
save="$(latest here)"
"$TUTTI" eval here/run.json --checkpoint "$save" >here.txt 2>&1
says "eval on the device says the same" 0 "" sh -c "'$TUTTI' eval here/run.json --checkpoint '$save' --device shadow --plugin-path '$shadow' | cmp here.txt"
"$TUTTI" predict here/run.json --checkpoint "$save" --output here.npy >/dev/null
check "predict on the device" "$TUTTI" predict here/run.json --checkpoint "$save" --output there.npy --device shadow --plugin-path "$shadow"
check "which gives the same" cmp here.npy there.npy
rm -rf here there && mkdir here there
small_run '"algorithms": [{"name": "look"}]' | tee here/run.json >there/run.json
check "a plugin without kernels on cpu" "$TUTTI" train here/run.json --plugin-path "$shadow"
says "one warning for who looks into the device" 0 \
  'tutti: train: look looks at tensors on shadow 0 and has no kernels for it: the run waits while they are copied, 160 B the first time' \
  "$TUTTI" train there/run.json --device shadow --plugin-path "$shadow"
check "the same weights" python3 "$e2e/same_weights.py" "$(latest here)" "$(latest there)"
sed 's/"look"/"halve"/' here/run.json >there/run.json && rm -rf there/saves
says "a plugin whose kernels run there looks at nothing" 0 '' \
  "$TUTTI" train there/run.json --device shadow --plugin-path "$shadow"
check "the same weights" python3 "$e2e/same_weights.py" "$(latest here)" "$(latest there)"
standin="$(dirname "$TUTTI")/standin"
if [ -e "$standin/libcudart.so.13" ]; then
  rm -rf there/saves
  says "one whose kernels do not works on copies" 0 \
    'tutti: train: halve looks at tensors on Stand-in GPU and has no kernels for it: the run waits while they are copied, 160 B the first time' \
    env LD_LIBRARY_PATH="$standin" "$TUTTI" train there/run.json --device cuda --plugin-path "$shadow"
  check "nearly the same weights" python3 "$e2e/near_weights.py" "$(latest here)" "$(latest there)" 1e-3
else
  skip "the stand-in is not built"
fi

# Metrics of training are read late there: the same numbers at the same batches.
rm -rf here there && mkdir here there
echo '{"eval": [], "callbacks": [], "microbatch_size": 24, "loggers": [{"name": "jsonl", "filename": "log.jsonl"}]}' >members.json
small_run | python3 "$e2e/small_run.py" members.json |
  sed 's/"workers": 2/"workers": 2, "metrics": [{"name": "accuracy"}, {"name": "cross_entropy"}]/' | tee here/run.json >there/run.json
check "metrics on cpu" sh -c "cd here && '$TUTTI' train run.json --duration 12ba"
check "metrics on a device" sh -c "cd there && '$TUTTI' train run.json --duration 12ba --device shadow --plugin-path '$shadow'"
check "are the same" python3 "$e2e/same_metrics.py" here/log.jsonl there/log.jsonl
# Of two evaluations the first one's loss and the last one's metrics.
rm -rf two && mkdir -p two/here two/there
for where in here there; do
  python3 - "$where/run.json" >"two/$where/run.json" <<'PY'
import json, sys
run = json.load(open(sys.argv[1], encoding="utf-8"))
run["algorithms"] = [{"name": "sam", "rho": 0.5, "interval": 2}]
run["microbatch_size"] = 24
json.dump(run, sys.stdout)
PY
done
check "two evaluations on cpu" sh -c "cd two/here && '$TUTTI' train run.json --duration 8ba"
check "two evaluations on a device" sh -c "cd two/there && '$TUTTI' train run.json --duration 8ba --device shadow --plugin-path '$shadow'"
check "are logged alike" python3 "$e2e/same_metrics.py" two/here/log.jsonl two/there/log.jsonl

# Gradients that overflow: the device finds out by itself, leaves out updates and halves its scale; what was
# left out is told later, the same.
rm -rf here there && mkdir here there
small_run '"precision": "amp_fp16", "loggers": [{"name": "file", "filename": "log.txt"}]' |
  sed 's/"lr": 0.01/"lr": 50/; s/"batch_size": 64/"batch_size": 4/; s/"samples": 640/"samples": 40/' | tee here/run.json >there/run.json
check "overflows on cpu" sh -c "cd here && '$TUTTI' train run.json --duration 12ba"
check "overflows on a device" sh -c "cd there && '$TUTTI' train run.json --duration 12ba --device shadow --plugin-path '$shadow'"
check "the same updates, the same scale" python3 "$e2e/same_weights.py" "$(latest here)" "$(latest there)"
grep -h 'are not finite' here/log.txt >here/told
grep -h 'are not finite' there/log.txt >there/told
check "some are left out, some are not" sh -c '[ "$(wc -l <here/told)" -gt 0 ] && [ "$(wc -l <here/told)" -lt 12 ]'
check "told alike" cmp here/told there/told
check "resumed on the device" sh -c "cd there && '$TUTTI' train run.json --resume auto --duration 3ba --device shadow --plugin-path '$shadow'"
check "resumed on the cpu" sh -c "cd here && '$TUTTI' train run.json --resume auto --duration 3ba"
check "goes on alike" python3 "$e2e/same_weights.py" "$(latest here)" "$(latest there)"

# Every optimizer by its kernels, on the CPU and on the stand-in of a GPU, whose sums differ in their order.
for optimizer in '{"name": "adamw", "lr": 0.01}' '{"name": "adamw", "lr": 0.01, "amsgrad": true}' \
  '{"name": "decoupled_adamw", "lr": 0.01}' '{"name": "sgd", "lr": 0.05}' \
  '{"name": "sgd", "lr": 0.05, "momentum": 0.9, "weight_decay": 0.001}' \
  '{"name": "decoupled_sgdw", "lr": 0.05, "momentum": 0.9}' '{"name": "adam", "lr": 0.01, "weight_decay": 0.01}' \
  '{"name": "nadam", "lr": 0.01}' '{"name": "radam", "lr": 0.01}' '{"name": "adagrad", "lr": 0.05}' \
  '{"name": "rmsprop", "lr": 0.001}' '{"name": "rmsprop", "lr": 0.001, "momentum": 0.5, "centered": true}' \
  '{"name": "adadelta"}' '{"name": "lion", "lr": 0.001, "weight_decay": 0.1}' \
  '{"name": "lamb", "lr": 0.01, "max_grad_norm": 0.05, "groups": [{"match": "*bias", "weight_decay": 0}]}' \
  '{"name": "lars", "momentum": 0.9, "weight_decay": 0.001}' '{"name": "adafactor"}' '{"name": "muon", "lr": 0.002}'; do
  rm -rf here there gpu && mkdir here there gpu
  echo "{\"optimizer\": $optimizer, \"max_duration\": \"4ba\", \"eval\": []}" >members.json
  small_run | python3 "$e2e/small_run.py" members.json | tee here/run.json there/run.json >gpu/run.json
  check "$optimizer on cpu" "$TUTTI" train here/run.json
  check "$optimizer on the device" "$TUTTI" train there/run.json --device shadow --plugin-path "$shadow"
  check "the same weights" python3 "$e2e/same_weights.py" "$(latest here)" "$(latest there)"
  [ -e "$standin/libcudart.so.13" ] || continue
  check "$optimizer on the stand-in" env LD_LIBRARY_PATH="$standin" "$TUTTI" train gpu/run.json --device cuda
  check "nearly the same weights" python3 "$e2e/near_weights.py" "$(latest here)" "$(latest gpu)" 1e-3
done

# What a callback reads of an optimizer's state, where it lies.
for optimizer in '{"name": "adamw", "lr": 0.01}' '{"name": "sgd", "lr": 0.05, "momentum": 0.9}' '{"name": "muon", "lr": 0.002}'; do
  rm -rf here there gpu && mkdir here there gpu
  echo "{\"optimizer\": $optimizer, \"max_duration\": \"4ba\", \"eval\": [],
    \"callbacks\": [{\"name\": \"optimizer_monitor\", \"batch_log_interval\": 2}],
    \"loggers\": [{\"name\": \"jsonl\", \"filename\": \"log.jsonl\"}]}" >members.json
  small_run | python3 "$e2e/small_run.py" members.json | tee here/run.json there/run.json >gpu/run.json
  check "$optimizer: moments on cpu" sh -c "cd here && '$TUTTI' train run.json && [ \$(grep -c l2_norm/moment/ log.jsonl) -ge 8 ]"
  check "$optimizer: moments on the device" sh -c "cd there && '$TUTTI' train run.json --device shadow --plugin-path '$shadow' 2>err.txt && [ ! -s err.txt ]"
  check "are the same" python3 "$e2e/same_metrics.py" here/log.jsonl there/log.jsonl
  [ -e "$standin/libcudart.so.13" ] || continue
  check "$optimizer: moments on the stand-in" sh -c "cd gpu && LD_LIBRARY_PATH='$standin' '$TUTTI' train run.json --device cuda 2>err.txt && ! grep 'looks at' err.txt"
  check "are nearly the same" python3 "$e2e/same_metrics.py" here/log.jsonl gpu/log.jsonl 1e-3
done

# In 16 bits, whose copies the update writes, and with a loss scale that leaves updates out.
for optimizer in '{"name": "lamb", "lr": 0.01}' '{"name": "adafactor"}' '{"name": "muon", "lr": 0.002}'; do
  for precision in amp_bf16 amp_fp16; do
    rm -rf here there gpu && mkdir here there gpu
    echo "{\"optimizer\": $optimizer, \"max_duration\": \"4ba\", \"eval\": [], \"precision\": \"$precision\"}" >members.json
    small_run | python3 "$e2e/small_run.py" members.json | tee here/run.json there/run.json >gpu/run.json
    check "$optimizer, $precision on cpu" "$TUTTI" train here/run.json
    check "$optimizer, $precision on the device" "$TUTTI" train there/run.json --device shadow --plugin-path "$shadow"
    check "the same weights" python3 "$e2e/same_weights.py" "$(latest here)" "$(latest there)"
    [ -e "$standin/libcudart.so.13" ] || continue
    check "$optimizer, $precision on the stand-in" env LD_LIBRARY_PATH="$standin" "$TUTTI" train gpu/run.json --device cuda
    check "nearly the same weights" python3 "$e2e/near_weights.py" "$(latest here)" "$(latest gpu)" 2e-2
  done
done

# Texts that a language model writes on the way.
seq 1 4000 >corpus.txt
cat >generate.json <<'JSON'
{"callbacks": [{"name": "generate", "prompts": ["12"], "max_new_tokens": 8, "temperature": 0, "interval": "10ba"}],
 "loggers": [{"name": "jsonl", "filename": "log.jsonl"}]}
JSON
for device in cpu shadow; do
  rm -rf here && mkdir here
  small_run | python3 "$e2e/small_run.py" "$SOURCE/plugins/algorithms/alibi/resume.json" generate.json >here/run.json
  check "a text on $device" sh -c "cd here && '$TUTTI' train run.json --device $device --plugin-path '$shadow'"
  grep -h '"component":"generate"' here/log.jsonl | sed 's/.*"text"/"text"/' >$device.txt
done
check "both write the same texts" sh -c "test -s cpu.txt && cmp cpu.txt shadow.txt"

# A plan for kernels that write 16 bits has no casts behind norms; the numbers are those of the casts.
for half in false true; do
  rm -rf here && mkdir here
  small_run "\"precision\": \"amp_bf16\", \"device\": {\"name\": \"shadow\", \"half_results\": $half}" |
    python3 "$e2e/small_run.py" "$SOURCE/plugins/algorithms/alibi/resume.json" >here/run.json
  check "half_results $half: its plan" sh -c "'$TUTTI' plan here/run.json --plugin-path '$shadow' >$half.plan"
  check "half_results $half: its steps" sh -c "cd here && '$TUTTI' train run.json --quiet --plugin-path '$shadow'"
  cp -L "$(latest here)" $half.safetensors
done
check "fewer casts" sh -c 'test $(grep -c " cast " true.plan) -lt $(grep -c " cast " false.plan)'
check "the same weights without them" python3 "$e2e/same_weights.py" false.safetensors true.safetensors

says "a number that there is not" 2 \
  'tutti: device shadow: there is no device 7, this machine has 2' \
  "$TUTTI" train seven.json --plugin-path "$shadow"
says "no such device" 2 \
  'seven.json:21: device: there is no device shadow, nor any other device on the plugin search path; auto, cpu and cuda are always known' \
  "$TUTTI" train seven.json
says "no name of a device" 2 \
  'number.json:21: device: is 3, want auto, cpu, cuda, the name of a device, or an object with it' \
  "$TUTTI" train number.json
says "a setting that it has not" 2 \
  'typo.json:21: device.unifed: shadow has no such setting; did you mean unified?' \
  "$TUTTI" train typo.json --plugin-path "$shadow"
check "the devices of a plugin" sh -c "'$TUTTI' plugins info shadow --plugin-path '$shadow' | grep -qx '  1: shadow 1, 256.0 MiB of 256.0 MiB free, kernels cpu, memory of its own, works in steps'"
check "the host's own device" sh -c "'$TUTTI' plugins info cpu | grep -q '  0: CPU, .* kernels cpu, memory of the host'"
finish
