"""save_test.py - checkpoints that are written while training goes on, in one process and in worlds:
save_test.py TUTTI HOLD [NAME]..., HOLD being the library that makes a disk stand still; io_faults.so beside it makes it full."""
# SPDX-License-Identifier: Apache-2.0
import errno
import fcntl
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import termios
import time

from ranks import World, changed, difference, final, listed_files, main, messages, numbers, write

HOLD = sys.argv.pop(2)


def saver(interval="3ba", **more):
    """The run's callbacks."""
    return [{"name": "checkpoint_saver", "interval": interval, "async": True, **more}]


def alone(run):
    """The same run without ranks."""
    return {key: value for key, value in run.items() if key != "distributed"}


def wait_until(what, process, limit=120):
    """Until what() is true or the process ends; whether it is true."""
    until = time.monotonic() + limit
    while time.monotonic() < until and process.poll() is None and not what():
        time.sleep(0.005)
    return what()


def batch_of(folder):
    """The last batch that the log has a loss of; -1 before the first."""
    last = -1
    path = os.path.join(folder, "runs/ranks/log.jsonl")
    for line in open(path, encoding="utf-8") if os.path.exists(path) else ():
        if line.endswith("\n") and "loss/train/total" in line:
            last = json.loads(line)["batch"]
    return last


def has_said(process):
    """Whether it has written to stderr what nobody has read."""
    return int.from_bytes(fcntl.ioctl(process.stderr, termios.FIONREAD, bytes(4)), sys.byteorder) > 0


def whole(world):
    """The checkpoints that count."""
    return sorted(name for name in world.saved() if name.endswith(".safetensors") and name != "latest.safetensors")


def held(tutti, folder, run, size, options=()):
    """A world whose checkpoints do not reach the disk before `release`."""
    write(folder, run)
    hold = os.path.join(folder, "hold")
    with open(hold, "w", encoding="utf-8"):
        pass
    env = {"LD_PRELOAD": HOLD, "TUTTI_HOLD": hold, "TUTTI_HOLD_NAME": ".safetensors.tmp-"}
    os.environ.update(env)
    world = World(tutti, folder, size, options)
    for name in env:
        del os.environ[name]
    return world


def release(folder):
    """The disk goes on."""
    os.unlink(os.path.join(folder, "hold"))


def bits(tutti, folder, report):
    """What is written behind is what would be written at once."""
    plain = os.path.join(folder, "plain")
    write(plain, changed(callbacks=[{"name": "checkpoint_saver", "interval": "3ba", "keep": 2}]))
    World(tutti, plain, 1).end()
    for size in (1, 2, 3, 4):
        where = os.path.join(folder, str(size))
        write(where, changed(callbacks=saver(keep=2)))
        world = World(tutti, where, size)
        status, _, err = world.end()
        text = difference(plain, where)
        report.check(f"{size} ranks that save behind have the bits of one that waits", status == [0] * size and not text,
                     f"{text} {err}")
        report.check("as many files are kept", whole(world) == ["ep1-ba6.safetensors", "ep2-ba8.safetensors"], f"{world.saved()}")
        report.check("each was told", sum(line.startswith("saved ") for line in messages(where)) == 3, f"{messages(where)}")


def served(folder):
    """A server of the files below folder/root, its address, and its log."""
    os.makedirs(os.path.join(folder, "root/models"))
    port, log = os.path.join(folder, "port"), os.path.join(folder, "log.txt")
    process = subprocess.Popen([sys.executable, os.path.join(os.path.dirname(__file__), "../e2e/file_server.py"),
                                os.path.join(folder, "root"), port, log])
    if not wait_until(lambda: os.path.exists(port), process):
        raise SystemExit("the server did not start")
    with open(port, encoding="utf-8") as f:
        return process, f"http://127.0.0.1:{f.read()}", log


def lines(path, text):
    """How many lines of a file have it; the file is there with its first line."""
    with open(path if os.path.exists(path) else os.devnull, encoding="utf-8") as f:
        return sum(text in line for line in f)


