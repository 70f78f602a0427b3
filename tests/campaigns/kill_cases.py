"""kill_cases.py - the runs that kill.py kills: of every algorithm, every data set, every recipe, both loops.

An algorithm's case is its resume.json, so a new algorithm has one. A data set's case is a row of DATA, with the files
that FILES writes beside the run's folder. A recipe's case is the recipe, made small (kill_recipes.py). `missing` tells what of `tutti plugins list` is in no case.
"""
# SPDX-License-Identifier: Apache-2.0
import io
import json
import pathlib
import random
import re
import struct
import subprocess
import tarfile

from campaign import environment
from data_files import idx, npy, png, tokens_bin, write_shards
from kill_recipes import forgotten, recipes

TREE = pathlib.Path(__file__).resolve().parent.parent.parent
TOKENIZER = str(TREE / "plugins/common/tokenizer/recorded/gpt2.json")
BATCHES = 40
GREY = [{"name": "normalize", "mean": [0.13], "std": [0.31]}]
COLOURS = [{"name": "normalize", "mean": [0.5, 0.5, 0.5], "std": [0.25, 0.25, 0.25]}]
BASE = {
    "name": "killed", "seed": 5,
    "model": {"name": "mlp", "hidden": [32], "dropout": 0.1},
    "train": {"dataset": {"name": "glyphs", "samples": 320}, "transforms": GREY, "batch_size": 32, "workers": 2},
    "eval": [{"label": "test", "dataset": {"name": "glyphs", "samples": 50, "split": "test"}, "transforms": GREY,
              "batch_size": 50, "metrics": [{"name": "accuracy"}]}],
    "optimizer": {"name": "adamw", "lr": 0.01},
    "schedulers": [{"name": "cosine_annealing"}],
}
# What a case does not change, so that all are killed and compared alike.
FIXED = {
    "max_duration": f"{BATCHES}ba",
    "loggers": [{"name": "jsonl", "flush_interval": 3}],
    "callbacks": [{"name": "checkpoint_saver", "folder": "saves", "interval": "3ba", "keep": 3}],
}
CNN = {"model": {"name": "cnn", "channels": [8, 16]}}
MLP = {"model": {"name": "mlp", "hidden": [8]}}
GPT = {"model": {"name": "gpt2", "n_layer": 1, "n_head": 2, "n_embd": 8, "dropout": 0.1}}

# A checkpoint has the kernels of the sizes that the run has reached: without the cache it chooses those of later sizes
# anew, as a new run may.  From here on, of a run, all sizes have been reached; elsewhere from the start.
GROWN = {"growing": 0.9, "progressive_resizing": 0.9, "seq_length_warmup": 0.9, "mds": 0.3}


def algorithms(*list_):
    return {"algorithms": [a if isinstance(a, dict) else {"name": a} for a in list_]}


# Several at once, and runs without any.
MIXED = {
    "plain": {},
    "behind": {"behind": True},  # saves while it goes on
    "microbatches": {"microbatch_size": 12},
    "mixed": algorithms("label_smoothing", "mixup", {"name": "gradient_clipping", "clipping_type": "norm",
                                                     "clipping_threshold": 0.5}),
    "sharp": algorithms("sam"),
    "convolutions": {"model": {"name": "cnn"}},
    "growing": {"model": {"name": "cnn"}} | algorithms({"name": "progressive_resizing", "initial_scale": 0.5}),
    "cut": {"model": {"name": "cnn"}} | algorithms("cutmix", "cutout"),
}


def of_algorithms():
    """{case: members of a run}, of every resume*.json: `ema`, or `ema_x` of a resume_x.json."""
    return {path.parent.name + path.stem.removeprefix("resume"): json.loads(path.read_text(encoding="utf-8"))
            for path in sorted(TREE.glob("plugins/*/*/resume*.json"))}


def data(dataset, transforms=(), batch=32, **more):
    """A run on these data alone."""
    return {"train": {"dataset": dataset, "transforms": list(transforms), "batch_size": batch, "workers": 2}, "eval": []} | more


