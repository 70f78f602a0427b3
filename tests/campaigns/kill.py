"""kill.py TUTTI [--kills N] [--seed S] [--tally FILE] - runs that are killed and resumed end as one that was not.

Each case is run once from start to end. Then it is run with --resume auto and stopped at random moments (SIGKILL
mostly, SIGTERM, SIGSTOP for a while, the cache of kernel choices kept or lost) until it has ended. Compared are the
bits of the last checkpoint, every batch's row of the log, and what lies in the folder of checkpoints. Cases take
turns until there were N kills of a run that had begun; a tally is one line of JSON.
"""
import argparse
import datetime
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "e2e"))
from checkpoint import tensors  # noqa: E402

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
}


class Failed(Exception):
    """A run that did not end as it should."""


def command(tutti, *words):
    return [tutti, "train", "run.json", *words]


def whole_run(tutti, folder, run):
    folder.mkdir()
    (folder / "run.json").write_text(json.dumps(run))
    done = subprocess.run(command(tutti), cwd=folder, env=environment(folder.parent / "cache"),
                          capture_output=True, text=True, check=False)
    if done.returncode:
        raise Failed(f"the whole run failed: {done.stderr.strip()[-300:]}")


def environment(cache):
    return {k: v for k, v in os.environ.items() if k != "TUTTI_TUNE"} | {"XDG_CACHE_HOME": str(cache)}


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


def killed_run(tutti, folder, run, span, rng, tally):
    """Runs until it ends by itself; at most 12 kills, so that each run ends."""
    folder.mkdir()
    (folder / "run.json").write_text(json.dumps(run))
    log = folder / "runs" / run["name"] / "log.jsonl"
    for attempt in range(40):
        # Without a checkpoint it begins anew, and a new run may measure other kernels.
        lost = rng.random() < 0.3 and any((folder / "saves").glob("*-ba*.safetensors"))
        cache = folder.parent / (f"lost{attempt}" if lost else "cache")
        with open(folder / "err.txt", "w", encoding="utf-8") as err:
            process = subprocess.Popen(command(tutti, "--resume", "auto"), cwd=folder, stdout=subprocess.DEVNULL,
                                       stderr=err, env=environment(cache))
            how = rng.choice([signal.SIGKILL] * 4 + [signal.SIGTERM, signal.SIGSTOP])
            try:
                process.wait(timeout=rng.uniform(0.02, 1.2 * span) if attempt < 12 else 600)
            except subprocess.TimeoutExpired:
                stop(process, how, rng)
                process.wait()
        code = process.returncode
        if code == 0:
            tally["caches_lost"] += lost
            return
        if code not in (-signal.SIGKILL, -signal.SIGTERM, 128 + signal.SIGTERM):
            raise Failed(f"it ended with {code}: {(folder / 'err.txt').read_text().strip()[-300:]}")
        if has_begun(log):
            tally["kills"] += 1
            tally[signal.Signals(how).name] += 1
        tally["caches_lost"] += lost
    raise Failed("it did not end")


def rows(folder, name):
    """The loss of every batch; each once, in order, every line JSON."""
    losses = []
    with open(folder / "runs" / name / "log.jsonl", encoding="utf-8") as f:
        for line in f:
            row = json.loads(line)
            if row["kind"] == "metrics" and "loss/train/total" in row["values"]:
                losses.append((row["batch"], row["values"]["loss/train/total"]))
    if [batch for batch, _ in losses] != list(range(BATCHES)):
        raise Failed(f"the log has the batches {[batch for batch, _ in losses]}")
    return losses


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
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tutti")
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--case", choices=CASES, action="append")
    parser.add_argument("--tally")
    given = parser.parse_args()
    tutti = os.path.abspath(given.tutti)
    seed = given.seed if given.seed is not None else random.SystemRandom().randrange(1 << 32)
    rng = random.Random(seed)
    tally = {"campaign": "kill", "seed": seed, "kills": 0, "SIGKILL": 0, "SIGTERM": 0, "SIGSTOP": 0,
             "caches_lost": 0, "runs": 0, "failures": 0}
    start = time.monotonic()
    names = given.case or list(CASES)
    with tempfile.TemporaryDirectory(prefix="tutti_kill_") as top:
        turn = 0
        while tally["kills"] < given.kills:
            name = names[turn % len(names)]
            run = BASE | CASES[name] | {"seed": rng.randrange(1000)}
            folder = pathlib.Path(top) / f"{turn}"
            folder.mkdir()
            try:
                begun = time.monotonic()
                whole_run(tutti, folder / "whole", run)
                killed_run(tutti, folder / "killed", run, time.monotonic() - begun, rng, tally)
                compare(folder / "whole", folder / "killed", run)
            except Failed as why:
                tally["failures"] += 1
                print(f"FAILED: {name}, turn {turn} of seed {seed}: {why}", flush=True)
            tally["runs"] += 1
            turn += 1
            shutil.rmtree(folder)
    tally["seconds"] = round(time.monotonic() - start)
    tally["date"] = datetime.date.today().isoformat()
    print(json.dumps(tally))
    if given.tally:
        with open(given.tally, "a", encoding="utf-8") as f:
            f.write(json.dumps(tally) + "\n")
    return 1 if tally["failures"] else 0


sys.exit(main())
