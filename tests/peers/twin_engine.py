"""twin_engine.py - the two engine recipes on small data, their first weights and their data by formula: for both sides of
engines.json."""
# SPDX-License-Identifier: Apache-2.0
import array
import math
import zlib

import twin
import twin_text

SIDE, BATCH, EPOCHS, CHANNELS = 16, 16, 3, (16, 32, 64)
COUNT = {"training": 80, "validation": 48}
MEAN, STD = 0.13, 0.31  # of the recipe
ITERATIONS, WARMUP, ROWS, EVALUATED = 18, 5, 12, 6  # of the texts; samples a batch; iterations between evaluations


def pictures(name):
    """Images (COUNT, SIDE, SIDE, 1) from 0 to 1, each with a bright square whose place tells the class, and the classes."""
    count = COUNT[name]
    noise = twin.numbers(zlib.crc32(name.encode()) % 65536, count * SIDE * SIDE)
    images, classes = array.array("f", ((v + 0.5) * 0.4 for v in noise)), array.array("i")
    for k in range(count):
        label = k * 7 % twin.CLASSES
        classes.append(label)
        for y in range(4):
            for x in range(4):
                images[(k * SIDE + y + label // 4 * 4) * SIDE + x + label % 4 * 4] += 0.5
    return images, classes


def convolution_weights():
    """{name: (shape, values)} of the network `cnn`; convolutions have (out, height, width, in)."""
    found, into = {}, 1
    for k, out in enumerate(CHANNELS):
        found[f"body.conv{k}.weight"] = (out, 3, 3, into)
        found |= {f"body.norm{k}.{part}": (out,) for part in ("weight", "bias", "running_mean", "running_var")}
        into = out
    found |= {"body.head.weight": (twin.CLASSES, into), "body.head.bias": (twin.CLASSES,)}
    return {name: (shape, weight(name, shape)) for name, shape in found.items()}


def weight(name, shape):
    if "norm" in name or len(shape) == 1:
        return array.array("f", [float("norm" in name and name.endswith(("weight", "running_var")))] * math.prod(shape))
    return twin.weight(name, shape)


def rate(iteration):
    """The factor of the recipe's schedule, of ITERATIONS: one of Composer's, which are one iteration behind the clock."""
    step = max(iteration - 1, 0)
    if step < WARMUP:
        return step / WARMUP
    return 0.1 + 0.9 * (1 + math.cos(math.pi * (step - WARMUP) / (ITERATIONS - WARMUP))) / 2


def texts():
    """Tokens and what each is to become, both (SAMPLES, LENGTH)."""
    return twin_text.data()
