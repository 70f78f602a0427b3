#!/usr/bin/env bash
# numeric_test.sh - a loss that is not finite ends the run, named, with the weights of before; other ends with
# status 0 that are failures: a plugin that exits, output of any command that cannot be written.
. "$(dirname "$0")/lib.sh"
small_run | sed 's/"1ba"/"1ep"/; s/"3ep"/"1ep"/' >run.json

"$TUTTI" train run.json --set 'optimizer={"name": "sgd", "lr": 1e30}' >out.txt 2>err.txt
check "a learning rate out of this world fails" test $? = 1
check "the batch and the module are named" grep -Eq \
  "^tutti: the loss of batch [0-9]+ is (NaN|infinite): the first result that is not finite is body\.[a-z0-9.]+'s [a-z_0-9]+$" err.txt
check "nothing is said to be trained" sh -c '! grep -q ^trained out.txt'
check "and nothing saved" test -z "$(ls saves)"
"$TUTTI" train run.json --set 'optimizer={"name": "sgd", "lr": 1e30}' --set on_nonfinite=warn >out.txt 2>err.txt
check "warn goes on" test $? = 0
check "and says so once" test "$(grep -c 'the loss of batch [0-9]* is' err.txt)" = 1
check "a metric that is not finite is printed or finite" grep -q '^test accuracy: ' out.txt
rm -rf saves
says "ignore goes on and says nothing" 0 "" \
  "$TUTTI" train run.json --set 'optimizer={"name": "sgd", "lr": 1e30}' --set on_nonfinite=ignore
rm -rf saves

# Data: one NaN among the images.
python3 - <<'PY'
import struct
def npy(name, descr, shape, data):
    text = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}"
    with open(name, "wb") as f:
        f.write(b"\x93NUMPY\1\0" + struct.pack("<H", len(text)) + text.encode() + data)
values = [0.25] * (64 * 16)
values[700] = float("nan")
npy("x.npy", "<f4", "(64, 16)", struct.pack("<1024f", *values))
npy("y.npy", "<i8", "(64,)", struct.pack("<64q", *(k % 3 for k in range(64))))
PY
cat >nan.json <<'JSON'
{
  "model": {"name": "mlp", "hidden": [4], "num_classes": 3},
  "train": {"dataset": {"name": "npy", "inputs": "x.npy", "targets": "y.npy"}, "batch_size": 64},
  "optimizer": {"name": "sgd", "lr": 0.1}, "max_duration": "1ep"
}
JSON
says "a NaN in the data" 1 "tutti: the loss of batch 0 is NaN: the batch's input is not finite" \
  "$TUTTI" train nan.json

# In amp_fp16 the loss scale explains gradients that are not finite, never a loss.
says "amp_fp16: a NaN in the data" 1 "tutti: the loss of batch 0 is NaN: the batch's input is not finite" \
  "$TUTTI" train nan.json --set precision=amp_fp16
says "and on a device" 1 "tutti: the loss of batch 0 is NaN: all weights are finite; the device no longer has the batch" \
  "$TUTTI" train nan.json --set precision=amp_fp16 --device shadow --plugin-path "$(dirname "$TUTTI")/tests/devices/plugins"
"$TUTTI" train run.json --set precision=amp_fp16 --set 'optimizer={"name": "sgd", "lr": 1e38}' >out.txt 2>err.txt
check "amp_fp16: a learning rate out of this world fails" test $? = 1
check "and names the batch" grep -Eq '^tutti: the loss of batch [0-9]+ is (NaN|infinite): ' err.txt
sed 's/"max_duration": "1ep"/"max_epochs": 1, "process": "supervised"/' nan.json >nan_engine.json
for p in fp32 amp_fp16; do
  says "$p: tutti run, a NaN in the data" 1 "tutti: the loss of batch 0 is NaN: the batch's input is not finite" \
    "$TUTTI" run nan_engine.json --set precision=$p