CROPPED = [{"name": "random_resized_crop", "size": [16, 16]}]  # makes pictures of many sizes one
# The data sets: the files of each are beside the folder of the run.
DATA = {
    "text": data({"name": "text", "path": "../text.txt", "length": 8}, batch=8, **GPT),
    "npy": data({"name": "npy", "inputs": "../x.npy", "targets": "../y.npy", "classes": 10}, **MLP),
    # 130 samples: the last batch of an epoch is a small one.
    "mds": data({"name": "mds", "path": "../set", "classes": 10, "shuffle_algo": "py1br", "shuffle_block_size": 50,
                 "shuffle_seed": 7}, **MLP),
    "mds_streams": data({"name": "mds", "streams": ["../set", "../other"], "repeat": [1, 0.5], "classes": 10,
                         "batching_method": "stratified", "batch_size": 16, "shuffle_seed": 7}, batch=16, **MLP),
    "image_folder": data({"name": "image_folder", "path": "../pictures", "sizes": "vary"},
                         CROPPED + [{"name": "random_flip"}] + COLOURS, batch=8, **CNN),
    "webdataset": data({"name": "webdataset", "path": "../wds-{0..1}.tar", "classes": 10, "sizes": "vary"},
                       CROPPED + COLOURS, batch=8, **CNN),
    "idx": data({"name": "idx", "images": "../images.idx", "labels": "../labels.idx", "classes": 10},
                [{"name": "random_crop", "padding": 2}] + GREY, batch=16, **CNN),
    "cifar_bin": data({"name": "cifar_bin", "path": "../cifar.bin"}, [{"name": "random_flip"}] + COLOURS, batch=8, **CNN),
    "tokens_bin": data({"name": "tokens_bin", "path": "../tokens.bin", "length": 8, "vocabulary_size": 64}, batch=8, **GPT),
    "documents": data({"name": "documents", "path": "../texts.jsonl", "tokenizer_file": TOKENIZER, "length": 16,
                       "packing": "whole"}, batch=8, **GPT),
    "prompts": data({"name": "prompts", "texts": [f"prompt {k} of a run" for k in range(32)], "tokenizer_file": TOKENIZER,
                     "length": 16}, batch=8, **GPT),
    "table": data({"name": "table", "path": "../table.csv", "targets": ["price"]}, loss="mse", **MLP),
    "friedman": data({"name": "friedman", "samples": 320}, loss="mse", **MLP),
    "shapes": data({"name": "shapes", "samples": 80, "size": 16}, COLOURS, batch=8,
                   model={"name": "unet", "width": 4, "depth": 2}),
}
# Of these a build has none that lacks PCRE2 or utf8proc.
TOKENIZED = ["documents", "prompts", "recipe_finetune_bert", "recipe_finetune_llama_lora"]

SUPERVISED = {"process": "supervised", "max_epochs": 4, "eval": [BASE["eval"][0] | {"on": "epoch_completed", "workers": 1}]}
HANDLERS = [{"on": "epoch_completed", "call": "demo.note", "args": ["metrics/test/accuracy", 0.0]},
            {"on": "iteration_completed", "every": 7, "call": "demo.note", "args": ["loss/train/total", 0.0]},
            {"on": "iteration_completed", "once": 30, "call": "demo.note", "args": ["loss/train/total", 0.0]}]
# `tutti run`, whose epochs have ten batches.
ENGINE = {
    "engine": SUPERVISED | {"handlers": HANDLERS},
    "engine_convolutions": SUPERVISED | CNN | {"microbatch_size": 12} | algorithms("mixup", {"name": "ema", "half_life": "5ba"}),
    "engine_text": SUPERVISED | {"max_iters": BATCHES, "max_epochs": None} | DATA["text"],
}

