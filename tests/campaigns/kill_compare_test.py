"""kill_compare_test.py - a killed run's folder and logs: what may differ from those of a whole run, and what is told."""
# SPDX-License-Identifier: Apache-2.0
import json
import pathlib
import struct
import sys
import tempfile

from campaign import Failed
from kill_compare import compare_checkpoints, compare_logs, compare_names, compare_records
from kill_logs import checksum

WHOLE = ["run.json", "runs/killed/log.jsonl", "runs/killed/record.json", "saves/.lock", "saves/ep3-ba36.safetensors",
         "saves/ep3-ba39.safetensors", "saves/ep4-ba40.safetensors"]
OLDEST, OLDER, LAST = WHOLE[-3:]
# What differs of the killed run (without, with, where the link points), and what is told of it.
ROWS = [
    ((), (), LAST, None),
    ((), ("err.txt", "runs/killed/log.jsonl.undone"), OLDER, None),  # killed before it was linked
    ((), ("saves/ep3-ba33.safetensors",), LAST, "4 checkpoints are left with keep 3"),
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


def row(batch, values, kind="metrics", **more):
    return json.dumps({"time": batch + 0.5, "kind": kind, "batch": batch, "values": values} | more)


def said(component, words):
    return json.dumps({"time": 1.5, "kind": "message", "level": "info", "component": component, "text": words})


def field(number, value):
    """One of protocol buffers' fields of bytes."""
    return bytes([number << 3 | 2, len(value)]) + value


def event(step, body):
    """A record of TensorBoard's."""
    data = bytes([0x10, step]) + body
    size = struct.pack("<Q", len(data))
    return size + checksum(size) + data + checksum(data)


def shown(step, value):
    return event(step, field(5, field(1, field(1, b"loss") + bytes([2 << 3 | 5]) + struct.pack("<f", value))))


def started(step):
    return event(step, field(7, bytes([1 << 3, 1])))


LOG, BOARD = "runs/killed/log.jsonl", "tensorboard_logs/killed/events.out.tfevents.1.vm."
RUN, METRIC = "runs/killed/mlflow.run", "mlruns/7/" + 32 * "a" + "/metrics/loss"
# {file: what it has} of a whole run and of the killed one, and what is told of the second.
LOGS = [
    ({LOG: [row(0, {"loss": 2}), row(1, {"loss": 1})]}, {LOG: [row(0, {"loss": 2}), row(1, {"loss": 1})]}, None),
    # Twice what each attempt says, and time.
    ({LOG: [row(0, {"loss": 2, "time/train": 1}), said("ema", "is there"), row(1, {"loss": 1})]},
     {LOG: [row(0, {"loss": 2, "time/train": 3}), said("ema", "is there"), said("train", "resumed"), said("ema", "is there"),
            row(1, {"loss": 1})]}, None),
    ({LOG: [row(0, {"loss": 2}), row(1, {"accuracy": 1})]}, {LOG: [row(0, {"loss": 2})]}, "log.jsonl: row 1 is None, want"),
    ({LOG: [row(0, {"loss": 2})]}, {LOG: [row(0, {"loss": 2}), row(0, {"loss": 2})]}, "log.jsonl: row 1 is"),
    ({LOG: [said("plugin", "at step 1: 2")]}, {LOG: [said("plugin", "at step 1: 3")]}, "log.jsonl: row 0 is"),
    ({"runs/killed/log.txt": ["[metric][batch=1]: loss: 2 "]}, {"runs/killed/log.txt": ["[message][info]: train: resumed"]},
     "log.txt: row 0 is None"),
    ({"runs/killed/traces.txt": ["[STEP=1][ema/INIT=1]", "[STEP=1][ema/BATCH_END=1]"]},
     {"runs/killed/traces.txt": ["[STEP=1][ema/BATCH_END=1]", "[STEP=1][ema/BATCH_END=1]"]}, "traces.txt: row 1 is"),
    # A batch that was trained again is there twice, and TensorBoard forgets the first.
    ({RUN: ["a" * 32], METRIC: ["7 2.0 0", "8 1.0 1"]}, {RUN: ["a" * 32], METRIC: ["7 2.0 0", "8 1.0 1", "9 1.0 1"]}, None),
    ({RUN: ["a" * 32], METRIC: ["7 2.0 0", "8 1.0 1"]}, {RUN: ["a" * 32], METRIC: ["7 2.0 0"]}, "mlflow.run: row of loss is None"),
    ({BOARD + "0": started(0) + shown(0, 2.0) + shown(1, 1.0) + shown(2, 0.5)},
     {BOARD + "1": started(0) + shown(0, 2.0) + shown(1, 1.0) + shown(2, 0.25), BOARD + "2": started(2) + shown(2, 0.5)}, None),
    ({BOARD + "0": started(0) + shown(0, 2.0) + shown(1, 1.0)},  # behind what is damaged it reads nothing
     {BOARD + "1": started(0) + shown(0, 2.0) + shown(1, 1.0)[:-1] + bytes(1)}, "tensorboard_logs: row of loss is None"),
    ({BOARD + "0": started(0) + shown(0, 2.0) + shown(1, 1.0)},
     {BOARD + "1": started(0) + shown(0, 2.0) + shown(1, 1.0), BOARD + "2": started(1)}, "tensorboard_logs: row of loss is None"),
]
# Likewise of record.json: a member, and what it is in the killed run.
RECORDS = [("process", 2, None), ("attempts", [{}], None), ("batches", 39, "batches of record.json is 39, want 40"),
           ("status", "running", "status of record.json"),
           ("metrics", {"loss": {"last": 1, "least": 1, "greatest": 1}, "throughput/batches_per_sec": {}},
            "metrics of record.json: row of loss is ('greatest', 1), want ('greatest', 2)")]


def write(folder, files):
    for name, lines in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(lines if isinstance(lines, bytes) else "".join(line + "\n" for line in lines).encode())


def told_of(compare, whole_files, killed_files):
    """What `compare` tells of two folders with these files; "" for nothing."""
    with tempfile.TemporaryDirectory(prefix="tutti_kill_") as top:
        whole, killed = pathlib.Path(top) / "whole", pathlib.Path(top) / "killed"
        write(whole, whole_files)
        write(killed, killed_files)
        try:
            compare(whole, killed)
        except Failed as why:
            return str(why)
    return ""


def logs_and_records():
    """(what is tried, what is told, what should be) of each."""
    for whole, killed, want in LOGS:
        yield killed, told_of(compare_logs, whole, killed), want
    record = {"process": 1, "attempts": [], "batches": 40, "status": "finished",
              "metrics": {"loss": {"last": 1, "least": 1, "greatest": 2}}}
    for name, value, want in RECORDS:
        files = [{"runs/killed/record.json": [json.dumps(one)]} for one in (record, record | {name: value})]
        yield {name: value}, told_of(lambda a, b: compare_records(a, b, "killed"), *files), want


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
    for tried, got, want in logs_and_records():
        if (want or "") not in got or bool(want) != bool(got):
            print(f"FAILED: {tried}: {got!r}, want {want!r}")
            wrong += 1
    return 1 if wrong else 0


sys.exit(main())
