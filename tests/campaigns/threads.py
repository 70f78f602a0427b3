"""threads.py TUTTI FOLDER [--case NAME]... [--races] [--batches N] [--hours H] - whole runs under the thread sanitizer.

TUTTI is a program of the preset tsan: clang tells the sanitizer of every access to memory, LLVM's OpenMP of its barriers
by Archer. Each case trains with 4 threads, and with what runs beside training: data workers, loggers that send, saves
in the background, the watchdog, a signal that asks for a save, the communication thread of a rank. `live` is followed by
`tutti report --live`, which the sanitizer looks at too, with two readers. A report of the sanitizer is a failure, and its
first lines are printed. With --hours the cases take turns with other seeds.

--races has a plugin of FOLDER write one number from two threads: the report must name it.
"""
# SPDX-License-Identifier: Apache-2.0
import json
import os
import pathlib
import random
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time

from campaign import LACKS, Failed, Tally, environment, parser
from data_files import zip_shards
from destinations import loggers, serve
from kill_cases import DATA, write_data
from live import ask, page

THREADS = 4
IMAGES = [{"name": "normalize", "mean": [0.13], "std": [0.31]}]
COLOURS = [{"name": "normalize", "mean": [0.5, 0.5, 0.5], "std": [0.25, 0.25, 0.25]}]
TEXT = {"dataset": {"name": "text", "path": "../text.txt", "length": 32}, "batch_size": 8, "workers": 2}
WATCHERS = [
    {"name": "lr_monitor"}, {"name": "memory_monitor"}, {"name": "nan_monitor"}, {"name": "runtime_estimator"},
    {"name": "optimizer_monitor", "batch_log_interval": 2}, {"name": "activation_monitor", "interval": "2ba"},
    {"name": "speed_monitor"}, {"name": "system_metrics_monitor"},
]


def glyphs(samples, **more):
    """Training data of 16 x 16 pixels, read by three workers."""
    return {"dataset": {"name": "glyphs", "samples": samples} | more, "transforms": IMAGES, "batch_size": 32, "workers": 3}


def files(name, batch, dataset=None):
    """Of kill_cases.py a run on a data set that reads files. Batches are large and the model is small, so that workers read
    at the same time: where training is slower they wait for it, and take turns."""
    run = DATA[name] | {"max_duration": "24ba"}
    if "cnn" in run["model"]["name"]:
        run["model"] = {"name": "mlp", "hidden": [8]}
    run["train"] = run["train"] | {"batch_size": batch, "workers": 4, "dataset": run["train"]["dataset"] | (dataset or {})}
    return run


# Data sets whose readers share something: shards that are opened, inflated and closed, pictures' decoders, maps.
REPEATED = {"path": None, "streams": ["../set"], "repeat": [20]}
FILES = {
    "mds": files("mds", 1000, REPEATED),
    "mds_inflated": files("mds", 128, REPEATED | {"repeat": [4], "inflated_mib": 1}),  # its shards are compressed
    "mds_streams": files("mds_streams", 1000, {"batch_size": 1000, "repeat": [20, 9.5]}),
    "image_folder": files("image_folder", 32),
    "webdataset": files("webdataset", 32),
    "tokens_bin": files("tokens_bin", 640, {"stride": 1}),
}
CASES = FILES | {
    "images": {
        "model": {"name": "cnn"},
        "train": glyphs(320),
        "eval": [{"label": "test", "interval": "2ba", "metrics": [{"name": "accuracy"}]} | glyphs(64, split="test")],
        "algorithms": [{"name": "ema", "half_life": "5ba"}, {"name": "mixup"}, {"name": "label_smoothing"}],
        "callbacks": WATCHERS,
    },
    "wide": {"model": {"name": "mlp", "hidden": [512, 512]}, "train": glyphs(320), "precision": "amp_bf16",
             "optimizer": {"name": "lamb", "lr": 0.001},
             "callbacks": [{"name": "evil", "how": "talk"}]},  # a thread of its own says something all the time
    "residual": {"model": {"name": "resnet_cifar", "depth": 8}, "precision": "amp_bf16",
                 "train": {"dataset": {"name": "glyphs", "samples": 160}, "transforms": IMAGES, "batch_size": 16, "workers": 1},
                 "algorithms": [{"name": "blurpool"}, {"name": "sam"}]},
    "segments": {"model": {"name": "unet", "width": 8, "depth": 2},
                 "train": {"dataset": {"name": "shapes", "samples": 160}, "transforms": COLOURS, "batch_size": 16, "workers": 2},
                 "optimizer": {"name": "muon", "lr": 0.001}},
    "text": {
        "model": {"name": "gpt2", "n_layer": 2, "n_head": 2, "n_embd": 64}, "train": TEXT,
        "algorithms": [{"name": "gradient_clipping", "clipping_type": "norm", "clipping_threshold": 1}, {"name": "alibi", "max_sequence_length": 32}],
        "callbacks": WATCHERS + [{"name": "generate", "prompts": ["a"], "max_new_tokens": 8, "interval": "4ba"}],
    },
    "llama": {"model": {"name": "llama", "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
                        "hidden_size": 64, "intermediate_size": 128}, "train": TEXT, "precision": "amp_bf16"},
    "ranks": {"model": {"name": "cnn"}, "microbatch_size": 8, "train": glyphs(320), "threads": 2,
              "distributed": {"comm": {"name": "shared_memory", "mailbox_mib": 1}, "join_timeout_s": 300, "timeout_s": 300,
                              "bucket_mib": 0.01}},
    "engine": {
        "model": {"name": "cnn"}, "process": "supervised", "max_epochs": 2, "callbacks": WATCHERS, "train": glyphs(96),
        "eval": [{"label": "test", "on": "epoch_completed", "metrics": [{"name": "accuracy"}]} | glyphs(64, split="test")],
    },
    # While `tutti report --live` follows it.
    "live": {"model": {"name": "mlp", "hidden": [32]}, "train": glyphs(320), "max_duration": "60ba",
             "callbacks": WATCHERS, "eval": [{"label": "test", "interval": "10ba", "metrics": [{"name": "accuracy"}]} |
                                             glyphs(64, split="test")]},
}
REPORT = "WARNING: ThreadSanitizer"


