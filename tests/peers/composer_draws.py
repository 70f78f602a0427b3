"""composer_draws.py - once imported, Composer's algorithms draw what Tutti's do: the streams of draws.py.

`chance.trainer` is the trainer under way."""
# SPDX-License-Identifier: Apache-2.0
import types

import draws
import numpy as np
import torch
import twin
from composer.algorithms.colout import colout
from composer.algorithms.cutmix import cutmix
from composer.algorithms.cutout import cutout
from composer.algorithms.mixup import mixup
from composer.algorithms.selective_backprop import selective_backprop


class Chance:
    """The streams of the batch under way."""

    trainer, step, streams = None, -1, {}

    def of(self, who, again=False):
        """`again`: from the start, for a batch that SAM computes twice."""
        step = self.trainer.state.timestamp.batch.value
        if step != self.step:
            self.step, self.streams = step, {}
        if again or who not in self.streams:
            self.streams[who] = draws.Stream(twin.SEED, who, step)
        return self.streams[who]


class Instead:
    """A module but for what is given."""

    def __init__(self, module, **given):
        self.__dict__.update(given)
        self.module = module

    def __getattr__(self, name):
        return getattr(self.module, name)


chance = Chance()
held = types.SimpleNamespace()


def box(stream, size, cut):
    centre = stream.below(size)
    return np.clip(centre - cut // 2, 0, size), np.clip(centre + cut // 2, 0, size)


def cutmix_indices(x):
    """Our order of draws is another: the share, the partners, columns, rows."""
    stream = chance.of("cutmix", again=True)
    held.share, held.partners = stream.beta(twin.ALGORITHMS["cutmix"]["alpha"]), stream.order(len(x))
    return torch.tensor(held.partners)


def cutmix_box(height, width, share, **_):
    stream, side = chance.of("cutmix"), np.sqrt(1 - share)
    columns, rows = box(stream, width, int(width * side)), box(stream, height, int(height * side))
    return rows[0], columns[0], rows[1], columns[1]


def selected(*given, **named):
    """What Composer selects, in the order of the batch: it has no order of its own."""
    x, y = composer_selects(*given, **named)
    place = [next(k for k, own in enumerate(given[0]) if torch.equal(own, one)) for one in x]
    order = torch.tensor(place).argsort()
    return x[order], y[order]


composer_selects = selective_backprop.select_using_loss
selective_backprop.select_using_loss = selected
selective_backprop.np = Instead(np, random=types.SimpleNamespace(choice=lambda n, count, **_: np.array(
    chance.of("selective_backprop").ranks(n, twin.ALGORITHMS["selective_backprop"]["keep"], count))))
mixup.np = Instead(np, random=types.SimpleNamespace(beta=lambda a, _: chance.of("mixup", again=True).beta(a)))
mixup._gen_indices = lambda n: torch.tensor(chance.of("mixup").order(n))
cutmix._gen_indices, cutmix._gen_cutmix_coef, cutmix._rand_bbox = cutmix_indices, lambda alpha: held.share, cutmix_box
cutout.np = Instead(np, random=types.SimpleNamespace(randint=lambda n: chance.of("cutout").below(n)))
colout.torch = Instead(torch, randperm=lambda n: torch.tensor(chance.of("colout").order(n)))
