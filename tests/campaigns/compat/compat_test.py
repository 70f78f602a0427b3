"""compat_test.py TUTTI FIXTURES [--renew] [--near] [--tally FILE] - what earlier programs have written is read for ever.

Each folder below this one is a set, of a format or a month. Folders with `checkpoint.json` have what `tutti train` and
`tutti run` had written after half of their batches. A run goes on from there: its checkpoint loads, its log is
continued, and it comes to the losses that the program of then came to. FIXTURES has the plugins of old manifests, built
with the headers of then. Folders with `wanted.json` have whole runs, and what the program of then has told of them; each
member of it is a row. --renew adds the sets of today's format and month, where they are not there; nothing that is there
is ever changed.
"""
# SPDX-License-Identifier: Apache-2.0
import argparse
import datetime
import json
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from campaign import Tally, environment  # noqa: E402
from kept_rows import ROWS, SAME, Kept, check as check_row, computes_anywhere, tell  # noqa: E402
from kept_runs import EXACT, RUNS, make, write_data  # noqa: E402
from kept_text import from_text, to_text  # noqa: E402

TODAY = "1.0"
NEAR = 1e-3  # relative: other CPUs and kernels sum in another order
RUN = {
    "name": "old", "seed": 5, "threads": 1, "device": "cpu",
    "model": {"name": "mlp", "hidden": [3], "dropout": 0.1},
    "train": {"dataset": {"name": "npy", "inputs": "x.npy", "targets": "y.npy", "classes": 4}, "batch_size": 8},
    "optimizer": {"name": "adamw", "lr": 0.05},
    "schedulers": [{"name": "cosine_annealing"}],
    "algorithms": [{"name": "ema", "half_life": "2ba"}, {"name": "label_smoothing"}],
    "max_duration": "4ba",
    "loggers": [{"name": "jsonl", "flush_interval": 1}],
    "callbacks": [{"name": "checkpoint_saver", "folder": "saves", "interval": "2ba", "keep": -1}, {"name": "old_note"}],
}
ENGINE = {key: RUN[key] for key in ("seed", "threads", "device", "model", "optimizer", "loggers")} | {
    "name": "old", "process": "supervised", "max_epochs": 2,
    "train": {**RUN["train"], "batch_size": 16},
    "callbacks": [{"name": "checkpoint_saver", "folder": "saves", "interval": "1ep", "keep": -1}],
}
KINDS = {"train": RUN, "run": ENGINE}


def losses(log):
    return {row["batch"]: row["values"]["loss/train/total"] for row in map(json.loads, log.splitlines())
            if row["kind"] == "metrics" and "loss/train/total" in row["values"]}


def tutti(program, folder, plugins, *words):
    return subprocess.run([program, words[0], "run.json", "--plugin-path", str(plugins), *words[1:]], cwd=folder,
                          env=environment(folder / "cache"), capture_output=True, text=True, check=False)


def renew(program, plugins, kind, folder, top):
    """Writes the fixtures of one kind from a run that is stopped half way by its length, and one that is not."""
    folder.mkdir(parents=True)
    write_data(top)
    (top / "run.json").write_text(json.dumps(KINDS[kind], indent=1) + "\n")
    done = tutti(program, top, plugins, kind)
    if done.returncode:
        sys.exit(done.stderr)
    half = sorted((top / "saves").glob("ep*.safetensors"))[0]
    log = (top / "runs" / "old" / "log.jsonl").read_text()
    (folder / "run.json").write_text((top / "run.json").read_text())
    (folder / "checkpoint.json").write_text(to_text(half.read_bytes()))
    (folder / "checkpoint.name").write_text(half.name + "\n")
    (folder / "log.jsonl").write_text(log)


