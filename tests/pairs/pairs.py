#!/usr/bin/env python3
"""pairs.py MODEL [--every | ALGORITHM] - ordered pairs of the algorithms that fit a model, in runs of three batches.

For each pair, a run and one that takes it up after its first batch end with the same bytes, and every surgery
finds as many modules beside the other algorithm as it does alone, whichever comes first.  With an algorithm: the
pairs that it is in.  With neither: each surgery with each other where SURGERY_OF says so, and some of the rest.
The environment has TUTTI, the program, and SOURCE."""
import concurrent.futures
import itertools
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import zlib

TUTTI, SOURCE = os.environ["TUTTI"], os.environ["SOURCE"]
sys.path.insert(0, f"{SOURCE}/tests/e2e")
from checkpoint import tensors  # noqa: E402

SHARE = 40  # where nothing is asked for: one pair in so many,
SURGERY_OF = ("resnet", "gpt2", "bert")  # and all of two surgeries for these
GLYPHS = {"dataset": {"name": "glyphs", "samples": 16},
          "transforms": [{"name": "normalize", "mean": [0.13], "std": [0.31]}], "batch_size": 8, "workers": 1}
TEXT = {"dataset": {"name": "text", "path": "../../corpus.txt", "length": 16, "stride": 400}, "batch_size": 8, "workers": 1}

MODELS = {
    "resnet": {"model": {"name": "resnet", "depth": 50, "width": 4}, "train": GLYPHS},
    "vit": {"model": {"name": "vit", "patch_size": 7, "num_layers": 1, "num_heads": 2, "hidden_dim": 16, "dropout": 0.1},
            "train": GLYPHS, "precision": "amp_bf16"},
    "cnn": {"model": {"name": "cnn", "channels": [8, 16], "norm_groups": 4, "dropout": 0.1}, "train": GLYPHS,
            "precision": "amp_bf16"},
    "gpt2": {"model": {"name": "gpt2", "n_layer": 1, "n_head": 2, "n_embd": 16}, "train": TEXT, "precision": "amp_bf16"},
    "bert": {"model": {"name": "bert", "num_hidden_layers": 1, "num_attention_heads": 2, "hidden_size": 16, "dropout": 0.1},
             "train": TEXT | {"transforms": [{"name": "mask_tokens"}]}, "precision": "amp_bf16"},
}


def declared():
    """{algorithm: its pairs.json}: "models" that it fits, "settings" with which it does something in three batches; of what
    changes the model, the name under which it logs the number of "changed_modules"; others that it is "not_beside"."""
    found = {}
    for path in sorted(pathlib.Path(SOURCE, "plugins").glob("*/*/pairs.json")):
        of = json.loads(path.read_text())
        found[of.get("name", path.parent.name)] = of
    return found


ALGORITHMS = declared()

CHANGED = {name: of["changed_modules"] for name, of in ALGORITHMS.items() if "changed_modules" in of}


def train(folder, base, algorithms, *more):
    folder.mkdir(parents=True)
    run = base | {
        "name": "pair", "seed": 5, "eval": [], "optimizer": {"name": "adamw", "lr": 0.01},
        "max_duration": "3ba", "threads": 1, "algorithms": algorithms,
        "loggers": [{"name": "jsonl", "filename": "log.jsonl"}],
        "callbacks": [{"name": "checkpoint_saver", "folder": "saves", "interval": "1ba", "keep": -1}]}
    (folder / "run.json").write_text(json.dumps(run))
    done = subprocess.run([TUTTI, "train", "run.json", *more], cwd=folder, capture_output=True, text=True,
                          env=os.environ | {"TUTTI_TUNE": "0"}, timeout=120, check=False)
    return done.returncode, done.stderr.strip()


def numbers(folder):
    """The hyperparameters that the run logged."""
    found = {}
    for line in (folder / "log.jsonl").read_text().splitlines():
        row = json.loads(line)
        if row["kind"] == "hyperparameters":
            found |= row["values"]
    return found


def compare(a, b):
    x, y = (tensors(next((f / "saves").glob("*ba3.*"))) for f in (a, b))
    differ = [k for k in x if x[k] != y.get(k)] + [k for k in y if k not in x]
    return f"resumed, {len(differ)} tensors differ, such as {differ[:3]}" if differ else ""


def together(work, base, names, fits):
    """Runs these algorithms: what is wrong or "", and the numbers that they log."""
    algorithms = [{"name": n} | fits[n] for n in names]
    status, said = train(work, base, algorithms)
    return (f"status {status}: {said}", {}) if status else ("", numbers(work))


def trial(work, base, names, fits):
    """The same of a run and of one that takes it up, which are to end alike."""
    where = work / "-".join(names)
    fault, found = together(where / "whole", base, names, fits)
    if found:
        start = next((where / "whole/saves").glob("*ba1.*"))
        status, said = train(where / "resumed", base, [{"name": n} | fits[n] for n in names], "--resume", str(start))
        fault = f"resumed, status {status}: {said}" if status else compare(where / "whole", where / "resumed")
    shutil.rmtree(where)
    return fault, found


def chosen(model, pair, asked):
    if asked:
        return asked == "--every" or asked in pair
    return (model in SURGERY_OF and set(pair) <= set(CHANGED) or
            zlib.crc32("-".join((model, *pair)).encode()) % SHARE == 0)


def apart(pair):
    """One cannot be beside the other."""
    return any(b in ALGORITHMS[a].get("not_beside", ()) for a, b in (pair, pair[::-1]))


def main():
    model, asked = (*sys.argv[1:3], "")[:2]
    base = MODELS[model]
    fits = {name: of["settings"] for name, of in ALGORITHMS.items() if model in of["models"]}
    here = {p.name for p in pathlib.Path(SOURCE, "plugins/algorithms").iterdir() if p.is_dir()}
    wrong = [f"plugins/algorithms/{n} has no pairs.json" for n in sorted(here - set(ALGORITHMS))]
    wrong += [f"{n}: no model is called {m}" for n, of in ALGORITHMS.items() for m in of["models"] if m not in MODELS]
    pairs = [p for p in itertools.permutations(sorted(fits), 2) if chosen(model, p, asked) and not apart(p)]
    wrong += [] if pairs else [f"there is no pair of {asked or 'algorithms'}"]
    surgeries = sorted({n for p in pairs for n in p} & set(CHANGED))
    with tempfile.TemporaryDirectory() as tmp, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        work = pathlib.Path(tmp)
        (work / "corpus.txt").write_text("".join(f"{k}\n" for k in range(1, 4001)))
        alone = dict(zip(surgeries, pool.map(lambda n: together(work / "alone" / n, base, [n], fits), surgeries)))
        wrong += [f"{n}: {fault}" for n, (fault, _) in alone.items() if fault]
        for pair, (fault, found) in zip(pairs, pool.map(lambda p: trial(work, base, p, fits), pairs)):
            wrong += [f"{list(pair)}: {fault}"] if fault else []
            for n in set(pair) & set(surgeries) if found else ():
                changed, before = found.get(CHANGED[n], 0), alone[n][1].get(CHANGED[n], 1)
                wrong += [f"{list(pair)}: {CHANGED[n]} is {changed}, alone {before}"] if changed < before else []
    print(f"{model}: {len(fits)} algorithms, {len(pairs)} pairs, {len(wrong)} faults")
    print("\n".join(wrong))
    return 1 if wrong else 0


sys.exit(main())
