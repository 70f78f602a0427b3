#!/usr/bin/env bash
# run_file_test.sh - everything wrong with a run file is said at once, with its line.
. "$(dirname "$0")/lib.sh"
small_run >good.json

sed 's/"adamw"/"addamw"/; s/"batch_size": 64/"batch_size": "64"/; s/"threads": 2/"thread": 2/' \
  good.json >bad.json
says "several faults at once" 2 \
'bad.json:19: thread: unknown key; did you mean threads?
bad.json:8: train.batch_size: is "64", want an integer of at least 1 and of at most 16777216
bad.json:16: optimizer.name: there is no optimizer addamw; did you mean adamw?' \
  "$TUTTI" validate bad.json

sed 's/"lr": 0.01/"lr": -1/' good.json >bad.json
says "out of range" 2 'bad.json:16: optimizer.lr: is -1, want a number of at least 0 (per update)' \
  "$TUTTI" validate bad.json

sed 's/"optimizer": {"name": "adamw", "lr": 0.01}/"optimizer": [{"name": "sgd"}, {"name": "adamw"}]/' \
  good.json >bad.json
says "two optimizers" 2 \
  'bad.json:16: optimizer: is an array of 2, want one optimizer; use its "groups" for weights that need other settings' \
  "$TUTTI" validate bad.json

sed 's/"max_duration": "3ep"/"max_duration": "3"/' good.json >bad.json
"$TUTTI" validate bad.json 2>err.txt
check "a bare number is no time" grep -q 'bad.json:18: max_duration: ' err.txt

printf '{"name": "x",\n "seed": }\n' >bad.json
"$TUTTI" validate bad.json 2>err.txt
check "a syntax error has its line" grep -q '^bad.json:2: ' err.txt

says "a missing file" 2 'nowhere.json: No such file or directory' "$TUTTI" validate nowhere.json
check "an override" "$TUTTI" validate good.json --set max_duration=5ba --set optimizer.lr=0.5
"$TUTTI" validate good.json --set optimizer.lr=high 2>err.txt
check "a wrong override is refused" grep -q 'optimizer.lr: is "high", want a number of at least 0 (per update)' err.txt
says "iterations of no length are refused" 2 \
  'tutti: max_duration is given in iter, which needs an iteration_length such as "2ep"' \
  "$TUTTI" train good.json --set max_duration=3iter
says "tokens of data without tokens are refused" 2 \
  'tutti: max_duration is given in tok, but the data has no tokens, want ep, ba, sp or sec' \
  "$TUTTI" train good.json --set max_duration=300tok
says "iterations of tokens of data without tokens are refused" 2 \
  'tutti: iteration_length is given in tok, but the data has no tokens, want ep' \
  "$TUTTI" train good.json --set iteration_length=300tok
says "a ratio that leaves nothing to train is refused" 2 \
  'tutti: scale_schedule_ratio 0.1 makes a max_duration of nothing, want a larger ratio or a longer max_duration' \
  "$TUTTI" train good.json --set scale_schedule_ratio=0.1

# Two plugins that cannot be used together are told of with the run file's other faults.
mkdir -p apart && cp -r "$(dirname "$TUTTI")/lib/tutti/plugins/mixup" apart/mixup
sed -i 's/"library"/"conflicts": ["org.tutti.label_smoothing"], "library"/' apart/mixup/plugin.json
small_run '"algorithms": [{"name": "label_smoothing"},
    {"name": "mixup"}]' >apart.json
"$TUTTI" validate apart.json --plugin-path apart 2>err.txt
check "plugins that conflict" grep -qx 'apart.json:22: algorithms\[1\]: conflicts with label_smoothing at line 21' err.txt

mkdir runs
sed 's|"name": "glyphs", "samples": 640|"name": "mds", "path": "data"|' good.json >runs/mds.json
says "a path in a run file is relative to the file" 2 \
  'tutti: dataset mds cannot be opened: runs/data/index.json: No such file or directory' \
  "$TUTTI" train runs/mds.json
says "a path given by --set is relative to the working folder" 2 \
  'tutti: dataset mds cannot be opened: data/index.json: No such file or directory' \
  "$TUTTI" train runs/mds.json --set train.dataset.path=data
