#!/usr/bin/env bash
# bridges_test.sh - the bridges of the logger pipe: what a run logs reaches the client of each service, which is a stand-in here
# that writes down its calls; and a client that is not installed is told and ends nothing.
. "$(dirname "$0")/lib.sh"
bridges=$SOURCE/plugins/loggers/pipe/bridges
command -v python3 >/dev/null || { skip "no Python"; finish; }

mkdir clients
cat >clients/noted.py <<'PY'
import json
def note(**call):
    with open("calls.jsonl", "a") as f:
        print(json.dumps(call), file=f)
PY
cat >clients/wandb.py <<'PY'
from noted import note
class Config:
    def update(self, values, allow_val_change): note(settings=values)
class Run:
    config = Config()
    def log(self, values, step): note(values=values, step=step)
    def finish(self): note(end=True)
def init(project, name):
    note(project=project, name=name)
    return Run()
PY
cat >clients/comet_ml.py <<'PY'
from noted import note
class Experiment:
    def __init__(self, project_name): self.project = project_name
    def set_name(self, name): note(project=self.project, name=name)
    def log_metrics(self, values, step, epoch): note(values=values, step=step)
    def log_parameters(self, values): note(settings=values)
    def end(self): note(end=True)
PY
cat >clients/neptune.py <<'PY'
from noted import note
class Field:
    def __init__(self, key): self.key = key
    def append(self, value, step): note(values={self.key: value}, step=step)
class Run:
    def __getitem__(self, key): return Field(key)
    def __setitem__(self, key, value): note(settings={key.removeprefix("hyperparameters/"): value})
    def stop(self): note(end=True)
def init_run(project, name):
    note(project=project, name=name)
    return Run()
PY

small_run '"loggers": [{"name": "jsonl"}]' | grep -v '"callbacks"' >run.json
sed -i 's/"threads": 2,$/"threads": 2/' run.json
for client in wandb comet neptune; do
  rm -f calls.jsonl
  loggers="[{\"name\": \"jsonl\"}, {\"name\": \"pipe\", \"command\": [\"python3\", \"$bridges/${client}_bridge.py\", \"mine\", \"first\"]}]"
  check "a run with $client" env PYTHONPATH="$work/clients" PYTHONDONTWRITEBYTECODE=1 "$TUTTI" train run.json --quiet --set name=$client --set "loggers=$loggers"
  check "has all of its numbers there" python3 - $client <<'PY'
import json, math, sys
calls = [json.loads(line) for line in open("calls.jsonl")]
rows = [json.loads(line) for line in open(f"runs/{sys.argv[1]}/log.jsonl")]
assert calls[0] == {"project": "mine", "name": "first"} and calls[-1] == {"end": True}, (calls[0], calls[-1])
def flat(found):
    return sorted((step, key, float(value)) for step, values in found for key, value in values.items() if math.isfinite(float(value)))
want = flat((r["batch"], r["values"]) for r in rows if r["kind"] == "metrics")
assert want and flat((c["step"], c["values"]) for c in calls if "values" in c) == want
settings = {}
for c in calls:
    settings |= c.get("settings", {})
assert settings["seed"] == 5, settings
PY
done

check "a client that is not installed" env PYTHONPATH="$work" "$TUTTI" train run.json --quiet --set name=none \
  --set "loggers=[{\"name\": \"pipe\", \"flush_timeout\": 1, \"command\": [\"python3\", \"-S\", \"$bridges/wandb_bridge.py\", \"mine\"]}]"
check "is told" grep -q "No module named 'wandb'" runs/none/pipe.output
check "and what it would get waits" test -s runs/none/pipe.waiting
finish
