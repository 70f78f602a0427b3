"""alloc.py TUTTI FAULTS [--runs N] [--seed S] [--hours H] [--case NAME] - memory that ends loses nothing and is told.

Each case is a command. Its run lists the places (call stacks) where memory is allocated; then each run lets one
allocation fail, or all from one on. It must end with the very results of a run without failures, or with a status
that says so and a sentence that memory is out; never by a signal, and with no memory lost. What training has
saved by then can be taken up, and the end is the same. FAULTS is the folder of the libraries to preload.
"""
# SPDX-License-Identifier: Apache-2.0
import concurrent.futures
import ctypes.util
import json
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile

from campaign import ENGINE, RUN, Failed, Tally, environment, losses, parser, tensors

# name: command, what of the folder `ready` it begins with, what it leaves
TRAIN = ["train", "run.json"]
CASES = {
    "validate": (["validate", "run.json"], [], "stdout"),
    "explain": (["explain", "run.json"], [], "stdout"),
    "plan": (["plan", "run.json"], [], "stdout"),
    "plugins": (["plugins", "list"], [], "stdout"),
    "train": (TRAIN, [], "weights"),
    "resume": (TRAIN + ["--resume", "auto"], ["saves/ep0-ba2.safetensors"], "weights"),
    "run": (["run", "engine.json"], [], "weights"),
    "eval": (["eval", "run.json", "--checkpoint", "saves/ep0-ba4.safetensors"],
             ["saves/ep0-ba4.safetensors"], "stdout"),
    "predict": (["predict", "run.json", "--checkpoint", "saves/ep0-ba4.safetensors", "--output", "out.npy"],
                ["saves/ep0-ba4.safetensors"], "predictions"),
}
# What libraries and the C library say, too.
SENTENCE = re.compile(r"memory|not enough space|ENOMEM", re.IGNORECASE)
# The leak sanitizer itself has met the failure.
TOOL = re.compile(r"Sanitizer: CHECK failed|Sanitizer: failed to")
LEAK = re.compile(r"LeakSanitizer: detected memory leaks")


