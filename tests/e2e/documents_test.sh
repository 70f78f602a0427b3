#!/usr/bin/env bash
# documents_test.sh - a small GPT learns texts of JSON lines in packed rows, whose documents do not see each other,
# completions of a table, and the answers of conversations.
. "$(dirname "$0")/lib.sh"
wants_tokenizers
tokenizer=$SOURCE/plugins/common/tokenizer/recorded/gpt2.json

python3 - <<'PY'
import json
who, does, whom = ("king", "queen", "fool"), ("loves", "mocks"), ("rome", "paris")
lines = [f"the {who[k * 7 % 3]} {does[k * 5 // 3 % 2]} {whom[k // 2 % 2]}." for k in range(120)]
with open("texts.jsonl", "w") as f, open("chat.jsonl", "w") as chat, open("table.csv", "w") as table:
    table.write("\ufeffask,say\n")
    for line in lines:
        f.write(json.dumps({"text": line}) + "\n")
        words = line.split()
        chat.write(json.dumps({"messages": [{"role": "user", "content": words[1]},
                                            {"role": "assistant", "content": " ".join(words[2:])}]}) + "\n")
        table.write(f'"{words[1]}, and?","{line}"\n')
PY

head -c 900 "$tokenizer" >tokenizer.json

model='{"name": "gpt2", "n_layer": 1, "n_head": 2, "n_embd": 32, "block_size": 64}'
# run_of <name> <members of the dataset> <evaluations> <callbacks>
run_of() {
  cat <<JSON
{"name": "$1", "seed": 5, "threads": 1, "model": $model,
 "train": {"dataset": {"name": "documents", "tokenizer_file": "$tokenizer", "pad_token": "<|end|>", $2}, "batch_size": 8},
 "eval": [$3],
 "callbacks": [$4], "optimizer": {"name": "adamw", "lr": 0.01}, "loggers": [{"name": "jsonl"}, {"name": "console"}], "max_duration": "60ba"}
JSON
}
# evaluation <label> <members of the dataset>
evaluation() {
  cat <<JSON
{"label": "$1", "dataset": {"name": "documents", "tokenizer_file": "$tokenizer", "pad_token": "<|end|>", $2},
 "batch_size": 4, "interval": "60ba", "metrics": [{"name": "language_cross_entropy"}]}
JSON
}
# learnt <what> <most>: the last run's loss of training.
learnt() {
  check "$1 are learnt: $(sed -n 's/^train loss: //p' check.out) is at most $2" \
    python3 -c 'import sys; sys.exit(not float(sys.argv[1]) <= float(sys.argv[2]))' \
    "$(sed -n 's/^train loss: //p' check.out)" "$2"
}

texts="\"path\": \"$work/texts.jsonl\", \"end_token\": \"<|end|>\", \"packing\": \"whole\""
# packed <model>: a row of 30 holds one of the documents, a row of 64 two or more, which make no difference to each other.
packed() {
  run_of texts "$texts, \"length\": 64" \
    "$(evaluation alone "$texts, \"length\": 30"), $(evaluation packed "$texts, \"length\": 64")" \
    '{"name": "generate", "prompts": ["the king", "the"], "max_new_tokens": 20, "temperature": 0, "interval": "60ba"}' >texts.json
  "$TUTTI" train texts.json >out.txt 2>&1
  check "a prompt goes on: $1" grep -E "the king (loves|mocks) (rome|paris)\\." out.txt
  cp out.txt check.out
  learnt "texts in packed rows of $1" 0.3
  check "documents of a row do not see each other: $1" python3 - <<'PY'
import re
found = dict(re.findall(r"^(\w+) language_cross_entropy: ([0-9.]+)$", open("out.txt").read(), re.M))
assert abs(float(found["alone"]) - float(found["packed"])) < 2e-4 and float(found["alone"]) < 0.3, found
PY
}
packed gpt2
gpt=$model
model='{"name": "llama", "num_hidden_layers": 1, "hidden_size": 32, "intermediate_size": 64, "num_attention_heads": 2, "num_key_value_heads": 1}'
packed llama
model=$gpt

chat="\"path\": \"$work/chat.jsonl\", \"content\": \"messages\", \"packing\": \"cut\", \"length\": 48"
run_of chat "$chat, \"template\": \"<|start|>{role}\\n{content}<|end|>\"" "" "" >chat.json
check "conversations" "$TUTTI" train chat.json --quiet
learnt answers 0.6

table="\"path\": \"$work/table.csv\", \"content\": \"completion\", \"prompt_field\": \"ask\", \"completion_field\": \"say\""
run_of table "$table, \"end_token\": \"<|end|>\", \"length\": 48" "" "" >table.json
check "completions of a table" "$TUTTI" train table.json --quiet
learnt completions 0.4

# Rows of one document say where it ends.
warmup='[{"name": "seq_length_warmup", "duration": 0.8, "min_seq_length": 8, "max_seq_length": 48, "step_size": 8, "preserve_end_of_sequence": true}]'
check "sequences grow, with their ends" "$TUTTI" train table.json --quiet --set name=ends --set max_duration=20ba --set "algorithms=$warmup"
loss() { sed -n 's/^train loss: //p' check.out; }
ends=$(loss)
check "which are others than those of short ones" "$TUTTI" train table.json --quiet --set name=cut --set max_duration=20ba \
  --set "algorithms=${warmup/true/false}"
check "as the loss tells" test -n "$ends" -a "$ends" != "$(loss)"
says "rows of several have no one end" 1 \
  'tutti: seq_length_warmup on after_dataloader: preserve_end_of_sequence needs a column attention_mask (B, T)' \
  "$TUTTI" train chat.json --quiet --set name=several --set "algorithms=$warmup"

says "a tokenizer that is broken gets one sentence" 2 \
  "tutti: dataset documents cannot be opened: tokenizer.json:1: string or '}' expected near end of file" \
  "$TUTTI" train <(run_of texts "$texts" "" "" | sed "s|$tokenizer|$work/tokenizer.json|")
finish
