"""checkpoint.py - the tensors of a checkpoint, clocks of the wall apart."""
import json
import os
import struct


def read(path):
    """The tensors of one file: dtype, shape and bytes by name."""
    with open(path, "rb") as f:
        data = f.read()
    (size,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8:8 + size])
    header.pop("__metadata__")
    body = data[8 + size:]
    return {k: (v["dtype"], v["shape"], body[v["data_offsets"][0]:v["data_offsets"][1]])
            for k, v in header.items()}


def tensors(path):
    """The tensors of a checkpoint, of one file or of shards with their index."""
    path = os.path.realpath(path)
    if path.endswith(".index.json"):
        with open(path, encoding="utf-8") as f:
            where = json.load(f)["weight_map"]
        shards = {name: read(os.path.join(os.path.dirname(path), name)) for name in set(where.values())}
        out = {name: shards[shard][name] for name, shard in where.items()}
    else:
        out = read(path)
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
