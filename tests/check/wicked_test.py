"""wicked_test.py - each check catches what it is for, and a good plugin passes all of them:
wicked_test.py TUTTI FOLDER-OF-LIBRARIES FOLDER-OF-FIXTURES [NAME]..."""
# SPDX-License-Identifier: Apache-2.0
import concurrent.futures
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile

TUTTI, LIBRARIES, FIXTURES = sys.argv[1:4]
# Elsewhere than on x86-64 wicked.c changes the rounding instead.
SUBNORMAL = "changed what becomes of subnormal" if platform.machine() == "x86_64" else "changed the rounding"
# what it does, the library, the check that must fail, what is said
ROWS = [
    ("", "algorithm", None, ""),
    ("", "dataset", None, ""),
    ("", "scheduler", None, ""),
    ("", "optimizer", None, ""),
    ("", "entry", "entry", "another table each time"),
    ("query", "algorithm", "open", "another tutti.saver/1 each time"),
    ("settings", "algorithm", "settings", "fails with E_FAIL and says nothing"),
    ("services", "algorithm", "services", "does not open without tutti.log/1, which its manifest does not require"),
    ("memory", "algorithm", "memory", "crashed: wicked, call open.*SIGSEGV"),
    ("memory_kept", "algorithm", "memory", r"keeps \d+ bytes"),
    ("leak", "algorithm", "leaks", r"leaves \d+ bytes of memory behind"),
    ("leak_file", "algorithm", "leaks", "leaves a file open"),
    ("leak_thread", "algorithm", "leaks", "leaves a thread behind"),
    ("single", "algorithm", "instances", "cannot be opened: not now"),
    ("range", "dataset", "calls", "read gives a sample -?[0-9]+ of 64"),
    ("groups", "dataset", "calls", "group 2 of 4 begins at sample 15 of 64"),
    ("impure", "scheduler", "calls", "another answer the second time"),
    ("overrun", "optimizer", "calls", "update writes behind slot 0, which has 1 numbers"),
    ("shape", "optimizer", "calls", r"slot_shape gives slot 0 of a weight \(25, 40\) dimension 0 is -2, want at least 0"),
    ("race", "dataset", "threads", "other answers from 4 threads"),
    ("crash", "algorithm", "life", "crashed: wicked, call apply.*SIGSEGV"),
    ("exit", "algorithm", "life", "ended the process: wicked, call apply"),
    ("rounding", "algorithm", "process", "changed the rounding"),
    ("traps", "algorithm", "process", "switched floating point traps on"),
    ("subnormal", "algorithm", "process", SUBNORMAL),
    ("locale", "algorithm", "process", "calls setlocale, which is the host's alone"),
    ("thread_locale", "algorithm", "process", "changed the locale"),
    ("signals", "algorithm", "process", "calls signal, "),
    ("sigaction", "algorithm", "process", "calls sigaction, "),
    ("handler", "algorithm", "process", "changed what signals do"),
    ("mask", "algorithm", "process", "changed the mask of signals"),
    ("folder", "algorithm", "process", "calls chdir"),
    ("folder_file", "algorithm", "process", "changed the working directory"),
    ("streams", "algorithm", "process", "closed standard input, output or error"),
    ("environment", "algorithm", "process", "calls setenv"),
    ("unset", "algorithm", "process", "calls unsetenv"),
    ("put", "algorithm", "process", "calls putenv"),
    ("umask", "algorithm", "process", "calls umask"),
    ("fork", "algorithm", "process", "calls fork"),
    ("mallopt", "algorithm", "process", "calls mallopt"),
    ("files", "algorithm", "process", "opens files that it does not close"),
    ("files", "dataset", "process", "opens files that it does not close"),
    ("threads", "algorithm", "process", "starts threads that do not end"),
    ("heap", "algorithm", "process", "takes memory with each call that it does not give back"),
    ("clock", "algorithm", "process", "wrote to the clock of the run"),
    ("output", "algorithm", "process", "writes to standard output"),
    ("match_turns", "algorithm", "match", "answers 0, then 1|answers 1, then 0"),
    ("match_writes", "algorithm", "match", "changes the run or itself"),
    ("when", "algorithm", "match", "match on after_dataloader answers 1, where the manifest leaves it out: "
                                   "heard when how is never"),
    ("when_not", "algorithm", "match", "match on batch_end answers 1, where the manifest leaves it out: "
                                       "heard when size is above 2"),
    ("fire", "algorithm", "events", "fires an event of the engine's, which its manifest does not declare"),
    ("outputs", "algorithm", "life", "the outputs of this step are gone"),
    ("state", "algorithm", "state", "has other bits after a stop"),
]
ALLOCATED = ("memory_kept", "leak", "heap")  # found by what the C library says of its heap


