"""soak.py TUTTI FOLDER [--samples N] [--evil] [--hours H] - long runs take no more as time goes by.

Runs have every callback, every logger that does not keep what it gets, an evaluation and rotating checkpoints. They
train until they have been looked at often enough, or until the hours are over, then SIGTERM ends them. At each look,
some batches after the one before: memory that is resident and that is mapped, files that are open by their names,
threads, the space of the checkpoints. The last quarter has grown when both its least and its most are above those of
the second one: some come and go with evaluations. Runs of an hour and more may not become slower by over 2 % either. Every batch is in the log once, and the run can be taken up.

--evil has plugins of FOLDER leak memory, files and threads in every batch: all of them must be found.
"""
# SPDX-License-Identifier: Apache-2.0
import collections
import json
import os
import pathlib
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time

from campaign import Failed, Tally, environment, losses, parser
from destinations import loggers, serve

CYCLE = 10  # batches between evaluations and between checkpoints
WARM_UP = 5  # cycles before the first look: arenas, caches and queues have their size by then
IMAGES = [{"name": "normalize", "mean": [0.13], "std": [0.31]}]
CALLBACKS = [
    {"name": "checkpoint_saver", "folder": "saves", "interval": f"{CYCLE}ba", "keep": 3},
    {"name": "lr_monitor"}, {"name": "memory_monitor"}, {"name": "nan_monitor"}, {"name": "runtime_estimator"},
    {"name": "optimizer_monitor", "batch_log_interval": CYCLE}, {"name": "speed_monitor"},
    {"name": "system_metrics_monitor"},
]
# These end a run; with these settings they only look.
STOPPERS = [
    {"name": "early_stopper", "monitor": "accuracy", "dataloader_label": "test", "patience": "1000000ep"},
    {"name": "threshold_stopper", "monitor": "accuracy", "dataloader_label": "test", "threshold": 2},
]
CASES = {
    "images": {
        "model": {"name": "cnn", "channels": [4, 8]},
        "train": {"dataset": {"name": "glyphs", "samples": 320}, "transforms": IMAGES, "batch_size": 32, "workers": 2},
        "eval": [{"label": "test", "dataset": {"name": "glyphs", "samples": 64, "split": "test"}, "interval": f"{CYCLE}ba",
                  "transforms": IMAGES, "batch_size": 32, "metrics": [{"name": "accuracy"}]}],
        "algorithms": [{"name": "ema", "half_life": "50ba"}, {"name": "mixup"}, {"name": "label_smoothing"}],
        "callbacks": CALLBACKS + STOPPERS,
    },
    "text": {
        "model": {"name": "gpt2", "n_layer": 1, "n_head": 2, "n_embd": 16},
        "train": {"dataset": {"name": "text", "path": "text.txt", "length": 16}, "batch_size": 16, "workers": 1},
        "algorithms": [{"name": "gradient_clipping", "clipping_type": "norm", "clipping_threshold": 1}],
        "callbacks": CALLBACKS + [{"name": "generate", "prompts": ["a"], "max_new_tokens": 8, "interval": f"{CYCLE}ba"}],
    },
}
EVIL = {"heap": "mapped", "files": "files", "threads": "threads"}  # how it is called, what grows
Look = collections.namedtuple("Look", "seconds batch resident mapped threads disk files")
SLACK = {"resident": 1 << 20, "mapped": 1 << 20, "disk": 1 << 16}  # bytes, besides 1 %; files and threads have none


class Log:
    """Batches that a run has logged, as they come."""

    def __init__(self, path):
        self.path, self.at, self.batches, self.rest = path, 0, 0, b""

    def read(self):
        """How many batches there are by now."""
        if self.path.exists():
            with open(self.path, "rb") as f:
                f.seek(self.at)
                text = f.read()
            self.at += len(text)
            *lines, self.rest = (self.rest + text).split(b"\n")
            self.batches += sum(b'"loss/train/total"' in line for line in lines)
        return self.batches


def look(process, folder, batches):
    """What the process has and what lies in its folder, logs left out: they grow with every batch."""
    proc = pathlib.Path("/proc") / str(process.pid)
    status = dict(line.split(":", 1) for line in (proc / "status").read_text().splitlines())
    disk, files = 0, collections.Counter()
    for path in folder.rglob("saves/*"):
        try:
            disk += path.lstat().st_size
        except FileNotFoundError:
            pass  # rotated away
    for path in (proc / "fd").iterdir():
        try:
            name = os.readlink(path)
            if not name.endswith(".waiting"):  # open while a server is slower than the run
                files[re.sub(r"\d+", "N", name)] += 1
        except FileNotFoundError:
            pass  # closed
    return Look(time.monotonic(), batches, 1024 * int(status["VmRSS"].split()[0]), 1024 * int(status["VmData"].split()[0]),
                int(status["Threads"]), disk, files)


def watch(process, folder, log, enough):
    """Looks until there are enough; each is at least a cycle of batches after the one before."""
    looks = []
    seen = time.monotonic()
    while process.poll() is None and not enough(looks):
        batches = log.read()
        due = looks[-1].batch + CYCLE if looks else WARM_UP * CYCLE
        if batches >= due:
            try:
                looks.append(look(process, folder, batches))
            except (FileNotFoundError, ProcessLookupError, KeyError):
                break  # it has ended
            seen = time.monotonic()
        elif time.monotonic() - seen > 300:
            raise Failed(f"no batch for five minutes after batch {batches}")
        time.sleep(0.01)
    return looks


