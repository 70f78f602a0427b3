"""seeds_test.py PROGRAMS - each fuzzer has something to begin with, all of it small, and runs on it; PROGRAMS is their folder."""
# SPDX-License-Identifier: Apache-2.0
import pathlib
import subprocess
import sys
import tempfile

import seeds

MOST_KEPT = 100 << 10  # bytes of all that campaigns have found
LEAST = 2              # inputs of a fuzzer


def try_one(programs, top, name):
    """What is wrong with the inputs of a fuzzer; None: nothing."""
    count = seeds.write(top, name)
    different = {path.read_bytes() for path in (top / name).iterdir()}
    if len(different) < count or count < LEAST:
        return f"{len(different)} different ones of {count}, want {LEAST} or more, no one twice"
    done = subprocess.run([programs / f"fuzz_{name}", top / name], capture_output=True, text=True, errors="replace", check=False)
    if done.returncode or done.stdout != f"{count} inputs\n":
        return f"ends with {done.returncode} after {done.stdout!r}, want {count} inputs: {done.stderr[-2000:]}"
    return None


def main():
    programs = pathlib.Path(sys.argv[1])
    bad = []
    with tempfile.TemporaryDirectory(prefix="tutti_seeds_") as top:
        for name in seeds.names():
            try:
                why = try_one(programs, pathlib.Path(top), name)
            except ValueError as error:
                why = str(error).removeprefix(f"{name}: ")
            if why:
                bad.append(f"{name}: {why}")
    stray = [path.name for path in (seeds.HERE / "kept").glob("*") if path.stem not in seeds.names() or path.suffix != ".txt"]
    bytes_kept = sum(path.stat().st_size for path in (seeds.HERE / "kept").glob("*"))
    if stray or bytes_kept > MOST_KEPT:
        bad.append(f"kept/ has {bytes_kept} bytes, want at most {MOST_KEPT}; of no fuzzer: {stray}")
    print("\n".join(bad) or f"{len(seeds.names())} fuzzers begin with their seeds")
    return bool(bad) or not seeds.names()


sys.exit(main())
