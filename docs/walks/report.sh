#!/usr/bin/env bash
# report.sh [FOLDER] - two runs, what they differ in, and a page with their curves: FOLDER/report.html.
# Needs tutti in PATH, or its path in TUTTI, and Chart.js (Debian: libjs-chart.js).
set -euo pipefail
tutti=${TUTTI:-tutti}
mkdir -p "${1:-.}" && cd "${1:-.}"

# Runs write what a report shows: the logger jsonl the curves, with its traces what algorithms did, the profiler the
# time of each part of a step.
cat >run.json <<'JSON'
{
  "model": {"name": "cnn"},
  "train": {
    "dataset": {"name": "glyphs", "samples": 2000, "split": "train"},
    "transforms": [{"name": "normalize", "mean": [0.13], "std": [0.31]}],
    "batch_size": 100, "metrics": [{"name": "accuracy"}]
  },
  "eval": [{
    "label": "test",
    "dataset": {"name": "glyphs", "samples": 500, "split": "test"},
    "transforms": [{"name": "normalize", "mean": [0.13], "std": [0.31]}],
    "batch_size": 100, "metrics": [{"name": "accuracy"}]
  }],
  "optimizer": {"name": "sgd", "lr": 0.1, "momentum": 0.9},
  "schedulers": [{"name": "cosine_annealing"}],
  "callbacks": [{"name": "speed_monitor"}, {"name": "lr_monitor"}, {"name": "memory_monitor"}],
  "loggers": [{"name": "jsonl", "log_traces": true}],
  "profiler": {"schedule": {"wait": 2, "warmup": 2, "active": 4, "repeat": 1}},
  "max_duration": "2ep"
}
JSON
"$tutti" train run.json --quiet --set name=plain
"$tutti" train run.json --quiet --set name=smoothed --set 'algorithms=[{"name": "label_smoothing", "smoothing": 0.1}]'

"$tutti" runs
"$tutti" runs compare runs/plain runs/smoothed
"$tutti" runs --plot loss/train/total

# The first one once more, with the kernels and threads that it had: the same losses to the last bit.
"$tutti" train --repeat runs/plain --quiet
losses() { grep -o '"loss/train/total":[^,}]*' "$1/log.jsonl"; }
cmp <(losses runs/plain) <(losses runs/plain-repeat) && echo "the repeated run has the same losses"

"$tutti" report runs/plain runs/smoothed --page report.html
