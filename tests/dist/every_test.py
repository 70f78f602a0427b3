"""every_test.py - every plugin trains to the bits of one process: every_test.py TUTTI [--every] [KIND[:NAME]]...

Without a name each algorithm trains as a world of 2.  With --every all kinds do, as worlds of 2 and 3, and in 16 bits.
"""
# SPDX-License-Identifier: Apache-2.0
import concurrent.futures
import json
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile

import every_cases
from every_cases import KINDS, cases, used
from ranks import Report, World, final, write

kill_cases = every_cases.kill_cases
CLOCKS = ("time/", "throughput/", "memory/", "wall_clock/", "cpu_", "disk_", "network_")  # what the log has of a run's pace and machine


def rows(folder):
    """What the log has of the run, without clocks and what is of the ranks."""
    found = []
    with open(os.path.join(folder, "runs/ranks/log.jsonl"), encoding="utf-8") as f:
        for row in map(json.loads, f):
            row.pop("time")
            if row["kind"] == "metrics":
                row["values"] = {name: value for name, value in row["values"].items() if not name.startswith(CLOCKS)}
                found += [(row["batch"], name, value) for name, value in row["values"].items()]
            elif row["kind"] in ("table", "images"):
                found.append((row["batch"], row["name"], row))
            elif row["kind"] == "message" and row["component"] == "generate":
                found.append((0, row["component"], row["text"]))
    return found


def difference(a, b):
    """What two folders differ in, as text; "" when in nothing."""
    left, right = final(a), final(b)
    names = sorted(name for name in left.keys() | right.keys() if left.get(name) != right.get(name) and not name.endswith("_ns"))
    if names:
        return f"{len(names)} of {len(left)} tensors differ, such as {names[:3]}"
    left, right = rows(a), rows(b)
    if not left:
        return "nothing is logged"
    differ = [(one, other) for one, other in zip(left, right) if one != other]
    if differ or len(left) != len(right):
        return f"{len(left)} and {len(right)} rows of the log, of which {len(differ)} differ, such as {str(differ[:1])[:300]}"
    return ""


def train(tutti, where, run, size):
    """Trains in a new folder; what became of it, as text, "" when it ended well."""
    write(where, run)
    status, out, err = World(tutti, where, size).end(240)
    if any(status):
        return f"{status} {err}"
    told = [rank for rank in range(size) if out[rank]]
    return "" if told == [0] else f"the ranks {told} speak"


def compare(tutti, top, name, run, sizes):
    """[(what, text)] of one run: "" where a world has the bits of one."""
    folder = pathlib.Path(top) / re.sub(r"\W", "_", name)
    folder.mkdir()
    kill_cases.write_data(folder, run)
    if "load_checkpoint" in str(run):
        text = train(tutti, folder / "before", run | {"callbacks": [every_cases.SAVER]}, 1)
        shutil.copy(folder / "before/runs/ranks/checkpoints/latest.safetensors", folder / "weights.safetensors")
    text = train(tutti, folder / "1", run, 1)
    if text:
        return [(f"{name}, 1 rank", text)]
    found = []
    for size in sizes:
        text = train(tutti, folder / str(size), run, size) or difference(folder / "1", folder / str(size))
        found.append((f"{name}, {size} ranks: the bits of one", text))
    shutil.rmtree(folder)
    return found


def missing(tutti):
    """A sentence for each plugin of `tutti plugins list` that is in no run."""
    listed = subprocess.run([tutti, "plugins", "list"], capture_output=True, text=True, check=True).stdout
    known = {(kind, name) for kind, name in re.findall(r"[:,] (\w+) (\w+)", listed) if kind in KINDS}
    tried = {one for runs in cases().values() for run in runs.values() for one in used(run)}
    return [f"no run has the {kind} {name}" for kind, name in sorted(known - tried)]


def chosen(words, every):
    """[(name, run, sizes)] of what is asked for."""
    found = []
    for kind, runs in cases().items():
        for name, run in runs.items():
            if not words and not every and kind != "algorithm" or words and not {kind, f"{kind}:{name}"} & set(words):
                continue
            found.append((f"{kind} {name}", run, (2, 3) if every else (2,)))
            if every and kind in ("algorithm", "model"):
                found += [(f"{kind} {name} {precision}", run | {"precision": precision}, (3,))
                          for precision in ("amp_bf16", "amp_fp16") if run.get("precision") != precision]
    return found


def main():
    words = [word for word in sys.argv[2:] if word != "--every"]
    tutti, every, report = os.path.abspath(sys.argv[1]), "--every" in sys.argv, Report()
    if not words:
        report.check("every plugin is in a run", not missing(tutti), "; ".join(missing(tutti)))
    work = chosen(words, every)
    with tempfile.TemporaryDirectory() as top, concurrent.futures.ThreadPoolExecutor(os.cpu_count() if every else 1) as pool:
        for found in pool.map(lambda one: compare(tutti, top, *one), work):
            for what, text in found:
                report.check(what, not text, text)
    return 1 if report.failed else 0


if __name__ == "__main__":
    sys.exit(main())
