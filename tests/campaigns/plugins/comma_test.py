"""comma_test.py TUTTI FOLDER - a plugin that sets a locale of decimal commas: numbers have points all the same, in every file
that a run writes and in all that commands print, and they are read as what they are."""
# SPDX-License-Identifier: Apache-2.0
import csv
import json
import os
import re
import struct
import subprocess
import sys
import tempfile

# What the plugin does, and of which object.
WAYS = (("comma", "callback"), ("comma_here", "callback"), ("open_comma", "dataset"), ("open_comma_here", "dataset"))
COMMA = re.compile(r"\d,\d")
JSON = r"\.(jsonl|json|safetensors|html)(\.undone)?$"
LINES = r"\.jsonl(\.undone)?$"  # with a document in each line
NO_TEXT = (".npy", ".onnx")  # numbers of theirs are bits
# Of each of these a run or a command leaves one at the least: (what it is, pattern of its path)
WANTED = [("record", r"record\.json$"), ("numbers as JSON lines", r"/log\.jsonl$"), ("numbers as lines", r"/log\.txt$"),
          ("traces as lines", r"traces\.txt$"), ("traces as JSON lines", r"ran\.jsonl$"), ("profile", r"merged_trace\.json$"),
          ("MLflow's metrics", r"mlruns/.*/metrics/loss/train/total$"), ("MLflow's settings", r"mlruns/.*/params/"),
          ("lines of mlperf", r"submission/results/.*\.txt$"), ("checkpoints", r"checkpoints/ep.*\.safetensors$"),
          ("TensorBoard", r"tfevents"), ("outputs as CSV", r"/out\.csv$"), ("outputs as JSON lines", r"/out\.jsonl$"),
          ("report", r"/report\.html$"), ("an exported model", r"/out\.onnx$"), ("the terminal", r"/train\.out$")]


def make_locale(folder):
    """A locale "evil" that writes 1,5; False where there is nothing to make one of."""
    return subprocess.run(["localedef", "-i", "de_DE", "-f", "UTF-8", os.path.join(folder, "evil")],
                          capture_output=True, check=False).returncode == 0


def run_file(how, where):
    """A run with all that writes numbers into files."""
    evil = {place: {"name": "evil", "how": how if place == where else ""} for place in ("callback", "dataset")}
    data = {"dataset": evil["dataset"], "batch_size": 16, "workers": 1}
    return {
        "name": "evil", "seed": 3, "model": {"name": "mlp", "hidden": [4]}, "train": data,
        "eval": [data | {"label": "test", "interval": "3ba", "metrics": [{"name": "accuracy"}]}],
        "optimizer": {"name": "sgd", "lr": 0.0625}, "schedulers": [{"name": "cosine_annealing"}], "threads": 1,
        "algorithms": [{"name": "ema", "half_life": "5ba"}, {"name": "label_smoothing", "smoothing": 0.25}],
        "callbacks": [{"name": "checkpoint_saver", "interval": "4ba", "keep": -1}, {"name": "lr_monitor"},
                      {"name": "speed_monitor"}, {"name": "memory_monitor"}, {"name": "runtime_estimator"}, {"name": "optimizer_monitor"},
                      {"name": "mlperf", "root_folder": "submission", "index": 0, "metric_label": "test", "target": 2},
                      {"name": "eval_output_logging", "subset_sample": 4}] + [evil["callback"]],
        "loggers": [{"name": "jsonl", "log_traces": True}, {"name": "file"}, {"name": "tensorboard"}, {"name": "console"},
                    {"name": "mlflow", "tracking_uri": "file:mlruns", "log_duplicated_metric_every_n_steps": 1}],
        "traces": [{"file": "traces.txt"}, {"file": "ran.jsonl", "format": "json"}],
        "profiler": {"schedule": {"wait": 0, "warmup": 0, "active": 2, "repeat": 1}},
        "max_duration": "8ba",
    }


# name of what is printed, the command
COMMANDS = [
    ("resumed", "train run.json --resume auto --duration 4ba"), ("eval", "eval run.json --checkpoint auto"),
    ("csv", "predict run.json --checkpoint auto --output out.csv"),
    ("rows", "predict run.json --checkpoint auto --output out.jsonl"),
    ("explain", "explain run.json"), ("explain.json", "explain run.json --json"), ("plan", "plan run.json"),
    ("world", "plan run.json --world 4"), ("traffic", "plan run.json --traffic"),
    ("profile", "profile run.json --batches 2 --set callbacks=EVIL"),
    ("profile.json", "profile run.json --batches 2 --set callbacks=EVIL --json"),
    ("export", "export runs/evil/checkpoints/latest.safetensors --onnx out.onnx"),
    ("loader", "bench loader run.json"), ("runs", "runs"), ("runs.json", "runs --json"), ("plot", "runs --plot loss/train/total"),
    ("compare", "runs compare runs/evil runs/evil-profile"), ("compare.json", "runs compare runs/evil runs/evil-profile --json"),
    ("report", "report"),
]


def read_numbers(path, data):
    """The text in which numbers stand as text; raises ValueError where it has no form."""
    if path.endswith(".safetensors"):
        return data[8:8 + struct.unpack("<Q", data[:8])[0]].decode()
    if path.endswith(NO_TEXT) or "tfevents" in path:
        return ""
    text = data.decode()
    if path.endswith(".html"):  # a library in it has commas
        return "".join(re.findall(r'<script[^>]*json[^>]*>(.*?)</script>', text, re.S))
    return text