def manifest(how, library):
    """The manifest of that library, with `how` as the default."""
    kind = "scheduler" if library == "entry" else library
    events = {"events": ["after_dataloader"]} if kind == "algorithm" else {}
    if how == "when":  # at no setting that anybody has
        events = {"events": [{"name": "after_dataloader", "when": {"how": "never"}}]}
    if how == "when_not":  # right with the default, wrong with others
        events["events"].append({"name": "batch_end", "when": {"size": {"above": 2}}})
    if how == "outputs":  # against its word
        events = {"events": ["batch_end"], "tags": ["ignores:outputs"]}
    requires = {"requires": ["tutti.state/1", "tutti.engine/1"]} if kind == "algorithm" else {}
    return {"format": "1.0", "id": "org.wicked.wicked", "version": "1.0.0", "license": "Apache-2.0",
            "abi": {"min": "1.1" if kind == "optimizer" else "1.0"}, "library": {"path": "wicked.so"}, **requires,
            "objects": [{"name": "wicked", "kind": kind, "doc": "Does what `how` says.", **events, "params": {
                "how": {"type": "string", "default": how, "doc": "What it does."},
                "size": {"type": "int", "default": 3, "min": 0, "max": 100, "doc": "A number with limits."}}}]}


def make(folder, how, library):
    """The plugin in folder/wicked."""
    os.makedirs(os.path.join(folder, "wicked"))
    with open(os.path.join(folder, "wicked/plugin.json"), "w", encoding="utf-8") as f:
        json.dump(manifest(how, library), f)
    shutil.copy(os.path.join(LIBRARIES, library + ".so"), os.path.join(folder, "wicked/wicked.so"))
    os.chmod(os.path.join(folder, "wicked"), 0o755)
    # a dataset of four numbers is for a model of its own
    if library == "dataset":
        with open(os.path.join(folder, "wicked/check.json"), "w", encoding="utf-8") as f:
            json.dump({"model": {"name": "mlp", "hidden": [4]}, "eval": [],
                       "train": {"dataset": {"name": "wicked"}, "batch_size": 16}}, f)


def check(path):
    """The exit status and the results of `tutti plugins check`."""
    done = subprocess.run([TUTTI, "plugins", "check", path, "--json"], capture_output=True, text=True, check=False)
    return done.returncode, json.loads(done.stdout)["plugins"][0]["results"], done.stderr


def judge(name, path, wanted, text):
    """What is wrong with the results, or nothing."""
    status, results, err = check(path)
    failed = {r["check"]: r["text"] for r in results if r["outcome"] == "failed"}
    untried = {r["check"]: r["text"] for r in results if r["outcome"] == "not tried"}
    if wanted is None:
        tried = {r["check"] for r in results if r["outcome"] == "passed"}
        for must in ("open", "settings", "services", "memory", "leaks", "instances", "life", "state"):
            if must not in tried:
                return f"{name}: {must} was not passed: {failed.get(must) or untried.get(must)}"
        return "" if status == 0 and not failed else f"{name}: status {status}, failed {failed}"
    if status != 1 or wanted not in failed:
        return f"{name}: status {status}, want 1; {wanted} did not fail, but {failed}; {untried.get(wanted)}; {err}"
    return "" if re.search(text, failed[wanted]) else f"{name}: {wanted} says {failed[wanted]!r}, want {text!r}"


