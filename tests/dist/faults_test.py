"""faults_test.py - ranks that die, hang, are stopped or differ: who is named, and what is lost (nothing):
faults_test.py TUTTI [--kills N] [NAME]..."""
# SPDX-License-Identifier: Apache-2.0
import fcntl
import math
import os
import pathlib
import random
import re
import resource
import signal
import struct
import sys
import termios
import time

from ranks import World, changed, difference, final, listed_files, main, numbers, write, write_npy
from data_files import png, write_shards  # after ranks, which says where it lies

KILLS = int(sys.argv[sys.argv.index("--kills") + 1]) if "--kills" in sys.argv else 50
SECONDS = 600 * max(1, KILLS // 50)  # a guard; 50 kills take 20 s on a machine of two cores that is idle
RUN = changed(max_duration="8ep", microbatch_size=10)
FILES = ("ep{epoch}-ba{batch}.safetensors", "ep{epoch}-ba{batch}.safetensors.index.json")  # one file, or one a rank
SHARD = re.compile(r"-\d{5}-of-\d{5}\.safetensors$")


def uninterrupted(tutti, folder):
    """The run in a world of one."""
    whole = os.path.join(folder, "whole")
    write(whole, RUN)
    World(tutti, whole, 1).end()
    return whole


def other_worlds(tutti, folder, report):
    """A run goes on in worlds of other sizes."""
    whole, parts = uninterrupted(tutti, folder), os.path.join(folder, "parts")
    write(parts, RUN)
    for size, until in ((3, "2ep"), (1, "3ep"), (8, "5ep"), (2, "8ep")):
        World(tutti, parts, size, ["--resume", "auto", "--set", f"max_duration={until}"]).end()
    text = difference(whole, parts)
    report.check("3, 1, 8 and 2 ranks in turn end with the bits of one", not text, text)


def progress(folder):
    """The last batch that is saved; -1: none."""
    where = os.path.join(folder, "runs/ranks/checkpoints")
    names = os.listdir(where) if os.path.isdir(where) else []
    whole = re.compile(r"ep\d+-ba(\d+)\.safetensors(\.index\.json)?$")
    return max((int(found[1]) for found in map(whole.match, names) if found), default=-1)


def missing_files(folder):
    """Files that an index names and that are not there, and what a run has set aside as damaged."""
    where = os.path.join(folder, "runs/ranks/checkpoints")
    names = set(os.listdir(where)) if os.path.isdir(where) else set()
    named = set().union(*(listed_files(os.path.join(where, name)) for name in names if name.endswith(".index.json")))
    return named - names | {name for name in names if name.endswith(".damaged")}


def begun(world):
    """Names of files that are being written, or that a killed rank has left: shards are from the first to the index."""
    names = world.saved()
    indexes = [os.path.join(world.folder, "runs/ranks/checkpoints", name) for name in names if name.endswith(".index.json")]
    named = set().union(*map(listed_files, indexes))
    return {name for name in names if ".tmp-" in name or (SHARD.search(name) and name not in named)}


def wait_to_kill(world, dice, early, left):
    """Until a random moment: before the ranks have joined, during training, or while a file is being written."""
    if early:
        time.sleep(dice.uniform(0.0, 0.1))
        return
    batch, until = progress(world.folder), time.monotonic() + 30
    while progress(world.folder) <= batch and all(one.poll() is None for one in world.ranks) and time.monotonic() < until:
        time.sleep(0.001)
    time.sleep(dice.uniform(0.0, 0.1))
    within = dice.random() < 0.6
    while within and not begun(world) - left and world.ranks[0].poll() is None and time.monotonic() < until:
        pass


def kill_one(tutti, folder, report, dice, k):
    """One world more, of which a rank is killed. Whether it was within a save; None: no rank was killed."""
    size = dice.choice((2, 3, 4))
    victim = dice.randrange(size) if k % 2 else 0  # which writes the files
    sharding = dice.choice(("none", "states", "gradients", "weights"))
    behind = dice.choice(("true", "false"))
    world = World(tutti, folder, size, ["--resume", "auto", "--set", f"distributed.sharding={sharding}",
                                        "--set", f"callbacks.0.async={behind}"])
    left = begun(world)
    wait_to_kill(world, dice, k % 10 == 9, left)
    world.signal(victim, signal.SIGKILL)
    began = time.monotonic()
    status, _, err = world.end()
    if status[victim] != -9:  # it was over
        report.check(f"kill {k}: a run that was not killed ends well", not any(status), f"{status} {err}")
        return None
    others = [rank for rank in range(size) if rank != victim]
    late = time.monotonic() - began
    named = all(status[rank] in (1, 2) and f"rank {victim}" in err[rank] for rank in others)
    report.check(f"kill {k}: rank {victim} of {size} is named within 10 s", named and late < 10, f"{late} s {status} {err}")
    return bool(begun(world) - left)


def kills(tutti, folder, report):
    """A rank is killed at any moment, also within a save; what is saved goes on, in worlds of other sizes and sharding."""
    for name, seed, count in zip(FILES, (5, 6), (KILLS - KILLS // 2, KILLS // 2)):
        kill_many(tutti, os.path.join(folder, str(seed)), report, name, random.Random(seed), count)


def kill_many(tutti, folder, report, filename, dice, count):
    """So many kills of one run, whose checkpoints have that name."""
    run = changed(max_duration="100000ba", microbatch_size=8, optimizer={"name": "adamw", "lr": 0.001},
                  callbacks=[{"name": "checkpoint_saver", "interval": "1ba", "keep": 3, "filename": filename}])
    run["distributed"]["join_timeout_s"] = 5  # a rank may be killed before it joins
    whole, parts = os.path.join(folder, "whole"), os.path.join(folder, "parts")
    limit = SECONDS * count / KILLS
    ends, killed, within, last, k = time.monotonic() + limit, 0, 0, -1, 0
    write(parts, run)
    while killed < count and time.monotonic() < ends:
        found = kill_one(tutti, parts, report, dice, k)
        killed, within = killed + (found is not None), within + (found is True)
        now = progress(parts)
        report.check(f"kill {k}: nothing that was saved is lost", now >= last, f"batch {now}, {last} before")
        damage = missing_files(parts)
        report.check(f"kill {k}: what is saved is whole", not damage, f"{sorted(damage)}")
        last, k = now, k + 1
    report.check(f"{filename}: {count} ranks were killed", killed == count, f"{killed} in {limit} s")
    report.check("some of them within a save", within >= max(1, count // 10), f"{within} of {killed}")
    until = ["--set", f"max_duration={last + 3}ba"]
    status, _, err = World(tutti, parts, 2, ["--resume", "auto", *until]).end()
    write(whole, run)
    World(tutti, whole, 1, until).end()
    report.check("after all kills the run ends with the bits of one", status == [0, 0] and final(whole) == final(parts), f"{status} {err}")
    rows = [{key: value for key, value in numbers(f).items() if key[0].startswith("loss/")} for f in (whole, parts)]
    report.check("and its log has the loss of every batch", rows[0] == rows[1] and len(rows[0]) > 0,
                 f"{len(rows[0])} and {len(rows[1])} losses")


# Where a rank of a run that trains may be last seen: a file is saved and an evaluation made behind the last sum.
SEEN = r"step ([1-9]\d*), (?:computing|updating weights|saving a checkpoint|evaluating|summing gradients, bucket [1-9]\d*)"


def state_of(process):
    """The state that the system has for it: T: it stands still."""
    with open(f"/proc/{process.pid}/stat", encoding="ascii", errors="replace") as f:
        return f.read().rpartition(")")[2].split()[0]


def wait_for_others(world, victim, seconds):
    """Waits until the others have ended, so long at most; how long that was, and whether the victim stands there still."""
    began = time.monotonic()
    others = [one for rank, one in enumerate(world.ranks) if rank != victim]
    while any(one.poll() is None for one in others) and time.monotonic() < began + seconds:
        time.sleep(0.02)
    late = time.monotonic() - began
    stands = all(one.poll() is not None for one in others) and state_of(world.ranks[victim]) == "T"
    world.signal(victim, signal.SIGKILL)
    return late, stands


def agree_on(world, victim, err, what, status):
    """Whether each of the others has said that sentence of the victim, all with the same words, and ended with 1; the words."""
    text = re.compile(rf"(?:^|: |\] )rank {victim} \(process {world.ranks[victim].pid}\) (has not come in \d+ s; it was last seen at {what})$")
    said = [text.search(one.strip()) for rank, one in enumerate(err) if rank != victim]
    words = {one[1] if one else "" for one in said}
    ended = all(code == 1 for rank, code in enumerate(status) if rank != victim)
    return ended and len(words) == 1 and all(words), words


def hang(tutti, folder, report):
    """A rank that stands still, each of them in turn, is named by each of the others soon after timeout_s, with its step and
    what it did last."""
    seconds = 3  # on a loaded machine a sound rank may not come for a second
    for size, victim in ((size, victim) for size in (2, 4) for victim in range(size)):
        where = os.path.join(folder, f"{victim}of{size}")
        run = changed(max_duration="4000ep")
        run["distributed"]["timeout_s"] = seconds
        write(where, run)
        world = World(tutti, where, size)
        world.wait_for_batch(2)
        world.signal(victim, signal.SIGSTOP)
        late, stands = wait_for_others(world, victim, seconds + 10)
        status, _, err = world.end()
        report.check(f"rank {victim} of {size} hangs: all others end while it does", stands, f"{late} s {status} {err}")
        good, words = agree_on(world, victim, err, SEEN, status)
        report.check("and name it, with its step and what it did", good, f"{status} {words} {err}")


def hang_in_sum(tutti, folder, report):
    """A rank that stands still within a sum, of which it has begun the bucket, or gives what another one waits for: all others
    name the step and that bucket."""
    for size, victim, call, number, sharding, doing in (
            (2, 0, "all_to_all", 12, "none", "step 1, summing gradients, bucket 3"),
            (2, 1, "all_gather", 12, "none", "step 1, summing gradients, bucket 3"),
            (3, 2, "wait", 9, "gradients", "step 0, summing gradients, bucket 9"),
            (3, 0, "all_gather", 20, "weights", "step 0, gathering weights, bucket 20")):
        where = os.path.join(folder, f"{victim}of{size}{call}{sharding}")
        run = changed(max_duration="4000ep", callbacks=[], eval=[])
        run["distributed"].update(timeout_s=2, sharding=sharding, comm={"name": "faulty_comm", "fault": "stop", "call": call,
                                                                        "number": number, "rank": victim, "concurrent": call != "wait"})
        write(where, run)
        world = World(tutti, where, size, ["--plugin-path", os.path.join(os.environ["FIXTURES"], "faulty_comm")])
        late, stands = wait_for_others(world, victim, 30)
        status, _, err = world.end()
        good, words = agree_on(world, victim, err, doing, status)
        report.check(f"rank {victim} of {size}, {sharding}, stands in {call}", good and stands, f"{late} s {status} {words} {err}")


def stop(tutti, folder, report):
    """One rank is told to stop: all do, behind the same batch."""
    for victim in (0, 1):
        where = os.path.join(folder, str(victim))
        write(where, changed(max_duration="4000ep", callbacks=[{"name": "checkpoint_saver", "interval": "3ba"}]))
        world = World(tutti, where, 3)
        world.wait_for_batch(3)
        world.signal(victim, signal.SIGTERM)
        status, _, err = world.end()
        report.check(f"SIGTERM at rank {victim} ends all with 143", status == [143] * 3, f"{status} {err}")
        batches = [re.findall(r"stopped by signal 15 after batch (\d+), which is saved", text) for text in err]
        report.check("behind one batch, as each of them says", len(batches[0]) == 1 and batches == [batches[0]] * 3, f"{err}")
        report.check("which is saved", any(f"-ba{batches[0][0] if batches[0] else '?'}." in name for name in world.saved()), f"{world.saved()}")


def computed(world):
    """Seconds of processor time of each rank so far."""
    found = []
    for one in world.ranks:
        with open(f"/proc/{one.pid}/stat", encoding="ascii", errors="replace") as f:
            found.append(sum(map(int, f.read().rpartition(")")[2].split()[11:13])) / os.sysconf("SC_CLK_TCK"))
    return found


def compute(world, seconds):
    """Until each rank has computed for so long from now on."""
    before, until = computed(world), time.monotonic() + 100
    while time.monotonic() < until and min(now - then for now, then in zip(computed(world), before)) < seconds:
        time.sleep(0.02)


def stop_evaluating(tutti, folder, report):
    """Ranks that are told to stop while all evaluate or predict end with 143, soon, also where one alone is told, and an
    evaluation that was cut comes again."""
    run = changed(max_duration="5ba", callbacks=[{"name": "checkpoint_saver", "interval": "3ba"}])
    run["eval"][0] |= {"interval": "3ba", "batch_size": 64}
    alone = os.path.join(folder, "alone")
    write(alone, run)
    World(tutti, alone, 1).end()
    asks = ["--plugin-path", os.path.join(os.environ["FIXTURES"], "ranker"), "--set",
            'handlers=[{"on": "eval_batch_end", "once": 2, "call": "ranker.together"}]']
    for what, victims, more in (("all ranks", (0, 1, 2), []), ("rank 0", (0,), []), ("rank 1", (1,), []),
                                ("rank 2, behind what plugins of all ranks compute,", (2,), asks)):
        where = os.path.join(folder, what.replace(" ", "_"))
        write(where, run)
        world = World(tutti, where, 3, options=["--set", "eval.0.dataset.samples=4000000", *more])  # for a minute and longer
        world.wait_for_loss(2)  # of the batch before the evaluation
        compute(world, 0.5)
        began = time.monotonic()
        for victim in victims:
            world.signal(victim, signal.SIGTERM)
        status, _, err = world.end()
        late = time.monotonic() - began
        said = ["stopped by signal 15 after batch 3, which is saved" in text for text in err]
        report.check(f"SIGTERM at {what} in an evaluation ends all with 143", status == [143] * 3 and all(said) and late < 30,
                     f"{status} {late} s {err}")
        logged = {name for name, _ in numbers(where) if name.startswith("metrics/test/")}
        report.check("half of one gives no metric", not logged, f"{logged}")
        status, _, err = World(tutti, where, 2, options=["--resume", "auto"]).end()
        text = f"{status} {err}" if any(status) else difference(alone, where)
        report.check("and it comes again: the bits of a run that nobody has stopped", not text, text)
    for command, victims in (("eval", (0, 1, 2)), ("eval", (1,)), ("predict", (1,))):
        output = ["--output", os.path.join(folder, "outputs.npy")] if command == "predict" else []
        world = World(tutti, alone, 3, command=command, options=["--checkpoint", "auto", "--set", "eval.0.dataset.samples=4000000", *output])
        compute(world, 1.0)  # which takes them beyond their start
        began = time.monotonic()
        for victim in victims:
            world.signal(victim, signal.SIGTERM)
        status, _, err = world.end()
        late = time.monotonic() - began
        report.check(f"SIGTERM at {len(victims)} of 3 ranks of tutti {command} ends all with 143", late < 30 and
                     status == [143] * 3 and "stopped by signal 15" in err[0], f"{status} {late} s {err}")


def lose_evaluating(tutti, folder, report):
    """A rank that is killed, or stands still, while all evaluate for a minute and longer is named by the others soon, with where it
    was."""
    run = changed(max_duration="5ba")
    run["eval"][0] |= {"interval": "3ba", "batch_size": 64}
    run["distributed"]["timeout_s"] = 3
    for number, what in ((signal.SIGKILL, "has ended"), (signal.SIGSTOP, r"has not come in \d+ s")):
        where = os.path.join(folder, number.name)
        write(where, run)
        world = World(tutti, where, 3, options=["--set", "eval.0.dataset.samples=4000000"])
        world.wait_for_loss(2)  # of the batch before the evaluation
        compute(world, 0.5)
        world.signal(1, number)
        late, _ = wait_for_others(world, 1, 25)
        status, _, err = world.end()
        named = re.compile(rf"rank 1 \(process {world.ranks[1].pid}\) {what}; it was last seen at step 3, evaluating$")
        report.check(f"{number.name} at a rank in an evaluation: the others end, and name it", late < 25 and
                     status == [1, -9, 1] and all(named.search(err[rank].strip()) for rank in (0, 2)), f"{late} s {status} {err}")


def has_written(process):
    """Whether there is something on its stdout that nobody has read."""
    return int.from_bytes(fcntl.ioctl(process.stdout, termios.FIONREAD, bytes(4)), sys.byteorder) > 0


LANGUAGE = {"model": {"name": "gpt2", "n_layer": 1, "n_head": 2, "n_embd": 16}, "eval": []}


def write_language(folder, **more):
    """A run of a language model that has learnt next to nothing, and its checkpoint's name."""
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "numbers.txt"), "w", encoding="utf-8") as f:
        f.write("".join(f"{k * k % 97} é {k * 7 % 89}\n" for k in range(200)))
    run = changed(**LANGUAGE, max_duration="1ba", **more)
    run["train"] = {"dataset": {"name": "text", "path": "numbers.txt", "length": 24, "vocabulary": "chars"}, "batch_size": 16, "workers": 1}
    write(folder, run)
    return "runs/ranks/checkpoints/latest.safetensors"


def stop_generating(tutti, folder, report):
    """A signal at one rank ends the text of all, soon: what is written so far is there."""
    saved = write_language(folder)
    World(tutti, folder, 1).end()
    endless = ["--prompt", "1 ", "--max-tokens", "10000000"]
    for size, victim, number in ((1, 0, signal.SIGTERM), (2, 0, signal.SIGTERM), (3, 2, signal.SIGTERM), (2, 1, signal.SIGINT)):
        world = World(tutti, folder, size, endless, command="generate", file=saved)
        until = time.monotonic() + 60
        while time.monotonic() < until and not all(map(has_written, world.ranks)):
            time.sleep(0.005)
        world.signal(victim, number)
        status, out, err = world.end(60)
        report.check(f"{number.name} at rank {victim} of {size} that generate ends all with {128 + number}",
                     status == [128 + number] * size and all(f"stopped by signal {int(number)}" in text for text in err), f"{status} {err}")
        longest = max(out, key=len)
        texts = [text.removesuffix("\n") for text in out]
        report.check("and each has written its part of the text", all(len(text) > 0 and longest.startswith(text) for text in texts),
                     f"{[text[-20:] for text in out]}")


def differences(tutti, folder, report):
    """Ranks that do not run the same are refused before anything is trained."""
    for what, own, text in (
            ("another seed", ["--set", "seed=4"], '[rank 1] the run file has "seed":4'),
            ("another number of threads", ["--set", "threads=2"], '[rank 1] the run file has "threads":2'),
            ("less data", ["--set", "train.dataset.samples=120"], '[rank 1] the run file has "samples":120')):
        where = os.path.join(folder, what.replace(" ", "_"))
        write(where, changed())
        world = World(tutti, where, 2, own={1: own})
        status, _, err = world.end()
        good = 0 not in status and text in err[0] and not world.saved()
        report.check(f"{what} on one rank is refused by name", good, f"{status} {err}")


def broken(tutti, folder, report):
    """One rank alone cannot compute its slot, while the others sum theirs: all end, and hear why."""
    rows = [[0.1 * ((7 * row + column) % 10) for column in range(8)] for row in range(60)]
    rows[25][3] = math.nan  # of the third slot
    write_npy(os.path.join(folder, "x.npy"), "<f4", (60, 8), b"".join(struct.pack("<8f", *row) for row in rows))
    write_npy(os.path.join(folder, "y.npy"), "<i4", (60,), struct.pack("<60i", *(row % 3 for row in range(60))))
    run = changed(model={"name": "mlp", "hidden": [16]}, microbatch_size=10)
    run["train"] = {"dataset": {"name": "npy", "inputs": "x.npy", "targets": "y.npy"}, "batch_size": 30, "shuffle": False}
    del run["eval"]
    for size, sharding, who in ((3, "none", "[rank 2] "), (3, "gradients", "[rank 2] "), (3, "weights", "[rank 2] "), (2, "gradients", ""), (2, "weights", "")):  # of 2, in round 2
        run["distributed"]["sharding"] = sharding
        write(folder, run)
        status, _, err = World(tutti, folder, size).end()
        report.check(f"one of {size} ranks whose slot fails ends all, sharding {sharding}", status == [1] * size, f"{status} {err}")
        good = err[0].startswith(f"tutti: {who}the loss of batch 0 is NaN") and not any(err[1:])
        report.check("which rank 0 says once, with its reason", good, f"{err}")


def write_set(where):
    """130 samples of mds."""
    write_shards(where, [31, 40, 19, 40])


def write_pictures(where):
    """Two classes of image_folder."""
    for name, colour in (("dark", 10), ("light", 200)):
        (where / name).mkdir(parents=True)
        for k in range(20):
            (where / name / f"{k}.png").write_bytes(png(16, 16, bytes([colour + k] * 768)))


def absent_data(tutti, folder, report):
    """One rank has no folder of data: all end before training, with its number and the folder."""
    colours = [{"name": "normalize", "mean": [0.5, 0.5, 0.5], "std": [0.3, 0.3, 0.3]}]
    for dataset, transforms, put, file in (({"name": "mds", "path": "data", "classes": 10}, [], write_set, "/index.json"),
                                           ({"name": "image_folder", "path": "data"}, colours, write_pictures, "")):
        run = changed(model={"name": "mlp", "hidden": [8]}, eval=[], max_duration="1ba")
        run["train"] = {"dataset": dataset, "transforms": transforms, "batch_size": 30}
        for lacks in (1, 0, None):
            places = {rank: os.path.join(folder, f"{dataset['name']}{lacks}{rank}") for rank in range(3)}
            for rank, where in places.items():
                write(where, run)
                if rank != lacks:
                    put(pathlib.Path(where, "data"))
            began = time.monotonic()
            status, _, err = World(tutti, places[0], 3, places=places).end()
            late = time.monotonic() - began
            if lacks is None:
                report.check(f"{dataset['name']}: ranks that all have it train", status == [0] * 3, f"{status} {err}")
                continue
            said = (f"tutti: {'[rank 1] ' if lacks else ''}dataset {dataset['name']} cannot be opened: "
                    f"{os.path.realpath(places[lacks])}/data{file}: No such file or directory\n")
            report.check(f"{dataset['name']}: rank {lacks} lacks its folder, which is said", status == [2] * 3 and err == [said, "", ""] and late < 30,
                         f"{late} s {status} {err}")
            report.check("before anything is trained", not os.path.exists(os.path.join(places[0], "runs/ranks/checkpoints")))


def unseen(tutti, folder, report):
    """One rank does not see the folder of checkpoints that `--resume auto` looks into: all end, with its number."""
    for lacks, said in ((1, "rank 1 has another newest checkpoint than rank 0: none, not ep0-ba4.safetensors"),
                        (0, "rank 1 has another newest checkpoint than rank 0: ep0-ba4.safetensors, not none")):
        places = {rank: os.path.join(folder, f"{lacks}{rank}") for rank in range(2)}
        for where in places.values():
            write(where, changed(max_duration="4ba"))
        World(tutti, places[1 - lacks], 2).end()
        status, _, err = World(tutti, places[0], 2, ["--resume", "auto", "--set", "max_duration=6ba"], places=places).end()
        report.check(f"rank {lacks} does not see the checkpoints, which is said", status == [1, 1] and err == [f"tutti: {said}\n", ""], f"{status} {err}")
        saved = [name for where in places.values() for _, _, names in os.walk(where) for name in names if "-ba6" in name]
        report.check("and no batch is trained", not saved, f"{saved}")


def full(tutti, folder, report):
    """Rank 0 cannot write: all fail, and say so once."""
    write(folder, changed(max_duration="20ep"))
    checkpoints = os.path.join(folder, "runs/ranks/checkpoints")
    os.makedirs(os.path.join(folder, "runs/ranks/real"))
    os.symlink("real", checkpoints)
    with open(os.path.join(folder, "file"), "w", encoding="utf-8"):
        pass
    world = World(tutti, folder, 2)
    world.wait_for_batch(2)
    os.replace(os.path.join(folder, "file"), checkpoints)  # at once: a folder becomes a file
    status, _, err = world.end()
    said = [text for text in err if "checkpoints" in text]
    report.check("a save that fails ends all ranks", status == [1, 1], f"{status} {err}")
    report.check("which rank 0 alone says", len(said) == 1 and said[0] == err[0], f"{err}")


def full_shard(tutti, folder, report):
    """Rank 1 alone has no room for its shard of a checkpoint: all end, rank 0 says why, and the checkpoint before is whole."""
    whole = os.path.join(folder, "whole")
    run = changed(max_duration="400ep", callbacks=[{"name": "checkpoint_saver", "interval": "1ba", "keep": 3, "filename": FILES[1]}])
    parts = os.path.join(folder, "parts")
    write(parts, run)
    world = World(tutti, parts, 2)
    world.wait_for_batch(2)
    resource.prlimit(world.ranks[1].pid, resource.RLIMIT_FSIZE, (4096, 4096))
    status, _, err = world.end()
    good = status == [1, 1] and "[rank 1] " in err[0] and "File too large" in err[0] and not err[1]
    report.check("a disk that is full for rank 1 ends all ranks, which rank 0 says", good, f"{status} {err}")
    damage, last = missing_files(parts), progress(parts)
    report.check("what is saved is whole", not damage and last >= 2, f"{sorted(damage)} {last}")
    until = ["--set", f"max_duration={last + 3}ba"]
    status, _, err = World(tutti, parts, 2, ["--resume", "auto", *until]).end()
    write(whole, run)
    World(tutti, whole, 1, until).end()
    report.check("and goes on to the bits of one", status == [0, 0] and final(whole) == final(parts), f"{status} {err}")


def missing(tutti, folder, report):
    """A rank that is never started."""
    run = changed()
    run["distributed"]["join_timeout_s"] = 0.5
    write(folder, run)
    world = World(tutti, folder, 2)
    world.signal(1, signal.SIGKILL)
    status, _, err = world.end()
    report.check("a rank that does not join is named", status[0] == 2 and "rank 1 " in err[0], f"{status} {err}")


if __name__ == "__main__":
    if "--kills" in sys.argv:
        at = sys.argv.index("--kills")
        del sys.argv[at:at + 2]
    sys.exit(main([other_worlds, kills, hang, hang_in_sum, stop, stop_evaluating, lose_evaluating, stop_generating, differences, broken, absent_data, unseen, full, full_shard, missing]))
