#!/usr/bin/env python3
"""The recipe cifar10_airbench in PyTorch: accuracy and seconds of whole trainings on the same pictures.

airbench_peer.py DATA [--epochs 9.9] [--seeds 3] [--compile] [--device cuda]

DATA is a folder with train/ and test/ in MosaicML's shards, uncompressed (`tutti data convert` writes such), whose
pictures torchvision or Pillow decodes, or an .npz with train_images (N, 32, 32, 3) u8, train_labels, test_images and
test_labels. A line of JSON for each training: seconds of whitening and training, seconds of the evaluation with six
views, accuracy with them and without. The first training warms up and does not count. Network, schedule and
augmentation: Jordan, "94% on CIFAR-10 in 3.29 seconds on a single GPU" (2024).
"""
import argparse
import io
import json
import math
import pathlib
import struct
import time

import torch
from torch import nn
from torch.nn import functional as F

BATCH, MOMENTUM, RATE, DECAY, FASTER = 1024, 0.85, 11.5, 0.0153, 64.0
MEAN, DEVIATION = (0.4914, 0.4822, 0.4465), (0.2470, 0.2435, 0.2616)


def decoder():
    """A function from the bytes of a JPEG to a tensor (H, W, 3)."""
    try:
        from torchvision.io import ImageReadMode, decode_jpeg
        return lambda b: decode_jpeg(torch.frombuffer(bytearray(b), dtype=torch.uint8), ImageReadMode.RGB).permute(1, 2, 0)
    except ImportError:
        from PIL import Image

        def decode(b):
            picture = Image.open(io.BytesIO(b)).convert("RGB")
            return torch.frombuffer(bytearray(picture.tobytes()), dtype=torch.uint8).view(picture.height, picture.width, 3)
        return decode


def read_shards(folder, decode):
    """Pictures and labels; a sample is the sizes of the columns without one, then the columns."""
    images, labels = [], []
    for shard in json.loads((folder / "index.json").read_text())["shards"]:
        data = (folder / shard["raw_data"]["basename"]).read_bytes()
        count = struct.unpack_from("<I", data)[0]
        starts = struct.unpack_from(f"<{count + 1}I", data, 4)
        open_sizes = [k for k, size in enumerate(shard["column_sizes"]) if size is None]
        for at in starts[:-1]:
            sizes = list(shard["column_sizes"])
            for j, k in enumerate(open_sizes):
                sizes[k] = struct.unpack_from("<I", data, at + 4 * j)[0]
            at += 4 * len(open_sizes)
            for size, encoding in zip(sizes, shard["column_encodings"]):
                if encoding.startswith(("jpeg", "png", "pil")):
                    images.append(decode(data[at:at + size]))
                else:
                    labels.append(int.from_bytes(data[at:at + size], "little"))
                at += size
    return torch.stack(images), torch.tensor(labels)


def read(path, device):
    """[train images, train labels, test images, test labels], images (N, 32, 32, 3) u8."""
    if path.suffix == ".npz":
        import numpy
        with numpy.load(path) as file:
            parts = [torch.from_numpy(file[f"{part}_{what}"]) for part in ("train", "test") for what in ("images", "labels")]
    else:
        decode = decoder()
        parts = [x for part in ("train", "test") for x in read_shards(path / part, decode)]
    return [x.to(device) if k % 2 == 0 else x.to(device, torch.int64) for k, x in enumerate(parts)]


def conv(a, b, kernel=3, padding=1, bias=False):
    made = nn.Conv2d(a, b, kernel, padding=padding, bias=bias)
    nn.init.dirac_(made.weight.data[:a])
    if bias:
        nn.init.zeros_(made.bias)
    return made


def norm(width):
    made = nn.BatchNorm2d(width, eps=1e-12, momentum=0.4)
    made.weight.requires_grad = False
    return made


def block(a, b):
    return nn.Sequential(conv(a, b), nn.MaxPool2d(2), norm(b), nn.GELU(), conv(b, b), norm(b), nn.GELU())


def network(device, dtype):
    made = nn.Sequential(conv(3, 24, 2, 0, bias=True), nn.GELU(), block(24, 64), block(64, 256), block(256, 256),
                         nn.MaxPool2d(3), nn.Flatten(), nn.Linear(256, 10, bias=False))
    made[0].weight.requires_grad = False
    made.to(device, dtype, memory_format=torch.channels_last)
    for module in made.modules():
        if isinstance(module, nn.BatchNorm2d):
            module.float()
    return made


def whiten(first, images):
    """Eigenvectors of the windows of `images` over the roots of their mean squares, and their opposites."""
    windows = F.unfold(images.float(), 2).permute(0, 2, 1).reshape(-1, 12)
    values, vectors = torch.linalg.eigh(windows.T @ windows / len(windows))
    rows = (vectors / torch.sqrt(values + 5e-4)).T.flip(0).view(12, 3, 2, 2)
    with torch.no_grad():
        first.weight.copy_(torch.cat([rows, -rows]))


