"""plugins_test.py TUTTI FOLDER [NAME]... [--tally FILE] - plugins that do evil: runs end as promised and name whose it was."""
# SPDX-License-Identifier: Apache-2.0
import argparse
import concurrent.futures
import glob
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from campaign import Tally  # noqa: E402
from comma_test import make_locale  # noqa: E402


def options():
    """What the command line says."""
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    words.add_argument("tutti")
    words.add_argument("folder", help="of the evil plugins")
    words.add_argument("name", nargs="*", help="of a row; all otherwise")
    words.add_argument("--tally", help="a line of JSON is added there")
    return words.parse_intermixed_args()


GIVEN = options()
TUTTI, FOLDER = os.path.abspath(GIVEN.tutti), os.path.abspath(GIVEN.folder)
DEATHS = {"SIGSEGV": -11, "SIGABRT": -6, "SIGFPE": -8, "SIGILL": -4}
AT = r"evil, call run_event, event batch_end, step \d+"


def crash(how, number, call=AT, where="callback", text=None):
    """A row of a signal that is told with the plugin."""
    text = text or f"plugin org.evil.evil crashed: {call}: {number}"
    return (f"{how}_{where}", where, how, DEATHS[number], [text], {})


def change(how, text, where="callback", call=AT):
    """A row of a change of the process: found and put back with --check-plugins.  The data set's worker, which
    reads beside the call, may find it first."""
    return (f"{how}_{where}_checked" if where != "callback" else f"{how}_checked", where, how, 1,
            [f"plugin org.evil.evil {text}(, or a call beside this one did)?: {call}",
             r"plugins changed the process \d+ times"],
            {"options": ["--check-plugins"], "stdout": "trained 8 batches"})


