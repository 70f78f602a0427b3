"""comm_test.py - a comm of which one call is late, too short or fails: the job ends in time, with a name, and no bit is wrong:
comm_test.py TUTTI [NAME]..."""
# SPDX-License-Identifier: Apache-2.0
import json
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


def start(tutti, folder, sharding="none", size=2, env=None):
    """Its ranks; statuses, texts on stderr, and seconds."""
    began = time.monotonic()
    plugins = [word for name in ("faulty_comm", "unruly") for word in ("--plugin-path", os.path.join(os.environ["FIXTURES"], name))]
    world = World(tutti, folder, size, [*plugins, "--set", f"distributed.sharding={sharding}"], env=env)
    status, _, err = world.end()
    return status, err, time.monotonic() - began


def fails(tutti, folder, report):
    """The n-th call fails on one rank: it says so, and the other names it."""
    for call in CALLS:
        for number, rank in ((1, 0), (2, 1), (4, 0), (5, 1)):
            where = broken(os.path.join(folder, f"{call}{number}{rank}"), call=call, number=number, rank=rank, concurrent=number > 1)
            status, err, seconds = start(tutti, where)
            good = 0 not in status and seconds < SECONDS and f"faulty_comm: {call} fails" in err[rank] and f"rank {rank} (" in err[1 - rank]
            report.check(f"{call} {number} fails on rank {rank}: named", good, f"{seconds} s {status} {err}")


def short(tutti, folder, report):
    """A rank that gives or takes too little, anywhere: never a result."""
    for call in CALLS:
        for number in (1, 3):
            where = broken(os.path.join(folder, f"{call}{number}"), call=call, number=number, fault="truncate", concurrent=number > 1)
            status, err, seconds = start(tutti, where, "states")
            good = 0 not in status and seconds < SECONDS and "shared_memory: rank" in err[0] + err[1] and "bytes" in err[0] + err[1]
            report.check(f"{call} {number} is too short: both lengths are named", good, f"{seconds} s {status} {err}")


def late(tutti, folder, report):
    """A rank that comes late, within the time, changes no bit; beyond it, it is named with what it was doing."""
    whole = os.path.join(folder, "whole")
    write(whole, changed(max_duration="6ba", microbatch_size=10))
    World(tutti, whole, 1).end()
    for call, sharding in (("exchange", "none"), ("all_to_all", "weights"), ("all_gather", "states")):
        where = broken(os.path.join(folder, call), call=call, number=12, fault="delay", delay_ms=300, concurrent=call == "all_to_all")
        status, err, _ = start(tutti, where, sharding)
        text = difference(whole, where) if status == [0, 0] else f"{status} {err}"
        good = not text and f"faulty_comm: {call} has waited 300 ms" in err[1]
        report.check(f"{call} that is 0.3 s late: it was, and the bits of one", good, f"{text} {err}")
    for call, sharding in (("all_to_all", "none"), ("all_gather", "weights")):
        where = broken(os.path.join(folder, f"{call}-late"), call=call, number=7, fault="delay", delay_ms=6000, concurrent=True)
        status, err, seconds = start(tutti, where, sharding)
        good = status == [1, 1] and seconds < SECONDS and "rank 1 (" in err[0] and BUCKET.search(err[0])
        report.check(f"{call} that comes after the time: rank, step and bucket are named", good, f"{seconds} s {status} {err}")


def together(tutti, folder, report):
    """A comm that can have operations under way at once has them, one that cannot never does; the bits are those of one rank."""
    whole = os.path.join(folder, "whole")
    write(whole, changed(max_duration="6ba", microbatch_size=10))
    World(tutti, whole, 1).end()
    # Of weights that are not kept whole each sum is over before the next one.
    for size, machine_ranks, sharding, most in ((2, 0, "none", 3), (3, 0, "none", 3), (4, 2, "none", 3), (2, 0, "states", 2), (2, 0, "weights", 1)):
        for concurrent in (False, True):
            name = f"{size} ranks, {machine_ranks or size} a machine, sharding {sharding}, concurrent {concurrent}"
            where = broken(os.path.join(folder, name.replace(" ", "_")), fault="none", concurrent=concurrent, machine_ranks=machine_ranks)
            status, err, _ = start(tutti, where, sharding, size)
            text = f"{status} {err}" if any(status) else difference(whole, where)
            report.check(f"{name}: the bits of one", not text, text)
            said = [re.search(r"faulty_comm: at most (\d+) at once, 0 left", text) for text in err]
            want = range(min(2, most), most + 1) if concurrent else (1,)
            report.check(f"{name}: so many at once", all(one and int(one[1]) in want for one in said), f"{err}")


def absent(tutti, folder, report):
    """A rank whose last slot fails, of which sums have begun, begins the others where the ranks that are well do."""
    for size, machine_ranks, sharding in ((2, 0, "none"), (4, 2, "none"), (2, 0, "states"), (2, 0, "gradients")):
        where = broken(os.path.join(folder, f"{size}{sharding}"), fault="none", concurrent=True, machine_ranks=machine_ranks)
        run = changed(max_duration="6ba")
        with open(os.path.join(where, "run.json"), encoding="utf-8") as f:
            run["distributed"] = json.load(f)["distributed"]
        run["train"]["metrics"] = [{"name": "unruly"}]
        write(where, run)
        # 8 slots of a batch: the last one of rank 1 is that of each rank in the order of the tree, or in rounds.
        updates = 8 // size
        status, err, _ = start(tutti, where, sharding, size, {rank: {"UNRULY_UPDATE": str(updates if rank == 1 else 0)} for rank in range(size)})
        name = f"{size} ranks, {machine_ranks or size} a machine, sharding {sharding}: update {updates} fails on rank 1"
        report.check(f"{name}: rank 0 says so", status == [1] * size and f"[rank 1] unruly: update {updates} fails" in err[0], f"{status} {err}")
        left = all(" at once, 0 left" in text for text in err)
        report.check(f"{name}: nothing is left under way", left, f"{err}")


if __name__ == "__main__":
    sys.exit(main([fails, short, late, together, absent]))
