"""soak.py TUTTI FOLDER [--samples N] [--evil] [--hours H] - long runs take no more as time goes by.

Runs have every callback and every logger but those that soak_cases.py gives a reason for, an evaluation and rotating
checkpoints. They train until they have been looked at often enough, or until the hours are over, then SIGTERM ends them.
At each look, some batches after the one before (soak_looks.py): memory that is resident and that is mapped, files that
are open by their names, threads, the space of all files but logs. The last quarter has grown when both its least and its
most are above those of the second one: some come and go with evaluations. Runs of an hour and more may not compute for
over 2 % longer a batch either: CPU time of the quarters' fastest parts is compared, because the clock on the wall also has
what else the machine does; the tally tells both. Every batch is in the log once, and the run can be taken up.

--evil has plugins of FOLDER leak memory, files and threads in every batch: all of them must be found.
--check trains nothing: it fails for a callback or a logger of `tutti plugins list` that is in no case.
"""
# SPDX-License-Identifier: Apache-2.0
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

from campaign import Failed, Tally, environment, losses, parser
from destinations import loggers, serve
from soak_cases import ADDRESS, CASES, CYCLE, LOGGERS, WEIGHTS
from soak_looks import Log, drift, growth, watch
import soak_cases

EVIL = {"heap": "mapped", "files": "files", "threads": "threads"}  # how it is called, what grows


def command(tutti, folder, run, *words):
    """The run of that file, to its end."""
    (folder / "run.json").write_text(json.dumps(run))
    return subprocess.run([tutti, "train", "run.json", *words], cwd=folder, env=environment(folder / "cache"),
                          capture_output=True, text=True, errors="replace", check=False)


def weights(tally, tutti, folder, run, server):
    """Where a run finds weights of its model: the address of the server; a file where this build fetches nothing."""
    address = ADDRESS.format(port=server.server_port)
    first = {key: run[key] for key in ("seed", "threads", "device", "model", "train", "optimizer")} | {
        "name": "first", "max_duration": "1ba",
        "callbacks": [{"name": "checkpoint_saver", "folder": "first", "filename": WEIGHTS, "weights_only": True}]}
    done = command(tutti, folder, first)
    if done.returncode:
        raise Failed(f"the run that makes weights failed: {done.stderr[-600:]}")
    server.files["/" + WEIGHTS] = (folder / "first" / WEIGHTS).read_bytes()
    done = command(tutti, folder, first | {"name": "second", "callbacks": [], "load_weights": address})
    if "this build is without libcurl" in done.stderr:
        tally.skip("weights are not fetched: this build is without libcurl 7.88 (Debian's package libcurl4-openssl-dev)")
        return str(folder / "first" / WEIGHTS)
    if done.returncode:
        raise Failed(f"weights cannot be fetched: {done.stderr[-600:]}")
    return address


def the_run(tally, tutti, folder, given, name, there, server):
    """The run of a case; its folder has the files that it reads."""
    (folder / "text.txt").write_text("a text of which no more is asked than that it is long enough. " * 50)
    run = {"name": "soak", "seed": given.seed % 1000, "threads": 1, "device": "cpu", "loggers": there + LOGGERS,
           "optimizer": {"name": "adamw", "lr": 0.001}, "max_duration": "1000000000ba"} | CASES[name]
    if given.evil:
        run["callbacks"] = run["callbacks"] + [{"name": "evil", "how": how, "id": how} for how in EVIL]
    text = json.dumps(run).replace("{folder}", str(folder))
    return json.loads(text.replace(ADDRESS, weights(tally, tutti, folder, run, server)) if ADDRESS in text else text)


def take_up(tutti, folder, run, options, batches):
    """It goes on for one more batch."""
    done = command(tutti, folder, run, *options, "--resume", "auto", "--set", f"max_duration={batches + 1}ba")
    if done.returncode:
        raise Failed(f"it cannot be taken up: {done.stderr[-600:]}")


def percent(share):
    return None if share is None else round(100 * share, 2)


def last_words(path):
    """The end of what a run has said, which is gigabytes after hours of the logger console."""
    with open(path, "rb") as f:
        f.seek(max(0, path.stat().st_size - 600))
        return f.read().decode(errors="replace")


