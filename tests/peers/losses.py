#!/usr/bin/env python3
"""losses.py - writes what torch's losses make of some outputs and targets to tests/models/losses.json: the loss of the
batch, of each sample, and the gradient of the first.

Run by hand, never by a test, with the Python of a virtual environment outside of the tree that has `torch`. The
numbers are those of f32, computed in f64."""
import json
import pathlib

import torch
import torch.nn.functional as f

MASK = 0xFFFFFFFF
FILE = pathlib.Path(__file__).resolve().parents[1] / "models/losses.json"


def number(a):
    x = (a * 2654435761 + 12345) & MASK
    x ^= x >> 13
    return (x * 1597334677 & MASK) >> 16


def floats(seed, *shape, low=-2.0, high=2.0):
    n = torch.Size(shape).numel()
    values = [low + (high - low) * (number(seed * 1000 + k) % 1000) / 1000 for k in range(n)]
    return torch.tensor(values, dtype=torch.float32).double().reshape(shape)


def means(each, reduction):
    """Of each sample."""
    rows = each.reshape(each.shape[0], -1)
    return rows.sum(1) if reduction == "sum" else rows.mean(1)


def case(settings, x, y, function, dtype="f32"):
    """`function` gives the loss of the batch and those of samples."""
    x = x.clone().requires_grad_()
    loss, each = function(x, y)
    loss.backward()
    tell = lambda t: [float(f"{v:.9g}") for v in t.detach().reshape(-1).tolist()]
    return {"loss": settings, "x": {"shape": list(x.shape), "data": tell(x)},
            "y": {"dtype": dtype, "shape": list(y.shape), "data": tell(y)},
            "want": tell(loss)[0], "each": tell(each), "gradient": tell(x.grad)}


def numbers(name, function, **settings):
    """A loss of numbers for both reductions: (B, K) against (B, K), and (B, 1) against (B)."""
    for reduction in ("mean", "sum"):
        told = {"name": name} | settings | ({"reduction": "sum"} if reduction == "sum" else {})
        for x, y in ((floats(1, 4, 3), floats(2, 4, 3)), (floats(3, 5, 1), floats(4, 5))):
            def both(x, y, reduction=reduction):
                y = y.reshape(x.shape)
                return function(x, y, reduction), means(function(x, y, "none"), reduction)
            yield case(told, x, y, both)


def cases():
    yield from numbers("mse", lambda x, y, r: f.mse_loss(x, y, reduction=r))
    yield from numbers("l1", lambda x, y, r: f.l1_loss(x, y, reduction=r))
    for beta in (1.0, 0.25, 0.0):
        yield from numbers("smooth_l1", lambda x, y, r: f.smooth_l1_loss(x, y, reduction=r, beta=beta), beta=beta)
    for delta in (1.0, 0.3):
        yield from numbers("huber", lambda x, y, r: f.huber_loss(x, y, reduction=r, delta=delta), delta=delta)


FILE.write_text('{"from": "torch %s, by tests/peers/losses.py",\n "cases": [\n%s\n]}\n'
                % (torch.__version__.split("+")[0], ",\n".join(json.dumps(c) for c in cases())))
