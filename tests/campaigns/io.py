"""io.py TUTTI FAULTS [--runs N] [--seed S] [--hours H] [--case NAME] [--interrupted] - failing files and power lose nothing.

Each case is a command. Its run lists the calls that open, read, write, sync, rename, link, map and close files; then
each run lets one of them fail (EIO, ENOSPC, EDQUOT, EINTR three times or for ever), do half of its work, or lets all that
write fail from one on. It must end with the very results of a run without failures, or with a status and a
sentence; what is missing of a log, or of the list of plugins, is told. What training has saved by then can be taken up,
and the end is the same.

--interrupted: instead of these, the calls of INTERRUPTED are interrupted for ever, each in a run of its own.

Power: a run's writes are recorded and replayed up to each of them. What was not synced by then is there, is not,
or is there in part. The last checkpoint that was acknowledged loads, and the run is taken up to the same end.
"""
# SPDX-License-Identifier: Apache-2.0
import errno
import os
import pathlib
import random
import shutil
import sys
import tempfile

from campaign import Failed, Runs, Tally, each, losses, mixed, parser
from cases import CASES, fill

ERRORS = {
    "open": ["EIO", "EMFILE"], "create": ["EIO", "ENOSPC", "EDQUOT"],
    "read": ["EIO", "EINTR", "interrupted", "short"], "mmap": ["ENOMEM", "ENODEV"],
    "write": ["EIO", "ENOSPC", "EDQUOT", "EINTR", "interrupted", "short", "full"],
    "pwrite": ["EIO", "ENOSPC", "EDQUOT", "EINTR", "interrupted", "short", "full"],
    "writev": ["EIO", "ENOSPC", "EDQUOT", "EINTR", "interrupted", "full"],
    "truncate": ["EIO", "ENOSPC", "EINTR"], "fsync": ["EIO", "ENOSPC", "EDQUOT", "EINTR"],
    "rename": ["EIO", "ENOSPC", "full"], "link": ["EIO", "ENOSPC"], "symlink": ["EIO", "ENOSPC"],
    "unlink": ["EIO"], "mkdir": ["EIO", "ENOSPC", "full"], "close": ["EIO", "EINTR"],
}
INTERRUPTIONS = 3  # in a row
# case, call, a part of the path
INTERRUPTED = [
    ("train", "read", "/mlp/plugin.json"), ("train", "read", "/mlp/mlp.so"), ("train", "pwrite", "/runs/small/.lock"),
    ("train", "write", "/runs/small/record.json"), ("train", "write", "/runs/small/log.jsonl"),
    ("train", "write", ".safetensors"),
    ("train", "fsync", ".safetensors"), ("convert", "write", "/shard.00000.mds"), ("predict", "write", "/out.npy"),
    ("export", "write", "/out.onnx"), ("runs", "read", "/log.jsonl"),
]


def fault(number, how):
    """As the library wants it."""
    if how == "short":
        return f"short {number}"
    if how == "full":
        return f"from {number} {errno.ENOSPC}"
    if how == "EINTR":
        return f"some {number} {errno.EINTR} {INTERRUPTIONS}"
    if how == "interrupted":
        return f"some {number} {errno.EINTR} {1 << 30}"
    return f"one {number} {getattr(errno, how)}"


