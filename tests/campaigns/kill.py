"""kill.py TUTTI [--kills N] [--hours H] [--seed S] - runs that are killed and resumed end as one that was not.

Each case is run once from start to end. Then it is run with --resume auto and stopped at random moments (SIGKILL
mostly, SIGTERM, SIGSTOP for a while; at an event in place of a moment; the cache of kernel choices kept or lost; with
--faults often on a disk that is so slow that the moment falls into a save) until it has ended. Compared are the bits of the last checkpoint, every
batch's row of the log, and the files of both folders (kill_compare.py). The cases of kill_cases.py take turns, in an order
that the seed says and that is another in each round, until there were N kills of a run that had begun. A trial is a
function of the seed, its case and its number. A tally is one line of JSON.
"""
# SPDX-License-Identifier: Apache-2.0
import collections
import itertools
import json
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from campaign import Failed, Tally, environment, parser
from kill_cases import BATCHES, CASES, GROWN, TOKENIZED, has_tokenizers, missing, run_of, write_data
from kill_compare import compare
from kill_events import CODES, stop_at_event


def command(tutti, run, *words):
    return [tutti, "run" if "process" in run else "train", "run.json", *words]


def fill(folder, run):
    """What a run begins with."""
    folder.mkdir()
    (folder / "run.json").write_text(json.dumps(run), encoding="utf-8")


def measured(cache, **more):
    """The environment of runs that measure kernels."""
    return {k: v for k, v in environment(cache, **more).items() if k != "TUTTI_TUNE"}


def whole_run(tutti, folder, run, cache):
    """Runs from start to end; the seconds that it took."""
    fill(folder, run)
    begun = time.monotonic()
    done = subprocess.run(command(tutti, run), cwd=folder, env=measured(cache),
                          capture_output=True, text=True, check=False)
    if done.returncode:
        raise Failed(f"the whole run failed: {done.stderr.strip()[-300:]}")
    return time.monotonic() - begun


def written(log):
    """When the log was last written; a process has begun once that is another time."""
    return log.stat().st_mtime_ns if log.exists() else 0


def stop(process, how, rng, span):
    """Sends the signal; SIGSTOP is a pause, before a kill or with more of the run behind it.  Four in ten SIGTERMs are
    followed by a second one, which does not wait for the batch."""
    if how == signal.SIGSTOP:
        process.send_signal(signal.SIGSTOP)
        time.sleep(rng.uniform(0, 0.2))
        if rng.random() < 0.5:
            process.send_signal(signal.SIGCONT)
            try:
                process.wait(timeout=rng.uniform(0, span))
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGKILL)
        else:
            process.send_signal(signal.SIGKILL)
            process.send_signal(signal.SIGCONT)
    else:
        process.send_signal(how)
        if how == signal.SIGTERM and rng.random() < 0.4:
            time.sleep(rng.uniform(0, 0.02))
            process.send_signal(how)


def check_taken_up(log, since, batch):
    """A process that began since then has gone on from the newest checkpoint."""
    for line in log.read_text(encoding="utf-8", errors="replace").splitlines() if log.exists() else []:
        found = re.search(r'^{"time":([0-9.]+),.*"text":"(resumed from .* at batch (\d+)|no checkpoint yet)', line)
        if found and float(found[1]) > since and int(found[3] or -1) != batch:
            raise Failed(f"the newest checkpoint is of batch {batch}, and it said: {found[2]}")


def slow_disk(slow, folder, rng):
    """The environment of a disk on which saves take their time, in four of ten attempts, and whether it is that."""
    if not slow or rng.random() > 0.4:
        return {}, False
    return {"LD_PRELOAD": slow, "TUTTI_SLOW": "30000", "TUTTI_SLOW_NAME": str(folder / "saves")}, True


def newest(saves):
    """The batch of the newest checkpoint; -1 without one."""
    return max((int(re.search(r"-ba(\d+)\.", p.name)[1]) for p in saves.glob("*-ba*.safetensors")), default=-1)