READ = "evil, call read, step 0"
OWN = "plugin org.evil.evil crashed in a thread of its own: "
# name, where, how, status, what stderr says, more
ROWS = [
    crash("segv", "SIGSEGV"),
    crash("divide", "SIGFPE"),
    crash("trap", "SIGILL"),
    crash("abort", "SIGABRT"),
    crash("free_twice", "SIGABRT"),
    crash("overflow", "SIGSEGV"),
    crash("open_segv", "SIGSEGV", "evil, call open, step 0"),
    crash("close_segv", "SIGSEGV", r"evil, call close, step \d+"),
    crash("segv", "SIGSEGV", READ, "dataset"),
    crash("divide", "SIGFPE", READ, "dataset"),
    crash("overflow", "SIGSEGV", READ, "dataset"),
    crash("segv", "SIGSEGV", r"evil, call metrics, (event \w+, )?step \d+", "logger"),
    crash("segv", "SIGSEGV", r"evil, call update, step 1", "optimizer"),
    crash("abort", "SIGABRT", r"evil, call update, step 1", "optimizer"),
    ("team_optimizer", "optimizer", "team", -11,
     [r"plugin org.evil.evil crashed: evil, call update, step 1: SIGSEGV"], {"threads": 2, "hidden": 4096}),
    crash("segv", "SIGSEGV", r"evil, call term, step \d+", "algorithm"),
    crash("segv", "SIGSEGV", r"evil, call build, step 0", "model"),
    crash("layer", "SIGSEGV", r"evil, call trace, step \d+", "model"),
    ("saver", "callback", "saver", -11, ["plugin org.evil.evil crashed: evil, call save, .*step"],
     {"first": True}),
    ("saver_lists", "callback", "saver_lists", -11, ["plugin org.evil.evil crashed: evil, call older, .*step 0"],
     {"options": ["--resume", "auto"], "first": True}),
    ("exit_optimizer", "optimizer", "exit_0", 1, ["org.evil.evil ended the process: evil, call update"], {}),
    crash("garbage_table", "SIGSEGV", r"evil, call query, (event \w+, )?step \d+"),
    crash("thread_segv", "SIGSEGV", text=f"plugin org.evil.evil crashed.*: SIGSEGV"),
    crash("thread_segv", "SIGSEGV", where="logger", text=OWN + "SIGSEGV"),
    crash("thread_abort", "SIGABRT", text=OWN + "SIGABRT"),
    ("exit_0", "callback", "exit_0", 1, [f"plugin org.evil.evil ended the process: {AT}"], {}),
    ("exit_3", "callback", "exit_3", 3, [f"plugin org.evil.evil ended the process: {AT}"], {}),
    ("exit_open", "callback", "open_exit_0", 1, ["org.evil.evil ended the process: evil, call open"], {}),
    ("exit_close", "callback", "close_exit_0", 1, ["org.evil.evil ended the process: evil, call close"], {}),
    ("exit_worker", "dataset", "exit_0", 1, [f"org.evil.evil ended the process: {READ}"], {}),
    ("exit_thread", "callback", "thread_exit", 1,
     ["org.evil.evil ended the process, in a thread of its own"], {}),
    ("thread_end", "callback", "end_thread", 1, [f"org.evil.evil ended a thread of the host: {AT}"], {}),
    ("worker_end", "dataset", "end_thread", 1, [f"org.evil.evil ended a thread of the host: {READ}"], {}),
    ("raises_sigterm", "callback", "interrupt", 143, ["stopped by signal 15 after batch 1, which is saved"], {}),
    ("forks", "callback", "fork", 0, ["forked.*org.evil.evil"], {"stdout": "trained 8 batches"}),
    ("cut_file", "dataset", "cut", 1, [r"sample \d+: \S*/cut.bin cannot be read: it became shorter"], {}),
    ("dawdles", "callback", "dawdle", 0, [f"org.evil.evil has not returned for 0 s: {AT}|"
                                         f"org.evil.evil has not returned for 1 s: {AT}"],
     {"watchdog": 0.4, "batches": 2}),
    ("loops", "callback", "loop", 143,
     [f"signal 15: stopping after this batch.*; plugin org.evil.evil is at work: {AT}",
      "signal 15: leaving the call under way",
      "stopped by signal 15 after batch 1, which is saved; the call under way was left"], {"signals": 2}),
    ("hangs", "callback", "hang", 143,
     [f"org.evil.evil has not returned for \\d+ s: {AT}", "after batch 1, which is saved; the call under way was left"],
     {"signals": 2, "watchdog": 0.3}),
    ("worker_hangs", "dataset", "hang", 143,
     [f"org.evil.evil has not returned for \\d+ s: {READ}", "stopped by signal 15 after batch \\d+, which is saved"],
     {"signals": 2, "watchdog": 0.3}),
    ("optimizer_dawdles", "optimizer", "dawdle", 0, [r"has not returned for \d+ s: evil, call update"],
     {"watchdog": 0.4, "batches": 3}),
    # An update that is left in the middle would be saved: only a third signal ends it.
    ("optimizer_hangs", "optimizer", "hang", -15,
     ["is at work: evil, call update", "stopping as soon as possible; a third signal kills"], {"signals": 3}),
    ("third_signal", "callback", "open_hang", -15, ["is at work: evil, call open"], {"signals": 3}),
    change("rounding", "changed the rounding of floating point numbers"),
    change("traps", "switched floating point traps on"),
    change("subnormal", "changed what becomes of subnormal numbers"),
    change("locale", "changed the locale"),
    change("folder", "changed the working directory"),
    change("signals", "changed what signals do"),
    change("mask", "changed the mask of signals"),
    change("clock", "wrote to the clock of the run"),
    change("rounding", "changed the rounding of floating point numbers", "dataset", READ),
    change("subnormal", "changed what becomes of subnormal numbers", "dataset", READ),
    change("mask", "changed the mask of signals", "dataset", READ),
    ("every_files_dataset_checked", "dataset", "every_files", 1, [r"opens files that it does not close.*: evil, call read"],
     {"batches": 24, "options": ["--check-plugins"]}),
    change("rounding", "changed the rounding of floating point numbers", "handler", r"evil.act, call act, event batch_end, step \d+"),
    ("files_handler_checked", "handler", "files", 1, ["opens files that it does not close"],
     {"options": ["--check-plugins"], "batches": 32}),
    ("talk", "callback", "talk", 0, [], {"batches": 60, "hidden": 256, "logged": ("a word of a thread", 59 * 200)}),
    ("threads_handler_checked", "handler", "threads", 1, ["starts threads that do not end"],
     {"options": ["--check-plugins"], "batches": 32}),
    ("heap_handler_checked", "handler", "heap", 1, ["takes memory with each call that it does not give back"],
     {"options": ["--check-plugins"], "batches": 32}),
    ("streams_checked", "callback", "streams", 1, ["closed standard input, output or error"],
     {"options": ["--check-plugins"]}),
    ("files_checked", "callback", "files", 1, ["opens files that it does not close"],
     {"options": ["--check-plugins"], "batches": 32}),
    ("threads_checked", "callback", "threads", 1, ["starts threads that do not end"],
     {"options": ["--check-plugins"], "batches": 32}),
    ("heap_checked", "callback", "heap", 1, ["takes memory with each call that it does not give back"],
     {"options": ["--check-plugins"], "batches": 32}),
    ("good_checked", "callback", "", 0, [], {"options": ["--check-plugins"], "stdout": "trained 8 batches"}),
    ("comma", "callback", "comma", 0, [], {"stdout": "trained 8 batches", "locale": True}),
    ("comma_here", "callback", "comma_here", 0, [], {"stdout": "trained 8 batches", "locale": True}),
    ("comma_checked", "callback", "comma", 1, [f"plugin org.evil.evil changed the locale.*: {AT}"],
     {"options": ["--check-plugins"], "stdout": "trained 8 batches", "locale": True}),
    ("comma_here_checked", "callback", "comma_here", 1, [f"plugin org.evil.evil changed the locale: {AT}"],
     {"options": ["--check-plugins"], "stdout": "trained 8 batches", "locale": True}),
    ("no_end_of_text", "callback", "no_end_of_text", 1, ["evil on batch_end: x{100}"], {}),
    ("percent", "callback", "percent", 1, ["evil on batch_end: %s%n%s%n"], {}),
    ("no_text", "callback", "no_text", 1, ["evil on batch_end: run_event returned E_FAIL without saying why"], {}),
    ("positive", "callback", "positive", 1, ["evil on batch_end"], {}),
    ("garbage_entry", "callback", "", -11, ["plugin org.evil.evil crashed: .*, call load"],
     {"plugin": "evil_entry"}),
    ("no_entry", "callback", "", 2, ["its entry has nothing for host ABI"], {"plugin": "evil_nothing"}),
    ("load_segv", "callback", "", -11, ["org.evil.evil crashed: .*, call load"], {"plugin": "evil_load_segv"}),
    ("load_exit", "callback", "", 1, ["org.evil.evil ended the process: .*, call load"],
     {"plugin": "evil_load_exit"}),
]