class Batches:
    """Training batches: every second epoch shows the mirror image; shifts by up to two pixels."""

    def __init__(self, images, labels):
        mirrored = torch.rand(len(images), device=images.device) < 0.5
        images = torch.where(mirrored[:, None, None, None], images.flip(3), images)
        self.padded = F.pad(images, (2, 2, 2, 2), mode="reflect").permute(0, 2, 3, 1).contiguous()
        self.labels, self.epoch = labels, 0

    def __iter__(self):
        n, device = len(self.labels), self.labels.device
        order, side = torch.randperm(n, device=device), torch.arange(32, device=device)
        shift = torch.randint(0, 5, (2, n, 1), device=device)
        columns = shift[1] + (side.flip(0) if self.epoch % 2 else side)
        rows = shift[0] + side
        self.epoch += 1
        for at in range(0, n - BATCH + 1, BATCH):
            k = order[at:at + BATCH]
            yield self.padded[k[:, None, None], rows[k][:, :, None], columns[k][:, None, :]].permute(0, 3, 1, 2), self.labels[k]


@torch.no_grad()
def correct(net, images, labels, views):
    """The share of right answers, of one view or of six."""
    right = 0
    for x, y in zip(images.split(2000), labels.split(2000)):
        if views == 1:
            out = net(x)
        else:
            wide = F.pad(x, (1, 1, 1, 1), mode="reflect")
            out = sum(share * (net(v) + net(v.flip(3))) for share, v in
                      ((0.25, x), (0.125, wide[:, :, :32, :32]), (0.125, wide[:, :, 2:, 2:])))
        right += (out.argmax(1) == y).sum()
    return right.item() / len(labels)


def optimizer(net):
    """The paper's decoupled rate and decay as those of SGD on the sum of a batch's losses: gradients of a mean would
    vanish in 16 bits."""
    scale = 1 + 1 / (1 - MOMENTUM)
    rate, decay = RATE / scale / BATCH, DECAY / scale
    biases = [m.bias for m in net.modules() if isinstance(m, nn.BatchNorm2d)]
    others = [p for p in net.parameters() if p.requires_grad and not any(p is b for b in biases)]
    groups = [{"params": biases, "lr": rate * FASTER, "weight_decay": decay / (rate * FASTER)},
              {"params": others, "lr": rate, "weight_decay": decay / rate}]
    return torch.optim.SGD(groups, lr=rate, momentum=MOMENTUM, nesterov=True)


def factor(step, total):
    rise = int(0.23 * total)
    return 0.2 + 0.8 * step / rise if step < rise else 1 - 0.93 * (step - rise) / (total - rise)


@torch.no_grad()
def lookahead(net, slow, share):
    for kept, now in zip(slow, net.state_dict().values()):
        if now.is_floating_point():
            now.copy_(kept.lerp_(now, share))


def train(args, data, dtype, net, run, seed):
    """`run` is `net`, or `net` compiled: one for all seeds, so that it is compiled once."""
    torch.manual_seed(seed)
    device = data[0].device
    mean, deviation = (torch.tensor(x, device=device)[:, None, None] for x in (MEAN, DEVIATION))
    images, tests = (((x.permute(0, 3, 1, 2) / 255 - mean) / deviation).to(dtype).contiguous(memory_format=torch.channels_last)
                     for x in data[::2])
    net.load_state_dict(network(device, dtype).state_dict())
    ready = lambda: torch.cuda.synchronize() if device.type == "cuda" else None
    slow = [x.clone() for x in net.state_dict().values()]
    steps_an_epoch = len(images) // BATCH
    total = args.steps or math.ceil(args.epochs * steps_an_epoch)
    update = optimizer(net)
    rates = torch.optim.lr_scheduler.LambdaLR(update, lambda k: factor(k, total))
    ready()
    began = time.perf_counter()
    whiten(net[0], images[:5000])
    batches, step = Batches(images, data[1]), 0
    net.train()
    while step < total:
        for x, y in batches:
            loss = F.cross_entropy(run(x).float() / 9, y, label_smoothing=0.2, reduction="sum")
            update.zero_grad(set_to_none=True)
            loss.backward()
            update.step()
            rates.step()
            step += 1
            if step % 5 == 0:
                lookahead(net, slow, 1 - 0.95 ** 5 * (step / total) ** 3)
            if step >= total:
                break
    lookahead(net, slow, 0.0)
    ready()
    trained = time.perf_counter()
    net.eval()
    six = correct(net, tests, data[3], 6)
    ready()
    done = time.perf_counter()
    return {"seed": seed, "steps": total, "train_s": round(trained - began, 3), "eval_s": round(done - trained, 3),
            "accuracy": six, "accuracy_one_view": correct(net, tests, data[3], 1)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("--epochs", type=float, default=9.9)
    parser.add_argument("--steps", type=int, default=0, help="updates, in the place of epochs")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--device", default="cuda")
    args = parser.parse_args()
    torch.backends.cudnn.benchmark = True
    data = read(args.data, torch.device(args.device))
    dtype = torch.float16 if args.device.startswith("cuda") else torch.float32
    net = network(args.device, dtype)
    run = torch.compile(net, mode="max-autotune") if args.compile else net
    print(json.dumps({"torch": torch.__version__, "dtype": str(dtype), "train": len(data[0]), "test": len(data[2])}), flush=True)
    for seed in range(args.seeds + 1):
        result = train(args, data, dtype, net, run, seed)
        print(json.dumps(result if seed else result | {"warm_up": True}), flush=True)


if __name__ == "__main__":
    main()
