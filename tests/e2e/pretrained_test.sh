#!/usr/bin/env bash
# pretrained_test.sh - a run starts from the weights of a file that another program wrote.
. "$(dirname "$0")/lib.sh"

for ((k = 0; k < 300; k++)); do
  echo "$((k * k % 97)) and $((k * 7 % 89))"
done >numbers.txt

cat >first.json <<'JSON'
{
  "name": "first",
  "model": {"name": "gpt2", "n_layer": 2, "n_head": 2, "n_embd": 16},
  "train": {
    "dataset": {"name": "text", "path": "numbers.txt", "length": 16, "split": "train"},
    "batch_size": 16
  },
  "eval": [{
    "label": "validation",
    "dataset": {"name": "text", "path": "numbers.txt", "length": 16, "split": "validation"},
    "batch_size": 8, "metrics": [{"name": "language_cross_entropy"}]
  }],
  "optimizer": {"name": "adamw", "lr": 0.01},
  "callbacks": [{"name": "checkpoint_saver", "folder": "saves", "interval": "1ep"}],
  "max_duration": "2ep",
  "threads": 2
}
JSON
check "a GPT is trained" "$TUTTI" train first.json
cp check.out first.out

# Its weights as transformers names them, the last first, the masks of old files among them.
mkdir published
python3 - "$(latest .)" published/model.safetensors <<'PY'
import json, struct, sys
data = open(sys.argv[1], "rb").read()
size, = struct.unpack("<Q", data[:8])
header, body = json.loads(data[8:8 + size]), data[8 + size:]
tensors = {"transformer." + k[6:]: (v, body[slice(*v["data_offsets"])])
           for k, v in header.items() if k.startswith("model.")}
tensors["transformer.h.0.attn.bias"] = ({"dtype": "BOOL", "shape": [1, 1, 2, 2]}, b"\1\0\1\1")
out, at, blob = {"__metadata__": {"format": "pt"}}, 0, b""
for name in sorted(tensors, reverse=True):
    entry, raw = tensors[name]
    out[name] = {**entry, "data_offsets": [at, at + len(raw)]}
    at += len(raw)
    blob += raw
text = json.dumps(dict(sorted(out.items()))).encode()
open(sys.argv[2], "wb").write(struct.pack("<Q", len(text)) + text + blob)
PY

# No learning: what is evaluated is what was loaded.
sed 's/"first"/"second"/; s/"lr": 0.01/"lr": 0.0/; /checkpoint_saver/d; s/"2ep"/"1ba"/
  s|"threads": 2|"threads": 2, "load_weights": "published/model.safetensors"|' first.json >second.json
check "a run starts from the file" "$TUTTI" train second.json
result() { grep '^validation language_cross_entropy' "$1"; }
check "and has its loss" test -n "$(result first.out)" -a "$(result first.out)" = "$(result check.out)"

# The folder itself: sizes come from its config.json, and what the run says comes first.
cat >published/config.json <<'JSON'
{"model_type": "gpt2", "activation_function": "gelu_new", "n_layer": 2, "n_head": 2, "n_embd": 16, "n_positions": 16, "n_inner": null}
JSON
sed 's|, "n_layer": 2, "n_head": 2, "n_embd": 16}|}|; s|published/model.safetensors|published|' second.json >third.json
check "a run starts from the folder" "$TUTTI" train third.json
check "and has its loss too" test "$(result first.out)" = "$(result check.out)"
says "a setting of the run" 1 \
  'tutti: published/model.safetensors: ln_f.bias is F32 (16), the model'"'"'s is F32 (32); none of this run'"'"'s 28 weights fits' \
  "$TUTTI" train third.json --set model.n_embd=32
mv published/model.safetensors published/weights
says "a folder without a file that is known" 2 \
  'third.json:15: load_weights: is the folder published, which has neither model.safetensors nor model.safetensors.index.json' \
  "$TUTTI" train third.json
mv published/weights published/model.safetensors
sed -i 's/gelu_new/relu/' published/config.json
says "a config with what the model does not know" 2 \
  'third.json:15: load_weights: published/config.json: activation_function is "relu", of which the model gpt2 knows only ["gelu_new","gelu_pytorch_tanh"]' \
  "$TUTTI" train third.json

says "a file that is not there" 1 \
  'tutti: nowhere: cannot open the checkpoint: No such file or directory' \
  "$TUTTI" train second.json --set load_weights=nowhere
says "another model" 1 \
  'tutti: published/model.safetensors: ln_f.bias is F32 (16), the model'"'"'s is F32 (32); none of this run'"'"'s 28 weights fits' \
  "$TUTTI" train second.json --set model.n_embd=32
finish
