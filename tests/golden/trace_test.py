"""trace_test.py - what small runs ask of the CUDA runtime, step by step, against what is kept here.

usage: trace_test.py BUILD [--renew]

Runs every <name>.json beside this file on the stand-in of a GPU and compares the calls from the first
graph that is gathered to the last update with <name>.trace; memory and events are numbered as they come.
--renew writes the .trace files anew: look at their difference before you commit it.
"""
import difflib
import os
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
SKIPPED = 77


def renumber(lines):
    """Memory is m1, m2 ..., wherever in it, and events are numbered in the order in which they are named."""
    seen = {}

    def name(match):
        kind = match[1]
        count = sum(key[0] == kind for key in seen)
        return kind + str(seen.setdefault((kind, match[2]), count + 1))
    return [re.sub(r"\b(m|event )(\d+)(?:\+\d+)?", name, line) for line in lines]


def steps(lines):
    """From the first graph to the last launch of all; what comes behind is cleaning up."""
    first = next(k for k, line in enumerate(lines) if line.startswith("capture begins"))
    last = max(k for k, line in enumerate(lines) if line.startswith("launch "))
    return renumber(lines[first:last + 1])


def traced(build, run):
    with tempfile.TemporaryDirectory() as folder:
        trace = pathlib.Path(folder) / "trace"
        env = dict(os.environ, LD_LIBRARY_PATH=str(build / "standin"), TUTTI_CUDA_TRACE=str(trace),
                   TUTTI_CUDA_STANDIN="leaks=1", TUTTI_TUNE="0")
        done = subprocess.run([build / "tutti", "train", run, "--device", "cuda"], env=env, cwd=folder,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode:
            sys.exit(f"{run.name} ended with {done.returncode}:\n{done.stdout[-2000:]}")
        return steps(trace.read_text().splitlines())


def main():
    build, renew = pathlib.Path(sys.argv[1]).resolve(), "--renew" in sys.argv[2:]
    if not (build / "standin" / "libcudart.so.13").exists():
        print("skipped: the stand-in is not built")
        return SKIPPED
    failed = 0
    for run in sorted(HERE.glob("*.json")):
        golden, got = run.with_suffix(".trace"), traced(build, run)
        if renew:
            golden.write_text("\n".join(got) + "\n")
        want = golden.read_text().splitlines()
        for line in difflib.unified_diff(want, got, golden.name, "now", lineterm=""):
            failed = 1
            print(line)
    if failed:
        print("if that is meant: python3 tests/golden/trace_test.py BUILD --renew")
    return failed


sys.exit(main())
