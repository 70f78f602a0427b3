"""io.py TUTTI FAULTS [--runs N] [--seed S] [--hours H] [--case NAME] [--interrupted] - failing files and power lose nothing.

Each case is a command. Its run lists the calls that open, read, write, sync, rename, link, map and close files; then
each run lets one of them fail (EIO, ENOSPC, EDQUOT, EINTR three times or for ever), do half of its work, or lets all that
write fail from one on (a disk that is full, or can only be read). It must end with the very results of a run without failures, or with a status and a
sentence; what is missing of a log, or of the list of plugins, is told. A command that names an object whose plugin could
not be read never ends with status 0. What training has saved by then can be taken up,
and the end is the same.

--interrupted: instead of these, the calls of INTERRUPTED are interrupted for ever, each in a run of its own.

Power: a run's writes are recorded and replayed up to each of them. What was not synced by then is there, is not,
or is there in part. The last checkpoint that was acknowledged, to which `latest` leads, loads; the run is taken up from it to
the same end, with the same logs.
"""
# SPDX-License-Identifier: Apache-2.0
import errno
import json
import os
import pathlib
import random
import re
import shutil
import sys
import tempfile

from campaign import Failed, Runs, Tally, each, losses, mixed, parser
from cases import CASES, FILES, LOGGED, RUN, fill
from disk import LOSSES, Disk, recorded
from kill_compare import compare_logs

WRITE = ["EIO", "ENOSPC", "EDQUOT", "EINTR", "interrupted", "short", "full", "readonly"]
READ = ["EIO", "EINTR", "interrupted", "short"]
ERRORS = {
    "open": ["EIO", "EMFILE", "EINTR"], "create": ["EIO", "ENOSPC", "EDQUOT", "EINTR", "full", "readonly"],
    "read": READ, "readv": READ, "mmap": ["ENOMEM", "ENODEV"],
    "write": WRITE, "pwrite": WRITE, "writev": WRITE, "pwritev": WRITE, "copy": WRITE,
    "truncate": ["EIO", "ENOSPC", "EDQUOT", "EINTR", "full", "readonly"], "fallocate": ["EIO", "ENOSPC", "EDQUOT", "EINTR", "full"],
    "fsync": ["EIO", "ENOSPC", "EDQUOT", "EINTR", "readonly"],
    "rename": ["EIO", "ENOSPC", "EDQUOT", "EINTR", "full", "readonly"], "link": ["EIO", "ENOSPC", "EDQUOT", "full", "readonly"],
    "symlink": ["EIO", "ENOSPC", "EDQUOT", "full", "readonly"], "mkdir": ["EIO", "ENOSPC", "EDQUOT", "full", "readonly"],
    "unlink": ["EIO", "EROFS", "ENOSPC"],  # some file systems want space for it
    "close": ["EIO", "ENOSPC", "EDQUOT", "EINTR"],
}
ALL = CASES | FILES
INTERRUPTIONS = 3  # in a row
# These show every plugin, also one that cannot be read; the others show nothing of one that they do not name.
SHOW_ALL = ("plugins", "layers")
# Runs whose power is lost: what each has beside the case `train`.
POWER = {"power": {}, "power_rotated": {"callbacks": [RUN["callbacks"][0] | {"keep": 1, "interval": "1ba"}]},
         "power_logged": LOGGED,
         "power_behind": {"callbacks": [RUN["callbacks"][0] | {"async": True}]}}
# case, call, a part of the path
INTERRUPTED = [
    ("train", "read", "/mlp/plugin.json"), ("train", "read", "/mlp/mlp.so"), ("train", "pwrite", "/runs/small/.lock"),
    ("train", "write", "/runs/small/record.json"), ("train", "write", "/runs/small/log.jsonl"),
    ("train", "write", ".safetensors"),
    ("train", "fsync", ".safetensors"), ("convert", "write", "/shard.00000.mds"), ("predict", "write", "/out.npy"),
    ("export", "write", "/out.onnx"), ("runs", "read", "/log.jsonl"),
    ("eval", "read", "/accuracy/plugin.json"), ("export", "read", "/mlp/plugin.json"), ("convert", "read", "/npy/plugin.json"),
]


def names_in(node):
    """What a run names: every "name" in it."""
    if isinstance(node, list):
        return {name for part in node for name in names_in(part)}
    if not isinstance(node, dict):
        return set()
    own = {node["name"]} if isinstance(node.get("name"), str) else set()
    return own.union(*map(names_in, node.values()))


def fault(number, how):
    """As the library wants it."""
    if how == "short":
        return f"short {number}"
    if how == "full":
        return f"from {number} {errno.ENOSPC}"
    if how == "readonly":  # as a file system makes itself that has met an error
        return f"from {number} {errno.EROFS}"
    if how == "EINTR":
        return f"some {number} {errno.EINTR} {INTERRUPTIONS}"
    if how == "interrupted":
        return f"some {number} {errno.EINTR} {1 << 30}"
    return f"one {number} {getattr(errno, how)}"