def lengths(value, at, found):
    """{where lists of numbers are in it: how long they are}; JSON in texts too."""
    if isinstance(value, str) and value[:1] in ("{", "["):
        value = json.loads(value)
    if isinstance(value, list) and all(isinstance(one, (int, float)) for one in value):
        found.setdefault(at, set()).add(len(value))
    for key, one in value.items() if isinstance(value, dict) else [("", one) for one in value] if isinstance(value, list) else []:
        lengths(one, f"{at}/{key}", found)
    return found


def documents(path, text):
    """The lists of all JSON of a file; None where it is none."""
    if not re.search(JSON, path):
        return None
    found = {}
    for part in text.splitlines() if re.search(LINES, path) else [text]:
        lengths(json.loads(part), "", found)
    return found


def check_form(path, text, good):
    """Raises ValueError where it is no JSON, lists have other lengths than in the same file of the good run, or rows of a
    table among themselves."""
    lists = documents(path, text)
    for at, sizes in lists.items() if lists and good is not None else []:
        if not sizes <= documents(path, good).get(at, sizes):
            raise ValueError(f"{at} has lists of {sorted(sizes)} items")
    if path.endswith(".csv"):
        rows = list(csv.reader(text.splitlines()))
        if len({len(row) for row in rows}) != 1:
            raise ValueError(f"rows of {sorted({len(row) for row in rows})} columns")
        for number in (number for row in rows[1:] for number in row):
            float(number)


def judge_file(path, data, good):
    """What is wrong with the numbers of a file, beside the same file of the good run if it has one; or nothing."""
    try:
        text = read_numbers(path, data)
        check_form(path, text, read_numbers(path, good) if good is not None else None)
    except ValueError as error:
        return f"{path}: {error}"
    # In JSON and in tables commas are between numbers, in a table that is logged too.
    where = None if re.search(JSON + r"|\.csv$", path) else COMMA.search(re.sub(r'\{"columns":.*\}', "", text))
    return f"{path}: {text[max(where.start() - 60, 0):where.end() + 20]!r}" if where else ""


def call(tutti, folder, plugin, name, line, environment):
    """Runs one command; what it prints goes into NAME.out, or NAME if that has an ending."""
    words = line.split()
    asked = ["--plugin-path", plugin] if words[0] not in ("runs", "report") else []
    done = subprocess.run([tutti, *words, *asked], cwd=folder, capture_output=True, env=environment, timeout=300, check=False)
    printed = name if "." in name else name + ".out"
    for path, data in ((printed, done.stdout), (name + ".err", done.stderr)):
        with open(os.path.join(folder, path), "wb") as f:
            f.write(data)
    return [] if done.returncode == 0 else [f"{line}: status {done.returncode}: {done.stderr.decode(errors='replace')}"]


def files_of(folder, but):
    """{path: bytes} of what lies below a folder."""
    found = {}
    for top, _, names in os.walk(folder):
        for path in (os.path.join(top, name) for name in names):
            if os.path.islink(path) or but in path:
                continue
            with open(path, "rb") as f:
                found[path[len(folder):]] = f.read()
    return found


def losses(files):
    """The losses that the log has, as text of numbers."""
    rows = [json.loads(line) for line in files["/runs/evil/log.jsonl"].decode().splitlines()]
    return [row["values"]["loss/train/total"] for row in rows if "loss/train/total" in row.get("values", {})]


def all_of(tutti, plugin, how, where):
    """(what a run and the commands leave, what fails) with a plugin that does `how` there; None without a locale."""
    with tempfile.TemporaryDirectory() as folder:
        if not make_locale(folder):
            return None, []
        with open(os.path.join(folder, "run.json"), "w", encoding="utf-8") as f:
            json.dump(run_file(how, where), f)
        with open(os.path.join(folder, "chart.js"), "w", encoding="utf-8") as f:
            f.write("var Chart = function () {};")
        environment = {**os.environ, "LOCPATH": folder, "LC_ALL": "evil", "TUTTI_CHART_JS": os.path.join(folder, "chart.js")}
        evil = json.dumps([{"name": "evil", "how": how if where == "callback" else ""}], separators=(",", ":"))
        wrong = call(tutti, folder, plugin, "train", "train run.json", environment)
        for name, line in COMMANDS if not wrong else []:
            wrong += call(tutti, folder, plugin, name, line.replace("EVIL", evil), environment)
        return files_of(folder, "/evil/LC_"), wrong


def main():
    """What is wrong in each of the ways of setting it."""
    tutti, plugin = os.path.abspath(sys.argv[1]), os.path.join(os.path.abspath(sys.argv[2]), "evil")
    good, wrong = all_of(tutti, plugin, "", "callback")
    wrong = [f"without: {text}" for text in wrong]
    if good is None:
        print("skipped: localedef makes no de_DE here (Debian's package locales)")
        return 77
    for how, where in WAYS:
        files, failed = all_of(tutti, plugin, how, where)
        said = [judge_file(path, data, good.get(path)) for path, data in sorted(files.items())]
        said = failed + [text for text in said if text]
        if not failed:
            said += [f"no file has {what}" for what, path in WANTED if not any(re.search(path, one) for one in files)]
            said += [] if losses(files) == losses(good) else ["other losses than without the locale"]
        wrong += [f"{how} in a {where}: {text}" for text in said]
    print("\n".join(wrong + [f"{len(good)} files and outputs were looked at in each of {len(WAYS)} runs"]))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
