#!/usr/bin/env bash
# export_folder_test.sh - a checkpoint's model as a folder of Hugging Face's libraries: whole, in shards, with its
# tokenizer, with LoRA's products added; and what is no such model.
. "$(dirname "$0")/lib.sh"
wants_tokenizers
for ((k = 0; k < 200; k++)); do
  echo "$((k * k % 97)) and $((k * 7 % 89))"
done >numbers.txt
python3 - >tokenizer.json <<'PY'
import json
letters = sorted(set("0123456789 and\n"))
print(json.dumps({"version": "1.0", "added_tokens": [], "normalizer": None, "post_processor": None, "decoder": None,
                  "pre_tokenizer": {"type": "Split", "pattern": {"Regex": "."}, "behavior": "Isolated", "invert": False},
                  "model": {"type": "WordLevel", "vocab": {c: k for k, c in enumerate(letters)}, "unk_token": "0"}}))
PY
cat >run.json <<'JSON'
{
  "name": "plain",
  "model": {"name": "llama", "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "hidden_size": 16,
            "intermediate_size": 24, "qkv_bias": true},
  "train": {"dataset": {"name": "text", "path": "numbers.txt", "length": 16, "vocabulary": "tokenizer",
                        "tokenizer_file": "tokenizer.json"}, "batch_size": 8},
  "eval": [{"label": "all", "dataset": {"name": "text", "path": "numbers.txt", "length": 16, "vocabulary": "tokenizer",
                        "tokenizer_file": "tokenizer.json"}, "batch_size": 8, "metrics": [{"name": "language_cross_entropy"}]}],
  "optimizer": {"name": "adamw", "lr": 0.01},
  "callbacks": [{"name": "checkpoint_saver", "folder": "saves/{run_name}"}],
  "max_duration": "4ba",
  "threads": 1
}
JSON
train() { "$TUTTI" train run.json --quiet "$@" >train.txt 2>&1; }
train && saved=$(ls saves/plain/*latest*)
check "a model is trained" test -n "$saved"
loss() { sed -n 's/^all language_cross_entropy *//p' "$1"; }

# ---- the folder ----

"$TUTTI" export "$saved" --huggingface out >told.txt 2>err.txt
check "a folder" grep -Eq '^out: Qwen2ForCausalLM, [0-9]+ weights of [0-9]+ bytes in 1 file, 1 other file$' told.txt
check "without a remark" test ! -s err.txt
check "with the tokenizer" cmp tokenizer.json out/tokenizer.json
check "and a config" python3 -c '
import json
c = json.load(open("out/config.json"))
assert (c["model_type"], c["num_key_value_heads"], c["vocab_size"], c["max_position_embeddings"]) == ("qwen2", 2, 15, 16), c'

# A run that starts from it has the loss, and writes the same bytes again.
sed 's|"num_hidden_layers".*|"rope_theta": 10000.0},|; /"intermediate_size"/d; s|"name": "plain"|"name": "second", "load_weights": "out"|' run.json >second.json
"$TUTTI" eval run.json --checkpoint "$saved" >first.txt
"$TUTTI" eval second.json --checkpoint out/model.safetensors >second.txt
check "another run has its loss" test -n "$(loss first.txt)" -a "$(loss first.txt)" = "$(loss second.txt)"
"$TUTTI" export out/model.safetensors second.json --huggingface again >told.txt
check "in and out again" cmp out/model.safetensors again/model.safetensors
check "with the same config" cmp out/config.json again/config.json

"$TUTTI" export "$saved" --huggingface parts --shard-size 5KB >told.txt
check "in shards" grep -Eq 'in [3-9] files, 1 other file$' told.txt
check "as their index says" python3 -c '
import json, os
m = json.load(open("parts/model.safetensors.index.json"))["weight_map"]
assert set(m.values()) | {"config.json", "tokenizer.json", "model.safetensors.index.json"} == set(os.listdir("parts")), os.listdir("parts")'
"$TUTTI" eval second.json --checkpoint parts/model.safetensors.index.json --set load_weights=parts >parts.txt
check "which have its loss" test "$(loss first.txt)" = "$(loss parts.txt)"
"$TUTTI" export "$saved" --huggingface parts >told.txt
check "one file in their place" test "$(ls parts | sort | tr '\n' ' ')" = 'config.json model.safetensors tokenizer.json '

train --set name=ends --set 'callbacks=[{"name": "checkpoint_saver", "folder": "saves/ends"}, {"name": "export_for_inference", "save_format": "huggingface"}]'
"$TUTTI" export "$(ls saves/ends/*latest*)" --huggingface ends >told.txt
check "a run that writes its folder at the end" cmp runs/ends/model/model.safetensors ends/model.safetensors
check "with the same config" cmp runs/ends/model/config.json ends/config.json

# A folder is enough to go on with a text, and so are a checkpoint and a tokenizer, wherever the data are.
on=(--prompt "12 a" --max-tokens 8 --json)
"$TUTTI" generate "$saved" "${on[@]}" >kept.json
"$TUTTI" generate out "${on[@]}" >made.json 2>err.txt
mv numbers.txt tokenizer.json parts
"$TUTTI" generate "$saved" --tokenizer parts/tokenizer.json "${on[@]}" >named.json
mv parts/numbers.txt parts/tokenizer.json .
check "a folder goes on with a text as its checkpoint does" python3 -c '
import json
kept, made, named = (json.load(open(f"{k}.json")) for k in ("kept", "made", "named"))
assert len(kept["tokens"]) == 8 and kept["tokens"] == made["tokens"] == named["tokens"], (kept, made, named)'
says "a folder without a tokenizer" 2 'tutti: merely/tokenizer.json: is not there; --tokenizer names another' \
  sh -c "mkdir merely && cp out/config.json out/model.safetensors merely && '$TUTTI' generate merely --prompt 1"
says "a folder of another model" 2 'tutti: merely/config.json: no model here reads a model_type of mamba' \
  sh -c "sed -i s/qwen2/mamba/ merely/config.json && '$TUTTI' generate merely --prompt 1"

# ---- LoRA ----

lora='algorithms=[{"name": "lora", "target": ["*_proj"], "rank": 2}]'
train --set name=lora --set "$lora"
adapted=$(ls saves/lora/*latest*)
says "adapters are of no published model" 1 \
  'tutti: model.layers.0.self_attn.q_proj is lora_linear, and not what the model has there, linear: an algorithm has changed it' \
  "$TUTTI" export "$adapted" --huggingface x
check "which leaves nothing" test ! -e x
"$TUTTI" export "$adapted" --huggingface merged --set algorithms.0.merge=true >told.txt
check "their products are added" grep -q '^merged: Qwen2ForCausalLM' told.txt
"$TUTTI" eval run.json --set name=lora --set "$lora" --checkpoint "$adapted" >lora.txt
"$TUTTI" eval second.json --checkpoint merged/model.safetensors --set load_weights=merged >merged.txt
check "and the loss is the adapters'" awk -v a="$(loss lora.txt)" -v b="$(loss merged.txt)" 'BEGIN { d = a - b; exit !(a > 0 && d < 1e-4 && d > -1e-4) }'

# ---- what cannot be ----

says "neither" 2 'tutti: export needs --onnx FILE or --huggingface FOLDER' "$TUTTI" export "$saved"
says "both" 2 'tutti: export needs either --onnx or --huggingface' "$TUTTI" export "$saved" --onnx x --huggingface x
says "no size" 2 'tutti: --shard-size is "much", want a size such as 2GB or 300MB' "$TUTTI" export "$saved" --huggingface x --shard-size much
says "an option of the other" 2 'tutti: --batch is of --onnx' "$TUTTI" export "$saved" --huggingface x --batch 3
train --set name=both --set model.qk_norm=true
says "a model that has no such config" 1 \
  'tutti: no config.json says what this llama is: LlamaForCausalLM: attention_bias would be true and false; Qwen2ForCausalLM: qk_norm is true here and false there; Qwen3ForCausalLM: attention_bias would be true and false' \
  "$TUTTI" export "$(ls saves/both/*latest*)" --huggingface x
small_run >mlp.json
"$TUTTI" train mlp.json --quiet --duration 1ba --set 'callbacks=[{"name": "checkpoint_saver", "folder": "saves/mlp"}]' >train.txt 2>&1
says "a model without published files" 1 \
  "tutti: mlp: no published.json beside its plugin says how a folder of Hugging Face's has it" \
  "$TUTTI" export "$(ls saves/mlp/*latest*)" --huggingface x
says "a folder that cannot be" 1 'tutti: numbers.txt/model.safetensors: cannot make a temporary file beside it: Not a directory' \
  "$TUTTI" export "$saved" --huggingface numbers.txt
finish
