#!/usr/bin/env bash
# plan_service_test.sh - what plugins are told of the plan: its operations a second, and where results lie.
. "$(dirname "$0")/lib.sh"

small_run '"loggers": [{"name": "jsonl"}], "microbatch_size": 24' |
  sed 's/"callbacks": \[/"callbacks": [{"name": "speed_monitor", "window_size": 2, "gpu_flops_available": 1e12}, {"name": "memory_snapshot", "filename": "snapshot"}, /' >run.json
check "a run" "$TUTTI" train run.json --quiet --set max_duration=6ba
check "operations are counted" python3 - <<'PY'
import json
values = {}
for line in open("runs/small/log.jsonl"):
    values.update(json.loads(line).get("values", {}))
# Batches of 64 in three parts; two for every product of 784 x 32 and 32 x 10 weights: forward, of weights, and of the
# second layer's input.
flops = 2 * 64 * (2 * 784 * 32 + 3 * 32 * 10)
per_batch = values["throughput/flops_per_sec"] / values["throughput/batches_per_sec"]
assert abs(per_batch - flops) < 1e-6 * flops, (per_batch, flops)
assert values["throughput/device/flops_per_sec"] == values["throughput/flops_per_sec"]
mfu = values["throughput/device/flops_per_sec"] / 1e12
assert abs(values["throughput/device/mfu"] - mfu) < 1e-9 * mfu
PY
check "and places are those of a plan" python3 - <<'PY'
import json
s = json.load(open("runs/small/torch_traces/snapshot.json"))
r = s["results"]
assert s["batch"] == 4 and len(r) == s["places"] > 4, s
assert any(x["op"].startswith("matmul") for x in r) and any(x["module"] for x in r), r
live = [sum(x["bytes"] for x in r if x["first"] <= k <= x["last"]) for k in range(s["steps"])]
assert max(live) == s["peak_bytes"] <= s["arena_bytes"], (max(live), s)
for a in r:
    assert a["offset"] % 64 == 0 and a["offset"] + a["bytes"] <= s["arena_bytes"]
    for b in r:
        together = a["first"] <= b["last"] and b["first"] <= a["last"]
        apart = a["offset"] + a["bytes"] <= b["offset"] or b["offset"] + b["bytes"] <= a["offset"]
        assert a is b or not together or apart, (a, b)
PY
says "files are not written over" 1 \
  'tutti: memory_snapshot on fit_start: runs/small/torch_traces has files already: choose another folder, or set overwrite' \
  "$TUTTI" train run.json --quiet --set max_duration=1ba
check "by a run that begins: one that goes on has its own" "$TUTTI" train run.json --quiet --set max_duration=12ba --resume auto
check "and does not take it again" grep -q '"batch": 4,' runs/small/torch_traces/snapshot.json
finish
