#!/usr/bin/env python3
"""skips.py - a test that skips something, all of it or a part, says why and counts as skipped.

Run from the root with TUTTI_BUILD set. A sentence begins with "skipped: " and is printed by what counts it: tutti_skip,
skip and skip_all of lib.sh, skip of a Report or a Tally. Where none is at hand 77 stands on its line or the next. Looks
for 77 without a sentence; for sentences by which a test goes on without a part in other words, or returns; for parts of
shell tests that a condition of the machine or the build leaves out; for tests of the build that ctest fails for 77.
"""
import json
import os
import pathlib
import re
import subprocess
import sys

from files import list_files

# Those that print the sentence and count it, and this one.
OWN = ("tests/include/tutti_check.h", "tests/e2e/lib.sh", "tests/dist/ranks.py", "tests/campaigns/campaign.py",
       "tests/lint/skips.py")
COUNTED = re.compile(r"\b77\b|SKIPPED|skipped")  # on the line of a sentence or the next
SENTENCE = re.compile(r"""["']skipped: """)
STATUS = re.compile(r"\bexit 77|\bexit\(77\)|\bSystemExit\(77\)|\breturn 77")
PRINT = re.compile(r"\b(?:print|puts|printf)\(|\becho ")
GOES_ON = re.compile(r"not tried|not compared|left out|without the \w+|not built|not installed|build lacks|which lacks")
RETURN = re.compile(r"\s*(?:return|continue)(?: 0)?$")
# What may be missing: a tool, a folder of the build or of data, a user's rights.
CONDITION = re.compile(r"( *)if (?:! )?((?:command -v \S+|\[ -[derx] \S+ \]|\[ \"\$\(id -u\)\" \S+ 0 \]).*?)"
                       r"(?: >/dev/null.*)?; then$")
SKIPS = re.compile(r"\bskip(_all)? |skipped")


def listed():
    """The sources of tests."""
    patterns = ["*_test.c", "tests/**.c", "tests/**.h", "*.sh", "*.py", ":!docs/walks/*"]
    return [name for name in list_files(*patterns) if name not in OWN]


def is_test(name):
    """Whether a file is run by ctest, or shared by such; others may say what they like."""
    return re.search(r"_test\.(c|sh|py)$", name) or name.startswith(("tests/campaigns/", "tests/dist/", "tests/lint/"))


def sentences(name, lines):
    """(number, fault) of each sentence of a skip that is not counted, and of 77 without one."""
    for k, line in enumerate(lines):
        if SENTENCE.search(line) and not COUNTED.search("".join(lines[k:k + 2]).replace("skipped: ", "")):
            yield k, "says that it skips and counts as passed; want tutti_skip, skip or skip_all"
        if STATUS.search(line) and not re.search("skipped: ", "".join(lines[max(0, k - 3):k + 1])):
            yield k, 'ends with 77 and says no "skipped: " with the reason'
        if is_test(name) and PRINT.search(line) and not SENTENCE.search(line) and \
                (GOES_ON.search(line) or name.endswith(".py") and RETURN.match(lines[k + 1] if k + 1 < len(lines) else "")):
            yield k, "goes on without a part and counts as passed; want tutti_skip, skip or skip_all"


def parts(name, lines):
    """(number, fault) of each part of a shell test that is left out without a word."""
    skipped = set()
    silent = {}
    for k, line in enumerate(lines):
        found = CONDITION.match(line) if name.endswith("_test.sh") else None
        if found:
            end = next((n for n in range(k, len(lines)) if lines[n] == f"{found[1]}fi"), k)
            if any(map(SKIPS.search, lines[max(0, k - 3):end])):
                skipped.add(found[2])
            else:
                silent[k] = found[2]
    for k, condition in silent.items():
        if condition not in skipped:
            yield k, f"leaves a part out without a word unless {condition}; want else, with skip"


def deaf(build):
    """The tests of a build that ctest takes for failed when they end with 77."""
    done = subprocess.run(["ctest", "--test-dir", build, "--show-only=json-v1"], capture_output=True, text=True, check=True)
    for test in json.loads(done.stdout)["tests"]:
        if not {"SKIP_RETURN_CODE", "SKIP_REGULAR_EXPRESSION"} & {one["name"] for one in test.get("properties", ())}:
            yield test["name"]


def main():
    """Prints the faults."""
    bad = 0
    for name in listed():
        lines = pathlib.Path(name).read_text(encoding="utf-8").splitlines()
        for number, fault in sorted({**dict(parts(name, lines)), **dict(sentences(name, lines))}.items()):
            print(f"{name}:{number + 1}: {fault}")
            bad += 1
    for name in deaf(os.environ["TUTTI_BUILD"]):
        print(f"the test {name} would fail where it skips; want SKIP_RETURN_CODE 77 among its properties")
        bad += 1
    return bad > 0


if __name__ == "__main__":
    sys.exit(main())
