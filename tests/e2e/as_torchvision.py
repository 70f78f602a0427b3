#!/usr/bin/env python3
"""as_torchvision.py CHECKPOINT FILE - a ResNet's weights as torchvision keeps them: a convolution's channels before its rows, and
counts of batches."""
import json, struct, sys
data = open(sys.argv[1], "rb").read()
size, = struct.unpack("<Q", data[:8])
header, body = json.loads(data[8:8 + size]), data[8 + size:]
out, at, blob = {"__metadata__": {"format": "pt"}}, 0, b""

def add(name, dtype, shape, raw):
    global at, blob
    out[name] = {"dtype": dtype, "shape": shape, "data_offsets": [at, at + len(raw)]}
    at += len(raw)
    blob += raw

for name, entry in header.items():
    if not name.startswith("model."):
        continue
    raw, shape = body[slice(*entry["data_offsets"])], entry["shape"]
    if len(shape) == 4:
        o, h, w, i = shape
        values = [raw[4 * k:4 * k + 4] for k in range(len(raw) // 4)]
        raw = b"".join(values[((a * h + r) * w + c) * i + b]
                       for a in range(o) for b in range(i) for r in range(h) for c in range(w))
        shape = [o, i, h, w]
    add(name[6:], entry["dtype"], shape, raw)
add("bn1.num_batches_tracked", "I64", [], struct.pack("<q", 8))
text = json.dumps(out).encode()
open(sys.argv[2], "wb").write(struct.pack("<Q", len(text)) + text + blob)
