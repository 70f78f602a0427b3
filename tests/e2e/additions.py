"""additions.py - for extension_test.sh: edits of sources at anchors, and the files that CONTRIBUTING.md counts for an addition.

additions.py edit FILE PATTERN TEXT      what the pattern matches, in one place of the file, becomes the text (\\g<0> is the match)
additions.py copy FOLDER NAME            the folder beside itself under another name, in its files and theirs
additions.py count ROW MADE EDITED       so many files are what the row of the table in CONTRIBUTING.md says
"""
# SPDX-License-Identifier: Apache-2.0
import pathlib
import re
import shutil
import sys

HEAD = "| done | made | edited |"


def edit(file, pattern, text):
    """Where sources have moved on, the sentence says which anchor is gone."""
    path = pathlib.Path(file)
    source = path.read_text(encoding="utf-8")
    found = len(re.findall(pattern, source, re.M))
    if found != 1:
        return f"{file}: {found} places match {pattern}, want 1: the source has changed, and so must extension_test.sh"
    path.write_text(re.sub(pattern, text, source, flags=re.M), encoding="utf-8")
    return ""


def renamed(text, old, new):
    """Names that begin so, targets of CMake, guards of headers; fast_exp is no name of exp."""
    text = re.sub(rf"(?<![A-Za-z0-9_])(plugin_|){old}(?![A-Za-z0-9])", rf"\g<1>{new}", text)
    return re.sub(rf"(?<![A-Za-z0-9]){old.upper()}(?![A-Za-z0-9])", new.upper(), text)


def copy(folder, name):
    """As somebody does who begins with the nearest folder."""
    old = pathlib.Path(folder)
    new = old.parent / name
    if not old.is_dir():
        return f"{folder} is gone: extension_test.sh wants another folder to copy"
    shutil.copytree(old, new)
    for path in sorted(new.iterdir()):
        text = path.read_text(encoding="utf-8")
        path.write_text(renamed(text, old.name, name), encoding="utf-8")
        path.rename(new / renamed(path.name, old.name, name))
    return ""


def limits(cell):
    """(least, most) of a cell: "5", "5 to 9", "4: their names"."""
    found = re.match(r"(\d+)(?: to (\d+))?(?=:|$)", cell.strip())
    return (int(found[1]), int(found[2] or found[1])) if found else None


def count(row, made, edited):
    """The row of the table that begins so, against what was counted."""
    lines = pathlib.Path("CONTRIBUTING.md").read_text(encoding="utf-8").splitlines()
    if HEAD not in lines:
        return f"CONTRIBUTING.md has no table {HEAD}"
    table = [line.strip("|").split("|") for line in lines[lines.index(HEAD) + 2:]]
    found = [cells for cells in table if cells[0].strip().startswith(row)]
    if len(found) != 1:
        return f"the table of CONTRIBUTING.md has {len(found)} rows that begin with \"{row}\", want 1"
    for what, number, cell in (("made", made, found[0][1]), ("edited", edited, found[0][2])):
        want = limits(cell)
        if not want:
            return f"CONTRIBUTING.md, \"{row}\": \"{cell.strip()}\" {what} begins with no number"
        if not want[0] <= int(number) <= want[1]:
            return f"CONTRIBUTING.md, \"{row}\": {number} files were {what}, its table has \"{cell.strip()}\""
    return ""


def main():
    """Does one; a fault is its sentence."""
    fault = {"edit": edit, "copy": copy, "count": count}[sys.argv[1]](*sys.argv[2:])
    if fault:
        print(fault)
    return bool(fault)


if __name__ == "__main__":
    sys.exit(main())
