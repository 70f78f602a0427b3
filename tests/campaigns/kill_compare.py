"""kill_compare.py - what a run that was killed leaves, beside what one leaves that was not: bits, rows, files."""
# SPDX-License-Identifier: Apache-2.0
import itertools
import json
import re

from campaign import Failed, losses, tensors
from kill_cases import BATCHES
from kill_logs import READERS, of_the_run, plain

CHECKPOINT = re.compile(r"ep(\d+)-ba(\d+)\.safetensors")
RECORDED = ["run", "data", "plugins", "status", "limit", "batches", "samples", "epochs"]
LINK = "saves/latest.safetensors"
# What a killed run may have beside: rows of batches that were done again, and what the campaign itself writes.
MAY_BE_THERE = re.compile(r".*\.undone|err\.txt")
MEASURED = {"callback.speed_monitor.eval_ns"}  # time on the wall, by which no weight changes


def rows(folder, name):
    """The loss of every batch; each once, in order, every line JSON."""
    found = losses(folder, name)
    if [batch for batch, _ in found] != list(range(BATCHES)):
        raise Failed(f"the log has the batches {[batch for batch, _ in found]}")
    return found


def first_difference(whole, killed):
    """A sentence, or None, of two lists or dictionaries."""
    if isinstance(whole, dict):
        whole, killed = (sorted((k, v) for k, v in found.items()) for found in (whole, killed))
    for at, (one, other) in enumerate(itertools.zip_longest(whole, killed)):
        if isinstance(one, tuple) and isinstance(other, tuple) and one[0] == other[0] and isinstance(one[1], dict):
            one, other = ((row[0], sorted(row[1].items())) for row in (one, other))
            at, one, other = next(((f"of {one[0]}", a, b) for a, b in itertools.zip_longest(one[1], other[1]) if a != b), (at, 0, 0))
        if one != other:
            return f"row {at} is {str(other)[:200]}, want {str(one)[:200]}"
    return None


def compare_logs(whole, killed, without=()):
    """Every row of every logger that writes files: metrics, images, tables, what plugins say; but for READERS in `without`."""
    for pattern, read in ((pattern, read) for pattern, read in READERS.items() if pattern not in without):
        for path in sorted(whole.glob(pattern)):
            name = str(path.relative_to(whole))
            differs = first_difference(read(path), read(killed / name))
            if differs:
                raise Failed(f"{name}: {differs}")


def compare_records(whole, killed, name):
    """What record.json says of the run at its end: how far it came, and of each metric the last value, the least and the greatest."""
    a, b = (json.loads((folder / "runs" / name / "record.json").read_text(encoding="utf-8")) for folder in (whole, killed))
    differs = first_difference(*(of_the_run(record.pop("metrics")) for record in (a, b)))
    if differs:
        raise Failed(f"metrics of record.json: {differs}")
    for key in RECORDED:
        if a.get(key) != b.get(key):
            raise Failed(f"{key} of record.json is {json.dumps(b.get(key))[:200]}, want {json.dumps(a.get(key))[:200]}")


def checkpoints(folder):
    """{(batch, epoch): name} of those in saves/, oldest first."""
    found = {}
    for path in (folder / "saves").iterdir():
        match = CHECKPOINT.fullmatch(path.name)
        if match:
            found[int(match[2]), int(match[1])] = path.name
    return dict(sorted(found.items()))


def compare_bits(whole, killed):
    """The last checkpoints have the same tensors."""
    # Behind the last batch a signal may have saved before the epoch ended: that is a file of its own.
    ends = [sorted(name for (batch, _), name in checkpoints(folder).items() if batch == BATCHES) for folder in (whole, killed)]
    if len(ends[0]) != 1 or ends[0][0] not in ends[1]:
        raise Failed(f"the last checkpoints are {ends}")
    a, b = (tensors(folder / "saves" / ends[0][0]) for folder in (whole, killed))
    differ = sorted(set(a) ^ set(b)) + [k for k in a if k in b and k not in MEASURED and a[k] != b[k]]
    if differ:
        raise Failed(f"{len(differ)} tensors differ, such as {differ[:3]}")


def compare_checkpoints(whole, killed, keep):
    """The newest are left, `keep` of them.  Saves that a signal asked for are among these, in the place of older ones."""
    a, b = checkpoints(whole), checkpoints(killed)
    if len(b) != keep:
        raise Failed(f"{len(b)} checkpoints are left with keep {keep}: {list(b.values())}")
    lacks = [name for at, name in a.items() if at > min(b) and at not in b]
    if lacks:
        raise Failed(f"the checkpoints {lacks} are gone, older ones are left: {list(b.values())}")
    # The link may be of before: a kill can come between the last checkpoint and it.
    link = killed / LINK
    if not link.is_symlink() or link.readlink().name not in b.values():
        raise Failed(f"{LINK} is no link to one of {list(b.values())}")


def names(folder):
    """What lies below the folder, without checkpoints."""
    found = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_symlink() or not path.is_dir()}
    return {plain(name) for name in found if not CHECKPOINT.fullmatch(name.removeprefix("saves/"))}


def compare_names(whole, killed):
    """The same other files, so that nothing of a write that was cut short is left."""
    a, b = names(whole), {name for name in names(killed) if not MAY_BE_THERE.fullmatch(name)}
    if a != b:
        raise Failed(f"files are left: {sorted(b - a)}; files are gone: {sorted(a - b)}")


def compare(whole, killed, run):
    """Raises Failed with the first difference between the folders of the two runs."""
    compare_bits(whole, killed)
    if rows(whole, run["name"]) != rows(killed, run["name"]):
        raise Failed("losses in the log differ")
    compare_logs(whole, killed)
    compare_records(whole, killed, run["name"])
    compare_checkpoints(whole, killed, run["callbacks"][0]["keep"])
    compare_names(whole, killed)