def judge_row(row):
    """One row."""
    how, library, wanted, text = row
    with tempfile.TemporaryDirectory() as folder:
        make(folder, how, library)
        return judge(f"{library} {how or 'good'}", os.path.join(folder, "wicked"), wanted, text)


def judge_files():
    """What is found before anything runs."""
    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        make(folder, "", "algorithm")
        library = os.path.join(folder, "wicked/wicked.so")
        os.chmod(library, 0o666)
        wrong.append(judge("writable", library, "files", "writable|may write"))
        os.chmod(library, 0o644)
        with open(os.path.join(folder, "wicked/plugin.json"), "w", encoding="utf-8") as f:
            json.dump({**manifest("", "algorithm"), "colour": "red"}, f)
        wrong.append(judge("manifest", folder + "/wicked/plugin.json", "manifest", "colour"))
        for name, wanted in (("extra_symbol", "exports"), ("id_mismatch", "load")):
            wrong.append(judge(name, os.path.join(FIXTURES, name, name), wanted, "."))
        shutil.copytree(os.path.join(FIXTURES, "device_code/device_code"), os.path.join(folder, "device_code"))
        with open(os.path.join(folder, "device_code/device_code.fatbin"), "wb") as f:
            f.write(b"no device code")
        wrong.append(judge("device_code", os.path.join(folder, "device_code"), "device_code", "device_code.fatbin"))
    return [w for w in wrong if w]


def judge_shape():
    """A run refuses an optimizer whose state has a shape that nothing can have."""
    with tempfile.TemporaryDirectory() as folder:
        make(folder, "shape", "optimizer")
        run = {"name": "shape", "model": {"name": "mlp", "hidden": [4]}, "max_duration": "1ba", "optimizer": {"name": "wicked"},
               "train": {"dataset": {"name": "friedman", "samples": 32}, "batch_size": 16}}
        with open(os.path.join(folder, "run.json"), "w", encoding="utf-8") as f:
            json.dump(run, f)
        done = subprocess.run([TUTTI, "train", "run.json", "--plugin-path", folder], cwd=folder, capture_output=True, text=True,
                              check=False)
    text = "optimizer wicked: its slot count of weight body.head.bias has dimension 0 is -2, want at least 0"
    return [] if done.returncode == 2 and text in done.stderr else [f"shape: {done.returncode}, {done.stderr}"]


def judge_traits():
    """What operations leave unsaid is named, and fails nothing."""
    said = {"without": "precision, batch, fold, rematerialize, work, pointwise, role",
            "halves": "low_in, low_out, batch_nin, batch_in, batch_out, identity, substitute, flops, pointwise_cuda, activation",
            "whole": None}
    status, results, err = check(os.path.join(FIXTURES, "unsaid_traits/unsaid_traits"))
    wrong = [f"traits: status {status}, want 0: {err}"] if status else []
    for name, fields in said.items():
        want = fields and f"its traits leave at 0, so that the host does what is right for any operation: {fields} (tutti/op_traits.h)"
        got = [(r["outcome"], r.get("text")) for r in results if r.get("object") == name and r["check"] == "traits"]
        if got != [("passed", want)]:
            wrong.append(f"traits: of {name} is said {got}, want {want!r}")
    return wrong


def main():
    """All rows, or those that are named."""
    skipped = ALLOCATED if os.environ.get("SANITIZED") else ()
    rows = [row for row in ROWS if row[0] not in skipped and (not sys.argv[4:] or row[0] in sys.argv[4:])]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        wrong = [text for text in pool.map(judge_row, rows) if text]
    wrong += judge_files() + judge_shape() + judge_traits() if not sys.argv[4:] else []
    print("\n".join(wrong + [f"{len(rows)} plugins checked"]))
    if skipped:
        print(f"skipped: {', '.join(skipped)}: a sanitizer's allocator does not say what is allocated")
    return 1 if wrong or not rows else 77 if skipped else 0


if __name__ == "__main__":
    sys.exit(main())
