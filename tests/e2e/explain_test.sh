#!/usr/bin/env bash
# explain_test.sh - who runs where, and why: six algorithms, callbacks, loggers, handlers.
. "$(dirname "$0")/lib.sh"
small_run '"algorithms": [{"name": "label_smoothing"}, {"name": "mixup"}, {"name": "ema"},
    {"name": "selective_backprop"},
    {"name": "gradient_clipping", "clipping_type": "norm", "clipping_threshold": 1.0},
    {"name": "label_smoothing", "id": "again"}],
  "loggers": [{"name": "file"}],
  "handlers": [{"on": ["batch_end", "started", "milestone"], "call": "demo.mark"}]' >run.json
"$TUTTI" explain run.json >out.txt 2>err.txt
check "it goes well and quietly" test "$?$(cat err.txt)" = 0

# order <event> <expected>: the lines under the event, blanks squeezed.
order() {
  local got
  got=$(awk -v event="$1" '/^[a-z]/ {on = $0 == event; next} on' out.txt | tr -s ' ')
  [ "$got" = "$2" ] || { printf '%s:\n%s\nwant:\n%s\n' "$1" "$got" "$2"; return 1; }
}
check "passes" grep -qx 'passes over the algorithms that match: last in, first out on after_\*, warning of two that interpolate the loss, rules of the manifests' out.txt
check "list order" order before_loss ' 1. algorithm label_smoothing list order
 2. algorithm mixup list order
 3. algorithm again list order'
check "last in, first out" order after_loss ' 1. algorithm again reversed: after_* events run last in, first out
 2. algorithm label_smoothing reversed: after_* events run last in, first out'
check "a built-in rule" order after_dataloader ' 1. algorithm selective_backprop first: built in'
check "one alone" order after_train_batch ' 1. algorithm gradient_clipping list order'
check "algorithms, callbacks, handlers, loggers" order batch_end ' 1. algorithm ema list order
 2. handler demo.mark list order
 3. logger file list order'
check "loggers first at init" order init ' 1. logger file list order
 2. algorithm ema list order'
check "Ignite's events" order started ' 1. handler demo.mark list order'
check "events of plugins" order milestone ' 1. handler demo.mark list order'
"$TUTTI" explain run.json --set 'passes=[{"name": "given_order", "names": ["mixup", "again"], "events": ["before_loss"]}]' >out.txt 2>err.txt
check "a pass in code" order before_loss ' 1. algorithm mixup moved by pass given_order
 2. algorithm again moved by pass given_order
 3. algorithm label_smoothing moved by pass given_order'
check "segments of a step" grep -qx 'segments of a step: forward | loss | backward | update; heard in between: before_loss, after_loss, after_train_batch' out.txt
check "what settings leave out" grep -qx '      algorithm mixup                    before_backward: heard when interpolate_loss is true' out.txt
"$TUTTI" explain run.json --set algorithms.1.interpolate_loss=true --set algorithms.2.update_interval=1ep \
  --set algorithms.2.half_life=2ep >out.txt 2>err.txt
check "settings decide" order before_backward ' 1. algorithm mixup list order'
check "both ways" order before_loss ' 1. algorithm label_smoothing list order
 2. algorithm again list order'
check "units too" order epoch_end ' 1. algorithm ema list order
 2. logger file list order'
check "and which not" order batch_end ' 1. handler demo.mark list order
 2. logger file list order'
check "all of it is told" order 'left out by settings' ' callback checkpoint_saver iteration_checkpoint: heard when interval is iter and interval is above 0
 algorithm mixup before_loss: heard when interpolate_loss is false
 algorithm ema batch_end: heard when update_interval is ba, or update_interval is null and half_life is ba or null'
"$TUTTI" explain run.json --set algorithms='[{"name": "focal_loss"}]' >out.txt 2>err.txt
check "who works without events" order 'at no event' ' algorithm focal_loss'
"$TUTTI" explain run.json --json >out.json 2>err.txt
check "the same for programs" python3 -c '
import json, sys
told = json.load(open(sys.argv[1]))
assert [p["name"] for p in told["events"]["before_loss"]] == ["label_smoothing", "mixup", "again"], told
assert told["events"]["after_loss"][0]["reason"].startswith("reversed: "), told
assert {"kind": "algorithm", "name": "mixup", "event": "before_backward",
        "when": "interpolate_loss is true"} in told["left_out"], told
assert told["at_no_event"] == [] and len(told["passes"]) == 3, told
assert told["step"][0].startswith("segments of a step: "), told' out.json
cp -r "$(dirname "$TUTTI")/tests/fixtures/no_order" may_fail
chmod -R u+w may_fail && sed -i 's/"stop"/"ignore"/' may_fail/no_order/plugin.json
no_order() { # no_order <folder> <words of explain...>
  "$TUTTI" explain run.json --plugin-path "$1" --set 'passes=[{"name": "no_order"}]' "${@:2}"
}
for json in "" --json; do
  says "a pass that fails is told${json:+ with $json}" 1 "tutti: pass no_order on before_loss: none of 3 comes first" \
    no_order "$(dirname "$TUTTI")/tests/fixtures/no_order" $json
done
check "as JSON there is nothing else" test ! -s says.out
check "one that may fail changes nothing" no_order "$PWD/may_fail"
"$TUTTI" explain run.json --set algorithms='[{"name": "ema"}]' >out.txt 2>err.txt
check "nobody hears what is in between" grep -qx 'segments of a step: forward + loss + backward + update' out.txt
check "nothing was trained" test ! -e runs

ENGINE_DEBUG=1 "$TUTTI" train run.json --set max_duration=1ba --set algorithms=[] --set handlers=[] >out.txt 2>err.txt
head -3 err.txt >got.txt
cat >want.txt <<'TEXT'
tutti: engine: [ep=0][ba=0][event=INIT]: Running event
tutti: engine: [ep=0][ba=0][event=INIT]: Running callback file
tutti: engine: [ep=0][ba=0][event=BEFORE_LOAD]: Running event
TEXT
check "ENGINE_DEBUG tells each step" diff got.txt want.txt
check "evaluations have their own clock" grep -qx \
  'tutti: engine: \[ep=0\]\[ba=1\]\[eval_ba=2\]\[event=EVAL_BATCH_END\]: Running event' err.txt
check "the end" test "$(tail -1 err.txt)" = "tutti: engine: Engine closed."
finish
