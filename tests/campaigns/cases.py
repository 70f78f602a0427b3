"""cases.py - the commands whose allocations and files fail: what each finds, and what it leaves to compare."""
# SPDX-License-Identifier: Apache-2.0
import io
import json
import pathlib
import random
import re
import struct
import sys
import tarfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "e2e"))
from data_files import idx, npy, png, write_shards  # noqa: E402

GLYPHS = {"name": "glyphs", "samples": 64}
TRANSFORMS = [{"name": "normalize", "mean": [0.13], "std": [0.31]}]
# Four batches, two checkpoints.
RUN = {
    "name": "small", "seed": 5, "threads": 1, "device": "cpu",
    "model": {"name": "mlp", "hidden": [8], "dropout": 0.1},
    "train": {"dataset": GLYPHS, "transforms": TRANSFORMS, "batch_size": 16, "workers": 1},
    "eval": [{"label": "test", "dataset": GLYPHS | {"samples": 16, "split": "test"}, "transforms": TRANSFORMS,
              "batch_size": 8, "metrics": [{"name": "accuracy"}]}],
    "optimizer": {"name": "adamw", "lr": 0.01},
    "max_duration": "4ba",
    "loggers": [{"name": "jsonl"}],
    "callbacks": [{"name": "checkpoint_saver", "folder": "saves", "interval": "2ba", "keep": -1}],
}
# The same for `tutti run`.
ENGINE = {key: value for key, value in RUN.items() if key != "max_duration"} | {
    "process": "supervised", "max_epochs": 1,
    "eval": [RUN["eval"][0] | {"on": "epoch_completed", "workers": 1}],
    "callbacks": [{"name": "checkpoint_saver", "folder": "saves", "interval": "1ep", "keep": -1}],
}


# The same from files.
ARRAYS = RUN | {
    "train": {"dataset": {"name": "npy", "inputs": "x.npy", "targets": "y.npy", "classes": 10}, "batch_size": 16, "workers": 1},
    "eval": [],
}
# With convolutions, which oneDNN may compute.
IMAGES = RUN | {"model": {"name": "cnn"}, "max_duration": "2ba",
                "callbacks": [{"name": "checkpoint_saver", "folder": "saves", "interval": "1ba", "keep": -1}]}


def short(name, model, train, **more):
    """A run of one batch, which saves NAME/ep0-ba1.safetensors."""
    return {"name": name, "seed": 5, "threads": 1, "device": "cpu", "model": model, "train": train, "max_duration": "1ba",
            "optimizer": {"name": "sgd", "lr": 0.1},
            "callbacks": [{"name": "checkpoint_saver", "folder": name, "interval": "1dur"}]} | more


GPT = {"n_layer": 1, "n_head": 2, "n_embd": 8}
# Text, of a tokenizer; pictures, whose folders are names of classes.
TEXT = short("text", {"name": "gpt2"} | GPT,
             {"dataset": {"name": "text", "path": "text.txt", "length": 8, "vocabulary": "tokenizer",
                          "tokenizer_file": "hub/tokenizer.json"}, "batch_size": 2})
NAMED = {"dataset": {"name": "image_folder", "path": "pictures", "channels": "grey"}, "transforms": [{"name": "to_float"}],
         "batch_size": 2}
PICTURES = short("named", {"name": "mlp", "num_classes": 2, "hidden": [4]}, NAMED, eval=[NAMED | {"label": "test"}])
# What a run may write beside checkpoints.
LOGGED = {
    "loggers": [{"name": "jsonl"}, {"name": "file"}, {"name": "tensorboard"},
                {"name": "mlflow", "tracking_uri": "file:mlruns", "log_duplicated_metric_every_n_steps": 1}],
    "traces": [{"file": "traces.txt"}, {"file": "ran.jsonl", "format": "json", "all": False}],
    "algorithms": [{"name": "ema", "half_life": "2ba"}],
}
WATCHED = RUN | LOGGED | {"callbacks": [
    {"name": "mlperf", "root_folder": "submission", "index": 0, "metric_label": "test", "target": 2, "system_name": "box"},
    {"name": "lr_monitor"}, {"name": "memory_snapshot", "interval": "1ba"}, RUN["callbacks"][0] | {"async": True},
    {"name": "checkpoint_saver", "id": "weights", "folder": "weights", "weights_only": True, "interval": "1ep"}]}


def of_files(dataset, transforms=(), batch=16, **more):
    """A run of these data alone, of two batches."""
    return IMAGES | {"eval": [], "train": {"dataset": dataset, "transforms": list(transforms), "batch_size": batch, "workers": 1},
                     "model": RUN["model"]} | more


