#!/usr/bin/env bash
# profiler_test.sh - the time line of a run as Chrome trace files, and traces of algorithms.
. "$(dirname "$0")/lib.sh"
trace_check=$(dirname "$(realpath "$0")")/chrome_trace.py

small_run '"algorithms": [{"name": "label_smoothing"}, {"name": "mixup"}],
  "loggers": [{"name": "file"}],
  "handlers": [{"on": "batch_end", "call": "demo.note", "args": ["loss/train/total", 1e9]}],
  "traces": [{"file": "traces.txt"}, {"file": "ran.jsonl", "format": "json", "all": false}],
  "profiler": {"schedule": {"skip_first": 1, "wait": 1, "warmup": 1, "active": 2, "repeat": 1},
               "sys_prof_memory": true}' >run.json
check "a run with a profiler" "$TUTTI" train run.json
for batch in 5 15 25; do
  check "the trace of batch $batch" python3 "$trace_check" runs/small/traces/ep*-ba$batch-rank0.json
done
check "no other traces" test "$(find runs/small/traces -name 'ep*' | wc -l)" = 3
check "all of them together" python3 "$trace_check" runs/small/traces/merged_trace.json
check "what it shows" python3 - <<'PY'
import json
events = json.load(open("runs/small/traces/ep0-ba5-rank0.json"))
def spans(name, phase="B"):
    return [e for e in events if e["name"] == name and e["ph"] == phase]
assert len(spans("event/batch")) == 3, "batches 2 (warm-up), 3 and 4"
assert [e["args"]["batch"] for e in spans("event/batch")] == [2, 3, 4]
assert len(spans("event/forward")) == 3 and len(spans("event/train_batch", "E")) == 3
assert len(spans("event/fit")) == 1 and len(spans("event/epoch")) == 1, "the whole run is around it"
assert len(spans("algorithm/label_smoothing/event/before_loss")) == 3
assert spans("algorithm/mixup/event/before_forward")[0]["cat"] == "before_forward,mixup"
assert len(spans("callback/file/event/batch_end")) == 3
assert len(spans("handler/demo.note/event/batch_end")) == 3
assert len(spans("memory/process", "C")) == 3 and len(spans("cpu", "C")) == 3
merged = json.load(open("runs/small/traces/merged_trace.json"))
assert sum(e["name"] == "event/batch" and e["ph"] == "B" for e in merged) == 9
lines = open("runs/small/traces.txt").read().splitlines()
assert "[STEP=3][label_smoothing/BEFORE_LOSS=1]" in lines, lines[:5]
rows = [json.loads(line) for line in open("runs/small/ran.jsonl")]
assert all(r["ran"] and r["order"] >= 0 and r["duration_us"] >= 0 for r in rows)
assert {r["key"] for r in rows} >= {"label_smoothing/Event.BEFORE_LOSS", "mixup/Event.BEFORE_FORWARD"}
assert rows[0]["exit_code"] is None
PY
says "traces are not written over" 1 \
  'tutti: runs/small/traces/merged_trace.json is there already: choose another folder, or set overwrite' \
  "$TUTTI" train run.json --set callbacks=[]
check "unless that is said" "$TUTTI" train run.json --set callbacks=[] --set profiler.overwrite=true \
  --set profiler.num_traces_to_keep=1
small_run '"profiler": {}' | sed 's/"saves"/"kept"/' >kept.json
check "a run with a profiler and checkpoints" "$TUTTI" train kept.json --set max_duration=1ep --set name=kept
cp -r runs/kept/traces before
check "is evaluated" "$TUTTI" eval kept.json --checkpoint auto --set name=kept
check "and predicts" "$TUTTI" predict kept.json --checkpoint auto --output out.npy --set name=kept
check "which leaves its traces alone" diff -r before runs/kept/traces
check "it goes on" "$TUTTI" train kept.json --resume auto --set max_duration=2ep --set name=kept
check "and adds to the merged trace" sh -c 'test "$(wc -c <runs/kept/traces/merged_trace.json)" -gt "$(wc -c <before/merged_trace.json)"'
check "which stays whole" python3 -m json.tool runs/kept/traces/merged_trace.json
check "the oldest go" test "$(find runs/small/traces -name 'ep*' | wc -l)" = 1
check "explain makes no files" sh -c "rm -rf runs && $TUTTI explain run.json && test ! -e runs"

small_run '"profiler": {"schedule": {"repeat": 0, "active": 100}, "folder": "late"}' |
  sed 's/"3ep"/"15ba"/; s/"saves"/"late"/' >late.json
check "a run that ends within a cycle" "$TUTTI" train late.json
check "is written up to its end" python3 "$trace_check" runs/small/late/ep1-ba15-rank0.json

mkdir -p runs/small && touch runs/small/blocked
says "a folder that cannot be" 1 \
  'tutti: runs/small/blocked: cannot make the folder of traces: Not a directory' \
  "$TUTTI" train run.json --set callbacks=[] --set profiler.folder=blocked
finish
