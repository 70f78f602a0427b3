#!/usr/bin/env python3
"""readme_tables.py - the tables of READMEs have every source of their folder and no file that is gone; READMEs say how to add, in
which order to read, and how data flows.

Run from the root. A row tells the files that its first cell names in backticks; `name.*` tells all files of that stem.
A header is told by the row of its source, and a source by that of its header. A test beside what it tests needs no row.
A folder without a README is named by the nearest README above it.
"""
import pathlib
import re
import sys

from files import list_files

ROOTS = ["host", "kernels", "plugins", "sdk", "tests", "docs/walks"]
SOURCES = (".c", ".cu", ".h", ".cuh", ".py", ".sh")
TWINS = {".h": ".c", ".cuh": ".cu", ".c": ".h"}  # a row of the latter tells a file of the former
OF_PLUGIN = 8  # sources from which on a plugin has a table
ADDS = ("host/", "kernels/", "plugins/", "sdk/", "tests/", "docs/")  # where a README with a table says how to add
HOW_TO_ADD = r"\b[Tt]o add\b"
ORDERED = ("host/", "kernels/")  # where a README with a table of FEW sources or more says in which order to read them
FEW = 4
READING_ORDER = r"in reading order|read first"
FLOWING = ("host/",)  # where such a README says, or draws, how data flows
FLOW = r"How data flows|─►|──>"

# Sources that need no row: a pattern of `+` for one name, and the reason.
EXEMPT = {
    "kernels/+/+_test.c": "a test lies beside what it tests, by its name",
    "plugins/+/+/+_test.c": "a test lies beside what it tests, by its name",
    "sdk/+/+_test.c": "the same",
    "tests/e2e/+_test.sh": "one test a file; the page has the groups",
    "tests/e2e/+_test.py": "the same",
}
# Folders whose table stands in another README.
ELSEWHERE = {"sdk/include/tutti": "sdk/README.md"}
# Folders without a README that the one above need not name, and the reason.
UNNAMED = {
    "kernels/+": "one operation each, all with the same files",
    "sdk/abi/+/plugins/+": "sources of plugins of a release",
    "sdk/templates/+/+": "a plugin of each kind, copied as it lies there",
    "tests/fixtures/+": "one broken plugin each",
    "tests/unit/+/+": "one part of the compiler each",
}


def list_sources():
    """{folder: names of its sources}."""
    folders = {}
    for file in map(pathlib.PurePosixPath, list_files(*ROOTS)):
        if file.suffix in SOURCES:
            folders.setdefault(str(file.parent), set()).add(file.name)
    return folders


def fits(name, patterns):
    """Whether one of the patterns is for the file or folder."""
    return any(re.fullmatch(re.escape(p).replace("\\+", "[^/]+"), name) for p in patterns)


def read_names(text):
    """What the first cells of the tables name in backticks, and what the others do."""
    first, others = set(), set()
    for row in re.findall(r"^\|(.*)\|$", text, re.M):
        cell, *rest = re.split(r"(?<!\\)\|", row)
        first.update(re.findall(r"`([^`\s]+)`", cell))
        others.update(name for c in rest for name in re.findall(r"[`\[]([^`\]\s]+)[`\]]", c))
    return first, others


def is_told(name, first, others):
    """Whether a row names the file, its stem, or its header or source; a test may stand in any cell."""
    file = pathlib.PurePosixPath(name)
    names = {name, file.stem + ".*", file.stem + TWINS.get(file.suffix, ".*")}
    return bool(names & first) or file.stem.endswith("_test") and name in others


def find_gone(folder, names, folders):
    """Sources that the first cells name and that are neither in the folder nor in one below; a path may be of anywhere."""
    for name in sorted(names):
        if not name.endswith(SOURCES) or re.search(r"[*<>{}]", name) or pathlib.Path(folder, name).exists():
            continue
        if not any(name in found for at, found in folders.items() if (at + "/").startswith(folder + "/")) and \
                not any(f"{at}/{n}".endswith("/" + name) for at, found in folders.items() for n in found if "/" in name):
            yield name


def check_table(folder, sources, folders):
    """Faults of the README that has the folder's table."""
    path = ELSEWHERE.get(folder, f"{folder}/README.md")
    text = pathlib.Path(path).read_text(encoding="utf-8")
    first, others = read_names(text)
    missing = sorted(n for n in sources if not is_told(n, first, others))
    if missing:
        yield f"{path}: its table of files lacks {', '.join(missing)}"
    gone = list(find_gone(folder, first, folders)) if folder not in ELSEWHERE else []
    if gone:
        yield f"{path}: a table has {', '.join(gone)}, which is not there"
    if path.startswith(ADDS) and not re.search(HOW_TO_ADD, text):
        yield f"{path}: it does not say how to add something; want a sentence with \"To add\""
    few = sum(n.endswith((".c", ".cu")) for n in sources) < FEW
    if path.startswith(ORDERED) and not few and not re.search(READING_ORDER, text):
        yield f"{path}: it does not say in which order to read its files; want \"in reading order\" above its table"
    if path.startswith(FLOWING) and not few and not re.search(FLOW, text):
        yield f"{path}: it does not say how data flows through its files; want \"How data flows\""


def check_named(folder):
    """The fault of a folder without README that the nearest README above does not name."""
    above = pathlib.PurePosixPath(folder).parent
    while not pathlib.Path(above, "README.md").exists():
        above = above.parent
    name = folder.rsplit("/", 1)[1]
    text = pathlib.Path(above, "README.md").read_text(encoding="utf-8")
    if not re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text):
        yield f"{above}/README.md: it does not name {folder}, which has no README"


def check_folder(folder, folders):
    """Faults of one folder."""
    sources = {n for n in folders[folder] if not fits(f"{folder}/{n}", EXEMPT)}
    if folder.startswith("plugins/") and len(folders[folder]) < OF_PLUGIN:
        return
    if folder in ELSEWHERE or pathlib.Path(folder, "README.md").exists():
        yield from check_table(folder, sources, folders)
    elif not fits(folder, UNNAMED):
        yield from check_named(folder)


def main():
    """Judges all folders; an exemption for nothing is a fault too."""
    folders = list_sources()
    files = [f"{folder}/{name}" for folder, names in folders.items() for name in names]
    faults = [fault for folder in sorted(folders) for fault in check_folder(folder, folders)]
    faults += [f"readme_tables.py: {p}: nothing is called so" for p in EXEMPT if not any(fits(f, [p]) for f in files)]
    faults += [f"readme_tables.py: {p}: nothing is called so" for p in UNNAMED if not any(fits(f, [p]) for f in folders)]
    if len(files) < 1000:
        faults.append("readme_tables.py: the sources were not found")
    for fault in faults:
        print(fault)
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
