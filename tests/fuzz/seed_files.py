"""seed_files.py - the smallest good files of each binary format that a fuzzer reads, written from the formats' descriptions."""
# SPDX-License-Identifier: Apache-2.0
import io
import json
import pathlib
import platform
import struct
import sys
import tarfile
import zipfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "e2e"))
from data_files import npy, png  # noqa: E402

MACHINES = {"x86_64": 62, "aarch64": 183}
CUDA = 190
ENTRY, KERNEL = "tutti_plugin_v1", "kernel"  # what elf_fuzz.c asks for
DT_NEEDED, DT_STRTAB, DT_STRSZ, DT_RUNPATH = 1, 5, 10, 29


def checkpoints():
    """As version 1 wrote them, without a checksum and with one over the tensors, as other programs do, and as version 2
    writes them, with XXH3 over all of it; the digits are those of just these bytes."""
    tensors = {"a": {"dtype": "F32", "shape": [2, 2], "data_offsets": [0, 16]},
               "b": {"dtype": "I64", "shape": [], "data_offsets": [16, 24]}}
    first = {"tutti": "1", "format": "pt"}
    out = []
    for header in ({"__metadata__": first} | tensors, tensors, {}, {"__metadata__": first | {"xxh3_64": "743df94ee4c78a2a"}} | tensors,
                   {"__metadata__": {"xxh3_64_file": "a6e6d01e8f5fbd78", "tutti": "2"}} | tensors):
        sealed = "xxh3_64_file" in header.get("__metadata__", {})
        text = json.dumps(header, separators=(",", ":") if sealed else None).encode()
        text += b" " * (-len(text) % 8)
        out.append(struct.pack("<Q", len(text)) + text + bytes(24 if header else 0))
    return out


def arrays():
    zipped = [io.BytesIO(), io.BytesIO()]
    for where, how in zip(zipped, (zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED)):
        with zipfile.ZipFile(where, "w", how) as z:
            z.writestr(zipfile.ZipInfo("a.npy"), npy("<f4", (3, 2), bytes(24)), how)
    return [npy("<f4", (3, 2), bytes(24)), npy(">i2", (4,), bytes(8)), npy("|b1", (2, 2, 2), bytes(8)),
            npy("<f8", (2, 0), b""), *(z.getvalue() for z in zipped)]


def archives():
    out = []
    for kind in (tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT):
        data = io.BytesIO()
        with tarfile.open(fileobj=data, mode="w", format=kind, bufsize=512) as t:
            for name in ("1.cls", "a/" * 60 + "2.txt"):
                info = tarfile.TarInfo(name)
                info.size = 3
                t.addfile(info, io.BytesIO(b"abc"))
            folder = tarfile.TarInfo("folder")
            folder.type = tarfile.DIRTYPE
            t.addfile(folder)
        out.append(data.getvalue().rstrip(b"\0") + bytes(1024))
    return out


def shards():
    """index.json, a zero, and the shard."""
    shard = struct.pack("<4I", 2, 16, 24, 32) + struct.pack("<2q", 1, 2)
    entry = {"format": "mds", "version": 2, "column_names": ["x"], "column_encodings": ["int"], "column_sizes": [8],
             "samples": 2, "hashes": [], "compression": None, "zip_data": None,
             "raw_data": {"basename": "shard.0.mds", "bytes": len(shard), "hashes": {}}}
    seeds = [(entry, shard)]
    texts = struct.pack("<4I", 2, 16, 22, 28) + struct.pack("<I", 2) + b"ab" + struct.pack("<I", 2) + b"cd"
    seeds.append((entry | {"column_encodings": ["str"], "column_sizes": [None],
                           "raw_data": entry["raw_data"] | {"bytes": len(texts)}}, texts))
    for form, lines in (("csv", [b"1,ab\n", b"-2,\n"]), ("json", [b'{"x": 1, "y": "ab"}\n', b'{"x": -2, "y": ""}\n'])):
        data = struct.pack("<4I", 2, 16, 16 + len(lines[0]), 16 + sum(map(len, lines))) + b"".join(lines)
        info = {"basename": "shard.0.mds", "bytes": len(data), "hashes": {}}  # data, and where in them the lines are
        seeds.append(({"format": form, "version": 2, "column_names": ["x", "y"], "column_encodings": ["int", "str"],
                       "columns": {"x": "int", "y": "str"}, "newline": "\n", "samples": 2, "hashes": [],
                       "compression": None, "raw_data": info, "raw_meta": info, "zip_data": None, "zip_meta": None}, data))
    return [json.dumps({"version": 2, "shards": [e]}).encode() + b"\0" + data for e, data in seeds]


# ---- pictures ----

