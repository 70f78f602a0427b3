#!/usr/bin/env python3
"""tables.py - tables of functions name their members; functions of plugins carry a name.

Run from the root. `{.struct_size = sizeof table, .read = idx_read}` says what each function is for, and stays right
when the table grows. A static function of a plugin or a template has a name of two words or more: one word alone may
be a function of libc, such as `open` of <fcntl.h>.
"""
import pathlib
import re
import subprocess
import sys

ROOTS = ["sdk", "host", "kernels", "plugins", "tests", "tools"]
NAMED = ("plugins/", "sdk/templates/c/", "sdk/template/", "sdk/template_cuda/")
TABLE = r"\b(?:tutti_\w+_v\d+|tutti_calls|tutti_host)\b(?:\)|(?:\s+const)?\s+\w+\s*=)\s*\{\s*(?=[^.\s}])"
FUNCTION = r"^static\s+(?!const struct)[\w \*]*?\b([a-zA-Z0-9]+)\s*\([^;{}]*?\)\s*\{"


def without_comments(text):
    """The text with comments and continued lines emptied; lines stay."""
    text = re.sub(r"/\*.*?\*/", lambda m: "\n" * m.group(0).count("\n"), text, flags=re.S)
    return text.replace("\\\n", "\n")


def main():
    """Judges all C sources but the headers of releases."""
    # As files.sh lists them: from a checkout and from a tarball alike.
    listed = subprocess.run(["git", "grep", "--no-index", "--exclude-standard", "-lz", "", "--", *ROOTS],
                            capture_output=True, text=True, check=True).stdout
    files = [f for f in listed.split("\0") if f.endswith((".c", ".h")) and not f.startswith("sdk/abi/")]
    bad = 0
    for file in files:
        path = pathlib.Path(file)
        if not path.exists():
            continue
        text = without_comments(path.read_text(encoding="utf-8"))
        for m in re.finditer(TABLE, text):
            bad += 1
            print(f"{file}:{text.count(chr(10), 0, m.start()) + 1}: a table without `.member =`")
        if not file.startswith(NAMED) or file.endswith("_test.c"):
            continue
        for m in re.finditer(FUNCTION, text, re.M):
            bad += 1
            line = text.count("\n", 0, m.start(1)) + 1
            print(f"{file}:{line}: {m.group(1)} is a name of one word; put the plugin's before it")
    if len(files) < 300:
        print("tables.py: the sources were not found")
    return bad > 0 or len(files) < 300


if __name__ == "__main__":
    sys.exit(main())
