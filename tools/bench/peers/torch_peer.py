#!/usr/bin/env python3
"""One training step after the other in PyTorch, in blocks asked for on standard input.

torch_peer.py ROW DTYPE SETTING THREADS prints "ready VERSION", then for every line N runs N steps
and answers "nanoseconds peak-kilobytes". SETTING is words joined by +: nhwc, foreach, compile.
"""
import sys
import time

import torch
from torch import nn
from torch.nn import functional as F


class Block(nn.Module):
    """Residual block of ResNets for CIFAR with the padded identity shortcut (He et al. 2015, A)."""

    def __init__(self, width_in, width, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(width_in, width, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.more = width - width_in

    def forward(self, x):
        y = self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x)))))
        if self.more:
            x = F.pad(x[:, :, ::2, ::2], (0, 0, 0, 0, 0, self.more))
        return F.relu(y + x)


class ResNet20(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 16, 3, 1, 1, bias=False)
        self.bn = nn.BatchNorm2d(16)
        blocks, width_in = [], 16
        for width, stride in ((16, 1), (32, 2), (64, 2)):
            for k in range(3):
                blocks.append(Block(width_in, width, stride if k == 0 else 1))
                width_in = width
        self.blocks = nn.Sequential(*blocks)
        self.fc = nn.Linear(64, 10)

    def forward(self, x):
        return self.fc(self.blocks(F.relu(self.bn(self.conv(x)))).mean((2, 3)))


def mlp(*widths):
    layers = [nn.Flatten()]
    for a, b in zip(widths, widths[1:]):
        layers += [nn.Linear(a, b), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


def cnn():
    """The net of plugins/models/cnn with channels 16, 32."""
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1, bias=False), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1, bias=False), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 10))


class GptBlock(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.ln_1, self.ln_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.c_attn, self.c_proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(approximate="tanh"),
                                 nn.Linear(4 * width, width))

    def attention(self, x):
        b, t, c = x.shape
        q, k, v = (p.view(b, t, self.heads, -1).transpose(1, 2)
                   for p in self.c_attn(x).split(c, 2))
        if hasattr(F, "scaled_dot_product_attention"):
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        else:
            mask = torch.ones(t, t, dtype=torch.bool).tril()
            s = q @ k.transpose(2, 3) * (c // self.heads) ** -0.5
            y = s.masked_fill(~mask, float("-inf")).softmax(-1) @ v
        return self.c_proj(y.transpose(1, 2).reshape(b, t, c))

    def forward(self, x):
        x = x + self.attention(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class Gpt(nn.Module):
    """GPT-2 (Radford et al. 2019) with the embedding as its head."""

    def __init__(self, vocabulary, length, layers, heads, width):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(vocabulary, width), nn.Embedding(length, width)
        self.h = nn.Sequential(*(GptBlock(width, heads) for _ in range(layers)))
        self.ln_f = nn.LayerNorm(width)
        for p in (self.wte.weight, self.wpe.weight):
            nn.init.normal_(p, 0, 0.02)

    def forward(self, x):
        x = self.wte(x) + self.wpe.weight[:x.shape[1]]
        return F.linear(self.ln_f(self.h(x)), self.wte.weight).flatten(0, 1)


def adamw(model, words):
    more = {"foreach": True} if "foreach" in words else {}
    return torch.optim.AdamW(model.parameters(), lr=1e-4, weight_decay=0.01, **more)


def sgd(model, words):
    more = {"foreach": True} if "foreach" in words else {}
    return torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, nesterov=True,
                           weight_decay=5e-4, **more)


ROWS = {  # row: (model, input shape, classes, optimizer); a Gpt takes and gives tokens
    "b1_mlp_tiny": (lambda: mlp(64, 64, 64, 10), (32, 64), 10, sgd),
    "b2_mlp": (lambda: mlp(784, 512, 512, 10), (128, 784), 10, sgd),
    "b3_cnn": (cnn, (64, 1, 28, 28), 10, sgd),
    "b4_resnet20": (ResNet20, (128, 3, 32, 32), 10, sgd),
    "b7_gpt": (lambda: Gpt(65, 256, 6, 6, 384), (8, 256), 65, adamw),
    "b8_gpt2_124m": (lambda: Gpt(50257, 1024, 12, 12, 768), (4, 64), 50257, adamw),
}


def peak_kb():
    with open("/proc/self/status", encoding="ascii") as f:
        return next(int(line.split()[1]) for line in f if line.startswith("VmHWM"))


def main():
    row, dtype, setting, threads = sys.argv[1:5]
    words = setting.split("+")
    torch.set_num_threads(int(threads))
    torch.manual_seed(1)
    make, shape, classes, optimizer = ROWS[row]
    model, x = make().train(), torch.randn(shape)
    y = torch.randint(0, classes, shape[:1])
    if isinstance(model, Gpt):
        x, y = torch.randint(0, classes, shape), torch.randint(0, classes, shape).flatten()
    if "nhwc" in words and len(shape) == 4:
        model = model.to(memory_format=torch.channels_last)
        x = x.to(memory_format=torch.channels_last)
    opt = optimizer(model, words)
    call = torch.compile(model) if "compile" in words else model
    print("ready", torch.__version__, flush=True)
    for line in sys.stdin:
        start = time.monotonic_ns()
        for _ in range(int(line)):
            opt.zero_grad(set_to_none=True)
            with torch.autocast("cpu", dtype=torch.bfloat16, enabled=dtype == "bf16"):
                loss = F.cross_entropy(call(x).float(), y)
            loss.backward()
            opt.step()
        print(time.monotonic_ns() - start, peak_kb(), flush=True)


main()
