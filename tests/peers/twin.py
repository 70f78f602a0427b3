"""twin.py - a small residual network, its first weights and its data, by formula: for both sides of losses.json."""
# SPDX-License-Identifier: Apache-2.0
import array
import functools
import itertools
import math
import zlib

SAMPLES, SIDE, CLASSES, BATCH, EPOCHS, RATE, MOMENTUM, SEED = 24, 16, 10, 8, 3, 0.02, 0.9, 1
WIDTHS = (4, 8, 16)

# Settings under which an algorithm does something in nine batches; those of both packages.
ALGORITHMS = {
    "blurpool": {"min_channels": 1},
    "colout": {"p_row": 0.2, "p_col": 0.3},
    "cutmix": {"alpha": 1.0},
    "cutout": {"num_holes": 2, "length": 0.4},
    "ema": {"half_life": "2ba"},
    "factorize": {"min_channels": 1, "latent_channels": 0.5, "factorize_linears": False},
    "ghost_batchnorm": {"ghost_batch_size": 4},
    "gradient_clipping": {"clipping_type": "norm", "clipping_threshold": 0.5},
    "label_smoothing": {"smoothing": 0.2},
    "layer_freezing": {"freeze_start": 0.0, "freeze_level": 0.26},
    "mixup": {"alpha": 0.4},
    "progressive_resizing": {"initial_scale": 0.5, "finetune_fraction": 0.34, "delay_fraction": 0.0},
    "sam": {"rho": 0.05},
    "selective_backprop": {"start": 0.0, "end": 0.9, "keep": 0.5, "interrupt": 3},
    "squeeze_excite": {"min_channels": 1, "latent_channels": 2},
    "swa": {"swa_start": "1ep", "swa_end": "2ep", "update_interval": "1ba"},
    "weight_standardization": {},
}
# Where the answers are others on purpose: docs/differences.md.
DIFFER = frozenset({("blurpool", "weight_standardization"), ("cutmix", "mixup"), ("label_smoothing", "mixup"),
                    ("layer_freezing", "swa"), ("layer_freezing", "weight_standardization")})


@functools.cache
def numbers(seed, count):
    """`count` numbers from -0.5 to 0.5, of a multiplicative generator."""
    x, found = seed * 7919 + 1, []
    for _ in range(count + 3):
        x = x * 48271 % 2147483647
        found.append(x / 2147483647 - 0.5)
    return found[3:]


def canonical(name):
    """A weight's name without what a surgery puts around its layer: the same in both packages."""
    for there, here in (("parametrizations.weight.original", "weight"), ("batchnorm.", ""), ("module0", "0"), ("module1", "1"),
                        ("se.pool_and_mlp.2.weight", "squeeze"), ("se.pool_and_mlp.4.weight", "excite")):
        name = name.replace(there, here)
    kept = []
    for part in name.split("."):
        wrapped = part in ("conv", "norm") and kept and (part in kept[-1] or part == "conv" and kept[-1] in ("0", "1"))
        kept += [] if wrapped else [part]
    return ".".join(kept)


def weight(name, shape):
    """The values of a weight; those of convolutions have (out, height, width, in)."""
    name, count = canonical(name), math.prod(shape)
    if "norm" in name or len(shape) == 1:
        return array.array("f", [float("norm" in name and name.endswith(("weight", "running_var")))] * count)
    return array.array("f", (v * math.sqrt(24 / math.prod(shape[1:])) for v in numbers(zlib.crc32(name.encode()) % 65536, count)))


def convolutions():
    """{path: (out, side, side, in)}"""
    found = {"conv": (WIDTHS[0], 3, 3, 1)}
    for stage, out in enumerate(WIDTHS):
        block, into = f"stage{stage + 1}.block0", WIDTHS[max(stage - 1, 0)]
        found |= {f"{block}.conv1": (out, 3, 3, into), f"{block}.conv2": (out, 3, 3, out)}
        if stage:
            found[f"{block}.shortcut_conv"] = (out, 1, 1, into)
    return found


def shapes_of(convolutions, head, wide, norm=lambda path: path.replace("conv", "norm"), around=("", ".conv", ".conv.conv")):
    """{name: shape}: all names that a weight may have, whichever algorithms change the network."""
    found, hidden = {}, ALGORITHMS["squeeze_excite"]["latent_channels"]
    for path, (out, side, _, into) in convolutions.items():
        found |= {f"{norm(path)}{w}.{part}": (out,) for w in ("", ".norm") for part in ("weight", "bias", "running_mean", "running_var")}
        narrow = max(int(ALGORITHMS["factorize"]["latent_channels"] * min(into, out)), 1)
        for w in around:
            found |= {f"{path}{w}.weight": (out, side, side, into), f"{path}{w}.squeeze": (hidden, out), f"{path}{w}.excite": (out, hidden)}
            for v in around:
                found |= {f"{path}{w}.0{v}.weight": (narrow, side, side, into), f"{path}{w}.1{v}.weight": (out, 1, 1, narrow),
                          f"{path}{w}.1{v}.bias": (out,)}
                for part, inside in (("0", narrow), ("1", out)):
                    found |= {f"{path}{w}.{part}{v}.squeeze": (hidden, inside), f"{path}{w}.{part}{v}.excite": (inside, hidden)}
    return found | {f"{head}.weight": (CLASSES, wide), f"{head}.bias": (CLASSES,)}


def weights_of(convolutions, head, wide):
    """{name: (shape, values)} of shapes_of."""
    return {name: (shape, weight(name, shape)) for name, shape in shapes_of(convolutions, head, wide).items()}


def weights():
    return weights_of(convolutions(), "head", WIDTHS[-1])


def data():
    """Images (SAMPLES, SIDE, SIDE, 1), each with a square whose place tells the class, and the classes."""
    images, classes = array.array("f", numbers(99, SAMPLES * SIDE * SIDE)), array.array("i")
    for k in range(SAMPLES):
        label = k * 7 % CLASSES
        classes.append(label)
        for y in range(4):
            for x in range(4):
                images[(k * SIDE + y + label // 4 * 4) * SIDE + x + label % 4 * 4] += 1.5
    return images, classes
