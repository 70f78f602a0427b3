#!/usr/bin/env bash
# runs_test.sh - `tutti runs`: the runs of a folder with what came of them, runs side by side, curves in the terminal.
. "$(dirname "$0")/lib.sh"
unset NO_COLOR COLUMNS
export LC_ALL=C
run='"loggers": [{"name": "jsonl", "flush_interval": 1}]'
small_run "$run" | sed 's/"3ep"/"3ba"/; s/"workers": 2/"workers": 1/' >run.json
check "a run" "$TUTTI" train run.json --quiet
check "another one" "$TUTTI" train run.json --quiet --set name=other --set optimizer.lr=0.5 --set 'algorithms=[{"name": "mixup"}]' \
  --set callbacks=[]
"$TUTTI" train run.json --quiet --set name=bad --set optimizer.lr=1e30 --set callbacks=[] >/dev/null 2>&1

# One under way, and one that was killed: the record of both says that they run.
"$TUTTI" train run.json --quiet --set name=long --set max_duration=100000ep --set callbacks=[] >/dev/null 2>&1 &
until [ -e runs/long/log.jsonl ] && [ "$(grep -c loss/train runs/long/log.jsonl)" -gt 5 ]; do sleep 0.05; done
"$TUTTI" runs --json >running.json
kill -KILL $!
wait $! 2>/dev/null
"$TUTTI" runs --json >runs.json
field() { python3 -c "import json, sys
for run in json.load(open(sys.argv[1])):
    if run['name'] == sys.argv[2]: print(run[sys.argv[3]])" "$@"; }
is() { [ "$(field "${@:3}")" = "$2" ] && echo "ok: $1" || { echo "FAILED: $1: $(field "${@:3}"), want $2"; failures=$((failures + 1)); }; }
is "a run that is over" finished runs.json small status
is "is judged by its evaluation" metrics/test/accuracy runs.json small metric
is "one that failed" failed runs.json bad status
is "one that works" running running.json long status
is "one that was killed" interrupted runs.json long status
check "whose batches are those of its log" test "$(field runs.json long batches)" -gt 4
best=$(grep -o 'metrics/test/accuracy":[0-9.]*' runs/small/log.jsonl | cut -d: -f2 | sort -g | tail -1)
check "the best value" python3 -c "import sys; sys.exit(float('$best') != float('$(field runs.json small best)'))"
check "a list for people, oldest first" eval '"$TUTTI" runs >list.txt && [ "$(cut -d" " -f1 list.txt | tr "\n" " ")" = "NAME small other bad long " ]'
check "without colours" eval '! grep -q "$(printf "\033")" list.txt'
check "a run's own folder" eval '"$TUTTI" runs runs/small --json | grep -q "^\[{\"name\": \"small\".*}\]$"'
says "no such folder" 2 'tutti: nowhere: No such file or directory' "$TUTTI" runs nowhere
mkdir -p empty broken/x
says "a folder without runs" 0 'tutti: empty: has no runs' "$TUTTI" runs empty
echo '{"format": "other"}' >broken/x/record.json
says "a record of something else" 0 'tutti: broken: has no runs
tutti: broken/x/record.json: is no record of a run, want tutti.record/1; the run is left out' "$TUTTI" runs broken
says "which is wrong where it is meant" 2 'tutti: broken/x/record.json: is no record of a run, want tutti.record/1' "$TUTTI" runs broken/x

# Side by side.
"$TUTTI" runs compare runs/small runs/other >compare.txt
check "a setting that differs" grep -Eq '^optimizer.lr +0.01 +0.5 *$' compare.txt
check "one that only one run has" grep -Eq '^algorithms.mixup.name +- +mixup *$' compare.txt
check "none that are alike" eval '! grep -q "^seed" compare.txt'
check "metrics" grep -Eq '^loss/train/total +[0-9.]+ \([0-9.]+\) +[0-9.]+ \([0-9.]+\) *$' compare.txt
"$TUTTI" runs compare runs/small runs/other --json >compare.json
check "the same as JSON" python3 -c "
import json
c = json.load(open('compare.json'))
logs = [[json.loads(l) for l in open(f'runs/{n}/log.jsonl')] for n in ('small', 'other')]
for log, told in zip(logs, c['metrics']['loss/train/total']):
    losses = [l['values']['loss/train/total'] for l in log if 'loss/train/total' in l.get('values', {})]
    assert told == {'last': losses[-1], 'best': min(losses)}, (told, losses)
assert c['settings']['optimizer.lr'] == ['0.01', '0.5'], c['settings']"
says "one run alone" 2 'tutti: compare needs the folders of two runs or more' "$TUTTI" runs compare runs/small

# Curves.
"$TUTTI" runs runs/small runs/other --plot loss/train/total >plot.txt
check "a curve a run" test "$(grep -c 'least .* at batch' plot.txt)" = 2
check "no wider than 80" eval '[ "$(awk "{ if (length > n) n = length } END { print n }" plot.txt)" -le 80 ]'
COLUMNS=50 "$TUTTI" runs runs/small --plot loss/train/total >plot.txt
check "or than COLUMNS" eval '[ "$(awk "{ if (length > n) n = length } END { print n }" plot.txt)" -le 50 ]'
check "in ASCII where the locale has no more" eval 'LC_ALL=C "$TUTTI" runs runs/small --plot loss/train/total >plot.txt && ! LC_ALL=C grep -q "[^ -~]" plot.txt'
check "in dots where it has" eval 'LC_ALL=C.UTF-8 "$TUTTI" runs runs/small --plot loss/train/total >plot.txt && grep -q "$(printf "\xe2\x94\x82.*\xe2\xa0\|\xe2\xa1\|\xe2\xa2\|\xe2\xa3")" plot.txt'
if command -v script >/dev/null; then
  check "in colours on a terminal" eval 'TERM=xterm script -qec "\"$TUTTI\" runs runs/small runs/other --plot loss/train/total" /dev/null >tty.txt && grep -q "$(printf "\033\[33m")" tty.txt'
  check "but for NO_COLOR" eval 'NO_COLOR=1 TERM=xterm script -qec "\"$TUTTI\" runs runs/small --plot loss/train/total" /dev/null >tty.txt && ! grep -q "$(printf "\033\[33m")" tty.txt'
else
  skip "a terminal: no script (Debian's package bsdutils)"
fi
"$TUTTI" runs runs/small --plot nothing >/dev/null 2>err.txt
check "a metric that nobody logs" grep -q '^tutti: no run has logged nothing$' err.txt
check "is told with those that there are" grep -q ' loss/train/total ' err.txt

# A log of two runs: the second one counts.
mkdir -p two/a
python3 - <<'PY'
import json
def line(batch, name, value): return json.dumps({"time": 100.0 + batch, "kind": "metrics", "batch": batch, "epoch": 0, "values": {name: value}}, separators=(",", ":"))
begin = '{"time":99,"kind":"hyperparameters","values":{"seed":1}}'
lines = [begin] + [line(k, "loss/train/total", 9.0 - k) for k in range(9)] + [begin] + [line(k, "loss/train/total", 5.0 - k) for k in range(3)]
lines += [line(3, "a \"b\"\\n", 1), '{"time":104,"kind":"metrics","batch":4,"epoch":0,"values":{"loss/train/total":"NaN"}}', '{"time":105,"kind":"met']
open("two/a/log.jsonl", "w").write("\n".join(lines))
json.dump({"format": "tutti.record/1", "name": "a", "status": "running", "started": 99, "run": {"loggers": [{"name": "jsonl"}]}}, open("two/a/record.json", "w"))
PY
"$TUTTI" runs two --json >two.json
is "of two runs in one log" 3 two.json a best
is "the second counts" 4 two.json a batches
finish
