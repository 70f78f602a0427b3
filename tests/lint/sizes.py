#!/usr/bin/env python3
"""sizes.py - what one can read: sources of at most 500 lines, headers of 200, structures of 25 members, folders of 20 sources.

Run from the root. Headers and structures are judged in the whole tree, other sources in `host`, `kernels` and
`plugins`, their tests aside; so are folders of these, by the .c files in them and not below. A member is counted by its name: `int a, b;` has two, and a nested structure counts as one.
"""
import collections
import pathlib
import re
import sys

from files import list_files

LINES, HEADER_LINES, MEMBERS, SOURCES = 500, 200, 25, 20

FROZEN = "the table of a released interface, which grows at its end alone"
DOCUMENTED = "a header of the SDK: frozen ABI and its documentation"
# What may be larger, up to which figure, and why. Who reaches the limit leaves the table.
ALLOWED = {
    "plugins/datasets/mds/upstream_sets.h": (246, "data that tests/peers/streaming_sets.py records, in base64"),
    "sdk/include/tutti/device.h": (204, DOCUMENTED),
    "sdk/include/tutti/isa.h": (280, DOCUMENTED),
    "sdk/include/tutti/device.h tutti_device_v1": (34, FROZEN),
    "sdk/abi/1.0/include/tutti/device.h tutti_device_v1": (33, FROZEN),
    "sdk/abi/1.1/include/tutti/device.h tutti_device_v1": (34, FROZEN),
    "host/cli/": (36, "the program: a file for each command, and what commands share"),
    "host/plugin/": (26, "the life of a plugin, in one library; what knows nothing of plugins is in the four libraries below"),
    "plugins/common/tokenizer/": (24, "one library that follows a foreign format: a file for each part of a tokenizer.json"),
    "kernels/conv2d/": (21, "one operation and its gradients: a file for each of its algorithms"),
}


def without_comments(text):
    """The text with comments and strings emptied; lines stay."""
    text = re.sub(r"/\*.*?\*/", lambda m: "\n" * m.group(0).count("\n"), text, flags=re.S)
    return re.sub(r'"(\\.|[^"\\\n])*"', '""', text)


def count_members(text, start):
    """(members, rest) of the structure whose `{` ends at `start`."""
    depth, parentheses, members, at = 1, 0, 0, start
    while depth and at < len(text):
        c = text[at]
        depth += (c == "{") - (c == "}")
        parentheses += (c == "(") - (c == ")")
        members += depth == 1 and parentheses == 0 and c in ";,"
        at += 1
    return members, text[at : at + 60]


def structures(text):
    """(name, members) of every structure and union that is defined."""
    for m in re.finditer(r"\b(?:struct|union)\s*(\w*)\s*\{", text):
        members, rest = count_members(text, m.end())
        yield m.group(1) or re.split(r"[;,=\[]", rest)[0].strip(), members


def is_source(path):
    """What counts in `host`, `kernels` and `plugins`: no test."""
    return path.parts[0] in ("host", "kernels", "plugins") and not path.name.endswith("_test.c")


def folders(paths):
    """{folder/: (sources in it, limit)}"""
    counts = collections.Counter(f"{path.parent}/" for path in paths if path.suffix == ".c" and is_source(path))
    return {folder: (count, SOURCES) for folder, count in counts.items()}


def unit(what):
    """What a figure counts, by what it is of."""
    return "members" if " " in what else "sources" if what.endswith("/") else "lines"


def measure(path):
    """{what: (figure, limit)} of one file: the file itself, where its kind has a limit, and its structures."""
    text = path.read_text(encoding="utf-8")
    found = {}
    if path.suffix in (".h", ".cuh"):
        found[str(path)] = (text.count("\n"), HEADER_LINES)
    elif is_source(path):
        found[str(path)] = (text.count("\n"), LINES)
    for name, members in structures(without_comments(text)):
        found[f"{path} {name}"] = (members, MEMBERS)
    return found


def main():
    """Judges all sources and headers."""
    paths = [pathlib.Path(name) for name in sorted(list_files("*.c", "*.h", "*.cu", "*.cuh"))]
    found, bad = folders(paths), 0
    for path in paths:
        found.update(measure(path))
    for what, (figure, limit) in found.items():
        most = ALLOWED.get(what, (limit, ""))[0]
        if figure > most:
            bad += 1
            print(f"{what}: {figure} {unit(what)}, want at most {most}")
    for what in ALLOWED:
        now, limit = found.get(what, (0, 0))
        if now <= limit:
            bad += 1
            print(f"{what}: {now}, so its row is no longer needed")
    if len(found) < 1000:
        print("sizes.py: the sources were not found")
    return bad > 0 or len(found) < 1000


if __name__ == "__main__":
    sys.exit(main())
