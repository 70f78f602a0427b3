"""kept_runs.py - the runs of the richer sets: their files, and how they are made and kept."""
# SPDX-License-Identifier: Apache-2.0
import json
import os
import pathlib
import shutil
import struct
import subprocess
import sys

from campaign import environment
from checkpoint import tensors
from data_files import npy
from kept_text import pack

# Where they run: it stands in logs, whose checksums lie in checkpoints, so that it cannot be changed afterwards.
WHERE = pathlib.Path("/tmp/tutti-compat")
DATA = {"dataset": {"name": "npy", "inputs": "x.npy", "targets": "y.npy", "classes": 4}, "batch_size": 8}
# The same bits on every x86-64 CPU, so that what comes of it today is compared exactly.
RUN = {
    "name": "old", "seed": 5, "threads": 1, "device": "cpu", "deterministic": "anywhere",
    "model": {"name": "mlp", "hidden": [6], "dropout": 0.1},
    "train": DATA, "eval": [{"label": "test", **DATA, "metrics": [{"name": "accuracy"}, {"name": "cross_entropy"}]}],
    "optimizer": {"name": "adamw", "lr": 0.05},
    "loggers": [{"name": "jsonl", "flush_interval": 1, "log_traces": True}, {"name": "file", "flush_interval": 1}],
}
SAVER = {"name": "checkpoint_saver", "folder": "saves", "keep": -1}
RUNS = {
    # A run folder with everything that is text; callbacks with files of their own, which .own notes; a second saver saves
    # weights alone.
    "train": RUN | {
        "max_duration": "2ep", "schedulers": [{"name": "cosine_annealing_with_warmup", "t_warmup": "2ba"}],
        "algorithms": [{"name": "ema", "half_life": "2ba"}, {"name": "label_smoothing"},
                       {"name": "gradient_clipping", "clipping_type": "norm", "clipping_threshold": 0.5}],
        "loggers": RUN["loggers"] + [{"name": "mlflow", "tracking_uri": "file:mlruns"}],
        "traces": [{"file": "traces.txt"}, {"file": "ran.jsonl", "format": "json", "all": False}],
        "callbacks": [SAVER | {"interval": "5ba"}, {"name": "lr_monitor"},
                      {"name": "early_stopper", "monitor": "cross_entropy", "dataloader_label": "test", "patience": "9ep"},
                      {"name": "mlperf", "root_folder": "submission", "index": 0, "metric_label": "test", "target": 2,
                       "system_name": "box", "cache_clear_cmd": "true"},
                      {"name": "memory_snapshot", "interval": "4ba"},
                      SAVER | {"id": "weights", "folder": "weights", "weights_only": True, "interval": "4ba"}]},
    # A loop with functions at its events; `deterministic` has no value there that would hold for every CPU.
    "engine": {key: value for key, value in RUN.items() if key != "deterministic"} | {
        "process": "supervised", "max_epochs": 2, "algorithms": [{"name": "ema", "half_life": "2ba"}],
        "callbacks": [SAVER | {"interval": "5ba"}],
        "handlers": [{"on": "iteration_completed", "every": 3, "call": "demo.note", "args": ["loss/train/total", 0]},
                     {"on": "epoch_completed", "call": "demo.mark"},
                     {"on": ["milestone", {"event": "iteration_completed", "once": [2, 7]}], "call": "demo.note",
                      "args": {"metric": "loss/train/total", "limit": 0.5}, "id": "first"},
                     {"on": "iteration_started", "filter": {"call": "demo.is_prime", "args": [5]}, "call": "demo.note",
                      "args": ["loss/train/total", 0]}]},
    # Two processes, whose checkpoints are a file of each and an index.
    "shards": RUN | {
        "max_duration": "2ep", "microbatch_size": 4, "schedulers": [{"name": "linear"}],
        "distributed": {"comm": {"name": "shared_memory", "mailbox_mib": 1}, "sharding": "states"},
        "callbacks": [SAVER | {"interval": "5ba", "filename": "ep{epoch}-ba{batch}.safetensors.index.json"}]},
    # A language model.
    "text": {
        "name": "old", "seed": 5, "threads": 1, "device": "cpu", "deterministic": "anywhere",
        "model": {"name": "gpt2", "n_layer": 1, "n_head": 2, "n_embd": 4},
        "train": {"dataset": {"name": "text", "path": "text.txt", "length": 8, "vocabulary": "chars"}, "batch_size": 4},
        "optimizer": {"name": "adamw", "lr": 0.1}, "max_duration": "20ba",
        "callbacks": [SAVER | {"weights_only": True, "interval": "1dur"}]},
}
WORLD = {"shards": 2}
LOCKED = "train"  # this one has a file of plugins' sums, and a policy
EXACT = {case for case, run in RUNS.items() if run.get("deterministic") == "anywhere"}
POLICY = {"format": "1.0", "trust": "pinned", "lock": "plugins.lock"}