def soak(tutti, folder, run, options, enough, slow):
    """Trains, looks, ends it and takes it up; what grew, and figures for the tally."""
    (folder / "run.json").write_text(json.dumps(run))
    log = Log(folder / "runs" / run["name"] / "log.jsonl")
    with open(folder / "out.txt", "w", encoding="utf-8") as out:
        process = subprocess.Popen([tutti, "train", "run.json", *options], cwd=folder, stdout=out, stderr=out,
                                   env=environment(folder / "cache"))
        try:
            looks = watch(process, folder, log, enough)
            process.terminate()
            process.wait(timeout=300)
        finally:
            process.kill()
            process.wait()
    if process.returncode != 128 + signal.SIGTERM:
        raise Failed(f"it ended with {process.returncode} after {len(looks)} looks: {last_words(folder / 'out.txt')}")
    grown = growth(looks, slow)
    batches = [batch for batch, _ in losses(folder, run["name"])]
    if batches != list(range(len(batches))):
        raise Failed("the log lacks batches or has some twice")
    take_up(tutti, folder, run, options, len(batches))
    return grown, {"batches": len(batches), "looks": len(looks), "resident_mib": round(looks[-1].resident / 2**20, 1),
                   "drift_percent": percent(drift(looks, "seconds")), "cpu_drift_percent": percent(drift(looks, "cpu"))}


def judge(tally, name, grown, evil):
    """What grew is a failure, and with evil plugins that something did not."""
    if not evil:
        for text in grown:
            tally.fail(f"{name}: {text}")
        return
    for leaked in EVIL.values():
        if not any(text.startswith(leaked) for text in grown):
            tally.fail(f"{name}: a plugin leaks {leaked} in every batch, which was not found; found: {grown}")


def check(tally, tutti, names, there):
    """No callback and no logger was forgotten."""
    tally.add("cases", len(names))
    with tempfile.TemporaryDirectory(prefix="tutti_soak_") as folder:
        for sentence in soak_cases.missing(tutti, pathlib.Path(folder), names, [one["name"] for one in there]):
            tally.fail(sentence)


def looked_enough(given, until):
    """Whether a run that has been looked at so need not go on. Caches and queues of one on a busy machine may have their size
    late: where few looks tell of growth, it is looked at four times as often before it is judged."""
    if given.hours:
        return lambda looks: len(looks) >= 16 and time.monotonic() > until
    return lambda looks: len(looks) >= given.samples and (given.evil or len(looks) >= 4 * given.samples or not growth(looks, False))


def main():
    words = parser(__doc__)
    words.add_argument("folder", help="of the evil plugin")
    words.add_argument("--samples", type=int, default=200, help="looks at each run, without --hours")
    words.add_argument("--case", choices=CASES, action="append")
    words.add_argument("--evil", action="store_true")
    words.add_argument("--check", action="store_true", help="trains nothing: looks whether a plugin was forgotten")
    given = words.parse_args()
    tutti = os.path.abspath(given.tutti)
    server = serve()
    there, missing = loggers(tutti, server.server_port, CYCLE)
    tally = Tally("soak", given)
    if missing:
        tally.skip(f"this build lacks the loggers {', '.join(missing)} (Debian's package libcurl4-openssl-dev)")
    names = given.case or list(CASES)
    options = ["--plugin-path", os.path.abspath(given.folder)] if given.evil else []
    if given.check:
        check(tally, tutti, names, there)
    for k, name in enumerate([] if given.check else names):
        until = tally.begun + 3600 * (given.hours or 0) * (k + 1) / len(names)
        with tempfile.TemporaryDirectory(prefix="tutti_soak_") as folder:
            folder = pathlib.Path(folder)
            try:
                run = the_run(tally, tutti, folder, given, name, there, server)
                grown, figures = soak(tutti, folder, run, options, looked_enough(given, until), (given.hours or 0) >= 1)
                judge(tally, name, grown, given.evil)
                tally.values[name] = figures
            except Failed as why:
                tally.fail(f"{name}: {why}")
    server.shutdown()
    return tally.finish()


sys.exit(main())
