"""rewrite_checkpoint.py IN OUT OLD NEW - the checkpoint with OLD replaced in its header.

It is written as of version 1, whose checksum may be missing."""
import json
import struct
import sys

source, target, old, new = sys.argv[1:]
with open(source, "rb") as f:
    data = f.read()
(size,) = struct.unpack("<Q", data[:8])
header = json.loads(data[8:8 + size])
before = json.dumps(header)
if old not in before:
    sys.exit(f"{source}: its header has no {old}")
header = json.loads(before.replace(old, new))
header["__metadata__"].pop("xxh3_64_file", None)
header["__metadata__"]["tutti"] = "1"
text = json.dumps(header, separators=(",", ":")).encode()
text += b" " * (-len(text) % 8)
with open(target, "wb") as f:
    f.write(struct.pack("<Q", len(text)) + text + data[8 + size:])
