#!/usr/bin/env python3
"""differences.py - every row of docs/differences.md names a file and a text that is in it."""
import pathlib
import re
import sys

page = pathlib.Path("docs/differences.md")
wrong = []
rows = [line for line in page.read_text(encoding="utf-8").splitlines()
        if line.startswith("| ") and not line.startswith("| upstream")]
for row in rows:
    held = row.rstrip("| ").rsplit("|", 1)[-1]
    pins = re.findall(r"\]\(([^)]+)\) `([^`]+)`", held)
    if not pins:
        wrong.append(f"no test in: {row[:80]}")
    for path, text in pins:
        file = page.parent / path
        if not file.exists() or text not in file.read_text(encoding="utf-8"):
            wrong.append(f"{path} has no {text}")
print("\n".join(wrong) or f"{len(rows)} differences are held by tests")
sys.exit(1 if wrong or not rows else 0)