def run_file(where, how, more):
    """A run of 16 features that lasts a moment."""
    evil = {"name": "evil", "how": how}
    savers = [{"name": "checkpoint_saver"}]
    return {
        "name": "evil", "threads": more.get("threads", 1), "watchdog_s": more.get("watchdog", 0),
        "model": evil if where == "model" else {"name": "mlp", "hidden": [more.get("hidden", 4)]},
        "train": {"dataset": evil if where == "dataset" else {"name": "evil"}, "batch_size": 16},
        "optimizer": evil if where == "optimizer" else {"name": "sgd", "lr": 0.01},
        "algorithms": [evil] if where == "algorithm" else [],
        "callbacks": ([] if more.get("first") else savers) + ([evil] if where == "callback" else []),
        "handlers": [{"on": "batch_end", "call": "evil.act", "args": [how]}] if where == "handler" else [],
        "loggers": [{"name": "jsonl"}] + ([evil] if where == "logger" else []),
        "max_duration": f"{more.get('batches', 8)}ba",
    }


def bad_lines(folder):
    """Lines of the logs that are not JSON."""
    bad = []
    for path in glob.glob(os.path.join(folder, "runs/**/*.jsonl"), recursive=True):
        with open(path, encoding="utf-8") as f:
            for line in f:
                try:
                    json.loads(line)
                except ValueError:
                    bad.append(line)
    return bad


def read(path):
    """The text of a file."""
    with open(path, encoding="utf-8", errors="replace") as f:
        return f.read()


def wait_for(what):
    """Until what() holds, a minute at most."""
    until = time.monotonic() + 60
    while not what() and time.monotonic() < until:
        time.sleep(0.02)