def write_data(folder):
    """32 samples of 2 x 2 in four classes, the same everywhere."""
    x = [(37 * k % 101) / 101 for k in range(128)]
    y = [(7 * k + k // 5) % 4 for k in range(32)]
    (folder / "x.npy").write_bytes(npy("<f4", (32, 2, 2), struct.pack("<128f", *x)))
    (folder / "y.npy").write_bytes(npy("<i8", (32,), struct.pack("<32q", *y)))


def command(case):
    """The command that has such a run."""
    return "run" if case == "engine" else "train"


def start(program, folder, *words, **more):
    """A process of the program in that folder, which has ended."""
    env = environment(folder / "cache", TUTTI_CONFIG_PATH=str(folder / "no_config"), **more)
    return subprocess.run([program, *words], cwd=folder, env=env, capture_output=True, text=True, check=False, timeout=100)


def train(program, folder, case):
    """The run, by as many processes as it has."""
    env = environment(folder / "cache", TUTTI_CONFIG_PATH=str(folder / "no_config"))
    size = WORLD.get(case, 1)
    ranks = {"TUTTI_WORLD_SIZE": str(size), "TUTTI_JOB": "compat"} if size > 1 else {}
    words = [program, command(case), "run.json"]
    world = [subprocess.Popen(words, cwd=folder, stdout=subprocess.DEVNULL,  # pylint: disable=consider-using-with
                              env=env | ranks | ({"TUTTI_RANK": str(rank)} if ranks else {})) for rank in range(size)]
    if any([one.wait() for one in world]):
        sys.exit(f"{case} has failed")


def end_of(folder):
    """The tensors of the last checkpoint, as JSON: numbers of clocks, bytes in hexadecimal."""
    link = next((folder / "saves").glob("latest*"))
    return {name: value if name == "run.clock" else [value[0], value[1], value[2].hex()]
            for name, value in tensors(link).items() if not name.endswith(".saved")}


def halve(folder):
    """Takes away the checkpoints of the last batch, and the link to them."""
    for path in (folder / "saves").iterdir():
        if path.is_symlink() or "-ba8" in path.name:
            path.unlink()


def lock(program, folder):
    """Keeps the sums of the plugins that the run uses, and a policy that wants them."""
    used = {plugin["folder"] for plugin in json.loads((folder / "runs/old/record.json").read_text())["plugins"]}
    lines = start(program, folder, "plugins", "lock").stdout.splitlines(keepends=True)
    kept = (line for line in lines if os.path.dirname(line.split(None, 1)[1].strip()) in used)
    (folder / "plugins.lock").write_text("".join(kept))
    (folder / "policy.json").write_text(json.dumps(POLICY) + "\n")


def make(program, case, kept):
    """Has the run of that name and keeps what it leaves; what it comes to, as JSON."""
    WHERE.mkdir()
    try:
        write_data(WHERE)
        (WHERE / "run.json").write_text(json.dumps(RUNS[case], indent=1) + "\n")
        if case == "text":
            (WHERE / "text.txt").write_text("".join(f"{7 * k % 10} and {3 * k % 10}\n" for k in range(40)))
        train(program, WHERE, case)
        end = None if case == "text" else end_of(WHERE)
        if end:
            halve(WHERE)
        if case == LOCKED:
            lock(program, WHERE)
        shutil.rmtree(WHERE / "cache", ignore_errors=True)
        pack(WHERE, kept, program)
        return end
    finally:
        shutil.rmtree(WHERE)
