#!/usr/bin/env bash
# lora.sh [FOLDER [MODEL]] - a language model learns to follow instructions by LoRA: adapters, a merged folder, an answer.
# MODEL is a folder of Hugging Face's with config.json, safetensors and tokenizer.json, of Llama's shape.  Without it a
# small model of a made-up language takes its place.  Needs tutti in PATH, or its path in TUTTI.
set -euo pipefail
tutti=${TUTTI:-tutti}
model=${2:+$(realpath "$2")}
mkdir -p "${1:-.}" && cd "${1:-.}"

python3 - <<'PY'
import json
words = ["red", "green", "blue", "dog", "cat", "bird", "sees", "the", "a"]
roles = ["<|im_start|>", "<|im_end|>", "user", "assistant", "\n"]
json.dump({"version": "1.0", "normalizer": None, "post_processor": None, "decoder": {"type": "Fuse"},
           "added_tokens": [{"id": k, "content": t, "special": True} for k, t in enumerate(roles)],
           "pre_tokenizer": {"type": "Split", "pattern": {"Regex": "[a-z]+| "}, "behavior": "Isolated", "invert": False},
           "model": {"type": "WordLevel", "unk_token": " ",
                     "vocab": {w: k for k, w in enumerate(roles + [" "] + words)}}}, open("tokenizer.json", "w"))
with open("texts.jsonl", "w") as texts, open("instructions.jsonl", "w") as chat:
    for k in range(64):
        colour, animal = words[k % 3], words[3 + k // 3 % 3]
        texts.write(json.dumps({"text": f"the {colour} {animal} sees a {words[(k + 1) % 3]} {animal}"}) + "\n")
        chat.write(json.dumps({"messages": [{"role": "user", "content": f"the {colour} {animal}"},
                                            {"role": "assistant", "content": f"{animal} {colour}"}]}) + "\n")
PY
if [ -z "$model" ]; then
  cat >base.json <<'JSON'
{
  "name": "base",
  "model": {"name": "llama", "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "hidden_size": 32,
            "intermediate_size": 64},
  "train": {"dataset": {"name": "documents", "path": "texts.jsonl", "tokenizer_file": "tokenizer.json", "length": 24}, "batch_size": 16},
  "optimizer": {"name": "adamw", "lr": 0.01},
  "callbacks": [{"name": "export_for_inference", "save_format": "huggingface", "save_path": "base"}],
  "max_duration": "20ep",
  "threads": 1
}
JSON
  "$tutti" train base.json --quiet
  model=$PWD/base
fi

# The folder's config.json gives the model's settings; only the adapters are trained.
"$tutti" train finetune_llama_lora --quiet --threads 1 --set name=answers --set load_weights="$model" \
  --set train.dataset.path=instructions.jsonl --set train.dataset.tokenizer_file="$model/tokenizer.json" \
  --set train.dataset.length=24 --set optimizer.lr=0.003 --set max_duration=60ep --set 'algorithms.0.target=["*_proj"]' \
  --set algorithms.0.save_adapter="$PWD/adapter"
ls adapter

# Merged, it is a model like any other.
"$tutti" export runs/answers/checkpoints/latest.safetensors --huggingface merged --set algorithms.0.merge=true \
  --set algorithms.0.save_adapter=null
"$tutti" generate merged --stop '<|im_end|>' --max-tokens 8 --prompt '<|im_start|>user
the red bird<|im_end|>
<|im_start|>assistant
'