def send_signals(process, more, folder, said):
    """SIGTERM once the run hangs, and the watchdog has seen it if there is one; each further one after the answer."""
    for k in range(more.get("signals", 0)):
        if k == 0:
            wait_for(lambda: os.path.exists(os.path.join(folder, "hung")))
            wait_for(lambda: "watchdog" not in more or "has not returned" in said())
        wait_for(lambda answers=k: said().count("signal 15") >= answers)
        process.send_signal(signal.SIGTERM)


def not_saved(folder, plugins, err):
    """What is wrong with the checkpoint of the batch that stderr says is saved; nothing where it says none."""
    batch = re.search(r"after batch (\d+), which is saved", err)
    if not batch:
        return []
    latest = os.path.join(folder, "runs/evil/checkpoints/latest.safetensors")
    name = os.path.basename(os.path.realpath(latest))
    if f"-ba{batch[1]}." not in name:
        return [f"batch {batch[1]} is saved, they say, and latest is {name}"]
    done = subprocess.run([TUTTI, "export", latest, "--onnx", "saved.onnx", "--plugin-path", plugins], cwd=folder,
                          capture_output=True, text=True, errors="replace", timeout=120, check=False)
    return [f"what is saved does not load: {done.stderr}"] if done.returncode else []


def judge(row):
    """What is wrong with one run, as text; nothing when it ended as promised."""
    name, where, how, status, texts, more = row
    with tempfile.TemporaryDirectory() as folder:
        if more.get("locale") and not make_locale(folder):
            return "skipped"
        with open(os.path.join(folder, "run.json"), "w", encoding="utf-8") as f:
            json.dump(run_file(where, how, more), f)
        path = os.path.join(FOLDER, more.get("plugin", "evil"))
        command = [TUTTI, "train", "run.json", "--plugin-path", path] + more.get("options", [])
        with open(os.path.join(folder, "stderr"), "w+", encoding="utf-8", errors="replace") as stderr, \
                subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=stderr,
                                 env={**os.environ, "LOCPATH": folder}, text=True, errors="replace") as process:
            send_signals(process, more, folder, lambda: read(stderr.name))
            try:
                out, _ = process.communicate(timeout=120)
            except subprocess.TimeoutExpired:
                process.kill()
                process.communicate()
                return f"{name}: did not end; stderr:\n{read(stderr.name)}"
            err = read(stderr.name)
        lines = bad_lines(folder) if status == 0 else []
        words, least = more.get("logged", ("", 0))
        logged = least == 0 or read(os.path.join(folder, "runs/evil/log.jsonl")).count(words) >= least
        unsaved = not_saved(folder, path, err)
    wrong = unsaved + ([f"not JSON: {lines[0]}"] if lines else [])
    wrong += [] if process.returncode == status else [f"status {process.returncode}, want {status}"]
    wrong += [f"stderr lacks {text!r}" for text in texts if not re.search(text, err)]
    if more.get("stdout", "") not in out:
        wrong += [f"stdout lacks {more['stdout']!r}: {out}"]
    if logged < 1:
        wrong += [f"the log lacks {more['logged']}"]
    if "outside of any plugin" in err:
        wrong += ["nobody was named"]
    return f"{name}: {'; '.join(wrong)}\n{err}" if wrong else ""


def main():
    """All rows, or those that are named."""
    if os.environ.get("SANITIZE"):
        print(f"skipped: -fsanitize={os.environ['SANITIZE']} ends the program before the host can say who did it")
        return 77
    rows = [row for row in ROWS if not GIVEN.name or row[0] in GIVEN.name]
    if not rows:
        sys.exit(f"plugins: no row is called {' or '.join(GIVEN.name)}, want such as {ROWS[0][0]}")
    tally = Tally("plugins", GIVEN)
    tally.add("rows", len(rows))
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        texts = list(pool.map(judge, rows))
    skipped = [row[0] for row, text in zip(rows, texts) if text == "skipped"]
    for text in texts:
        if text and text != "skipped":
            tally.fail(text)
    for name in skipped:
        tally.skip(f"{name}: localedef makes no de_DE here (Debian's package locales)")
    print(f"{sum(not text for text in texts)} of {len(rows)} evil plugins ended as promised")
    return tally.finish()


if __name__ == "__main__":
    sys.exit(main())
