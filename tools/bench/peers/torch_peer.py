#!/usr/bin/env python3
"""One training step after the other in PyTorch, in blocks asked for on standard input.

torch_peer.py ROW DTYPE SETTING THREADS prints "ready VERSION HELD-KILOBYTES", then for every line
N runs N steps and answers "nanoseconds peak-kilobytes". SETTING is words joined by +: nhwc, foreach, fused,
compile (with graphs: CUDA's), and composer: Composer's Trainer runs the steps. A setting that this torch or this row
does not have is answered with "skip".
"""
import math
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
            x = F.pad(x[:, :, ::2, ::2], (0, 0, 0, 0, self.more // 2, self.more - self.more // 2))
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


def conv_norm(a, b, kernel, stride=1):
    return nn.Sequential(nn.Conv2d(a, b, kernel, stride, kernel // 2, bias=False),
                         nn.BatchNorm2d(b))


class ResNetBlock(nn.Module):
    """Residual block of ResNets for ImageNet with the convolution as its shortcut (B)."""

    def __init__(self, a, width, stride, expansion):
        super().__init__()
        b = width * expansion
        self.body = nn.Sequential(
            conv_norm(a, width, 3, stride), nn.ReLU(), conv_norm(width, b, 3)
        ) if expansion == 1 else nn.Sequential(
            conv_norm(a, width, 1), nn.ReLU(), conv_norm(width, width, 3, stride), nn.ReLU(),
            conv_norm(width, b, 1))
        self.short = conv_norm(a, b, 1, stride) if stride > 1 or a != b else nn.Identity()

    def forward(self, x):
        return F.relu(self.body(x) + self.short(x))


def resnet(counts, expansion, classes, cifar):
    layers = [conv_norm(3, 64, 3) if cifar else conv_norm(3, 64, 7, 2), nn.ReLU()]
    layers += [] if cifar else [nn.MaxPool2d(3, 2, 1)]
    a = 64
    for k, count in enumerate(counts):
        for j in range(count):
            layers.append(ResNetBlock(a, 64 << k, 2 if k and not j else 1, expansion))
            a = (64 << k) * expansion
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(a, classes))


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
    causal, gelu, biases = True, "tanh", None

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.ln_1, self.ln_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.c_attn, self.c_proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(approximate=self.gelu),
                                 nn.Linear(4 * width, width))

    def mask(self, q):
        return None if self.biases is None else self.biases.to(q.dtype)

    def attention(self, x):
        b, t, c = x.shape
        q, k, v = (p.view(b, t, self.heads, -1).transpose(1, 2)
                   for p in self.c_attn(x).split(c, 2))
        if hasattr(F, "scaled_dot_product_attention"):
            y = F.scaled_dot_product_attention(q, k, v, self.mask(q), is_causal=self.causal)
        else:
            s = q @ k.transpose(2, 3) * (c // self.heads) ** -0.5
            if self.causal:
                mask = torch.ones(t, t, dtype=torch.bool).tril()
                s = s.masked_fill(~mask, float("-inf"))
            if self.biases is not None:
                s = s + self.biases
            y = s.softmax(-1) @ v
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


class AlibiBlock(GptBlock):
    """With biases by distance (Press et al. 2022), which hide what comes later as well."""
    causal = False

    def __init__(self, width, heads, biases):
        super().__init__(width, heads)
        self.biases = biases


class AlibiGpt(Gpt):
    """No learned positions."""

    def __init__(self, vocabulary, length, layers, heads, width):
        super().__init__(vocabulary, length, 0, heads, width)
        power = 2 ** math.floor(math.log2(heads))
        slopes = [2 ** (-8 * k / power) for k in range(1, power + 1)]
        slopes += [2 ** (-4 * k / power) for k in range(1, 2 * power, 2)][:heads - power]
        at = torch.arange(length)
        far = (at - at[:, None]) * torch.tensor(slopes)[:, None, None]
        biases = far.masked_fill(at > at[:, None], float("-inf"))
        self.h = nn.Sequential(*(AlibiBlock(width, heads, biases) for _ in range(layers)))
        self.wpe.weight.requires_grad_(False).zero_()


class VitBlock(GptBlock):
    causal, gelu = False, "none"


class Vit(nn.Module):
    """Patches, a class token and blocks that normalise first (Dosovitskiy et al. 2021)."""

    def __init__(self, side, patch, layers, heads, width, classes):
        super().__init__()
        self.patches = nn.Conv2d(3, width, patch, patch)
        self.token = nn.Parameter(torch.zeros(1, 1, width))
        self.positions = nn.Parameter(torch.randn(1, (side // patch) ** 2 + 1, width) * 0.02)
        self.blocks = nn.Sequential(*(VitBlock(width, heads) for _ in range(layers)))
        self.ln, self.head = nn.LayerNorm(width), nn.Linear(width, classes)

    def forward(self, x):
        x = self.patches(x).flatten(2).transpose(1, 2)
        x = torch.cat((self.token.expand(x.shape[0], -1, -1), x), 1) + self.positions
        return self.head(self.ln(self.blocks(x))[:, 0])


class BertBlock(VitBlock):
    def forward(self, x):
        x = self.ln_1(x + self.attention(x))
        return self.ln_2(x + self.mlp(x))


class Bert(nn.Module):
    """BERT (Devlin et al. 2019) with its head for masked tokens; all tokens are of one type."""

    def __init__(self, vocabulary, length, layers, heads, width):
        super().__init__()
        self.words, self.places = nn.Embedding(vocabulary, width), nn.Embedding(length, width)
        self.types = nn.Embedding(2, width)
        self.ln = nn.LayerNorm(width)
        self.blocks = nn.Sequential(*(BertBlock(width, heads) for _ in range(layers)))
        self.transform = nn.Sequential(nn.Linear(width, width), nn.GELU(), nn.LayerNorm(width))
        self.bias = nn.Parameter(torch.zeros(vocabulary))
        for p in (self.words.weight, self.places.weight, self.types.weight):
            nn.init.normal_(p, 0, 0.02)

    def forward(self, x):
        x = self.words(x) + (self.places.weight[:x.shape[1]] + self.types.weight[0])
        x = self.transform(self.blocks(self.ln(x)))
        return F.linear(x, self.words.weight, self.bias).flatten(0, 1)


def how(words):
    return {w: True for w in ("foreach", "fused") if w in words}


def adamw(model, words):
    return torch.optim.AdamW(model.parameters(), lr=1e-4, weight_decay=0.01, **how(words))


def sgd(model, words):
    return torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, nesterov=True,
                           weight_decay=5e-4, **how(words))


ROWS = {  # row: (model, input shape, classes, optimizer); Gpt and Bert take and give tokens
    "b1_mlp_tiny": (lambda: mlp(64, 64, 64, 10), (32, 64), 10, sgd),
    "b2_mlp": (lambda: mlp(784, 512, 512, 10), (128, 784), 10, sgd),
    "b3_cnn": (cnn, (64, 1, 28, 28), 10, sgd),
    "b4_resnet20": (ResNet20, (128, 3, 32, 32), 10, sgd),
    "b5_resnet18": (lambda: resnet((2, 2, 2, 2), 1, 10, True), (64, 3, 32, 32), 10, sgd),
    "b6_resnet50": (lambda: resnet((3, 4, 6, 3), 4, 1000, False), (16, 3, 224, 224), 1000, sgd),
    "b7_gpt": (lambda: Gpt(65, 256, 6, 6, 384), (8, 256), 65, adamw),
    "b10_resnet20_recipe": (ResNet20, (128, 3, 32, 32), 10, sgd),
    "b10_gpt_recipe": (lambda: AlibiGpt(65, 256, 6, 6, 384), (8, 256), 65, adamw),
    "b8_gpt2_124m": (lambda: Gpt(50257, 1024, 12, 12, 768), (4, 64), 50257, adamw),
    "b9_bert_mini": (lambda: Bert(30522, 128, 4, 4, 256), (32, 128), 30522, adamw),
    "b9_vit_tiny": (lambda: Vit(224, 16, 12, 3, 192, 1000), (32, 3, 224, 224), 1000, adamw),
}


def held_kb(which):
    """VmRSS: memory held now; VmHWM: at most so far."""
    with open("/proc/self/status", encoding="ascii") as f:
        return next(int(line.split()[1]) for line in f if line.startswith(which))


def answer(steps):
    """Runs steps(N) for every line N."""
    for line in sys.stdin:
        start = time.monotonic_ns()
        steps(int(line))
        print(time.monotonic_ns() - start, held_kb("VmHWM"), flush=True)


def optimizer_alone(row, words):
    """o_NAME_COUNT: updates of COUNT weights in 160 tensors, about as many as ResNet-50 has."""
    _, name, count = row.split("_")
    w = [torch.zeros(int(count) // 160, requires_grad=True) for _ in range(160)]
    for p in w:
        p.grad = torch.full_like(p, 1e-3)
    make = {"adamw": lambda: torch.optim.AdamW(w, **how(words)),
            "sgd": lambda: torch.optim.SGD(w, lr=0.1, momentum=0.9, **how(words))}
    opt = make[name]()

    def steps(n):
        for _ in range(n):
            opt.step()
    steps(1)
    return torch.__version__, steps


def build(row, words):
    """Model, input, target, optimizer.  Word cuda: on a GPU; word batch64 or batch64x1024: another
    batch, and length of texts."""
    make, shape, classes, optimizer = ROWS[row]
    for word in words:
        if word.startswith("batch"):
            sizes = [int(n) for n in word[5:].split("x")]
            shape = (*sizes, *shape[len(sizes):])
    if "cuda" in words:
        torch.set_default_device("cuda")
        torch.backends.cudnn.benchmark = True
    model, x = make().train(), torch.randn(shape)
    y = torch.randint(0, classes, shape[:1])
    if isinstance(model, (Gpt, Bert)):
        x, y = torch.randint(0, classes, shape), torch.randint(0, classes, shape).flatten()
    if isinstance(model, Bert):
        y[torch.rand(y.shape) >= 0.15] = -100  # not asked for
    if "nhwc" in words:
        if len(shape) < 4:
            raise RuntimeError("no images")
        model = model.to(memory_format=torch.channels_last)
        x = x.to(memory_format=torch.channels_last)
    return model, x, y, optimizer(model, words)


def plain_loop(row, dtype, words):
    model, x, y, opt = build(row, words)
    largest = 1.0 if row == "b10_gpt_recipe" else None
    mode = "reduce-overhead" if "graphs" in words else None
    call = torch.compile(model, mode=mode) if "compile" in words else model
    device = "cuda" if "cuda" in words else "cpu"

    def steps(n):
        for _ in range(n):
            opt.zero_grad(set_to_none=True)
            with torch.autocast(device, dtype=torch.bfloat16, enabled=dtype == "bf16"):
                loss = F.cross_entropy(call(x).float(), y)
            loss.backward()
            if largest:
                nn.utils.clip_grad_norm_(model.parameters(), largest)
            opt.step()
        if device == "cuda":
            torch.cuda.synchronize()
    return torch.__version__, steps


def recipe(row):
    """Composer's own of the algorithms in the row's run file."""
    from composer import algorithms as a
    return [a.BlurPool(), a.LabelSmoothing(0.1),
            a.ProgressiveResizing(mode="resize", initial_scale=1.0),
            a.EMA(half_life="100ba"), a.SAM(rho=0.05)] if row == "b10_resnet20_recipe" else []


def composer_loop(row, dtype, words):
    """The same steps by Composer's Trainer, which asks for more when a batch begins."""
    import composer
    from composer.core import Callback

    model, x, y, opt = build(row, words)

    class Model(composer.models.ComposerModel):
        def __init__(self):
            super().__init__()
            self.net = model

        def forward(self, batch):
            # Composer itself refuses mixed precision on CPUs.
            with torch.autocast("cpu", dtype=torch.bfloat16, enabled=dtype == "bf16"):
                return self.net(batch[0])

        def loss(self, outputs, batch):
            return F.cross_entropy(outputs.float(), batch[1])

    class Data:
        batch_size = x.shape[0]

        def __iter__(self):
            while True:
                yield x, y

        def __len__(self):
            return 1 << 40

    class Pace(Callback):
        def __init__(self):
            self.left, self.start = 0, None

        def batch_start(self, state, logger):
            if self.left > 0:
                self.left -= 1
                return
            if self.start:
                print(time.monotonic_ns() - self.start, held_kb("VmHWM"), flush=True)
            line = sys.stdin.readline()
            if not line:
                raise SystemExit
            self.left, self.start = int(line) - 1, time.monotonic_ns()

    data = composer.DataSpec(Data(), get_num_samples_in_batch=lambda batch: x.shape[0])
    trainer = composer.Trainer(model=Model(), train_dataloader=data, optimizers=opt,
                               max_duration=f"{1 << 40}ba", device="cpu", callbacks=[Pace()],
                               algorithms=recipe(row),
                               precision="fp32", progress_bar=False, log_to_console=False,
                               save_folder=None)
    return f"{torch.__version__} composer {composer.__version__}", lambda n: trainer.fit()


def main():
    row, dtype, setting, threads = sys.argv[1:5]
    words = setting.split("+")
    torch.set_num_threads(int(threads))
    torch.manual_seed(1)
    try:
        if row.startswith("o_"):
            if set(words) & {"nhwc", "compile", "composer"}:
                raise RuntimeError("only an optimizer")
            version, steps = optimizer_alone(row, words)
        elif "composer" in words:
            version, steps = composer_loop(row, dtype, words)
        else:
            version, steps = plain_loop(row, dtype, words)
    except (ImportError, RuntimeError, TypeError, ValueError) as why:
        print("skip", str(why).replace("\n", " "), flush=True)
        return
    print("ready", version, held_kb("VmRSS"), flush=True)
    if "composer" in words:
        steps(0)
    else:
        answer(steps)


if __name__ == "__main__":
    main()
