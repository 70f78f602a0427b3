#!/usr/bin/env python3
"""published_out.py - folders that `tutti export --huggingface` writes, loaded by transformers: prints a table of how far
its logits are from those of `tutti predict`, and fails where that is more than 1e-4, or where transformers misses a
weight or does not know one.

Run by hand, in a virtual environment with torch, transformers and numpy:

    PEERS/bin/python tests/peers/published_out.py build/release/tutti [CASE...]

Each case begins with the folder that published.py or llama.py makes; tutti trains one batch of it, exports its
checkpoint, and exports the exported folder once more, which has to give the same bytes.
"""
import json
import logging
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import torch
import transformers
from safetensors.numpy import load_file

import llama
import published

LIMIT, SAMPLES = 1e-4, 2


def run(*words):
    done = subprocess.run([str(w) for w in words], capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, words))}\n{done.stderr}{done.stdout}")
    return done.stdout


def cases():
    """name: tutti's model, the kind of its data, a function that writes the folder."""
    def of_published(name, kind, model, config):
        return lambda folder: published.case(name, kind, model(config), folder)

    def of_llama(name, kind, config):
        return lambda folder: llama.case(name, kind, config, folder)

    ours = {"roberta": "bert"}
    for name, (kind, model, config) in {**published.CASES, **published.BY_HAND}.items():
        yield name, ours.get(config.model_type, config.model_type), kind, of_published(name, kind, model, config)
    for name, (kind, config) in llama.CASES.items():
        yield name, "llama", "tokens", of_llama(name, kind, config)


def data(kind):
    """Of which tutti reads npy files; targets are something to learn."""
    if kind == "image":
        x = published.batch("image").permute(0, 2, 3, 1).contiguous().numpy()
        return x, np.arange(SAMPLES) % published.CLASSES
    x = published.batch("tokens").numpy().astype("i4")
    return x, x.copy() if kind == "tokens" else np.arange(SAMPLES) % published.CLASSES


def run_file(name, kind, start):
    model = {"name": name}
    if kind != "tokens":
        model["num_labels" if name == "bert" else "num_classes"] = published.CLASSES
    side = {"dataset": {"name": "npy", "inputs": "x.npy", "targets": "y.npy"}, "batch_size": SAMPLES, "workers": 1}
    return {"name": "run", "model": model, "train": side, "eval": [{"label": "all", **side}],
            "optimizer": {"name": "sgd", "lr": 0.01}, "max_duration": "1ba", "load_weights": start,
            "callbacks": [{"name": "checkpoint_saver", "folder": "saves", "interval": "1ep"}]}


def theirs(folder, kind):
    """Logits; every weight must have come from the file, and every tensor of it must have gone somewhere."""
    config = transformers.AutoConfig.from_pretrained(folder)
    model, told = getattr(transformers, config.architectures[0]).from_pretrained(folder, output_loading_info=True)
    odd = {k: v for k, v in told.items() if v and not all("num_batches_tracked" in str(x) for x in v)}
    if odd:
        sys.exit(f"{folder}: {odd}")
    with torch.no_grad():
        return model.eval()(published.batch(kind)).logits.numpy()


def same(a, b):
    one, two = load_file(a / "model.safetensors"), load_file(b / "model.safetensors")
    return one.keys() == two.keys() and all(one[k].tobytes() == two[k].tobytes() for k in one)


def check(tutti, name, model, kind, make, folder):
    os.chdir(folder)
    make("start")
    x, y = data(kind)
    np.save("x.npy", x)
    np.save("y.npy", y)
    pathlib.Path("run.json").write_text(json.dumps(run_file(model, kind, "start")))
    run(tutti, "train", "run.json", "--quiet")
    saved = next(p for p in pathlib.Path("saves").iterdir() if "latest" in p.name)
    print(f"| {name} | {run(tutti, 'export', saved, '--huggingface', 'out').split(': ')[1].split(',')[0]} ", end="")
    run(tutti, "predict", "run.json", "--checkpoint", saved, "--output", "ours.npy")
    pathlib.Path("again.json").write_text(json.dumps(run_file(model, kind, "out")))
    run(tutti, "export", "out/model.safetensors", "again.json", "--huggingface", "again")
    ours, peers = np.load("ours.npy"), theirs("out", kind)
    far = float(np.abs(ours - peers).max()) / max(1.0, float(np.abs(peers).max()))
    bits = same(pathlib.Path("out"), pathlib.Path("again"))
    print(f"| {peers.shape} | {far:.1e} | {'the same' if bits else 'others'} |", flush=True)
    return far <= LIMIT and bits


def main():
    logging.disable(logging.WARNING)
    transformers.utils.logging.disable_progress_bar()
    tutti = pathlib.Path(sys.argv[1]).resolve()
    print(f"torch {torch.__version__}, transformers {transformers.__version__}\n")
    print("| case | written as | logits | difference | bits after in and out |\n|---|---|---|---|---|", flush=True)
    failed = []
    for name, model, kind, make in cases():
        if sys.argv[2:] and name not in sys.argv[2:]:
            continue
        with tempfile.TemporaryDirectory() as folder:
            if not check(tutti, name, model, kind, make, pathlib.Path(folder)):
                failed.append(name)
    sys.exit(f"no match: {', '.join(failed)}" if failed else 0)


if __name__ == "__main__":
    main()