class Lacking(Exception):
    """What the case looks at is not in this build."""


def sanitized(folder, **more):
    """The environment: reports go to files of their own and change the exit status."""
    options = f"ignore_noninstrumented_modules=1:exitcode=66:log_path={folder}/report"
    return environment(folder / "cache", TSAN_OPTIONS=options, **more)


def reports(folder):
    """What the sanitizer has written."""
    return "".join(path.read_text(errors="replace") for path in sorted(folder.glob("report.*")))


def summary(text):
    """A line of each report: which function raced."""
    return "; ".join(sorted(set(re.findall(r"SUMMARY: ThreadSanitizer: (.*)", text)))) or text[:600]


def start(tutti, folder, options, out, **more):
    command = "run" if "max_epochs" in json.loads((folder / "run.json").read_text()) else "train"
    return subprocess.Popen([tutti, command, "run.json", *options], cwd=folder, stdout=out, stderr=out,
                            env=sanitized(folder, **more))


def ask_for_save(process, folder, rng):
    """SIGUSR1 once the run has logged a batch, while others go on."""
    log = folder / "runs" / "threads" / "log.jsonl"
    until = time.monotonic() + 300
    while process.poll() is None and time.monotonic() < until and not (log.exists() and log.stat().st_size):
        time.sleep(0.01)
    time.sleep(rng.uniform(0, 0.2))
    if process.poll() is None:
        process.send_signal(signal.SIGUSR1)


class Reader(threading.Thread):
    """A reader of the page and of all its events; `seen` has their kinds."""

    def __init__(self, port):
        super().__init__(daemon=True)
        self.port = port
        self.seen = []
        self.start()

    def run(self):
        last = 0
        while self.seen[-1:] != ["end"] and page(self.port) and (answer := ask(self.port, f"/events?after={last}")):
            for line in answer:
                key, _, value = line.decode().rstrip("\n").partition(": ")
                last = int(value) if key == "id" else last
                if key == "event":
                    self.seen.append(value)
                    page(self.port)


def follow(tutti, folder, trainer):
    """`tutti report --live` with two readers, from the run's begin to its end; raises where one has not seen both."""
    until = time.monotonic() + 300
    while trainer.poll() is None and time.monotonic() < until and not (folder / "runs/threads/log.jsonl").exists():
        time.sleep(0.01)
    with open(folder / "live.txt", "w+", encoding="utf-8") as errors:
        p = subprocess.Popen([tutti, "report", "runs/threads", "--live"], cwd=folder, env=sanitized(folder), text=True,
                             stdout=subprocess.PIPE, stderr=errors)
        try:
            address = re.match(r"http://127\.0\.0\.1:(\d+)/", p.stdout.readline())
            readers = [Reader(int(address[1])) for _ in range(2)] if address else []
            for reader in readers:
                reader.join(600)
            p.communicate(timeout=300)
        except subprocess.TimeoutExpired:
            raise Failed("tutti report --live did not end with its run") from None
        finally:
            p.kill()
            p.wait()
        errors.seek(0)
        said = errors.read()
    if REPORT in (text := reports(folder)):
        raise Failed(summary(text))
    if LACKS.search(said):
        raise Lacking(said.strip())
    if p.returncode or len(readers) != 2 or any(len(r.seen) < 2 or r.seen[-1] != "end" for r in readers):
        raise Failed(f"tutti report --live: {p.returncode}: {[r.seen for r in readers]} {said[-600:]}")