def blind_program(tutti, folder, hidden):
    """A program that runs tutti with an empty folder in the place of `hidden`; None: that cannot be done here."""
    path = os.path.join(folder, "blind.sh")
    with open(path, "w", encoding="utf-8") as f:
        f.write(f'#!/bin/sh\nexec unshare -m sh -c \'mount -t tmpfs none "{hidden}" && exec "$@"\' sh "{tutti}" "$@"\n')
    os.chmod(path, 0o755)
    tried = shutil.which("unshare") and subprocess.run([path, "version"], capture_output=True, check=False)
    return path if tried and tried.returncode == 0 else None


def elsewhere(tutti, folder, report):
    """A checkpoint behind an address: a rank of each machine fetches it, the others open that file, all have the same one or none
    goes on, and nothing stays."""
    plain, begun, tmp = (os.path.join(folder, name) for name in ("plain", "begun", "tmp"))
    os.makedirs(tmp)
    write(plain, changed())
    World(tutti, plain, 1).end()
    write(begun, changed(max_duration="4ba"))
    World(tutti, begun, 1).end()
    server, address, log = served(folder)
    os.environ["TMPDIR"] = tmp
    models = os.path.join(folder, "root/models")
    saves = os.path.join(begun, "runs/ranks/checkpoints")
    names = {int(name.split("-ba")[1].split(".")[0]): os.path.join(saves, name) for name in os.listdir(saves) if "-ba" in name}
    for name, batch in (("same", 4), ("turned.0", 4), ("turned.1", 3)):
        shutil.copy(names[batch], os.path.join(models, f"{name}.safetensors" if name == "same" else f"turned.safetensors.{name[-1]}"))
    try:
        places = {rank: {"TMPDIR": os.path.join(folder, f"tmp{rank}")} for rank in range(2)}
        for place in places.values():
            os.makedirs(place["TMPDIR"])
        blind = blind_program(tutti, folder, tmp)
        cases = [("two", 2, 0, 1, {}), ("three", 3, 0, 1, {}), ("machines", 3, 2, 2, {}), ("folders", 2, 0, 1, {"env": places})]
        for what, size, together, fetches, more in cases + [("blind", 3, 0, 2, {"programs": {1: blind}})] * bool(blind):
            where = os.path.join(folder, what)
            run = changed()
            run["distributed"]["comm"]["machine_ranks"] = together
            write(where, run)
            before = lines(log, "GET /models/same.safetensors")
            status, _, err = World(tutti, where, size, ["--resume", f"{address}/models/same.safetensors"], **more).end()
            if any("without libcurl" in text for text in err):
                report.skip("checkpoints from elsewhere: this build is without libcurl (Debian's package libcurl4-openssl-dev)")
                return
            report.check(f"{what}: {size} ranks go on from elsewhere with the bits of one", status == [0] * size and final(where) == final(plain),
                         f"{status} {err}")
            fetched = lines(log, "GET /models/same.safetensors") - before
            report.check(f"{what}: it is fetched {fetches} times", fetched == fetches, f"{fetched} times")
            said = [rank for rank in range(size) if f"{address}/models/same.safetensors is fetched here too: " in err[rank]]
            report.check(f"{what}: who does not see it there says so", said == [1] * (what == "blind"), f"{err}")
        if not blind:
            report.skip("a rank that does not see the file of its machine: only root gives it a folder of its own (unshare)")
        left = [name for place in places.values() for name in os.listdir(place["TMPDIR"])]
        report.check("nothing stays where only one rank has its folder", not left, f"{left}")
        begins = [{"name": "load_checkpoint", "load_weights_only": True, "event": "fit_start",
                   "load_path": f"{address}/turns/turned.safetensors"}]
        for what, options, run in (("resume", ["--resume", f"{address}/turns/turned.safetensors"], changed()),
                                   ("load_weights", [], changed(load_weights=f"{address}/turns/turned.safetensors")),
                                   ("load_checkpoint", [], changed(callbacks=begins))):
            where = os.path.join(folder, what)
            run["distributed"]["comm"]["machine_ranks"] = 1
            write(where, run)
            status, _, err = World(tutti, where, 2, options).end()
            report.check(f"{what}: a file that is replaced meanwhile ends all", all(status) and
                         f"rank 1 has another file at {address}/turns/turned.safetensors (by its hash) than rank 0: " in err[0],
                         f"{status} {err}")
            report.check("before anything is trained", not os.path.exists(os.path.join(where, "runs/ranks/checkpoints")), "")
        where = os.path.join(folder, "missing")
        write(where, changed())
        status, _, err = World(tutti, where, 2, ["--resume", f"{address}/models/none.safetensors"]).end(60)
        report.check("a file that is not there ends all", all(status) and
                     f"{address}/models/none.safetensors: the server answers with status 404" in err[0], f"{status} {err}")
        run = changed()
        run["distributed"]["comm"]["machine_ranks"] = 2
        write(where, run)
        status, _, err = World(tutti, where, 4, ["--resume", f"{address}/models/same.safetensors"], env={2: {"TMPDIR": "/none"}}).end(60)
        report.check("a machine that cannot fetch it ends all, with the rank", all(status) and err[0].startswith("tutti: [rank 2] ") and
                     "cannot make a folder for it in /none" in err[0] and not any(err[1:]), f"{status} {err}")
        report.check("nothing stays of what was fetched", not os.listdir(tmp), f"{os.listdir(tmp)}")
    finally:
        del os.environ["TMPDIR"]
        server.kill()
        server.wait()


