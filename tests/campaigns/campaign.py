"""campaign.py - what the campaigns share: their options, a small run, what runs leave, the tally."""
# SPDX-License-Identifier: Apache-2.0
import argparse
import concurrent.futures
import datetime
import itertools
import json
import os
import pathlib
import platform
import random
import re
import shutil
import subprocess
import sys
import time

TREE = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(TREE / "tests/e2e"))
from cases import CASES, MADE, fill  # noqa: E402
from checkpoint import tensors  # noqa: E402


# What a program says that was built without an optional library.
LACKS = re.compile(r"built without|this build is without|without libmicrohttpd|this build reads no")


class Failed(Exception):
    """A run that did not end as it should."""


def parser(text, first="tutti"):
    """The options that every campaign has."""
    p = argparse.ArgumentParser(description=text.splitlines()[0])
    p.add_argument(first)
    p.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    p.add_argument("--hours", type=float, help="goes on for so long")
    p.add_argument("--tally", help="a line of JSON is added there")
    return p


def commit(tree):
    """The commit of the tree, and -dirty behind it where files that git knows are changed; None without git."""
    def git(*words):
        try:
            done = subprocess.run(["git", "-C", tree, *words], capture_output=True, text=True, check=False)
        except OSError:
            return None
        return None if done.returncode else done.stdout.strip()
    head = git("rev-parse", "HEAD")
    if not head or git("rev-parse", "--show-prefix"):  # a tree without git in a folder that has it
        return None
    return head + ("-dirty" if git("status", "--porcelain", "--untracked-files=no") else "")


class Tally:
    """What was tried, and what failed; a line of JSON in the end.  `given` has `tally`, and `seed` and `hours` where the
    campaign has them."""

    def __init__(self, campaign, given):
        self.values = {"campaign": campaign}
        if "seed" in given:
            self.values["seed"] = given.seed
        self.values["failures"] = 0
        self.commit = commit(TREE)
        self.path = given.tally
        self.begun = time.monotonic()
        self.hours = getattr(given, "hours", None)

    def add(self, name, n=1):
        self.values[name] = self.values.get(name, 0) + n

    def fail(self, text):
        self.values["failures"] += 1
        print(f"FAILED: {text}", flush=True)

    def skip(self, why):
        """A part of the campaign cannot be tried here: prints why; a test counts as skipped."""
        self.add("skipped")
        print(f"skipped: {why}", flush=True)

    def is_over(self):
        """True once the hours that were given have passed."""
        return self.hours is not None and time.monotonic() - self.begun > 3600 * self.hours

    def finish(self):
        """Prints it; for sys.exit: 1 if something failed, else 77 (skipped, for ctest) if a part was skipped, else 0."""
        self.values["seconds"] = round(time.monotonic() - self.begun)
        self.values["date"] = datetime.date.today().isoformat()
        if self.commit:
            self.values["commit"] = self.commit
        self.values["machine"] = f"{os.cpu_count()} CPUs, {platform.system()} {platform.machine()}"
        line = json.dumps(self.values)
        print(line)
        if self.path:
            with open(self.path, "a", encoding="utf-8") as f:
                f.write(line + "\n")
        return 1 if self.values["failures"] else 77 if "skipped" in self.values else 0


def mixed(trials, seed):
    """Trials, which begin with the name of a case, at random, those of every case among the first."""
    rng = random.Random(seed)
    rows = {}
    for trial in rng.sample(trials, len(trials)):
        rows.setdefault(trial[0], []).append(trial)
    turns = itertools.zip_longest(*rows.values())
    return [trial for turn in turns for trial in turn if trial]


def each(tally, trial, trials):
    """Calls trial(tally, number, *one) for each of the trials, on all CPUs, until the hours are over."""
    tally.add("trials", len(trials))
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for _ in pool.map(lambda n: tally.is_over() or trial(tally, n, *trials[n]), range(len(trials))):
            pass


def environment(cache, **more):
    """One without what would change results or start the program twice."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("TUTTI_", "LD_PRELOAD"))}
    return kept | {"XDG_CACHE_HOME": str(cache), "OMP_WAIT_POLICY": "passive", "TUTTI_TUNE": "0", "LC_ALL": "C"} | more


def losses(folder, name):
    """(batch, loss) of every row of a run's log, every line of which is JSON."""
    rows = []
    path = folder / "runs" / name / "log.jsonl"
    if not path.exists():
        raise Failed("there is no log")
    with open(path, encoding="utf-8") as f:
        for line in f:
            try:
                row = json.loads(line)
            except ValueError:
                raise Failed(f"a line of the log is no JSON: {line!r}") from None
            if row["kind"] == "metrics" and "loss/train/total" in row["values"]:
                rows.append((row["batch"], row["values"]["loss/train/total"]))
    return rows


