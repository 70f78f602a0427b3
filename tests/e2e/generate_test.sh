#!/usr/bin/env bash
# generate_test.sh - tutti generate: the tokens of transformers, with the cache and without; draws, stops, refusals.
. "$(dirname "$0")/lib.sh"

# ---- another program's model, with weights by the rule of tests/peers/generate.py ----

python3 - "$SOURCE/tests/models/generate.json" <<'PY'
import json, struct, sys
said = json.load(open(sys.argv[1]))
header, body = {}, b""
for name, shape in said["weights"].items():
    count, seed = 1, sum(name.encode())
    for n in shape:
        count *= n
    norm = "ln_" in name and name.endswith("weight")
    scale = 0.25 if name == "wte.weight" else 1.5
    raw = struct.pack(f"<{count}f", *(((7919 * k * k + 104729 * k + 31337 * seed) % 65537 / 65537 - 0.5) * scale + norm
                                      for k in range(count)))
    header["transformer." + name] = {"dtype": "F32", "shape": shape, "data_offsets": [len(body), len(body) + len(raw)]}
    body += raw
text = json.dumps(header).encode()
open("model.safetensors", "wb").write(struct.pack("<Q", len(text)) + text + body)
c = said["config"]
model = {"name": "gpt2", "n_layer": c["n_layer"], "n_head": c["n_head"], "n_embd": c["n_embd"],
         "block_size": c["n_positions"], "vocab_size": c["vocab_size"]}
open("any.txt", "w").write("any text\n" * 9)
json.dump({"name": "foreign", "model": model, "max_duration": "1ba", "threads": 2, "optimizer": {"name": "sgd", "lr": 0.1},
           "train": {"dataset": {"name": "text", "path": "any.txt", "length": 16}, "batch_size": 2}}, open("foreign.json", "w"))
PY
cat >compare.py <<'PY'
import json, subprocess, sys
tutti, answers, *more = sys.argv[1:]
for text in json.load(open(answers))["texts"]:
    out = subprocess.run([tutti, "generate", "model.safetensors", "--run", "foreign.json", "--prompt", text["prompt"], "--json",
                          "--max-tokens", str(len(text["tokens"])), *more], capture_output=True, text=True)
    assert out.returncode == 0, out.stderr
    got = json.loads(out.stdout)
    assert got["prompt_tokens"] == list(text["prompt"].encode()), got
    assert got["tokens"] == text["tokens"], (text["prompt"], got["tokens"], text["tokens"])
    assert (got["ended_by"], got["context_shifts"]) == ("max_tokens", 0)
PY
check "greedy tokens are those of transformers" python3 compare.py "$TUTTI" "$SOURCE/tests/models/generate.json"
check "without the cache too" python3 compare.py "$TUTTI" "$SOURCE/tests/models/generate.json" --no-cache

# ---- a run of ours ----

for ((k = 0; k < 200; k++)); do
  echo "$((k * k % 97)) é $((k * 7 % 89))"
done >numbers.txt
cat >run.json <<'JSON'
{
  "name": "own", "model": {"name": "gpt2", "n_layer": 1, "n_head": 2, "n_embd": 16},
  "train": {"dataset": {"name": "text", "path": "numbers.txt", "length": 24, "vocabulary": "chars"}, "batch_size": 16},
  "optimizer": {"name": "adamw", "lr": 0.02}, "max_duration": "12ba", "threads": 2,
  "callbacks": [{"name": "checkpoint_saver", "folder": "saves", "interval": "1dur"}]
}
JSON
check "a run" "$TUTTI" train run.json --quiet
saved=$(latest .)
go() { "$TUTTI" generate "$saved" "$@"; }

go --prompt '12 é ' --max-tokens 60 >cached.txt 2>said.txt
go --prompt '12 é ' --max-tokens 60 --no-cache >whole.txt 2>/dev/null
check "a checkpoint goes on, beyond what the model sees" test "$(wc -m <cached.txt)" -ge 60
check "the same without the cache" cmp cached.txt whole.txt
check "which is told" grep -Eq \
  '^tutti: the text became longer than the 24 tokens that the model sees; the older half of them was forgotten 4 times$' said.txt
printf '12 é ' >prompt.txt
check "a prompt out of a file" sh -c "'$TUTTI' generate '$saved' --file prompt.txt --max-tokens 60 2>/dev/null | cmp - cached.txt"
check "and from standard input" sh -c "'$TUTTI' generate '$saved' --file - --max-tokens 60 <prompt.txt 2>/dev/null | cmp - cached.txt"
drawn() { go --prompt 1 --max-tokens 20 --temperature 2 "$@" 2>/dev/null; }
check "a seed gives its draws again" test "$(drawn --seed 3)" = "$(drawn --seed 3)" -a "$(drawn --seed 3)" != "$(drawn --seed 4)"
check "the likeliest alone is the greedy one" test "$(drawn --top-k 1)" = "$(go --prompt 1 --max-tokens 20 2>/dev/null)" \
  -a "$(drawn --top-p 0)" = "$(drawn --top-k 1)"
