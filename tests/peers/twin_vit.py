"""twin_vit.py - a small vision transformer on the images of twin.py: for both sides of losses.json."""
# SPDX-License-Identifier: Apache-2.0
import twin

PATCH, WIDTH, HEADS = 4, 16, 2
MODEL = {"name": "vit", "patch_size": PATCH, "num_layers": 1, "num_heads": HEADS, "hidden_dim": WIDTH, "dropout": 0.0}
# Those that leave the size of images alone; of a rank that only the perceptron is wide enough for.
ALGORITHMS = {name: twin.ALGORITHMS[name] for name in (
    "cutmix", "cutout", "ema", "gradient_clipping", "label_smoothing", "mixup", "sam", "selective_backprop", "swa",
    "weight_standardization")} | {"factorize": {"min_features": 16, "latent_features": 11}, "low_precision_layernorm": {}}
ALGORITHMS = dict(sorted(ALGORITHMS.items()))
DIFFER = frozenset({("cutmix", "mixup"), ("label_smoothing", "mixup")})  # docs/differences.md


def weight(name, shape):
    return twin.weight(name.replace("ln", "norm"), shape)


def weights():
    """{name: (shape, values)}, of a perceptron that is whole or factorized."""
    rank, block = ALGORITHMS["factorize"]["latent_features"], "encoder.layers.encoder_layer_0"
    found = {"class_token": (1, 1, WIDTH), "encoder.pos_embedding": (1, (twin.SIDE // PATCH) ** 2 + 1, WIDTH),
             "conv_proj.weight": (WIDTH, PATCH, PATCH, 1), "conv_proj.bias": (WIDTH,),
             "heads.head.weight": (twin.CLASSES, WIDTH), "heads.head.bias": (twin.CLASSES,),
             f"{block}.self_attention.in_proj_weight": (3 * WIDTH, WIDTH), f"{block}.self_attention.in_proj_bias": (3 * WIDTH,),
             f"{block}.self_attention.out_proj.weight": (WIDTH, WIDTH), f"{block}.self_attention.out_proj.bias": (WIDTH,)}
    for norm in ("encoder.ln", f"{block}.ln_1", f"{block}.ln_2"):
        found |= {f"{norm}.weight": (WIDTH,), f"{norm}.bias": (WIDTH,)}
    for part, into, out in (("0", WIDTH, 4 * WIDTH), ("3", 4 * WIDTH, WIDTH)):
        path = f"{block}.mlp.{part}"
        found |= {f"{path}.weight": (out, into), f"{path}.bias": (out,), f"{path}.0.weight": (rank, into),
                  f"{path}.1.weight": (out, rank), f"{path}.1.bias": (out,)}
    return {name: (shape, weight(name, shape)) for name, shape in found.items()}
