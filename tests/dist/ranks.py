"""ranks.py - runs of several processes for the tests beside it: starting a world, and comparing what runs leave."""
# SPDX-License-Identifier: Apache-2.0
import json
import os
import signal
import struct
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "e2e"))
from checkpoint import tensors  # noqa: E402  pylint: disable=wrong-import-position

RUN = {
    "name": "ranks", "seed": 3, "threads": 1, "microbatch_size": 4, "model": {"name": "cnn"},
    "train": {"dataset": {"name": "glyphs", "samples": 130}, "batch_size": 30, "metrics": [{"name": "accuracy"}],
              "transforms": [{"name": "normalize", "mean": [0.13], "std": [0.31]}], "workers": 1},
    "eval": [{"label": "test", "dataset": {"name": "glyphs", "samples": 40, "split": "test"}, "metrics": [{"name": "accuracy"}],
              "transforms": [{"name": "normalize", "mean": [0.13], "std": [0.31]}], "interval": "1ep", "workers": 1,
              "batch_size": 9}],
    "optimizer": {"name": "sgd", "lr": 0.05, "momentum": 0.9}, "loggers": [{"name": "jsonl"}],
    "callbacks": [{"name": "checkpoint_saver", "interval": "1ba"}], "max_duration": "2ep",
    "distributed": {"comm": {"name": "shared_memory", "mailbox_mib": 1}, "join_timeout_s": 60, "timeout_s": 60,
                    "bucket_mib": 0.01},
}


class World:
    """Processes that train one run in one folder; `own`, `places`, `env` and `programs` have what is a rank's alone; `file`
    is the run file, None: without one."""

    def __init__(self, tutti, folder, size, options=(), own=None, command="train", places=None, env=None, programs=None, file="run.json"):  # pylint: disable=too-many-arguments
        self.folder = folder
        self.ranks = []
        for rank in range(size):
            here = {**os.environ, "TUTTI_RANK": str(rank), "TUTTI_WORLD_SIZE": str(size), "TUTTI_JOB": folder,
                    "TUTTI_TUNE": "0", **(env or {}).get(rank, {})}
            words = [(programs or {}).get(rank, tutti), command, *([file] if file else []), *options, *(own or {}).get(rank, ())]
            self.ranks.append(subprocess.Popen(words, cwd=(places or {}).get(rank, folder), env=here, stdout=subprocess.PIPE,
                                               stderr=subprocess.PIPE, text=True))

    def end(self, limit=120):
        """Exit statuses, texts on stdout and stderr of all ranks."""
        until = time.monotonic() + limit
        out = []
        for process in self.ranks:
            try:
                text = process.communicate(timeout=max(0.1, until - time.monotonic()))
            except subprocess.TimeoutExpired:
                for one in self.ranks:
                    one.kill()
                raise SystemExit(f"{self.folder}: a rank has not ended in {limit} s") from None
            out.append((process.returncode, *text))
        return [list(column) for column in zip(*out)]

    def wait_for_batch(self, batch):
        """Until that batch is saved."""
        until = time.monotonic() + 60
        while time.monotonic() < until and not any(f"-ba{batch}." in name for name in self.saved()):
            time.sleep(0.002)

    def last_loss(self):
        """The last batch that the log has a loss of; -1 before the first."""
        last, path = -1, os.path.join(self.folder, "runs/ranks/log.jsonl")
        with open(path, encoding="utf-8") if os.path.exists(path) else open(os.devnull, encoding="utf-8") as f:
            for line in f:
                if line.endswith("\n") and "loss/train/total" in line:
                    last = json.loads(line)["batch"]
        return last

    def wait_for_loss(self, batch):
        """Until the log has a loss of that batch, or a rank has ended."""
        until = time.monotonic() + 60
        while time.monotonic() < until and self.last_loss() < batch and all(one.poll() is None for one in self.ranks):
            time.sleep(0.01)

    def saved(self):
        """Names of checkpoints."""
        folder = os.path.join(self.folder, "runs/ranks/checkpoints")
        return os.listdir(folder) if os.path.isdir(folder) else []

    def signal(self, rank, number):
        """Sends a signal to one rank."""
        self.ranks[rank].send_signal(number)


