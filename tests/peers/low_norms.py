#!/usr/bin/env python3
"""low_norms.py - writes what Composer's norms of 16 bits make of some numbers to low_norms.json: the output, and the
gradients of what they read.

Run by hand, never by a test, with the Python of a virtual environment outside of the tree that has `mosaicml`. Channels
are the last axis here, as Tutti has them. Upstream's layers ask whether a GPU casts, on a CPU too: that is set here."""
import json
import pathlib

import composer
import torch
from composer.algorithms.low_precision_groupnorm.low_precision_groupnorm import LPGroupNorm
from composer.algorithms.low_precision_layernorm.low_precision_layernorm import LPLayerNorm

FILE = pathlib.Path(__file__).with_name("low_norms.json")
SHAPE = B, P, C = 4, 5, 8
GROUPS, EPS = 2, 1e-3


def filled(seed, *shape):
    """The numbers of low_norms_test.c's fill()."""
    n = torch.Size(shape).numel()
    return torch.tensor([(k * 37 + seed * 11) % 101 / 101 - 0.5 for k in range(n)], dtype=torch.float64).float().reshape(shape)


def answers(norm, dtype, swap):
    """`swap`: the layer wants channels second."""
    with torch.no_grad():
        norm.weight.copy_(filled(2, C))
        norm.bias.copy_(filled(3, C))
    x = filled(1, *SHAPE).requires_grad_()
    torch.set_autocast_enabled("cuda", True)
    torch.set_autocast_dtype("cpu", dtype)
    y = norm(x.transpose(1, 2)).transpose(1, 2) if swap else norm(x)
    torch.set_autocast_enabled("cuda", False)
    assert y.dtype == dtype
    (y.float() * filled(4, *SHAPE)).sum().backward()
    tell = lambda t: [float(f"{v:.9g}") for v in t.detach().float().reshape(-1).tolist()]
    return {"y": tell(y), "dx": tell(x.grad), "dweight": tell(norm.weight.grad), "dbias": tell(norm.bias.grad)}


def cases():
    for precision, dtype in (("amp_bf16", torch.bfloat16), ("amp_fp16", torch.float16)):
        yield {"layer": "low_precision_layer_norm", "precision": precision} | answers(LPLayerNorm(C, EPS), dtype, False)
        yield {"layer": "low_precision_group_norm", "precision": precision} | answers(LPGroupNorm(GROUPS, C, EPS), dtype, True)


FILE.write_text('{"from": "composer %s, torch %s, by tests/peers/low_norms.py",\n "cases": [\n%s\n]}\n'
                % (composer.__version__, torch.__version__.split("+")[0], ",\n".join(json.dumps(c) for c in cases())))
