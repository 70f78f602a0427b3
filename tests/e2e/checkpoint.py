"""checkpoint.py - the tensors of a checkpoint, clocks of the wall apart."""
import json
import struct


def tensors(path):
    with open(path, "rb") as f:
        data = f.read()
    (size,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8:8 + size])
    header.pop("__metadata__")
    body = data[8 + size:]
    out = {k: (v["dtype"], v["shape"], body[v["data_offsets"][0]:v["data_offsets"][1]])
           for k, v in header.items()}
    # the last four counters of each of the three timestamps are nanoseconds
    dtype, shape, raw = out["run.clock"]
    clock = list(struct.unpack(f"<{len(raw) // 8}q", raw))
    out["run.clock"] = clock[:10] + clock[14:24] + clock[28:38] + clock[42:]
    # which files may be rotated away depends on where a kill came
    out.pop("callback.checkpoint_saver.saved", None)
    # how long a log is depends on what was tried before, and on the digits of times
    for name in [k for k in out if k.startswith("logger.") and k.endswith(".mark")]:
        out.pop(name)
    return out
