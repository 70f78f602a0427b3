#!/usr/bin/env bash
# finetune_bert_test.sh - the recipe finetune_bert: classes of sequences, from a folder whose model filled in masked tokens.
. "$(dirname "$0")/lib.sh"
python3 - <<'PY'
import random, struct
def npy(name, kind, shape, values):
    text = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    code = {"<i4": "i", "<i8": "q"}[kind]
    open(name, "wb").write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode()
                           + struct.pack(f"<{len(values)}{code}", *values))
draw = random.Random(5)
# A sequence is of class 1 where token 7 occurs in it.
for part, count in (("train", 256), ("test", 64)):
    labels = [k % 2 for k in range(count)]
    rows = [[draw.randrange(8, 20) for _ in range(12)] for _ in labels]
    for row, label in zip(rows, labels):
        for _ in range(3 * label):
            row[draw.randrange(12)] = 7
    npy(f"{part}_ids.npy", "<i4", (count, 12), [x for row in rows for x in row])
    npy(f"{part}_labels.npy", "<i8", (count,), labels)
open("text.txt", "w").write("0123456789 abcdefgh " * 60)
PY
cat >base.json <<'JSON'
{
  "name": "base",
  "model": {"name": "bert", "num_hidden_layers": 1, "num_attention_heads": 2, "hidden_size": 16, "vocab_size": 260, "dropout": 0.0},
  "train": {"dataset": {"name": "text", "path": "text.txt", "length": 12}, "transforms": [{"name": "mask_tokens"}], "batch_size": 16},
  "optimizer": {"name": "adamw", "lr": 0.01},
  "callbacks": [{"name": "export_for_inference", "save_format": "huggingface", "save_path": "base"}],
  "max_duration": "4ba", "threads": 1
}
JSON
check "a base" "$TUTTI" train base.json --quiet
check "the recipe" "$TUTTI" train finetune_bert --quiet --threads 1 --set load_weights="$work/base" --set train.dataset.inputs=train_ids.npy \
  --set train.dataset.targets=train_labels.npy --set eval.0.dataset.inputs=test_ids.npy --set eval.0.dataset.targets=test_labels.npy \
  --set optimizer.lr=0.01 --set max_duration=12ep
cp check.out out.txt
check "takes what the folder has" grep -Eq 'gives [0-9]+ of [0-9]+ weights' out.txt
check "learns the classes, where guesses have 0.5" awk '/^test accuracy/ { found = $NF > 0.8 } END { exit !found }' out.txt
"$TUTTI" export runs/finetune_bert/checkpoints/latest.safetensors --huggingface out >told.txt
check "and goes out as such" grep -q '^out: BertForSequenceClassification, ' told.txt
finish
