"""alloc.py TUTTI FAULTS [--runs N] [--seed S] [--hours H] [--case NAME] [--last N] - memory that ends loses nothing and is told.

Each case is a command. Its run lists the places (call stacks) where memory is allocated; then each run lets one
allocation fail, or all from one on, or the process has only so much memory. It must end with the very results of a
run without failures (a log may end early and a record be missing, which is told), or with a status that says so and
a sentence that memory is out; never by a signal (unless oneDNN asked, which is counted), and with no memory lost. What
training has saved by then can be taken up, and the end is the same. FAULTS is the folder of the libraries to preload.
"""
# SPDX-License-Identifier: Apache-2.0
import ctypes.util
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

from campaign import Failed, Runs, Tally, each, environment, mixed, parser
from cases import CASES, COMMANDS, TOLD_THERE
from live import follow
from symbols import Symbols

# What libraries and the C library say, too.
SENTENCE = re.compile(r"memory|not enough space|ENOMEM|Thread creation failed", re.IGNORECASE)
# The leak sanitizer itself has met the failure.
TOOL = re.compile(r"Sanitizer: CHECK failed|Sanitizer: failed to")
# The program has not begun.
LOADER = re.compile(r"error while loading shared libraries|cannot allocate TLS data structures")
FOREIGN = ("libdnnl", "libcudart", "libcublas", "libcudnn", "libnvrtc")
LEAK = re.compile(r"LeakSanitizer: detected memory leaks")
ALL = CASES | COMMANDS

# Members of a run's record.
RECORDED = ("status", "batches", "start", "attempts", "run", "data", "plugins", "machine", "threads", "microbatch", "memory",
            "metrics")
LIMITED = ("train", "images")
STRUCK = 5  # one of so many limits at least leaves the program its first line


class Allocations(Runs):
    """Runs whose allocations fail."""

    cases = ALL

    def __init__(self, given, top):
        super().__init__(given.tutti, given.faults, "alloc_faults.so", top)
        self.symbols = Symbols(self.tutti, self.plugins)
        self.must_tell = set()  # trials that may not survive
        self.records = {}  # of each case that trains, without failures
        self.lsan = ctypes.util.find_library("lsan")
        if self.lsan and subprocess.run([self.tutti, "version"], env=environment(top, LD_PRELOAD=self.lsan),
                                        capture_output=True, check=False).returncode:
            self.lsan = None
        if self.lsan:
            self.preload.append(self.lsan)
        elif not given.no_leaks:
            sys.exit("alloc: lost memory cannot be looked for: there is no leak sanitizer (liblsan0) that the program "
                     "starts with; --no-leaks goes on without")

    def start(self, folder, command, env):
        return follow(command, folder, env) if "--live" in command else super().start(folder, command, env)

    def record(self, folder):
        """What its record says of a run that does not differ from run to run."""
        with open(folder / "runs" / "small" / "record.json", encoding="utf-8") as f:
            return {key: value for key, value in json.load(f).items() if key in RECORDED}

    def listed(self, name):
        places = super().listed(name)
        if self.cases[name][2] == "weights":
            self.records[name] = self.record(self.top / f"{name}-list")
        return places

    def near(self, lines, functions):
        """Those of the places that one of the functions calls; ends where there is none."""
        found = {function: [line for line in lines if any(self.symbols.name(at) == function for at in line.split()[1:])]
                 for function in functions}
        for function in functions:
            if not found[function]:
                sys.exit(f"alloc: no place is near {function}, so nothing is tried there")
        return sorted({line for part in found.values() for line in part})

    def is_foreign(self, folder):
        """Whether a library asked last for the memory that crashes where it gets none."""
        stack = folder / "faults.txt"
        return stack.exists() and any(name in stack.read_text().split("--\n")[-1] for name in FOREIGN)

    def is_loaded(self, fault, folder):
        """Whether the program gets to its first line: constructors of libraries, such as oneDNN's, may end it before."""
        return self.run(folder, ["version"], fault).returncode >= 0

    def judge(self, name, fault, folder):
        """None where the failure did not strike the program, "told" or "survived"; raises Failed."""
        self.begin(name, folder)
        done = self.run(folder, self.cases[name][0], fault)
        if TOOL.search(done.stderr) or LOADER.search(done.stderr) or \
                not ("limit" in fault or (folder / "faults.txt").stat().st_size):
            return None
        if LEAK.search(done.stderr):
            raise Failed(f"memory is lost: {done.stderr}")
        if done.returncode < 0 and self.is_foreign(folder):
            return "foreign"
        if done.returncode < 0 and "limit" in fault and not self.is_loaded(fault, folder):
            return None
        if done.returncode < 0:
            raise Failed(f"ended by signal {-done.returncode}: {done.stderr}")
        if done.returncode == 0:
            if self.cases[name][2] == "weights" and "nothing more is logged there" in done.stderr:
                if self.weights(folder) != self.results[name][0]:
                    raise Failed(f"other weights, status 0: {done.stderr}")
            elif "cannot be loaded" not in done.stdout and self.result(name, folder, done.stdout) != self.results[name]:
                raise Failed(f"other results, status 0: {done.stderr}")
            elif name in self.records and not SENTENCE.search(done.stderr) and self.record(folder) != self.records[name]:
                raise Failed(f"another record, and no word of memory: {done.stderr}")
            return "survived"
        said = done.stderr + (done.stdout if name in TOLD_THERE else "")
        if not SENTENCE.search(said):
            raise Failed(f"status {done.returncode}, but no word of memory: {said}")
        if self.cases[name][2] == "weights":
            self.take_up(name, folder)
        return "told"

    def trial(self, tally, number, name, fault):
        folder = self.top / f"trial{number}"
        try:
            outcome = self.judge(name, fault, folder)
            if outcome == "survived" and (name, fault) in self.must_tell:
                raise Failed("status 0, where memory that ends must end the command")
            tally.add(outcome or "missed")
        except Failed as why:
            stack = folder / "faults.txt"
            tally.fail(f"{name}, {fault}: {why}\n{stack.read_text() if stack.exists() else ''}")
        shutil.rmtree(folder, ignore_errors=True)


