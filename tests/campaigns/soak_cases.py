"""soak_cases.py - the long runs of soak.py, and what of the plugins' callbacks and loggers is in none of them.

A callback or a logger that `tutti plugins list` names is in a case, or in APART with the reason. Files that grow with every
batch, because they are logs, are in LOGS with theirs: all else that a run has on the disk may not grow.
"""
# SPDX-License-Identifier: Apache-2.0
import re
import subprocess

from campaign import environment

CYCLE = 10  # batches between evaluations and between checkpoints
RARELY = f"{5 * CYCLE}ba"  # for what takes long, or writes much into logs
WEIGHTS = "weights.safetensors"  # which a run loads time and again
ADDRESS = "http://127.0.0.1:{port}/" + WEIGHTS  # where they are, for what fetches
IMAGES = [{"name": "normalize", "mean": [0.13], "std": [0.31]}]
CALLBACKS = [
    {"name": "checkpoint_saver", "folder": "saves", "interval": f"{CYCLE}ba", "keep": 3, "remote_file_name": None},
    # What it sends has one name there, which is written over.
    {"name": "checkpoint_saver", "id": "sender", "folder": "sent", "interval": RARELY, "keep": 1, "overwrite": True,
     "remote_file_name": "newest.safetensors"},
    {"name": "lr_monitor"}, {"name": "memory_monitor"}, {"name": "nan_monitor"}, {"name": "runtime_estimator"},
    {"name": "optimizer_monitor", "batch_log_interval": CYCLE}, {"name": "speed_monitor"},
    {"name": "system_metrics_monitor"}, {"name": "activation_monitor", "interval": RARELY},
    # Once, and at the end or never: that they are there costs nothing as time goes by.
    {"name": "memory_snapshot", "interval": RARELY}, {"name": "oom_observer"},
]
# These end a run; with these settings they only look.
STOPPERS = [
    {"name": "early_stopper", "monitor": "accuracy", "dataloader_label": "test", "patience": "1000000ep"},
    {"name": "threshold_stopper", "monitor": "accuracy", "dataloader_label": "test", "threshold": 2},
    {"name": "mlperf", "root_folder": "submission", "index": 0, "metric_label": "test", "target": 2},
]
LOOKERS = [
    {"name": "eval_output_logging", "subset_sample": 4},
    {"name": "image_visualizer", "mode": "classification", "interval": RARELY, "num_images": 1},
]
CASES = {
    "images": {
        "model": {"name": "cnn", "channels": [4, 8]},
        "train": {"dataset": {"name": "glyphs", "samples": 320}, "transforms": IMAGES, "batch_size": 32, "workers": 2},
        "eval": [{"label": "test", "dataset": {"name": "glyphs", "samples": 64, "split": "test"}, "interval": f"{CYCLE}ba",
                  "transforms": IMAGES, "batch_size": 32, "metrics": [{"name": "accuracy"}]}],
        "algorithms": [{"name": "ema", "half_life": "50ba"}, {"name": "mixup"}, {"name": "label_smoothing"}],
        "callbacks": CALLBACKS + STOPPERS + LOOKERS,
    },
    "text": {
        "model": {"name": "gpt2", "n_layer": 1, "n_head": 2, "n_embd": 16},
        "train": {"dataset": {"name": "text", "path": "text.txt", "length": 16}, "batch_size": 16, "workers": 1},
        "algorithms": [{"name": "gradient_clipping", "clipping_type": "norm", "clipping_threshold": 1}],
        "callbacks": CALLBACKS + [
            {"name": "generate", "prompts": ["a"], "max_new_tokens": 8, "interval": f"{CYCLE}ba"},
            # An epoch has twelve batches.
            {"name": "remote_downloader"}, {"name": "load_checkpoint", "load_path": ADDRESS, "load_weights_only": True,
                                            "event": "epoch_start"},
            {"name": "export_for_inference", "save_format": "huggingface", "save_path": "exported"},
        ],
    },
}
# Beside those of destinations.py.
LOGGERS = [{"name": "remote_uploader", "bucket_uri": "file://{folder}/bucket"}, {"name": "progress_bar"}]
# What is in no case, and why.
APART = {
    ("logger", "in_memory"): "it keeps every number that it gets, which is what it is for",
}
# Files below the run's folder that grow by what they are, and why.
LOGS = {
    r"runs/[^/]+/(log\.jsonl|log\.txt)|tensorboard_logs/.*": "numbers, pictures and tables of every batch or evaluation",
    r"runs/[^/]+/[a-z]+\.waiting": "what a server that is slower than the run has not taken",
    r"submission/results/.*": "a line of every epoch and evaluation",
    r"out\.txt": "what is printed",
}


def missing(tutti, folder, names, given):
    """A sentence for each callback and logger of `tutti plugins list` that is in none of these cases; `given` are names of
    the loggers that all have."""
    done = subprocess.run([tutti, "plugins", "list"], cwd=folder, capture_output=True, text=True,
                          env=environment(folder / "cache"), check=True)
    known = set(re.findall(r"[:,] (callback|logger) (\w+)", done.stdout))
    if {kind for kind, _ in known} != {"callback", "logger"}:
        return ["`tutti plugins list` names no callback or no logger"]
    tried = {("callback", one["name"]) for name in names for one in CASES[name]["callbacks"]}
    tried |= {("logger", name) for name in given} | {("logger", one["name"]) for one in LOGGERS}
    return [f"no case has the {kind} {name}: want it in a case of soak_cases.py, or in APART with a reason"
            for kind, name in sorted(known - tried - set(APART))] + \
           [f"the {kind} {name} is in APART of soak_cases.py, but in a case too, or in no plugin"
            for kind, name in sorted(set(APART) & tried | set(APART) - known)]
