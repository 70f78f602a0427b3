#!/usr/bin/env bash
# activations_test.sh - a run whose modules are looked at: what is logged, and that its bits stay.
. "$(dirname "$0")/lib.sh"

# same_but <checkpoint> <checkpoint>: the second has the state of the monitor beside what the first has.
same_but() {
  python3 - "$e2e" "$@" <<'PY'
import sys
sys.path.insert(0, sys.argv[1])
from checkpoint import tensors
plain, seen = map(tensors, sys.argv[2:])
del seen["callback.activation_monitor.logged"]
assert plain == seen, [name for name in plain.keys() | seen.keys() if plain.get(name) != seen.get(name)]
PY
}

# watched <what> <run file>: a run and the same with the monitor end with the same bytes.
watched() {
  rm -rf plain seen && mkdir plain seen
  cp "$2" plain/run.json
  sed 's/"callbacks": \[/"callbacks": [{"name": "activation_monitor", "interval": "3ba"}, /' "$2" >seen/run.json
  for one in plain seen; do
    check "$1: trains" bash -c "cd $one && '$TUTTI' train run.json --quiet >out.txt 2>&1 || { cat out.txt; false; }"
  done
  check "$1: being looked at changes no bit" same_but "$(latest plain)" "$(latest seen)"
}

small_run '"loggers": [{"name": "jsonl"}]' >mlp.json
watched "dropout" mlp.json
check "each module is there, and what one gives the next one takes" python3 - <<'PY'
import json
last, seen = {}, {}
for line in open("seen/runs/small/log.jsonl"):
    row = json.loads(line)
    for name, value in row.get("values", {}).items():
        if name.startswith("activations/"):
            seen.setdefault(name, []).append(row["batch"])
            if row["batch"] == 0:
                last[name[len("activations/"):]] = value
assert all(batches == list(range(0, 30, 3)) for batches in seen.values()), seen
modules = {n.split("/", 1)[1].rsplit("_", 1)[0] for n in last}
assert modules == {"", "body", "body.flatten", "body.linear0", "body.act0", "body.drop0", "body.head"}, modules
for kind in ("l2_norm", "average", "kurtosis", "max"):
    for giver, taker in (("body.flatten_output.0", "body.linear0_input.0"), ("body.linear0_output.0", "body.act0_input.0"), ("body.act0_output.0", "body.drop0_input.0"),
                         ("body.drop0_output.0", "body.head_input.0"), ("body.head_output.0", "_output.0")):
        assert repr(last[f"{kind}/{giver}"]) == repr(last[f"{kind}/{taker}"]), (kind, giver)
assert last["average/body.act0_output.0"] > 0 > last["average/body.act0_output.0"] - last["max/body.act0_output.0"]
PY

sed 's/"model": {[^}]*}/"model": {"name": "resnet_cifar"}/; s/"samples": 640/"samples": 64/; s/"batch_size": 64/"batch_size": 8/; s/"3ep"/"4ba"/; s/"samples": 100/"samples": 20/' mlp.json >resnet.json
watched "batch norm" resnet.json
sed 's/"threads": 2/"threads": 2, "precision": "amp_bf16"/; s/"3ep"/"4ba"/' mlp.json >bf16.json
watched "16 bits" bf16.json
check "its numbers are logged in f32" grep -q '"activations/l2_norm/body.head_output.0":[0-9]' seen/runs/small/log.jsonl

# Memory out of the host's reach: what is looked at is copied.
shadow="$(dirname "$TUTTI")/tests/devices/plugins"
if [ -d "$shadow" ]; then
  sed 's/"callbacks": \[/"callbacks": [{"name": "activation_monitor", "interval": "3ba"}, /; s/"3ep"/"4ba"/; s/"threads": 2/"threads": 2, "device": "shadow"/' mlp.json >shadow.json
  rm -rf seen && mkdir seen
  sed 's/, "device": "shadow"//' shadow.json >seen/run.json
  check "it trains here" bash -c "cd seen && '$TUTTI' train run.json --quiet"
  check "and there" "$TUTTI" train shadow.json --quiet --plugin-path "$shadow"
  check "with the same numbers" python3 - <<'PY'
import json
def read(path):
    rows = (json.loads(line) for line in open(path))
    return {(r["batch"], n): v for r in rows for n, v in r.get("values", {}).items() if n.startswith("activations/")}
here, there = read("seen/runs/small/log.jsonl"), read("runs/small/log.jsonl")
assert here.keys() == there.keys() and len(here) == 2 * 56, len(here)
far = {k: (v, there[k]) for k, v in here.items() if v != there[k] and not abs(v - there[k]) <= 1e-5 * (1 + abs(v))}
assert not far, far
PY
else
  skip "the shadow device is not built"
fi
finish
