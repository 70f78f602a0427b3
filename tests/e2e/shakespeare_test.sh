#!/usr/bin/env bash
# shakespeare_test.sh - a small GPT learns a text by its characters, and goes on from a prompt.
. "$(dirname "$0")/lib.sh"

# Sentences of a small grammar, 6,000 characters: what can be known of the next is worth about 0.4 nats.
for ((k = 0; k < 200; k++)); do
  who=(king queen fool) does=(loves mocks) whom=(rome paris)
  echo "the ${who[k * 7 % 3]} ${does[k * 5 / 3 % 2]} ${whom[k / 2 % 2]}."
done >play.txt

cat >gpt.json <<'JSON'
{
  "name": "gpt",
  "seed": 5,
  "model": {"name": "gpt2", "n_layer": 2, "n_head": 2, "n_embd": 32},
  "train": {
    "dataset": {"name": "text", "path": "play.txt", "vocabulary": "chars", "length": 16, "stride": 3, "split": "train"},
    "batch_size": 16
  },
  "eval": [{
    "label": "validation",
    "dataset": {"name": "text", "path": "play.txt", "vocabulary": "chars", "length": 16, "split": "validation"},
    "batch_size": 8, "interval": "100ba",
    "metrics": [{"name": "language_cross_entropy"}, {"name": "perplexity"}]
  }],
  "optimizer": {"name": "adamw", "lr": 0.01},
  "schedulers": [{"name": "cosine_annealing_with_warmup", "t_warmup": "10ba"}],
  "callbacks": [
    {"name": "generate", "prompts": ["the king ", "the "], "max_new_tokens": 40, "temperature": 0, "interval": "50ba"},
    {"name": "generate", "id": "drawn", "prompts": ["the "], "max_new_tokens": 40, "top_k": 5, "interval": "100ba"},
    {"name": "checkpoint_saver", "folder": "saves", "interval": "75ba"}
  ],
  "loggers": [{"name": "jsonl"}],
  "max_duration": "100ba",
  "threads": 2
}
JSON
check "a GPT is trained" "$TUTTI" train gpt.json
python3 - >texts.txt <<'PY'
import json, math
rows = [json.loads(line) for line in open("runs/gpt/log.jsonl")]
values = {}
for row in rows:
    if row["kind"] == "metrics":
        values.update(row["values"])
loss = values["metrics/validation/language_cross_entropy"]
ratio = values["metrics/validation/perplexity"] / math.exp(loss)
print("learned" if loss < 0.6 else f"loss {loss}")
print("perplexity" if abs(ratio - 1) < 1e-6 else f"ratio {ratio}")
for row in rows:
    if row["kind"] == "message" and row["component"] == "generate":
        print(row["text"])
PY
check "it has learned the grammar" grep -qx learned texts.txt
check "perplexity is exp of the cross-entropy" grep -qx perplexity texts.txt
check "texts come at the interval and at the end" test "$(grep -c '^after batch' texts.txt)" = 4
check "the first is after 50 batches" grep -qx 'after batch 50, from prompt 0:' texts.txt
sed -n '/^after batch 100, from prompt 0/,/^after batch 100, from prompt 1/p' texts.txt >last.txt
check "it speaks in sentences of the grammar" grep -qxE '\| the king (loves|mocks) (rome|paris)\.' last.txt

# The same draws from a checkpoint between texts.
sed 's/"name": "gpt",/"name": "again",/; s/"saves"/"again"/' gpt.json >again.json
check "a run is resumed" "$TUTTI" train again.json --resume saves/*-ba75.safetensors
texts() { grep '"drawn"' "runs/$1/log.jsonl" | grep -o '"text":.*'; }
check "and prints the same" test -n "$(texts gpt)" -a "$(texts gpt)" = "$(texts again)"

says "a prompt that has no tokens" 1 \
  'tutti: generate on fit_start: prompt 0: the text to encode: the vocabulary does not have the character U+004B at byte 0' \
  "$TUTTI" train gpt.json --set 'callbacks.0.prompts=["King"]' --set name=other --set callbacks.2.folder=other

# llm.c's tokens: 0 1 2 ... 49, again and again, which mean nothing to us.
python3 - <<'PY'
import struct
for part in range(2):
    tokens = [k % 50 for k in range(part, 600 + part)]
    with open(f"part_{part}.bin", "wb") as f:
        f.write(struct.pack("<256i", 20240520, 1, len(tokens), *[0] * 253))
        f.write(struct.pack(f"<{len(tokens)}H", *tokens))
PY
sed 's|"name": "text", "path": "play.txt", "vocabulary": "chars", "length": 16.*}|"name": "tokens_bin", "path": "part_*.bin", "length": 16, "vocabulary_size": 50}|' \
  gpt.json >tokens.json
says "tokens without a meaning" 1 \
  'tutti: generate on fit_start: the training dataset has no tutti.vocabulary/1, so its tokens mean nothing; text has one, and tokens_bin with vocab_file and merges_file' \
  "$TUTTI" train tokens.json
sed -i '/"generate"/d; s/"name": "gpt",/"name": "tokens",/; s/"saves"/"tokens"/' tokens.json
"$TUTTI" train tokens.json >out.txt 2>&1
check "token files are learned" grep -qE '^validation language_cross_entropy: 0\.[0-3]' out.txt

recipe=$SOURCE/host/recipes/shakespeare_gpt.json
check "the recipe is valid" "$TUTTI" validate "$recipe"
data=$TUTTI_TEST_DATA/tinyshakespeare/input.txt
if [ -r "$data" ]; then
  check "the recipe runs, smaller" "$TUTTI" train "$recipe" --set train.dataset.path="$data" \
    --set eval.0.dataset.path="$data" --set eval.0.subset_num_batches=1 --set max_duration=2ba \
    --set train.batch_size=4 --set eval.0.batch_size=4 --set callbacks.0.max_new_tokens=5
else
  skip "there is no $data"
fi
finish
