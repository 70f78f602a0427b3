#!/usr/bin/env bash
# callbacks_test.sh - callbacks and loggers in a real run: what they write, stop and refuse.
. "$(dirname "$0")/lib.sh"

small_run '"loggers": [{"name": "file"}, {"name": "jsonl", "log_traces": true}, {"name": "console", "log_interval": "1ep"}, {"name": "progress_bar"}, {"name": "pipe", "command": ["sh", "-c", "cat >piped.jsonl"]}], "algorithms": [{"name": "label_smoothing"}]' |
  sed 's/"callbacks": \[/"callbacks": [{"name": "speed_monitor", "window_size": 5}, {"name": "lr_monitor"}, {"name": "nan_monitor"}, {"name": "early_stopper", "monitor": "accuracy", "dataloader_label": "test", "patience": "9ep"}, /' >run.json
check "every callback and logger" "$TUTTI" train run.json
check "the JSON lines are read back" python3 - <<'PY'
import json
rows = [json.loads(line) for line in open("runs/small/log.jsonl")]
values = {}
for row in rows:
    if row["kind"] == "metrics":
        for name, value in row["values"].items():
            values.setdefault(name, []).append(value)
assert len(values["loss/train/total"]) == 30, len(values["loss/train/total"])
assert len(values["metrics/test/accuracy"]) == 3
assert len(values["lr-adamw/group0"]) == 30
assert len(values["throughput/samples_per_sec"]) == 25
assert values["time/val"][-1] > 0
traces = [row for row in rows if row["kind"] == "trace" and row["algorithm"] == "label_smoothing"]
assert len(traces) >= 30, len(traces)
PY
check "a program got the same metrics" cmp <(sed -n '/"kind":"metrics"/s/"time":[^,]*,//p' runs/small/log.jsonl) \
  <(sed -n '/"kind":"metrics"/s/"time":[^,]*,//p' piped.jsonl)
check "the text file has the losses" grep -q '^\[metric\]\[batch=29\]: loss/train/total: ' runs/small/log.txt
check "two checkpoints and their link" test "$(find saves -name '*.safetensors' | wc -l)" = 3

grep -v '"loggers"' run.json >again.json
"$TUTTI" train again.json 2>err.txt
check "a second run does not write over the first" test $? = 1
check "and says so" grep -q 'would write over it; resume from it, choose another folder, or set overwrite$' err.txt

small_run | sed 's/"callbacks": \[/"callbacks": [{"name": "threshold_stopper", "monitor": "accuracy", "dataloader_label": "test", "threshold": -1.0}, /; s/"1ba"/"100ep"/; s/"saves"/"stopped"/' >stop.json
"$TUTTI" train stop.json >out.txt 2>&1
check "a stopper ends the run after the first evaluation" grep -q '^trained 10 batches' out.txt
check "what it stopped at is saved" test -e stopped/latest.safetensors

small_run | sed 's/"callbacks": \[/"callbacks": [{"name": "nan_monitor"}, /; s/"saves"/"nan"/; s/"lr": 0.01/"lr": 1e38/' >nan.json
says "a NaN loss stops the run" 1 \
  'tutti: nan_monitor on after_loss: Train loss contains a NaN.' "$TUTTI" train nan.json

small_run "\"loggers\": [{\"name\": \"jsonl\", \"remote_file_name\": \"{run_name}/log\"}, {\"name\": \"remote_uploader\", \"bucket_uri\": \"file://$work/bucket\"}]" |
  sed 's/"saves"/"sent"/' >sent.json
check "a run that sends its files" "$TUTTI" train sent.json
check "the last checkpoint is there" cmp "bucket/$(cat bucket/small/checkpoints/latest.safetensors.symlink)" sent/latest.safetensors
check "and the log, as far as the run's end" sh -c 'n=$(wc -c <bucket/small/log) && [ "$n" -gt 1000 ] && head -c "$n" runs/small/log.jsonl | cmp - bucket/small/log'
check "and nothing waits" test ! -e runs/small/uploads
finish