# Runs on the data sets that lie in files, for `io`.
OF_FILES = {
    "mds": of_files({"name": "mds", "path": "set", "classes": 10}),
    "webdataset": of_files({"name": "webdataset", "path": "wds-{0..1}.tar", "classes": 2, "channels": "grey"}, [{"name": "to_float"}], 2),
    "image_folder": of_files(NAMED["dataset"], NAMED["transforms"], 2),
    "idx": of_files({"name": "idx", "images": "images.idx", "labels": "labels.idx", "classes": 10}, TRANSFORMS, 8),
    "tokens": of_files(TEXT["train"]["dataset"], (), 2, model=TEXT["model"]),
}
RUNS = {"run.json": RUN, "watched.json": WATCHED, "images.json": IMAGES, "engine.json": ENGINE, "arrays.json": ARRAYS, "text.json": TEXT,
        "pictures.json": PICTURES}
# What a case finds: by which command it comes.
MADE = {"saves": ["train", "run.json"], "runs": ["train", "run.json"], "text": ["train", "text.json"],
        "named": ["train", "pictures.json"]}


# ---- what runs leave that differs from run to run ----

def without_times(folder, stdout):
    """A profile's rows by name, without what was measured."""
    rows = [line[:36].rstrip() for line in stdout.splitlines()[2:] if not line.startswith(("memory:", "trace:"))]
    return sorted(rows) + ["memory:" in stdout, "trace:" in stdout]


def counted(folder, stdout):
    """A profile for programs, without what was measured."""
    said = json.loads(stdout)
    said["batch_ms"] = None
    for key in ("operations", "events", "plugins"):
        said[key] = sorted(({k: v for k, v in row.items() if not k.endswith("ms")} for row in said[key]), key=lambda r: r["name"])
    return said


def without_rate(folder, stdout):
    return {key: value for key, value in json.loads(stdout).items() if key != "tokens_per_second"}


def page(folder, stdout):
    return re.sub(r'"generated":[0-9]+', "", (folder / "report.html").read_text(encoding="utf-8"))


def sheet(folder, stdout):
    return stdout, (folder / "sheet.png").read_bytes()


# name: command, what it finds of the files of a run that has ended, what it leaves to compare: "weights", "stdout", a
# file, or a function of its folder and its output
CASES = {
    "validate": (["validate", "run.json"], [], "stdout"),
    "explain": (["explain", "run.json"], [], "stdout"),
    "plan": (["plan", "run.json"], [], "stdout"),
    "plugins": (["plugins", "list"], [], "stdout"),
    "info": (["plugins", "info", "ema"], [], "stdout"),
    "layers": (["layers"], [], "stdout"),
    "train": (["train", "run.json"], [], "weights"),
    "arrays": (["train", "arrays.json"], [], "weights"),
    "images": (["train", "images.json"], [], "weights"),
    "resume": (["train", "run.json", "--resume", "auto"], ["saves/ep0-ba2.safetensors", "runs/small/record.json"],
               "weights"),
    "run": (["run", "engine.json"], [], "weights"),
    "eval": (["eval", "run.json", "--checkpoint", "saves/ep0-ba4.safetensors"],
             ["saves/ep0-ba4.safetensors"], "stdout"),
    "predict": (["predict", "run.json", "--checkpoint", "saves/ep0-ba4.safetensors", "--output", "out.npy"],
                ["saves/ep0-ba4.safetensors"], "out.npy"),
    "export": (["export", "saves/ep0-ba4.safetensors", "--onnx", "out.onnx"], ["saves/ep0-ba4.safetensors"], "out.onnx"),
    "convert": (["data", "convert", "x.npy", "shards", "--set", "targets=y.npy", "--set", "classes=10"], [],
                "shards/shard.00000.mds"),
    "runs": (["runs", "runs/small", "--plot", "loss/train/total"], ["runs/small/record.json", "runs/small/log.jsonl"], "stdout"),
}
# More, whose files fail.
FILES = {"watched": (["train", "watched.json"], [], "weights")} | \
    {name: (["train", f"{name}.json"], [], "weights") for name in OF_FILES}
# More, whose allocations fail.  {plugins} is the folder of plugins.
LATEST = "text/ep0-ba1.safetensors"
COMMANDS = {
    "generate": (["generate", LATEST, "--prompt", "ab", "--max-tokens", "12", "--verbose"], [LATEST], "stdout"),
    "generate_json": (["generate", LATEST, "--file", "prompt.txt", "--max-tokens", "4", "--json", "--temperature", "1",
                       "--seed", "3", "--stop", "ccc"], [LATEST], without_rate),
    "generate_tokenizer": (["generate", LATEST, "--prompt", "aa", "--max-tokens", "3", "--tokenizer", "hub/other.json"],
                           [LATEST], "stdout"),
    "generate_folder": (["generate", "hub", "--prompt", "ab", "--max-tokens", "3", "--no-cache"], [], "stdout"),
    "report": (["report", "runs/small", "--page", "report.html"], ["runs/small/record.json", "runs/small/log.jsonl"],
               page),
    "live": (["report", "runs/small", "--live"], ["runs/small/record.json", "runs/small/log.jsonl"], "stdout"),
    "predict_csv": (["predict", "pictures.json", "--checkpoint", "named/ep0-ba1.safetensors", "--output", "out.csv"],
                    ["named/ep0-ba1.safetensors"], "out.csv"),
    "predict_jsonl": (["predict", "pictures.json", "--checkpoint", "named/ep0-ba1.safetensors", "--output", "out.jsonl"],
                      ["named/ep0-ba1.safetensors"], "out.jsonl"),
    "inspect": (["data", "inspect", "pictures", "--sheet", "sheet.png"], [], sheet),
    "inspect_json": (["data", "inspect", "x.npy", "--json"], [], "stdout"),
    "convert_pictures": (["data", "convert", "pictures", "shards"], [], "shards/shard.00000.mds"),
    "convert_tokens": (["data", "convert", "text.txt", "tokens.bin", "--set", "vocabulary=tokenizer", "--set",
                        "tokenizer_file=hub/tokenizer.json", "--set", "length=8"], [], "tokens.bin"),
    "profile": (["profile", "run.json", "--batches", "1"], [], without_times),
    "profile_json": (["profile", "run.json", "--batches", "1", "--json"], [], counted),
    "check": (["plugins", "check", "{plugins}/ema"], [], "stdout"),
    "check_json": (["plugins", "check", "{plugins}/lr_monitor", "--json"], [], "stdout"),
}
# Of these a failure may be a result, which is on stdout.
TOLD_THERE = ("check", "check_json")


