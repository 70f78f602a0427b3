#!/usr/bin/env python3
"""onnx_check - ONNX files of every built-in model, run by onnxruntime: prints a table of how far its outputs are from those
of `tutti predict`, and fails where that is more than 1e-5 of the largest output, or where onnx.checker refuses the file.

    python3 -m venv PEERS && PEERS/bin/pip install onnx onnxruntime numpy
    PEERS/bin/python tests/peers/onnx_check.py build/release/tutti [MODEL...]
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime

LIMIT = 1e-5
SAMPLES = 6


def images(side, channels, classes=10):
    return lambda r: (r.standard_normal((SAMPLES, side, side, channels)).astype("f4"), r.integers(0, classes, SAMPLES))


def tokens(length, words):
    def make(r):
        x = r.integers(0, words, (SAMPLES, length)).astype("i4")
        return x, x.copy()
    return make


def maps(side, classes):
    return lambda r: (r.standard_normal((SAMPLES, side, side, 3)).astype("f4"), r.integers(0, classes, (SAMPLES, side, side)))


# name of the row: the model's settings, its data, members of the run.
MODELS = {
    "mlp": ({"name": "mlp", "hidden": [64, 32], "num_classes": 10}, images(12, 1), {}),
    "mlp silu": ({"name": "mlp", "hidden": [64], "activation": "silu", "num_classes": 10}, images(12, 1), {}),
    "lenet": ({"name": "lenet", "num_classes": 10}, images(28, 1), {}),
    "lenet max, sigmoid": ({"name": "lenet", "pool": "max", "activation": "sigmoid", "num_classes": 10}, images(28, 1), {}),
    "mnist_classifier": ({"name": "mnist_classifier", "num_classes": 10}, images(28, 1), {}),
    "cnn": ({"name": "cnn", "channels": [8, 16], "num_classes": 10}, images(16, 3), {}),
    "cnn gelu, groups": ({"name": "cnn", "channels": [8, 16], "norm_groups": 4, "activation": "gelu", "num_classes": 10},
                         images(16, 3), {}),
    "resnet 18": ({"name": "resnet", "depth": 18, "num_classes": 10}, images(64, 3), {}),
    "resnet 50": ({"name": "resnet", "depth": 50, "num_classes": 100}, images(96, 3, 100), {}),
    "resnet_cifar": ({"name": "resnet_cifar", "depth": 20, "num_classes": 10}, images(32, 3), {}),
    "vit": ({"name": "vit", "patch_size": 8, "num_layers": 4, "num_heads": 3, "hidden_dim": 48, "num_classes": 10},
            images(32, 3), {}),
    "convnext": ({"name": "convnext", "patch_size": 2, "depths": [1, 1, 2, 1], "hidden_sizes": [16, 24, 32, 48],
                  "layer_scale_init_value": 0.5, "num_classes": 10}, images(32, 3), {}),
    "unet": ({"name": "unet", "width": 8, "depth": 3, "num_classes": 4}, maps(32, 4), {}),
    "unet bilinear": ({"name": "unet", "width": 8, "depth": 2, "upsampling": "bilinear", "num_classes": 4}, maps(32, 4), {}),
    "mlp, maps": ({"name": "mlp", "hidden": [64]}, maps(16, 4), {}),
    "cnn, maps": ({"name": "cnn", "channels": [8, 16]}, maps(32, 4), {}),
    "resnet 18, maps": ({"name": "resnet", "depth": 18}, maps(64, 4), {}),
    "resnet 50, maps": ({"name": "resnet", "depth": 50, "width": 16}, maps(64, 4), {}),
    "vit, maps": ({"name": "vit", "patch_size": 8, "num_layers": 4, "num_heads": 3, "hidden_dim": 48}, maps(32, 4), {}),
    "gpt2": ({"name": "gpt2", "n_layer": 4, "n_head": 4, "n_embd": 64, "vocab_size": 97}, tokens(32, 97), {}),
    "gpt2 alibi": ({"name": "gpt2", "n_layer": 2, "n_head": 4, "n_embd": 64, "vocab_size": 97, "alibi": True},
                   tokens(32, 97), {}),
    "bert masked_lm": ({"name": "bert", "num_hidden_layers": 3, "num_attention_heads": 4, "hidden_size": 64, "vocab_size": 97},
                       tokens(24, 97), {}),
    "llama": ({"name": "llama", "vocab_size": 97, "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 3,
               "num_attention_heads": 4, "num_key_value_heads": 2}, tokens(24, 97), {}),
    "no_op_model": ({"name": "no_op_model"}, images(12, 1), {}),
}


def run(*words):
    done = subprocess.run([str(w) for w in words], capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, words))}\n{done.stderr}{done.stdout}")
    return done.stdout


def run_file(name, model, members, batches):
    data = {"name": "npy", "inputs": "x.npy", "targets": "y.npy"}
    if "unet" in model["name"] or "maps" in name:
        data["classes"] = model.get("num_classes", 4)
    side = {"dataset": data, "batch_size": SAMPLES, "workers": 1}
    return {"name": "model", "seed": 3, "model": model, "train": side, "eval": [{"label": "all", **side}],
            "optimizer": {"name": "sgd", "lr": 0.01}, "max_duration": batches, "save_folder": "saves", **members}


def check(tutti, name, folder):
    model, make, members = MODELS[name]
    x, y = make(np.random.default_rng(7))
    np.save(folder / "x.npy", x)
    np.save(folder / "y.npy", y)
    run_json = run_file(name, model, members, "2ba")
    run_json.pop("save_folder")
    run_json["callbacks"] = [{"name": "checkpoint_saver", "folder": "saves", "interval": "1ep"}]
    (folder / "run.json").write_text(json.dumps(run_json))
    os.chdir(folder)
    run(tutti, "train", "run.json", "--quiet")
    saved = next(p for p in (folder / "saves").iterdir() if "latest" in p.name)
    told = run(tutti, "export", saved, "--onnx", "model.onnx")
    run(tutti, "predict", "run.json", "--checkpoint", saved, "--output", "ours.npy")
    onnx.checker.check_model("model.onnx", full_check=True)
    session = onnxruntime.InferenceSession("model.onnx", providers=["CPUExecutionProvider"])
    put = session.get_inputs()[0]
    dims = put.shape
    ours = np.load("ours.npy")
    kind = {"tensor(float)": "f4", "tensor(int32)": "i4", "tensor(int64)": "i8", "tensor(uint8)": "u1"}[put.type]
    size = SAMPLES if isinstance(dims[0], str) else dims[0]
    given = y if put.name == "target" else x
    whole = given.reshape(SAMPLES, *dims[1:]).astype(kind)
    theirs = np.concatenate([session.run(None, {put.name: whole[k:k + size]})[0] for k in range(0, SAMPLES, size)])
    parts = np.concatenate([session.run(None, {put.name: whole[k:k + 1]})[0] for k in range(SAMPLES)]) if size > 1 else theirs
    largest = max(1.0, float(np.abs(ours).max()))
    far = float(np.abs(ours - theirs).max()) / largest, float(np.abs(ours - parts).max()) / largest
    nodes = len(onnx.load("model.onnx", load_external_data=False).graph.node)
    print(f"| {name} | {nodes} | {dims} | {tuple(session.get_outputs()[0].shape)} | {far[0]:.1e} | {far[1]:.1e} |", flush=True)
    return max(far) <= LIMIT


def main():
    tutti = pathlib.Path(sys.argv[1]).resolve()
    print(f"onnx {onnx.__version__}, onnxruntime {onnxruntime.__version__}, numpy {np.__version__}\n")
    print("| model | operators | input | output | difference | one by one |\n|---|---|---|---|---|---|", flush=True)
    failed = []
    for name in sys.argv[2:] or MODELS:
        with tempfile.TemporaryDirectory() as folder:
            if not check(tutti, name, pathlib.Path(folder)):
                failed.append(name)
    sys.exit(f"further than {LIMIT:g}: {', '.join(failed)}" if failed else 0)


if __name__ == "__main__":
    main()
