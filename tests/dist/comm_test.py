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
# Of large microbatches: between two buckets the thread that sums asks what is under way, in one batch of seven or more.
LONG, ENDLESS = "200ba", "100000ba"
BUCKET = r"; it was last seen at step \d+, (?:(?:summing gradients|gathering weights), bucket \d+|updating weights)$"
GIVEN = re.compile(r"shared_memory: rank (\d) (?:gives|sends) (\d+) bytes(?: to rank \d, which|, of which rank \d) expects (\d+)$", re.M)


def broken(folder, duration="6ba", join_s=60, **settings):
    """A run whose comm goes wrong so."""
    run = changed(max_duration=duration, microbatch_size=10)
    if duration in (LONG, ENDLESS):
        run.update(callbacks=[{"name": "checkpoint_saver"}], eval=[], microbatch_size=60)
        run["train"]["batch_size"] = 120
    run["distributed"]["comm"] = {"name": "faulty_comm", **settings}
    run["distributed"]["timeout_s"] = 2 if settings.get("delay_ms", 0) > 1000 else 20
    run["distributed"]["join_timeout_s"] = join_s
    write(folder, run)
    return folder


def begin(tutti, folder, sharding="none", size=2, env=None):
    """Its ranks."""
    plugins = [word for name in ("faulty_comm", "unruly") for word in ("--plugin-path", os.path.join(os.environ["FIXTURES"], name))]
    return World(tutti, folder, size, [*plugins, "--set", f"distributed.sharding={sharding}"], env=env)


def start(tutti, folder, *how):
    """The ranks' statuses, texts on stderr, and seconds."""
    began = time.monotonic()
    status, _, err = begin(tutti, folder, *how).end()
    return status, err, time.monotonic() - began


def fails(tutti, folder, report):
    """The n-th call fails on one rank: it says so, and the other names it."""
    for call in (*CALLS, "wait"):
        for number, rank in ((1, 0), (2, 1), (4, 0), (5, 1)):
            where = broken(os.path.join(folder, f"{call}{number}{rank}"), call=call, number=number, rank=rank, concurrent=number > 1)
            status, err, seconds = start(tutti, where)
            good = 0 not in status and seconds < SECONDS and f"faulty_comm: {call} fails" in err[rank] and f"rank {rank} (" in err[1 - rank]
            report.check(f"{call} {number} fails on rank {rank}: named", good, f"{seconds} s {status} {err}")
    for rank in (0, 1):
        where = broken(os.path.join(folder, f"test{rank}"), ENDLESS, call="test", rank=rank, concurrent=True)
        status, err, seconds = start(tutti, where)
        good = 0 not in status and seconds < SECONDS and "faulty_comm: test fails" in err[rank] and f"rank {rank} (" in err[1 - rank]
        report.check(f"test fails on rank {rank}: named", good, f"{seconds} s {status} {err}")
        where = broken(os.path.join(folder, f"join{rank}"), join_s=2, call="join", rank=rank)
        status, err, seconds = start(tutti, where)
        good = status == [2, 2] and seconds < SECONDS and err[rank] == "tutti: faulty_comm: join fails\n"
        report.check(f"join fails on rank {rank}: the other has waited for it", good and err[1 - rank] == f"tutti: rank {rank} has not come in 2 s\n",
                     f"{seconds} s {status} {err}")


def short(tutti, folder, report):
    """A rank that gives or takes too little, anywhere: never a result."""
    for call in CALLS:
        for number in (1, 3):
            where = broken(os.path.join(folder, f"{call}{number}"), call=call, number=number, fault="truncate", concurrent=number > 1)
            status, err, seconds = start(tutti, where, "states")
            # Rank 1 gives half of what is expected, and expects half of what it is given.
            said = [(rank, int(given), int(wanted)) for text in err for rank, given, wanted in GIVEN.findall(text)]
            halves = all(2 * given == wanted if rank == "1" else given == 2 * wanted for rank, given, wanted in said)
            good = 0 not in status and seconds < SECONDS and said and halves
            report.check(f"{call} {number} is too short: both lengths are named", good, f"{seconds} s {status} {err}")


def late(tutti, folder, report):
    """A rank that comes late, within the time, changes no bit."""
    for duration in ("6ba", LONG):
        World(tutti, broken(os.path.join(folder, duration), duration), 1, ["--set", "distributed.comm=shared_memory"]).end()
    for call, number, sharding in (("exchange", 12, "none"), ("broadcast", 3, "none"), ("all_to_all", 12, "weights"),
                                   ("all_gather", 12, "states"), ("wait", 12, "gradients"), ("test", 1, "none"), ("join", 1, "none")):
        duration = LONG if call == "test" else "6ba"
        where = broken(os.path.join(folder, call), duration, call=call, number=number, fault="delay", delay_ms=300,
                       concurrent=call in ("all_to_all", "test"))
        status, err, _ = start(tutti, where, sharding)
        text = difference(os.path.join(folder, duration), where) if status == [0, 0] else f"{status} {err}"
        good = not text and f"faulty_comm: {call} has waited 300 ms" in err[1]
        report.check(f"{call} that is 0.3 s late: it was, and the bits of one", good, f"{text} {err}")


def too_late(tutti, folder, report):
    """A rank that comes after the time is named, with what it was doing, by one that has ended before it comes."""
    worlds = []
    for call, number, sharding, doing in (("exchange", 3, "none", "$"), ("broadcast", 3, "none", "$"), ("all_to_all", 7, "none", BUCKET),
                                          ("all_gather", 7, "weights", BUCKET), ("wait", 12, "states", BUCKET), ("test", 1, "none", BUCKET),
                                          ("join", 1, "none", "$")):
        where = broken(os.path.join(folder, call), ENDLESS if call == "test" else "6ba", 2 if call == "join" else 60, call=call,
                       number=number, fault="delay", delay_ms=8000, concurrent=True)
        worlds.append((call, doing, time.monotonic(), begin(tutti, where, sharding)))  # they sleep beside each other
    ended = {}
    while len(ended) < len(worlds) and time.monotonic() < worlds[0][2] + SECONDS:
        for call, _, began, world in worlds:
            if call not in ended and world.ranks[0].poll() is not None:
                ended[call] = time.monotonic() - began, world.ranks[1].poll()
        time.sleep(0.01)
    for call, doing, _, world in worlds:
        status, _, err = world.end()
        said = re.search(r"rank 1( \(process \d+\))? has not come in 2 s" + doing, err[0].strip())
        good = 0 not in status and said and f"faulty_comm: {call} has waited 8000 ms" in err[1] and call in ended and ended[call][1] is None
        report.check(f"{call} that comes after the time: who, and where it was, is said before", good, f"{ended} {status} {err}")


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
    sys.exit(main([fails, short, late, too_late, together, absent]))
