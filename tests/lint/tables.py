#!/usr/bin/env python3
"""tables.py - tables of functions name their members; functions of plugins carry the plugin's name.

Run from the root. `{.struct_size = sizeof table, .read = idx_read}` says what each function is for, and stays right
when the table grows.

A function that the folder of a plugin or of a template of one defines, tests aside, and that stands in a table begins
with the plugin's name, the last part of its manifest's id. It stands in a table where a member is given it, by
`.read =` in braces or by `x.read =`, where a macro in capitals has its name as an argument, and where a header that
plugins share names it without defining it. What such a header defines has a name of its own.

A static function of these folders and headers has a name of two words or more, tests aside. In tests too its name is
none of libc's functions, which an #include could declare: those that the C compiler, $CC or cc, finds in LIBC.
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
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
BRACE, PARENTHESIS, COMMA = re.compile(r"[{}]"), re.compile(r"[()]"), re.compile(r"\s*,")
# Members by name, none at all, or those that a macro is given.
MEMBERS = re.compile(r"\{\s*(?:\.|\}|__VA_ARGS__\s*\})")
# Parentheses three deep; a function's name, of which a macro may paste a part, its parameters and its body's brace.
PARENS = r"\((?:[^(){};]|\((?:[^(){};]|\([^(){};]*\))*\))*\)"
DEFINED = re.compile(r"\b((?:\w|##)+)\s*" + PARENS + r"\s*\{")
STATIC = re.compile(r"^[ \t]*static\s+(?:__attribute__\s*" + PARENS + r"\s*)?[\w\s*#]*?" + DEFINED.pattern, re.M)
KEYWORDS = {"return", "if", "for", "while", "switch", "sizeof"}
# What a member is given, and macros whose arguments may make a table.
GIVEN = re.compile(r"\.(?!struct_size\b)\w+\s*=([^,;{}]*)")
MAKERS = re.compile(r"\b[A-Z][A-Z0-9_]*\s*(?=\()")
NAME = re.compile(r"(?<![\w.#>])(?:\w|##)+(?![\w#]|\s*\()")
# Headers of libc that a plugin may include, of C11, POSIX and Linux; glibc of Debian 12 has all of them.
LIBC = """aio arpa/inet assert complex ctype dirent dlfcn endian err errno error execinfo fcntl fenv fnmatch ftw getopt
glob grp iconv ifaddrs inttypes langinfo libgen limits link locale malloc math mqueue net/if netdb netinet/in poll
pthread pwd regex sched search semaphore setjmp signal spawn stdatomic stdio stdlib string strings sys/epoll
sys/eventfd sys/file sys/inotify sys/ioctl sys/ipc sys/mman sys/mount sys/msg sys/param sys/prctl sys/random
sys/resource sys/select sys/sem sys/sendfile sys/shm sys/signalfd sys/socket sys/stat sys/statfs sys/statvfs sys/syscall
sys/sysinfo sys/sysmacros sys/time sys/timerfd sys/times sys/types sys/uio sys/un sys/utsname sys/wait sys/xattr syslog
termios threads time uchar ucontext unistd utime wchar wctype wordexp""".split()


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


def libc_names():
    """Functions that libc's headers declare, or none where this machine has no C compiler that finds them."""
    compiler = os.environ.get("CC", "cc").split()
    if not compiler or not shutil.which(compiler[0]):
        return set()
    headers = "".join(f"#if __has_include(<{h}.h>)\n#include <{h}.h>\n#endif\n" for h in LIBC)
    done = subprocess.run([*compiler, "-E", "-P", "-D_GNU_SOURCE", "-x", "c", "-"], input=headers, capture_output=True,
                          text=True, check=False)
    return set(re.findall(r"\b(?!__)([A-Za-z_]\w*)\s*\(", done.stdout))


def plugin_of(path):
    """The name of the plugin that has a source, or None for what several share."""
    for folder in path.parents:
        manifest = folder / "plugin.json"
        if manifest.exists():
            return json.loads(manifest.read_text(encoding="utf-8"))["id"].split(".")[-1]
    return None


def end_of_call(text, start):
    """Where the parentheses that open at `start` are closed."""
    depth = 0
    for m in PARENTHESIS.finditer(text, start):
        depth += 1 if m.group() == "(" else -1
        if depth == 0:
            return m.end()
    return len(text)


def members(text):
    """Names, with their places, of what is given to members and to macros."""
    for m in GIVEN.finditer(text):
        yield from NAME.finditer(text, *m.span(1))
    for m in MAKERS.finditer(text):
        yield from NAME.finditer(text, m.end(), end_of_call(text, m.end()))


def defined(text):
    """Names of the functions that a source defines."""
    return {m.group(1) for m in DEFINED.finditer(text)} - KEYWORDS


def line_of(text, at):
    """The number of a place's line."""
    return text.count("\n", 0, at) + 1


def static_names(file, text, libc):
    """Prints the static functions of a source that have one word or a name of libc's; returns how many."""
    bad = 0
    for m in STATIC.finditer(text):
        name, why = m.group(1), None
        if "_" not in name and not file.endswith("_test.c"):
            why = "is a name of one word"
        elif name in libc:
            why = "is a function of libc's headers"
        if why:
            bad += 1
            print(f"{file}:{line_of(text, m.start(1))}: {name} {why}; put the plugin's name before it")
    return bad


def table_names(sources):
    """Prints the functions in tables of each plugin that do not begin with its name; returns how many."""
    plugins, bad = {}, 0
    for file, text in sources.items():
        plugins.setdefault(plugin_of(pathlib.Path(file)), []).append((file, text))
    shared = plugins.pop(None, [])
    hooks = {m.group() for _, text in shared for m in members(text)} - KEYWORDS
    hooks = hooks.difference(*(defined(text) for _, text in shared))
    for plugin, files in plugins.items():
        own = {name for _, text in files for name in defined(text)}
        wrong = {}
        for file, text in files:
            for m in members(text):
                pasted = "##" in m.group() and text[m.start() - 1] != "&"
                if m.group() in own or pasted:
                    wrong.setdefault(m.group(), (file, line_of(text, m.start())))
            for m in DEFINED.finditer(text):
                if m.group(1) in hooks:
                    wrong.setdefault(m.group(1), (file, line_of(text, m.start())))
        for name, (file, line) in wrong.items():
            if not name.startswith(plugin + "_"):
                bad += 1
                print(f"{file}:{line}: {name} stands in a table of {plugin}; its name must begin with {plugin}_")
    return bad


def main():
    """Judges all C sources but the headers of releases."""
    files = [f for f in list_files(*ROOTS) if f.endswith((".c", ".h")) and not f.startswith("sdk/abi/")]
    libc, sources, bad = libc_names(), {}, 0
    for file in files:
        path = pathlib.Path(file)
        if not path.exists():
            continue
        text = without_comments(path.read_text(encoding="utf-8"))
        for at in tables(text):
            if not MEMBERS.match(text, at):
                bad += 1
                print(f"{file}:{line_of(text, at)}: a table without `.member =`")
        if file.startswith(NAMED):
            bad += static_names(file, text, libc)
            if not file.endswith(("_test.c", "_check.h")):
                sources[file] = text
    bad += table_names(sources)
    if len(files) < 300:
        print("tables.py: the sources were not found")
        bad += 1
    if not bad and not libc.issuperset(("shm_open", "getline", "pthread_create")):
        print("skipped: no C compiler that finds libc's headers, whose names would be compared")
        return 77
    return bad > 0


if __name__ == "__main__":
    sys.exit(main())
