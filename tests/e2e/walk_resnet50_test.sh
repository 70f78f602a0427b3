#!/usr/bin/env bash
# walk_resnet50_test.sh - docs/walks/resnet50.sh, and with it the recipe finetune_resnet50, from a folder and from a file as
# torchvision has it.
. "$(dirname "$0")/lib.sh"
check "the walk goes to its end" env DURATION=2ba bash "$SOURCE/docs/walks/resnet50.sh" walk
cp check.out out.txt
check "it has a head of three classes" grep -q '^three_classes: ResNetForImageClassification, ' out.txt

# The same weights under torchvision's names, in a file that has no config.json beside it.
python3 "$e2e/as_torchvision.py" walk/runs/stand_in/checkpoints/latest.safetensors torchvision.safetensors
cd walk || exit 1
check "from torchvision's file" "$TUTTI" train finetune_resnet50 --quiet --threads 1 --duration 2ba --set name=file --set train.workers=1 --set eval.0.workers=1 \
  --set load_weights=../torchvision.safetensors --set train.dataset.path=images/train --set 'eval.0.dataset.path=images/val' \
  --set model.width=4 --set 'train.transforms.0.size=[32]' --set 'eval.0.transforms.0.size=[36]' --set 'eval.0.transforms.1.size=[32]'
check "the weights are those of the folder" python3 "$e2e/same_weights.py" runs/three/checkpoints/latest.safetensors \
  runs/file/checkpoints/latest.safetensors
finish