INDEX = "ep{epoch}-ba{batch}.safetensors.index.json"


def shards(tutti, folder, report):
    """A file a rank, at once and behind: the tensors of one file, read by any number of ranks."""
    plain = os.path.join(folder, "plain")
    write(plain, changed(callbacks=[{"name": "checkpoint_saver", "interval": "3ba"}]))
    World(tutti, plain, 1).end()
    for size, behind, sharding in ((1, False, "none"), (2, False, "states"), (3, True, "states"), (3, True, "none"),
                                   (4, True, "gradients"), (4, False, "none"), (2, True, "states")):
        where = os.path.join(folder, f"{size}{behind}{sharding}")
        run = changed(callbacks=saver(keep=2, filename=INDEX) if behind else
                      [{"name": "checkpoint_saver", "interval": "3ba", "keep": 2, "filename": INDEX}])
        run["distributed"]["sharding"] = sharding
        write(where, run)
        world = World(tutti, where, size)
        status, _, err = world.end()
        text = difference(plain, where)
        report.check(f"{size} ranks, {sharding}, behind {behind}: the tensors of one file", status == [0] * size and not text,
                     f"{status} {text} {err}")
        names = sorted(name for name in world.saved() if name.startswith("ep"))
        indexes = [INDEX.format(epoch=1, batch=6), INDEX.format(epoch=2, batch=8)]
        listed = [listed_files(os.path.join(where, "runs/ranks/checkpoints", name)) for name in indexes]
        report.check("two indexes and their shards are kept", names == sorted(set(indexes).union(*listed)), f"{names}")
        report.check("of each rank that has tensors", all(min(size, 3) <= len(files) <= size for files in listed), f"{listed}")
    for size in (1, 3, 4):  # the last one, of two ranks
        there = os.path.join(folder, f"on{size}")
        write(there, run)
        options = ["--resume", os.path.join(where, "runs/ranks/checkpoints", INDEX.format(epoch=1, batch=6))]
        status, _, err = World(tutti, there, size, options).end()
        report.check(f"{size} go on with the same bits", status == [0] * size and final(there) == final(plain), f"{status} {err}")


def apart(tutti, folder, report):
    """Ranks that do not see one folder: shards there would be no checkpoint, and one file is."""
    own = {rank: os.path.join(folder, f"rank{rank}") for rank in range(2)}
    for what, filename in (("shards", INDEX), ("one file", "ep{epoch}-ba{batch}.safetensors")):
        for where in own.values():
            write(where, changed(callbacks=[{"name": "checkpoint_saver", "filename": filename}], name=what))
        world = World(tutti, own[0], 2, places=own)
        status, _, err = world.end()
        saves = [os.path.join(where, "runs", what, "checkpoints") for where in own.values()]
        if what == "shards":
            said = f"rank 1 does not see rank 0's folder {saves[0]}: with a filename"
            report.check("shards want one folder, which is said before training", status == [1, 1] and said in err[0], f"{status} {err}")
            stays = [name for where in own.values() for _, _, names in os.walk(where) for name in names]
            report.check("no file of a save stays", not any(name.startswith((".tutti-shared", "ep")) for name in stays), f"{stays}")
        else:
            report.check("one file wants none", status == [0, 0] and not os.path.exists(saves[1]), f"{status} {err}")


