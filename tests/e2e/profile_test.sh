#!/usr/bin/env bash
# profile_test.sh - tutti profile: tables by operation, event and plugin that agree, and a time line of them.
. "$(dirname "$0")/lib.sh"
trace_check=$(dirname "$(realpath "$0")")/chrome_trace.py

small_run '"algorithms": [{"name": "label_smoothing"}],
  "loggers": [{"name": "jsonl"}], "traces": [{"file": "traces.txt"}]' >run.json
check "a profile" "$TUTTI" profile run.json --batches 3
mv check.out table.txt
check "its time line" python3 "$trace_check" runs/small-profile/traces/merged_trace.json
check "and no other file" test "$(find . -type f ! -name check.out ! -name .lock | sort | tr '\n' ' ')" = \
  "./run.json ./runs/small-profile/traces/merged_trace.json ./table.txt "
check "what it shows" python3 - <<'PY'
import json
import re
lines = open("table.txt").read().splitlines()
assert re.fullmatch(r"3 batches, [0-9.]+ ms each, 2 threads", lines[0]), lines[0]
batch = float(lines[0].split()[2])
assert lines[1].startswith("bound: ") and lines[1].endswith("measured now"), lines[1]

def table(head):
    """Rows of a table: the name, then numbers."""
    at = next(k for k, line in enumerate(lines) if line.startswith(head + " "))
    rows = {}
    for line in lines[at + 1:]:
        if not line:
            return rows
        rows[line[:36].strip()] = [float(x) for x in line[36:].replace("%", "").split()
                                   if not x.isalpha()]
    return rows

steps, events, plugins = table("operation"), table("event"), table("plugin")
total = steps.pop("all operations")
for k in range(5):
    assert abs(sum(r[k] for r in steps.values()) - total[k]) <= 0.1 * len(steps), (k, total)
# Two for every product of 784 x 32 and 32 x 10 weights: forward, of weights, and of the second layer's input.
flops = 2e-9 * 64 * (2 * 784 * 32 + 3 * 32 * 10)
assert abs(total[3] - flops) < 1e-3 * flops, (total[3], flops)
products = [r for r in steps.values() if r[3]]
assert products and all(r[5] > 0 for r in products), "a share of the bound"
parts = sum(events[e][1] for e in ("forward", "loss", "backward"))
assert 0 < total[1] <= parts <= events["train_batch"][1] <= batch + 0.001, (total, events)
assert abs(events["batch"][1] - batch) < 0.001 and events["batch"][0] == 1
assert plugins["label_smoothing at before_loss"][0] == 1 and plugins["optimizer"][0] == 1
assert not any("saver" in name for name in plugins), "savers are left out"
assert any(line.startswith("memory: a plan's results take ") for line in lines)

trace = json.load(open("runs/small-profile/traces/merged_trace.json"))
begun = [e for e in trace if e["ph"] == "B"]
measured = [e for e in begun if e["name"].startswith("op/") and e["args"]["batch"] >= 2]
assert len(measured) == round(3 * total[0]), (len(measured), total[0])
assert sum(e["name"] == "event/batch" for e in begun) == 4, "one batch warms up"
layers = {e["cat"] for e in measured if e["name"].startswith("op/matmul")}
assert len(layers) > 1 and all(one.startswith("op,") for one in layers), f"each operation names its module: {layers}"
live = [e["args"]["live_mb"] for e in trace if e["ph"] == "C" and e["name"] == "memory/arena"]
assert live and max(live) > 0
around = []
for e in trace:
    if e["ph"] == "B":
        assert not e["name"].startswith("op/") or around[-1] in (
            "event/forward", "event/loss", "event/backward"), (e, around)
        around.append(e["name"])
    elif e["ph"] == "E":
        around.pop()
PY
# 64 samples of 784 numbers, 32 hidden units, 10 classes, by hand: what an operation reads, and twice what it writes, since
# a line of memory is read before a part of it is written.  Numbers have four bytes.
"$TUTTI" profile run.json --batches 2 --set model.dropout=0 --set 'algorithms=[]' --set 'loggers=[]' >bytes.txt 2>&1
check "bytes are those of the shapes" python3 - <<'PY'
x, w1, b1, h = 64 * 784, 32 * 784, 32, 64 * 32
w2, b2, y, t, one = 10 * 32, 10, 64 * 10, 64, 1
moved = {  # read, written
    "matmul": [(x + w1 + b1, h), (h + w2 + b2, y), (y + h, w2), (h + x, w1)],
    "matmul_act_grad": [(y + w2 + h, h)],
    "sum_to": [(y, b2), (h, b1)],
    "softmax_cross_entropy": [(y + t, t)],
    "softmax_cross_entropy_grad": [(y + t + t, y)],
    "cast": [(t, t)],
    "cmp": [(t + one, t)],
    "sum": [(t, one), (t, one)],
    "broadcast_to": [(one, t)],
}
table = open("bytes.txt").read().split("\noperation ", 1)[1].split("\n\n", 1)[0].splitlines()[1:]
have = {line[:36].strip(): line[36:].replace("%", "").split() for line in table}
for name, calls in moved.items():
    want = 4e-9 * sum(read + 2 * written for read, written in calls)
    got = float(have[name][4])  # printed with four digits
    assert float(have[name][0]) == len(calls), (name, have[name])
    assert abs(got - want) <= 0.6e-3 * want, (name, got, want)
whole = sum(float(row[4]) for name, row in have.items() if name != "all operations")
assert abs(float(have["all operations"][4]) - whole) <= 1e-3 * whole, (have["all operations"], whole)
PY
# A table of text and the JSON object are of two runs: what does not depend on time is the same.
"$TUTTI" profile run.json --batches 2 --set model.dropout=0 --set 'algorithms=[]' --set 'loggers=[]' --json >profile.json 2>err.txt
check "the same as JSON" python3 - <<'PY'
import json
whole = json.load(open("profile.json"))
assert whole["threads"] == 2 and whole["batches"] == 2 and whole["batch_ms"] > 0, whole
assert whole["trained"] == 784 * 32 + 32 + 32 * 10 + 10 and whole["slots"] == 2, whole
steps = {row["name"]: row for row in whole["operations"]}
assert sum(row["flops"] for row in steps.values()) == 2 * 64 * (2 * 784 * 32 + 3 * 32 * 10), steps
assert steps["matmul"]["count"] == 4 and steps["sum"]["bytes"] == 2 * 4 * (64 + 2), steps
events = {row["name"]: row for row in whole["events"]}
assert events["batch"]["count"] == 1 and abs(events["batch"]["ms"] - whole["batch_ms"]) < 1e-6, events
assert sum(row["ms"] for row in steps.values()) <= events["train_batch"]["ms"], events
assert "update/optimizer" in [row["name"] for row in whole["plugins"]], whole["plugins"]
PY
check "again, over the first" "$TUTTI" profile run.json --batches 1
says "a number that is none" 2 "tutti: --batches 0, want a number from 1 to 1000000" \
  "$TUTTI" profile run.json --batches 0
says "data that end too soon" 1 \
  "tutti: no batch was measured: fewer than 3 batches of an epoch ran; it is shorter, or a plugin has stopped the run" \
  "$TUTTI" profile run.json --set train.batch_size=640
finish