class Disk:
    """What a disk holds while recorded calls are replayed: names, which are safe once their folder is synced, and
    bytes, which are once their file is."""

    def __init__(self):
        self.names = []  # (folder, change) in order; a change is a function of a dict of names
        self.safe = {}   # folder: how many of self.names are safe there
        self.bytes = {}  # inode: (synced, [(offset, data) or a length])
        self.folders = {}
        self.acknowledged = None  # the last checkpoint's path
        self.waiting = []

    def name(self, path, change):
        self.names.append((os.path.dirname(path), change))

    def step(self, call, inode, offset, path, to, data):
        synced, unsynced = self.bytes.setdefault(inode, (b"", []))
        if call == "create":
            if offset:
                unsynced.append(0)
            self.name(path, lambda names: names.setdefault(path, inode))
        elif call in ("write", "pwrite"):
            unsynced.append((offset, data))
        elif call == "truncate":
            unsynced.append(offset)
        elif call == "rename":
            self.name(to, lambda names: path in names and names.update({to: names.pop(path)}))
            if to.endswith(".safetensors") and "latest" not in to:
                self.waiting.append(to)
        elif call == "symlink":
            self.name(path, lambda names: names.update({path: to}))
        elif call == "unlink":
            self.name(path, lambda names: names.pop(path, None))
        elif call == "mkdir":
            self.folders[inode] = path
            self.name(path, lambda names: names.setdefault(path, None))
        elif call == "fsync":
            self.sync(inode, path, synced, unsynced)

    def sync(self, inode, path, synced, unsynced):
        if not os.path.isdir(path):
            self.bytes[inode] = (applied(synced, unsynced), [])
            return
        self.safe[path] = len(self.names)
        for one in [w for w in self.waiting if os.path.dirname(w) == path]:
            self.acknowledged = one
            self.waiting.remove(one)

    def put(self, source, target, how, rng):
        """Writes what is left of folder `source` to `target`; how: "all", "least" or "some" of what is not safe."""
        names = {}
        kept = {folder: rng.randrange(len(self.names) + 1) for folder, _ in self.names}
        for k, (folder, change) in enumerate(self.names):
            if how == "all" or k < self.safe.get(folder, 0) or (how == "some" and k < kept[folder]):
                change(names)
        for path, what in sorted(names.items()):
            if not path.startswith(str(source)):
                continue
            place = target / os.path.relpath(path, source)
            if what is None:
                place.mkdir(exist_ok=True)
            elif not place.parent.is_dir():
                continue  # its folder is lost
            elif isinstance(what, str):
                place.symlink_to(what)
            else:
                synced, unsynced = self.bytes[what]
                if how == "least":
                    unsynced = []
                elif how == "some":
                    unsynced = [torn(one, rng) for one in unsynced if rng.random() < 0.5]
                place.write_bytes(applied(synced, unsynced))


def torn(one, rng):
    return one if isinstance(one, int) else (one[0], one[1][:rng.randrange(len(one[1]) + 1)])


def applied(data, changes):
    data = bytearray(data)
    for one in changes:
        if isinstance(one, int):
            del data[one:]
            data.extend(bytes(one - len(data)))
        else:
            offset, new = one
            data.extend(bytes(max(0, offset - len(data))))
            data[offset:offset + len(new)] = new
    return bytes(data)


def recorded(path):
    """The calls of a record."""
    data = path.read_bytes()
    at = 0
    while at < len(data):
        end = data.index(b"\n", at)
        call, inode, offset, size, name, to = data[at:end].decode().split(" ")
        at = end + 1 + int(size)
        yield call, int(inode), int(offset), name, to, data[end + 1:at]


