"""disk_test.py - a checkpoint that is written without care is one that disk.py loses."""
# SPDX-License-Identifier: Apache-2.0
import os
import pathlib
import random
import sys
import tempfile

from disk import LOSSES, Disk

FOLDER, FILE, LINK = 1, 2, 3  # inodes
DATA = b"weights" * 100


def save(saves, synced_file=True, synced_folder=True, linked=True):
    """The calls of a save: (call, inode, offset, path, other path, bytes)."""
    part, name, link, latest = (os.path.join(saves, n) for n in ("ep0-ba2.safetensors.tmp-1", "ep0-ba2.safetensors", "link.tmp-1",
                                                                 "latest.safetensors"))
    yield "mkdir", FOLDER, 0, saves, "", b""
    yield "fsync", 0, 0, os.path.dirname(saves), "", b""
    yield "create", FILE, 0, part, "", b""
    yield "write", FILE, 0, part, "", DATA
    if synced_file:
        yield "fsync", FILE, 0, part, "", b""
    yield "rename", FILE, 0, part, name, b""
    if synced_folder:
        yield "fsync", FOLDER, 0, saves, "", b""
    if linked:
        yield "symlink", LINK, 0, link, os.path.basename(name), b""
        yield "rename", LINK, 0, link, latest, b""


def left(**how):
    """For each of LOSSES what is left of the checkpoint: "whole", "torn" or "lost"; "-" before it, where it is not acknowledged."""
    with tempfile.TemporaryDirectory(prefix="tutti_disk_") as top:
        source = pathlib.Path(top) / "source"
        (source / "saves").mkdir(parents=True)
        disk = Disk()
        for one in save(str(source / "saves"), **how):
            disk.step(*one)
        found = []
        for k, loss in enumerate(LOSSES):
            target = pathlib.Path(top) / f"target{k}"
            target.mkdir()
            disk.put(source, target, loss, random.Random(1))
            path = target / "saves/ep0-ba2.safetensors"
            state = "lost" if not path.exists() else "whole" if path.read_bytes() == DATA else "torn"
            found.append(("" if disk.acknowledged else "-") + state)
        return found


def main():
    wrong = 0
    for how, want in (({}, {"whole"}), ({"linked": False}, {"-whole"})):
        if set(left(**how)) != want:
            print(f"FAILED: {how}: {left(**how)}, want {want}")
            wrong += 1
    # Without a sync it is whole where all is there, and not where the least is.
    for how, least in (({"synced_file": False}, "torn"), ({"synced_folder": False}, "lost")):
        if left(**how)[:2] != ["whole", least]:
            print(f"FAILED: {how}: {left(**how)}, want it whole, then {least}")
            wrong += 1
    print(f"{4 - wrong} of 4 saves are lost as they should be")
    return 1 if wrong else 0


sys.exit(main())
