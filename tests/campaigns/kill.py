"""kill.py TUTTI [--kills N] [--hours H] [--seed S] - runs that are killed and resumed end as one that was not.

Each case is run once from start to end. Then it is run with --resume auto and stopped at random moments (SIGKILL
mostly, SIGTERM, SIGSTOP for a while; the cache of kernel choices kept or lost; with --faults often on a disk that is
so slow that the moment falls into a save) until it has ended. Compared are the bits of the last checkpoint, every
batch's row of the log, and what lies in the folder of checkpoints. Cases take turns until there were N kills of a run
that had begun; a tally is one line of JSON.
"""
# SPDX-License-Identifier: Apache-2.0
import json
import os
import pathlib
import random
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

from campaign import Failed, Tally, environment, losses, npy, parser, tensors

BATCHES = 40
BASE = {
    "name": "killed", "seed": 5,
    "model": {"name": "mlp", "hidden": [32], "dropout": 0.1},
    "train": {"dataset": {"name": "glyphs", "samples": 320},
              "transforms": [{"name": "normalize", "mean": [0.13], "std": [0.31]}],
              "batch_size": 32, "workers": 2},
    "eval": [{"label": "test", "dataset": {"name": "glyphs", "samples": 50, "split": "test"},
              "transforms": [{"name": "normalize", "mean": [0.13], "std": [0.31]}],
              "batch_size": 50, "metrics": [{"name": "accuracy"}]}],
    "optimizer": {"name": "adamw", "lr": 0.01},
    "schedulers": [{"name": "cosine_annealing"}],
    "max_duration": f"{BATCHES}ba",
    "loggers": [{"name": "jsonl", "flush_interval": 3}],
    "callbacks": [{"name": "checkpoint_saver", "folder": "saves", "interval": "3ba", "keep": 3}],
}
CNN = {"model": {"name": "cnn"}}


# Of a run whose images grow, a checkpoint has the kernels of the sizes until then: without the cache it chooses those of
# later sizes anew, as a new run may.  From here on, of a run, all sizes have been reached; elsewhere from the start.
GROWN = {"growing": 0.9}


def algorithms(*list_):
    return {"algorithms": [a if isinstance(a, dict) else {"name": a} for a in list_]}


CASES = {
    "plain": {},
    "microbatches": {"microbatch_size": 12},
    "averages": algorithms({"name": "ema", "half_life": "5ba"}),
    "mixed": algorithms("label_smoothing", "mixup", {"name": "gradient_clipping", "clipping_type": "norm",
                                                     "clipping_threshold": 0.5}),
    "chosen": algorithms({"name": "selective_backprop", "start": 0.0, "end": 1.0}),
    "sharp": algorithms("sam"),
    "swa": algorithms({"name": "swa", "swa_start": "0.4dur", "swa_end": "0.8dur"}),
    "frozen": algorithms({"name": "layer_freezing", "freeze_start": 0.2}),
    "convolutions": CNN,
    "growing": CNN | algorithms({"name": "progressive_resizing", "initial_scale": 0.5}),
    "cut": CNN | algorithms("cutmix", "cutout"),
    "blurred": CNN | algorithms("blurpool"),
    "text": {"model": {"name": "gpt2", "n_layer": 1, "n_head": 2, "n_embd": 8}, "eval": [],
             "train": {"dataset": {"name": "text", "path": "text.txt", "length": 8}, "batch_size": 8, "workers": 2}},
    "arrays": {"model": {"name": "mlp", "hidden": [8]}, "eval": [],
               "train": {"dataset": {"name": "npy", "inputs": "x.npy", "targets": "y.npy", "classes": 10}, "batch_size": 32,
                         "workers": 1}},
}


def command(tutti, *words):
    return [tutti, "train", "run.json", *words]


def fill(folder, run):
    """What a run begins with."""
    folder.mkdir()
    rng = random.Random(1)
    (folder / "run.json").write_text(json.dumps(run))
    (folder / "text.txt").write_text("a run that is killed says this again and again. " * 40)
    (folder / "x.npy").write_bytes(npy("<f4", (320, 4), struct.pack("<1280f", *(rng.random() for _ in range(1280)))))
    (folder / "y.npy").write_bytes(npy("<i8", (320,), struct.pack("<320q", *(rng.randrange(10) for _ in range(320)))))


def measured(cache, **more):
    """The environment of runs that measure kernels."""
    return {k: v for k, v in environment(cache, **more).items() if k != "TUTTI_TUNE"}


def whole_run(tutti, folder, run):
    fill(folder, run)
    done = subprocess.run(command(tutti), cwd=folder, env=measured(folder.parent / "cache"),
                          capture_output=True, text=True, check=False)
    if done.returncode:
        raise Failed(f"the whole run failed: {done.stderr.strip()[-300:]}")


def has_begun(log):
    return log.exists() and log.stat().st_size > 0


def stop(process, how, rng):
    """Sends the signal; SIGSTOP is a pause before a kill."""
    if how == signal.SIGSTOP:
        process.send_signal(signal.SIGSTOP)
        time.sleep(rng.uniform(0, 0.2))
        process.send_signal(signal.SIGKILL)
        process.send_signal(signal.SIGCONT)
    else:
        process.send_signal(how)


