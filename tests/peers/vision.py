#!/usr/bin/env python3
"""vision.py - what torchvision's v2 transforms make of a picture, for the tests of plugins/transforms: FNV-1a sums of the
bytes, with the parameters given that a transform draws.  Wants torchvision and Pillow."""
import math
from unittest import mock

import numpy as np
import torch
from PIL import Image
from torchvision.transforms import InterpolationMode
from torchvision.transforms.v2 import AugMix, AutoAugment, ElasticTransform, RandAugment, RandomErasing, RandomPhotometricDistort, TrivialAugmentWide
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

NO = None
print("random_photometric_distort: channels; brightness, contrast, saturation, hue, 0 off; contrast first; order of channels; bytes")
for channels, brightness, contrast, saturation, hue, first, order in (
        (3, 0.875, NO, NO, NO, 1, NO), (3, NO, 1.5, NO, NO, 1, NO), (3, NO, NO, 0.5, NO, 0, NO), (3, NO, NO, NO, -0.05, 0, NO), (3, NO, NO, NO, 0.03, 1, NO),
        (3, NO, NO, NO, NO, 1, [2, 0, 1]), (3, 1.125, 0.6, 1.4, -0.02, 1, [1, 0, 2]), (3, 1.125, 0.6, 1.4, -0.02, 0, [1, 2, 0]), (1, 0.9, 1.3, 0.7, 0.04, 0, [0])):
    drawn = {"brightness_factor": brightness, "contrast_factor": contrast, "saturation_factor": saturation, "hue_factor": hue,
             "contrast_before": bool(first), "channel_permutation": None if order is None else torch.tensor(order)}
    given = ", ".join(str(0 if v is None else v) for v in (brightness, contrast, saturation, hue))
    row(f"{channels}, {{{given}}}, {first}, {{{', '.join(map(str, order or [0, 1, 2]))}}}", RandomPhotometricDistort().transform(picture(channels), drawn))


def as_tensor(channels, h=H, w=W):
    return F.pil_to_tensor(picture(channels, h, w))


def as_rows(made):
    return made.permute(1, 2, 0).contiguous().numpy()


# One normal number for each value in the order (H, W, C), as if it had been drawn.
def normals(like):
    c, h, w = like.shape
    z = torch.tensor([(i * 37 % 101 - 50) / 20 for i in range(c * h * w)], dtype=torch.float32)
    return z.reshape(h, w, c).permute(2, 0, 1)


print("gaussian_noise: f32, mean, sigma, clip; bytes of the values")
for floats, mean, sigma, clip in ((0, 0.0, 0.1, 1), (0, 0.25, 0.3, 1), (0, -0.1, 0.2, 0), (1, 0.0, 0.1, 1), (1, 0.25, 0.3, 1), (1, -0.1, 0.2, 0)):
    x = as_tensor(3).to(torch.float32) / 256 if floats else as_tensor(3)
    with mock.patch("torch.randn_like", lambda like, **kw: normals(like)):
        row(f"{floats}, {mean}, {sigma}, {clip}", as_rows(F.gaussian_noise(x, mean=mean, sigma=sigma, clip=bool(clip))))


def uniform(fields):
    def draw(*shape):
        n = math.prod(shape)
        fields[0] += 1
        return torch.tensor([(i * 7919 + 31 * fields[0]) % 1000 / 1000 for i in range(n)], dtype=torch.float32).reshape(shape)
    return draw


print("elastic_transform: alpha, sigma, filter, fill; then the bytes of a small picture")
for alpha, sigma, f, fill in (([10.0, 10.0], [1.0, 1.0], 1, 0), ([20.0, 60.0], [1.25, 0.6], 1, 77), ([20.0, 60.0], [1.25, 0.6], 0, 77), ([5.0, 3.0], [0.0, 0.0], 1, 9)):
    t = ElasticTransform(alpha=alpha, sigma=sigma, interpolation=FILTERS[f], fill=fill)
    with mock.patch("torch.rand", uniform([0])):
        drawn = t.make_params([picture(3, 12, 10)])
    print(alpha, sigma, f, fill, np.asarray(t.transform(picture(3, 12, 10), drawn)).reshape(-1).tolist())

print("jpeg: channels, quality; bytes of a tensor, which are those of a Pillow image")
for channels in (3, 1):
    for quality in (1, 10, 50, 75, 95, 96, 100):
        made = as_rows(F.jpeg(as_tensor(channels), quality))
        assert (made.reshape(-1) == np.asarray(F.jpeg(picture(channels), quality)).reshape(-1)).all()
        row(f"{channels}, {quality}", made)


class GivenMix(AugMix):
    """AugMix with given draws: shares, and (operation, bin, minus) of each change.  Each change is made of a Pillow image where `pillow` says so."""

    def __init__(self, shares, chains, pillow, **settings):
        super().__init__(mixture_width=len(chains), chain_depth=len(chains[0]), severity=10, **settings)
        self.shares, self.pillow = iter(shares), pillow
        self.changes = [change for chain in chains for change in chain]

    def _sample_dirichlet(self, params):
        return torch.tensor([next(self.shares)], dtype=torch.float32)

    def _get_random_item(self, dct):
        op, self.bin, self.minus = self.changes.pop(0)
        return NAMES[op], dct[NAMES[op]]

    def draws(self):
        return mock.patch.multiple("torch", randint=lambda *a, **k: torch.tensor(self.bin), rand=lambda *a: torch.tensor(0.1 if self.minus else 0.9))

    def _apply_image_or_video_transform(self, image, *args, **kw):
        if not self.pillow or (args[0] == "Posterize" and args[1] == 0):  # Pillow refuses 0 bits
            return super()._apply_image_or_video_transform(image, *args, **kw)
        made = super()._apply_image_or_video_transform(F.to_pil_image(image[0]), *args, **kw)
        return F.pil_to_tensor(made).unsqueeze(0)


MIXES = (([0.25, 0.75], [[(1, 3, 0)], [(5, 9, 1)]], 1, 0), ([0.4, 0.6], [[(2, 2, 1), (10, 4, 0)], [(12, 0, 0), (9, 9, 0)]], 1, 5),
         ([0.1, 0.9], [[(3, 9, 0), (11, 5, 0), (7, 3, 1)], [(4, 6, 1), (13, 0, 0), (8, 9, 0)]], 0, 0), ([0.6, 0.4], [[(6, 7, 1), (10, 9, 0)], [(10, 0, 0), (11, 1, 0)]], 0, 0))
print("aug_mix: case; bytes with Pillow's changes; farthest and mean distance of torchvision's own, which changes tensors")
for n, (m, chains, f, fill) in enumerate(MIXES):
    made = []
    for pillow in (True, False):
        t = GivenMix([m, [0.3, 0.7]], chains, pillow, interpolation=FILTERS[f], fill=fill)
        with t.draws():
            made.append(np.asarray(t(picture(3))).astype(int))
    row(f"{n}", made[0].astype(np.uint8))
    away = np.abs(made[0] - made[1])
    print("   ", away.max(), away.mean(), (away > 1).mean())
print("aug_mix: the bytes of a small picture, by torchvision alone")
t = GivenMix([[0.1, 0.9], [0.3, 0.7]], [[(1, 3, 0), (9, 5, 0)], [(5, 9, 1), (6, 4, 0)]], False)
with t.draws():
    print(np.asarray(t(picture(3, 12, 10))).reshape(-1).tolist())
