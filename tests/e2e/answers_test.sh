#!/usr/bin/env bash
# answers_test.sh - metrics of texts that a language model generates in an evaluation: numbers in English, answered in
# German, of which it learns some and is asked others; the same by `eval` and `generate`, in parts, with the stand-in of a
# GPU; and data, models and metrics that do not fit.
. "$(dirname "$0")/lib.sh"
wants_tokenizers
standin="$(dirname "$TUTTI")/standin"

python3 - <<'PY'
import json, random
units = dict(zip("one two three four five six seven eight nine".split(), "ein zwei drei vier fünf sechs sieben acht neun".split()))
tens = dict(zip("twenty thirty forty fifty sixty seventy eighty ninety".split(),
                "zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig".split()))
words = [" " + w for w in [*units, *tens, "is", *units.values(), "und", *tens.values()]]
vocab = {"<pad>": 0, "<end>": 1, "?": 2} | {w: 3 + k for k, w in enumerate(words)}
json.dump({"added_tokens": [{"id": 0, "content": "<pad>", "special": True}, {"id": 1, "content": "<end>", "special": True}],
           "pre_tokenizer": {"type": "Split", "pattern": {"String": " "}, "behavior": "MergedWithNext", "invert": False},
           "model": {"type": "WordLevel", "unk_token": "?", "vocab": vocab}, "decoder": {"type": "Fuse"}}, open("tokenizer.json", "w"))
pairs = [(f" {ten} {unit} is", [f" {units[unit]} und {tens[ten]}", f" und {tens[ten]} {units[unit]}"]) for ten in tens for unit in units]
random.Random(5).shuffle(pairs)
for name, part in (("learnt", pairs[:54]), ("asked", pairs[54:])):
    with open(f"{name}.jsonl", "w") as f:
        for prompt, completion in part:
            print(json.dumps({"prompt": prompt, "completion": completion if name == "asked" else completion[0]}), file=f)
PY
# of <file> <references>
of() {
  echo "{\"name\": \"documents\", \"path\": \"$work/$1.jsonl\", \"tokenizer_file\": \"$work/tokenizer.json\", \"content\": \"completion\",
    \"end_token\": \"<end>\", \"too_long\": \"refuse\", \"length\": 8, \"references\": $2}"
}
metrics='[{"name": "bleu_score", "n_gram": 2}, {"name": "rouge_score", "rouge_key": "rougeL"}]'
cat >run.json <<JSON
{"name": "numbers", "seed": 2, "threads": 1, "model": {"name": "gpt2", "n_layer": 2, "n_head": 2, "n_embd": 32},
 "train": {"dataset": $(of learnt 0), "batch_size": 16, "workers": 1},
 "eval": [{"label": "asked", "dataset": $(of asked 2), "batch_size": 10, "workers": 1, "interval": "0.5dur", "metrics": $metrics,
           "generate": {"max_new_tokens": 6, "stop": "<end>"}},
          {"label": "one", "dataset": $(of asked 2), "batch_size": 10, "workers": 1, "interval": "1dur", "metrics": [{"name": "loss"}]},
          {"label": "words", "dataset": $(of learnt 1), "batch_size": 10, "workers": 1, "interval": "1dur", "metrics": [{"name": "word_error_rate"}],
           "generate": {"max_new_tokens": 6, "stop": "<end>"}}],
 "callbacks": [{"name": "checkpoint_saver", "folder": "saves", "interval": "1dur", "keep": 1}],
 "optimizer": {"name": "adam", "lr": 0.005}, "max_duration": "600ba", "schedulers": [{"name": "linear_with_warmup", "t_warmup": "0.1dur", "alpha_f": 0.0}]}
JSON
check "a model that has learnt nothing" "$TUTTI" train run.json --quiet --set max_duration=1ba --set callbacks=[]
check "answers badly" awk '/^asked bleu_score/ {exit !($3 < 0.2)}' check.out
short=(--quiet --set max_duration=40ba --set callbacks.0.keep=-1)
check "a short run" "$TUTTI" train run.json "${short[@]}" --set name=whole --set callbacks.0.folder=whole
grep ': [0-9]' check.out >scores.txt
"$TUTTI" train run.json "${short[@]}" --set name=cut --set callbacks.0.folder=cut --plugin-path "$(dirname "$TUTTI")/tests/fixtures/unruly" \
  --set 'handlers=[{"on": "eval_before_forward", "call": "unruly.interrupt_at", "args": [2]}]' >cut.txt 2>&1
check "a signal amid answers stops it" test $? -eq 130 || cat cut.txt
check "and it is saved" grep -q 'after batch 20, which is saved' cut.txt || cat cut.txt
check "and goes on" "$TUTTI" train run.json "${short[@]}" --set name=cut --set callbacks.0.folder=cut --resume auto
check "to the same scores of answers" cmp scores.txt <(grep ': [0-9]' check.out)
check "and the same state" python3 "$e2e/same_weights.py" whole/latest.safetensors cut/latest.safetensors
for rank in 0 1; do # the first one is to answer for minutes
  TUTTI_RANK=$rank TUTTI_WORLD_SIZE=2 TUTTI_JOB=$work timeout 30 "$TUTTI" train run.json "${short[@]}" --set name=ranks --set callbacks.0.folder=ranks \
    --set microbatch_size=8 --set 'distributed={"comm": "shared_memory"}' --set 'eval.0.generate={"max_new_tokens": 65536}' \
    --set "eval.0.dataset=$(of learnt 2)" --set eval.0.batch_size=27 \
    --plugin-path "$(dirname "$TUTTI")/tests/fixtures/unruly" \
    --set 'handlers=[{"on": "eval_before_forward", "call": "unruly.interrupt_at", "args": [1], "rank": 1}]' >"rank$rank.txt" 2>&1 &