done
# A plugin that writes a NaN to a weight; one that ends the process.
plugin() { # <name> <what apply does> <event> [<when>]
  mkdir -p "plugins/$1"
  cat >"plugins/$1/$1.c" <<C
/* $1.c - an algorithm for one test. */
#include "tutti/tutti.h"
#include "tutti/weights.h"
#include <math.h>
#include <stdlib.h>
static const tutti_weights_v1 *weights;
static tutti_status open_it(const tutti_host *host, const tutti_params *params, void **self, tutti_error *err)
{
    weights = host->query(host->ctx, TUTTI_WEIGHTS_V1);
    *self = &weights;
    return TUTTI_OK;
}
static int32_t match(void *self, const tutti_event *event) { return ${4:-event->step == 3}; }
static tutti_status apply(void *self, const tutti_event *event, int64_t *code, tutti_error *err)
{
    tutti_weight w = {.struct_size = sizeof w};
    if (weights->at(weights->ctx, 1, &w, err))
        return TUTTI_E_FAIL;
    $2;
    return TUTTI_OK;
}
static tutti_status close_it(void *self, tutti_error *err) { return TUTTI_OK; }
static const tutti_calls calls = {.struct_size = sizeof calls, .open = open_it, .match = match,
                                  .apply = apply, .close = close_it};
static const tutti_object object = TUTTI_OBJECT_INIT("$1", TUTTI_KIND_ALGORITHM, &calls);
static const tutti_object *const objects[] = {&object, NULL};
static const tutti_plugin plugin = TUTTI_PLUGIN_INIT("test.$1", "1.0.0", objects);
TUTTI_EXPORT const tutti_plugin *tutti_plugin_v1(uint32_t host_abi) { return &plugin; }
C
  cat >"plugins/$1/plugin.json" <<JSON
{"format": "1.0", "id": "test.$1", "version": "1.0.0", "license": "Apache-2.0",
 "abi": {"min": "1.0"}, "library": {"path": "$1.so"},
 "objects": [{"name": "$1", "kind": "algorithm", "doc": "For a test.", "events": ["$3"]}]}
JSON
  cc -std=c11 -shared -fPIC -fvisibility=hidden -I "$SOURCE/sdk/include" "plugins/$1/$1.c" -o "plugins/$1/$1.so" -lm
}
plugin poisons '((float *)w.data.data)[0] = NAN' batch_end
says "a plugin that writes NaN" 1 "tutti: the loss of batch 3 is NaN: module body.head: its weight is not finite" \
  "$TUTTI" train run.json --plugin-path plugins --set 'algorithms=[{"name": "poisons"}]' --set callbacks=[]
says "also behind the last loss" 1 "tutti: after batch 3, module body.head: its weight is not finite" \
  "$TUTTI" train run.json --plugin-path plugins --set 'algorithms=[{"name": "poisons"}]' --set max_duration=3ba --set callbacks=[]
sed 's/"max_duration": "[0-9a-z]*"/"max_iters": 3, "process": "supervised"/; /"schedulers"/d' run.json >engine.json
says "and behind the last one of tutti run" 1 "tutti: after batch 3, module body.head: its weight is not finite" \
  "$TUTTI" run engine.json --plugin-path plugins --set 'algorithms=[{"name": "poisons"}]' --set callbacks=[] --set eval=[]

# Gradients that no loss scale makes finite.
plugin spoils '((float *)w.grad)[0] = NAN' after_backward 1
spoilt=(--plugin-path plugins --set 'algorithms=[{"name": "spoils"}]' --set callbacks=[] --set eval=[] --set precision=amp_fp16)
says "amp_fp16: no update at any scale" 1 "tutti: no update since batch 0: the gradients of 32 batches in a row are not finite, and the loss scale is down to 1.52588e-05" \
  "$TUTTI" train run.json "${spoilt[@]}" --set max_duration=4ep
says "the same in tutti run" 1 "tutti: no update since batch 0: the gradients of 32 batches in a row are not finite, and the loss scale is down to 1.52588e-05" \
  "$TUTTI" run engine.json "${spoilt[@]}" --set max_iters=40
check "and on a device, where that is known later" sh -c '! "$@" 2>err.txt && tail -1 err.txt |
  grep -q "^tutti: no update since batch 0: the gradients of 32 batches in a row are not finite, and the loss scale is down to 1.52588e-05$"' \
  sh "$TUTTI" train run.json "${spoilt[@]}" --set max_duration=4ep --device shadow --plugin-path "$(dirname "$TUTTI")/tests/devices/plugins"
"$TUTTI" train run.json "${spoilt[@]}" --set max_duration=4ep --set on_nonfinite=warn >out.txt 2>err.txt
check "warn goes on and says it once" test "$?$(grep -c 'no update since batch 0: the gradients of 32 batches' err.txt)" = 01
"$TUTTI" train run.json "${spoilt[@]}" --set max_duration=3ba >out.txt 2>err.txt
check "a run that ends without its last updates says so" grep -q \
  'the run ends without an update since batch 0: the gradients of the last 3 batches are not finite, the loss scale is now 8192$' err.txt

plugin leaves 'exit(0)' before_loss
says "a plugin that ends the process" 1 "tutti: plugin test.leaves ended the process: leaves, call apply, event before_loss, step 3" \
  "$TUTTI" train run.json --plugin-path plugins --set 'algorithms=[{"name": "leaves"}]' --set callbacks=[]

says "output that cannot be written" 1 "tutti: cannot write to standard output: No space left on device" \
  bash -c '"$0" plugins list >/dev/full' "$TUTTI"
says "also that of a run" 1 "tutti: cannot write to standard output: No space left on device" \
  bash -c '"$0" train run.json --set callbacks=[] --set eval=[] >/dev/full' "$TUTTI"
rm -rf runs saves
"$TUTTI" train run.json --quiet --set name=first --set 'loggers=[{"name": "jsonl"}]' >out.txt 2>err.txt
"$TUTTI" train run.json >/dev/full 2>err.txt
check "a run that fails says both, and why what it printed before is lost" sh -c 'test $1 = 1 &&
  grep -q "^tutti: checkpoint_saver on fit_start: .* is there already" err.txt &&
  test "$(tail -n +2 err.txt)" = "tutti: cannot write to standard output: No space left on device"' sh $?

