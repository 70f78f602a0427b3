"""kill_recipes.py - the recipes of host/recipes as cases of kill.py: their own members, made small.

A recipe keeps its model, loss, transforms, optimizer, schedulers, algorithms, metrics and callbacks. SMALLER says what
of it is changed: sizes, so that a batch takes milliseconds, and the files that kill_cases.py writes.
"""
# SPDX-License-Identifier: Apache-2.0
import json
import pathlib

TREE = pathlib.Path(__file__).resolve().parent.parent.parent
TOKENIZERS = TREE / "plugins/common/tokenizer/recorded"

CIFAR = {"name": "cifar_bin", "path": "../cifar.bin"}
PICTURES = {"train.dataset.path": "../pictures", "eval.0.dataset.path": "../pictures", "model.depth": 18,
            "train.workers": 2, "eval.0.workers": 1, "train.transforms.0.size": [16], "eval.0.transforms.0.size": [20],
            "eval.0.transforms.1.size": [16]}
TEXT = {"train.dataset.path": "../text.txt", "train.dataset.length": 16, "train.dataset.stride": 16,
        "eval.0.dataset.path": "../text.txt", "eval.0.dataset.length": 16}
SMALL_GPT = {"model.n_layer": 1, "model.n_head": 2, "model.n_embd": 16, "callbacks.0.max_new_tokens": 8,
             "callbacks.0.prompts": ["a run"]}
WITHOUT = None  # this member is left out

# {recipe: {member: what it is instead}}
SMALLER = {
    "cifar10_airbench": {"train.dataset.path": "../cifar.bin", "eval.0.dataset.path": "../cifar.bin"},
    "cifar10_resnet20": {"train.dataset": CIFAR, "eval.0.dataset": CIFAR, "model.depth": 8},
    "cifar10_resnet20_composed": {"train.dataset": CIFAR, "eval.0.dataset": CIFAR, "model.depth": 8},
    "finetune_bert": {"load_weights": WITHOUT, "load_strict": WITHOUT, "model.num_hidden_layers": 1,
                      "model.num_attention_heads": 2, "model.hidden_size": 16, "model.intermediate_size": 32,
                      "train.dataset.path": "../classes.csv", "train.dataset.length": 16,
                      "train.dataset.tokenizer_file": str(TOKENIZERS / "bert.json"),
                      "eval.0.dataset.path": "../classes.csv", "eval.0.dataset.length": 16,
                      "eval.0.dataset.tokenizer_file": str(TOKENIZERS / "bert.json")},
    "finetune_llama_lora": {"load_weights": WITHOUT, "load_strict": WITHOUT, "model.num_hidden_layers": 1,
                            "model.num_attention_heads": 2, "model.num_key_value_heads": 1, "model.hidden_size": 16,
                            "model.intermediate_size": 32, "train.dataset.path": "../messages.jsonl",
                            "train.dataset.length": 32, "train.dataset.tokenizer_file": str(TOKENIZERS / "llama2.json")},
    "finetune_resnet50": PICTURES | {"load_weights": WITHOUT, "load_ignore_keys": WITHOUT},
    "glyphs_cnn": {"train.dataset.samples": 320, "eval.0.dataset.samples": 50},
    "glyphs_engine": {"train.dataset.samples": 80, "eval.0.dataset.samples": 50, "eval.1.dataset.samples": 50,
                      "max_epochs": 4},
    "imagenet_resnet50": PICTURES | {"microbatch_size": 4},
    "multi_label": {"train.dataset.samples": 80, "eval.0.dataset.samples": 20, "train.dataset.size": 16,
                    "eval.0.dataset.size": 16},
    "regression": {"train.dataset.samples": 320, "eval.0.dataset.samples": 50},
    "segmentation": {"train.dataset.samples": 80, "eval.0.dataset.samples": 20, "model.width": 4, "model.depth": 2,
                     "train.dataset.size": 16, "eval.0.dataset.size": 16},
    "sequences": {"train.dataset.samples": 80, "eval.0.dataset.samples": 20},
    "shakespeare_bert": TEXT | {"model.num_hidden_layers": 1, "model.num_attention_heads": 2, "model.hidden_size": 16},
    "shakespeare_gpt": TEXT | SMALL_GPT,
    "shakespeare_gpt_engine": TEXT | SMALL_GPT,
}


FILES = sorted((TREE / "host/recipes").glob("*.json"))


def forgotten():
    """A sentence for each recipe without a row, and each row without a recipe."""
    names = {path.stem for path in FILES}
    return [f"no case has the recipe {name}: want a row of SMALLER in kill_recipes.py" for name in sorted(names - set(SMALLER))] \
        + [f"there is no recipe {name}, which SMALLER in kill_recipes.py has" for name in sorted(set(SMALLER) - names)]


def change(run, path, value):
    """Sets the member at `path`, as --set does, or leaves it out."""
    *way, last = [int(step) if step.isdigit() else step for step in path.split(".")]
    for step in way:
        run = run[step]
    if value is WITHOUT:
        del run[last]
    else:
        run[last] = value


def shorter(run, batches):
    """Batches of eight samples; what happens now and then happens twice in a run."""
    run["train"]["batch_size"] = 8
    for one in run.get("eval", []):
        one["batch_size"] = 8
        if "interval" in one:
            one["interval"] = f"{batches // 2}ba"
        if isinstance(one.get("on"), dict):
            one["on"]["every"] = batches // 2
    run["callbacks"] = [one | ({"interval": f"{batches // 2}ba"} if "interval" in one else {})
                        for one in run.get("callbacks", []) if one["name"] != "checkpoint_saver"]
    if "max_iters" in run:
        run["max_iters"] = batches


def recipes(batches):
    """{case: a whole run of so many batches}, of those that SMALLER has."""
    found = {}
    for path in FILES:
        if path.stem not in SMALLER:
            continue
        run = json.loads(path.read_text(encoding="utf-8"))
        for member, value in SMALLER[path.stem].items():
            change(run, member, value)
        shorter(run, batches)
        found[f"recipe_{path.stem}"] = run
    return found
