"""losses_test.py - runs with an algorithm, and with two, lose what Composer's do: losses_test.py TUTTI.

losses.json has Composer's answers (record_losses.py); both start from twin.py's weights and data."""
# SPDX-License-Identifier: Apache-2.0
import array
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

TUTTI = sys.argv[1]
TOLERANCE = 1e-3  # of nine steps in f32, whose sums have an order of each CPU's own; 2e-4 where it was recorded


def npy(path, kind, shape, values):
    header = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}}}"
    header += " " * (63 - (10 + len(header)) % 64) + "\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + values.tobytes())


def safetensors(path, tensors):
    header, data = {}, b""
    for name, (shape, values) in tensors.items():
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [len(data), len(data) + len(values) * 4]}
        data += values.tobytes()
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def head(folder):
    """The first numbers of the head's weight in the run's last checkpoint."""
    with open(next(folder.glob("saves/*ba9*")), "rb") as f:
        size = struct.unpack("<Q", f.read(8))[0]
        header = json.loads(f.read(size))
        f.seek(8 + size + header["model.head.weight"]["data_offsets"][0])
        return list(struct.unpack("<8f", f.read(32)))


def named(weight, names):
    """What the surgery of `names` calls a weight: it keeps what it puts another layer around."""
    layer, part = weight.rsplit(".", 1)
    strided = layer.startswith(("stage2", "stage3")) and layer.endswith((".conv1", "shortcut_conv"))
    if "blurpool" in names and strided:
        layer += ".conv"
    if "ghost_batchnorm" in names and "norm" in layer:
        layer += ".norm"
    return f"model.{layer}.{part}"


def train(root, names):
    folder = root / ("_".join(names) or "none")
    folder.mkdir()
    source = {"dataset": {"name": "npy", "inputs": "../x.npy", "targets": "../y.npy", "classes": twin.CLASSES},
              "batch_size": twin.BATCH, "workers": 1}
    run = {"name": "twin", "seed": 1, "model": {"name": "resnet_cifar", "depth": 8, "width": twin.WIDTHS[0], "shortcut": "conv"},
           "train": source | {"shuffle": False},
           "eval": [source | {"interval": f"{twin.EPOCHS}ep", "metrics": [{"name": "cross_entropy"}]}],
           "optimizer": {"name": "sgd", "lr": twin.RATE, "momentum": twin.MOMENTUM}, "load_weights": "first.safetensors",
           "max_duration": f"{twin.EPOCHS}ep", "threads": 1, "loggers": [{"name": "jsonl", "filename": "log.jsonl"}],
           "algorithms": [{"name": n} | twin.ALGORITHMS[n] for n in names],
           "callbacks": [{"name": "checkpoint_saver", "folder": "saves", "interval": "9ba"}]}
    safetensors(folder / "first.safetensors", {named(k, names): v for k, v in twin.weights().items()})
    (folder / "run.json").write_text(json.dumps(run))
    done = subprocess.run([TUTTI, "train", "run.json"], cwd=folder, capture_output=True, text=True, check=False,
                          env=os.environ | {"TUTTI_TUNE": "0"})
    if done.returncode:
        return done.stderr
    rows = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
    values = [r["values"] for r in rows if r["kind"] == "metrics"]
    return {"losses": [v["loss/train/total"] for v in values if "loss/train/total" in v],
            "eval": next(v["metrics/eval/cross_entropy"] for v in reversed(values) if "metrics/eval/cross_entropy" in v),
            "head": head(folder)}


def apart(ours, theirs):
    """How far two answers are from each other, at most; infinity where they have not as many numbers."""
    a, b = ([*x["losses"], x["eval"], *x["head"]] for x in (ours, theirs))
    return max(abs(x - y) for x, y in zip(a, b)) if len(a) == len(b) else math.inf


def main():
    recorded = json.loads(pathlib.Path(__file__).with_name("losses.json").read_text())
    failed = 0
    with tempfile.TemporaryDirectory() as name:
        root = pathlib.Path(name)
        images, classes = twin.data()
        npy(root / "x.npy", "<f4", (twin.SAMPLES, twin.SIDE, twin.SIDE, 1), images)
        npy(root / "y.npy", "<i4", (twin.SAMPLES,), array.array("i", classes))
        runs = [r for r in twin.RUNS if " ".join(r) in recorded["runs"]]
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            answers = list(pool.map(lambda r: train(root, r), runs))
    for names, ours in zip(runs, answers):
        theirs = recorded["runs"][" ".join(names)]
        gap = math.inf if isinstance(ours, str) else apart(ours, theirs)
        if names in twin.DIFFER and not isinstance(ours, str):
            if gap > TOLERANCE:
                continue
            print(f"{' and '.join(names)} is upstream's now: docs/differences.md")
        if names in twin.DIFFER or gap > TOLERANCE:
            failed += 1
            print(f"FAILED: {' and '.join(names) or 'no algorithm'}: {gap:.3g} from {recorded['from']}:\n  {ours}\n  {theirs}")
    print(f"{len(runs) - failed} of {len(runs)} runs are as recorded")
    return failed > 0 or len(runs) != len(twin.RUNS)


sys.exit(main())
