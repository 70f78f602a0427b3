"""tally_test.py - a line of a tally has the commit of the tree, a mark where it has changes, and neither without git."""
# SPDX-License-Identifier: Apache-2.0
import argparse
import contextlib
import io
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import campaign


def git(tree, *words):
    """What git says in that tree, whatever this user's settings are."""
    who = ["-c", "user.name=T", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false"]
    return subprocess.run(["git", "-C", tree, *who, *words], capture_output=True, text=True, check=True).stdout.strip()


def line(tree, **given):
    """The line that a tally of that tree writes."""
    campaign.TREE = tree
    with contextlib.redirect_stdout(io.StringIO()):
        tally = campaign.Tally("try", argparse.Namespace(tally=tree / "tally.jsonl", **given))
        tally.add("rows", 2)
        assert tally.finish() == 0
    return json.loads((tree / "tally.jsonl").read_text().splitlines()[-1])


def check(tree):
    """What the tree is, step by step."""
    (tree / "file").write_text("one")
    assert "commit" not in line(tree), "a commit where there is no git"
    git(tree, "init", "-q")
    assert "commit" not in line(tree), "a commit before the first one"
    git(tree, "add", "file")
    git(tree, "commit", "-qm", "first")
    head = git(tree, "rev-parse", "HEAD")
    one = line(tree, seed=7, hours=None)  # its own file is none that git knows
    assert (one["commit"], one["seed"], one["rows"], one["failures"]) == (head, 7, 2, 0), one
    assert "seed" not in line(tree), "a seed of a campaign that has none"
    (tree / "below").mkdir()
    assert "commit" not in line(tree / "below"), "the commit of a folder above, of which the tree is no part"
    (tree / "file").write_text("other")
    assert line(tree)["commit"] == head + "-dirty", "a tree with changes counts as clean"


def main():
    if not shutil.which("git"):
        print("skipped: there is no git (Debian's package git)")
        return 77
    with tempfile.TemporaryDirectory(prefix="tutti_tally_") as top:
        os.environ |= {"GIT_CEILING_DIRECTORIES": top, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
        (pathlib.Path(top) / "tree").mkdir()
        check(pathlib.Path(top) / "tree")
        os.environ["PATH"] = top  # no program called git
        assert campaign.commit(top) is None
    return 0


sys.exit(main())
