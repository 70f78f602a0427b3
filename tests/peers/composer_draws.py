"""composer_draws.py - once imported, Composer's algorithms draw what Tutti's do: the streams of draws.py.

`chance.trainer` is the trainer under way."""
# SPDX-License-Identifier: Apache-2.0
import types

import draws
import numpy as np
import torch
import twin
import twin_bottleneck
from composer.algorithms.augmix import augmix
from composer.algorithms.colout import colout
from composer.algorithms.cutmix import cutmix
from composer.algorithms.cutout import cutout
from composer.algorithms.gyro_dropout import gyro_dropout
from composer.algorithms.mixup import mixup
from composer.algorithms.progressive_resizing import progressive_resizing
from composer.algorithms.randaugment import randaugment
from composer.algorithms.selective_backprop import selective_backprop
from composer.algorithms.stochastic_depth import stochastic_layers
from composer.algorithms.utils import augmentation_primitives


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
    """Our order of draws is another: the share, the permutation, columns, rows."""
    stream = chance.of("cutmix", again=True)
    held.share, held.perm = stream.beta(twin.ALGORITHMS["cutmix"]["alpha"]), stream.order(len(x))
    return torch.tensor(held.perm)


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


class Changes:
    """numpy.random for the changes of a picture: its draws, which `begin` starts."""

    def begin(self, who, change):
        def changed(*given, **named):
            self.stream = draws.Stream(twin.SEED, who, chance.trainer.state.timestamp.epoch.value, draws.TRANSFORM, held.sample)
            return change(*given, **named)
        return changed

    def choice(self, of):
        return of[self.stream.below(len(of))]

    def uniform(self, low=0.0, high=1.0):
        """Ours begin at 1, no change, where upstream's end there."""
        begin, end = (high, low) if high == 1 and low else (low, high)
        return begin + (end - begin) * self.stream.uniform()

    def random(self):
        return self.stream.uniform()

    def randint(self, low, high):
        return low + self.stream.below(high - low)

    def beta(self, alpha, _):
        return self.stream.beta(alpha)

    def dirichlet(self, alphas):
        share = np.array([self.stream.log_gamma(a) for a in alphas])
        share = np.exp(share - share.max())
        return share / share.sum()


class Masks:
    """The draws of gyro dropout's only layer, for numpy.random and torch: all masks, then which are in use in each period."""

    period = 0

    def of(self, place):
        return draws.Stream(twin.SEED, "gyro_dropout", draws.hashed("body.drop"), place=place)

    def rand(self, count, width):
        stream, self.period = self.of(0), 0
        return torch.tensor([[(stream.u32() >> 8) / 16777216 for _ in range(width)] for _ in range(count)])

    def choice(self, among, count):
        self.period += 1
        stream = self.of(self.period)
        return [stream.below(among) for _ in range(count)]


class Depth:
    """torch.bernoulli of stochastic depth: each forward draws from the start, once for each of its blocks."""

    drawn = 0

    def bernoulli(self, chance_of_one):
        again = self.drawn % sum(twin_bottleneck.BLOCKS) == 0
        self.drawn += 1
        return chance.of("stochastic_depth", again).uniform() < float(chance_of_one)


changes, masks = Changes(), Masks()
composer_selects = selective_backprop.select_using_loss
selective_backprop.select_using_loss = selected
selective_backprop.np = Instead(np, random=types.SimpleNamespace(choice=lambda n, count, **_: np.array(
    chance.of("selective_backprop").ranks(n, twin.ALGORITHMS["selective_backprop"]["keep"], count))))
mixup.np = Instead(np, random=types.SimpleNamespace(beta=lambda a, _: chance.of("mixup", again=True).beta(a)))
mixup._gen_indices = lambda n: torch.tensor(chance.of("mixup").order(n))
cutmix._gen_indices, cutmix._gen_cutmix_coef, cutmix._rand_bbox = cutmix_indices, lambda alpha: held.share, cutmix_box
cutout.np = Instead(np, random=types.SimpleNamespace(randint=lambda n: chance.of("cutout").below(n)))
colout.torch = Instead(torch, randperm=lambda n: torch.tensor(chance.of("colout").order(n)))
progressive_resizing.torch = Instead(torch, randint=lambda n, **_: torch.tensor([chance.of("progressive_resizing").below(n)]))
gyro_dropout.torch, gyro_dropout.np = Instead(torch, rand=masks.rand), Instead(np, random=masks)
stochastic_layers.torch = Instead(torch, bernoulli=Depth().bernoulli)
augmix.augmix_image = changes.begin("augmix", augmix.augmix_image)
randaugment.randaugment_image = changes.begin("randaugment", randaugment.randaugment_image)
for module in (augmix, randaugment, augmentation_primitives):
    module.np = Instead(np, random=changes)