def slow_disk(slow, folder, rng):
    """The environment of a disk on which saves take their time, in four of ten attempts, and whether it is that."""
    if not slow or rng.random() > 0.4:
        return {}, False
    return {"LD_PRELOAD": slow, "TUTTI_SLOW": "30000", "TUTTI_SLOW_NAME": str(folder / "saves")}, True


def newest(saves):
    """The batch of the newest checkpoint; -1 without one."""
    return max((int(re.search(r"-ba(\d+)\.", p.name)[1]) for p in saves.glob("*-ba*.safetensors")), default=-1)


def killed_run(tutti, folder, run, grown, span, rng, tally, slow):
    """Runs until it ends by itself; at most 12 kills, so that each run ends."""
    fill(folder, run)
    log = folder / "runs" / run["name"] / "log.jsonl"
    for attempt in range(40):
        # Without a checkpoint it begins anew, and a new run may measure other kernels.
        lost = rng.random() < 0.3 and newest(folder / "saves") >= grown * BATCHES
        cache = folder.parent / (f"lost{attempt}" if lost else "cache")
        disk, is_slow = slow_disk(slow, folder, rng) if attempt < 12 else ({}, False)
        with open(folder / "err.txt", "w", encoding="utf-8") as err:
            process = subprocess.Popen(command(tutti, "--resume", "auto"), cwd=folder, stdout=subprocess.DEVNULL,
                                       stderr=err, env=measured(cache, **disk))
            how = rng.choice([signal.SIGKILL] * 4 + [signal.SIGTERM, signal.SIGSTOP])
            try:
                process.wait(timeout=rng.uniform(0.02, 1.2 * span * (3 if is_slow else 1)) if attempt < 12 else 600)
            except subprocess.TimeoutExpired:
                stop(process, how, rng)
                process.wait()
        code = process.returncode
        if code == 0:
            tally.add("caches_lost", lost)
            return
        if code not in (-signal.SIGKILL, -signal.SIGTERM, 128 + signal.SIGTERM):
            raise Failed(f"it ended with {code}: {(folder / 'err.txt').read_text().strip()[-300:]}")
        if has_begun(log):
            tally.add("kills")
            tally.add(signal.Signals(how).name)
            tally.add("slow_disk", is_slow)
        tally.add("caches_lost", lost)
    raise Failed("it did not end")


def rows(folder, name):
    """The loss of every batch; each once, in order, every line JSON."""
    found = losses(folder, name)
    if [batch for batch, _ in found] != list(range(BATCHES)):
        raise Failed(f"the log has the batches {[batch for batch, _ in found]}")
    return found


def compare(whole, killed, run):
    name = run["name"]
    # The link may be of before: a kill can come between the last checkpoint and it.
    ends = [list((folder / "saves").glob(f"*-ba{BATCHES}.safetensors")) for folder in (whole, killed)]
    if [len(files) for files in ends] != [1, 1]:
        raise Failed(f"the last checkpoints are {ends}")
    a, b = (tensors(files[0]) for files in ends)
    differ = sorted(set(a) ^ set(b)) + [k for k in a if k in b and a[k] != b[k]]
    if differ:
        raise Failed(f"{len(differ)} tensors differ, such as {differ[:3]}")
    if rows(whole, name) != rows(killed, name):
        raise Failed("losses in the log differ")
    left = [p.name for p in (killed / "saves").iterdir() if ".tmp" in p.name or p.name.endswith(".damaged")]
    if left:
        raise Failed(f"files are left: {left}")


def main():
    words = parser(__doc__)
    words.add_argument("--kills", type=int, default=1000)
    words.add_argument("--case", choices=CASES, action="append")
    words.add_argument("--faults", help="the folder of the library that slows saves")
    given = words.parse_args()
    tutti = os.path.abspath(given.tutti)
    slow = given.faults and os.path.join(os.path.abspath(given.faults), "slow_faults.so")
    rng = random.Random(given.seed)
    tally = Tally("kill", given)
    names = given.case or list(CASES)
    turn = 0
    with tempfile.TemporaryDirectory(prefix="tutti_kill_") as top:
        while not tally.is_over() and (given.hours or tally.values.get("kills", 0) < given.kills):
            name = names[turn % len(names)]
            run = BASE | CASES[name] | {"seed": rng.randrange(1000)}
            folder = pathlib.Path(top) / f"{turn}"
            folder.mkdir()
            try:
                begun = time.monotonic()
                whole_run(tutti, folder / "whole", run)
                killed_run(tutti, folder / "killed", run, GROWN.get(name, 0), time.monotonic() - begun,
                           rng, tally, slow)
                compare(folder / "whole", folder / "killed", run)
            except Failed as why:
                tally.fail(f"{name}, turn {turn} of seed {given.seed}: {why}")
            tally.add("runs")
            turn += 1
            shutil.rmtree(folder)
    return tally.finish()


sys.exit(main())