class Runs:
    """Runs of the cases, each in a folder of its own, with and without failures of the system."""

    cases = CASES

    def __init__(self, tutti, faults, library, top):
        self.tutti = os.path.abspath(tutti)
        self.plugins = os.path.join(os.path.dirname(self.tutti), "lib/tutti/plugins")
        self.top = pathlib.Path(top)
        self.preload = [os.path.join(os.path.abspath(faults), library)]
        self.results = {}  # of each case, without failures
        self.lists = {}
        self.ready = self.top / "ready"
        fill(self.ready)

    def begin(self, name, folder):
        """Fills the folder of a run of the case."""
        fill(folder)
        for path in self.cases[name][1]:
            self.make(path)
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(self.ready / path, folder / path)

    def make(self, path):
        """Has the run in self.ready that leaves the file, once; the first call of a case is in `listed`, alone."""
        if not (self.ready / path).exists():
            done = self.run(self.ready, MADE[path.split("/")[0]])
            if done.returncode:
                raise Failed(f"what leaves {path}: {done.returncode}: {done.stderr}")

    def run(self, folder, command, fault=None):
        """The process that has ended; `fault` is for the library, or "limit KIB" of memory."""
        more, before = {}, []
        if fault and fault.startswith("limit"):
            before = ["prlimit", f"--as={1024 * int(fault.split()[1])}", "--core=0"]
        elif fault:
            more = {"TUTTI_FAULTS": fault, "TUTTI_FAULTS_FILE": str(folder / "faults.txt"),
                    "LD_PRELOAD": " ".join(self.preload)}
        try:
            return self.start(folder, [*before, self.tutti, *(word.format(plugins=self.plugins) for word in command)],
                              environment(self.top / "cache", TUTTI_CHART_JS="chart.js", **more))
        except subprocess.TimeoutExpired:
            raise Failed("it did not end") from None

    def start(self, folder, command, env):
        return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, errors="replace", timeout=120,
                              check=False)

    def result(self, name, folder, stdout):
        """What the case has made, to compare."""
        kind = self.cases[name][2]
        if callable(kind):
            return kind(folder, stdout)
        if kind == "stdout":
            return stdout
        if kind != "weights":
            return (folder / kind).read_bytes()
        return self.weights(folder), losses(folder, "small")

    def weights(self, folder):
        """Those of the last checkpoint."""
        found = sorted((folder / "saves").glob("*-ba*.safetensors"))
        if not found:
            raise Failed("no checkpoint is there")
        return tensors(found[-1])

    def listed(self, name):
        """What the library lists of the case, once; keeps what the case makes without failures."""
        if name in self.lists:
            return self.lists[name]
        for fault in (None, "list"):
            folder = self.top / f"{name}-{fault}"
            self.begin(name, folder)
            done = self.run(folder, self.cases[name][0], fault)
            if done.returncode:
                raise Failed(f"{name} without a failure: {done.returncode}: {done.stderr}")
            result = self.result(name, folder, done.stdout)
            if self.results.setdefault(name, result) != result:
                raise Failed(f"{name} has other results when it is run again")
        self.lists[name] = (folder / "faults.txt").read_text().splitlines()
        return self.lists[name]

    def listed_or_skipped(self, tally, name):
        """The same; [] where the case wants a library that this build lacks: it is skipped."""
        try:
            return self.listed(name)
        except Failed as why:
            if not LACKS.search(str(why)):
                raise
            tally.skip(f"{name}: {str(why).split('tutti: ')[-1].strip()}")
            return []

    def take_up(self, name, folder):
        """What was saved before the failure is good, and is where a run goes on; the end is the same."""
        if not any((folder / "saves").iterdir()):
            return
        done = self.run(folder, self.cases[name][0][:2] + ["--resume", "auto"])
        if done.returncode or "damaged" in done.stderr:
            raise Failed(f"cannot be taken up: {done.returncode}: {done.stderr}")
        if self.weights(folder) != self.results[name][0]:
            raise Failed("other weights once it is taken up")
        left = [p.name for p in (folder / "saves").iterdir() if ".tmp" in p.name]
        if left:
            raise Failed(f"files are left: {left}")
