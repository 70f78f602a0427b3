"""every_test.py - every plugin trains to the bits of one process: every_test.py TUTTI [--every] [--ranks N]...
[KIND | KIND:NAME]...

Without a name each algorithm, callback, data set and optimizer trains as a world of 2.  With --every
all kinds do, as worlds of 2 and 3, with sharded weights, from a save of one process on, and algorithms and models in 16
bits; a few as a world of 8.  With --ranks all do as worlds of so many instead, algorithms and models in 16 bits too.
"""
# SPDX-License-Identifier: Apache-2.0
import argparse
import concurrent.futures
import copy
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import every_folders
from every_cases import SAVER, cases, kill_cases, listed_as, missing, plugins, used
from ranks import Report, World, final, write

CLOCKS = ("time/", "throughput/", "memory/", "wall_clock/", "cpu_", "disk_", "network_")  # what a log has of pace and machine
REFUSED = every_folders.refused()
LATEST = "runs/ranks/checkpoints/latest.safetensors"
QUICK = ("algorithm", "callback", "dataset", "optimizer")
# (what, ranks, "sharding", whether they go on from a save of one process)
TWO = ("2 ranks", 2, "none", False)
# What is not logged where its state is sharded, as the run says.
LEFT_OUT = {"weights": "l2_norm/moment"}
# State of files in a run's folder, which is another one where a run goes on here.
OF_FOLDER = {"callback.mlperf.mark"}
MANY = [TWO, ("3 ranks", 3, "none", False), ("weights in 3 shards", 3, "weights", False), ("2 ranks go on", 2, "none", True)]
EIGHT = ("8 ranks", 8, "none", False)
OF_EIGHT = {("algorithm", "mixup"), ("algorithm", "selective_backprop"), ("callback", "activation_monitor"),
            ("dataset", "documents"), ("metric", "of classes")}


def rows(folder):
    """What the log has of the run but clocks: numbers, tables, images, generated texts."""
    found = []
    with open(os.path.join(folder, "runs/ranks/log.jsonl"), encoding="utf-8") as f:
        for row in map(json.loads, f):
            row.pop("time")
            if row["kind"] == "metrics":
                found += [(row["batch"], name, value) for name, value in row["values"].items() if not name.startswith(CLOCKS)]
            elif row["kind"] in ("table", "images"):
                found.append((row["batch"], row["name"], row))
            elif row["kind"] == "message" and row["component"] == "generate":
                found.append((0, row["component"], row["text"]))
    return found


def written(folder):
    """What a run writes beside its own folder that holds neither clocks nor the ranks' number."""
    return {path.name: path.read_bytes() for path in pathlib.Path(folder).glob("*.onnx")}


def difference(a, b, resumed, left_out=None):
    """What two folders differ in, as text; "" when in nothing.  A run that goes on has the last rows of the log alone."""
    left, right = final(a), final(b)
    names = sorted(name for name in left.keys() | right.keys() if left.get(name) != right.get(name) and not name.endswith("_ns") and
                   not (resumed and name in OF_FOLDER))
    if names:
        return f"{len(names)} of {len(left)} tensors differ, such as {names[:3]}"
    left, right = rows(a), rows(b)
    left = [row for row in left if not left_out or not row[1].startswith(left_out)]
    left = left[-len(right):] if resumed else left
    differ = [pair for pair in zip(left, right) if pair[0] != pair[1]]
    if not right or differ or len(left) != len(right):
        return f"{len(left)} and {len(right)} rows of the log, of which {len(differ)} differ, such as {str(differ[:1])[:300]}"
    return "" if written(a) == written(b) else f"files differ: {list(written(a))} and {list(written(b))}"


def unlogged(folder, run):
    """The metrics of a run that its log has no number of."""
    logged = {str(row[1]).split("/")[2] for row in rows(folder) if str(row[1]).startswith("metrics/")}
    wanted = [name for kind, name in sorted(used(run)) if kind == "metric"]
    return ", ".join(name for name in wanted if not any(one.startswith(name) for one in logged))


def train(tutti, where, run, size, options=()):
    """Trains in a new folder; what became of it, as text, "" when it ended well and rank 0 alone has spoken."""
    write(where, run)
    status, out, err = World(tutti, where, size, options).end(240)
    if any(status):
        return f"{status} {err}"
    told = [rank for rank in range(size) if out[rank]]
    return "" if told == [0] else f"the ranks {told} speak"


