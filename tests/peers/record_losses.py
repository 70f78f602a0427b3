#!/usr/bin/env python3
"""record_losses.py - prints losses.json: what Composer's trainer makes of twin.py's network, with each algorithm and pair.

Run by hand, never by a test, with the Python of a virtual environment outside of the tree that has
`mosaicml==0.32.1`; a minute or three."""
# SPDX-License-Identifier: Apache-2.0
import json
import logging
import sys
import tempfile
import warnings

import composer
import torch
import twin
from composer import algorithms
from composer.loggers import InMemoryLogger
from composer.models import ComposerClassifier
from torch import nn

warnings.filterwarnings("ignore")
logging.disable(logging.WARNING)
UPSTREAM = {"blurpool": "BlurPool", "ema": "EMA", "ghost_batchnorm": "GhostBatchNorm", "gradient_clipping": "GradientClipping",
            "label_smoothing": "LabelSmoothing", "progressive_resizing": "ProgressiveResizing", "sam": "SAM", "swa": "SWA",
            "weight_standardization": "WeightStandardization"}


def conv(into, out, side, stride):
    return nn.Conv2d(into, out, side, stride, side // 2, bias=False)


class Block(nn.Module):
    def __init__(self, into, out):
        super().__init__()
        stride = 1 if into == out else 2
        self.conv1, self.norm1 = conv(into, out, 3, stride), nn.BatchNorm2d(out)
        self.conv2, self.norm2 = conv(out, out, 3, 1), nn.BatchNorm2d(out)
        if stride == 2:
            self.shortcut_conv, self.shortcut_norm = conv(into, out, 1, 2), nn.BatchNorm2d(out)

    def forward(self, x):
        y = self.norm2(self.conv2(torch.relu(self.norm1(self.conv1(x)))))
        return torch.relu(y + (self.shortcut_norm(self.shortcut_conv(x)) if hasattr(self, "shortcut_conv") else x))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        a, b, c = twin.WIDTHS
        self.conv, self.norm = conv(1, a, 3, 1), nn.BatchNorm2d(a)
        for k, (into, out) in enumerate(((a, a), (a, b), (b, c))):
            setattr(self, f"stage{k + 1}", nn.Sequential())
            getattr(self, f"stage{k + 1}").add_module("block0", Block(into, out))
        self.head = nn.Linear(c, twin.CLASSES)
        with torch.no_grad():
            for name, (shape, values) in twin.weights().items():
                w = torch.tensor(values).reshape(shape)
                self.state_dict()[name].copy_(w.permute(0, 3, 1, 2) if len(shape) == 4 else w)

    def forward(self, x):
        return self.head(self.stage3(self.stage2(self.stage1(torch.relu(self.norm(self.conv(x)))))).mean((2, 3)))


class Head(composer.Callback):
    """The head's first numbers as a checkpoint of the latest batch has them."""

    def batch_checkpoint(self, state, logger):
        self.values = state.model.module.head.weight.detach().reshape(-1)[:8].tolist()


def record(names):
    images, classes = twin.data()
    x = torch.tensor(images).reshape(twin.SAMPLES, 1, twin.SIDE, twin.SIDE)
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, torch.tensor(classes).long()), twin.BATCH)
    log, net, head = InMemoryLogger(), Net(), Head()
    with tempfile.TemporaryDirectory() as folder:
        fit(names, loader, net, [log], [head], folder)
    return {"losses": [round(float(v), 7) for _, v in log.data["loss/train/total"]],
            "eval": round(float(log.data["metrics/eval/CrossEntropy"][-1][1]), 7),
            "head": [round(v, 7) for v in head.values]}


def fit(names, loader, net, loggers, callbacks, folder):
    """EMA puts its average into a checkpoint, where one is saved."""
    trainer = composer.Trainer(
        model=ComposerClassifier(net, num_classes=twin.CLASSES), train_dataloader=loader, eval_dataloader=loader,
        eval_interval=f"{twin.EPOCHS}ep", max_duration=f"{twin.EPOCHS}ep", device="cpu", precision="fp32",
        optimizers=torch.optim.SGD(net.parameters(), lr=twin.RATE, momentum=twin.MOMENTUM), loggers=loggers,
        callbacks=callbacks, save_folder=folder, save_interval="9ba", progress_bar=False,
        algorithms=[getattr(algorithms, UPSTREAM[n])(**twin.ALGORITHMS[n]) for n in names])
    trainer.fit()


found = {"from": f"composer {composer.__version__}, torch {torch.__version__}", "runs": {}}
for one in twin.RUNS:
    try:
        found["runs"][" ".join(one)] = record(one)
    except Exception as e:  # noqa: BLE001 - a pair that upstream cannot do is no answer
        print(f"{one}: {e}", file=sys.stderr)
runs = ",\n".join(f"  {json.dumps(k)}: {json.dumps(v)}" for k, v in found["runs"].items())
print(f'{{"from": {json.dumps(found["from"])},\n "runs": {{\n{runs}\n }}}}')
