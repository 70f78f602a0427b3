"""seeds.py FOLDER [FUZZER]... - writes what each fuzzer begins with: FOLDER/FUZZER/seed0, seed1 ..., one input a file.

An input comes from the tree (recipes, manifests, tokenizers), is made here or in seed_files.py, or is a line of
kept/FUZZER.txt, which has what campaigns have found: text as it is, or bytes as `hex 00ff 20*512`, of which the last is
512 times 20; `#` begins a comment.
"""
# SPDX-License-Identifier: Apache-2.0
import json
import pathlib
import sys

import seed_files

HERE = pathlib.Path(__file__).resolve().parent
TREE = HERE.parent.parent
USUAL_LIMIT = 8192  # bytes of an input
LIMITS = {"elf": 1 << 17, "cubin": 1 << 16, "npy": 1 << 14, "tar": 1 << 14, "tokenizer": 1 << 14}


def limit(name):
    """The most bytes of an input of this fuzzer."""
    return LIMITS.get(name, USUAL_LIMIT)


def names():
    """The fuzzers."""
    return sorted(path.stem.removesuffix("_fuzz") for path in HERE.glob("*_fuzz.c"))


def files(*patterns):
    return [path.read_bytes() for pattern in patterns for path in sorted(TREE.glob(pattern))]


def texts(*values):
    return [json.dumps(value).encode() for value in values]


def engines():
    """Engine files: one that is plain, and one with handlers and filters."""
    data = {"dataset": {"name": "glyphs", "samples": 256}, "batch_size": 64}
    process = {"call": "batch_mean.of", "args": ["input"]}
    handlers = [{"on": "iteration_completed", "every": 4, "call": "batch_mean.stop_below", "args": [1e9]},
                {"on": "epoch_started", "once": 2, "call": "demo.mark"}]
    plain = {"data": data, "process": process, "max_epochs": 2}
    return texts(plain, {**plain, "handlers": handlers, "seed": 3})


def manifests():
    """The smallest of each group of plugins that is small enough, and those of fixtures, most of which have a fault."""
    groups = {}
    for path in TREE.glob("plugins/*/*/plugin.json"):
        groups.setdefault(path.parent.parent.name, []).append(path)
    smallest = [min(paths, key=lambda path: (path.stat().st_size, path)) for _, paths in sorted(groups.items())]
    return [text for text in map(pathlib.Path.read_bytes, smallest) if len(text) <= limit("manifest")] + \
        files("tests/fixtures/*/plugin.json")


def handlers():
    """Of the manifest that handlers_fuzz.c has: every type of argument, an engine's, a filter, traces, a profiler."""
    everything = {"on": ["epoch_end", {"event": "batch_end", "every": 3}], "call": "demo.all",
                  "args": [1, 2, -3, 4, 0.5, 1e-3, True, "text", "3ba"]}
    plain = {"on": "batch_end", "call": "demo.none"}
    filters = [plain | {"every": 4}, plain | {"once": [1, 3]}, plain | {"after": 2, "before": 9},
               plain | {"filter": {"call": "demo.odd", "args": [3]}}, {"on": "mark", "call": "demo.none"}]
    return texts({"handlers": [everything, plain, *filters]}, {"handlers": [everything]}, {"handlers": [plain, *filters]},
                 {"traces": [{"file": "trace.jsonl"}, {"file": "fit.json", "events": ["fit_start"], "format": "chrome"}]},
                 {"profiler": {"wait": 1, "warmup": 1, "active": 2, "repeat": 1}})


def tokenizers():
    """A little one of each model, and the recorded ones that are small enough."""
    added = [{"id": 2, "content": "<x>", "special": True}]
    pairs = {"added_tokens": added, "normalizer": {"type": "Lowercase"},
             "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": True}, "decoder": {"type": "ByteLevel"},
             "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "<x>": 2, "ab": 3}, "merges": ["a b"]}}
    pieces = {"normalizer": {"type": "BertNormalizer"}, "pre_tokenizer": {"type": "BertPreTokenizer"},
              "decoder": {"type": "WordPiece", "prefix": "##"},
              "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
                        "max_input_chars_per_word": 100, "vocab": {"[UNK]": 0, "a": 1, "##b": 2}}}
    unigram = {"normalizer": {"type": "Sequence", "normalizers": [{"type": "NFKC"}]},
               "pre_tokenizer": {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "always"},
               "decoder": {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "always"},
               "model": {"type": "Unigram", "unk_id": 0, "vocab": [["<unk>", 0.0], ["\u2581a", -1.5], ["b", -2.0]]}}
    recorded = files("plugins/common/tokenizer/recorded/megabyte.json", "plugins/common/tokenizer/recorded/bert.json")
    return [text + b"\0a b<x> ab" for text in texts(pairs, pieces, unigram)] + recorded


