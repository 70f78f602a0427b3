#!/usr/bin/env bash
# images.sh [FOLDER] - a model of one's own images: FOLDER/images/train/CLASS/*.png, and predictions as a table.
# Without images there, it draws some: disks, squares and stripes.  Needs tutti in PATH, or its path in TUTTI.
set -euo pipefail
tutti=${TUTTI:-tutti}
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "${1:-.}" && cd "${1:-.}"
[ -d images ] || python3 "$here/draw_images.py" images

# One folder a class; sizes may differ, a transform makes them one.
cat >run.json <<'JSON'
{
  "name": "images",
  "model": {"name": "cnn", "channels": [8, 16, 32]},
  "train": {
    "dataset": {"name": "image_folder", "path": "images/train", "sizes": "vary"},
    "transforms": [
      {"name": "resize", "size": [32, 32]}, {"name": "random_flip"},
      {"name": "normalize", "mean": [0.5, 0.5, 0.5], "std": [0.25, 0.25, 0.25]}
    ],
    "batch_size": 16
  },
  "eval": [{
    "label": "val",
    "dataset": {"name": "image_folder", "path": "images/val", "sizes": "vary"},
    "transforms": [{"name": "resize", "size": [32, 32]}, {"name": "normalize", "mean": [0.5, 0.5, 0.5], "std": [0.25, 0.25, 0.25]}],
    "batch_size": 16, "metrics": [{"name": "accuracy"}]
  }],
  "optimizer": {"name": "adamw", "lr": 0.005},
  "callbacks": [{"name": "checkpoint_saver"}],
  "max_duration": "6ep",
  "threads": 1
}
JSON
"$tutti" validate run.json
"$tutti" train run.json --quiet
"$tutti" predict run.json --checkpoint auto --output predictions.csv