def jpeg(components):
    """A JPEG of one grey block: Huffman tables of one code each, for a difference of 0 and the end of a block."""
    def segment(marker, body):
        return bytes([0xFF, marker]) + struct.pack(">H", len(body) + 2) + body
    one_code = bytes([1] + [0] * 15 + [0])
    frame = struct.pack(">BHHB", 8, 8, 8, components) + b"".join(bytes([k + 1, 0x11, 0]) for k in range(components))
    scan = bytes([components]) + b"".join(bytes([k + 1, 0]) for k in range(components)) + bytes([0, 63, 0])
    bits = 2 * components  # of data, all zeros; the rest of the byte is ones
    return (b"\xff\xd8" + segment(0xE0, b"JFIF\0\1\1\0\0\1\0\1\0\0") + segment(0xDB, bytes([0] + [1] * 64)) +
            segment(0xC0, frame) + segment(0xC4, b"\x00" + one_code) + segment(0xC4, b"\x10" + one_code) +
            segment(0xDA, scan) + bytes([0xFF >> bits]) + b"\xff\xd9")


def pictures():
    return [png(2, 1, bytes(range(1, 7))), jpeg(1), jpeg(3)]


# ---- ELF ----

def elf_header(machine, kind, programs, sections, at):
    """programs, sections: how many headers; at: where they are."""
    return struct.pack("<16sHHIQQQIHHHHHH", b"\x7fELF\2\1\1", kind, machine, 1, 0, at[0] if programs else 0, at[1], 0, 64,
                       56 if programs else 0, programs, 64, sections, 0)


def library(machine, names=(ENTRY, KERNEL), dynamic=((DT_NEEDED, "libm.so.6"), (DT_RUNPATH, "$ORIGIN")), stack=6):
    """A shared object that exports `names`: headers, symbols and a dynamic section, without code."""
    strings = b"\0"
    places = {}
    for text in [*names, *(text for _, text in dynamic)]:
        places[text] = len(strings)
        strings += text.encode() + b"\0"
    symbols = bytes(24) + b"".join(struct.pack("<IBBHQQ", places[n], 0x12, 0, 1, 0, 0) for n in names)
    at_strings = 64 + 3 * 56
    at_symbols = at_strings + len(strings)
    at_dynamic = at_symbols + len(symbols)
    entries = [(tag, places[text]) for tag, text in dynamic] + [(DT_STRTAB, at_strings), (DT_STRSZ, len(strings)), (0, 0)]
    body = strings + symbols + b"".join(struct.pack("<qQ", *one) for one in entries)
    end = at_strings + len(body)

    def program(kind, flags, at, size):
        return struct.pack("<IIQQQQQQ", kind, flags, at, at, at, size, size, 8)

    def section(kind, at, size, link, entry):
        return struct.pack("<IIQQQQIIQQ", 0, kind, 0, at, at, size, link, 0, 8, entry)
    programs = program(1, 5, 0, end) + program(2, 6, at_dynamic, 16 * len(entries)) + program(0x6474E551, stack, 0, 0)
    sections = bytes(64) + section(3, at_strings, len(strings), 0, 0) + section(11, at_symbols, len(symbols), 1, 24)
    return elf_header(machine, 3, 3, 3, (64, end)) + programs + body + sections


def libraries():
    """A plugin's, one that needs nothing, and one with an executable stack and a symbol too many."""
    machine = MACHINES.get(platform.machine(), 0)
    return [library(machine), library(machine, dynamic=()), library(machine, names=(ENTRY, KERNEL, "more"), stack=7)]


def cubin(entry, sizes):
    """Device code that says of one function how long its arguments are, as the section .nv.info has it."""
    offsets, end = [], 0
    for size in sizes:
        offsets.append((end + size - 1) // size * size)
        end = offsets[-1] + size
    names = b"\0.nv.info." + entry.encode() + b"\0"
    info = struct.pack("<HHIHH", 0x0A04, 8, 0, 0x210, end)
    for k in reversed(range(len(sizes))):
        info += struct.pack("<HHIHHI", 0x1704, 12, 0, k, offsets[k], sizes[k] << 18)
    sections = b"".join(struct.pack("<IIQQQQIIQQ", name, kind, 0, 0, at, size, 0, 0, 1, 0)
                        for name, kind, at, size in ((0, 3, 64, len(names)), (1, 0x70000000, 64 + len(names), len(info))))
    return elf_header(CUDA, 2, 0, 2, (0, 64 + len(names) + len(info))) + names + info + sections


def device_codes():
    """What cubin_fuzz.c wants, alone and in a fatbin, and a function with an argument too few."""
    good = cubin("scale_cuda", [8, 4, 8])
    pieces = b"".join(struct.pack("<HHIQIIII32x", kind, 0x101, 64, len(data), 0, 0, 0, 90) + data
                      for kind, data in ((1, b"\x28\xb5\x2f\xfd" + bytes(4)), (2, good)))
    return [good, struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(pieces)) + pieces, cubin("scale_cuda", [8, 4])]
