"""tallies.py FILE... - adds up the tallies that campaigns have written: a line of JSON for each campaign."""
# SPDX-License-Identifier: Apache-2.0
import json
import sys

APART = ("campaign", "seed", "date", "machine", "commit")  # of one run
MARK = "-dirty"  # behind a commit: the tree had changes


def short(commit):
    """A commit as people write it, with its mark."""
    return commit.removesuffix(MARK)[:12] + (MARK if commit.endswith(MARK) else "")


def count(commits, one):
    """Adds a tally to those of its commit: how many, and failures."""
    of = commits.setdefault(short(one["commit"]) if "commit" in one else "unknown", {"tallies": 0, "failures": 0})
    of["tallies"] += 1
    of["failures"] += one.get("failures", 0)


def added(paths):
    """Of each campaign: how many tallies, the first and the last date, tallies and failures of each commit, sums of what was
    counted, the most of each coverage and corpus."""
    sums = {}
    for path in paths:
        with open(path, encoding="utf-8") as f:
            for number, line in enumerate(f, 1):
                try:
                    one = json.loads(line)
                    total = sums.setdefault(one["campaign"], {"campaign": one["campaign"], "tallies": 0, "from": one["date"],
                                                              "to": one["date"], "commits": {}})
                except (ValueError, KeyError, TypeError):
                    sys.exit(f"tallies: {path}:{number}: is no tally, want an object with campaign and date")
                total["tallies"] += 1
                total["from"], total["to"] = min(total["from"], one["date"]), max(total["to"], one["date"])
                count(total["commits"], one)
                for name, value in one.items():
                    if name in APART or not isinstance(value, (int, float)):
                        continue
                    most = name.endswith(("_coverage", "_corpus"))
                    total[name] = max(total.get(name, 0), value) if most else total.get(name, 0) + value
    return [sums[name] for name in sorted(sums)]


def main():
    try:
        for total in added(sys.argv[1:]):
            print(json.dumps(total))
    except OSError as why:
        sys.exit(f"tallies: {why.filename}: {why.strerror}")


main()
