"""every_cases.py - small runs that between them have every plugin that trains, reads or changes a run.

An algorithm's runs are its resume.json and resume_*.json, a data set's those that tests/campaigns kill; a metric, loss or
model has its check.json.  Where these do not say enough, every_settings.py does.  `missing` tells of whom there is no run.
"""
# SPDX-License-Identifier: Apache-2.0
import copy
import json
import pathlib
import re
import sys

TESTS = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(TESTS / "campaigns"), str(TESTS / "e2e")]
import kill_cases  # noqa: E402  pylint: disable=wrong-import-position

from every_settings import (AUGMENTED, CALLBACKS, CLASSES, LABELS, LOGGERS, NUMBERS, OTHERS, SCHEDULERS, SERVED,  # noqa: E402
                            TRANSFORMS)

PLUGINS = TESTS.parent / "plugins"
GREY, COLOURS = kill_cases.GREY, kill_cases.COLOURS
GLYPHS = {"name": "glyphs", "samples": 80}
BASE = {
    "name": "ranks", "seed": 5, "threads": 1, "model": {"name": "mlp", "hidden": [16], "dropout": 0.1},
    "train": {"dataset": GLYPHS, "transforms": GREY, "batch_size": 32, "workers": 1, "drop_last": False,
              "metrics": [{"name": "accuracy"}]},
    "eval": [{"label": "test", "dataset": {"name": "glyphs", "samples": 20, "split": "test"}, "transforms": GREY,
              "batch_size": 9, "workers": 1, "metrics": [{"name": "accuracy"}]}],
    "optimizer": {"name": "adamw", "lr": 0.01}, "schedulers": [{"name": "cosine_annealing"}],
}
# What no case changes.
FIXED = {
    "loggers": [{"name": "jsonl"}],
    "distributed": {"comm": {"name": "shared_memory", "mailbox_mib": 1}, "join_timeout_s": 60, "timeout_s": 60,
                    "bucket_mib": 0.01},
}
SAVER = {"name": "checkpoint_saver", "interval": "2ba"}  # within an epoch too
CNN = {"model": {"name": "cnn", "channels": [8, 16]}}
GPT = {"model": {"name": "gpt2", "n_layer": 1, "n_head": 2, "n_embd": 16}}
TEXT = {"name": "text", "path": "../corpus.txt", "length": 16}
TEXTS = {**GPT, "train": {"dataset": TEXT, "batch_size": 8},
         "eval": [{"label": "test", "dataset": TEXT | {"split": "validation"}}]}


def read(path):
    """Members of a run from a file."""
    return json.loads(path.read_text(encoding="utf-8"))


def files(kind, pattern):
    """{name: members} of the files of plugins of a kind."""
    return {path.parent.name + path.stem.removeprefix("resume").removeprefix("check"): read(path)
            for path in sorted(PLUGINS.glob(f"{kind}/*/{pattern}"))}


def objects(kind):
    """[(folder, name)] of the objects of a kind."""
    found = [(path.parent.name, one) for path in sorted(PLUGINS.glob(f"{kind}/*/plugin.json")) for one in read(path)["objects"]]
    return [(folder, one["name"]) for folder, one in found if one["kind"] + "s" == kind or one["kind"] + "es" == kind]


# What the members of a plugin's file lack on small microbatches and few batches.
MORE = {"ghost_batchnorm": {"microbatch_size": 8, "algorithms": [{"name": "ghost_batchnorm", "ghost_batch_size": 3}]}}


def algorithms():
    """The runs of every algorithm."""
    return {name: members | MORE.get(name, {}) for name, members in files("algorithms", "resume*.json").items()}


def callbacks():
    """A run of each callback; `generate` goes on from texts."""
    runs = {name: {"callbacks": [{"name": name} | settings]} for name, settings in CALLBACKS.items()}
    runs["image_visualizer"] |= {"model": {"name": "cnn", "channels": [8]}}
    runs["generate"] = TEXTS | {"callbacks": [{"name": "generate", "prompts": ["1"], "max_new_tokens": 5, "interval": "2ba"}]}
    runs["stopped by training"] = {"callbacks": [
        {"name": "threshold_stopper", "monitor": "accuracy", "dataloader_label": "train", "threshold": 0.0,
         "stop_on_batch": True}]}
    return runs


def schedulers():
    """A run of each scheduler, with the rate in the log."""
    return {name: {"schedulers": [{"name": name} | settings], "callbacks": [{"name": "lr_monitor"}]}
            for name, settings in SCHEDULERS.items()}


def optimizers():
    """A run of each optimizer, on convolutions and norms, with its state in the log."""
    looks = [{"name": "optimizer_monitor", "batch_log_interval": 1}]
    return {name: {"optimizer": {"name": name}, "callbacks": looks, **CNN} for _, name in objects("optimizers")}


def measured(run, metrics):
    """The run, whose training and evaluation have these metrics."""
    run = copy.deepcopy(run)
    run["train"] = run.get("train", copy.deepcopy(BASE["train"])) | {"metrics": metrics}
    run["eval"] = [run.get("eval", copy.deepcopy(BASE["eval"]))[0] | {"metrics": metrics, "batch_size": 9}]
    return run


def loggers():
    """A run of each logger that needs no server, beside the one that is compared."""
    return {name: {"loggers": [{"name": name} | settings] + FIXED["loggers"] * (name != "jsonl")}
            for name, settings in LOGGERS.items()}


def passes():
    """Algorithms in another order."""
    order = {"name": "given_order", "names": ["cutout", "mixup"]}
    return {"given_order": {"algorithms": [{"name": "mixup"}, {"name": "cutout"}], "passes": [order]}}


