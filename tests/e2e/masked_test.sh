#!/usr/bin/env bash
# masked_test.sh - a small BERT learns a text by what is hidden from it, and is resumed exactly.
. "$(dirname "$0")/lib.sh"

# A refrain: what is hidden follows from its place.
for ((k = 0; k < 150; k++)); do echo "the fox"; done >play.txt

sed "s|PLAY|$work/play.txt|" >bert.json <<'JSON'
{
  "name": "bert",
  "seed": 5,
  "model": {"name": "bert", "num_hidden_layers": 2, "num_attention_heads": 2, "hidden_size": 32},
  "train": {
    "dataset": {"name": "text", "path": "PLAY", "vocabulary": "chars", "length": 24, "stride": 8, "split": "train"},
    "transforms": [{"name": "mask_tokens"}],
    "batch_size": 16, "workers": 2
  },
  "eval": [{
    "label": "validation",
    "dataset": {"name": "text", "path": "PLAY", "vocabulary": "chars", "length": 24, "split": "validation"},
    "transforms": [{"name": "mask_tokens"}],
    "batch_size": 8, "interval": "60ba",
    "metrics": [{"name": "language_cross_entropy"}, {"name": "masked_accuracy"}]
  }],
  "optimizer": {"name": "adamw", "lr": 0.01},
  "schedulers": [{"name": "linear_with_warmup", "t_warmup": "10ba"}],
  "callbacks": [{"name": "checkpoint_saver", "folder": "saves", "interval": "60ba", "keep": 2}],
  "loggers": [{"name": "jsonl"}],
  "max_duration": "60ba",
  "threads": 2
}
JSON
check "a BERT is trained" "$TUTTI" train bert.json
python3 - >values.txt <<'PY'
import json
values = {}
for line in open("runs/bert/log.jsonl"):
    row = json.loads(line)
    if row["kind"] == "metrics":
        values.update(row["values"])
loss = values["metrics/validation/language_cross_entropy"]
right = values["metrics/validation/masked_accuracy"]
print("learned" if loss < 0.6 else f"loss {loss}")
print("right" if right > 0.8 else f"accuracy {right}")
PY
check "it has learned the refrain" grep -qx learned values.txt
check "most of what is hidden comes out right" grep -qx right values.txt
sed 's/"60ba", "keep"/"1ba", "keep"/; s/"60ba"/"17ba"/g' bert.json >short.json
same "draws of masks and dropout" short.json

# Labels of whole sequences, from the same encoder.
python3 - <<'PY'
import struct
def npy(path, kind, shape, values):
    head = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}"
    head += " " * (-(len(head) + 11) % 64) + "\n"
    with open(path, "wb") as f:
        f.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode())
        f.write(struct.pack(f"<{len(values)}{'i' if kind == '<i4' else 'q'}", *values))
rows = [[(k * 37 + t * 11) % 40 for t in range(12)] for k in range(256)]
npy("tokens.npy", "<i4", (256, 12), [t for row in rows for t in row])
npy("labels.npy", "<i8", (256,), [int(7 in row) for row in rows])
PY
cat >classes.json <<'JSON'
{
  "name": "classes",
  "seed": 5,
  "model": {"name": "bert", "head": "classification", "vocab_size": 40, "num_hidden_layers": 1, "num_attention_heads": 2, "hidden_size": 32, "dropout": 0.0},
  "train": {"dataset": {"name": "npy", "inputs": "tokens.npy", "targets": "labels.npy"}, "batch_size": 32},
  "eval": [{
    "label": "same", "dataset": {"name": "npy", "inputs": "tokens.npy", "targets": "labels.npy"},
    "batch_size": 32, "metrics": [{"name": "accuracy"}]
  }],
  "optimizer": {"name": "adamw", "lr": 0.003},
  "max_duration": "24ep",
  "threads": 2
}
JSON
check "a BERT learns labels" "$TUTTI" train classes.json
cp check.out classes.out
check "and knows them" grep -qE '^same accuracy: (1\.0|0\.9)' classes.out

recipe=$SOURCE/host/recipes/shakespeare_bert.json
check "the recipe is valid" "$TUTTI" validate "$recipe"
data=$TUTTI_TEST_DATA/tinyshakespeare/input.txt
if [ -r "$data" ]; then
  check "the recipe runs, smaller" "$TUTTI" train "$recipe" --set train.dataset.path="$data" \
    --set eval.0.dataset.path="$data" --set eval.0.subset_num_batches=1 --set max_duration=2ba \
    --set train.batch_size=4 --set eval.0.batch_size=4
else
  skip "there is no $data"
fi

