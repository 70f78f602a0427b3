"""kill_compare_test.py - a killed run's folder: what may differ from that of a whole run, and what is told."""
# SPDX-License-Identifier: Apache-2.0
import pathlib
import sys
import tempfile

from campaign import Failed
from kill_compare import compare_checkpoints, compare_names

WHOLE = ["run.json", "runs/killed/log.jsonl", "runs/killed/record.json", "saves/.lock", "saves/ep3-ba36.safetensors",
         "saves/ep3-ba39.safetensors", "saves/ep4-ba40.safetensors"]
OLDEST, OLDER, LAST = WHOLE[-3:]
# What differs of the killed run (without, with, where the link points), and what is told of it.
ROWS = [
    ((), (), LAST, None),
    ((), ("err.txt", "runs/killed/log.jsonl.undone"), OLDER, None),  # killed before it was linked
    ((), ("saves/ep3-ba33.safetensors",), LAST, None),  # killed before the oldest went
    ((OLDEST,), ("saves/ep3-ba38.safetensors",), LAST, None),  # SIGTERM behind batch 38
    ((OLDEST,), ("saves/ep3-ba40.safetensors",), LAST, None),  # SIGTERM before the epoch ended
    ((OLDEST,), (), LAST, "2 checkpoints are left with keep 3"),
    ((), ("saves/ep3-ba33.safetensors", "saves/ep3-ba35.safetensors"), LAST, "5 checkpoints are left with keep 3"),
    ((OLDER,), ("saves/ep3-ba33.safetensors",), LAST, "the checkpoints ['ep3-ba39.safetensors'] are gone"),
    ((), (), None, "saves/latest.safetensors is no link to one of"),
    ((), (), "saves/ep3-ba33.safetensors", "saves/latest.safetensors is no link to one of"),
    ((), ("saves/ep4-ba40.safetensors.tmp-a1b2c3",), LAST, "files are left: ['saves/ep4-ba40.safetensors.tmp-a1b2c3']"),
    ((), ("saves/ep3-ba39.safetensors.damaged",), LAST, "files are left: ['saves/ep3-ba39.safetensors.damaged']"),
    ((), ("runs/killed/record.json.part",), LAST, "files are left: ['runs/killed/record.json.part']"),
    ((), ("runs/killed/ep4-ba40.safetensors",), LAST, "files are left: ['runs/killed/ep4-ba40.safetensors']"),
    (("runs/killed/record.json",), (), LAST, "files are gone: ['runs/killed/record.json']"),
]


def make(folder, paths, link):
    for path in paths:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).touch()
    if link:
        (folder / "saves/latest.safetensors").symlink_to(pathlib.Path(link).name)


def told(whole, killed):
    """What is told of the two folders; "" for nothing."""
    try:
        compare_checkpoints(whole, killed, 3)
        compare_names(whole, killed)
    except Failed as why:
        return str(why)
    return ""


def main():
    wrong = 0
    for without, more, link, want in ROWS:
        with tempfile.TemporaryDirectory(prefix="tutti_kill_") as top:
            whole, killed = pathlib.Path(top) / "whole", pathlib.Path(top) / "killed"
            make(whole, WHOLE, LAST)
            make(killed, [path for path in WHOLE if path not in without] + list(more), link)
            got = told(whole, killed)
        if (want or "") not in got or bool(want) != bool(got):
            print(f"FAILED: without {without}, with {more}, linked to {link}: {got!r}, want {want!r}")
            wrong += 1
    print(f"{len(ROWS) - wrong} of {len(ROWS)} folders are judged as they should be")
    return 1 if wrong else 0


sys.exit(main())
