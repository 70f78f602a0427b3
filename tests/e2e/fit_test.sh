#!/usr/bin/env bash
# fit_test.sh - how long a run trains: stopped, longer, from zero again; iterations; schedulers by epoch.
. "$(dirname "$0")/lib.sh"
logged='"loggers": [{"name": "jsonl"}]'

# logged_values <file> <metric>: its values, one a line.
logged_values() {
  python3 - "$1" "$2" <<'PY'
import json, sys
for line in open(sys.argv[1]):
    row = json.loads(line)
    if row["kind"] == "metrics" and sys.argv[2] in row["values"]:
        print(row["values"][sys.argv[2]])
PY
}
# told <file> <event>: how often the event came.
told() { grep -c "\[event=$2\]: Running event" "$1"; }

small_run "$logged" | sed 's/"1ba"/"1ep"/' >run.json
ENGINE_DEBUG=1 "$TUTTI" train run.json >out.txt 2>plain.txt
check "a whole run" grep -q '^trained 30 batches, 1920 samples' out.txt
check "it ends with its clocks logged" test "$(logged_values runs/small/log.jsonl time/epoch | tail -1)" = 3
check "every batch has its end" test "$(told plain.txt BATCH_END)" = 30
check "one iteration without end" test "$(told plain.txt ITERATION_START) $(told plain.txt ITERATION_END)" = "1 0"

says "a run that is over has nothing left" 1 \
  "tutti: nothing is left to train: max_duration is 3ep and 3ep have passed; give a longer max_duration, a duration, or reset the time" \
  "$TUTTI" train run.json --resume saves/latest.safetensors
ln -s nowhere saves/latest.safetensors.tmp
check "which is what --resume auto hopes for" "$TUTTI" train run.json --resume auto
check "the link of a killed save is gone" test ! -L saves/latest.safetensors.tmp -a -L saves/latest.safetensors
"$TUTTI" train run.json --resume auto --duration 5ba >out.txt 2>&1
check "a duration is added to what has passed" grep -q '^trained 35 batches' out.txt
says "a duration is a time" 2 'tutti: --duration "5" is not a duration: want a number with a unit (iter, ep, ba, sp, tok, dur or sec) such as "10ep", or hours, minutes and seconds such as "1h20m40s"' \
  "$TUTTI" train run.json --duration 5
rm -r saves/*
"$TUTTI" train run.json --set callbacks.0.overwrite=true >out.txt 2>&1
"$TUTTI" train run.json --resume auto --reset-time --set max_duration=12ba --set callbacks.0.overwrite=true >out.txt 2>&1
check "clocks may begin at zero with old weights" grep -q '^trained 12 batches, 768 samples' out.txt

# stop_training: the duration becomes what has passed, so evaluation and checkpoint of the end are due.
rm -rf saves runs
small_run "$logged" | sed 's/"callbacks": \[/"callbacks": [{"name": "threshold_stopper", "monitor": "accuracy", "dataloader_label": "train", "threshold": -1.0, "stop_on_batch": true}, /; s/"batch_size": 64,/"batch_size": 64, "metrics": [{"name": "accuracy"}],/; s/"1ba"/"100ep"/; s/"batch_size": 50,/"batch_size": 50, "interval": "100ep",/' >stop.json
ENGINE_DEBUG=1 "$TUTTI" train stop.json >out.txt 2>err.txt
check "a stopped run ends after its batch" grep -q '^trained 1 batches' out.txt
check "with its last evaluation" test "$(told err.txt EVAL_START)" = 1
check "and its checkpoint" test -e saves/latest.safetensors
"$TUTTI" train stop.json --resume auto --set callbacks.0.threshold=1000.0 >out.txt 2>&1
check "a resumed run trains on to its own duration" grep -q '^trained 30 batches' out.txt

# Iterations of two epochs: the last one is not complete.
ENGINE_DEBUG=1 "$TUTTI" train run.json --set iteration_length=2ep --set max_duration=5ep \
  --set 'callbacks=[{"name": "checkpoint_saver", "folder": "iterations", "interval": "2iter"}]' >out.txt 2>err.txt
check "iterations begin and end" test "$(told err.txt ITERATION_START) $(told err.txt ITERATION_END) $(told err.txt ITERATION_CHECKPOINT)" = "3 2 2"
check "a checkpoint every second iteration and at the end" test "$(find iterations -name 'ep*' | sort | tr '\n' ' ')" = "iterations/ep4-ba40.safetensors iterations/ep5-ba50.safetensors "
"$TUTTI" train run.json --set iteration_length=1ep --set max_duration=2iter --set callbacks=[] >out.txt 2>&1
check "a duration in iterations" grep -q '^trained 20 batches' out.txt

# Learning rates by epoch: one value an epoch, upstream's lag of one step included.
"$TUTTI" train run.json --set step_schedulers_every_batch=false --set 'callbacks=[{"name": "lr_monitor"}]' >out.txt 2>&1
check "learning rates change with epochs" test "$(logged_values runs/small/log.jsonl lr-adamw/group0 | uniq | wc -l)" = 3
finish
