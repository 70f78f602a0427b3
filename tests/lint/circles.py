#!/usr/bin/env python3
"""circles.py - sources of one library, two or more, that need each other, by the symbols of their objects.

Run from the root with TUTTI_BUILD set. An edge leads from a source that uses a symbol to the one that
defines it. Sources that reach each other are a circle, and so are libraries that do. Prints each circle
with the symbols that make its edges.
"""
import collections
import json
import os
import pathlib
import re
import subprocess
import sys

# Sources in circles that a library may have, with the reason. A figure may sink; one that has become 0 goes.
ALLOWED = {}
ROOMS = ("host/", "kernels/", "plugins/", "sdk/")
SHOWN = 3  # symbols of an edge


def libraries(build):
    """{library: {object file: source}} of the build's own code."""
    commands = json.loads((build / "compile_commands.json").read_text(encoding="utf-8"))
    found = collections.defaultdict(dict)
    for entry in commands:
        source = os.path.relpath(entry["file"], pathlib.Path.cwd())
        output = re.search(r" -o (\S+)", entry["command"]).group(1)
        library = re.search(r"CMakeFiles/([^/]+)\.dir/", output)
        path = build / output
        if library and source.startswith(ROOMS) and not source.endswith("_test.c") and path.exists():
            found[library.group(1)][str(path)] = source
    return found


def read_symbols(objects):
    """{object: (symbols defined, symbols used)}, of external linkage."""
    run = subprocess.run(["nm", "-A", "-P", "-g", *objects], capture_output=True, text=True, check=True)
    symbols = {o: (set(), set()) for o in objects}
    for line in run.stdout.splitlines():
        name, rest = line.split(": ", 1)
        symbol, kind = rest.split()[:2]
        symbols[name][kind in "Uvw"].add(symbol)
    return symbols


def edges_of(nodes):
    """{node: {other node: symbols}} of {node: (defined, used)}."""
    home = {symbol: n for n, (defined, _) in nodes.items() for symbol in defined}
    edges = {n: collections.defaultdict(set) for n in nodes}
    for n, (_, used) in nodes.items():
        for symbol in used:
            if home.get(symbol, n) != n:
                edges[n][home[symbol]].add(symbol)
    return edges


def circles_of(edges):
    """Sets of two nodes or more that all reach each other."""
    reach = {}
    for start in edges:
        seen, todo = set(), [start]
        while todo:
            for n in edges[todo.pop()]:
                if n not in seen:
                    seen.add(n)
                    todo.append(n)
        reach[start] = seen
    circles = {frozenset(m for m in reach[n] if n in reach[m]) for n in edges if n in reach[n]}
    return sorted((c for c in circles if len(c) > 1), key=sorted)


def print_circle(where, circle, edges):
    """All edges inside the circle with some of their symbols."""
    print(f"{where}: {len(circle)} need each other:")
    for n in sorted(circle):
        for m in sorted(set(edges[n]) & circle):
            names = sorted(edges[n][m])
            more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
            print(f"  {n} -> {m}: {', '.join(names[:SHOWN])}{more}")


def main():
    """Judges every library by itself, then all of them as nodes."""
    build = pathlib.Path(os.environ["TUTTI_BUILD"])
    whole, bad = {}, False
    for library, objects in sorted(libraries(build).items()):
        symbols = read_symbols(list(objects))
        nodes = {objects[o]: pair for o, pair in symbols.items()}
        if library.startswith("tutti_"):
            defined, used = (set().union(*(pair[k] for pair in nodes.values())) for k in (0, 1))
            whole[library] = (defined, used - defined)
        edges = edges_of(nodes)
        circles = circles_of(edges)
        count, most = sum(map(len, circles)), ALLOWED.get(library, 0)
        if count > most:
            bad = True
            for circle in circles:
                print_circle(library, circle, edges)
            print(f"{library}: {count} sources in circles, want at most {most}")
        elif count < most:
            print(f"{library}: {count} sources in circles, {most} are allowed: set it to {count}")
    edges = edges_of(whole)
    for circle in circles_of(edges):
        bad = True
        print_circle("libraries", circle, edges)
    if not whole:
        print(f"{build}: no objects; is it built?")
    return bad or not whole


if __name__ == "__main__":
    sys.exit(main())