go --prompt '12 é ' --max-tokens 24 --json 2>/dev/null >plain.json
check "a stop text ends it before it" python3 - "$TUTTI" "$saved" <<'PY'
import json, subprocess, sys
text = json.load(open("plain.json"))["text"]
stop = text[3:5]
out = subprocess.run([sys.argv[1], "generate", sys.argv[2], "--prompt", "12 é ", "--max-tokens", "24", "--json", "--stop", stop,
                      "--stop", "nothing"], capture_output=True, text=True)
got = json.loads(out.stdout)
assert got["ended_by"] == "stop" and got["text"] == text[:text.index(stop)], (got, text, stop)
PY
go --prompt 12 --max-tokens 8 --verbose >/dev/null 2>said.txt
check "how fast it was is told" grep -Eq '^tutti: prompt of 2 tokens in [0-9.]+ s, 8 tokens in [0-9.]+ s: [0-9.]+ tokens a second$' said.txt

# ---- a tokenizer that makes more tokens of a text than it has bytes ----

cat >tokenizer.json <<'JSON'
{"version": "1.0", "truncation": null, "padding": null, "added_tokens": [],
 "normalizer": {"type": "Replace", "pattern": {"String": "a"}, "content": "bbbbbbbb"},
 "pre_tokenizer": null, "post_processor": null, "decoder": null,
 "model": {"type": "BPE", "dropout": null, "unk_token": null, "continuing_subword_prefix": null,
           "end_of_word_suffix": null, "fuse_unk": false, "byte_fallback": false,
           "vocab": {"a": 0, "b": 1, "c": 2}, "merges": []}}
JSON
for ((k = 0; k < 60; k++)); do printf 'acbca'; done >letters.txt
sed 's/"vocabulary": "chars"/"vocabulary": "tokenizer", "tokenizer_file": "tokenizer.json"/; s/numbers.txt/letters.txt/
  s/"12ba"/"1ba"/; s/"own"/"more"/; s/"saves"/"more"/' run.json >more.json
if reads_tokenizers; then
  check "a run with it" "$TUTTI" train more.json --quiet
  "$TUTTI" generate more/*latest* --prompt a --max-tokens 2 --json >more_tokens.json 2>/dev/null
  check "all of a prompt's tokens are read, and new ones follow" python3 -c 'import json
got = json.load(open("more_tokens.json"))
assert got["prompt_tokens"] == [1] * 8 and len(got["tokens"]) == 2, got'
else
  skip "built without PCRE2 10.40 or utf8proc"
fi

# ---- refusals ----

says "an unknown character" 1 \
  'tutti: the prompt: the text to encode: the vocabulary does not have the character U+20AC at byte 3' go --prompt '12 €'
says "a prompt that the model cannot see whole" 1 'tutti: the prompt has 25 tokens, the model sees 24 at most' \
  go --prompt 1111111111111111111111111
says "no prompt" 2 'tutti: generate needs --prompt TEXT or --file FILE' go
says "two prompts" 2 'tutti: generate needs either --prompt or --file' go --prompt 1 --file prompt.txt
says "an empty one" 1 'tutti: the prompt is empty, want a character or more' go --prompt ''
says "a number out of range" 2 'tutti: --top-p is 1.5, want a number of at least 0 and of at most 1' \
  go --prompt 1 --temperature 1 --top-p 1.5
says "draws without a temperature" 2 'tutti: --top-k needs a --temperature above 0: without one nothing is drawn' \
  go --prompt 1 --top-k 3
says "a file without a run" 2 \
  'tutti: model.safetensors: is no checkpoint of a run; name the run file of its model with --run' \
  "$TUTTI" generate model.safetensors --prompt x
small_run >images.json
says "a model of images" 1 'tutti: mlp does not take rows of tokens: it is no language model' \
  "$TUTTI" generate model.safetensors --run images.json --prompt x
sed 's/"gpt2", "n_layer": 1, "n_head": 2, "n_embd": 16/"bert", "num_hidden_layers": 1, "num_attention_heads": 2, "hidden_size": 16/
  s/"12ba"/"1ba"/; s/"own"/"bert"/; s/"saves"/"bert"/' run.json >bert.json
check "a BERT" "$TUTTI" train bert.json --quiet
"$TUTTI" generate bert/*latest* --prompt 1 >out.txt 2>err.txt
check "which is refused" test $? = 1
check "with the reason" grep -q 'lets tokens see later ones: it is no language model that goes on with a text' err.txt
finish
