#!/usr/bin/env bash
# text.sh [FOLDER [TEXT]] - a small language model of one's own text, which then goes on with a prompt.
# Without TEXT it writes some sums.  Needs tutti in PATH, or its path in TUTTI.
set -euo pipefail
tutti=${TUTTI:-tutti}
text=${2:+$(realpath "$2")}
mkdir -p "${1:-.}" && cd "${1:-.}"
if [ -z "$text" ]; then
  for ((k = 0; k < 3000; k++)); do echo "$((k % 9)) plus $((k / 9 % 9)) is $((k % 9 + k / 9 % 9))."; done >sums.txt
  text=$PWD/sums.txt
fi
cat >run.json <<JSON
{
  "name": "text",
  "model": {"name": "gpt2", "n_layer": 2, "n_head": 2, "n_embd": 32},
  "train": {
    "dataset": {"name": "text", "path": "$text", "vocabulary": "chars", "length": 32, "stride": 16, "split": "train"},
    "batch_size": 32
  },
  "eval": [{
    "label": "validation",
    "dataset": {"name": "text", "path": "$text", "vocabulary": "chars", "length": 32, "split": "validation"},
    "batch_size": 32, "metrics": [{"name": "language_cross_entropy"}]
  }],
  "optimizer": {"name": "adamw", "lr": 0.01},
  "callbacks": [{"name": "checkpoint_saver"}],
  "max_duration": "60ba",
  "threads": 1
}
JSON
"$tutti" train run.json --quiet
"$tutti" generate runs/text/checkpoints/latest.safetensors --prompt "3 plus 4" --max-tokens 12