done
statuses=()
for rank in $(jobs -p); do
  wait "$rank"
  statuses+=($?)
done
check "a signal at a rank ends the answers of another one" test "${statuses[*]}" = "130 130" || cat rank?.txt
check "and both say what is saved" test "$(grep -l 'after batch 20, which is saved' rank?.txt | wc -l)" -eq 2 || cat rank?.txt
check "a model learns to answer" "$TUTTI" train run.json --quiet
cp check.out said.txt
check "what it has not seen" awk '/^asked bleu_score/ {bleu = $3} /^asked rouge_score/ {rouge = $3} END {exit !(bleu > 0.9 && rouge > 0.9)}' said.txt
check "and what it has" awk '/^words word_error_rate/ {exit !($3 < 0.02)}' said.txt
check "evaluated in parts" "$TUTTI" eval run.json --checkpoint auto --quiet --set eval.0.microbatch_size=3 --set eval.2.batch_size=54
grep -v ^train said.txt | grep ': [0-9]' >scores.txt
check "to the same scores" cmp scores.txt <(grep ': [0-9]' check.out)
python3 - <<'PY'
import json
line = json.loads(open("asked.jsonl").readline())
open("prompt.txt", "w").write(line["prompt"]), open("answer.txt", "w").write(line["completion"][0] + "\n")
PY
check "generated" "$TUTTI" generate "$(latest .)" --prompt "$(cat prompt.txt)" --max-tokens 6 --stop "<end>" --temperature 0
check "is what is evaluated" grep -qF "$(cat answer.txt)" check.out
check "answers end before the stop text" "$TUTTI" eval run.json --checkpoint auto --quiet --set 'eval.2.generate.stop=" und"'
check "two of three words are not there" awk '/^words word_error_rate/ {exit !($3 > 0.66 && $3 < 0.67)}' check.out
check "and at most where they are said to" "$TUTTI" eval run.json --checkpoint auto --quiet --set 'eval.2.generate={"max_new_tokens": 2}'
check "one of three words is not there" awk '/^words word_error_rate/ {exit !($3 > 0.33 && $3 < 0.34)}' check.out

# Evaluations that generate leave no trace in training.
"$TUTTI" train run.json --quiet --set max_duration=30ba --set callbacks.0.folder=with/saves --set eval.0.interval=7ba >/dev/null 2>&1
"$TUTTI" train run.json --quiet --set max_duration=30ba --set callbacks.0.folder=without/saves --set eval.0.generate=null --set 'eval.0.metrics=[]' --set eval.0.interval=7ba >/dev/null 2>&1
check "weights do not depend on it" python3 "$e2e/same_weights.py" "$(latest with)" "$(latest without)"

if [ -e "$standin/libcudart.so.13" ]; then
  check "on the stand-in" env LD_LIBRARY_PATH="$standin" TUTTI_CUDA_STANDIN=leaks=1 "$TUTTI" eval run.json --checkpoint auto --quiet --device cuda
  check "the same words" cmp <(grep -v '^one' scores.txt) <(grep ': [0-9]' check.out | grep -v '^one')
else
  skip "the stand-in is not built"
fi

says "data without prompts" 1 'tutti: the evaluation asked generates, and its data set documents has no column "prompt"; documents with "references" has prompt and references' \
  "$TUTTI" eval run.json --checkpoint auto --quiet --set "eval.0.dataset=$(of learnt 0)"
says "a metric of classes" 1 'tutti: accuracy: outputs are I32 (10, 6) and targets I32 (10, 2, 8), want F32 (B, N) and I32 or I64 (B), or F32 (B, N); of texts bleu_score, rouge_score or word_error_rate fits these' \
  "$TUTTI" eval run.json --checkpoint auto --quiet --set 'eval.0.metrics=[{"name": "accuracy"}]'
says "the loss of texts" 1 'tutti: loss: texts that are generated have none; of texts bleu_score, rouge_score or word_error_rate fits' \
  "$TUTTI" eval run.json --checkpoint auto --quiet --set 'eval.0.metrics=[{"name": "loss"}]'
says "one reference alone" 1 'tutti: word_error_rate: a sample has 2 references, want one; bleu_score and rouge_score take several' \
  "$TUTTI" eval run.json --checkpoint auto --quiet --set 'eval.0.metrics=[{"name": "word_error_rate"}]'
says "no end of it" 2 'run.json: eval[0].generate: max_new_tokens is missing, want an integer of at least 1 and of at most 65536' \
  "$TUTTI" validate run.json --set 'eval.0.generate={"stop": "x"}'
says "what it has no use for" 2 'run.json: eval[0].generate.temperature: unknown key' \
  "$TUTTI" validate run.json --set eval.0.generate.temperature=1
says "a model that sees what comes" 1 'tutti: bert lets tokens see later ones: it is no language model that goes on with a text' \
  "$TUTTI" train run.json --quiet --set 'model={"name": "bert", "num_hidden_layers": 1, "hidden_size": 24, "num_attention_heads": 2}' --set callbacks=[] --set max_duration=1ba
finish
