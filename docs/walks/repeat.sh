#!/usr/bin/env bash
# repeat.sh [FOLDER] - a run, and the same run on a machine that has measured no kernels: the same weights, bit by bit.
# Needs tutti in PATH, or its path in TUTTI.
set -euo pipefail
tutti=${TUTTI:-tutti}
mkdir -p "${1:-.}" && cd "${1:-.}"
cat >run.json <<'JSON'
{
  "name": "first",
  "model": {"name": "cnn", "channels": [8, 16]},
  "train": {
    "dataset": {"name": "glyphs", "samples": 400},
    "transforms": [{"name": "normalize", "mean": [0.13], "std": [0.31]}], "batch_size": 50
  },
  "optimizer": {"name": "sgd", "lr": 0.05, "momentum": 0.9},
  "callbacks": [{"name": "checkpoint_saver"}],
  "loggers": [{"name": "jsonl"}],
  "max_duration": "2ep",
  "threads": 1
}
JSON
"$tutti" train run.json --quiet

# The run's folder keeps which kernels computed it; a new cache knows none.
XDG_CACHE_HOME=$PWD/empty "$tutti" train --repeat runs/first --quiet
losses() { grep -o '"loss/train/total":[^,}]*' "$1/log.jsonl"; }
cmp <(losses runs/first) <(losses runs/first-repeat) && echo "the repeated run has the same losses"