# ---- files ----

def hub(folder):
    """A language model as Hugging Face's libraries keep it, and another tokenizer with as many tokens."""
    vocabulary = {"a": 0, "b": 1, "c": 2, "\u0120": 3, "ab": 4}
    (folder / "hub").mkdir()
    for name, merges in (("tokenizer", ["a b"]), ("other", ["b a"])):
        names = dict(vocabulary) if name == "tokenizer" else {"a": 0, "b": 1, "c": 2, "\u0120": 3, "ba": 4}
        (folder / f"hub/{name}.json").write_text(json.dumps({
            "version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "normalizer": None,
            "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True},
            "post_processor": None, "decoder": {"type": "ByteLevel"},
            "model": {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None,
                      "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False, "vocab": names, "merges": merges}}))
    (folder / "hub/config.json").write_text(json.dumps(
        {"model_type": "gpt2", "architectures": ["GPT2LMHeadModel"], "vocab_size": 5, "n_positions": 16} | GPT))
    shapes = {"wte.weight": [5, 8], "wpe.weight": [16, 8], "ln_f.weight": [8], "ln_f.bias": [8]}
    for part, shape in (("ln_1", [8]), ("attn.c_attn", [8, 24]), ("attn.c_proj", [8, 8]), ("ln_2", [8]), ("mlp.c_fc", [8, 32]),
                        ("mlp.c_proj", [32, 8])):
        shapes |= {f"h.0.{part}.weight": shape, f"h.0.{part}.bias": shape[-1:]}
    rng = random.Random(2)
    header, body = {}, b""
    for name, shape in shapes.items():
        count = shape[0] * (shape[1] if len(shape) > 1 else 1)
        data = struct.pack(f"<{count}f", *(rng.uniform(-1, 1) for _ in range(count)))
        header["transformer." + name] = {"dtype": "F32", "shape": shape, "data_offsets": [len(body), len(body) + len(data)]}
        body += data
    text = json.dumps(header).encode()
    (folder / "hub/model.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + body)


def archives(folder):
    for shard in range(2):
        with tarfile.open(folder / f"wds-{shard}.tar", "w") as out:
            for k in range(2):
                for ending, content in (("png", (folder / "pictures/ant" / f"{k}.png").read_bytes()), ("cls", str(k).encode())):
                    info = tarfile.TarInfo(f"{shard}{k:04}.{ending}")
                    info.size = len(content)
                    out.addfile(info, io.BytesIO(content))


def fill(folder):
    """What every case begins with."""
    rng = random.Random(1)
    (folder / "saves").mkdir(parents=True)
    for name, run in (RUNS | {f"{name}.json": run for name, run in OF_FILES.items()}).items():
        (folder / name).write_text(json.dumps(run))
    (folder / "x.npy").write_bytes(npy("<f4", (64, 4, 4), struct.pack("<1024f", *(rng.random() for _ in range(1024)))))
    (folder / "y.npy").write_bytes(npy("<i8", (64,), struct.pack("<64q", *(rng.randrange(10) for _ in range(64)))))
    (folder / "text.txt").write_text("abc ab cba " * 4)
    (folder / "prompt.txt").write_text("ab c")
    (folder / "chart.js").write_text("var Chart = function () {};")
    for name in ("ant", "bee"):
        (folder / "pictures" / name).mkdir(parents=True)
        for k in range(2):
            (folder / "pictures" / name / f"{k}.png").write_bytes(png(4, 4, bytes(rng.randrange(256) for _ in range(48))))
    archives(folder)
    write_shards(folder / "set", [31, 33])
    (folder / "images.idx").write_bytes(idx((32, 4, 4), rng.randbytes(512)))
    (folder / "labels.idx").write_bytes(idx((32,), bytes(k % 10 for k in range(32))))
    hub(folder)