class Files(Runs):
    """Runs whose files fail."""

    def __init__(self, given, top):
        super().__init__(given.tutti, given.faults, "io_faults.so", top)
        self.record = {}

    def judge(self, name, how, folder):
        """None where the failure did not strike, "told" or "survived"; raises Failed."""
        self.begin(name, folder)
        done = self.run(folder, CASES[name][0], how)
        if not (folder / "faults.txt").stat().st_size:
            return None
        if done.returncode < 0:
            raise Failed(f"ended by signal {-done.returncode}: {done.stderr}")
        if done.returncode and not done.stderr.strip():
            raise Failed(f"status {done.returncode} without a sentence")
        weights = CASES[name][2] == "weights"
        if done.returncode == 0:
            if weights and self.weights(folder) != self.results[name][0]:
                raise Failed(f"other weights, status 0: {done.stderr}")
            if weights and "log" not in done.stderr and losses(folder, "small") != self.results[name][1]:
                raise Failed(f"the log lacks rows, which is not told: {done.stderr}")
            told = "cannot be loaded" in done.stdout or \
                any(words in done.stderr for words in ("is not used", "no plugins are taken"))
            if not weights and not told and self.result(name, folder, done.stdout) != self.results[name]:
                raise Failed(f"other results, status 0: {done.stderr}")
            return "survived"
        if weights:
            self.take_up(name, folder)
            if any((folder / "saves").glob("*-ba*")) and "log" not in done.stderr and \
                    losses(folder, "small") != self.results[name][1]:
                raise Failed(f"taken up, the log lacks rows, which was not told: {done.stderr}")
        return "told"

    def trial(self, tally, number, name, line, how):
        folder = self.top / f"trial{number}"
        try:
            if name == "power":
                self.lose_power(folder, line, how)
                tally.add("power_losses")
            else:
                tally.add(self.judge(name, fault(line.split()[0], how), folder) or "missed")
        except Failed as why:
            tally.fail(f"{name}, {line}, {how}: {why}")
        shutil.rmtree(folder, ignore_errors=True)

    def interrupt(self, tally, number, name, call, part):
        """One of INTERRUPTED, which must strike: it is told, or the run ends with the results of one without."""
        folder = self.top / f"trial{number}"
        try:
            told = self.judge(name, f"each {errno.EINTR} {call} {part}", folder)
            if not told:
                raise Failed("there is no such call")
            tally.add(told)
        except Failed as why:
            tally.fail(f"{name}, {call} of {part} is interrupted for ever: {why}")
        shutil.rmtree(folder, ignore_errors=True)

    # ---- power ----

    def record_run(self):
        """How many calls there are to stop at."""
        self.recorded_in = self.top / "recorded"
        self.begin("train", self.recorded_in)
        (self.recorded_in / "saves").rmdir()  # the run makes it
        done = self.run(self.recorded_in, CASES["train"][0], "record")
        if done.returncode:
            raise Failed(f"the run to record: {done.stderr}")
        self.calls = list(recorded(self.recorded_in / "faults.txt"))
        return len(self.calls)

    def lose_power(self, folder, cut, how):
        disk = Disk()
        fill(folder)
        (folder / "saves").rmdir()
        for one in self.calls[:cut]:
            disk.step(*one)
        disk.put(self.recorded_in, folder, how, random.Random(cut))
        (folder / "saves").mkdir(exist_ok=True)
        if disk.acknowledged:
            path = folder / os.path.relpath(disk.acknowledged, self.recorded_in)
            if not path.exists():
                raise Failed(f"{path.name} was acknowledged, and is lost")
            fill(folder / "elsewhere")  # where it does not add to the log
            done = self.run(folder / "elsewhere", ["eval", "run.json", "--checkpoint", str(path)])
            if done.returncode:
                raise Failed(f"the last checkpoint does not load: {done.stderr}")
        done = self.run(folder, CASES["resume"][0])
        if done.returncode or "damaged" in done.stderr:
            raise Failed(f"cannot be taken up: {done.returncode}: {done.stderr}")
        if self.result("train", folder, "") != self.results["train"]:
            raise Failed(f"other results once it is taken up: {done.stderr}")


def main():
    p = parser(__doc__)
    p.add_argument("faults")
    p.add_argument("--runs", type=int, help="so many, at random; all otherwise")
    p.add_argument("--case", choices=list(CASES) + ["power"], action="append")
    p.add_argument("--interrupted", action="store_true", help="calls that are interrupted for ever alone, the same ones always")
    given = p.parse_args()
    tally = Tally("io", given)
    with tempfile.TemporaryDirectory(prefix="tutti_io_") as top:
        runs = Files(given, os.path.realpath(top))
        trials = []
        if given.interrupted:
            known = [name for name in dict.fromkeys(row[0] for row in INTERRUPTED) if runs.listed_or_skipped(tally, name)]
            each(tally, runs.interrupt, [row for row in INTERRUPTED if row[0] in known])
            return tally.finish()
        for name in given.case or list(CASES) + ["power"]:
            if name == "power":
                runs.listed("train")
                trials += [(name, cut, how) for cut in range(1, runs.record_run() + 1) for how in ("all", "least", "some")]
                continue
            lines = runs.listed_or_skipped(tally, name)
            tally.add("calls", len(lines))
            trials += [(name, line, how) for line in lines for how in ERRORS[line.split()[1]]]
        each(tally, runs.trial, mixed(trials, given.seed)[:given.runs])
    return tally.finish()


sys.exit(main())
