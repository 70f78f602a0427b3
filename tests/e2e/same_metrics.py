#!/usr/bin/env python3
"""same_metrics.py - two logs of the logger jsonl have the same losses and metrics at the same batches.

usage: same_metrics.py A B [TOLERANCE]
"""
import json
import sys


def read(path):
    table = {}
    with open(path, encoding="utf-8") as file:
        for line in file:
            entry = json.loads(line)
            for name, value in entry.get("values", {}).items():
                if name.startswith(("metrics/", "loss/", "l2_norm/")):
                    table.setdefault((entry["batch"], name), []).append(value)
    return table


a, b = read(sys.argv[1]), read(sys.argv[2])
tolerance = float(sys.argv[3]) if len(sys.argv) > 3 else 0.0
assert a, "no losses, no metrics"
assert a.keys() == b.keys(), sorted(a.keys() ^ b.keys())
for key, values in a.items():
    near = len(values) == len(b[key]) and all(
        abs(x - y) <= tolerance for x, y in zip(values, b[key]))
    assert near, (key, values, b[key])
