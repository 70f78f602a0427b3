"""data_files.py - small files of data sets, each written from its format's description."""
# SPDX-License-Identifier: Apache-2.0
import gzip
import json
import os
import struct
import zlib


def npy(dtype, shape, data):
    """A file of NumPy's."""
    text = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}"
    header = text.ljust((len(text) + 11 + 63) // 64 * 64 - 11) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + data


def png(width, height, pixels):
    """A PNG of three bytes a pixel, row after row."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    rows = b"".join(b"\0" + pixels[3 * width * y:3 * width * (y + 1)] for y in range(height))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">2I5B", width, height, 8, 2, 0, 0, 0)) +
            chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def idx(shape, data):
    """A file of bytes as MNIST's are."""
    return struct.pack(f">4B{len(shape)}I", 0, 0, 8, len(shape), *shape) + data


def tokens_bin(tokens):
    """A file of tokens as llm.c reads it for GPT-2."""
    return struct.pack("<256i", 20240520, 1, len(tokens), *[0] * 253) + struct.pack(f"<{len(tokens)}H", *tokens)


def write_shards(folder, counts):
    """A set of MDS shards with so many samples: 8 x 8 floats and a class."""
    os.makedirs(folder)
    shards, at = [], 0
    for number, count in enumerate(counts):
        rows = [struct.pack("<q64f", k % 10, *[(k * j % 23) / 9 for j in range(64)]) for k in range(at, at + count)]
        ends = [4 + 4 * (count + 1) + 264 * k for k in range(count + 1)]
        data = struct.pack(f"<{count + 2}I", count, *ends) + b"".join(rows)
        name = f"shard.{number:05d}.mds"
        with open(os.path.join(folder, name), "wb") as f:
            f.write(data)
        at += count
        shards.append({"format": "mds", "version": 2, "samples": count, "hashes": [], "compression": None, "zip_data": None,
                       "column_names": ["label", "x"], "column_encodings": ["int", "ndarray:float32:8,8,1"],
                       "column_sizes": [8, 256], "raw_data": {"basename": name, "bytes": len(data), "hashes": {}}})
    with open(os.path.join(folder, "index.json"), "w", encoding="utf-8") as f:
        json.dump({"version": 2, "shards": shards}, f)


def zip_shards(folder, padding):
    """Compresses the shards of such a set, each made longer by so many bytes that no sample has."""
    with open(os.path.join(folder, "index.json"), encoding="utf-8") as f:
        index = json.load(f)
    for shard in index["shards"]:
        path = os.path.join(folder, shard["raw_data"]["basename"])
        with open(path, "rb") as f:
            data = f.read() + bytes(padding)
        os.remove(path)
        with open(path + ".gz", "wb") as f:
            f.write(gzip.compress(data, 1))
        shard["raw_data"]["bytes"] = len(data)
        shard["zip_data"] = {"basename": os.path.basename(path) + ".gz", "bytes": os.path.getsize(path + ".gz"), "hashes": {}}
        shard["compression"] = "gz"
    with open(os.path.join(folder, "index.json"), "w", encoding="utf-8") as f:
        json.dump(index, f)
