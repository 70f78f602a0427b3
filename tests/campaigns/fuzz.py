"""fuzz.py FUZZERS [--corpus DIR] [--seconds N] [--hours H] [--target NAME] [--memory] - libFuzzer on all that others wrote.

FUZZERS is the build folder that tools/campaign makes. Each fuzzer in turn begins with its seeds (tests/fuzz/seeds.py)
and with what earlier turns and campaigns have found (DIR/NAME, corpus/ in FUZZERS without --corpus), knows the words of
the schemas, and goes on for N seconds; with --hours they take turns. An input that reaches code that no other one does
is kept in DIR/NAME; in the end those are dropped whose code others reach too. An input that fails is kept in crashes/.
Those with json_mutator.h also tell how many mutants were read as JSON, and how many taken: NAME_read, NAME_taken.

--memory says that the fuzzers of FUZZERS have the memory sanitizer, which finds what is read before it is written: their
tally is of a campaign of its own, `fuzz_memory`.
"""
# SPDX-License-Identifier: Apache-2.0
import hashlib
import os
import pathlib
import re
import subprocess
import sys
import tempfile

from campaign import Tally, parser

TREE = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(TREE / "tests/fuzz"))
import seeds  # noqa: E402

DEFAULT_SECONDS = 60
PLUGINS = TREE / "build/release/lib/tutti/plugins"


def words():
    """A dictionary of the keys and words that the schemas and manifests have."""
    found = set()
    for text in seeds.files("sdk/schema/*.json", "plugins/*/*/plugin.json"):
        found |= set(re.findall(rb'"([a-z_0-9./]{2,32})"', text))
    return b"\n".join(b'"' + word + b'"' for word in sorted(found)) + b"\n"


def count(pattern, text, default=0):
    """The last number that the pattern finds."""
    found = re.findall(pattern, text)
    return int(found[-1]) if found else default


def digest(path):
    return hashlib.sha256(path.read_bytes()).digest()


class Fuzzers:
    """The programs, what they begin with and what they have found."""

    def __init__(self, folder, corpus, top):
        self.folder = folder
        self.corpus = corpus
        self.top = pathlib.Path(top)
        self.dictionary = self.top / "words.dict"
        self.dictionary.write_bytes(words())
        self.crashes = folder / "crashes"
        self.crashes.mkdir(exist_ok=True)

    def names(self):
        return sorted(path.name[5:] for path in (self.folder / "tests/fuzz").glob("fuzz_*") if path.is_file())

    def found(self, name):
        """The folder of what campaigns have found."""
        path = self.corpus / name
        path.mkdir(parents=True, exist_ok=True)
        return path

    def seeds(self, name):
        seeds.write(self.top, name)
        return self.top / name

    def start(self, name, *arguments):
        command = [self.folder / "tests/fuzz" / f"fuzz_{name}", *arguments, f"-max_len={seeds.limit(name)}", "-timeout=20",
                   "-rss_limit_mb=4096", f"-artifact_prefix={self.crashes}/{name}-"]
        return subprocess.run(command, capture_output=True, text=True, errors="replace", check=False,
                              env=os.environ | {"TUTTI_PLUGIN_PATH": str(PLUGINS), "ASAN_OPTIONS": "detect_leaks=1",
                                                "TUTTI_FUZZ_TELL": "1"})

    def run(self, name, seconds, number, tally):
        """A turn of one fuzzer."""
        done = self.start(name, self.found(name), self.seeds(name), f"-max_total_time={seconds}", f"-dict={self.dictionary}",
                          f"-seed={number}", "-print_final_stats=1")
        inputs = count(r"stat::number_of_executed_units:\s+(\d+)", done.stderr)
        begun, reached = count(r"INITED cov: (\d+)", done.stderr), count(r"cov: (\d+)", done.stderr)
        tally.add(f"{name}_inputs", inputs)
        tally.values[f"{name}_coverage"] = reached
        print(f"{name}: {inputs} inputs, cov: {reached} edges, {begun} at the start", flush=True)
        told = re.search(r"^mutants: (\d+), read: (\d+), taken: (\d+)$", done.stderr, re.MULTILINE)
        if told:  # of those with JSON, json_mutator.h
            for what, n in zip(("mutants", "read", "taken"), map(int, told.groups())):
                tally.add(f"{name}_{what}", n)
            print(f"{name}: of {told[1]} mutants {told[2]} were read as JSON, {told[3]} taken", flush=True)
        if done.returncode:
            tally.fail(f"{name}: {done.stderr[-3000:]}")

    def minimise(self, name, tally):
        """Drops of what was found all that reaches no more than the seeds and the rest; what crashes stays."""
        found, kept = self.found(name), self.seeds(name)
        before, begun = list(found.iterdir()), set(map(digest, kept.iterdir()))
        done = self.start(name, "-merge=1", kept, found)
        if done.returncode or "MERGE-OUTER: crashed" in done.stderr:
            tally.fail(f"{name}: what it has found cannot be run again: {done.stderr[-3000:]}")
            return
        wanted = set(map(digest, kept.iterdir())) - begun
        for path in before:
            if digest(path) not in wanted:
                path.unlink()
        left = len(list(found.iterdir()))
        tally.values[f"{name}_corpus"] = left
        print(f"{name}: {left} of {len(before)} inputs are kept in {found}", flush=True)


def main():
    p = parser(__doc__, first="fuzzers")
    p.add_argument("--corpus", metavar="DIR",
                   help="keeps inputs that reach new code, and goes on from those there; a relative path is one of the tree")
    p.add_argument("--seconds", type=int, default=DEFAULT_SECONDS, help="of each turn")
    p.add_argument("--target", action="append")
    p.add_argument("--memory", action="store_true", help="the fuzzers that call no foreign library, with the memory sanitizer")
    given = p.parse_args()
    folder = pathlib.Path(given.fuzzers).resolve()
    corpus = pathlib.Path(given.corpus).resolve() if given.corpus else folder / "corpus"
    tally = Tally("fuzz_memory" if given.memory else "fuzz", given)
    with tempfile.TemporaryDirectory(prefix="tutti_fuzz_") as top:
        fuzzers = Fuzzers(folder, corpus, top)
        names = given.target or fuzzers.names()
        if not names or set(names) - set(fuzzers.names()):
            sys.exit(f"fuzz: {folder} has no fuzzer {' or '.join(names)}, but {', '.join(fuzzers.names()) or 'none'}")
        number = given.seed
        while names:
            for name in names:
                fuzzers.run(name, given.seconds, number % (1 << 31), tally)
            number += 1
            if given.hours is None or tally.is_over():
                break
        for name in names:
            fuzzers.minimise(name, tally)
    return tally.finish()


sys.exit(main())