def train(tutti, folder, run, options, rng, beside=ask_for_save):
    """Trains, in a process or by two ranks; raises what the sanitizer says."""
    folder.mkdir()
    (folder / "run.json").write_text(json.dumps(run))
    write_data(folder.parent, run)
    if "inflated_mib" in run["train"]["dataset"]:
        zip_shards(folder.parent / "set", 1 << 20)
    worlds = [{"TUTTI_RANK": str(k), "TUTTI_WORLD_SIZE": "2", "TUTTI_JOB": str(folder)} for k in range(2)]
    with open(folder / "out.txt", "w", encoding="utf-8") as out:
        ranks = [start(tutti, folder, options, out, **world) for world in (worlds if "distributed" in run else [{}])]
        try:
            beside(ranks[0], folder, rng)
            for process in ranks:
                process.wait(timeout=1200)
        except subprocess.TimeoutExpired:
            raise Failed("it did not end in 20 minutes") from None
        finally:
            for process in ranks:
                process.kill()
                process.wait()
    text = reports(folder)
    if REPORT in text:
        raise Failed(summary(text))
    if any(process.returncode for process in ranks):
        raise Failed(f"{[p.returncode for p in ranks]}: {(folder / 'out.txt').read_text(errors='replace')[-600:]}")


def beside(tutti, name):
    """What is done while the case's run trains."""
    if name != "live":
        return ask_for_save
    return lambda trainer, folder, _: follow(tutti, folder, trainer)


def the_run(name, batches, seed, there):
    """The run file of a case: saves in the background, looked at by the watchdog."""
    case = CASES[name]
    saver = {"name": "checkpoint_saver", "folder": "saves", "interval": "1ep" if "max_epochs" in case else "2ba", "keep": 2,
             "async": True}
    length = {} if "max_epochs" in case else {"max_duration": f"{batches}ba"}
    return {"name": "threads", "seed": seed, "threads": THREADS, "device": "cpu", "watchdog_s": 200, "loggers": there,
            "optimizer": {"name": "adamw", "lr": 0.001}} | length | case | {"callbacks": case.get("callbacks", []) + [saver]}


def try_race(tutti, plugins, tally, there):
    """A plugin that races is found, and the report has its function's name."""
    run = the_run("wide", 4, 1, there)
    run["callbacks"] = [{"name": "evil", "how": "race"}]
    with tempfile.TemporaryDirectory(prefix="tutti_threads_") as folder:
        try:
            train(tutti, pathlib.Path(folder) / "run", run, ["--plugin-path", os.path.abspath(plugins)], random.Random(1))
            tally.fail("a plugin races in every batch, which was not found")
        except Failed as why:
            if "data race" not in str(why) or "evil" not in str(why):
                tally.fail(f"a plugin races in every batch, and what was found is: {why}")
            else:
                tally.add("races_found")


def main():
    words = parser(__doc__)
    words.add_argument("folder", help="of the evil plugin")
    words.add_argument("--case", choices=CASES, action="append")
    words.add_argument("--batches", type=int, default=8)
    words.add_argument("--races", action="store_true")
    given = words.parse_args()
    tutti = os.path.abspath(given.tutti)
    server = serve()
    there, missing = loggers(tutti, server.server_port, 2)
    tally = Tally("threads", given)
    if missing:
        tally.skip(f"this build lacks the loggers {', '.join(missing)} (Debian's package libcurl4-openssl-dev)")
    rng = random.Random(given.seed)
    if given.races:
        try_race(tutti, given.folder, tally, there)
    rounds = 0
    while not given.races and (rounds == 0 or (given.hours and not tally.is_over())):
        for name in given.case or CASES:
            with tempfile.TemporaryDirectory(prefix="tutti_threads_") as folder:
                try:
                    train(tutti, pathlib.Path(folder) / "run", the_run(name, given.batches, rng.randrange(1000), there),
                          ["--plugin-path", os.path.abspath(given.folder)], rng, beside(tutti, name))
                except Lacking as why:
                    tally.skip(f"{name}: {why}")
                except Failed as why:
                    tally.fail(f"{name}: {why}")
            tally.add(name)
        rounds += 1
    server.shutdown()
    return tally.finish()


sys.exit(main())