# Every callback that looks, judges or writes, and every logger of files.
EVAL = BASE["eval"][0] | {"interval": "7ba"}
WATCHED = [
    {"name": "lr_monitor"}, {"name": "nan_monitor"}, {"name": "speed_monitor"}, {"name": "runtime_estimator"},
    {"name": "memory_monitor"}, {"name": "optimizer_monitor"}, {"name": "activation_monitor", "interval": "5ba"},
    {"name": "early_stopper", "monitor": "accuracy", "dataloader_label": "test", "patience": "30ba"},
    {"name": "threshold_stopper", "monitor": "accuracy", "dataloader_label": "test", "threshold": 2},
    {"name": "checkpoint_saver", "id": "weights", "folder": "weights", "weights_only": True, "interval": "1ep", "keep": -1},
]
FILES_OF_LOGS = [{"name": "jsonl", "flush_interval": 3}, {"name": "file"}, {"name": "tensorboard"},
                 {"name": "mlflow", "tracking_uri": "file:mlruns", "log_duplicated_metric_every_n_steps": 1}]
CALLBACKS = {
    "watched": {"eval": [EVAL], "loggers": FILES_OF_LOGS, "traces": [{"file": "traces.txt"}, {"file": "ran.jsonl", "format": "json", "all": False}], "callbacks": WATCHED + [
        {"name": "mlperf", "root_folder": "submission", "index": 0, "metric_label": "test", "target": 2},
        {"name": "eval_output_logging", "subset_sample": 4}]} | algorithms({"name": "ema", "half_life": "5ba"}),
    "watched_images": {"behind": True, "model": {"name": "cnn"}, "eval": [EVAL], "loggers": FILES_OF_LOGS, "callbacks": WATCHED + [
        {"name": "image_visualizer", "mode": "classification", "interval": "9ba", "num_images": 1}]},
    "watched_text": DATA["text"] | {"loggers": FILES_OF_LOGS, "callbacks": WATCHED[:7] + [
        {"name": "generate", "prompts": ["a"], "max_new_tokens": 8, "interval": "5ba"},
        {"name": "export_for_inference", "save_format": "huggingface", "save_path": "exported"}]},
    "watched_engine": SUPERVISED | {"loggers": FILES_OF_LOGS, "callbacks": WATCHED[:7], "handlers": HANDLERS,
                                    "traces": [{"file": "traces.txt"}]} | algorithms({"name": "ema", "half_life": "5ba"}),
}

RECIPES = recipes(BATCHES)  # whole runs
# {case: members of a run}
CASES = MIXED | of_algorithms() | DATA | ENGINE | CALLBACKS | RECIPES


def run_of(name, seed):
    """The run of a case: for `tutti run` where it names a process, else for `tutti train`."""
    run = ({} if name in RECIPES else BASE) | CASES[name] | FIXED | {"seed": seed}
    if name in RECIPES or name in CALLBACKS:
        run["callbacks"] = FIXED["callbacks"] + CASES[name]["callbacks"]
    if name in CALLBACKS:
        run["loggers"] = CASES[name]["loggers"]
    if run.pop("behind", False):
        run["callbacks"] = [run["callbacks"][0] | {"async": True}, *run["callbacks"][1:]]
    if "process" in run:
        del run["max_duration"]
    return run


def of_kind(run, key):
    """The names of a run's algorithms or data sets."""
    if key == "algorithm":
        return {one["name"] for one in run.get("algorithms", [])}
    return {one["dataset"]["name"] for one in [run["train"], *run.get("eval", [])]}


def has_tokenizers(tutti, folder):
    """This build reads tokenizer.json."""
    (folder / "probe.txt").write_text("a text", encoding="utf-8")
    done = subprocess.run([tutti, "data", "inspect", "probe.txt", "--set", "vocabulary=tokenizer", "--set", "length=1",
                           "--set", "tokenizer_file=/dev/null"], cwd=folder, capture_output=True, text=True,
                          env=environment(folder / "cache"), check=False)
    return "reads no tokenizer.json" not in done.stderr


