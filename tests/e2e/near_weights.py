#!/usr/bin/env python3
"""near_weights.py - whether the model's weights of two checkpoints differ by at most a part of their norm.

near_weights.py A B PART; prints the largest difference.  near_weights.py A B PART START MOVED also looks at all weights
that are trained as one: they may differ by the part MOVED of how far those of A have come from START, the checkpoint of
a run that has not moved; it prints that part in a second line.  With a PART of inf no weight is looked at by itself."""
import array
import json
import math
import struct
import sys

try:  # a hundred million weights take it a second, plain Python a minute
    import numpy
except ImportError:
    numpy = None

CHUNK = 1 << 16  # weights in f64 that stay in a cache


def weights(path):
    """Name -> numbers of every f32 weight of the model."""
    with open(path, "rb") as f:
        size, = struct.unpack("<Q", f.read(8))
        header = json.loads(f.read(size))
        data = f.read()
    found = {}
    for name, at in header.items():
        if name.startswith("model.") and at["dtype"] == "F32":
            part = memoryview(data)[at["data_offsets"][0]:at["data_offsets"][1]]
            found[name] = array.array("f", bytes(part)) if numpy is None else numpy.frombuffer(part, "<f4")
    return found


def norm(x, less=None):
    """Of x, or of x - less."""
    if numpy is None:
        return math.sqrt(sum(v * v for v in (x if less is None else (u - v for u, v in zip(x, less)))))
    total = 0.0
    for at in range(0, len(x), CHUNK):
        part = numpy.subtract(x[at:at + CHUNK], 0.0 if less is None else less[at:at + CHUNK], dtype="f8")
        total += float(numpy.square(part, out=part).sum())
    return math.sqrt(total)


def as_one(norms):
    """Of all weights that are trained, without statistics, which move by themselves; infinite where one is no
    number."""
    found = math.sqrt(sum(d * d for name, d in norms.items() if not name.endswith((".running_mean", ".running_var"))))
    return math.inf if math.isnan(found) else found


def main():
    a, b = weights(sys.argv[1]), weights(sys.argv[2])
    if a.keys() != b.keys():
        sys.exit(f"other weights: {sorted(a.keys() ^ b.keys())[:5]}")
    worst, where, off = 0.0, "nothing", {}
    for name, x in a.items():
        off[name] = norm(x, b[name])
        part = off[name] / (norm(x) or 1.0)
        if not part <= worst:
            worst, where = math.inf if math.isnan(part) else part, name
    print(f"{worst:.3g} at {where}")
    if not worst <= float(sys.argv[3]):
        sys.exit(f"more than {sys.argv[3]}")
    if len(sys.argv) > 4:
        start = weights(sys.argv[4])
        moved = as_one({name: norm(x, start[name]) for name, x in a.items()})
        part = as_one(off) / moved if moved else math.inf
        print(f"{part:.3g} of how far they have moved")
        if not part <= float(sys.argv[5]):
            sys.exit(f"more than {sys.argv[5]} of it")


main()
