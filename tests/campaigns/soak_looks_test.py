"""soak_looks_test.py - what counts as growth: looks that are made up, of a run that is as it was but for one thing."""
# SPDX-License-Identifier: Apache-2.0
import collections
import os
import pathlib
import sys
import tempfile
import time

from soak_looks import Look, cpu_seconds, drift, growth, space

MIB = 1 << 20


def looks(**grows):
    """400 looks, ten batches apart; `grows`: of a member, what it is at batch `b`."""
    usual = {"seconds": lambda b: 0.2 * b, "cpu": lambda b: 0.1 * b, "batch": lambda b: b, "resident": lambda b: 30 * MIB,
             "mapped": lambda b: 90 * MIB, "threads": lambda b: 5, "disk": lambda b: MIB,
             "files": lambda b: collections.Counter({"log": 1, "set": b % 3})} | grows
    return [Look(*(usual[name](10 * k) for name in Look._fields)) for k in range(400)]


def longer(share):
    """CPU time of which a batch takes so much more from batch 3000 on."""
    return lambda b: 0.1 * b + 0.1 * share * max(0, b - 3000)


# (looks, whether the pace counts, what is told)
ROWS = [
    (looks(), True, ""),
    (looks(resident=lambda b: 30 * MIB + 2000 * b), True, "resident grew"),
    (looks(mapped=lambda b: (90 + b // 1000) * MIB), True, "mapped grew"),
    (looks(threads=lambda b: 5 + b // 1000), True, "threads grew"),
    (looks(disk=lambda b: MIB + 100 * b), True, "disk grew"),
    (looks(files=lambda b: collections.Counter({"log": 1 + b // 1000})), True, "files: log grew"),
    (looks(resident=lambda b: (30 + b % 7) * MIB), True, ""),  # comes and goes
    (looks(cpu=longer(0.01)), True, ""),
    (looks(cpu=longer(0.03)), True, "a batch computes for 3.0 % longer"),
    (looks(cpu=longer(0.03)), False, ""),  # a run of less than an hour
    (looks(seconds=lambda b: 0.2 * b + 0.2 * max(0, b - 3000)), True, ""),  # another process takes the CPU
    (looks(cpu=lambda b: 0.1 * b + 0.02 * max(0, b - 3200)), True, ""),  # and its caches, but for a while
    (looks(cpu=lambda b: 0.0), True, "the time that a batch computes is not known"),
]


def check_drift():
    """Both clocks are told, each by itself."""
    one = looks(seconds=lambda b: 0.2 * b + 0.1 * max(0, b - 3000), cpu=longer(0.03))
    assert abs(drift(one, "seconds") - 0.5) < 1e-6, drift(one, "seconds")
    assert abs(drift(one, "cpu") - 0.03) < 1e-3, drift(one, "cpu")


def check_clock():
    """The CPU clock of a process goes on while it computes, and by what it computes."""
    before, own = cpu_seconds(os.getpid()), time.process_time()
    while time.process_time() < own + 0.1:
        pass
    assert 0.1 <= cpu_seconds(os.getpid()) - before < 0.2


def check_space():
    """Logs are left out, and what lies beside them is not."""
    with tempfile.TemporaryDirectory(prefix="tutti_soak_") as top:
        logs = ["out.txt", "runs/soak/log.jsonl", "runs/soak/slack.waiting", "tensorboard_logs/soak/events.1",
                "submission/results/x/result_0.txt"]
        others = ["saves/a.safetensors", "runs/soak/uploads/b", "bucket/c", "runs/soak/record.json"]
        for name in logs + others:
            path = pathlib.Path(top) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(bytes(1000 if name in logs else 1))
        assert space(pathlib.Path(top)) == len(others), space(pathlib.Path(top))


def main():
    wrong = 0
    for k, (given, slow, want) in enumerate(ROWS):
        found = growth(given, slow)
        if [want] != [text[:len(want)] for text in found] and (want or found):
            print(f"FAILED: row {k}: found {found}, want {want!r}")
            wrong += 1
    check_drift()
    check_clock()
    check_space()
    print(f"{len(ROWS) - wrong} of {len(ROWS)} runs are judged as they should be")
    return 1 if wrong else 0


sys.exit(main())
