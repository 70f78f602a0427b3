#!/usr/bin/env python3
"""unet.py - writes what torch makes of a small U-Net with known weights to tests/models/unet.json: logits of an
evaluation, of a training step the loss and gradients, and what it makes of images that are enlarged.

Run by hand, never by a test, with the Python of a virtual environment outside of the tree that has `torch`. The
numbers are those of f64; weights are laid out as ours, channels last."""
import json
import pathlib

import torch
from torch import nn

FILE = pathlib.Path(__file__).resolve().parents[1] / "models/unet.json"
WIDTH, DEPTH, CLASSES, BATCH, HEIGHT, COLUMNS = 4, 2, 3, 2, 10, 9
GRADIENTS = ("inc.double_conv.0.weight", "up1.up.weight", "up1.up.bias", "up2.conv.double_conv.3.weight", "outc.conv.bias")

torch.set_default_dtype(torch.float64)


def fill(shape, seed):
    """Element k is (37 k + 11 seed) mod 101 / 101 - 1/2."""
    n = torch.Size(shape).numel()
    return torch.tensor([((k * 37 + seed * 11) % 101) / 101 - 0.5 for k in range(n)]).float().double().reshape(shape)


class Twice(nn.Module):
    def __init__(self, inputs, middle, outputs):
        super().__init__()
        self.double_conv = nn.Sequential(
            nn.Conv2d(inputs, middle, 3, padding=1, bias=False), nn.BatchNorm2d(middle), nn.ReLU(),
            nn.Conv2d(middle, outputs, 3, padding=1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU())

    def forward(self, x):
        return self.double_conv(x)


class Down(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.maxpool_conv = nn.Sequential(nn.MaxPool2d(2), Twice(inputs, outputs, outputs))

    def forward(self, x):
        return self.maxpool_conv(x)


class Up(nn.Module):
    def __init__(self, inputs, outputs, bilinear):
        super().__init__()
        self.up = (nn.Upsample(scale_factor=2, mode="bilinear", align_corners=True) if bilinear
                   else nn.ConvTranspose2d(inputs, inputs // 2, 2, stride=2))
        self.conv = Twice(inputs, inputs // 2 if bilinear else outputs, outputs)

    def forward(self, x, beside):
        x = self.up(x)
        dy, dx = beside.shape[2] - x.shape[2], beside.shape[3] - x.shape[3]
        x = nn.functional.pad(x, [dx // 2, dx - dx // 2, dy // 2, dy - dy // 2])
        return self.conv(torch.cat([beside, x], 1))


class Head(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.conv = nn.Conv2d(inputs, outputs, 1)

    def forward(self, x):
        return self.conv(x)


class UNet(nn.Module):
    def __init__(self, channels, bilinear):
        super().__init__()
        half = 2 if bilinear else 1
        self.inc = Twice(channels, WIDTH, WIDTH)
        for k in range(1, DEPTH + 1):
            setattr(self, f"down{k}", Down(WIDTH << (k - 1), (WIDTH << k) // (half if k == DEPTH else 1)))
        for k in range(1, DEPTH + 1):
            left = DEPTH - k
            setattr(self, f"up{k}", Up(WIDTH << (left + 1), (WIDTH << left) // (half if left else 1), bilinear))
        self.outc = Head(WIDTH, CLASSES)

    def forward(self, x):
        kept = [self.inc(x)]
        for k in range(1, DEPTH + 1):
            kept.append(getattr(self, f"down{k}")(kept[-1]))
        x = kept.pop()
        for k in range(1, DEPTH + 1):
            x = getattr(self, f"up{k}")(x, kept.pop())
        return self.outc(x)


def ours(name, t):
    """Channels last: of (Cout, Cin, K, K), and of a transposed convolution's (Cin, Cout, K, K)."""
    return t.permute(0, 2, 3, 1) if t.dim() == 4 else t


def theirs(t):
    return t.permute(0, 3, 1, 2) if t.dim() == 4 else t


def value(name, shape):
    x = fill(shape, sum(name.encode()))
    if name.endswith("running_var") or (len(shape) == 1 and name.endswith("weight")):
        return (x + 1.0).float().double()
    return x


tell = lambda t: [float(f"{v:.9g}") for v in t.detach().reshape(-1).tolist()]


def record(bilinear):
    model = UNet(3, bilinear)
    with torch.no_grad():
        for name, t in list(model.named_parameters()) + list(model.named_buffers()):
            if t.dim():
                t.copy_(theirs(value(name, ours(name, t).shape)))
    x = theirs(fill((BATCH, HEIGHT, COLUMNS, 3), 1) * 4)
    y = torch.tensor([-100 if k % 7 == 3 else k * 5 % 11 % CLASSES for k in range(BATCH * HEIGHT * COLUMNS)]).reshape(BATCH, HEIGHT, COLUMNS)
    answers = {"upsampling": "bilinear" if bilinear else "transposed",
               "weights": sum(p.numel() for p in model.parameters())}
    model.eval()
    answers["eval"] = tell(ours("", model(x)))
    model.train()
    loss = nn.functional.cross_entropy(model(x), y)
    loss.backward()
    answers["loss"] = tell(loss)
    answers["gradients"] = {name: tell(ours(name, p.grad)) for name, p in model.named_parameters() if name in GRADIENTS}
    return answers


def enlarge(mode, corners, scale):
    """upsample2d of two images of 3 x 4 pixels of 2 channels."""
    x = theirs(fill((2, 3, 4, 2), 5))
    how = {"align_corners": corners} if mode == "bilinear" else {}
    y = nn.functional.interpolate(x, scale_factor=scale, mode=mode, **how)
    return {"layer": {"scale_factor": scale, "mode": mode, "align_corners": corners}, "want": tell(ours("", y))}


enlarged = [enlarge("nearest", False, 2), enlarge("bilinear", False, 2), enlarge("bilinear", False, 3),
            enlarge("bilinear", True, 2), enlarge("bilinear", True, 3)]
document = {"from": f"torch {torch.__version__}, by tests/peers/unet.py", "cases": [record(False), record(True)], "upsample2d": enlarged}
FILE.write_text(json.dumps(document).replace('{"upsampling"', '\n{"upsampling"').replace('{"layer"', '\n{"layer"') + "\n")