class Files(Runs):
    """Runs whose files fail."""

    cases = ALL

    def __init__(self, given, top):
        super().__init__(given.tutti, given.faults, "io_faults.so", top)
        self.seed = given.seed
        self.recorded = {}  # of each of POWER: its folder and its calls
        self.objects = {}  # of each folder of a plugin: what is in it
        for path in pathlib.Path(self.plugins).glob("*/plugin.json"):
            said = json.loads(path.read_text(encoding="utf-8"))
            self.objects[path.parent.name] = {one["name"] for one in said["objects"]}

    def named_unread(self, name, folder, said):
        """Plugins of which the command names an object, and which could not be read."""
        named = set(ALL[name][0])
        for word in ALL[name][0]:
            if word.endswith(".json"):
                named |= names_in(json.loads((folder / word).read_text(encoding="utf-8")))
        unread = set(re.findall(r"plugin \S*/(\w+) is not used", said))
        if re.search(f"no plugins are taken from {re.escape(os.path.realpath(self.plugins))}:", said):
            unread = set(self.objects)
        return sorted(one for one in unread if self.objects.get(one, set()) & named)

    def judge(self, name, how, folder):
        """None where the failure did not strike, "told" or "survived"; raises Failed."""
        self.begin(name, folder)
        done = self.run(folder, ALL[name][0], how)
        if not (folder / "faults.txt").stat().st_size:
            return None
        if done.returncode < 0:
            raise Failed(f"ended by signal {-done.returncode}: {done.stderr}")
        if done.returncode and not done.stderr.strip():
            raise Failed(f"status {done.returncode} without a sentence")
        weights = ALL[name][2] == "weights"
        if done.returncode == 0:
            if weights and self.weights(folder) != self.results[name][0]:
                raise Failed(f"other weights, status 0: {done.stderr}")
            if weights and "log" not in done.stderr and losses(folder, "small") != self.results[name][1]:
                raise Failed(f"the log lacks rows, which is not told: {done.stderr}")
            unread = self.named_unread(name, folder, done.stderr)
            if unread and name not in SHOW_ALL:
                raise Failed(f"names what is in {unread}, which could not be read, status 0: {done.stderr}")
            told = name in SHOW_ALL and ("cannot be loaded" in done.stdout or any(
                words in done.stderr for words in ("is not used", "no plugins are taken")))
            if name in FILES and all("cache_clear_cmd" in words for words in done.stderr.splitlines()):
                compare_logs(self.top / f"{name}-None", folder)
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
            if name in POWER:
                self.lose_power(name, folder, line, how)
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

    def record_run(self, name):
        """How many calls there are to stop at."""
        folder = self.top / f"recorded_{name}"
        self.fill_power(name, folder)
        done = self.run(folder, ALL["train"][0], "record")
        if done.returncode:
            raise Failed(f"the run to record: {done.stderr}")
        self.recorded[name] = folder, list(recorded(folder / "faults.txt", folder))
        disk = Disk()
        for one in self.recorded[name][1]:
            disk.step(*one)
        newest = sorted((folder / "saves").glob("*-ba*"))[-1]
        if not disk.acknowledged or os.path.basename(disk.acknowledged) != newest.name:
            raise Failed(f"{newest.name} was not acknowledged by a link, but {disk.acknowledged}")
        return len(self.recorded[name][1])

    def fill_power(self, name, folder):
        fill(folder)
        (folder / "run.json").write_text(json.dumps(RUN | POWER[name]))
        (folder / "saves").rmdir()  # the run makes it

    def lose_power(self, name, folder, cut, how):
        whole, calls = self.recorded[name]
        disk = Disk()
        self.fill_power(name, folder)
        for one in calls[:cut]:
            disk.step(*one)
        disk.put(whole, folder, how, random.Random(f"{self.seed} {name} {cut} {how}"))
        (folder / "saves").mkdir(exist_ok=True)
        if disk.acknowledged:
            path = folder / os.path.relpath(disk.acknowledged, whole)
            if not path.exists():
                raise Failed(f"{path.name} was acknowledged, and is lost")
            fill(folder / "elsewhere")  # where it does not add to the log
            done = self.run(folder / "elsewhere", ["eval", "run.json", "--checkpoint", str(path)])
            if done.returncode:
                raise Failed(f"the last checkpoint does not load: {done.stderr}")
            shutil.rmtree(folder / "elsewhere")
        done = self.run(folder, ALL["resume"][0])
        ended = "nothing is left to train" in done.stderr
        if done.returncode and not ended or "damaged" in done.stderr:
            raise Failed(f"cannot be taken up: {done.returncode}: {done.stderr}")
        self.check_end(whole, folder, disk.acknowledged, done.stderr)

    def check_end(self, whole, folder, acknowledged, said):
        """The end is that of the whole run, and it came from what was acknowledged, or is newer."""
        if self.weights(folder) != self.weights(whole) or losses(folder, "small") != losses(whole, "small"):
            raise Failed(f"other results once it is taken up: {said}")
        compare_logs(whole, folder, without=("runs/*/mlflow.run",))  # which MLflow's own store does not sync either
        log = (folder / "runs/small/log.jsonl").read_text(encoding="utf-8")
        batches = [int(n) for n in re.findall(r'"resumed from [^"]* at batch ([0-9]+)"', log)]
        least = int(re.search(r"-ba([0-9]+)\.", acknowledged)[1]) if acknowledged else 0
        if least and "nothing is left" not in said and (batches or [0])[-1] < least:
            raise Failed(f"batch {least} was acknowledged, and it went on from {(batches or [0])[-1]}")


def main():
    p = parser(__doc__)
    p.add_argument("faults")
    p.add_argument("--runs", type=int, help="so many, at random; all otherwise")
    p.add_argument("--case", choices=[*ALL, *POWER], action="append")
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
        for name in given.case or [*ALL, *POWER]:
            if name in POWER:
                trials += [(name, cut, how) for cut in range(1, runs.record_run(name) + 1) for how in LOSSES]
                continue
            lines = runs.listed_or_skipped(tally, name)
            tally.add("calls", len(lines))
            trials += [(name, line, how) for line in lines for how in ERRORS[line.split()[1]]]
        each(tally, runs.trial, mixed(trials, given.seed)[:given.runs])
    return tally.finish()


sys.exit(main())
