#!/usr/bin/env python3
"""length_groups.py - orders of Hugging Face's LengthGroupedSampler, for tests/unit/train/epoch_sampler_test.c: digests of the
order that it makes of lengths and of a permutation that are given by formulas.  Wants transformers and torch."""
import torch
from transformers.trainer_pt_utils import get_length_grouped_indices

CASES = [(1, 1), (7, 8), (40, 4), (333, 8), (1000, 4), (5000, 6), (2048, 16)]


def digest(numbers):
    h = 0xCBF29CE484222325
    for n in numbers:
        h = ((h ^ int(n)) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return h


def order(n, batch):
    lengths = [(k * k * 7 + 3 * k) % 97 + k % 5 for k in range(n)]
    torch.randperm = lambda size, generator=None: torch.tensor([(k * 7919 + 5) % size for k in range(size)])
    return get_length_grouped_indices(lengths, batch)


if __name__ == "__main__":
    for n, batch in CASES:
        made = order(n, batch)
        assert sorted(made) == list(range(n))
        print(f"    {{{n}, {batch}, {digest(made):#x}u}},")