def metrics():
    """Metrics in runs of what they are of."""
    check = files("metrics", "check.json")
    masked = TEXTS | {"model": {"name": "bert", "num_hidden_layers": 1, "num_attention_heads": 2, "hidden_size": 16}}
    masked = json.loads(json.dumps(masked))
    for part in (masked["train"], masked["eval"][0]):
        part["transforms"] = [{"name": "mask_tokens"}]
    return {
        "of classes": measured({}, [{"name": name, "num_classes": 10} for name in CLASSES] +
                               [{"name": name} for name in ("top_k_accuracy", "cross_entropy", "calibration_error", "loss")]),
        "of numbers": measured(check["mean_squared_error"], [{"name": name} for name in NUMBERS]),
        "of labels": measured(check["multilabel_accuracy"], [{"name": f"multilabel_{name}", "num_labels": 3} for name in LABELS]),
        "of texts": measured(check["bleu_score"], [{"name": name, "blank": 10} for
                                                    name in ("bleu_score", "rouge_score", "word_error_rate")]),
        "of tokens": measured(TEXTS, [{"name": name} for name in ("language_cross_entropy", "perplexity")]),
        "of masked tokens": measured(masked, [{"name": name} for name in ("language_cross_entropy", "masked_accuracy")]),
    }


def losses():
    """A run of each loss."""
    of_file = files("losses", "check.json")
    runs = {name: {"loss": name} | of_file.get(folder, {}) for folder, name in objects("losses")}
    for run in runs.values():
        for part in run.get("eval", []):
            part["batch_size"] = 9
    return runs


def models():
    """A run of each model."""
    of_file = files("models", "check.json")
    runs = {name: of_file.get(folder, {"model": {"name": name}}) for folder, name in objects("models")}
    for run in runs.values():
        run |= {"train": run["train"] | {"dataset": TEXT}} if "text" in str(run.get("train")) else {}
    runs["no_op_model"] |= {"train": BASE["train"] | {"metrics": []}, "eval": []}
    runs["resnet"] = {"model": {"name": "resnet", "depth": 18, "width": 4, "stem": "cifar"}}
    runs["resnet_cifar"] = {"model": {"name": "resnet_cifar", "depth": 8}}
    runs["airbench"] = kill_cases.DATA["cifar_bin"] | {"model": {"name": "airbench", "widths": [8, 8, 8]}}
    return runs


def transforms():
    """Runs on pictures that several transforms change."""
    pictures = {"name": "image_folder", "path": "../pictures", "sizes": "vary"}
    runs = {}
    for some in AUGMENTED:
        given = [one if isinstance(one, dict) else {"name": one} | TRANSFORMS.get(one, {}) for one in some]
        first = [{"name": "random_resized_crop", "size": [18, 18]}]
        norm = [] if some[0] == "to_float" else COLOURS
        train = {"dataset": pictures, "transforms": first + given + norm, "batch_size": 8}
        runs[given[0]["name"]] = {"train": train, "eval": [], **CNN}
    return runs


def datasets():
    """The runs of tests/campaigns, and an epoch dealt to lanes."""
    lanes = copy.deepcopy(kill_cases.DATA["webdataset"])
    lanes["train"]["shuffle"] = {"lanes": 2, "window": 2}
    return kill_cases.DATA | {"webdataset in lanes": lanes}


GROUPS = {"algorithm": algorithms, "callback": callbacks, "dataset": datasets, "loss": losses, "logger": loggers,
          "metric": metrics, "model": models, "optimizer": optimizers, "pass": passes, "scheduler": schedulers,
          "transform": transforms}


def shrink(run):
    """Few samples, so that a run is short, and several slots a batch."""
    train = run["train"] = {"transforms": [], "drop_last": False} | run["train"]
    train["workers"] = 1
    if "samples" in train["dataset"]:
        train["dataset"]["samples"] = min(train["dataset"]["samples"], 80)
    run.setdefault("microbatch_size", max(2, train["batch_size"] // 8))
    for part in run["eval"]:
        part["workers"] = 1
        part["batch_size"] = min(part.get("batch_size", 9), 9)
        part["interval"] = "3ba"
    return run


def case(members):
    """The whole run."""
    run = shrink(copy.deepcopy(BASE | FIXED | members))
    run["max_duration"] = "6ba"
    run["callbacks"] = [SAVER, *run.get("callbacks", [])]
    return run


def cases():
    """{kind: {name: run}}."""
    return {kind: {name: case(members) for name, members in make().items()} for kind, make in GROUPS.items()}


def named(value):
    return {value} if isinstance(value, str) else {value["name"]} if value else set()


def used(run):
    """(kind, name) of what a run is of."""
    parts = [run["train"], *run["eval"]]
    lists = {"algorithm": run.get("algorithms", []), "callback": run["callbacks"], "scheduler": run["schedulers"],
             "logger": run["loggers"], "pass": run.get("passes", []),
             "dataset": [part["dataset"] for part in parts], "model": [run["model"]], "optimizer": [run["optimizer"]],
             "loss": [run["loss"]] if run.get("loss") else [],
             "metric": [one for part in parts for one in part.get("metrics", [])],
             "transform": [one for part in parts for one in part.get("transforms", [])]}
    return {(kind, name) for kind, values in lists.items() for value in values for name in named(value)}


def plugins(listed):
    """(kind, name) of what `tutti plugins list` prints."""
    return set(re.findall(r"[:,] (\w+) (\w+)", listed))


def missing(listed):
    """A sentence for each plugin of what `tutti plugins list` prints that no run has and no list says why."""
    tried = {one for runs in cases().values() for run in runs.values() for one in used(run)}
    tried |= {("logger", name) for name in SERVED}
    return [f"no run of every_cases.py has the {kind} {name}" for kind, name in sorted(plugins(listed) - tried) if kind not in OTHERS]
