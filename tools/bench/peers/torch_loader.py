#!/usr/bin/env python3
"""torchvision's side of tools/bench/loader.

torch_loader.py make FOLDER writes the samples; torch_loader.py ROW WORKERS, in that folder, takes
three epochs of them and prints a line for each as `tutti bench loader` does.
"""
import os
import pathlib
import sys
import time

import torch
from torch.utils.data import DataLoader, Dataset
from torchvision import transforms as t
from torchvision.datasets.folder import pil_loader
from torchvision.io import decode_jpeg, read_file

MEAN, STD = (0.5, 0.5, 0.5), (0.25, 0.25, 0.25)


def make(folder):
    """One file of CIFAR's binary form; 8 folders of 48 photograph-like JPEG files, quality 90."""
    from PIL import Image, ImageFilter
    torch.manual_seed(1)
    rows = torch.randint(0, 256, (10000, 3073), dtype=torch.uint8)
    rows[:, 0] %= 10
    (folder / "cifar").mkdir()
    for name in [f"data_batch_{k}.bin" for k in range(1, 6)]:
        (folder / "cifar" / name).write_bytes(rows[:2000].numpy().tobytes())
        rows = rows.roll(-2000, 0)
    for k in range(8 * 48):
        small = torch.randint(0, 256, (24, 32, 3), dtype=torch.uint8).numpy()
        fine = torch.randint(0, 48, (375, 500, 3), dtype=torch.uint8).numpy()
        image = Image.fromarray(small).resize((500, 375), Image.Resampling.BICUBIC)
        image = Image.blend(image, Image.fromarray(fine).filter(ImageFilter.BLUR), 0.3)
        to = folder / "images" / f"class{k % 8}" / f"{k:04}.jpg"
        to.parent.mkdir(parents=True, exist_ok=True)
        image.save(to, quality=90)


class Cifar(Dataset):
    def __init__(self):
        files = sorted(pathlib.Path("cifar").glob("data_batch_*.bin"))
        data = b"".join(f.read_bytes() for f in files)
        rows = torch.frombuffer(bytearray(data), dtype=torch.uint8).view(-1, 3073)
        self.x, self.y = rows[:, 1:].reshape(-1, 3, 32, 32), rows[:, 0].long()
        self.change = t.Compose([t.RandomCrop(32, 4), t.RandomHorizontalFlip(),
                                 t.ConvertImageDtype(torch.float32), t.Normalize(MEAN, STD)])

    def __len__(self):
        return len(self.x)

    def __getitem__(self, k):
        return self.change(self.x[k]), self.y[k]


class Files(Dataset):
    def __init__(self, row):
        self.files = sorted(str(f) for f in pathlib.Path("images").glob("*/*.jpg"))
        self.change = None if row == "jpeg" else t.Compose(
            [t.RandomResizedCrop(224), t.RandomHorizontalFlip(), t.ToTensor(),
             t.Normalize(MEAN, STD)])

    def __len__(self):
        return len(self.files)

    def __getitem__(self, k):
        if not self.change:  # libjpeg-turbo and little else
            return int(decode_jpeg(read_file(self.files[k])).shape[0])
        return self.change(pil_loader(self.files[k]))


def main():
    row = sys.argv[1]
    if row == "make":
        make(pathlib.Path(sys.argv[2]))
        return
    torch.set_num_threads(1)
    workers = int(sys.argv[2])
    data = Cifar() if row == "cifar" else Files(row)
    loader = DataLoader(data, 64, shuffle=True, num_workers=workers if workers > 1 else 0,
                        persistent_workers=workers > 1)
    for epoch in range(1, 4):
        start, before = time.monotonic(), spent(loader)
        for _ in loader:
            pass
        took, used = time.monotonic() - start, spent(loader) - before
        print(f"epoch {epoch}: {len(data)} samples in {took:.2f} s, {len(data) / took:.0f} a second, "
              f"{len(data) / used:.0f} a second of CPU time", flush=True)


def spent(loader):
    """Processor seconds of this program and of its workers."""
    pids = [os.getpid()]
    iterator = getattr(loader, "_iterator", None)
    pids += [w.pid for w in getattr(iterator, "_workers", [])]
    total = 0
    for pid in pids:
        words = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()
        total += int(words[11]) + int(words[12])
    return max(1, total) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    main()
