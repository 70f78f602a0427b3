#!/usr/bin/env bash
# convnext_test.sh - a small ConvNeXt learns digits, on the CPU and on the stand-in of a GPU, and goes to a folder and back.
. "$(dirname "$0")/lib.sh"
standin="$(dirname "$TUTTI")/standin"
cat >run.json <<'JSON'
{
  "name": "small",
  "model": {"name": "convnext", "patch_size": 2, "depths": [1, 1, 1, 1], "hidden_sizes": [8, 16, 16, 32],
            "layer_scale_init_value": 0.5, "drop_path_rate": 0.1},
  "train": {
    "dataset": {"name": "glyphs", "samples": 600, "split": "train"},
    "transforms": [{"name": "normalize", "mean": [0.13], "std": [0.31]}], "batch_size": 50
  },
  "eval": [{
    "label": "test", "dataset": {"name": "glyphs", "samples": 100, "split": "test"},
    "transforms": [{"name": "normalize", "mean": [0.13], "std": [0.31]}], "batch_size": 50,
    "metrics": [{"name": "accuracy"}]
  }],
  "optimizer": {"name": "adamw", "lr": 0.01},
  "callbacks": [{"name": "checkpoint_saver", "folder": "saves"}],
  "max_duration": "2ep",
  "threads": 2
}
JSON
accuracy() { sed -n 's/^test accuracy *//p' "$1"; }
check "a ConvNeXt is trained" "$TUTTI" train run.json --quiet
cp check.out first.txt
check "it has learnt, where guesses have 0.1" awk -v a="$(accuracy first.txt)" 'BEGIN { exit !(a > 0.3) }'

"$TUTTI" export "$(latest .)" --huggingface out >told.txt 2>&1
check "a folder" grep -q '^out: ConvNextForImageClassification, ' told.txt
sed 's|"model": .*|"model": {"name": "convnext"}, "load_weights": "out",|; /"layer_scale_init_value"/d' run.json >second.json
check "gives its settings and weights to another run" "$TUTTI" eval second.json --checkpoint out/model.safetensors
check "with its accuracy" test "$(accuracy first.txt)" = "$(accuracy check.out)"

if [ -e "$standin/libcudart.so.13" ]; then
  mkdir cpu gpu
  on=(--quiet --duration 2ba --set train.batch_size=8 --set 'eval=[]')
  check "on the CPU" "$TUTTI" train run.json "${on[@]}" --set name=cpu --set callbacks.0.folder=cpu/saves --device cpu
  check "on the stand-in" env LD_LIBRARY_PATH="$standin" TUTTI_CUDA_STANDIN=leaks=1 "$TUTTI" train run.json "${on[@]}" \
    --set name=gpu --set callbacks.0.folder=gpu/saves --device cuda
  check "nearly the same weights" python3 "$e2e/near_weights.py" "$(latest cpu)" "$(latest gpu)" 1e-3
else
  skip "the stand-in is not built"
fi
finish
