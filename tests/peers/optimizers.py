#!/usr/bin/env python3
"""optimizers.py - prints what the optimizers of torch and timm make of the gradients of plugins/optimizers/drill.h: the
first four weights after its steps, and of those that update whole weights the norm too, for each variant of the tests
in plugins/optimizers.

Run by hand, never by a test, with the Python of a virtual environment outside of the tree that has `torch` and `timm`;
the tests hold the answers (`torch` of a variant, or `want` and `norm`)."""
import math
import pathlib
import re

import timm
import timm.optim
import torch

torch.set_default_dtype(torch.float64)
OPTIMIZERS = pathlib.Path(__file__).resolve().parents[2] / "plugins/optimizers"
NAMES = {"adadelta": "Adadelta", "adagrad": "Adagrad", "adam": "Adam", "adamw": "AdamW", "nadam": "NAdam", "radam": "RAdam",
         "rmsprop": "RMSprop", "sgd": "SGD"}


def muon(params, lr, **settings):
    """torch's, and for weights that it refuses AdamW, as it advises."""
    ours = {key[len("adamw_"):]: settings.pop(key) for key in list(settings) if key.startswith("adamw_")}
    return torch.optim.AdamW(params, **ours) if ours else torch.optim.Muon(params, lr=lr, **settings)


def lamb(params, lr, **settings):
    """timm's, in which no number stands for 0 of ours."""
    settings["max_grad_norm"] = settings["max_grad_norm"] or None
    return timm.optim.Lamb(params, lr=lr, **settings)


# Those that update whole weights, and what the tests do not say of their settings.
WHOLE = {"adafactor": (torch.optim.Adafactor, {"foreach": False}),
         "lamb": (lamb, {"foreach": False}),
         "lars": (timm.optim.Lars, {"foreach": False}),
         "muon": (muon, {})}
# Those that torch does not have, element by element.
OTHERS = {"lion": (timm.optim.Lion, {"foreach": False})}
STEPS, COUNT, MASK = 12, 67, 0xFFFFFFFF


def number(a, b):
    """drill_number of drill.h."""
    x = (a * 2654435761 + b * 40503 + 12345) & MASK
    x ^= x >> 13
    x = x * 1597334677 & MASK
    x ^= x >> 16
    return (x >> 8) / 8388608.0 - 1.0


def settings_in(block, word):
    """The settings of one variant, as the test has them; `word` is that of type 'e'."""
    found = {}
    for key, kind, x, y in re.findall(r'\{"(\w+)",\s*\'(\w)\',\s*([^,]+),\s*([^,}]+)\}', block):
        if kind != "e":
            found[key] = {"p": (float(x), float(y)), "b": bool(float(x)), "i": int(float(x))}.get(kind, float(x))
        else:
            found[key] = word.strip('"')
    return found


def test_of(name):
    """The learning rate of a test and the text of its variants."""
    text = (OPTIMIZERS / name / f"{name}_test.c").read_text()
    lr = float(re.search(rf'"{name}",\s*([0-9.]+),', text).group(1))
    begin = text.index("variants[] = {")
    return lr, text[begin:text.index("\n};", begin)]


def variants(name):
    """The learning rate and the settings of each variant, and the shape where there is one."""
    lr, text = test_of(name)
    blocks = re.findall(r"\{\s*\{(\{.*?\})\}\s*,\s*(?:(NULL|\"\w+\")\s*,\s*)?\d+(?:,\s*\d+,\s*\{([0-9, ]+)\})?", text, flags=re.S)
    return lr, [(settings_in(block, word), [int(n) for n in shape.split(",")] if shape else [COUNT])
                for block, word, shape in blocks]


def stepped(make, lr, shape, dtype):
    """The weights after all steps."""
    count = math.prod(shape)
    w = torch.nn.Parameter(torch.tensor([number(i, 1000) for i in range(count)], dtype=dtype).reshape(shape))
    optimizer = make([w], lr)
    first = optimizer.param_groups[0]["lr"]
    for t in range(1, STEPS + 1):
        optimizer.param_groups[0]["lr"] = first * (1.0 - 0.05 * (t - 1))
        w.grad = torch.tensor([number(i, t) for i in range(count)], dtype=dtype).reshape(shape)
        optimizer.step()
    return w.detach().flatten()


print(f"torch {torch.__version__}, timm {timm.__version__}")
for name in (*NAMES, *OTHERS, *WHOLE):
    kind, more = (OTHERS | WHOLE).get(name) or (getattr(torch.optim, NAMES[name]), {})
    rate, found = variants(name)
    for k, (settings, shape) in enumerate(found):
        # Muon rounds to 16 bits on its way: what it rounds must be the same numbers.
        dtype = torch.float32 if name == "muon" else torch.float64
        w = stepped(lambda params, lr, s=settings: kind(params, lr=lr, **s, **more), rate, shape, dtype)
        norm = f", {w.double().norm().item():.10f}" if name in WHOLE else ""
        print(f"{name}[{k}]: {{{', '.join(f'{x:.10f}' for x in w[:4].tolist())}}}{norm}")
