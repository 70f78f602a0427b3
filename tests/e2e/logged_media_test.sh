#!/usr/bin/env bash
# logged_media_test.sh - tables and images in a real run: what they show, whom they reach, whom they pass by.
. "$(dirname "$0")/lib.sh"

small_run '"loggers": [{"name": "jsonl"}, {"name": "console"}, {"name": "file"}]' |
  sed 's/"callbacks": \[/"callbacks": [{"name": "eval_output_logging"}, /' >run.json
check "a run with tables" "$TUTTI" train run.json --set max_duration=2ep
check "a table an evaluation, with the answers that its accuracy counts" python3 - <<'PY'
import json
rows = [json.loads(line) for line in open("runs/small/log.jsonl")]
tables = [r for r in rows if r["kind"] == "table"]
accuracy = [r["values"]["metrics/test/accuracy"] for r in rows if "metrics/test/accuracy" in r.get("values", {})]
assert [t["name"] for t in tables] == ["test_step_10", "test_step_20"], tables
assert tables[0]["columns"] == ["outputs", "labels", "correct", "run_name"], tables[0]["columns"]
for t, a in zip(tables, accuracy, strict=True):
    right = [r[2] for r in t["data"]]
    assert len(right) == 100 and abs(sum(right) / 100 - a) < 1e-6, (sum(right), a)
    assert all((r[0] == r[1]) == r[2] and r[3] == "small" for r in t["data"])
said = [r["text"] for r in rows if "tables are logged" in r.get("text", "")]
assert said == ["tables are logged; they pass by what takes none: console"], said
lines = [line for line in open("runs/small/log.txt") if line.startswith("[table]: ")]
split = json.loads(lines[1].split(": ", 2)[2])
assert split == {"columns": tables[1]["columns"], "data": tables[1]["data"]}, lines[1][:300]
PY
rm -r saves
says "nobody takes them" 0 "tutti: train: tables are logged, and no logger of the run takes them" \
  "$TUTTI" train run.json --quiet --set max_duration=2ep --set 'loggers=[]' --set name=alone
rm -r saves runs
small_run '"loggers": [{"name": "jsonl"}], "microbatch_size": 16, "distributed": {"comm": {"name": "shared_memory", "mailbox_mib": 1}, "join_timeout_s": 60, "timeout_s": 60}' |
  sed 's/"callbacks": \[/"callbacks": [{"name": "eval_output_logging", "print_only_incorrect": true}, /; s/"threads": 2/"threads": 1/; s/"batch_size": 50/"batch_size": 8/' >world.json
export TUTTI_WORLD_SIZE=2 TUTTI_JOB=$work
TUTTI_RANK=1 "$TUTTI" train world.json --quiet --set max_duration=1ep >one.out 2>&1 &
check "process 0 of two" env TUTTI_RANK=0 "$TUTTI" train world.json --quiet --set max_duration=1ep
check "process 1 of two" wait $!
unset TUTTI_WORLD_SIZE TUTTI_JOB
check "all their wrong answers are in one table" python3 - <<'PY'
import json
rows = [json.loads(line) for line in open("runs/small/log.jsonl")]
(table,) = [r for r in rows if r["kind"] == "table"]
(accuracy,) = [r["values"]["metrics/test/accuracy"] for r in rows if "metrics/test/accuracy" in r.get("values", {})]
assert abs(1 - len(table["data"]) / 100 - accuracy) < 1e-6, (len(table["data"]), accuracy)
assert not any(r[2] for r in table["data"])
PY
finish
