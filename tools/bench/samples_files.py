"""Files for rows of loader and run, made without any package: tokens, MDS shards compressed by zstd, tar shards."""
import ctypes
import ctypes.util
import json
import pathlib
import random
import struct
import subprocess
import tarfile
import io
import zlib

LENGTH = 256  # of a sample of tokens


def make_tokens(folder, samples, vocabulary=50257):
    """tokens.bin in llm.c's form: 1024 bytes of head, then numbers of 16 bits."""
    count = samples * LENGTH + 1
    draw = random.Random(1)
    low = b"".join(struct.pack("<H", draw.randrange(vocabulary)) for _ in range(min(count, 65536)))
    numbers = (low * (count // 65536 + 1))[:2 * count]
    (folder / "tokens.bin").write_bytes(struct.pack("<3i", 20240520, 1, count).ljust(1024, b"\0") + numbers)


def compressed(data):
    """By the library of zstd."""
    name = ctypes.util.find_library("zstd")
    if not name:
        raise ValueError("the library of zstd is not installed, which makes this row's shards")
    lib = ctypes.CDLL(name)
    lib.ZSTD_compressBound.restype = lib.ZSTD_compress.restype = ctypes.c_size_t
    lib.ZSTD_compressBound.argtypes = [ctypes.c_size_t]
    lib.ZSTD_compress.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_int]
    room = ctypes.create_string_buffer(lib.ZSTD_compressBound(len(data)))
    size = lib.ZSTD_compress(room, len(room), data, len(data), 3)
    return room.raw[:size]


def convert(tutti, source, target, *more):
    """What Tutti reads, as shards of MosaicML Streaming that are compressed by zstd."""
    words = [tutti, "data", "convert", source, target, *more]
    said = subprocess.run([str(w) for w in words], text=True, capture_output=True, check=False, timeout=600)
    if said.returncode:
        raise ValueError(f"tutti data convert: {(said.stderr.strip().splitlines() or ['says nothing'])[-1]}")
    index = target / "index.json"
    whole = json.loads(index.read_text(encoding="utf-8"))
    for shard in whole["shards"]:
        file = target / shard["raw_data"]["basename"]
        data = compressed(file.read_bytes())
        file.unlink()
        packed = file.with_name(file.name + ".zstd")
        packed.write_bytes(data)
        shard.update(compression="zstd", zip_data={"basename": packed.name, "bytes": len(data), "hashes": {}})
        shard["raw_data"]["hashes"] = {}
        shard["hashes"] = []
    index.write_text(json.dumps(whole), encoding="utf-8")


def make_mds(folder, samples, tutti):
    """The tokens of tokens.bin as shards."""
    make_tokens(folder, samples)
    convert(tutti, folder / "tokens.bin", folder / "mds", "--set", f"length={LENGTH}")


def make_images(folder, samples, tutti):
    """Pictures of CIFAR-10's size and form, a little noise over a slope, as PNG in shards."""
    draw = random.Random(1)
    pictures = [bytes((x + y + c * 60 + draw.randrange(8)) % 256 for c in range(3) for y in range(32) for x in range(32))
                for _ in range(min(samples, 256))]
    (folder / "images.bin").write_bytes(b"".join(bytes([k % 10]) + pictures[k % len(pictures)] for k in range(samples)))
    convert(tutti, folder / "images.bin", folder / "images", "--as", "cifar_bin", "--shard-samples", 1024)


def png(side, draw):
    """A picture of three colours, a little noise over a slope."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    rows = b"".join(b"\0" + bytes((x + y + c * 60 + draw.randrange(8)) % 256 for x in range(side) for c in range(3))
                    for y in range(side))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">2I5B", side, side, 8, 2, 0, 0, 0)) + chunk(
        b"IDAT", zlib.compress(rows, 6)) + chunk(b"IEND", b"")


def make_tar(folder, samples):
    """Four shards in WebDataset's layout: pictures of 64 x 64 as PNG, classes as text."""
    draw = random.Random(1)
    pictures = [png(64, draw) for _ in range(min(samples, 64))]
    for shard in range(4):
        with tarfile.open(folder / f"{shard:03}.tar", "w") as tar:
            for k in range(shard, samples, 4):
                for ending, data in (("png", pictures[k % len(pictures)]), ("cls", str(k % 10).encode())):
                    info = tarfile.TarInfo(f"{k:06}.{ending}")
                    info.size = len(data)
                    tar.addfile(info, io.BytesIO(data))


def make(row, folder, samples, tutti):
    """The files of a row in `folder`, a path."""
    folder = pathlib.Path(folder)
    if row in ("tokens", "characters"):
        make_tokens(folder, samples, 65 if row == "characters" else 50257)
    elif row == "images":
        make_images(folder, samples, tutti)
    elif row == "mds":
        make_mds(folder, samples, tutti)
    else:
        make_tar(folder, samples)
