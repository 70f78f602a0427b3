#!/usr/bin/env bash
# texts_test.sh - metrics that are more than a number in runs: a language model's predictions as words of its data's vocabulary, against the
# definition on what `predict` writes; the stand-in of a GPU; the table of a confusion matrix; and metrics that are not there or do not fit a task.
. "$(dirname "$0")/lib.sh"
standin="$(dirname "$TUTTI")/standin"

python3 - <<'PY'
import random
random.seed(3)
with open("corpus.txt", "w") as f:
    for _ in range(400):
        f.write(random.choice(("the cat sat on the mat. ", "a dog ran to the gate. ", "one bird sang at noon. ")))
with open("other.txt", "w") as f:
    f.write("quite another text, of which few words are known: " * 20)
PY
of() { echo "{\"name\": \"text\", \"path\": \"$work/$1.txt\", \"length\": 32, \"split\": \"$2\"}"; }
metrics='[{"name": "word_error_rate"}, {"name": "bleu_score", "n_gram": 2}, {"name": "rouge_score", "rouge_key": "rouge1"}]'
cat >run.json <<JSON
{"name": "words", "seed": 2, "threads": 1, "model": {"name": "gpt2", "n_layer": 1, "n_head": 2, "n_embd": 24},
 "train": {"dataset": $(of corpus train), "batch_size": 16, "workers": 1},
 "eval": [{"label": "other", "dataset": $(of other all), "metrics": $metrics},
          {"label": "same", "dataset": $(of corpus validation), "metrics": $metrics}],
 "callbacks": [{"name": "checkpoint_saver", "folder": "saves", "interval": "1dur", "keep": 1}],
 "optimizer": {"name": "adam", "lr": 0.01}, "max_duration": "300ba"}
JSON
check "a language model" "$TUTTI" train run.json --quiet
cp check.out said.txt
check "knows the words of its text, and few of another" python3 - said.txt <<'PY'
import sys
told = {tuple(line.split(": ")[0].split()): float(line.split(": ")[1]) for line in open(sys.argv[1]) if line.startswith(("same ", "other "))}
assert told["same", "word_error_rate"] < 0.6 < told["other", "word_error_rate"], told
for better in ("bleu_score", "rouge_score"):
    assert 0 <= told["other", better] < told["same", better] < 1, told
PY
check "predicted" "$TUTTI" predict run.json --checkpoint auto --output out.npy --quiet
check "as many words are wrong as the definition says" python3 - said.txt <<'PY'
import struct, sys
raw = open("out.npy", "rb").read()
size = struct.unpack("<H", raw[8:10])[0]
shape = eval(raw[10:10 + size].decode())["shape"]
numbers = struct.unpack(f"<{shape[0] * shape[1] * shape[2]}f", raw[10 + size:])
text = open("other.txt", "rb").read()
errors = words = 0
for b in range(shape[0]):
    rows = (numbers[(b * shape[1] + t) * shape[2]:(b * shape[1] + t + 1) * shape[2]] for t in range(shape[1]))
    said = bytes(max(range(len(r)), key=lambda k: r[k]) for r in rows).split()
    want = text[b * 32 + 1:b * 32 + 33].split()
    row = list(range(len(want) + 1))
    for i, a in enumerate(said, 1):
        row, before = [i], row
        for j, c in enumerate(want, 1):
            row.append(min(before[j] + 1, row[-1] + 1, before[j - 1] + (a != c)))
    errors, words = errors + row[-1], words + len(want)
told = next(float(line.split(": ")[1]) for line in open(sys.argv[1]) if line.startswith("other word_error_rate"))
assert abs(errors / words - told) < 1e-4, (errors / words, told)
PY
if [ -e "$standin/libcudart.so.13" ]; then
  check "on the stand-in" env LD_LIBRARY_PATH="$standin" TUTTI_CUDA_STANDIN=leaks=1 "$TUTTI" eval run.json --checkpoint auto --device cuda --quiet
  cp check.out there.txt
  check "nearly the same" python3 - said.txt there.txt <<'PY'
import sys
a, b = ([float(line.split(": ")[1]) for line in open(p) if line.startswith(("same ", "other "))] for p in sys.argv[1:])
assert len(a) == 6 == len(b) and all(abs(x - y) < 0.02 for x, y in zip(a, b)), (a, b)
PY
else
  skip "the stand-in is not built"
fi

says "a metric that is not there" 2 'run.json: eval[0].metrics[0].name: there is no metric blue_score; did you mean bleu_score?' \
  "$TUTTI" validate run.json --set 'eval.0.metrics=[{"name": "blue_score"}]'
small_run >classes.json
check "a confusion matrix" "$TUTTI" train classes.json --quiet --set callbacks=[] --set 'loggers=[{"name": "jsonl"}]' \
  --set 'eval.0.metrics=[{"name": "accuracy"}, {"name": "confusion_matrix", "num_classes": 10}]'
cp check.out matrix.txt
check "is a table of the log, whose diagonal the accuracy counts" python3 - matrix.txt <<'PY'
import json, sys
table = [row for row in map(json.loads, open("runs/small/log.jsonl")) if row["kind"] == "table"][-1]
assert table["name"] == "confusion_matrix/test" and table["columns"] == ["target"] + [str(k) for k in range(10)], table
assert [row[0] for row in table["data"]] == list(range(10)) and sum(sum(row[1:]) for row in table["data"]) == 100
told = dict(line.split(": ") for line in open(sys.argv[1]).read().split("\n") if line.startswith("test "))
assert sum(row[1 + row[0]] for row in table["data"]) == round(100 * float(told["test accuracy"])), told
assert told["test accuracy"] == told["test confusion_matrix"]
PY
for metric in word_error_rate mean_squared_error multilabel_accuracy; do
  settings=; [ $metric = multilabel_accuracy ] && settings=', "num_labels": 10'
  check "$metric of classes is refused" sh -c "! '$TUTTI' train classes.json --quiet --set max_duration=1ba --set callbacks=[] --set 'eval.0.metrics=[{\"name\": \"$metric\"$settings}]' 2>said.err"
  check "in a sentence that names both and what would fit" grep -Eq \
    "^tutti: $metric: outputs are F32 \([0-9]+, 10\) and targets I32 \([0-9]+\), want " said.err
done
finish
