#!/usr/bin/env bash
# llama_test.sh - a small Llama learns a text, and its checkpoint starts another run as a folder with a config.json.
. "$(dirname "$0")/lib.sh"

for ((k = 0; k < 300; k++)); do
  echo "$((k * k % 97)) and $((k * 7 % 89))"
done >numbers.txt

cat >first.json <<'JSON'
{
  "name": "first",
  "model": {
    "name": "llama", "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
    "hidden_size": 32, "intermediate_size": 64, "qk_norm": true
  },
  "train": {"dataset": {"name": "text", "path": "numbers.txt", "length": 32, "split": "train"}, "batch_size": 8},
  "eval": [{
    "label": "validation",
    "dataset": {"name": "text", "path": "numbers.txt", "length": 32, "split": "validation"},
    "batch_size": 8, "metrics": [{"name": "language_cross_entropy"}]
  }],
  "optimizer": {"name": "adamw", "lr": 0.01},
  "callbacks": [{"name": "checkpoint_saver", "folder": "saves", "interval": "1ep"}],
  "max_duration": "5ep",
  "threads": 1
}
JSON
result() { grep '^validation language_cross_entropy' "$1"; }
check "a Llama is trained" "$TUTTI" train first.json
result check.out >first.out
# Even guesses of the text's 15 characters have ln 15 = 2.71.
check "it has learnt" awk '{ exit !($NF < 1.6) }' first.out

mkdir folder
cp "$(latest .)" folder/model.safetensors
cat >folder/config.json <<'JSON'
{"model_type": "qwen3", "hidden_act": "silu", "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
 "hidden_size": 32, "intermediate_size": 64, "head_dim": 8, "rms_norm_eps": 1e-6, "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0}}
JSON
python3 - first.json second.json <<'PY'
import json, sys
run = json.load(open(sys.argv[1]))
run.update(name="second", model={"name": "llama"}, load_weights="folder", max_duration="1ba", callbacks=[])
run["optimizer"]["lr"] = 0.0
json.dump(run, open(sys.argv[2], "w"))
PY
check "another run starts from the folder" "$TUTTI" train second.json
check "and has its loss" test "$(cat first.out)" = "$(result check.out)"
finish