def attempt_at_moment(words, folder, environ, seconds, rng, span):
    """Runs, for so many seconds; the signal that stopped it and its status."""
    with open(folder / "err.txt", "w", encoding="utf-8") as err:
        process = subprocess.Popen(words, cwd=folder, stdout=subprocess.DEVNULL, stderr=err, env=environ)
        how = rng.choice([signal.SIGKILL] * 4 + [signal.SIGTERM, signal.SIGSTOP])
        try:
            process.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            stop(process, how, rng, span)
            process.wait()
    return how, process.returncode


def attempt_at_event(words, folder, environ):
    """Runs until a handler of its own, the last of its words, stops it, or it ends; the signal and its status."""
    try:
        with open(folder / "err.txt", "w", encoding="utf-8") as err:
            code = subprocess.run(words, cwd=folder, stdout=subprocess.DEVNULL, stderr=err, env=environ,
                                  timeout=600, check=False).returncode
    except subprocess.TimeoutExpired:
        raise Failed(f"it hangs at an event, with {words[-1]}") from None
    return signal.SIGKILL if code == -signal.SIGKILL else signal.SIGINT, code


def has_evaluated(log, run):
    """Whether it has chosen the kernels of its evaluations, which a checkpoint has from the first one on."""
    text = log.read_text(encoding="utf-8") if log.exists() else ""
    return all(f'"metrics/{one["label"]}/' in text for one in run.get("eval", []) if one.get("metrics"))


def killed_run(tutti, folder, run, kept, grown, span, rng, counts, slow, events=0.3):
    """Runs until it ends by itself; at most 12 kills, so that each run ends.  False: that was an attempt with a handler of
    its own, which other runs do not have."""
    fill(folder, run)
    log = folder / "runs" / run["name"] / "log.jsonl"
    for attempt in range(40):
        # Without a checkpoint it begins anew, and a new run may measure other kernels.
        lost = rng.random() < 0.3 and newest(folder / "saves") >= grown * BATCHES and has_evaluated(log, run)
        cache = folder.parent / f"lost{attempt}" if lost else kept
        disk, is_slow = slow_disk(slow, folder, rng) if attempt < 12 else ({}, False)
        before, since, last = written(log), time.time(), newest(folder / "saves")
        words, environ = command(tutti, run, "--resume", "auto"), measured(cache, **disk)
        at_event = attempt < 12 and rng.random() < events
        if at_event:
            how, code = attempt_at_event(words + stop_at_event(tutti, run, rng), folder, environ)
        else:
            seconds = rng.uniform(0.02, 1.2 * span * (3 if is_slow else 1)) if attempt < 12 else 600
            how, code = attempt_at_moment(words, folder, environ, seconds, rng, span)
        check_taken_up(log, since, last)
        if code == 0:
            counts["caches_lost"] += lost
            return not at_event
        if code not in (-signal.SIGKILL, -signal.SIGTERM, 128 + signal.SIGTERM, *(CODES if at_event else ())):
            raise Failed(f"it ended with {code}: {(folder / 'err.txt').read_text().strip()[-300:]}")
        if written(log) != before:
            counts["kills"] += 1
            counts[signal.Signals(how).name] += 1
            counts["at_events"] += at_event
            counts["slow_disk"] += is_slow
            counts["inside_saves"] += any((folder / "saves").glob("*.tmp-*"))
        counts["caches_lost"] += lost
    raise Failed("it did not end")


