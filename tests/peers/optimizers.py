#!/usr/bin/env python3
"""optimizers.py - prints what torch's optimizers make of the gradients of plugins/optimizers/optimizer_check.h: the
first four weights after its steps, for each variant of the tests in plugins/optimizers.

Run by hand, never by a test, with the Python of a virtual environment outside of the tree that has `torch`; the tests
hold the answers (`torch` of a variant)."""
import pathlib
import re

import torch

torch.set_default_dtype(torch.float64)
OPTIMIZERS = pathlib.Path(__file__).resolve().parents[2] / "plugins/optimizers"
NAMES = {"adadelta": "Adadelta", "adagrad": "Adagrad", "adam": "Adam", "adamw": "AdamW", "nadam": "NAdam", "radam": "RAdam",
         "rmsprop": "RMSprop", "sgd": "SGD"}
STEPS, COUNT, MASK = 12, 67, 0xFFFFFFFF


def number(a, b):
    """drill_number of optimizer_check.h."""
    x = (a * 2654435761 + b * 40503 + 12345) & MASK
    x ^= x >> 13
    x = x * 1597334677 & MASK
    x ^= x >> 16
    return (x >> 8) / 8388608.0 - 1.0


def variants(name):
    """The learning rate and the settings of each variant, as the test has them."""
    text = (OPTIMIZERS / name / f"{name}_test.c").read_text()
    lr = float(re.search(rf'"{name}",\s*([0-9.]+),', text).group(1))
    text = text[text.index("variants[] = {"):text.index("/* ", text.index("variants[] = {"))]
    found = []
    for block in re.findall(r"\{\s*\{(\{.*?\})\}\s*,\s*\d", text, flags=re.S):
        one = {}
        for key, kind, x, y in re.findall(r'\{"(\w+)", \'(\w)\', ([^,]+), ([^}]+)\}', block):
            one[key] = (float(x), float(y)) if kind == "p" else bool(float(x)) if kind == "b" else float(x)
        found.append(one)
    return lr, found


print(f"torch {torch.__version__}")
for name, torchs in NAMES.items():
    lr, found = variants(name)
    for k, settings in enumerate(found):
        w = torch.nn.Parameter(torch.tensor([number(i, 1000) for i in range(COUNT)]))
        optimizer = getattr(torch.optim, torchs)([w], lr=lr, **settings)
        for t in range(1, STEPS + 1):
            optimizer.param_groups[0]["lr"] = lr * (1.0 - 0.05 * (t - 1))
            w.grad = torch.tensor([number(i, t) for i in range(COUNT)])
            optimizer.step()
        print(f"{name}[{k}]: {{{', '.join(f'{x:.10f}' for x in w.detach()[:4].tolist())}}}")
