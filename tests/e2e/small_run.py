#!/usr/bin/env python3
"""small_run.py - the small run on stdin with the members of the JSON objects in the files named."""
import json
import sys

run = json.load(sys.stdin)
for path in sys.argv[1:]:
    with open(path, encoding="utf-8") as file:
        run.update(json.load(file))
json.dump(run, sys.stdout, indent=1)
