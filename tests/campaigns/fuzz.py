"""fuzz.py FUZZERS [--seconds N] [--hours H] [--target NAME] [--tally FILE] - libFuzzer on all that reads what others wrote.

FUZZERS is the build folder that tools/campaign makes. Each fuzzer in turn begins with small seeds made of
the tree (recipes, manifests, fixtures) and with what earlier turns have found (corpus/ in FUZZERS), knows the words
of the schemas, and goes on for N seconds; with --hours they take turns. An input that fails is kept in crashes/.
"""
# SPDX-License-Identifier: Apache-2.0
import io
import json
import os
import pathlib
import re
import struct
import subprocess
import sys
import tarfile
import zipfile

from campaign import Tally, npy, parser
from data_files import png

TREE = pathlib.Path(__file__).resolve().parent.parent.parent
DEFAULT_SECONDS = 60
LIMITS = {"elf": 1 << 17, "cubin": 1 << 16, "npy": 1 << 14, "tar": 1 << 14, "tokenizer": 1 << 14}  # bytes of an input; else 8192


def files(*patterns):
    return [path.read_bytes() for pattern in patterns for path in sorted(TREE.glob(pattern))]


def checkpoints():
    """As version 1 wrote them, which has no checksum over the header."""
    header = {"__metadata__": {"tutti": "1", "format": "pt"},
              "a": {"dtype": "F32", "shape": [2, 2], "data_offsets": [0, 16]},
              "b": {"dtype": "I64", "shape": [], "data_offsets": [16, 24]}}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return [struct.pack("<Q", len(text)) + text + bytes(24)]


def arrays():
    zipped = io.BytesIO()
    with zipfile.ZipFile(zipped, "w", zipfile.ZIP_DEFLATED) as z:
        z.writestr("a.npy", npy("<f4", (3, 2), bytes(24)))
    return [npy("<f4", (3, 2), bytes(24)), npy(">i2", (4,), bytes(8)), npy("|b1", (2, 2, 2), bytes(8)), zipped.getvalue()]


def archives():
    out = []
    for kind in (tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT):
        data = io.BytesIO()
        with tarfile.open(fileobj=data, mode="w", format=kind) as t:
            for name in ("1.cls", "a/" * 60 + "2.txt"):
                info = tarfile.TarInfo(name)
                info.size = 3
                t.addfile(info, io.BytesIO(b"abc"))
        out.append(data.getvalue())
    return out


def shards():
    shard = struct.pack("<4I", 2, 16, 24, 32) + struct.pack("<2q", 1, 2)
    entry = {"format": "mds", "version": 2, "column_names": ["x"], "column_encodings": ["int"], "column_sizes": [8],
             "samples": 2, "hashes": [], "compression": None, "zip_data": None,
             "raw_data": {"basename": "shard.0.mds", "bytes": len(shard), "hashes": {}}}
    seeds = [(entry, shard)]
    for form, lines in (("csv", [b"1,ab\n", b"-2,\n"]), ("json", [b'{"x": 1, "y": "ab"}\n', b'{"x": -2, "y": ""}\n'])):
        data = struct.pack("<4I", 2, 16, 16 + len(lines[0]), 16 + sum(map(len, lines))) + b"".join(lines)
        info = {"basename": "shard.0.mds", "bytes": len(data), "hashes": {}}  # data, and where in them the lines are
        seeds.append(({"format": form, "version": 2, "column_names": ["x", "y"], "column_encodings": ["int", "str"],
                       "columns": {"x": "int", "y": "str"}, "newline": "\n", "samples": 2, "hashes": [],
                       "compression": None, "raw_data": info, "raw_meta": info, "zip_data": None, "zip_meta": None}, data))
    return [json.dumps({"version": 2, "shards": [e]}).encode() + b"\0" + data for e, data in seeds]


def tokenizers():
    """Of each kind the smallest that was recorded, and a little one."""
    little = {"added_tokens": [{"id": 2, "content": "<x>", "special": True}], "normalizer": {"type": "Lowercase"},
              "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": True}, "decoder": {"type": "ByteLevel"},
              "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "<x>": 2, "ab": 3}, "merges": ["a b"]}}
    found = files("plugins/common/tokenizer/recorded/*.json")
    return [json.dumps(little).encode()] + [text for text in found if len(text) < LIMITS["tokenizer"]]


def pictures():
    """A PNG of two pixels, made here, and what begins a JPEG."""
    return [png(2, 1, bytes(range(1, 7))), b"\xff\xd8\xff\xe0\0\x10JFIF\0\1\1\0\0\1\0\1\0\0"]


def answers():
    return [b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nETag: \"a\"\r\n\r\nabc",
            b"HTTP/1.1 503 Busy\r\nRetry-After: 0\r\nContent-Length: 0\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"]


