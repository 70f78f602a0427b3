"""twin.py - a small residual network, its first weights and its data, by formula: for both sides of losses.json."""
# SPDX-License-Identifier: Apache-2.0
import array
import itertools
import math

SAMPLES, SIDE, CLASSES, BATCH, EPOCHS, RATE, MOMENTUM = 24, 16, 10, 8, 3, 0.02, 0.9
WIDTHS = (4, 8, 16)

# Settings under which an algorithm does something in nine batches; those of both packages, but for "upstream", which
# are spelled otherwise there.  What draws random numbers is not here: no two packages draw the same.
ALGORITHMS = {
    "blurpool": {"min_channels": 1},
    "ema": {"half_life": "2ba"},
    "ghost_batchnorm": {"ghost_batch_size": 4},
    "gradient_clipping": {"clipping_type": "norm", "clipping_threshold": 0.5},
    "label_smoothing": {"smoothing": 0.2},
    "progressive_resizing": {"initial_scale": 0.5, "finetune_fraction": 0.34, "delay_fraction": 0.0},
    "sam": {"rho": 0.05},
    "swa": {"swa_start": "1ep", "swa_end": "2ep", "update_interval": "1ba"},
    "weight_standardization": {},
}
# Where the answers are others on purpose: docs/differences.md, of surgeries that miss what another has replaced.
DIFFER = {("blurpool", "weight_standardization")}
RUNS = [(), *((name,) for name in ALGORITHMS), *itertools.combinations(ALGORITHMS, 2)]


def numbers(seed, count):
    """`count` numbers from -0.5 to 0.5, of a multiplicative generator."""
    x, found = seed * 7919 + 1, []
    for _ in range(count + 3):
        x = x * 48271 % 2147483647
        found.append(x / 2147483647 - 0.5)
    return found[3:]


def shapes():
    """{name: shape} of the weights; convolutions have (out, height, width, in)."""
    found = {"conv.weight": (WIDTHS[0], 3, 3, 1)}
    norms = ["norm"]
    for stage, out in enumerate(WIDTHS):
        block, into = f"stage{stage + 1}.block0", WIDTHS[max(stage - 1, 0)]
        found |= {f"{block}.conv1.weight": (out, 3, 3, into), f"{block}.conv2.weight": (out, 3, 3, out)}
        norms += [f"{block}.norm1", f"{block}.norm2"]
        if stage:
            found[f"{block}.shortcut_conv.weight"] = (out, 1, 1, into)
            norms.append(f"{block}.shortcut_norm")
    for norm in norms:
        width = WIDTHS[int(norm[5]) - 1] if norm[:5] == "stage" else WIDTHS[0]
        found |= {f"{norm}.{part}": (width,) for part in ("weight", "bias", "running_mean", "running_var")}
    return found | {"head.weight": (CLASSES, WIDTHS[-1]), "head.bias": (CLASSES,)}


def weights():
    """{name: (shape, values)}, in the order of shapes()."""
    found = {}
    for seed, (name, shape) in enumerate(shapes().items()):
        count = math.prod(shape)
        if "norm" in name:
            values = [float(name.endswith(("weight", "running_var")))] * count
        else:
            values = [v * math.sqrt(24 / math.prod(shape[1:])) for v in numbers(seed, count)] if len(shape) > 1 else [0.0] * count
        found[name] = (shape, array.array("f", values))
    return found


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
