#!/usr/bin/env python3
"""tables.py - tables of functions name their members; functions of plugins carry a name.

Run from the root. `{.struct_size = sizeof table, .read = idx_read}` says what each function is for, and stays right
when the table grows. A static function of a plugin or a template has a name of two words or more: one word alone may
be a function of libc, such as `open` of <fcntl.h>.
"""
import pathlib
import re
import sys

from files import list_files

ROOTS = ["sdk", "host", "kernels", "plugins", "tests", "tools"]
NAMED = ("plugins/", "sdk/templates/c/", "sdk/template/", "sdk/template_cuda/")
TYPE = r"\b(?:tutti_\w+_v\d+|tutti_calls|tutti_host)\b"
# A compound literal's `(type){`, a declarator's `name[n] =` behind the type, of which a macro may paste the name.
LITERAL = re.compile(TYPE + r"\s*(?:\[\w*\]\s*)?\)\s*(?=\{)")
DECLARED = re.compile(TYPE + r"(?:\s+const)?\s+(?=\w)")
DECLARATOR = re.compile(r"\s*(?:\w|##)+\s*((?:\[[^\]]*\]\s*)*)(=\s*(?=\{))?")
ELEMENT = re.compile(r"\s*(?:\[[^\]]*\]\s*=\s*)?(?=\{)")
BRACE, COMMA = re.compile(r"[{}]"), re.compile(r"\s*,")
# Members by name, none at all, or those that a macro is given.
MEMBERS = re.compile(r"\{\s*(?:\.|\}|__VA_ARGS__\s*\})")
FUNCTION = r"^static\s+(?!const struct)[\w \*]*?\b([a-zA-Z0-9]+)\s*\([^;{}]*?\)\s*\{"


def without_comments(text):
    """The text with comments, continued lines, strings and characters emptied; lines stay."""
    text = re.sub(r"/\*.*?\*/", lambda m: "\n" * m.group(0).count("\n"), text, flags=re.S)
    return re.sub(r"'(?:\\.|[^'\\\n])'|\"(?:\\.|[^\"\\\n])*\"", '""', text.replace("\\\n", "\n"))


def end_of(text, start):
    """Where the braces that open at `start` are closed."""
    depth = 0
    for m in BRACE.finditer(text, start):
        depth += 1 if m.group() == "{" else -1
        if depth == 0:
            return m.end()
    return len(text)


def initializers(text, start, array):
    """Where the braces of each table begin: of an array its elements."""
    if not array:
        yield start
        return
    at, end = start + 1, end_of(text, start) - 1
    while m := ELEMENT.match(text, at, end):
        yield m.end()
        at = text.find(",", end_of(text, m.end()), end) + 1 or end


def tables(text):
    """Where every table's members begin: of compound literals, and of each declarator of a declaration."""
    for m in LITERAL.finditer(text):
        yield from initializers(text, m.end(), "[" in m.group())
    for m in DECLARED.finditer(text):
        at = m.end()
        while d := DECLARATOR.match(text, at):
            at = d.end()
            if d.group(2):
                yield from initializers(text, at, bool(d.group(1)))
                at = end_of(text, at)
            comma = COMMA.match(text, at)
            if not comma:
                break
            at = comma.end()


def main():
    """Judges all C sources but the headers of releases."""
    files = [f for f in list_files(*ROOTS) if f.endswith((".c", ".h")) and not f.startswith("sdk/abi/")]
    bad = 0
    for file in files:
        path = pathlib.Path(file)
        if not path.exists():
            continue
        text = without_comments(path.read_text(encoding="utf-8"))
        for at in tables(text):
            if not MEMBERS.match(text, at):
                bad += 1
                print(f"{file}:{text.count(chr(10), 0, at) + 1}: a table without `.member =`")
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
