#!/usr/bin/env bash
# finetune_bert_test.sh - the recipe finetune_bert: classes of texts in CSV, from a folder whose model filled in masked tokens.
. "$(dirname "$0")/lib.sh"
wants_tokenizers
python3 - <<'PY'
import csv, json, random
draw = random.Random(5)
words = ["[PAD]", "[CLS]", "[SEP]", "[UNK]", "seven"] + [f"w{k}" for k in range(12)]
json.dump({"added_tokens": [{"id": k, "content": words[k], "special": True} for k in range(4)],
           "pre_tokenizer": {"type": "WhitespaceSplit"},
           "model": {"type": "WordLevel", "unk_token": "[UNK]", "vocab": {w: k for k, w in enumerate(words)}}},
          open("tokenizer.json", "w"))
# A text is of class "with, seven" where that word occurs in it; texts are of many lengths.
for part, count in (("train", 256), ("test", 64)):
    with open(f"{part}.csv", "w", newline="") as out:
        rows = csv.writer(out)
        rows.writerow(["label", "text"])
        for k in range(count):
            text = [draw.choice(words[5:]) for _ in range(draw.randrange(5, 13))]
            for _ in range(3 * (k % 2)):
                text[draw.randrange(len(text))] = "seven"
            rows.writerow([["without", "with, seven"][k % 2], " ".join(text)])
open("text.txt", "w").write("0123456789 abcdefgh " * 60)
PY
cat >base.json <<'JSON'
{
  "name": "base",
  "model": {"name": "bert", "num_hidden_layers": 1, "num_attention_heads": 2, "hidden_size": 16, "vocab_size": 260, "dropout": 0.0},
  "train": {"dataset": {"name": "text", "path": "text.txt", "length": 14}, "transforms": [{"name": "mask_tokens"}], "batch_size": 16},
  "optimizer": {"name": "adamw", "lr": 0.01},
  "callbacks": [{"name": "export_for_inference", "save_format": "huggingface", "save_path": "base"}],
  "max_duration": "4ba", "threads": 1
}
JSON
check "a base" "$TUTTI" train base.json --quiet
for part in train eval.0; do
  file=${part/eval.0/test}.csv
  set -- "$@" --set $part.dataset.path=$file --set $part.dataset.tokenizer_file=tokenizer.json --set $part.dataset.length=14
done
check "the recipe" "$TUTTI" train finetune_bert --quiet --threads 1 --set load_weights="$work/base" "$@" \
  --set optimizer.lr=0.01 --set max_duration=12ep --set 'loggers=[{"name": "jsonl"}]' \
  --set 'callbacks=[{"name": "checkpoint_saver"}, {"name": "eval_output_logging"}]'
cp check.out out.txt
check "takes what the folder has" grep -Eq 'gives [0-9]+ of [0-9]+ weights' out.txt
check "learns the classes, where guesses have 0.5" awk '/^test accuracy/ { found = $NF > 0.8 } END { exit !found }' out.txt
check "tables of answers have the labels of the file" python3 - <<'PY'
import csv, glob, json
want = [r["label"] for r in csv.DictReader(open("test.csv"))]
(log,) = glob.glob("runs/finetune_bert/*.jsonl")
table = [r for r in map(json.loads, open(log)) if r["kind"] == "table"][-1]
assert table["columns"][:3] == ["outputs", "labels", "correct"], table["columns"]
assert [r[1] for r in table["data"]] == want, table["data"]
assert all((r[0] == r[1]) == r[2] and r[0] in set(want) for r in table["data"]), table["data"]
PY
predict() { "$TUTTI" predict finetune_bert --checkpoint runs/finetune_bert/checkpoints/latest.safetensors --threads 1 --set load_weights="$work/base" "$@"; }
check "predictions as CSV" predict "$@" --output said.csv
check "predictions as JSON lines" predict "$@" --output said.jsonl
check "have the labels of the file" python3 - <<'PY'
import csv, json
want = [r["label"] for r in csv.DictReader(open("test.csv"))]
said = list(csv.DictReader(open("said.csv")))
lines = [json.loads(line) for line in open("said.jsonl")]
assert [r["class"] for r in said] == [r["class"] for r in lines] and len(said) == len(want)
assert all(r["class"] == ["with, seven", "without"][float(r["output_1"]) > float(r["output_0"])] for r in said)
assert sum(a["class"] == b for a, b in zip(said, want)) > 0.8 * len(want), said
PY
"$TUTTI" export runs/finetune_bert/checkpoints/latest.safetensors --huggingface out >told.txt
check "and goes out as such" grep -q '^out: BertForSequenceClassification, ' told.txt
finish