def missing(tutti, folder, names):
    """A sentence for each algorithm and data set of `tutti plugins list` that is in none of these cases."""
    done = subprocess.run([tutti, "plugins", "list"], cwd=folder, capture_output=True, text=True,
                          env=environment(folder / "cache"), check=True)
    known = re.findall(r"[:,] (algorithm|dataset) (\w+)", done.stdout)
    if not {"algorithm", "dataset"} <= {kind for kind, _ in known}:
        return ["`tutti plugins list` names no algorithm or no data set"]
    runs = [run_of(name, 0) for name in names]
    tried = {(kind, name) for kind in ("algorithm", "dataset") for run in runs for name in of_kind(run, kind)}
    cure = {"algorithm": "want a resume.json in its folder", "dataset": "want a row of DATA in kill_cases.py"}
    return [f"no case has the {kind} {name}: {cure[kind]}" for kind, name in sorted(set(known) - tried)] + forgotten()


def arrays(folder, rng):
    (folder / "x.npy").write_bytes(npy("<f4", (320, 4), struct.pack("<1280f", *(rng.random() for _ in range(1280)))))
    (folder / "y.npy").write_bytes(npy("<i8", (320,), struct.pack("<320q", *(rng.randrange(10) for _ in range(320)))))


def sets(folder, _):
    write_shards(folder / "set", [31, 40, 19, 40])
    write_shards(folder / "other", [64, 64])


def picture(rng):
    width, height = rng.randrange(18, 26), rng.randrange(18, 26)
    return png(width, height, rng.randbytes(3 * width * height))


def pictures(folder, rng):
    for kind in "abcd":
        (folder / "pictures" / kind).mkdir(parents=True)
        for k in range(16):
            (folder / "pictures" / kind / f"{k}.png").write_bytes(picture(rng))


def archives(folder, rng):
    for shard in range(2):
        with tarfile.open(folder / f"wds-{shard}.tar", "w") as out:
            for k in range(32):
                for ending, content in (("png", picture(rng)), ("cls", str(k % 10).encode())):
                    info = tarfile.TarInfo(f"{shard}{k:04}.{ending}")
                    info.size = len(content)
                    out.addfile(info, io.BytesIO(content))


def digits(folder, rng):
    (folder / "images.idx").write_bytes(idx((160, 12, 12), rng.randbytes(160 * 144)))
    (folder / "labels.idx").write_bytes(idx((160,), bytes(k % 10 for k in range(160))))


def table(folder, rng):
    rows = [[rng.random() for _ in range(4)] for _ in range(320)]
    lines = [",".join(f"{v:.6f}" for v in [*row, sum(row)]) for row in rows]
    (folder / "table.csv").write_text("\n".join(["size,rooms,age,floor,price", *lines, ""]), encoding="utf-8")


def texts(folder, rng):
    words = ("a", "run", "that", "is", "killed")
    lines = [{"text": " ".join(rng.choices(words, k=rng.randrange(2, 6)))} for _ in range(200)]
    (folder / "texts.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    talks = [{"messages": [{"role": "user", "content": line["text"]}, {"role": "assistant", "content": "it is"}]} for line in lines]
    (folder / "messages.jsonl").write_text("".join(json.dumps(talk) + "\n" for talk in talks), encoding="utf-8")
    rows = [f"{line['text']},{k % 3}" for k, line in enumerate(lines)]
    (folder / "classes.csv").write_text("\n".join(["text,label", *rows, ""]), encoding="utf-8")


def plain_texts(folder, _):
    """That of the case `text`, and the one that resume.json of algorithms name."""
    (folder / "text.txt").write_text("a run that is killed says this again and again. " * 40, encoding="utf-8")
    (folder / "corpus.txt").write_text("".join(f"{k}\n" for k in range(1, 4001)), encoding="utf-8")


# {data set: what writes its files}
FILES = {
    "text": plain_texts, "npy": arrays, "mds": sets, "image_folder": pictures, "webdataset": archives, "idx": digits,
    "table": table, "documents": texts,
    "cifar_bin": lambda folder, rng: (folder / "cifar.bin").write_bytes(
        b"".join(bytes([k % 10]) + rng.randbytes(3072) for k in range(64))),
    "tokens_bin": lambda folder, rng: (folder / "tokens.bin").write_bytes(tokens_bin([rng.randrange(64) for _ in range(1300)])),
}


def write_data(folder, run):
    """The files of the run's data sets."""
    for name in sorted(of_kind(run, "dataset") & set(FILES)):
        FILES[name](folder, random.Random(1))