def growth(looks, slow):
    """Sentences about what grew from the second quarter to the last."""
    n = len(looks) // 4
    second, last = looks[n:2 * n], looks[-n:]
    found = []
    between = f"between batches {second[0].batch} and {last[-1].batch}"
    measures = {what: [[getattr(one, what) for one in quarter] for quarter in (second, last)]
                for what in ("resident", "mapped", "threads", "disk")}
    for name in sorted(set().union(*(one.files for one in last))):
        measures[f"files: {name}"] = [[one.files[name] for one in quarter] for quarter in (second, last)]
    for what, (before, after) in measures.items():
        slack = SLACK[what] + min(before) // 100 if what in SLACK else 0
        if min(after) > min(before) + slack and max(after) > max(before) + slack:
            found.append(f"{what} grew from {min(before)}..{max(before)} to {min(after)}..{max(after)} {between}")
    drift = pace(last) / pace(second) - 1
    if slow and drift > 0.02:
        found.append(f"a batch takes {100 * drift:.1f} % longer")
    return found, drift


def pace(quarter):
    """Seconds of a batch, the median of what lies between looks."""
    return statistics.median((b.seconds - a.seconds) / (b.batch - a.batch) for a, b in zip(quarter, quarter[1:]))


def soak(tutti, folder, run, options, enough, slow):
    """Trains, looks, ends it and takes it up; what grew, and figures for the tally."""
    (folder / "run.json").write_text(json.dumps(run))
    (folder / "text.txt").write_text("a text of which no more is asked than that it is long enough. " * 50)
    log = Log(folder / "runs" / run["name"] / "log.jsonl")
    with open(folder / "out.txt", "w", encoding="utf-8") as out:
        process = subprocess.Popen([tutti, "train", "run.json", *options], cwd=folder, stdout=out, stderr=out,
                                   env=environment(folder / "cache"))
        try:
            looks = watch(process, folder, log, enough)
            process.terminate()
            process.wait(timeout=300)
        finally:
            process.kill()
            process.wait()
    said = (folder / "out.txt").read_text(errors="replace")
    if process.returncode != 128 + signal.SIGTERM:
        raise Failed(f"it ended with {process.returncode} after {len(looks)} looks: {said[-600:]}")
    grown, drift = growth(looks, slow)
    batches = [batch for batch, _ in losses(folder, run["name"])]
    if batches != list(range(len(batches))):
        raise Failed("the log lacks batches or has some twice")
    done = subprocess.run([tutti, "train", "run.json", *options, "--resume", "auto", "--set", f"max_duration={len(batches) + 1}ba"],
                          cwd=folder, env=environment(folder / "cache"), capture_output=True, text=True, check=False)
    if done.returncode:
        raise Failed(f"it cannot be taken up: {done.stderr[-600:]}")
    return grown, {"batches": len(batches), "looks": len(looks), "resident_mib": round(looks[-1].resident / 2**20, 1),
                   "drift_percent": round(100 * drift, 2)}


def judge(tally, name, grown, evil):
    """What grew is a failure, and with evil plugins that something did not."""
    if not evil:
        for text in grown:
            tally.fail(f"{name}: {text}")
        return
    for leaked in EVIL.values():
        if not any(text.startswith(leaked) for text in grown):
            tally.fail(f"{name}: a plugin leaks {leaked} in every batch, which was not found; found: {grown}")


def main():
    words = parser(__doc__)
    words.add_argument("folder", help="of the evil plugin")
    words.add_argument("--samples", type=int, default=200, help="looks at each run, without --hours")
    words.add_argument("--case", choices=CASES, action="append")
    words.add_argument("--evil", action="store_true")
    given = words.parse_args()
    tutti = os.path.abspath(given.tutti)
    server = serve()
    there, missing = loggers(tutti, server.server_port, CYCLE)
    tally = Tally("soak", given)
    if missing:
        tally.skip(f"this build lacks the loggers {', '.join(missing)} (Debian's package libcurl4-openssl-dev)")
    names = given.case or list(CASES)
    for k, name in enumerate(names):
        until = tally.begun + 3600 * (given.hours or 0) * (k + 1) / len(names)
        enough = (lambda looks, until=until: len(looks) >= 16 and time.monotonic() > until) if given.hours else \
            (lambda looks: len(looks) >= given.samples)
        run = {"name": "soak", "seed": given.seed % 1000, "threads": 1, "device": "cpu", "loggers": there,
               "optimizer": {"name": "adamw", "lr": 0.001}, "max_duration": "1000000000ba"} | CASES[name]
        options = []
        if given.evil:
            run["callbacks"] = run["callbacks"] + [{"name": "evil", "how": how, "id": how} for how in EVIL]
            options = ["--plugin-path", os.path.abspath(given.folder)]
        with tempfile.TemporaryDirectory(prefix="tutti_soak_") as folder:
            try:
                grown, figures = soak(tutti, pathlib.Path(folder), run, options, enough, (given.hours or 0) >= 1)
                judge(tally, name, grown, given.evil)
                tally.values[name] = figures
            except Failed as why:
                tally.fail(f"{name}: {why}")
    server.shutdown()
    return tally.finish()


sys.exit(main())
