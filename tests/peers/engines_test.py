"""engines_test.py TUTTI RECIPES - the two engine recipes lose what Ignite's engine does on the same data.

engines.json has Ignite's answers (record_engines.py).  The files of RECIPES get the data, first weights and sizes of
twin_engine.py; everything else in them stays."""
# SPDX-License-Identifier: Apache-2.0
import array
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import twin
import twin_engine
import twin_text
from written import npy, safetensors

TUTTI, RECIPES = sys.argv[1], pathlib.Path(sys.argv[2])
TOLERANCE = 1e-4  # of f32 sums in another order, after 15 and 18 iterations


def run(folder, recipe, weights):
    """The rows of the run's log."""
    safetensors(folder / "first.safetensors", {f"model.{n}": w for n, w in weights.items()})
    log = [{"name": "jsonl", "filename": "log.jsonl"}]
    (folder / "run.json").write_text(json.dumps(recipe | {"load_weights": "first.safetensors", "threads": 1, "loggers": log}))
    done = subprocess.run([TUTTI, "run", "run.json"], cwd=folder, capture_output=True, text=True, check=False,
                          env=os.environ | {"TUTTI_TUNE": "0"})
    if done.returncode:
        sys.exit(f"FAILED: {recipe['name']}: {done.stderr}")
    rows = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
    return [r["values"] for r in rows if r["kind"] == "metrics"]


def logged(rows, name):
    return [v[name] for v in rows if name in v]


def of(folder, name, source):
    """A part of the recipe on the arrays called `name`."""
    data = {"name": "npy", "inputs": f"{name}.x.npy", "targets": f"{name}.y.npy", "classes": source.pop("classes")}
    return source | {"dataset": data, "shuffle": False}


def pictures(folder):
    recipe = json.loads((RECIPES / "glyphs_engine.json").read_text())
    for name, count in twin_engine.COUNT.items():
        x, classes = twin_engine.pictures(name)
        npy(folder / f"{name}.x.npy", "<f4", (count, twin_engine.SIDE, twin_engine.SIDE, 1), x)
        npy(folder / f"{name}.y.npy", "<i4", (count,), classes)
    few = {"batch_size": twin_engine.BATCH, "classes": twin.CLASSES}
    recipe["train"] = of(folder, "training", recipe["train"] | few)
    recipe["eval"] = [of(folder, e["label"], e | few) for e in recipe["eval"]]
    assert recipe["max_epochs"] == twin_engine.EPOCHS and recipe["train"]["transforms"][0]["mean"] == [twin_engine.MEAN]
    rows = run(folder, recipe, twin_engine.convolution_weights())
    found = {"losses": logged(rows, "loss/train/total")}
    for name in twin_engine.COUNT:
        pairs = zip(*(logged(rows, f"metrics/{name}/{m}") for m in ("accuracy", "cross_entropy")))
        found[name] = [list(p) for p in pairs][:twin_engine.EPOCHS]  # at COMPLETED it is evaluated once more
    return found


def texts(folder):
    recipe = json.loads((RECIPES / "shakespeare_gpt_engine.json").read_text())
    tokens, labels = twin_engine.texts()
    for part, values in (("x", tokens), ("y", labels)):
        npy(folder / f"all.{part}.npy", "<i4", (twin_text.SAMPLES, twin_text.LENGTH), array.array("i", values))
    recipe["train"] = of(folder, "all", recipe["train"] | {"batch_size": twin_engine.ROWS, "classes": twin_text.WORDS})
    evaluation = recipe["eval"][0]
    evaluation["on"]["every"] = twin_engine.EVALUATED
    recipe["eval"] = [of(folder, "all", evaluation | {"classes": twin_text.WORDS})]
    recipe["schedulers"][0]["t_warmup"] = f"{twin_engine.WARMUP}ba"
    recipe |= {"model": twin_text.MODELS["gpt2"], "max_iters": twin_engine.ITERATIONS,
               "callbacks": [c for c in recipe["callbacks"] if c["name"] != "generate"]}  # there are no words to these tokens
    rows = run(folder, recipe, twin_text.weights("gpt2"))
    return {"losses": logged(rows, "loss/train/total"), "validation": logged(rows, "metrics/validation/language_cross_entropy")}


def flat(values):
    return [x for v in values for x in (v if isinstance(v, list) else [v])]


def main():
    recorded, wrong = json.loads(pathlib.Path(__file__).with_name("engines.json").read_text()), 0
    for name, answer in (("glyphs_engine", pictures), ("shakespeare_gpt_engine", texts)):
        with tempfile.TemporaryDirectory() as folder:
            ours = answer(pathlib.Path(folder))
        for part, theirs in recorded[name].items():
            a, b = flat(ours[part]), flat(theirs)
            apart = max((abs(x - y) for x, y in zip(a, b)), default=0.0)
            bad = len(a) != len(b) or not b or apart > TOLERANCE
            wrong += bad
            print(f"{'FAILED: ' if bad else ''}{name}, {part}: {len(a)} numbers of {len(b)}, {apart:.3g} apart")
            if bad:
                print(f"  {a}\n  {b}")
    print(f"Ignite's answers: {recorded['from']}")
    return wrong > 0


sys.exit(main())
