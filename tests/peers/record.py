#!/usr/bin/env python3
"""record.py - prints the numbers of other implementations that tests compare with, and their versions.

Run by hand, never by a test, with the Python of a virtual environment outside of the tree that has
`mosaicml==0.32.1`; the tests named below hold the answers."""
import composer
import torch
from composer.algorithms.gated_linear_units.gated_linear_unit_layers import BERTGatedFFOutput

torch.set_default_dtype(torch.float64)


def fill(shape, seed):
    """Element k is (37 k + 11 seed) mod 101 / 101 - 1/2."""
    n = torch.Size(shape).numel()
    return torch.tensor([((k * 37 + seed * 11) % 101) / 101 - 0.5 for k in range(n)]).reshape(shape)


def say(name, x):
    print(f"{name}: {{{', '.join(f'{v:.9g}' for v in x.detach().reshape(-1).tolist())}}}")


print(f"composer {composer.__version__}, torch {torch.__version__}")

# tests/peers/layers_test.c
unit = BERTGatedFFOutput(4, 6, 0.0, torch.nn.functional.gelu, 1e-12, False, True)
weights = [unit.gated_layer.weight, unit.non_gated_layer.weight, unit.non_gated_layer.bias, unit.wo.weight,
           unit.wo.bias, unit.layernorm.weight, unit.layernorm.bias]
with torch.no_grad():
    for k, w in enumerate(weights):
        w.copy_(fill(w.shape, k + 1))
say("gated linear unit", unit(fill((2, 3, 4), 8), fill((2, 3, 4), 9)))

# kernels/group_norm/group_norm_test.c; channels are the last dimension there
x, gamma, beta, dy = fill((2, 3, 4), 1), fill((4,), 2), fill((4,), 3), fill((2, 3, 4), 4)
for t in (x, gamma, beta):
    t.requires_grad_()
y = torch.nn.functional.group_norm(x.permute(0, 2, 1), 2, gamma, beta, 1e-5).permute(0, 2, 1)
y.backward(dy)
for name, t in (("group norm", y), ("dx", x.grad), ("dgamma", gamma.grad), ("dbeta", beta.grad)):
    say(name, t)
