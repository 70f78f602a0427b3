"""kill_logs.py - what the logs of a run say of it, whichever logger wrote them: without times, and without what is of an attempt.

Each function gives rows that a run which was killed and resumed has as one that was not.
"""
# SPDX-License-Identifier: Apache-2.0
import json
import re
import struct

# Metrics of time and of the process: no two runs have the same.
OF_THE_MACHINE = re.compile(r"(throughput|memory)/.*|time/(train|val|total|remaining_estimate.*)")
# Who says where a run begins, goes on and saves: as often as it was killed.
OF_ATTEMPTS = {"engine", "train", "run", "checkpoint_saver", "weights", "jsonl", "file", "tensorboard", "mlflow", "mlperf", "runtime_estimator"}
RUN_OF_MLFLOW = re.compile(r"mlruns/\d+/([0-9a-f]{32}/)?")
EVENTS = re.compile(r"(.*/events\.out\.tfevents)\.\d+\.[^/]*")


def of_the_run(values):
    """Those values that another run of the seed has as well."""
    return {name: value for name, value in values.items() if not OF_THE_MACHINE.fullmatch(name)}


def jsonl(path):
    """What log.jsonl has, in order; what each attempt says anew counts once."""
    found = []
    top = str(path.parent.parent.parent)
    for line in path.read_text(encoding="utf-8").replace(top, "").splitlines():
        row = json.loads(line)
        del row["time"]
        if row["kind"] == "metrics":
            row["values"] = of_the_run(row["values"])
        if row.get("component") in OF_ATTEMPTS or row.get("values") == {} or row["kind"] != "metrics" and row in found:
            continue
        found.append(row)
    return found


def text(path):
    """The lines of log.txt that are metrics, in order."""
    lines = path.read_text(encoding="utf-8").splitlines()
    metrics = [re.fullmatch(r"\[metric\]\[batch=\d+\]: ([^:]*): .*", line) for line in lines]
    return [line[0] for line in metrics if line and not OF_THE_MACHINE.fullmatch(line[1])]


def traces(path):
    """The lines of a file of traces, in order, but for `init`, which is of each attempt.  Whether an algorithm did something
    is not compared of evaluations and of a batch's begin: what is done again may find what it did the first time."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return [re.sub(r"(/EVAL_[A-Z_]*|/BEFORE_DATALOADER)=\d", r"\1", line) for line in lines if "/INIT=" not in line]


def submission(path):
    """The keys and values of mlperf's lines, in order."""
    rows = [json.loads(line.removeprefix(":::MLLOG ")) for line in path.read_text(encoding="utf-8").splitlines()]
    return [(row["event_type"], row["key"], row["value"], sorted(row["metadata"].items())) for row in rows]


def steps(path):
    """{metric: {step: value as text}} of the run in MLflow's folder whose id the file has: of a batch that was trained again,
    the last.  What was killed before its first checkpoint is another run there."""
    run = path.read_text(encoding="utf-8").strip()
    found = {}
    for file in (path.parent.parent.parent / "mlruns").glob(f"*/{run}/metrics/**/*"):
        name = str(file).split(f"{run}/metrics/", 1)[1]
        if file.is_file() and not OF_THE_MACHINE.fullmatch(name):
            rows = [line.split() for line in file.read_text(encoding="utf-8").splitlines()]
            found[name] = {int(step): value for _, value, step in rows}
    return found


# ---- TensorBoard's files: records of a message of protocol buffers each ----

def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at


def fields(data):
    """(number, what it has) of a message: integers, and bytes of all else."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        size = {1: 8, 5: 4}.get(key & 7)
        if key & 7 == 0:
            value, at = varint(data, at)
        else:
            if size is None:
                size, at = varint(data, at)
            value, at = data[at:at + size], at + size
        yield key >> 3, value


def crc_row(byte):
    for _ in range(8):
        byte = byte >> 1 ^ (0x82f63b78 if byte & 1 else 0)
    return byte


CRC = [crc_row(byte) for byte in range(256)]


def checksum(data):
    """CRC-32C, masked as these files have it."""
    crc = 0xffffffff
    for byte in data:
        crc = crc >> 8 ^ CRC[(crc ^ byte) & 255]
    crc ^= 0xffffffff
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xa282ead8) & 0xffffffff)


def records(path):
    """As TensorBoard reads them: up to the first that is damaged, or not whole."""
    data, at = path.read_bytes(), 0
    while at + 12 <= len(data):
        head = data[at:at + 8]
        end = at + 12 + struct.unpack("<Q", head)[0]
        if data[at + 8:at + 12] != checksum(head) or end + 4 > len(data) or data[end:end + 4] != checksum(data[at + 12:end]):
            return
        yield data[at + 12:end]
        at = end + 4


def scalars(folder):
    """{tag: {step: value as text}} as TensorBoard shows them: a file that begins a session ends what earlier ones have from there on."""
    found = {}
    for path in sorted(folder.glob("*/events.out.tfevents.*"), key=lambda path: (path.stat().st_mtime_ns, path.name)):
        for record in records(path):
            event = dict(fields(record))
            step = event.get(2, 0)
            if 7 in event and dict(fields(event[7])).get(1) == 1:  # session_log, START
                found = {tag: {at: v for at, v in values.items() if at < step} for tag, values in found.items()}
            for _, value in (pair for pair in fields(event.get(5, b"")) if pair[0] == 1):
                one = dict(fields(value))
                tag = one[1].decode()
                # The table of runs has what a process knew when it ended.
                if not OF_THE_MACHINE.fullmatch(tag) and not tag.startswith("hparams/") and 2 in one:
                    found.setdefault(tag, {})[step] = repr(struct.unpack("<f", one[2])[0])
    return found


# {glob below the run's folder: what reads it}
READERS = {"runs/*/log.jsonl": jsonl, "runs/*/traces.txt": traces, "runs/*/log.txt": text, "submission/results/*/*/*.txt": submission,
           "runs/*/mlflow.run": steps, "tensorboard_logs": scalars}


def plain(name):
    """The name of a file without what is an attempt's or a run's: its id, the time at which it began."""
    return EVENTS.sub(r"\1", RUN_OF_MLFLOW.sub("mlruns/", name))