def answers():
    """What a server says: all, that it is busy, a body in chunks, a part, where else to look."""
    def answer(first, *headers, body=b""):
        return "\r\n".join([f"HTTP/1.1 {first}", *headers, "", ""]).encode() + body
    return [answer("200 OK", "Content-Length: 3", 'ETag: "a"', body=b"abc"),
            answer("503 Busy", "Retry-After: 0", "Content-Length: 0"),
            answer("200 OK", "Transfer-Encoding: chunked", body=b"3\r\nabc\r\n0\r\n\r\n"),
            answer("206 Partial Content", "Content-Range: bytes 0-2/3", "Content-Length: 3", body=b"abc"),
            answer("302 Found", "Location: /b", "Content-Length: 0"), answer("404 Not Found", "Content-Length: 0")]


def conditions():
    """Of every kind of test on every type of setting."""
    cases = [{"i": 3}, {"i": [1, 3], "b": False}, [{"e": "u"}, {"f": {"min": 0, "below": 1}}], {"s": None},
             {"t": "ep"}, {"i": {"not": [1, 2], "max": 9}}]
    settings = {"i": 3, "f": 0.25, "b": True, "s": "x", "e": "v", "t": "3ba"}
    return texts(*({"when": case, "settings": settings} for case in cases))


def casts():
    """Of dispatch_fuzz.c: members of the cast (kind, rules, events, filter, how many events), then events, each with what
    the members answer."""
    def member(kind, rules, *events, every=0):
        return bytes([kind, rules, *events, *[0] * (6 - len(events)), every, len(events) - 1])
    heard = bytes([1, 99, 2, 99, 99, 3, 99, 250, 4, 99, 99])
    return [bytes([2]) + member(0, 0, 1, 2, 3) + member(2, 0, 1, 2) + heard,
            bytes([3]) + member(1, 1, 1, 4) + member(0, 2, 1) + member(3, 4, 1, 2, every=2) + heard,
            bytes([1]) + member(0, 8, 1, 128) + bytes([1, 99, 210, 128, 99, 5])]


def loops():
    """Of loop_fuzz.c: handlers (event, once, filters, loop), then runs (data, counts, limits), then what handlers do."""
    plain = bytes([0, 0, 0, 0, 0, 0])
    return [bytes([1]) + plain + bytes([1, 3, 1, 2, 3, 0]) + bytes([15] * 12),
            bytes([2, 3, 0, 0, 0, 0, 0, 5, 1, 1, 2, 1, 1, 0]) + bytes([2, 5, 1, 3, 0, 0]) + bytes([15, 2, 15, 0, 1, 15, 4, 15]),
            bytes([1, 2, 0, 0, 0, 0, 0]) + bytes([1, 2, 0, 1, 5, 3, 0]) + bytes([6, 1, 3, 1, 1, 2, 0, 3, 15])]


MAKERS = {
    "run_file": lambda: files("host/recipes/*.json", "tests/campaigns/compat/*/train/run.json") + engines(),
    "override": lambda: [b"a.b.1.c=[1, 2]", b"d=\"y\"", b"e={}", b"a.b.0=null", b"a.b", b"=1", b"a.b.9=1"],
    "manifest": manifests, "handlers": handlers, "tokenizer": tokenizers, "http": answers, "when": conditions,
    "dispatch": casts, "loop": loops, "checkpoint": seed_files.checkpoints, "npy": seed_files.arrays,
    "tar": seed_files.archives, "mds": seed_files.shards, "picture": seed_files.pictures, "elf": seed_files.libraries,
    "cubin": seed_files.device_codes,
}


def unhex(text):
    parts = (part.partition("*") for part in text.split())
    return b"".join(bytes.fromhex(digits) * int(times or 1) for digits, _, times in parts)


def kept(name):
    """Those that campaigns have found."""
    path = HERE / "kept" / f"{name}.txt"
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return [unhex(line[4:]) if line.startswith("hex ") else line.encode() for line in lines if line and not line.startswith("#")]


def write(folder, name):
    """Writes those of one fuzzer into folder/name; returns how many.  ValueError: it has none, or one is too long."""
    inputs = MAKERS[name]() + kept(name) if name in MAKERS else kept(name)
    where = pathlib.Path(folder) / name
    where.mkdir(parents=True, exist_ok=True)
    if not inputs:
        raise ValueError(f"{name}: the fuzzer has nothing to begin with: want a row of MAKERS in seeds.py, or kept/{name}.txt")
    for k, data in enumerate(inputs):
        if len(data) > limit(name):
            raise ValueError(f"{name}: seed {k} has {len(data)} bytes, want at most {limit(name)}")
        (where / f"seed{k}").write_bytes(data)
    return len(inputs)


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__.splitlines()[0])
    for name in sys.argv[2:] or names():
        try:
            print(f"{name}: {write(sys.argv[1], name)} seeds")
        except ValueError as why:
            sys.exit(f"seeds: {why}")


if __name__ == "__main__":
    main()
