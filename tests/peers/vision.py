#!/usr/bin/env python3
"""vision.py - what torchvision's v2 transforms make of a picture, for the tests of plugins/transforms: FNV-1a sums of the
bytes, with the parameters given that a transform draws.  Wants torchvision and Pillow."""
import math

import numpy as np
import torch
from PIL import Image
from torchvision.transforms import InterpolationMode
from torchvision.transforms.v2 import AutoAugment, RandAugment, RandomErasing, TrivialAugmentWide
from torchvision.transforms.v2 import functional as F

H, W = 40, 50
FILTERS = [InterpolationMode.NEAREST, InterpolationMode.BILINEAR]


def picture(channels, h=H, w=W):
    x = [[[(r * 37 + k * 11 + c * 53 + r * k % 29 * 3) % 256 for c in range(channels)] for k in range(w)] for r in range(h)]
    a = np.array(x, dtype=np.uint8)
    return Image.fromarray(a if channels == 3 else a[:, :, 0])


def digest(image):
    h = 0xCBF29CE484222325
    for byte in np.asarray(image).tobytes():
        h = ((h ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return h


def row(what, image):
    print(f"    {{{what}, {digest(image):#x}u}},")


def by_channels(name, change, settings=("",)):
    print(name)
    for channels in (3, 1):
        for s in settings:
            row(f"{channels}{', ' if s != '' else ''}{s}", change(picture(channels), s))


by_channels("random_grayscale", lambda x, s: F.to_grayscale(x, num_output_channels=len(x.getbands())))
by_channels("random_invert", lambda x, s: F.invert(x))
by_channels("random_posterize", lambda x, s: F.posterize(x, bits=s), (1, 3, 4, 7, 8))
by_channels("random_solarize", lambda x, s: F.solarize(x, threshold=s), (0.0, 100.0, 127.5, 255.0, 256.0))
by_channels("random_equalize", lambda x, s: F.equalize(x))
by_channels("random_autocontrast", lambda x, s: F.autocontrast(x.point(lambda v: 20 + v // 2)))
by_channels("random_adjust_sharpness", lambda x, s: F.adjust_sharpness(x, s), (0.0, 0.5, 1.0, 2.0, 3.7))

print("random_rotation: channels, degrees, filter, fill")
for channels, degrees, f, fill in ((3, 0, 0, 0), (3, 30, 0, 0), (3, 30, 1, 0), (3, -77.5, 0, 9), (3, -77.5, 1, 9), (3, 90, 0, 0), (3, 180, 0, 5),
                                   (1, 12.25, 0, 200), (1, 12.25, 1, 200), (1, 400, 0, 0)):
    row(f"{channels}, {degrees}, {f}, {fill}", F.rotate(picture(channels), degrees, FILTERS[f], fill=[fill] * channels))

print("random_affine: channels, degrees, scale, shear x, shear y, filter, fill")
for channels, degrees, scale, sx, sy, f, fill in ((3, 0, 1, 0, 0, 0, 0), (3, 20, 1, 0, 0, 0, 0), (3, -35.5, 1.25, 0, 0, 0, 7), (3, -35.5, 1.25, 0, 0, 1, 7),
                                                  (3, 0, 0.7, 0, 0, 0, 0), (3, 0, 0.7, 0, 0, 1, 0), (3, 11, 0.9, 15, -8, 0, 0), (3, 11, 0.9, 15, -8, 1, 0),
                                                  (1, 5, 1.1, -20, 4, 0, 33), (1, 5, 1.1, -20, 4, 1, 33)):
    row(f"{channels}, {degrees}, {scale}, {sx}, {sy}, {f}, {fill}",
        F.affine(picture(channels), angle=degrees, translate=[0, 0], scale=scale, shear=[sx, sy], interpolation=FILTERS[f], fill=[fill] * channels))

NAMES = ["Identity", "ShearX", "ShearY", "TranslateX", "TranslateY", "Rotate", "Brightness", "Color", "Contrast", "Sharpness", "Posterize", "Solarize",
         "AutoContrast", "Equalize", "Invert"]


def policy(name, transform, bins, spaces):
    print(f"{name}: operation, bin, minus, filter")
    for op, what in enumerate(NAMES):
        if what not in spaces:
            continue
        fn, signed = spaces[what]
        magnitudes = fn(bins, H, W)
        for b in (0, 3, bins // 2, bins - 1) if magnitudes is not None else (0,):
            for minus in (0, 1) if signed else (0,):
                f = (op + b) % 2
                v = float(magnitudes[b]) if magnitudes is not None else 0.0
                made = transform._apply_image_or_video_transform(picture(3), what, -v if minus else v, FILTERS[f], {Image.Image: None})
                row(f"{op}, {b}, {minus}, {f}", made)


policy("auto_augment", AutoAugment(), 10, AutoAugment._AUGMENTATION_SPACE)
policy("rand_augment", RandAugment(), 31, RandAugment._AUGMENTATION_SPACE)
policy("trivial_augment_wide", TrivialAugmentWide(), 31, TrivialAugmentWide._AUGMENTATION_SPACE)

print("gaussian_blur: width, height, sigma; then the bytes of a small picture")
for kx, ky, sigma in ((3, 3, 0.5), (5, 9, 1.7)):
    small = F.gaussian_blur(picture(3, 12, 10), [kx, ky], [sigma, sigma])
    print(kx, ky, sigma, np.asarray(small).reshape(-1).tolist())
print("random_perspective: end corners, filter; bytes")
corners = [[0, 0], [9, 0], [9, 11], [0, 11]], [[2, 1], [7, 3], [9, 9], [1, 11]]
for f in (0, 1):
    made = F.perspective(picture(3, 12, 10), *corners, interpolation=FILTERS[f], fill=[4, 4, 4])
    print(f, np.asarray(made).reshape(-1).tolist())

print("pad: margins, how many, mode, fill")
MODES = ["constant", "edge", "reflect", "symmetric"]
for mode in range(4):
    for margin in ([3], [2, 5], [1, 0, 4, 7]):
        fill = 77 if mode == 0 else 0
        made = F.pad(picture(3, 12, 10), margin if len(margin) > 1 else margin[0], fill=fill, padding_mode=MODES[mode])
        row(f"{{{', '.join(map(str, margin))}}}, {len(margin)}, {mode}, {fill}", made)

print("random_erasing: scale, ratio, height and width; 0 where none fits")
for scale, ratio in ((0.02, 1.0), (0.2, 1.0), (0.1, 0.3), (0.1, 3.3), (0.33, 2.0), (0.9, 1.0), (0.05, 0.7)):
    drawn = RandomErasing(p=1.0, scale=(scale, scale), ratio=(ratio, ratio)).make_params([torch.zeros(1, 20, 30)])
    print(f"    {{{scale}, {ratio}, {{{drawn['h'] if drawn['v'] is not None else 0}, {drawn['w'] if drawn['v'] is not None else 0}}}}},")