def broken(tutti, folder, report):
    """Shards without an index, or an index without a shard, are no checkpoint."""
    run = changed(callbacks=[{"name": "checkpoint_saver", "interval": "3ba", "filename": INDEX}])
    write(folder, run)
    world = World(tutti, folder, 2)
    world.end()
    whole_run = final(folder)
    where = os.path.join(folder, "runs/ranks/checkpoints")
    os.unlink(os.path.join(where, INDEX.format(epoch=2, batch=8)))
    os.unlink(next(os.path.join(where, name) for name in world.saved() if name.startswith("ep1-ba6-") and "-00002-of-" in name))
    world = World(tutti, folder, 2, ["--resume", "auto"])
    status, _, err = world.end()
    said = "ep1-ba6.safetensors.index.json: the checkpoint is damaged: a file of it is not there: ep1-ba6-"
    report.check("a shard that is not there is damage", status == [0, 0] and said in err[0], f"{status} {err}")
    report.check("the run goes on from the one before, with the same bits", final(folder) == whole_run)
    names = sorted(name for name in world.saved() if name.startswith("ep2-ba8"))
    report.check("shards that no index has are removed", len(names) == 3, f"{names}")
    report.check("what was set aside is kept", sum(name.startswith("ep1-ba6") for name in world.saved()) == 5, f"{world.saved()}")


def flipped(data, at):
    """The bytes with another bit there."""
    return data[:at] + bytes([data[at] ^ 4]) + data[at + 1:]


