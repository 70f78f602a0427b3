#!/usr/bin/env python3
"""tidy.py - clang-tidy over every source of the build, each only when it or a header that it reads is new.

Run from the root with TUTTI_BUILD set. A verdict "clean" is kept in the build folder under the hash of the command, of
the source, of the headers that the build's last compilation of it has read, and of .clang-tidy.
"""
import concurrent.futures
import functools
import hashlib
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys

# The analyzer looks less far into calls: a fifth of the time, and the sanitizer builds run the calls.
DEPTH = [f"--extra-arg={word}" for word in ("-Xclang", "-analyzer-config", "-Xclang", "mode=shallow",
                                            "-Wno-unused-command-line-argument")]
APART = ("tests/fixtures/", "tests/check/wicked.c", "tests/campaigns/", "tests/fuzz/")  # broken on purpose; for another compiler


def headers_of_objects(build):
    """{object: files that its compilation has read}, as ninja keeps them."""
    told = subprocess.run(["ninja", "-C", build, "-t", "deps"], capture_output=True, text=True, check=False).stdout
    found, object_ = {}, None
    for line in told.splitlines():
        if line.startswith(" "):
            found[object_].append(line.strip())
        elif ": #deps" in line and "(VALID)" in line:
            object_ = line.split(": #deps")[0]
            found[object_] = []
        else:
            object_ = "none"
            found[object_] = []
    return found


@functools.lru_cache(maxsize=None)
def hash_of(path):
    """Of a file's bytes, its NOLINT comments too."""
    return hashlib.sha256(path.read_bytes()).digest()


def sees(entry, headers):
    """Hash of all that a compiler reads; None where no compilation has told."""
    words = shlex.split(entry["command"])
    read = headers.get(words[words.index("-o") + 1])
    if not read:
        return None
    folder, seen = pathlib.Path(entry["directory"]), hashlib.sha256(" ".join(w for w in words if not w.endswith("ccache")).encode())
    for path in sorted({folder / entry["file"], *(folder / name for name in read)}):
        if not path.exists():  # removed since
            return None
        seen.update(hash_of(path))
    return seen.digest()


def judge(entry, build, salt, headers):
    """What is wrong with one source, as lines; nothing when it is clean."""
    seen = sees(entry, headers)
    mark = build / "tidy" / hashlib.sha256(salt + (seen or b"")).hexdigest()
    if seen and mark.exists():
        return []
    run = subprocess.run(["clang-tidy", "--quiet", *DEPTH, "-p", str(build), entry["file"]],
                         capture_output=True, text=True, check=False)
    lines = [line for line in run.stdout.splitlines() if re.search(r"(warning|error):", line)]
    if seen and run.returncode == 0 and not lines:
        mark.touch()
    return lines or ([] if run.returncode == 0 else [f"{entry['file']}: {run.stderr.strip()}"])


def main():
    build = pathlib.Path(os.environ["TUTTI_BUILD"])
    commands = build / "compile_commands.json"
    if not shutil.which("clang-tidy") or not commands.exists():
        print("skipped: no clang-tidy or no compile commands")
        return 77
    version = subprocess.run(["clang-tidy", "--version"], capture_output=True, text=True, check=False).stdout
    if "version 14." not in version:
        print("skipped: another clang-tidy than 14, by whose checks the sources are clean")
        return 77
    entries = json.loads(commands.read_text(encoding="utf-8"))
    if any(re.search(r"-fsanitize=(address|thread)", e["command"]) for e in entries):
        print("skipped: a sanitizer build")
        return 77
    root = pathlib.Path.cwd()
    apart = ("../", os.path.relpath(build, root) + "/") + APART # neither ours nor what was generated
    mine = {}
    for e in entries:
        name = os.path.relpath(e["file"], root)
        if name.endswith(".c") and not name.startswith(apart):
            mine.setdefault(name, e)
    version = subprocess.run(["clang-tidy", "--version"], capture_output=True, check=True).stdout
    salt = version + " ".join(DEPTH).encode() + pathlib.Path(".clang-tidy").read_bytes()
    (build / "tidy").mkdir(exist_ok=True)
    headers = headers_of_objects(build)
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        faults = [line for lines in pool.map(lambda e: judge(e, build, salt, headers), mine.values())
                  for line in lines]
    for line in sorted(set(faults)):
        print(line)
    print(f"{len(mine)} sources")
    return 1 if faults or not mine else 0


sys.exit(main())
