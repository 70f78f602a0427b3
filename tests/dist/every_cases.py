"""every_cases.py - small runs that between them have every plugin that trains, reads or changes a run.

A plugin's run is its defaults, with the members that its folder has: of ranks.json, else of check.json.  An algorithm's
runs are its resume.json and resume_*.json, a data set's those that tests/campaigns kill.  What every_settings.py lists
shares a run with others.  `missing` tells of whom there is no run.
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

from every_folders import PLUGINS, each, objects, own, read, told  # noqa: E402
from every_settings import AUGMENTED, CLASSES, LABELS, NUMBERS, OTHERS, TRANSFORMS  # noqa: E402

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


def listed_as(key):
    """What makes the default run of an object that stands in a list of the run file."""
    return lambda name: {key: [{"name": name}]}


def algorithms():
    """The runs of every algorithm."""
    runs = {path.parent.name + path.stem.removeprefix("resume"): (path.parent, read(path))
            for path in sorted(PLUGINS.glob("algorithms/*/resume*.json"))}
    return {name: members | own(folder, ["ranks.json"]) for name, (folder, members) in runs.items()}


def callbacks():
    """A run of each callback, beside the one that saves; one that is stopped by training."""
    runs = each("callback", listed_as("callbacks"))
    del runs[SAVER["name"]]
    return runs | {"stopped by training": {"callbacks": [
        {"name": "threshold_stopper", "monitor": "accuracy", "dataloader_label": "train", "threshold": 0.0,
         "stop_on_batch": True}]}}


def schedulers():
    """A run of each scheduler, with the rate in the log."""
    return {name: members | {"callbacks": [{"name": "lr_monitor"}]}
            for name, members in each("scheduler", listed_as("schedulers")).items()}


def optimizers():
    """A run of each optimizer, on convolutions and norms, with its state in the log."""
    looks = [{"name": "optimizer_monitor", "batch_log_interval": 1}]
    return each("optimizer", lambda name: {"optimizer": {"name": name}, "callbacks": looks, **CNN})


def measured(run, metrics):
    """The run, whose training and evaluation have these metrics."""
    run = copy.deepcopy(run)
    run["train"] = run.get("train", copy.deepcopy(BASE["train"])) | {"metrics": metrics}
    run["eval"] = [run.get("eval", copy.deepcopy(BASE["eval"]))[0] | {"metrics": metrics, "batch_size": 9}]
    return run


def loggers():
    """A run of each logger, beside the one that is compared."""
    runs = each("logger", listed_as("loggers"))
    for name, run in runs.items():
        run["loggers"] = run["loggers"] + FIXED["loggers"] * (name != "jsonl")
    return runs


def passes():
    """A run of each pass."""
    return each("pass", listed_as("passes"))


def metrics():
    """Metrics that share runs of what they are of, and a run of each other one."""
    check = {name: own(folder) for folder, name in objects("metric")}
    masked = TEXTS | {"model": {"name": "bert", "num_hidden_layers": 1, "num_attention_heads": 2, "hidden_size": 16}}
    masked = json.loads(json.dumps(masked))
    for part in (masked["train"], masked["eval"][0]):
        part["transforms"] = [{"name": "mask_tokens"}]
    runs = {
        "of classes": measured({}, [{"name": name, "num_classes": 10} for name in CLASSES] +
                               [{"name": name} for name in ("top_k_accuracy", "cross_entropy", "calibration_error", "loss")]),
        "of numbers": measured(check["mean_squared_error"], [{"name": name} for name in NUMBERS]),
        "of labels": measured(check["multilabel_accuracy"], [{"name": f"multilabel_{name}", "num_labels": 3} for name in LABELS]),
        "of texts": measured(check["bleu_score"], [{"name": name, "blank": 10} for
                                                    name in ("bleu_score", "rouge_score", "word_error_rate")]),
        "of tokens": measured(TEXTS, [{"name": name} for name in ("language_cross_entropy", "perplexity")]),
        "of masked tokens": measured(masked, [{"name": name} for name in ("language_cross_entropy", "masked_accuracy")]),
    }
    shared = {one["name"] for run in runs.values() for one in run["train"]["metrics"]}
    return runs | {name: measured(run, (run.get("eval") or [{}])[0].get("metrics") or [{"name": name}])
                   for name, run in check.items() if name not in shared}


def losses():
    """A run of each loss."""
    runs = each("loss", lambda name: {"loss": name})
    for run in runs.values():
        for part in run.get("eval", []):
            part["batch_size"] = 9
    return runs


def models():
    """A run of each model."""
    runs = each("model", lambda name: {"model": {"name": name}})
    for run in runs.values():
        run |= {"train": run["train"] | {"dataset": TEXT}} if "text" in str(run.get("train")) else {}
    return runs


def pictured(given):
    """Members of a run on pictures that these transforms change, between a crop to one size and the numbers of a model."""
    pictures = {"name": "image_folder", "path": "../pictures", "sizes": "vary"}
    first = [{"name": "random_resized_crop", "size": [18, 18]}]
    norm = [] if given[0]["name"] == "to_float" else COLOURS
    return {"train": {"dataset": pictures, "transforms": first + given + norm, "batch_size": 8}, "eval": [], **CNN}


def transforms():
    """Runs on pictures that several transforms change, and a run of each other one."""
    shared = [[one if isinstance(one, dict) else {"name": one} | TRANSFORMS.get(one, {}) for one in some] for some in AUGMENTED]
    names = {one["name"] for some in [*shared, GREY] for one in some} | {"mask_tokens"}
    alone = each("transform", lambda name: pictured([{"name": name}]))
    return {some[0]["name"]: pictured(some) for some in shared} | {name: run for name, run in alone.items() if name not in names}


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


CURE = {"algorithm": "want a resume.json in its folder", "dataset": "want a row of DATA in tests/campaigns/kill_cases.py"}


def plugins(listed):
    """(kind, name) of what `tutti plugins list` prints."""
    return set(re.findall(r"[:,] (\w+) (\w+)", listed))


def missing(listed):
    """A sentence for each plugin of what `tutti plugins list` prints that no run has and no list says why."""
    tried = {one for runs in cases().values() for run in runs.values() for one in used(run)}
    tried |= set(told("no_run"))
    return [f"no run of every_cases.py has the {kind} {name}: {CURE.get(kind, 'want a ranks.json in its folder')}"
            for kind, name in sorted(plugins(listed) - tried) if kind not in OTHERS]
