"""comm_test.py - a comm of which one call is late, too short or fails: the job ends in time, with a name, and no bit is wrong:
comm_test.py TUTTI [NAME]..."""
# SPDX-License-Identifier: Apache-2.0
import os
import re
import sys
import time

from ranks import World, changed, difference, main, write

CALLS = ("exchange", "broadcast", "all_to_all", "all_gather")
SECONDS = 30
BUCKET = re.compile(r"has not come in 2 s; it was last seen at step \d+, (summing gradients|gathering weights), bucket \d+")


def broken(folder, **settings):
    """A run whose comm goes wrong so."""
    run = changed(max_duration="6ba", microbatch_size=10)
    run["distributed"]["comm"] = {"name": "faulty_comm", **settings}
    run["distributed"]["timeout_s"] = 2 if settings.get("delay_ms", 0) > 1000 else 20
    write(folder, run)
    return folder


def start(tutti, folder, sharding="none"):
    """Its two ranks; statuses, texts on stderr, and seconds."""
    began = time.monotonic()
    world = World(tutti, folder, 2, ["--plugin-path", os.path.join(os.environ["FIXTURES"], "faulty_comm"),
                                     "--set", f"distributed.sharding={sharding}"])
    status, _, err = world.end()
    return status, err, time.monotonic() - began


def fails(tutti, folder, report):
    """The n-th call fails on one rank: it says so, and the other names it."""
    for call in CALLS:
        for number, rank in ((1, 0), (2, 1), (4, 0), (5, 1)):
            where = broken(os.path.join(folder, f"{call}{number}{rank}"), call=call, number=number, rank=rank)
            status, err, seconds = start(tutti, where)
            good = 0 not in status and seconds < SECONDS and f"faulty_comm: {call} fails" in err[rank] and f"rank {rank} (" in err[1 - rank]
            report.check(f"{call} {number} fails on rank {rank}: named", good, f"{seconds} s {status} {err}")


def short(tutti, folder, report):
    """A rank that gives or takes too little, anywhere: never a result."""
    for call in CALLS:
        for number in (1, 3):
            where = broken(os.path.join(folder, f"{call}{number}"), call=call, number=number, fault="truncate")
            status, err, seconds = start(tutti, where, "states")
            good = 0 not in status and seconds < SECONDS and "shared_memory: rank" in err[0] + err[1] and "bytes" in err[0] + err[1]
            report.check(f"{call} {number} is too short: both lengths are named", good, f"{seconds} s {status} {err}")


def late(tutti, folder, report):
    """A rank that comes late, within the time, changes no bit; beyond it, it is named with what it was doing."""
    whole = os.path.join(folder, "whole")
    write(whole, changed(max_duration="6ba", microbatch_size=10))
    World(tutti, whole, 1).end()
    for call, sharding in (("exchange", "none"), ("all_to_all", "weights"), ("all_gather", "states")):
        where = broken(os.path.join(folder, call), call=call, number=12, fault="delay", delay_ms=300)
        status, err, _ = start(tutti, where, sharding)
        text = difference(whole, where) if status == [0, 0] else f"{status} {err}"
        good = not text and f"faulty_comm: {call} has waited 300 ms" in err[1]
        report.check(f"{call} that is 0.3 s late: it was, and the bits of one", good, f"{text} {err}")
    for call, sharding in (("all_to_all", "none"), ("all_gather", "weights")):
        where = broken(os.path.join(folder, f"{call}-late"), call=call, number=7, fault="delay", delay_ms=6000)
        status, err, seconds = start(tutti, where, sharding)
        good = status == [1, 1] and seconds < SECONDS and "rank 1 (" in err[0] and BUCKET.search(err[0])
        report.check(f"{call} that comes after the time: rank, step and bucket are named", good, f"{seconds} s {status} {err}")


if __name__ == "__main__":
    sys.exit(main([fails, short, late]))