class Campaign:
    """A folder with what cases begin with, and their results without failures."""

    def __init__(self, given, top):
        self.tutti = os.path.abspath(given.tutti)
        self.top = pathlib.Path(top)
        self.preload = [os.path.abspath(os.path.join(given.faults, "alloc_faults.so"))]
        self.lsan = self.find_lsan()
        self.ready = self.top / "ready"
        self.fill(self.ready)
        self.run(self.ready, TRAIN)
        self.results = {}

    def find_lsan(self):
        """The leak sanitizer as a library, or None where there is none or it cannot work."""
        path = ctypes.util.find_library("lsan")
        if not path:
            return None
        done = subprocess.run([self.tutti, "version"], env=environment(self.top, LD_PRELOAD=path),
                              capture_output=True, check=False)
        return path if done.returncode == 0 else None

    def fill(self, folder):
        (folder / "saves").mkdir(parents=True)
        (folder / "run.json").write_text(json.dumps(RUN))
        (folder / "engine.json").write_text(json.dumps(ENGINE))

    def run(self, folder, command, fault=None):
        """The process that has ended; `fault` is for the library."""
        more = {}
        if fault:
            more = {"TUTTI_FAULTS": fault, "TUTTI_FAULTS_FILE": str(folder / "faults.txt"),
                    "LD_PRELOAD": " ".join(self.preload + ([self.lsan] if self.lsan else []))}
        return subprocess.run([self.tutti, *command], cwd=folder, env=environment(self.top / "cache", **more),
                              capture_output=True, text=True, errors="replace", timeout=120, check=False)

    def begin(self, name, folder):
        self.fill(folder)
        for path in CASES[name][1]:
            shutil.copy(self.ready / path, folder / path)

    def result(self, name, folder, stdout):
        """What the case has made, to compare."""
        kind = CASES[name][2]
        if kind == "stdout":
            return stdout
        if kind == "predictions":
            return (folder / "out.npy").read_bytes()
        return tensors(self.last_checkpoint(folder)), losses(folder, "small")

    def last_checkpoint(self, folder):
        found = list((folder / "saves").glob("*-ba4.safetensors"))
        if not found:
            raise Failed("the last checkpoint is not there")
        return found[0]

    def places(self, name):
        """Numbers of the allocations that come from different places; keeps what the case makes."""
        for fault in (None, "list"):
            folder = self.top / f"{name}-{fault}"
            self.begin(name, folder)
            done = self.run(folder, CASES[name][0], fault)
            if done.returncode:
                raise Failed(f"{name} without a failure: {done.returncode}: {done.stderr}")
            result = self.result(name, folder, done.stdout)
            if self.results.setdefault(name, result) != result:
                raise Failed(f"{name} has other results when it is run again")
        return [int(n) for n in (folder / "faults.txt").read_text().split()]

    def judge(self, name, fault, folder):
        """None where the failure did not strike the program, "told" or "survived"; raises Failed."""
        self.begin(name, folder)
        try:
            done = self.run(folder, CASES[name][0], fault)
        except subprocess.TimeoutExpired:
            raise Failed("it did not end") from None
        if not (folder / "faults.txt").stat().st_size:
            return None
        if TOOL.search(done.stderr):
            return None
        if LEAK.search(done.stderr):
            raise Failed(f"memory is lost: {done.stderr}")
        if done.returncode < 0:
            raise Failed(f"ended by signal {-done.returncode}: {done.stderr}")
        if done.returncode == 0:
            if self.result(name, folder, done.stdout) != self.results[name]:
                raise Failed(f"other results, status 0: {done.stderr}")
            return "survived"
        if not SENTENCE.search(done.stderr):
            raise Failed(f"status {done.returncode}, but no word of memory: {done.stderr}")
        if CASES[name][2] == "weights":
            self.take_up(name, folder)
        return "told"

    def take_up(self, name, folder):
        """What was saved before memory ended is good, and is where a run goes on."""
        if not any((folder / "saves").iterdir()):
            return
        done = self.run(folder, CASES[name][0][:2] + ["--resume", "auto"])
        if done.returncode or "damaged" in done.stderr:
            raise Failed(f"cannot be taken up: {done.stderr}")
        if self.result(name, folder, "")[0] != self.results[name][0]:
            raise Failed("other results once it is taken up")
        left = [p.name for p in (folder / "saves").iterdir() if ".tmp" in p.name]
        if left:
            raise Failed(f"files are left: {left}")

    def trial(self, tally, number, name, fault):
        folder = self.top / f"trial{number}"
        stack = ""
        try:
            outcome = self.judge(name, fault, folder)
            tally.add("failures_injected" if outcome else "missed")
            if outcome:
                tally.add(outcome)
        except Failed as why:
            if (folder / "faults.txt").exists():
                stack = (folder / "faults.txt").read_text()
            tally.fail(f"{name}, {fault}: {why}\n{stack}")
        shutil.rmtree(folder, ignore_errors=True)


def main():
    p = parser(__doc__)
    p.add_argument("faults")
    p.add_argument("--runs", type=int, help="so many, at random; all otherwise")
    p.add_argument("--case", choices=CASES, action="append")
    given = p.parse_args()
    rng = random.Random(given.seed)
    tally = Tally("alloc", given)
    with tempfile.TemporaryDirectory(prefix="tutti_alloc_") as top, \
            concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        campaign = Campaign(given, top)
        if not campaign.lsan:
            print("no leak sanitizer here: lost memory is not looked for")
        trials = []
        for name in given.case or CASES:
            places = campaign.places(name)
            tally.add("places", len(places))
            trials += [(name, f"{how} {n}") for n in places for how in ("one", "from")]
        rng.shuffle(trials)
        for _ in pool.map(lambda n: campaign.trial(tally, n, *trials[n]), range(len(trials[:given.runs]))):
            if tally.is_over():
                pool.shutdown(cancel_futures=True)
                break
    return tally.finish()


sys.exit(main())