# ---- numbers that would silently do nothing ----
for bad in 'callbacks.0.interval=-1ba|callbacks[0].interval: is -1ba, want a time of at least 0' \
  'eval.0.interval=-2ep|eval[0].interval: is negative, want a time above 0, or 0 for no evaluation while training' \
  'eval.0.interval=-2|eval[0].interval: is negative, want a time above 0, or 0 for no evaluation while training' \
  'eval.0.subset_num_batches=0|eval[0].subset_num_batches: is 0, want at least 1, or -1 for all' \
  'train.subset_num_batches=0|train.subset_num_batches: is 0, want at least 1, or -1 for all'; do
  small_run >small.json
  says "${bad%%|*}" 2 "small.json: ${bad#*|}" "$TUTTI" train small.json --set "${bad%%|*}"
done
groups='[{"match": "*hed*", "lr": 0.5}, {"match": "*.weight", "lr": 0.1}, {"match": "body.head.weight", "lr": 0.2}]'
"$TUTTI" train small.json --quiet --set max_duration=1ba --set "optimizer.groups=$groups" >out.txt 2>err.txt
check "a group that matches no weight is told" grep -q '^tutti: train: optimizer.groups.0. has no weight: .hed. matches none that no group before it has; the model.s first is body.' err.txt
check "and one whose weights another has" grep -F 'optimizer.groups[2] has no weight: body.head.weight matches' err.txt
check "and no other" test "$(wc -l <err.txt)" = 2
# ---- names ----
mkdir names && cd names || exit 1
small_run '"loggers": [{"name": "jsonl"}]' | sed '/"name": "small"/d' >nameless.json
check "a run without a name trains" "$TUTTI" train nameless.json --set max_duration=1ba
check "under a name of time and two words" sh -c "ls runs | grep -Exq '[0-9]{10}-[a-z]+-[a-z]+'"
words_known() { # each word is one of the program's, and the time is this minute's
  local time quality animal
  IFS=- read -r time quality animal <<<"$(ls runs)"
  [ $(($(date +%s) - time)) -lt 60 ] && grep -q "\"$quality\"" <(sed '/animals/,$d' "$SOURCE/host/train/run_file/run_name.c") &&
    grep -q "\"$animal\"" <(sed '1,/animals/d' "$SOURCE/host/train/run_file/run_name.c")
}
check "of words that the program has" words_known
one=$(ls runs)
for k in 1 2 3 4; do "$TUTTI" train nameless.json --quiet --set max_duration=1ba --set "callbacks=[]" >/dev/null; done
check "and of others each time" sh -c 'test "$(ls runs | sed "s/^[0-9]*-//" | sort -u | wc -l)" -ge 3'
rm -rf runs && mkdir -p "runs/$one"
says "but is not looked for" 2 'nameless.json:1: name is missing, want one: auto looks for the run of that name' \
  "$TUTTI" train nameless.json --resume auto
says "nor evaluated" 2 'nameless.json:1: name is missing, want one: auto looks for the run of that name' \
  "$TUTTI" eval nameless.json --checkpoint auto
# As many hear an event as an engine takes, and no more.
crowd() { # <section> <entry> <how many>: a run with so many of them
  python3 - "$@" <<'PY'
import json, sys
entry = json.loads(sys.argv[2])
entries = [dict(entry, id=f"e{k}") for k in range(int(sys.argv[3]))]
json.dump({"name": "crowd", "model": {"name": "mlp", "hidden": [4]}, "threads": 1, "max_duration": "1ba",
           "train": {"dataset": {"name": "glyphs", "samples": 8}, "batch_size": 8, "workers": 1,
                     "transforms": [{"name": "normalize", "mean": [0.1], "std": [0.3]}]},
           "optimizer": {"name": "sgd", "lr": 0.1}, sys.argv[1]: entries}, sys.stdout)
PY
}
for section in callbacks handlers; do
  entry='{"name": "lr_monitor"}'
  [ $section = handlers ] && entry='{"on": "batch_end", "call": "demo.note", "args": ["loss/train/total", 0.5], "on_error": "ignore"}'
  crowd $section "$entry" 64 >crowd.json
  check "64 $section are valid" "$TUTTI" validate crowd.json
  check "and heard" sh -c "'$TUTTI' train crowd.json >out.txt 2>&1 || { cat out.txt; false; }"
  crowd $section "$entry" 65 >crowd.json
  says "65 are not" 2 "crowd.json:1: $section[64]: more than 64 $section hear batch_end" "$TUTTI" validate crowd.json
done
finish
