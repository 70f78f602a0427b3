"""twin_bottleneck.py - a narrow residual network of bottlenecks, which stochastic depth is made for upstream: for both sides
of losses.json."""
# SPDX-License-Identifier: Apache-2.0
import array

import twin

WIDTH, BLOCKS, EXPANSION = 4, (3, 4, 6, 3), 4
# With a larger rate fifty layers make another run of a sum in another order; so they do with norms over four samples, and with
# twice the layers.
RATE, BRIEF = 0.0002, {"factorize": 8, "ghost_batchnorm": 2}
MODEL = {"name": "resnet", "depth": 50, "width": WIDTH, "stem": "cifar"}
ONLY_HERE = {"stochastic_depth": {"target_layer_name": "ResNetBottleneck", "drop_rate": 0.4}}
ALGORITHMS = dict(sorted((ONLY_HERE | twin.ALGORITHMS).items()))
# Where the answers are others on purpose: docs/differences.md.
DIFFER = frozenset({("stochastic_depth", "weight_standardization")})


def convolutions():
    """{path: (out, side, side, in)}"""
    found, into = {"conv1": (WIDTH, 3, 3, 1)}, WIDTH
    for stage, blocks in enumerate(BLOCKS):
        narrow = WIDTH << stage
        wide = narrow * EXPANSION
        for k in range(blocks):
            block = f"layer{stage + 1}.{k}"
            found |= {f"{block}.conv1": (narrow, 1, 1, into), f"{block}.conv2": (narrow, 3, 3, narrow),
                      f"{block}.conv3": (wide, 1, 1, narrow)}
            if k == 0:
                found[f"{block}.downsample.0"] = (wide, 1, 1, into)
            into = wide
    return found


def norm(path):
    return path.replace("downsample.0", "downsample.1").replace("conv", "bn")


def weight(name, shape):
    """A block adds little at first, or what sixteen of them add up to is far from what their norms have seen."""
    name = name.replace("block.", "").replace("bn", "norm").replace("downsample.1", "downsample.norm")
    values = twin.weight(name, shape)
    return array.array("f", (0.3 * v for v in values)) if name.endswith("norm3.weight") else values


def weights():
    """{name: (shape, values)}, of blocks that are wrapped and of those that are not."""
    found = twin.shapes_of(convolutions(), "fc", WIDTH * 8 * EXPANSION, norm, ("", ".conv"))
    found |= {f"{a}.{b}.block.{rest}": shape for name, shape in found.items() if name.startswith("layer")
              for a, b, rest in [name.split(".", 2)]}
    return {name: (shape, weight(name, shape)) for name, shape in found.items()}