def trial(tutti, name, folder, rng, tally, slow):
    """A case run whole, and killed until it ends; in a folder of its own.  Kills that are not compared count for nothing:
    a trial that fails before that is a run and a failure of the tally."""
    run = run_of(name, rng.randrange(1000))
    folder.mkdir()
    write_data(folder, run)
    cache = folder.parent / f"cache_{name}"
    counts = collections.Counter()
    try:
        if not cache.exists():  # kernels are measured once a case, in a run whose time says little of the next one's
            whole_run(tutti, folder / "first", run, cache)
        span = whole_run(tutti, folder / "whole", run, cache)
        given = tutti, folder / "killed", run, cache, GROWN.get(name, 0), span, rng, counts, slow
        if not killed_run(*given):
            shutil.rmtree(folder / "killed")
            counts.clear()
            killed_run(*given, events=0)
        for what, count in counts.items():
            tally.add(what, count)
        compare(folder / "whole", folder / "killed", run)
    finally:
        shutil.rmtree(folder)


def rounds(names, seed):
    """(case, its number, from 0) without end: each case once in a round, in an order of the seed's."""
    rng = random.Random(seed)
    for number in itertools.count():
        for name in rng.sample(names, len(names)):
            yield name, number


def campaign(tutti, names, top, given, tally):
    """Trials until there were as many kills and failures, or hours, as asked for; prints what became of each case."""
    slow = given.faults and os.path.join(os.path.abspath(given.faults), "slow_faults.so")
    cases = {}
    for name, number in rounds(names, given.seed):
        if tally.is_over() or not given.hours and tally.values.get("kills", 0) + tally.values["failures"] >= given.kills:
            break
        begun, kills, why = time.monotonic(), tally.values.get("kills", 0), None
        try:
            trial(tutti, name, top / f"{name}{number}", random.Random(f"{given.seed} {name} {number}"), tally, slow)
        except Failed as failed:
            why = failed
            tally.fail(f"{name}, trial {number}, --seed {given.seed} --case {name}: {why}")
        tally.add("runs")
        row = cases.setdefault(name, [0, 0, 0, 0])
        more = 1, tally.values.get("kills", 0) - kills, bool(why), time.monotonic() - begun
        cases[name] = [a + b for a, b in zip(row, more)]
    for name, (runs, kills, failures, seconds) in sorted(cases.items()):
        print(f"{name}: {runs} runs, {kills} kills, {failures} failures, {seconds:.0f} s")


def check(tutti, names, top, tally):
    """No algorithm and no data set was forgotten, and each case is a run that `tutti validate` takes."""
    for sentence in missing(tutti, top, names):
        tally.fail(sentence)
    for name in names:
        run = run_of(name, 0)
        (top / name).mkdir()
        write_data(top / name, run)
        fill(top / name / "run", run)
        done = subprocess.run([tutti, "validate", "run.json"], cwd=top / name / "run", env=environment(top / "cache"),
                              capture_output=True, text=True, check=False)
        if done.returncode:
            tally.fail(f"{name} is no run: {(done.stderr + done.stdout).strip()[-300:]}")
        tally.add("cases")


def main():
    words = parser(__doc__)
    words.add_argument("--kills", type=int, default=1000)
    words.add_argument("--case", choices=CASES, action="append")
    words.add_argument("--check", action="store_true", help="kills nothing: looks whether a case was forgotten or is wrong")
    words.add_argument("--faults", help="the folder of the library that slows saves")
    given = words.parse_args()
    tutti = os.path.abspath(given.tutti)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # in the background it is ignored, which runs would take over
    tally = Tally("kill", given)
    names = given.case or list(CASES)
    with tempfile.TemporaryDirectory(prefix="tutti_kill_") as folder:
        top = pathlib.Path(folder)
        if given.check:
            check(tutti, names, top, tally)
        else:
            if set(TOKENIZED) & set(names) and not has_tokenizers(tutti, top):
                tally.skip(f"the cases {', '.join(TOKENIZED)}: this build reads no tokenizer.json (Debian's packages "
                           "libpcre2-dev and libutf8proc-dev)")
                names = [name for name in names if name not in TOKENIZED]
            if names:
                campaign(tutti, names, top, given, tally)
    return tally.finish()


sys.exit(main())
