#!/usr/bin/env bash
# pretrained_images_test.sh - a run starts from a ResNet's weights as torchvision keeps them.
. "$(dirname "$0")/lib.sh"

cat >first.json <<'JSON'
{
  "name": "first",
  "model": {"name": "resnet", "depth": 18, "width": 4, "stem": "cifar"},
  "train": {
    "dataset": {"name": "glyphs", "samples": 256},
    "transforms": [{"name": "normalize", "mean": [0.5], "std": [0.5]}],
    "batch_size": 32
  },
  "optimizer": {"name": "sgd", "lr": 0.05},
  "callbacks": [{"name": "checkpoint_saver", "folder": "saves", "interval": "1ep"}],
  "max_duration": "1ep",
  "threads": 2
}
JSON
check "a ResNet is trained" "$TUTTI" train first.json

# Its weights with a convolution's channels before its rows, and torchvision's counts of batches.
python3 "$e2e/as_torchvision.py" "$(latest .)" torchvision.safetensors

# No learning: what is saved is what was loaded, but for what batch norm counts.
sed 's/"first"/"second"/; s/"lr": 0.05/"lr": 0.0/; s/"saves"/"again"/
  s|"threads": 2|"threads": 2, "load_weights": "torchvision.safetensors"|' first.json >second.json
check "its names are torchvision's" \
  grep -q '"layer2.0.downsample.0.weight"' torchvision.safetensors
check "a run starts from the file" "$TUTTI" train second.json
check "with its weights" python3 - saves again <<'PY'
import glob, json, struct, sys

def weights(folder):
    data = open(sorted(glob.glob(folder + "/*.safetensors"))[-1], "rb").read()
    size, = struct.unpack("<Q", data[:8])
    return {k: data[8 + size:][slice(*v["data_offsets"])]
            for k, v in json.loads(data[8:8 + size]).items()
            if k.startswith("model.") and ".running_" not in k}

first, second = (weights(folder) for folder in sys.argv[1:])
assert len(first) == 62, len(first)
assert first == second, [k for k in first if first[k] != second[k]]
PY
says "another width" 1 \
  'tutti: torchvision.safetensors: fc.weight is F32 (10, 32), the model'"'"'s is F32 (10, 64); 101 of this run'"'"'s 102 weights do not fit, "load_strict": false takes the others' \
  "$TUTTI" train second.json --set model.width=8
finish