# Texts that stay on a device are masked there, with the same draws.
shadow="$(dirname "$TUTTI")/tests/devices/plugins" standin="$(dirname "$TUTTI")/standin"
short=(--duration 6ba --set eval=[] --set loggers=[] --plugin-path "$shadow")
short+=(--set 'train.transforms=[{"name": "mask_tokens", "special_tokens": [0, 2]}, {"name": "mask_tokens", "random_share": 0.2}]')
saved=(--set 'callbacks=[{"name": "checkpoint_saver", "folder": "here", "interval": "1dur"}]')
check "masked batch by batch" "$TUTTI" train bert.json "${short[@]}" "${saved[@]}"
kept=(--set train.resident=true --set 'callbacks=[{"name": "checkpoint_saver", "folder": "there", "interval": "1dur"}]')
check "kept in memory" "$TUTTI" train bert.json "${short[@]}" "${kept[@]}"
check "ends with the same weights" python3 "$e2e/same_weights.py" here/*latest* there/*latest*
if [ -d "$shadow" ]; then
  rm -rf there
  check "kept on a device" "$TUTTI" train bert.json "${short[@]}" "${kept[@]}" --device shadow
  check "ends with the same weights" python3 "$e2e/same_weights.py" here/*latest* there/*latest*
else
  skip "the shadow device is not built"
fi
if [ -e "$standin/libcudart.so.13" ]; then
  export LD_LIBRARY_PATH="$standin"
  rm -rf here there
  check "batch by batch on the stand-in of a GPU" "$TUTTI" train bert.json "${short[@]}" "${saved[@]}" --device cuda --duration 2ba
  check "kept there" "$TUTTI" train bert.json "${short[@]}" "${kept[@]}" --device cuda --duration 2ba
  check "ends with the same weights" python3 "$e2e/same_weights.py" here/*latest* there/*latest*
else
  skip "the stand-in is not built"
fi

# Inputs of one's own: tokens, and a mask of those that count.
python3 - <<'PY'
import struct
def npy(path, descr, shape, form, values):
    head = repr({"descr": descr, "fortran_order": False, "shape": shape})
    head += " " * (117 - len(head)) + "\n"
    open(path, "wb").write(b"\x93NUMPY\1\0" + struct.pack("<H", len(head)) + head.encode() + struct.pack("<%d%s" % (len(values), form), *values))
tokens = [(3 * k * k + k) % 20 for k in range(8 * 12)]
npy("tokens.npy", "<i4", (8, 12), "i", tokens)
npy("behind.npy", "<i4", (8, 12), "i", [t if k % 12 < 7 else 19 - t for k, t in enumerate(tokens)])  # others behind the seventh
npy("mask.npy", "<i4", (8, 12), "i", [int(k % 12 < 7) for k in range(8 * 12)])
npy("ones.npy", "<i4", (8, 12), "i", [1] * 96)
npy("classes.npy", "<i4", (8,), "i", [k % 2 for k in range(8)])
PY
cat >own.json <<'JSON'
{"name": "own", "seed": 5, "max_duration": "2ba", "threads": 1, "optimizer": {"name": "adamw", "lr": 0.01},
 "model": {"name": "bert", "head": "classification", "num_hidden_layers": 1, "num_attention_heads": 2, "hidden_size": 16, "vocab_size": 20, "dropout": 0.0},
 "train": {"dataset": {"name": "npy", "inputs": "tokens.npy", "targets": "classes.npy", "column_names": ["attention_mask"], "columns": ["mask.npy"]},
           "batch_size": 4, "workers": 1, "transforms": []},
 "eval": [{"label": "all", "batch_size": 8, "workers": 1, "transforms": [],
           "dataset": {"name": "npy", "inputs": "tokens.npy", "targets": "classes.npy", "column_names": ["attention_mask"], "columns": ["mask.npy"]}}],
 "callbacks": [{"name": "checkpoint_saver", "folder": "own_saves", "interval": "2ba"}]}
JSON
check "a model of two inputs is trained on arrays" "$TUTTI" train own.json --quiet
check "what its mask hides does not count" eval '"$TUTTI" predict own.json --checkpoint own_saves/latest.safetensors --output seen.csv >&2 &&
  "$TUTTI" predict own.json --checkpoint own_saves/latest.safetensors --output hidden.csv --set eval.0.dataset.inputs=behind.npy >&2 && cmp seen.csv hidden.csv'
check "and without it does" eval '"$TUTTI" predict own.json --checkpoint own_saves/latest.safetensors --output open.csv --set eval.0.dataset.inputs=behind.npy \
  --set eval.0.dataset.columns=[\"ones.npy\"] >&2; ! cmp seen.csv open.csv'
finish
