"""second_order.py TOLERANCE LAMBDA RATE STILL PLAIN1 PLAIN2 PENALISED - whether a step with gradient_penalty of
weights, w - RATE (g + LAMBDA H g), agrees with the H g that two plain steps on the same data show:
g - g(w - RATE g) = RATE H g + terms of RATE^2.  The checkpoints are of w (a step of rate 0), of the two
plain steps, and of the penalised one."""
import json
import math
import struct
import sys


def weights(path):
    """All numbers of the model but running statistics, in the order of their names."""
    with open(path, "rb") as f:
        data = f.read()
    (size,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8:8 + size])
    body, out = data[8 + size:], []
    for name in sorted(header):
        if name.startswith("model.") and "running_" not in name:
            first, last = header[name]["data_offsets"]
            out += struct.unpack(f"<{(last - first) // 4}f", body[first:last])
    return out


tolerance, penalty, rate = map(float, sys.argv[1:4])
w, one, two, penalised = map(weights, sys.argv[4:])
g = [(a - b) / rate for a, b in zip(w, one)]
later = [(a - b) / rate for a, b in zip(one, two)]
want = [(a - b) / rate for a, b in zip(g, later)]
got = [((a - b) / rate - c) / penalty for a, b, c in zip(w, penalised, g)]
length = math.sqrt(sum(x * x for x in want))
error = math.sqrt(sum((x - y) ** 2 for x, y in zip(got, want))) / length
print(f"|g| {math.sqrt(sum(x * x for x in g)):.4g}  |H g| {length:.4g}  relative error {error:.2g}")
sys.exit(not error < tolerance)
