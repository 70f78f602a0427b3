"""campaign.py - what the campaigns share: their options, a small run, what runs leave, the tally."""
# SPDX-License-Identifier: Apache-2.0
import argparse
import datetime
import json
import os
import pathlib
import platform
import random
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "e2e"))
from checkpoint import tensors  # noqa: E402, F401

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


class Failed(Exception):
    """A run that did not end as it should."""


def parser(text):
    """The options that every campaign has."""
    p = argparse.ArgumentParser(description=text.splitlines()[0])
    p.add_argument("tutti")
    p.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    p.add_argument("--hours", type=float, help="goes on for so long")
    p.add_argument("--tally", help="a line of JSON is added there")
    return p


class Tally:
    """What was tried, and what failed; a line of JSON in the end."""

    def __init__(self, campaign, given):
        self.values = {"campaign": campaign, "seed": given.seed, "failures": 0}
        self.path = given.tally
        self.begun = time.monotonic()
        self.hours = given.hours

    def add(self, name, n=1):
        self.values[name] = self.values.get(name, 0) + n

    def fail(self, text):
        self.values["failures"] += 1
        print(f"FAILED: {text}", flush=True)

    def is_over(self):
        """True once the hours that were given have passed."""
        return self.hours is not None and time.monotonic() - self.begun > 3600 * self.hours

    def finish(self):
        """Prints it; 1 when something failed, for sys.exit."""
        self.values["seconds"] = round(time.monotonic() - self.begun)
        self.values["date"] = datetime.date.today().isoformat()
        self.values["machine"] = f"{os.cpu_count()} CPUs, {platform.system()} {platform.machine()}"
        line = json.dumps(self.values)
        print(line)
        if self.path:
            with open(self.path, "a", encoding="utf-8") as f:
                f.write(line + "\n")
        return 1 if self.values["failures"] else 0


def environment(cache, **more):
    """One without what would change results or start the program twice."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("TUTTI_", "LD_PRELOAD"))}
    return kept | {"XDG_CACHE_HOME": str(cache), "GOMP_SPINCOUNT": "20000", "TUTTI_TUNE": "0"} | more


def losses(folder, name):
    """(batch, loss) of every row of a run's log, every line of which is JSON."""
    rows = []
    path = folder / "runs" / name / "log.jsonl"
    with open(path, encoding="utf-8") as f:
        for line in f:
            row = json.loads(line)
            if row["kind"] == "metrics" and "loss/train/total" in row["values"]:
                rows.append((row["batch"], row["values"]["loss/train/total"]))
    return rows