def check(program, plugins, folder, top):
    """What is wrong, as text."""
    kind = folder.name
    write_data(top)
    name = (folder / "checkpoint.name").read_text().strip()
    log = top / "runs" / "old" / "log.jsonl"
    (top / "saves").mkdir()
    log.parent.mkdir(parents=True)
    (top / "run.json").write_text((folder / "run.json").read_text())
    (top / "saves" / name).write_bytes(from_text((folder / "checkpoint.json").read_text()))
    then = (folder / "log.jsonl").read_text()
    log.write_text(then)
    done = tutti(program, top, plugins, kind, "--resume", f"saves/{name}", "--accept-different-bits")
    if done.returncode:
        return f"status {done.returncode}: {done.stderr}"
    if "not the log" in done.stderr:
        return done.stderr
    now, want = losses(log.read_text()), losses(then)
    if sorted(now) != sorted(want):
        return f"the log has the batches {sorted(now)}, not {sorted(want)}"
    far = [k for k in want if abs(now[k] - want[k]) > NEAR * abs(want[k])]
    return f"losses of the batches {far} are {[now[k] for k in far]}, were {[want[k] for k in far]}" if far else ""


def keep(program, case, kept):
    """Writes the fixtures of a whole run, and what the program tells of it."""
    end = make(program, case, kept)
    wanted = {name: None if name in SAME else end for name in ROWS[case] if name in {"resume", *SAME}}
    for name in ROWS[case]:
        if name not in wanted:
            with tempfile.TemporaryDirectory() as top:
                wanted[name] = tell(Kept(program, case, kept, pathlib.Path(top)), name)
    rows = (f" {json.dumps(name)}: {json.dumps(value)}" for name, value in wanted.items())
    (kept / "wanted.json").write_text("{\n" + ",\n".join(rows) + "\n}\n")


def count(tally, what, wrong):
    """A row that was tried."""
    tally.add("rows")
    if wrong:
        tally.fail(f"{what}: {wrong}")
    else:
        print(f"{what}: read")


def options():
    """What the command line says."""
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    words.add_argument("tutti")
    words.add_argument("fixtures", help="the folder of the plugins of old manifests")
    words.add_argument("--renew", action="store_true", help="adds the sets of today, where they are not there")
    words.add_argument("--near", action="store_true", help="bits may differ: the program was built with sanitizers")
    words.add_argument("--tally", help="a line of JSON is added there")
    return words.parse_args()


def main():
    given = options()
    program, plugins = str(pathlib.Path(given.tutti).resolve()), pathlib.Path(given.fixtures).resolve()
    tally = Tally("compat", given)
    if given.renew:
        for kind in KINDS:
            if not (HERE / TODAY / kind).exists():
                with tempfile.TemporaryDirectory() as top:
                    renew(program, plugins / TODAY, kind, HERE / TODAY / kind, pathlib.Path(top))
        for case in RUNS:
            kept = HERE / datetime.date.today().strftime("%Y-%m") / case
            if not kept.exists():
                keep(program, case, kept)
    for folder in sorted(p for p in HERE.glob("*/*") if (p / "checkpoint.json").exists()):
        with tempfile.TemporaryDirectory() as top:
            wrong = check(program, plugins / folder.parent.name, folder, pathlib.Path(top))
        count(tally, folder.relative_to(HERE), wrong)
    anywhere = computes_anywhere(program)
    for kept in sorted(path.parent for path in HERE.glob("*/*/wanted.json")):
        if kept.name in EXACT and not anywhere:
            tally.skip(f"{kept.relative_to(HERE)}: this CPU has no AVX2 and FMA")
            continue
        for name in json.loads((kept / "wanted.json").read_text()):
            with tempfile.TemporaryDirectory() as top:
                wrong = check_row(Kept(program, kept.name, kept, pathlib.Path(top), kept.name in EXACT and not given.near), name)
            count(tally, f"{kept.relative_to(HERE)} {name}", wrong)
    if "rows" not in tally.values:
        tally.fail(f"{HERE} has no folder of a format")
    return tally.finish()


if __name__ == "__main__":
    sys.exit(main())