def engines():
    """Engine files: one that is plain, and one with handlers and filters."""
    data = {"dataset": {"name": "glyphs", "samples": 256}, "batch_size": 64}
    process = {"call": "batch_mean.of", "args": ["input"]}
    handlers = [{"on": "iteration_completed", "every": 4, "call": "batch_mean.stop_below", "args": [1e9]},
                {"on": "epoch_started", "once": 2, "call": "demo.mark"}]
    plain = {"data": data, "process": process, "max_epochs": 2}
    return [json.dumps(one).encode() for one in (plain, {**plain, "handlers": handlers, "seed": 3})]


def conditions():
    """Of every kind of test on every type of setting."""
    cases = [{"i": 3}, {"i": [1, 3], "b": False}, [{"e": "u"}, {"f": {"min": 0, "below": 1}}], {"s": None},
             {"t": "ep"}, {"i": {"not": [1, 2], "max": 9}}]
    settings = {"i": 3, "f": 0.25, "b": True, "s": "x", "e": "v", "t": "3ba"}
    return [json.dumps({"when": case, "settings": settings}).encode() for case in cases]


def libraries():
    found = sorted((TREE / "build/release/lib/tutti/plugins").glob("*/*.so"), key=lambda p: p.stat().st_size)
    return [path.read_bytes() for path in found[:3]]


SEEDS = {
    "run_file": lambda: files("host/recipes/*.json", "tests/campaigns/compat/*/train/run.json") + engines(),
    "manifest": lambda: files("plugins/*/*/plugin.json", "tests/fixtures/*/plugin.json"),
    "override": lambda: [b"a.b.1.c=[1, 2]", b"d=\"y\"", b"e={}"],
    "checkpoint": checkpoints, "npy": arrays, "tar": archives, "mds": shards, "elf": libraries, "cubin": libraries,
    "tokenizer": tokenizers, "picture": pictures, "http": answers, "when": conditions,
}


def words():
    """A dictionary of the keys and words that the schemas and manifests have."""
    found = set()
    for text in files("sdk/schema/*.json", "plugins/*/*/plugin.json"):
        found |= set(re.findall(rb'"([a-z_0-9./]{2,32})"', text))
    return b"\n".join(b'"' + word + b'"' for word in sorted(found)) + b"\n"


def seed(fuzzers, name):
    """The folder of what to begin with."""
    corpus = fuzzers / "corpus" / name
    corpus.mkdir(parents=True, exist_ok=True)
    for k, data in enumerate(SEEDS.get(name, lambda: [])()):
        if len(data) <= LIMITS.get(name, 8192):
            (corpus / f"seed{k}").write_bytes(data)
    return corpus


def run(fuzzers, name, seconds, number, tally):
    crashes = fuzzers / "crashes"
    crashes.mkdir(exist_ok=True)
    dictionary = fuzzers / "words.dict"
    dictionary.write_bytes(words())
    command = [fuzzers / "tests/fuzz" / f"fuzz_{name}", seed(fuzzers, name), f"-max_total_time={seconds}",
               f"-max_len={LIMITS.get(name, 8192)}", f"-dict={dictionary}", f"-seed={number}", "-timeout=20",
               "-rss_limit_mb=4096", f"-artifact_prefix={crashes}/{name}-", "-print_final_stats=1"]
    plugins = TREE / "build/release/lib/tutti/plugins"
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False,
                          env=os.environ | {"TUTTI_PLUGIN_PATH": str(plugins), "ASAN_OPTIONS": "detect_leaks=1"})
    inputs = re.search(r"stat::number_of_executed_units:\s+(\d+)", done.stderr)
    coverage = re.findall(r"cov: (\d+)", done.stderr)
    tally.add(f"{name}_inputs", int(inputs[1]) if inputs else 0)
    tally.values[f"{name}_coverage"] = int(coverage[-1]) if coverage else 0
    print(f"{name}: {inputs[1] if inputs else 0} inputs, coverage {coverage[-1] if coverage else 0}", flush=True)
    if done.returncode:
        tally.fail(f"{name}: {done.stderr[-3000:]}")


def main():
    p = parser(__doc__, first="fuzzers")
    p.add_argument("--seconds", type=int, default=DEFAULT_SECONDS, help="of each turn")
    p.add_argument("--target", action="append")
    given = p.parse_args()
    fuzzers = pathlib.Path(given.fuzzers).resolve()
    names = given.target or sorted(path.name[5:] for path in (fuzzers / "tests/fuzz").glob("fuzz_*") if path.is_file())
    tally = Tally("fuzz", given)
    number = given.seed
    while names:
        for name in names:
            run(fuzzers, name, given.seconds, number % (1 << 31), tally)
        number += 1
        if given.hours is None or tally.is_over():
            break
    return tally.finish()


sys.exit(main())