def main():
    p = parser(__doc__)
    p.add_argument("faults")
    p.add_argument("--runs", type=int, help="so many, at random; all otherwise")
    p.add_argument("--case", choices=ALL, action="append")
    p.add_argument("--limits", action="store_true", help="limits of the address space at which plugins are loaded, alone")
    p.add_argument("--last", type=int, default=0, help="so many places of each case, the last ones, alone")
    p.add_argument("--near", action="append", default=[], metavar="CASE:FUNCTION", type=lambda text: tuple(text.split(":")),
                   help="places of a case alone that this function of the program or a plugin reaches by a few calls, each once")
    p.add_argument("--told", action="append", default=[], metavar="CASE:FUNCTION[:BUT]", type=lambda text: tuple(text.split(":")),
                   help="as --near, and none of them but those that BUT reaches may do without the memory: the command ends "
                        "with a sentence")
    p.add_argument("--no-leaks", action="store_true", help="goes on where there is no leak sanitizer")
    given = p.parse_args()
    tally = Tally("alloc", given)
    with tempfile.TemporaryDirectory(prefix="tutti_alloc_") as top:
        runs = Allocations(given, top)
        trials = []
        near = given.near + [row[:2] for row in given.told]
        for name in given.case or dict(near) or ALL:
            lines = runs.listed_or_skipped(tally, name)[-given.last:]
            if not lines:
                continue
            if near:
                for case, function, *but in given.told:
                    told = set(runs.near(lines, [function])) - set(runs.near(lines, but)) if case == name else ()
                    runs.must_tell |= {(name, f"one {line.split()[0]}") for line in told}
                lines = runs.near(lines, [function for case, function in near if case == name])
            places = sorted({int(line.split()[0]) for line in lines})  # those of children may have one number
            tally.add("places", len(places))
            trials += [(name, f"{how} {n}") for n in places for how in (("one",) if near else ("one", "from"))]
            if name in LIMITED and not near:
                trials += [(name, f"limit {kib}") for kib in range(48 << 10, 128 << 10, 256)]
        if given.limits:
            trials = [(name, f"limit {kib}") for name in given.case for kib in range(52 << 10, 74 << 10, 112)]
        each(tally, runs.trial, mixed(trials, given.seed)[:given.runs])
        struck = tally.values.get("told", 0) + tally.values.get("survived", 0)
        if given.limits and struck < len(trials) / STRUCK:
            tally.fail(f"only {struck} of {len(trials)} limits left the program its first line: want 1 in {STRUCK}")
    return tally.finish()


sys.exit(main())