# All that prints: each line's command has nobody who takes it.
printf 'abcdefghijklmnopqrstuvwxyz %.0s' {1..40} >text.txt
cat >text.json <<'JSON'
{"name": "text", "model": {"name": "gpt2", "n_layer": 1, "n_head": 2, "n_embd": 16}, "optimizer": {"name": "sgd", "lr": 0.01},
 "train": {"dataset": {"name": "text", "path": "text.txt", "length": 16}, "batch_size": 16}, "max_duration": "1ba",
 "callbacks": [{"name": "checkpoint_saver", "folder": "texts", "interval": "1ba"}]}
JSON
"$TUTTI" train text.json --quiet >out.txt 2>err.txt
"$TUTTI" train run.json --quiet --set name=second --set 'callbacks=[]' >out.txt 2>err.txt
library=/usr/share/javascript/chart.js/chart.min.js
[ -e "$library" ] || { echo 'var Chart = function () {};' >stand_in.js && export TUTTI_CHART_JS=$work/stand_in.js; }
cp -r "$(dirname "$TUTTI")/lib/tutti/plugins/mixup" mixup && chmod -R go-w mixup
cat >prints.txt <<TXT
train run.json --set callbacks=[]
train run.json --set callbacks=[] --quiet
run engine.json --set callbacks=[]
eval run.json --checkpoint auto
predict run.json --checkpoint auto --output out.npy
generate texts/latest.safetensors --prompt abc --max-tokens 4
generate texts/latest.safetensors --prompt abc --max-tokens 4 --json
export saves/latest.safetensors --onnx out.onnx
runs
runs --json
runs --plot loss/train/total
runs compare runs/first runs/second
runs compare runs/first runs/second --json
report
validate run.json
explain run.json
explain run.json --json
plan run.json
plan run.json --dot
plan run.json --traffic
plan run.json --world 4
profile run.json --batches 2
profile run.json --batches 2 --json
plugins list
plugins path
plugins lock
plugins trust
plugins info mixup
plugins info cpu
plugins new mine
plugins keygen key --no-password
plugins sign mixup --key key.key
plugins verify mixup --key key.pub
plugins check mixup
plugins check mixup --json
ops
ops exp
layers
layers linear
data inspect text.txt
data inspect text.txt --json
bench dispatch
bench loader run.json
docs man
docs man train
docs format $SOURCE/sdk/schema/run.schema.json tutti-run
docs complete -- tr
version
--version
help
help train
--help
TXT
for command in $("$TUTTI" --help | sed -n 's/^  \([a-z]*\)  .*/\1/p'); do
  [ "$command" = help ] || echo "$command --help" >>prints.txt
  check "$command is among what prints" grep -Eqx "$command( .*)?" <(grep -v -e --help prints.txt)
done
while read -r line; do
  read -ra words <<<"$line"
  says "$line: nobody takes it" 1 "tutti: cannot write to standard output: No space left on device" \
    bash -c '"$0" "$@" >/dev/full </dev/null' "$TUTTI" "${words[@]}"
done <prints.txt
for format in csv jsonl; do
  says "predict: $format that nobody takes" 1 "tutti: /dev/stdout: No space left on device" \
    bash -c '"$0" predict run.json --checkpoint auto --format "$1" --output /dev/stdout >/dev/full' "$TUTTI" $format
done

# Top and ps show the program's name after it has started itself once more, with how long its threads spin: for less
# where more threads want to run than there are processors (those of the test do), and did so for the last minute.
load() { cut -d ' ' -f 1 /proc/loadavg; }
processors=$(getconf _NPROCESSORS_ONLN)
busy=()
for _ in $(seq $((processors + 1))); do
  (while :; do :; done) &
  busy+=($!)
done
start_and_look() { # sets name, spin and want
  local before after run
  before=$(load)
  env -u GOMP_SPINCOUNT -u OMP_WAIT_POLICY "$TUTTI" train run.json --set max_duration=1000ep --set callbacks=[] >out.txt 2>&1 &
  run=$!
  spin=
  for _ in {1..200}; do
    spin="$(tr '\0' '\n' <"/proc/$run/environ" | sed -n 's/^GOMP_SPINCOUNT=//p')"
    [ -n "$spin" ] && break
    sleep 0.05
  done
  after=$(load)
  name=$(cat "/proc/$run/comm")
  kill -KILL $run
  want="$(awk -v before="$before" -v after="$after" -v n="$processors" \
    'BEGIN { print (before > n && after > n ? "500" : before <= n && after <= n ? "20000" : "500|20000") }')"
}
for _ in {1..5}; do # where a quota stops the test's threads for a while, they do not want to run
  start_and_look
  [ "$want$spin" = 50020000 ] || break
done
kill -KILL "${busy[@]}"
wait 2>check.out # the shell says that they were killed
check "the process is called by its name" test "$name" = tutti
check "its threads spin for less on a busy machine" grep -qxE "$want" <<<"$spin"
finish
