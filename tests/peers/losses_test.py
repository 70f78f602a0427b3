"""losses_test.py TUTTI NET - runs with an algorithm, and with two, lose what Composer's do.

losses.json has Composer's answers (record_losses.py), null where it cannot do a pair; both sides start from the
weights and data of nets.py."""
# SPDX-License-Identifier: Apache-2.0
import concurrent.futures
import json
import math
import os
import pathlib
import struct
import subprocess
import sys
import tempfile

import twin
from nets import CLASSES, NETS
from written import npy, safetensors

TUTTI, NET = sys.argv[1], NETS[sys.argv[2]]()
IDLE = ("low_precision_groupnorm", "low_precision_layernorm")  # in f32, on either side: Composer has no other precision on a CPU
TOLERANCE = 4e-3  # of nine steps in f32, whose sums have an order of each CPU's own; all but one pair are within 1e-3


def head(folder):
    """The first numbers of the net's head in the run's last checkpoint."""
    with open(next(folder.glob("saves/*ba9*")), "rb") as f:
        size = struct.unpack("<Q", f.read(8))[0]
        header = json.loads(f.read(size))
        f.seek(8 + size + header[f"model.{NET.head}"]["data_offsets"][0])
        return list(struct.unpack("<8f", f.read(32)))


def run_file(names):
    source = {"dataset": {"name": "npy", "inputs": "../x.npy", "targets": "../y.npy", "classes": CLASSES[NET.name]},
              "transforms": NET.transforms, "batch_size": twin.BATCH, "workers": 1}
    return {"name": "twin", "seed": twin.SEED, "model": NET.model, "train": source | {"shuffle": False},
            "eval": [source | {"interval": f"{twin.EPOCHS}ep", "metrics": [{"name": NET.metric}]}],
            "optimizer": {"name": "sgd", "lr": NET.rate, "momentum": twin.MOMENTUM},
            "load_weights": "../first.safetensors", "load_strict": False,
            "max_duration": f"{twin.EPOCHS}ep", "threads": 1, "loggers": [{"name": "jsonl", "filename": "log.jsonl"}],
            "order": "upstream", "algorithms": [{"name": n} | NET.algorithms[n] for n in names],
            "callbacks": [{"name": "checkpoint_saver", "folder": "saves", "interval": "9ba"}]}


def train(root, names):
    folder = root / ("_".join(names) or "none")
    folder.mkdir()
    (folder / "run.json").write_text(json.dumps(run_file(names)))
    done = subprocess.run([TUTTI, "train", "run.json"], cwd=folder, capture_output=True, text=True, check=False,
                          env=os.environ | {"TUTTI_TUNE": "0"})
    if done.returncode:
        return done.stderr
    rows = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
    values = [r["values"] for r in rows if r["kind"] == "metrics"]
    key = f"metrics/eval/{NET.metric}"
    return {"losses": [v["loss/train/total"] for v in values if "loss/train/total" in v],
            "eval": next(v[key] for v in reversed(values) if key in v), "head": head(folder)}


def apart(names, ours, theirs):
    """How far two answers are from each other, at most; infinity where they have not as many numbers."""
    first = min((NET.brief[n] for n in names if n in NET.brief), default=None)
    a, b = ([*x["losses"][:first], *([] if first else [x["eval"], *x["head"]])] for x in (ours, theirs))
    return max(abs(x - y) for x, y in zip(a, b)) if len(a) == len(b) else math.inf


def fault(names, ours, theirs):
    """What is wrong with the answers of a run, or ""."""
    if isinstance(ours, str):
        return ours
    gap = apart(names, ours, theirs) if theirs else 0.0
    if names in NET.differ:
        return "" if gap > TOLERANCE else "is upstream's now: docs/differences.md"
    return f"{gap:.3g} apart:\n  {ours}\n  {theirs}" if gap > TOLERANCE else ""


def main():
    recorded = json.loads(pathlib.Path(__file__).with_name("losses.json").read_text())
    answers, runs = recorded[NET.name], NET.runs
    with tempfile.TemporaryDirectory() as name:
        root = pathlib.Path(name)
        for file, array in NET.arrays.items():
            npy(root / file, *array)
        safetensors(root / "first.safetensors", {f"model.{name}": w for name, w in NET.weights.items()})
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            ours = list(pool.map(lambda r: train(root, r), runs))
    faults = [f"FAILED: {' and '.join(r) or 'no algorithm'}: {f}" for r, o in zip(runs, ours)
              if (f := fault(r, o, answers[" ".join(r)]))]
    faults += [f"FAILED: {' and '.join(names)} differ on purpose, and are not run" for names in NET.differ - set(runs)]
    plain = {r: (o, answers[" ".join(r)]) for r, o in zip(runs, ours)}
    faults += [f"FAILED: {name} changes something in f32" for name in IDLE if name in NET.algorithms and plain[(name,)] != plain[()]]
    print("\n".join(faults))
    print(f"{NET.name}: {len(runs)} runs, {len(faults)} not as {recorded['from']} has them, "
          f"{sum(a is None for a in answers.values())} that it cannot do")
    return len(faults) > 0


sys.exit(main())
