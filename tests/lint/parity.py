#!/usr/bin/env python3
"""parity.py - docs/parity.md answers each public name of Composer and Ignite and each transform of torchvision once, and each yes has its tests."""
import json
import pathlib
import re
import sys

from pins import cells_of, gone, pins

PAGE = pathlib.Path("docs/parity.md")
SCHEMA = pathlib.Path("sdk/schema/run.schema.json")
NAMES = {"Composer": pathlib.Path("tests/peers/composer.names"), "Ignite": pathlib.Path("tests/peers/ignite.names"),
         "torchvision": pathlib.Path("tests/peers/torchvision.names")}


def answers():
    """The cells of each row, with the package whose heading it is below."""
    package = None
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        package = line[3:] if line.startswith("## ") else package
        if package in NAMES:
            yield from ((package, cells) for cells in cells_of(line, "upstream"))


def settings():
    """The settings of each object of the project's plugins, and the keys of run files."""
    found = {"run file": set(json.loads(SCHEMA.read_text(encoding="utf-8"))["properties"])}
    for path in pathlib.Path("plugins").glob("*/*/plugin.json"):
        for o in json.loads(path.read_text(encoding="utf-8")).get("objects", []):
            found.setdefault(o["name"], set()).update(o.get("params", {}))
    return found


def faults(names, cells, known):
    """What is wrong with one row."""
    if len(cells) != 4 or cells[1] not in ("yes", "differs", "no") or not cells[2]:
        yield "want names, yes, differs or no, how or why, and tests"
        return
    if (cells[1] == "no") == bool(pins(cells[3])):
        yield "a no has a reason and no test" if cells[1] == "no" else "no test"
    yield from gone(PAGE, cells[3])
    if cells[1] != "yes":
        return
    named = re.findall(r"`([^`]+)`", cells[2])
    text = "".join((PAGE.parent / path).read_text(encoding="utf-8") for path, _ in pins(cells[3])
                   if (PAGE.parent / path).exists())
    for name in names:
        setting = re.fullmatch(r"\w+\((\w+)\)", name)
        if not setting:
            continue
        if not any(setting[1] in known.get(n, ()) for n in named):
            yield f"{name}: {named[0] if named else 'nothing'} has no such setting"
        if not re.search(rf"\b{setting[1]}\b", text):
            yield f"{name}: the tests do not name it"


def main():
    known, wrong = settings(), []
    answered = {package: [] for package in NAMES}
    for package, cells in answers():
        names = re.findall(r"`([^`]+)`", cells[0])
        answered[package] += names
        wrong += [f"{names[0] if names else cells[0]}: {f}" for f in faults(names, cells, known)]
    for package, path in NAMES.items():
        want = [n for n in path.read_text(encoding="utf-8").splitlines() if not n.startswith("#")]
        got = answered[package]
        wrong += [f"{package}: {n} has no row" for n in want if n not in got]
        wrong += [f"{package}: {n} is no name of its" for n in got if n not in want]
        wrong += [f"{package}: {n} has two rows" for n in sorted({n for n in got if got.count(n) > 1})]
    count = sum(len(a) for a in answered.values())
    print("\n".join(wrong) or f"{count} names of Composer, Ignite and torchvision have an answer, and each that is there a test")
    return 1 if wrong or not count else 0


sys.exit(main())
