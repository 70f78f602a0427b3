#!/usr/bin/env bash
# report_live_test.sh - `tutti report --live`: the page of a run that trains, the stream of what it logs, to its end; who
# asks for anything else, or from elsewhere, is refused.
. "$(dirname "$0")/lib.sh"
library=/usr/share/javascript/chart.js/chart.min.js
[ -e "$library" ] || echo 'var Chart = function () {};' >stand_in.js
[ -e "$library" ] || export TUTTI_CHART_JS=$work/stand_in.js

small_run '"loggers": [{"name": "jsonl", "flush_interval": 1, "log_traces": true}]' | sed 's/"3ep"/"1000000ep"/' >run.json
check "a run that has ended" "$TUTTI" train run.json --quiet --set name=ended --set max_duration=1ba --set 'callbacks=[]'
"$TUTTI" report --live runs/ended >out.txt 2>&1
if grep -q 'built without libmicrohttpd' out.txt; then
  check "a build without the library names its package" grep -q 'tutti: this tutti was built without libmicrohttpd (libmicrohttpd-dev)' out.txt
  skip "no libmicrohttpd"
  finish
fi
says "nothing to follow" 2 'tutti: none of the runs goes on; without --live report writes their page to a file' "$TUTTI" report --live runs/ended
says "a port that is none" 2 'tutti: --port 70000: want a number from 0 to 65535' "$TUTTI" report --live runs/ended --port 70000

"$TUTTI" train run.json --quiet --set 'callbacks=[]' >train.txt 2>&1 &
trainer=$!
until grep -qs '"status": "running"' runs/small/record.json || ! kill -0 $trainer 2>/dev/null; do sleep 0.1; done
check "page, stream, refusals and end" python3 "$e2e/report_live.py" "$TUTTI" runs/small $trainer
wait $trainer
check "the run was not disturbed" test $? -eq 143
check "the log has all batches in their order" python3 - <<'PY'
import json
rows = [json.loads(line) for line in open("runs/small/log.jsonl")]
batches = [r["batch"] for r in rows if r["kind"] == "metrics" and "loss/train/total" in r["values"]]
assert batches == list(range(len(batches))), batches[:10]
PY
finish
