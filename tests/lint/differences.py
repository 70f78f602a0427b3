#!/usr/bin/env python3
"""differences.py - every row of docs/differences.md names a file and a text that is in it."""
import pathlib
import sys

from pins import gone, pins, rows

page = pathlib.Path("docs/differences.md")
wrong, count = [], 0
for cells in rows(page, "upstream"):
    count += 1
    if not pins(cells[-1]):
        wrong.append(f"no test in: {cells[0][:80]}")
    wrong += gone(page, cells[-1])
print("\n".join(wrong) or f"{count} differences are held by tests")
sys.exit(1 if wrong or not count else 0)
