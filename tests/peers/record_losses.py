#!/usr/bin/env python3
"""record_losses.py [NET...] - writes losses.json: what Composer's trainer makes of the networks of nets.py, without an
algorithm, with each one, and with each two of them; of the networks that are named, or of all.

Run by hand, never by a test, with the Python of a virtual environment outside of the tree that has
`mosaicml==0.32.1` and `transformers==4.40.2`; half a second of one processor for each run."""
# SPDX-License-Identifier: Apache-2.0
import copy
import json
import logging
import pathlib
import sys
import tempfile
import warnings

import composer
import composer_nets
import torch
import transformers
import twin
from composer import algorithms
from composer.callbacks import CheckpointSaver
from composer.loggers import InMemoryLogger
from composer_draws import chance
from nets import NETS

warnings.filterwarnings("ignore")
logging.disable(logging.WARNING)
torch.set_num_threads(1)
FILE = pathlib.Path(__file__).with_name("losses.json")
UPSTREAM = {"colout": "ColOut", "cutmix": "CutMix", "cutout": "CutOut", "ema": "EMA", "mixup": "MixUp", "sam": "SAM", "swa": "SWA",
            "augmix": "AugMix", "randaugment": "RandAugment", "low_precision_groupnorm": "LowPrecisionGroupNorm",
            "blurpool": "BlurPool", "ghost_batchnorm": "GhostBatchNorm", "low_precision_layernorm": "LowPrecisionLayerNorm"}
KEYS = {"selective_backprop": {"input_key": "input_ids", "target_key": "labels"}, "label_smoothing": {"target_key": "labels"}}


class Saver(CheckpointSaver):
    """Saves nothing: EMA puts its average into the model where a checkpoint is due, and Composer cannot save all of them."""

    def _save_checkpoint(self, state, logger):
        pass


class Head(composer.Callback):
    """The head's first numbers as a checkpoint of the latest batch has them."""

    def __init__(self, net):
        self.net = net

    def batch_checkpoint(self, state, logger):
        self.values = composer_nets.head(self.net, state.model)


def algorithm(net, name):
    kind = getattr(algorithms, UPSTREAM.get(name, name.title().replace("_", "")))
    return kind(**net.algorithms[name], **(KEYS.get(name, {}) if net.name not in composer_nets.IMAGES else {}))


def record(net, names):
    log, head = InMemoryLogger(), Head(net)
    with tempfile.TemporaryDirectory() as folder:
        fit(net, names, [log], [head], folder)
    return {"losses": [round(float(v), 7) for _, v in log.data["loss/train/total"]],
            "eval": round(float(log.data["metrics/eval/CrossEntropy"][-1][1]), 7),
            "head": [round(v, 7) for v in head.values]}


def fit(net, names, loggers, callbacks, folder):
    model, data = composer_nets.make(net)
    loader, same = (torch.utils.data.DataLoader(d, twin.BATCH) for d in (data, copy.deepcopy(data)))
    trainer = composer.Trainer(
        model=model, train_dataloader=loader, eval_dataloader=same,
        eval_interval=f"{twin.EPOCHS}ep", max_duration=f"{twin.EPOCHS}ep", device="cpu", precision="fp32",
        optimizers=torch.optim.SGD(model.parameters(), lr=net.rate, momentum=twin.MOMENTUM), loggers=loggers,
        callbacks=[Saver(folder=folder, save_interval="9ba"), *callbacks], progress_bar=False,
        algorithms=[algorithm(net, n) for n in names])
    composer_nets.fill(net, model)
    chance.trainer, chance.step = trainer, -1
    trainer.fit()


def runs(net):
    found = {}
    for names in net.runs:
        try:
            found[" ".join(names)] = record(net, names)
        except Exception as e:  # noqa: BLE001 - a pair that upstream cannot do is no answer
            found[" ".join(names)] = None
            print(f"{net.name}: {names}: {type(e).__name__}: {str(e)[:200]}", file=sys.stderr)
    return found


def main(asked):
    known = json.loads(FILE.read_text()) if FILE.exists() else {}
    for name in asked or NETS:
        known[name] = runs(NETS[name]())
    known["from"] = f"composer {composer.__version__}, torch {torch.__version__}, transformers {transformers.__version__}"
    parts = [f' "from": {json.dumps(known["from"])}']
    for name in (n for n in NETS if n in known):
        lines = (f"  {json.dumps(k)}: {json.dumps(v)}" for k, v in known[name].items())
        parts.append(f' {json.dumps(name)}: {{\n' + ",\n".join(lines) + "\n }")
    FILE.write_text("{\n" + ",\n".join(parts) + "\n}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
