#!/usr/bin/env python3
"""sizes.py - files that one can read: at most 500 lines; in the host headers 200 and structures 25 members.

Run from the root. A member is counted by its name: `int a, b;` has two, and a nested structure counts as one.
"""
import pathlib
import re
import sys

LINES, HEADER_LINES, MEMBERS = 500, 200, 25

# What may be larger, up to which figure, and why. Who reaches the limit leaves the table.
ALLOWED = {}


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


def measure(path):
    """{what: (figure, limit)} of one file: the file itself and, in the host, its structures."""
    text = path.read_text(encoding="utf-8")
    host = path.parts[0] == "host"
    header = host and path.suffix in (".h", ".cuh")
    found = {str(path): (text.count("\n"), HEADER_LINES if header else LINES)}
    if not host:
        return found
    for name, members in structures(without_comments(text)):
        found[f"{path} {name}"] = (members, MEMBERS)
    return found


def main():
    """Judges all sources of host/, kernels/ and plugins/ but tests."""
    found, bad = {}, 0
    for path in sorted(p for folder in ("host", "kernels", "plugins") for p in pathlib.Path(folder).rglob("*")):
        if path.suffix in (".c", ".h", ".cu", ".cuh") and not path.name.endswith("_test.c"):
            found.update(measure(path))
    for what, (figure, limit) in found.items():
        most = ALLOWED.get(what, (limit, ""))[0]
        if figure > most:
            bad += 1
            print(f"{what}: {figure} {'members' if ' ' in what else 'lines'}, want at most {most}")
    for what in ALLOWED:
        now, limit = found.get(what, (0, 0))
        if now <= limit:
            bad += 1
            print(f"{what}: {now}, so its row is no longer needed")
    if len(found) < 300:
        print("sizes.py: the sources were not found")
    return bad > 0 or len(found) < 300


if __name__ == "__main__":
    sys.exit(main())