DAMAGES = {
    "half of it is lost": (lambda data, _: data[:len(data) // 2], "it is shorter than its tensors"),
    "its last byte is lost": (lambda data, _: data[:-1], "it is shorter than its tensors"),
    "nothing is left of it": (lambda data, _: b"", "it is empty"),
    "it ends within the header": (lambda data, _: data[:100], "it ends within the header"),
    "a bit of a tensor is flipped": (lambda data, _: flipped(data, len(data) - 1000), "its bytes do not match the checksum"),
    "a bit of its checksum is flipped": (lambda data, _: flipped(data, data.index(b"xxh3_64_file") + 16), "its bytes do not match the checksum"),
    "it is of another save": (lambda _, other: other, "a file of it is of another save: "),
    "it is not there": (lambda _data, _other: None, "a file of it is not there: "),
}


def damaged(tutti, folder, report):
    """A shard that is not what was saved is refused by its name, and `--resume auto` goes on from the save before."""
    first = os.path.join(folder, "first")
    write(first, changed(callbacks=[{"name": "checkpoint_saver", "interval": "3ba", "filename": INDEX}]))
    world = World(tutti, first, 2)
    world.end()
    shard = {key: next(name for name in world.saved() if f"-ba{key[0]}-" in name and f"-0000{key[1]}-of-" in name)
             for key in ((6, 1), (6, 2), (8, 1), (8, 2))}
    index = os.path.join("runs/ranks/checkpoints", INDEX.format(epoch=2, batch=8))
    for k, (what, (change, text)) in enumerate(DAMAGES.items()):
        where, rank = os.path.join(folder, str(k)), k % 2 + 1
        shutil.copytree(first, where, symlinks=True)
        path, other = (os.path.join(where, "runs/ranks/checkpoints", shard[batch, rank]) for batch in (8, 6))
        with open(path, "rb") as f, open(other, "rb") as g:
            data = change(f.read(), g.read())
        os.unlink(path)
        if data is not None:
            with open(path, "wb") as f:
                f.write(data)
        status, _, err = World(tutti, where, 2, ["--resume", index]).end()
        said = next((line for line in err[0].splitlines() if text in line), "")
        good = status == [1, 1] and shard[8, rank] in said and "the checkpoint is damaged: " in said and err[0].count("\n") == 1
        report.check(f"shard {rank}, {what}: refused by name", good, f"{status} {err}")
        status, _, err = World(tutti, where, 2, ["--resume", "auto"]).end()
        said = next((line for line in err[0].splitlines() if text in line), "")
        good = status == [0, 0] and shard[8, rank] in said and "it is kept as " in said and not err[1]
        log = [line for line in messages(where) if line.startswith("resumed from ")]
        report.check("and the save before is taken", good and len(log) == 1 and log[0].endswith("ep1-ba6.safetensors.index.json at batch 6")
                     and final(where) == final(first), f"{status} {err} {log}")


def full_disk(tutti, folder, report):
    """A disk of one rank that is full in the midst of training (ENOSPC): all end, rank 0 says why, nothing stays of that save,
    and the one before is taken."""
    library = os.path.join(os.path.dirname(HOLD), "io_faults.so")
    if not os.path.exists(library):
        report.skip("a disk that is full: this build has no io_faults (x86-64 alone has it)")
        return
    plain = os.path.join(folder, "plain")
    write(plain, changed())
    World(tutti, plain, 1).end()
    for filename, rank, behind in (("ep{epoch}-ba{batch}.safetensors", 0, False), ("ep{epoch}-ba{batch}.safetensors", 0, True),
                                   (INDEX, 0, False), (INDEX, 0, True), (INDEX, 1, False), (INDEX, 1, True)):
        what = f"{'a file a rank' if filename == INDEX else 'one file'}, rank {rank}, {'behind' if behind else 'at once'}"
        where = os.path.join(folder, what.replace(" ", "_"))
        write(where, changed(callbacks=[{"name": "checkpoint_saver", "interval": "2ba", "filename": filename, "async": behind, "keep": 1}]))
        full = {"LD_PRELOAD": library, "OMP_WAIT_POLICY": "passive",  # the program does not start itself again
                "TUTTI_FAULTS": f"each {errno.ENOSPC} write /ep1-ba6", "TUTTI_FAULTS_FILE": os.path.join(folder, "faults.txt")}
        world = World(tutti, where, 2, env={rank: full})
        status, _, err = world.end(60)
        who, name = f"[rank {rank}] " if rank else "", os.path.join(where, "runs/ranks/checkpoints/ep1-ba6")
        told = [line for line in err[0].splitlines() if "training waits for the disk" not in line]
        said = len(told) == 1 and re.fullmatch(rf"tutti: (checkpoint_saver on \w+: )?{re.escape(who)}{re.escape(name)}\S*\.safetensors: "
                                               "cannot write the checkpoint: No space left on device", told[0])
        report.check(f"{what}: a full disk ends all, which rank 0 says with the file", status == [1, 1] and said and not err[1], f"{status} {err}")
        stays = [name for name in world.saved() if ".tmp-" in name or name.startswith("ep1-ba6.")]
        last = os.path.basename(os.path.realpath(os.path.join(where, "runs/ranks/checkpoints/latest.safetensors")))
        report.check("the save before is the last one", not stays and last == os.path.basename(filename.format(epoch=0, batch=4)),
                     f"{world.saved()} {last}")
        status, _, err = World(tutti, where, 3, ["--resume", "auto"]).end()
        text = difference(plain, where)
        report.check("from which 3 ranks go on to the bits of one", status == [0] * 3 and not text, f"{status} {text} {err}")
        names = [name for name in world.saved() if name.startswith("ep1-ba6-")]
        report.check("and no shard stays that no index names", set(names) == listed_files(name + ".safetensors.index.json"), f"{names}")


def slow(tutti, folder, report):
    """Steps do not wait for the disk; the end of the run does."""
    for size, run in ((1, alone(changed(callbacks=saver()))), (2, changed(callbacks=saver()))):
        where = os.path.join(folder, str(size))
        run["loggers"] = [{"name": "jsonl", "flush_interval": 1}]
        world = held(tutti, where, run, size)
        good = wait_until(lambda: batch_of(where) == 5, world.ranks[0])
        report.check(f"{size}: training goes on to the next save while one is written", good and not whole(world),
                     f"batch {batch_of(where)}, {world.saved()}")
        report.check("and says that it waits", wait_until(lambda w=world: has_said(w.ranks[0]), world.ranks[0]) and not whole(world),
                     f"{world.saved()}")
        release(where)
        status, _, err = world.end()
        report.check("it ends well", status == [0] * size and len(whole(world)) == 3, f"{status} {err} {world.saved()}")
        slower = [line for line in messages(where) if "training waits for the disk" in line]
        report.check("which is told once", len(slower) == 1, f"{messages(where)}")


def patient(tutti, folder, report):
    """A rank that writes may take longer than `timeout_s`, by what it has to write; one that stands still there ends the run."""
    run = changed(model={"name": "mlp", "hidden": [2048, 2048]}, max_duration="1ba", eval=[],
                  callbacks=[{"name": "checkpoint_saver", "interval": "1ba"}])
    run["distributed"]["timeout_s"] = 4  # and 6 s for 70 MB
    for what, hold_s in (("released", 7), ("held", None)):
        where = os.path.join(folder, what)
        world = held(tutti, where, run, 2)
        wait_until(lambda w=world: any(".tmp-" in name for name in w.saved()), world.ranks[0])
        if hold_s:
            time.sleep(hold_s)
            release(where)
        else:
            report.check("the other rank does not wait for ever", wait_until(lambda w=world: w.ranks[1].poll() is not None, world.ranks[0], 60), "")
            release(where)
        status, _, err = world.end()
        if hold_s:
            report.check(f"a save of {hold_s} s is waited for", status == [0, 0] and len(whole(world)) == 1, f"{status} {err}")
        else:
            report.check("and says who writes", status[1] == 1 and re.search(r"rank 0 .*saving a checkpoint", err[1]), f"{status} {err}")


def killed(tutti, folder, report):
    """A file that was not finished does not count."""
    plain = os.path.join(folder, "plain")
    write(plain, changed(callbacks=[{"name": "checkpoint_saver", "interval": "3ba"}]))
    World(tutti, plain, 1).end()
    for size in (1, 2):
        where = os.path.join(folder, str(size))
        world = held(tutti, where, changed(callbacks=saver()), size)
        wait_until(lambda w=world: any(".tmp-" in name for name in w.saved()), world.ranks[0])
        world.signal(0, signal.SIGKILL)
        status, _, err = world.end()
        report.check(f"{size}: a kill while a file is written leaves none", status[0] == -9 and not whole(world), f"{status} {err}")
        release(where)
        status, _, err = World(tutti, where, size, ["--resume", "auto"]).end()
        text = difference(plain, where)
        report.check("and the run begins anew, with the same bits", status == [0] * size and not text, f"{status} {text} {err}")


def stopped(tutti, folder, report):
    """A signal at one rank while a file is written: both files are whole."""
    for victim in (0, 1):
        where = os.path.join(folder, str(victim))
        world = held(tutti, where, changed(callbacks=saver(), max_duration="4000ep"), 2)
        wait_until(lambda w=world: any(".tmp-" in name for name in w.saved()), world.ranks[0])
        world.signal(victim, signal.SIGTERM)
        release(where)
        status, _, err = world.end()
        report.check(f"a signal at rank {victim} while a file is written ends all with 143", status == [143] * 2, f"{status} {err}")
        batches = [re.findall(r"stopped by signal 15 after batch (\d+), which is saved", text) for text in err]
        report.check("behind one batch, as both say", len(batches[0]) == 1 and batches[0] == batches[1], f"{err}")
        batch = batches[0][0] if batches[0] else "?"
        report.check("the batch is saved", any(f"-ba{batch}." in name for name in whole(world)), f"{err} {world.saved()}")


def fails(tutti, folder, report):
    """A file that cannot be written ends the run, which says so once."""
    for size, run in ((1, alone(changed(max_duration="4000ep", callbacks=saver("2ba")))),
                      (2, changed(max_duration="4000ep", callbacks=saver("2ba")))):
        where = os.path.join(folder, str(size))
        write(where, run)
        checkpoints = os.path.join(where, "runs/ranks/checkpoints")
        os.makedirs(os.path.join(where, "runs/ranks/real"))
        os.symlink("real", checkpoints)
        with open(os.path.join(where, "file"), "w", encoding="utf-8"):
            pass
        world = World(tutti, where, size)
        world.wait_for_batch(2)
        os.replace(os.path.join(where, "file"), checkpoints)
        status, _, err = world.end()
        report.check(f"{size}: a file that cannot be written ends the run", status == [1] * size, f"{status} {err}")
        said = [line for text in err for line in text.splitlines() if "checkpoints/" in line and "cannot link" not in line]
        report.check("which rank 0 says once", len(said) == 1 and said[0] in err[0], f"{err}")
        report.check("and nothing is lost before it", numbers(where), "no rows")


if __name__ == "__main__":
    sys.exit(main([bits, shards, apart, broken, damaged, full_disk, slow, patient, killed, stopped, fails, elsewhere]))