def listed_files(index):
    """The files that an index names; none where it is gone."""
    try:
        with open(index, encoding="utf-8") as f:
            return set(json.load(f)["weight_map"].values())
    except FileNotFoundError:
        return set()


def write(folder, run):
    """The run file of a new folder."""
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "run.json"), "w", encoding="utf-8") as f:
        json.dump(run, f)


def write_npy(path, kind, shape, data):
    """A file of NumPy's."""
    header = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}".encode()
    header += b" " * (63 - (10 + len(header)) % 64) + b"\n"
    with open(path, "wb") as f:
        f.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + data)


def changed(**more):
    """The run with other members."""
    run = json.loads(json.dumps(RUN))
    run.update(more)
    return run


def final(folder):
    """Tensors of the last checkpoint."""
    return tensors(os.path.join(folder, "runs/ranks/checkpoints/latest.safetensors"))


def numbers(folder):
    """Losses and metrics by batch, without clocks."""
    rows = {}
    with open(os.path.join(folder, "runs/ranks/log.jsonl"), encoding="utf-8") as f:
        for line in f:
            row = json.loads(line)
            for name, value in row["values"].items() if row["kind"] == "metrics" else ():
                if name.startswith(("loss/", "metrics/")):
                    rows[name, row["batch"]] = value
    return rows


def difference(a, b):
    """What the runs in two folders differ in, as text; "" when in nothing."""
    left, right = final(a), final(b)
    names = [name for name in left if left[name] != right.get(name)]
    if names or left.keys() != right.keys():
        return f"{len(names)} tensors differ, such as {names[:3]}"
    if numbers(a) != numbers(b) or not numbers(a):
        return "losses or metrics differ"
    return ""


def messages(folder):
    """What the log has been told in words."""
    with open(os.path.join(folder, "runs/ranks/log.jsonl"), encoding="utf-8") as f:
        return [row["text"] for row in map(json.loads, f) if row["kind"] == "message"]


def record_of(folder):
    """The run's record."""
    with open(os.path.join(folder, "runs/ranks/record.json"), encoding="utf-8") as f:
        return json.load(f)


def ranks_kept(folder):
    """What the record has of ranks: how many, and what rank 0's last step took of the others."""
    return record_of(folder)["ranks"]


class Report:
    """Counts what was checked, and what could not be."""

    def __init__(self):
        self.failed = self.skipped = 0

    def check(self, what, good, text=""):
        """Prints one line, and why not where it is not so."""
        print(f"ok: {what}" if good else f"FAILED: {what}: {text}", flush=True)
        self.failed += not good

    def skip(self, why):
        """A part of the test cannot be tried here: prints why; the test counts as skipped."""
        print(f"skipped: {why}", flush=True)
        self.skipped += 1

    def status(self):
        """The test's exit status: 1 if a check failed, else 77 (skipped, for ctest) if a part was skipped, else 0."""
        return 1 if self.failed else 77 if self.skipped else 0


def main(cases):
    """Runs the cases that are named, or all: ranks_test.py TUTTI [NAME]..."""
    report = Report()
    names = sys.argv[2:]
    unknown = set(names) - {case.__name__ for case in cases}
    if unknown:
        raise SystemExit(f"there is no case {', '.join(map(repr, sorted(unknown)))}")
    for case in cases:
        if names and case.__name__ not in names:
            continue
        with tempfile.TemporaryDirectory() as folder:
            case(sys.argv[1], folder, report)
    return report.status()


__all__ = ["Report", "World", "changed", "difference", "final", "listed_files", "main", "messages", "numbers", "ranks_kept",
           "record_of", "signal", "write", "write_npy"]
