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


def norm(x):
    if numpy is None:
        return math.sqrt(sum(v * v for v in x))
    return math.sqrt(numpy.square(x, dtype="f8").sum())


def difference(x, y):
    return [u - v for u, v in zip(x, y)] if numpy is None else numpy.subtract(x, y, dtype="f8")


def distance(a, b):
    """Of all weights as one, without statistics, which move by themselves; infinite where one is no number."""
    found = math.sqrt(sum(norm(difference(x, b[name])) ** 2 for name, x in a.items()
                          if not name.endswith((".running_mean", ".running_var"))))
    return math.inf if math.isnan(found) else found


def main():
    a, b = weights(sys.argv[1]), weights(sys.argv[2])
    if a.keys() != b.keys():
        sys.exit(f"other weights: {sorted(a.keys() ^ b.keys())[:5]}")
    worst, where = 0.0, "nothing"
    for name, x in a.items():
        part = norm(difference(x, b[name])) / (norm(x) or 1.0)
        if not part <= worst:  # NaN too
            worst, where = part, name
    print(f"{worst:.3g} at {where}")
    if not worst <= float(sys.argv[3]):
        sys.exit(f"more than {sys.argv[3]}")
    if len(sys.argv) > 4:
        moved = distance(a, weights(sys.argv[4]))
        part = distance(a, b) / moved if moved else math.inf
        print(f"{part:.3g} of how far they have moved")
        if not part <= float(sys.argv[5]):
            sys.exit(f"more than {sys.argv[5]} of it")


main()
