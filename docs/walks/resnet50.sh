#!/usr/bin/env bash
# resnet50.sh [FOLDER [WEIGHTS]] - a ResNet-50 with torchvision's weights learns three classes of images.
# WEIGHTS is a .safetensors file of torchvision's resnet50, as `safetensors.torch.save_file(model.state_dict(), FILE)`
# writes it.  Without it a narrow ResNet-50 of ten classes takes its place, so that the walk takes seconds.
# Needs tutti in PATH, or its path in TUTTI.
set -euo pipefail
tutti=${TUTTI:-tutti}
here=$(cd "$(dirname "$0")" && pwd)
weights=${2:+$(realpath "$2")}
mkdir -p "${1:-.}" && cd "${1:-.}"
[ -d images ] || python3 "$here/draw_images.py" images

# The recipe ignores the head of the file: the data have other classes, and theirs begins anew.
on=(--set train.dataset.path=images/train --set 'eval.0.dataset.path=images/val')
if [ -z "$weights" ]; then
  on+=(--threads 1 --set train.workers=1 --set eval.0.workers=1 --set model.width=4 --set 'train.transforms.0.size=[32]' --set 'eval.0.transforms.0.size=[36]'
    --set 'eval.0.transforms.1.size=[32]')
  cat >stand_in.json <<'JSON'
{
  "name": "stand_in",
  "model": {"name": "resnet", "depth": 50, "width": 4, "num_classes": 10},
  "train": {
    "dataset": {"name": "image_folder", "path": "images/train", "sizes": "vary"},
    "transforms": [
      {"name": "resize", "size": [32, 32]},
      {"name": "normalize", "mean": [0.485, 0.456, 0.406], "std": [0.229, 0.224, 0.225]}
    ],
    "batch_size": 16
  },
  "optimizer": {"name": "sgd", "lr": 0.01},
  "callbacks": [{"name": "export_for_inference", "save_format": "huggingface", "save_path": "stand_in"}, {"name": "checkpoint_saver"}],
  "max_duration": "1ba",
  "threads": 1
}
JSON
  "$tutti" train stand_in.json --quiet
  weights=$PWD/stand_in
fi
"$tutti" train finetune_resnet50 --quiet --duration "${DURATION:-2ep}" --set name=three --set load_weights="$weights" "${on[@]}"
"$tutti" export runs/three/checkpoints/latest.safetensors --huggingface three_classes
