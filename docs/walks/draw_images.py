#!/usr/bin/env python3
"""draw_images.py FOLDER - pictures to train on: FOLDER/train and FOLDER/val, each with disks, squares and stripes."""
import pathlib
import random
import struct
import sys
import zlib

KINDS = {"disk": lambda x, y, r: x * x + y * y < r * r, "square": lambda x, y, r: max(abs(x), abs(y)) < 0.8 * r,
         "stripes": lambda x, y, r: int(x + 100) // 3 % 2 == 0 and abs(y) < r}


def png(width, height, rows):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
            + chunk(b"IDAT", zlib.compress(b"".join(b"\0" + bytes(row) for row in rows))) + chunk(b"IEND", b""))


def picture(inside, draw):
    width, height = draw.randint(28, 40), draw.randint(28, 40)
    x, y, r = width / 2 + draw.uniform(-4, 4), height / 2 + draw.uniform(-4, 4), draw.uniform(7, 11)
    ink, paper = [[draw.randint(a, a + 60) for _ in range(3)] for a in (180, 20)]
    return png(width, height, [[v for i in range(width) for v in (ink if inside(i - x, j - y, r) else paper)]
                               for j in range(height)])


def main():
    draw = random.Random(7)
    for part, count in (("train", 48), ("val", 12)):
        for kind, inside in KINDS.items():
            folder = pathlib.Path(sys.argv[1]) / part / kind
            folder.mkdir(parents=True)
            for k in range(count):
                (folder / f"{k:03}.png").write_bytes(picture(inside, draw))


if __name__ == "__main__":
    main()
