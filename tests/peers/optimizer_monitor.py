#!/usr/bin/env python3
"""optimizer_monitor.py - writes what Composer's OptimizerMonitor logs of its optimizers to optimizer_monitor.json: three
batches each, of weights and gradients that are number() below, and how far each weight moves in them.

Run by hand, never by a test, with the Python of a virtual environment outside of the tree that has `mosaicml`."""
import json
import math
import pathlib
from types import SimpleNamespace

import composer
import torch
from composer.callbacks import OptimizerMonitor
from composer.optim import DecoupledAdamW, DecoupledSGDW

FILE = pathlib.Path(__file__).with_suffix(".json")
# The weights of train_optimizer_monitor_test's model; number() counts them in this order.
WEIGHTS = {"body.linear0.weight": (6, 784), "body.linear0.bias": (6,), "body.head.weight": (10, 6), "body.head.bias": (10,)}
BATCHES, MASK = 3, 0xFFFFFFFF
CASES = [{"name": "decoupled_adamw", "lr": 0.01, "weight_decay": 0.0},
         {"name": "decoupled_adamw", "lr": 0.01, "weight_decay": 0.02, "amsgrad": True},
         {"name": "decoupled_sgdw", "lr": 0.1, "momentum": 0.9}]


def number(a, b):
    """drill_number of plugins/optimizers/drill.h."""
    x = (a * 2654435761 + b * 40503 + 12345) & MASK
    x ^= x >> 13
    x = x * 1597334677 & MASK
    x ^= x >> 16
    return (x >> 8) / 8388608.0 - 1.0


def filled(shape, seed):
    return torch.tensor([number(i, seed) for i in range(math.prod(shape))], dtype=torch.float32).reshape(shape)


def batches(settings):
    """What is logged in each batch, and under "moved" how far the weights went."""
    kind = {"decoupled_adamw": DecoupledAdamW, "decoupled_sgdw": DecoupledSGDW}[settings["name"]]
    named = [(name, torch.nn.Parameter(filled(shape, 1000 + k))) for k, (name, shape) in enumerate(WEIGHTS.items())]
    optimizer = kind([p for _, p in named], **{key: value for key, value in settings.items() if key != "name"})
    monitor = OptimizerMonitor(batch_log_interval=1)
    for batch in range(1, BATCHES + 1):
        before = [p.detach().clone() for _, p in named]
        for k, (_, p) in enumerate(named):
            p.grad = filled(p.shape, 100 * batch + k)
        optimizer.step()
        logged = {}
        state = SimpleNamespace(model=SimpleNamespace(named_parameters=lambda: named), optimizers=[optimizer],
                                timestamp=SimpleNamespace(batch=SimpleNamespace(value=batch)), fsdp_enabled=False)
        monitor.batch_end(state, SimpleNamespace(log_metrics=logged.update))
        moved = {name: (p.detach() - old).double().norm().item() for (name, p), old in zip(named, before)}
        yield {"logged": {name: float(value) for name, value in sorted(logged.items())}, "moved": moved}


FILE.write_text('{"from": "composer %s, torch %s, by tests/peers/optimizer_monitor.py",\n "weights": %s,\n "cases": [\n%s\n]}\n'
                % (composer.__version__, torch.__version__.split("+")[0], json.dumps(list(WEIGHTS)),
                   ",\n".join(json.dumps({"optimizer": case, "batches": list(batches(case))}) for case in CASES)))
