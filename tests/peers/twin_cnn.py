"""twin_cnn.py - a small convolutional network with group norms and dropout, on pictures of bytes in three colours: for both
sides of losses.json."""
# SPDX-License-Identifier: Apache-2.0
import array

import twin

COLOURS, CHANNELS, GROUPS = 3, (8, 8, 16), 4
# Dropout is there for gyro_dropout to replace; alone it keeps everything.
MODEL = {"name": "cnn", "channels": list(CHANNELS), "norm_groups": GROUPS, "dropout": 1e-9}
TRANSFORMS = [{"name": "to_float"}]
# Those that the other networks cannot have, each alone and with all others; of nine batches a period of masks has six.
ONLY_HERE = {
    "augmix": {"severity": 5, "alpha": 0.8},
    "gyro_dropout": {"p": 0.5, "sigma": 3, "tau": 2},
    "low_precision_groupnorm": {},
    "progressive_resizing": {"mode": "crop", "initial_scale": 0.5, "finetune_fraction": 0.34, "delay_fraction": 0.0},
    "randaugment": {"severity": 6, "depth": 2},
}
ALGORITHMS = dict(sorted((ONLY_HERE | {name: twin.ALGORITHMS[name] for name in (
    "blurpool", "colout", "cutmix", "cutout", "ema", "factorize", "gradient_clipping", "label_smoothing", "layer_freezing",
    "mixup", "sam", "selective_backprop", "squeeze_excite", "swa", "weight_standardization")}).items()))
# Where the answers are others on purpose: docs/differences.md.
DIFFER = frozenset({("gyro_dropout", "sam"), ("gyro_dropout", "selective_backprop")})


def convolutions():
    """{path: (out, side, side, in)}"""
    return {f"body.conv{k}": (out, 3, 3, into) for k, (into, out) in enumerate(zip((COLOURS, *CHANNELS), CHANNELS))}


def weights():
    return twin.weights_of(convolutions(), "body.head", CHANNELS[-1])


def data():
    """Pictures (SAMPLES, SIDE, SIDE, COLOURS) of bytes, each with a square whose place tells the class, and the classes."""
    _, classes = twin.data()
    values = twin.numbers(98, twin.SAMPLES * twin.SIDE * twin.SIDE * COLOURS)
    bright = (0.2, 0.35, 0.1)
    pictures = [60 + 80 * (v + 0.5) + 90 * bright[k % COLOURS] for k, v in enumerate(values)]
    for k, label in enumerate(classes):
        for y in range(4):
            for x in range(4 * COLOURS):
                pictures[((k * twin.SIDE + y + label // 4 * 4) * twin.SIDE + label % 4 * 4) * COLOURS + x] += 80
    return array.array("B", [min(int(v), 255) for v in pictures]), classes