def compare(tutti, top, name, run, worlds):
    """[(what, text)] of one run: "" where a world has the bits of one, or refuses as REFUSED has it."""
    kind, _, plugin = name.partition(" ")
    folder = pathlib.Path(top) / re.sub(r"\W", "_", name)
    folder.mkdir()
    kill_cases.write_data(folder, run)
    text = ""
    if "../weights.safetensors" in str(run):
        text = train(tutti, folder / "before", run | {"callbacks": [SAVER]}, 1)
        shutil.copy(folder / "before" / LATEST, folder / "weights.safetensors")
    text = text or train(tutti, folder / "1", run, 1)
    if text:
        return [(f"{name}, 1 rank", text)]
    found = [(f"{name}: all metrics are logged", text) for text in [unlogged(folder / "1", run)] if text]
    saved = list(folder.glob("1/runs/ranks/checkpoints/ep*-ba4.safetensors"))
    for what, size, sharding, resumed in worlds:
        if resumed and not saved:  # a run that was stopped before
            continue
        where, here = folder / what.replace(" ", "_"), copy.deepcopy(run)
        here["distributed"]["sharding"] = sharding
        options = ["--resume", str(saved[0])] if resumed else []
        text = train(tutti, where, here, size, options)
        refused = REFUSED.get((kind, plugin, sharding))
        if refused:
            found.append((f"{name}, {what}: refused", "" if refused in text else text or "it trains"))
        else:
            text = text or difference(folder / "1", where, resumed, LEFT_OUT.get(sharding))
            found.append((f"{name}, {what}: the bits of one", text))
    shutil.rmtree(folder)
    return found


def for_ranks(run, ranks):
    """With as many slots as the largest world has ranks, so that none of them waits."""
    least = max(1, run["train"]["batch_size"] // max(ranks, default=1))
    return run | {"microbatch_size": min(run["microbatch_size"], least)}


def chosen(words, every, ranks):
    """[(name, run, worlds)] of what is asked for."""
    found, whole = [], every or ranks
    sizes = [(f"{n} ranks", n, "none", False) for n in ranks]
    for kind, runs in cases().items():
        for name, run in runs.items():
            if words and not {kind, f"{kind}:{name}"} & set(words) or not words and not whole and kind not in QUICK:
                continue
            run = for_ranks(run, ranks)
            worlds = sizes or (MANY + [EIGHT] * ((kind, name) in OF_EIGHT) if every else [TWO])
            found.append((f"{kind} {name}", run, worlds))
            if whole and kind in ("algorithm", "model"):
                found += [(f"{kind} {name}, {precision}", run | {"precision": precision}, sizes or MANY[1:2])
                          for precision in ("amp_bf16", "amp_fp16") if run.get("precision") != precision]
    return found


def buildable(tutti, top, listed, work, report):
    """Without the runs for which this build lacks a plugin or a library, which are skipped."""
    lacks = [] if kill_cases.has_tokenizers(tutti, pathlib.Path(top)) else kill_cases.TOKENIZED
    kept = []
    for name, run, worlds in work:
        others = [" ".join(one) for one in sorted(used(run) - plugins(listed))]
        others += ["PCRE2 or utf8proc"] * any(one in lacks for _, one in used(run))
        if others:
            report.skip(f"{name}: this build lacks {', '.join(others)}")
        else:
            kept.append((name, run, worlds))
    return kept


def discover(report, top):
    """A new plugin has a run without a word elsewhere: its defaults, or what its folder says."""
    root, plain = pathlib.Path(top) / "found", listed_as("callbacks")
    files = {"plain": {}, "checked": {"check.json": {"eval": []}},
             "both": {"check.json": {"eval": []}, "ranks.json": {"seed": 1}}, "served": {"ranks.json": {"no_run": "a server"}},
             "whole": {"ranks.json": {"refused": {"weights": "no"}}}}
    for name, texts in files.items():
        folder = root / "callbacks" / name
        folder.mkdir(parents=True)
        for file, members in (texts | {"plugin.json": {"objects": [{"kind": "callback", "name": name}]}}).items():
            (folder / file).write_text(json.dumps(members), encoding="utf-8")
    want = {"plain": plain("plain"), "checked": plain("checked") | {"eval": []}, "both": plain("both") | {"seed": 1},
            "whole": plain("whole")}
    found = every_folders.each("callback", plain, root)
    report.check("new plugins have a run by their folders", found == want, f"{found}")
    found = every_folders.told("no_run", root)
    report.check("a folder says why there is none", found == {("callback", "served"): "a server"}, f"{found}")


def main():
    options = argparse.ArgumentParser()
    options.add_argument("tutti", type=os.path.abspath)
    options.add_argument("--every", action="store_true")
    options.add_argument("--ranks", type=int, action="append", default=[])
    options.add_argument("words", nargs="*")
    given, report = options.parse_intermixed_args(), Report()
    tutti, words, every = given.tutti, given.words, given.every or bool(given.ranks)
    listed = subprocess.run([tutti, "plugins", "list"], capture_output=True, text=True, check=True).stdout
    report.check("every plugin is in a run", not missing(listed), "; ".join(missing(listed)))
    found = missing(listed + "org.example.mine 1.0.0: algorithm mine")
    want = ["no run of every_cases.py has the algorithm mine: want a resume.json in its folder"]
    report.check("one that is in none is told", found == want, f"{found}")
    with tempfile.TemporaryDirectory() as top, concurrent.futures.ThreadPoolExecutor(os.cpu_count() if every else 1) as pool:
        discover(report, top)
        work = chosen(words, given.every, given.ranks)
        for found in pool.map(lambda one: compare(tutti, top, *one), buildable(tutti, top, listed, work, report)):
            for what, text in found:
                report.check(what, not text, text)
    report.check("something was asked for that is there", bool(work), f"{words}")
    return report.status()


if __name__ == "__main__":
    sys.exit(main())
