#!/usr/bin/env bash
# loop_resume_test.sh - what functions have made of a loop goes on from a checkpoint: ends of runs and of epochs, limits,
# other data, the output.  Every checkpoint of a run that nothing stops is taken up, and ends as that run.
. "$(dirname "$0")/lib.sh"
looper=$(dirname "$TUTTI")/tests/fixtures/looper
unruly=$(dirname "$TUTTI")/tests/fixtures/unruly
tutti() { "$TUTTI" run run.json --plugin-path "$looper" --plugin-path "$unruly" "$@" >out.txt 2>err.txt; }

# call <event> <function> [arguments] [filter]: a handler, for the list that follows.
call() { echo "{\"on\": \"$1\", \"call\": \"looper.$2\", \"args\": [${3:-}]${4:+, $4}}"; }

# engine <members>: a run of batches of glyphs, with checkpoints of all batches, and what handlers see of the loop.
engine() {
  small_run '"loggers": []' | python3 -c '
import json, sys
run = json.load(sys.stdin)
del run["max_duration"], run["schedulers"]
run |= {"process": "supervised", "max_epochs": 3, "epoch_length": 4} | json.loads(sys.argv[1])
run["callbacks"][0]["keep"] = -1
run["eval"][0] |= {"on": "completed", "metrics": [{"name": "accuracy"}]}
shows = [{"on": e, "call": "looper.show"} for e in ("terminate_single_epoch", "epoch_started", "iteration_completed",
  "epoch_completed", "terminate", "completed")]
run["handlers"] = run.get("handlers", []) + shows
json.dump(run, sys.stdout, indent=1)' "{$1}" >run.json
}

# whole <what> <members>: the run that nothing stops, in whole/.
whole() {
  rm -rf whole
  mkdir whole
  (cd whole && engine "$2" && tutti)
  check "$1: a run" test $? -eq 0 || cat whole/err.txt
}

# told <folder>: what handlers saw.
told() { grep -E '^[a-z_]+ [0-9]+\.[0-9]+: ' "$1/out.txt"; }

# from <what> <file> [options]: a run that takes it up sees what the whole run saw behind it, and ends with its weights.
from() {
  local what=$1 file=$2
  shift 2
  rm -rf cut
  mkdir cut
  cp whole/run.json cut
  (cd cut && tutti --resume "../$file" "$@")
  check "$what: $(basename "$file") goes on" test $? -eq 0 || cat cut/err.txt
  told cut | grep -v '^epoch_started' >cut/told.txt
  check "$what: $(basename "$file") tells the same" bash -c 'diff cut/told.txt <(tail -n "$(wc -l <cut/told.txt)" whole/told.txt)'
  check "$what: $(basename "$file") to the same end" python3 "$e2e/same_weights.py" "$(latest whole)" "$(latest cut)"
  check "$what: $(basename "$file") under the same name" test "$(readlink "$(latest whole)")" = "$(readlink "$(latest cut)")"
}

# all <what> <members> <iterations>...: taken up behind each of those, it goes on with the next one.
all() {
  local what=$1 k file
  whole "$1" "$2"
  told whole | grep -v '^epoch_started' >whole/told.txt
  shift 2
  for k; do
    file=$(ls whole/saves/*-ba"$k".* | head -1)
    from "$what" "$file"
    check "$what: behind $k" test "$(grep -c ^iteration_completed cut/told.txt)" = $(($(grep -c ^iteration_completed whole/told.txt) - k))
  done
}

# Epochs that a function cuts, before an iteration or behind it, with epoch_completed and without.
cut() { call "$1" end "false, ${3:-false}" "\"once\": $2"; }
all "an epoch that is cut" "\"handlers\": [$(cut iteration_completed 2)]" 1 2 3 5 6 9
all "without its end" "\"handlers\": [$(cut iteration_completed 2 true)]" 1 2 3 6
all "before an iteration" "\"handlers\": [$(cut iteration_started 3), $(cut iteration_started 6)]" 1 2 3 5
all "in its last iteration" "\"handlers\": [$(cut iteration_completed 4), $(cut iteration_completed 7)]" 3 4 5 7 8
all "of other length than the data" "\"epoch_length\": 7, \"deterministic\": true, \"handlers\": [$(cut iteration_completed 9)]" 7 9 10 13
all "that is the last one" "\"handlers\": [$(cut iteration_completed 10)]" 9
all "that an error ends" "\"handlers\": [$(call iteration_started fail '"no"' '"once": 3'), $(call exception_raised show)]" 2 3 5 9

# A state that a function has given, and that the loop has not gone on from yet.
back=$(call iteration_completed go_back '"{\"epoch_length\": 4, \"iteration\": 8, \"max_epochs\": 4}"' '"once": 3')
all "another state" "\"handlers\": [$back]" 2 3 4 8

# Of a checkpoint that does not say where it stands in its epochs, that follows from its iterations.
whole "an older checkpoint" ""
told whole | grep -v '^epoch_started' >whole/told.txt
for k in 3 4 5; do
  python3 "$e2e/rewrite_checkpoint.py" "$(ls whole/saves/*-ba$k.*)" older$k.safetensors '\"epochs\"' '\"unknown\"'
  from "an older checkpoint" older$k.safetensors
  check "an older checkpoint: behind $k" test "$(grep -c ^iteration_completed cut/told.txt)" = $((12 - k))
done

# Limits that functions set, in the midst of the run: they stay, unless the file has others since.
limit() { call "$1" limit "$2, $3" "\"once\": $4"; }
longer=$(limit epoch_completed 0 4 2)
all "a higher limit" "\"handlers\": [$longer]" 4 8 9 13
all "a limit that has been passed" "\"handlers\": [$(limit epoch_completed 0 1 2)]" 4 5 7
exchanged="$(limit iteration_completed 0 -1 2), $(limit iteration_completed 1 7 2)"
all "another limit" "\"handlers\": [$exchanged]" 1 2 4 6
all "no limit" "\"handlers\": [$(limit iteration_completed 0 -1 2), $(call iteration_completed end 'true, false' '"once": 14')]" 2 12 13
all "a shorter epoch" "\"handlers\": [$(limit epoch_completed 2 2 1)]" 3 4 5
says_ran() { check "$1" grep -q "^ran $2" cut/out.txt; }
whole "a limit of the file" "\"handlers\": [$longer]"
rm -rf cut && cp -r whole cut
(cd cut && tutti --resume auto --set max_epochs=6)
says_ran "a limit that the file has changed goes before that of a function" "24 iterations, 6 epochs"
whole "a limit that was passed" "\"handlers\": [$(limit epoch_completed 0 1 2)]"
rm -rf cut && cp -r whole cut
(cd cut && tutti --resume auto)
check "a limit that was passed leaves nothing" grep -q 'nothing is left to run' cut/err.txt
(cd cut && tutti --resume auto --set max_epochs=5 --set handlers=[])
says_ran "and is raised by the file" "20 iterations, 5 epochs"
whole "a limit of iterations" "\"handlers\": [$exchanged]"
rm -rf cut && cp -r whole cut
(cd cut && tutti --resume auto --set max_epochs=5)
says_ran "also one of another kind" "20 iterations, 5 epochs"

all "an epoch without a length" "\"handlers\": [$(limit iteration_completed 2 -1 2), $(call iteration_completed end 'true, false' '"once": 22')]" 1 2 3 10 11 15
# Data that functions set: once, or whenever the run starts.
all "other data" "\"epoch_length\": 5, \"handlers\": [$(call iteration_completed use '"test"' '"once": 3'), $(call iteration_completed use '"train"' '"once": 9')],
  \"eval\": [{\"label\": \"test\", \"dataset\": {\"name\": \"glyphs\", \"samples\": 200, \"split\": \"test\"}, \"transforms\": [{\"name\": \"normalize\", \"mean\": [0.13], \"std\": [0.31]}], \"batch_size\": 64, \"metrics\": [{\"name\": \"accuracy\"}]}]" 2 3 4 6 8 9 10
all "at the start" "\"handlers\": [$(call started use '"train"')]" 2 5
all "of a deterministic run" "\"deterministic\": true, \"handlers\": [$(call started use '"train"')]" 3 8

# What a function gives is what the next one sees.
whole "an output" "\"process\": {\"call\": \"looper.train\", \"args\": [1]}, \"handlers\": [$(call iteration_completed gain 0.25 '"once": 3'), $(call started show)]"
for k in 1 3; do
  rm -rf cut && mkdir cut && cp whole/run.json cut
  (cd cut && tutti --resume "$(ls ../whole/saves/*-ba$k.*)")
  check "an output is what it was, $k" test "$(grep ^started cut/out.txt)" = "$(grep "^iteration_completed 1.$k:" whole/out.txt | sed "s/.*:/started 0.$k:/")"
done

# stopped <what> <handlers> <event> <number>...: a signal at the <number>th such event; both attempts together are as the
# whole run.
stopped() {
  local what=$1 handlers=$2 event=$3 number
  whole "$what" "\"handlers\": [$handlers]${members:+, $members}"
  shift 3
  for number; do
    rm -rf cut && mkdir cut && cp whole/run.json cut
    (cd cut && tutti --set "handlers.$(grep -c '"call"' run.json)={\"on\": \"$event\", \"call\": \"unruly.interrupt_at\", \"args\": [$number]}")
    check "$what, $number: a signal stops it" test $? -eq 130 || cat cut/err.txt
    told cut >first.txt
    (cd cut && tutti --resume auto)
    check "$what, $number: it goes on" test $? -eq 0 || cat cut/err.txt
    check "$what, $number: as the whole run" diff <(told whole | grep -v ^epoch_started | sort) <(cat first.txt <(told cut) | grep -v ^epoch_started | sort -u)
    check "$what, $number: to the same end" python3 "$e2e/same_weights.py" "$(latest whole)" "$(latest cut)"
  done
}
stopped "with a cut" "$(cut iteration_completed 2)" iteration_completed 2 3 6
stopped "with its event" "$(cut iteration_completed 2)" terminate_single_epoch 1
stopped "with a cut before an iteration" "$(cut iteration_started 3)" iteration_started 2 3 4
stopped "with the last cut" "$(cut iteration_completed 10)" iteration_completed 10
stopped "with other limits" "$exchanged" iteration_completed 2 5
stopped "with another state" "$back" iteration_completed 2 3
stopped "with an end" "$(call iteration_completed end 'true, false' '"once": 6')" iteration_completed 6

# A signal between the begin of an epoch and its first batch: the log has that begin once.
epochs() { grep -ho '"time/epoch":[0-9]*' "$1"/runs/*/log.jsonl; }
for event in epoch_started get_batch_started; do
  whole "a log" '"loggers": [{"name": "jsonl"}]'
  check "a log: every epoch" test "$(epochs whole | tr '\n' ' ')" = '"time/epoch":0 "time/epoch":1 "time/epoch":2 '
  for number in 1 2; do
    rm -rf cut && mkdir cut && cp whole/run.json cut
    (cd cut && tutti --set "handlers.$(grep -c '"call"' run.json)={\"on\": \"$event\", \"call\": \"unruly.interrupt_at\", \"args\": [$number]}")
    check "$event, $number: a signal stops it" test $? -eq 130 || cat cut/err.txt
    (cd cut && tutti --resume auto)
    check "$event, $number: it goes on" test $? -eq 0 || cat cut/err.txt
    check "$event, $number: every epoch is in the log once" diff <(epochs whole) <(epochs cut)
  done
done

# A signal before the loop begins, of a run with a state that is still to be taken, saves nothing: what a killed attempt has
# logged is not undone yet.
losses() { grep -h '"loss/train/total"' "$1"/runs/*/log.jsonl | grep -o '"batch":[0-9]*'; }
whole "a logged state" "\"handlers\": [$back], \"loggers\": [{\"name\": \"jsonl\"}]"
interrupted() { # <event> <number> [option...]
  (cd cut && tutti --set "handlers.1={\"on\": \"$1\", \"call\": \"unruly.interrupt_at\", \"args\": [$2]}" "${@:3}")
}
rm -rf cut && mkdir cut && cp whole/run.json cut
interrupted iteration_completed 3
check "a logged state: a signal stops it" test $? -eq 130 || cat cut/err.txt
grep '"loss/train/total"' whole/runs/small/log.jsonl | tail -1 >>cut/runs/small/log.jsonl
interrupted after_load 1 --resume auto
check "a logged state: a signal before its first batch" grep -q 'stopped by signal 2 before another batch was trained' cut/err.txt || cat cut/err.txt
(cd cut && tutti --resume auto)
check "a logged state: it goes on" test $? -eq 0 || cat cut/err.txt
check "a logged state: every batch is in the log once" diff <(losses whole) <(losses cut)

# The same of evaluations that the signal cuts, and functions behind them: what these ask then holds as it would have.
evaluation() { # <events>: two batches at each, beside the one at the end
  local one="\"dataset\": {\"name\": \"glyphs\", \"samples\": 100, \"split\": \"test\"}, \"batch_size\": 50, \"metrics\": [{\"name\": \"accuracy\"}],
    \"transforms\": [{\"name\": \"normalize\", \"mean\": [0.13], \"std\": [0.31]}]"
  echo "\"eval\": [{\"label\": \"last\", $one}, {\"label\": \"test\", \"on\": $1, $one}]"
}
members=$(evaluation '"iteration_completed"')
stopped "with a cut behind an evaluation" "$(cut iteration_completed 2)" eval_batch_end 1 3 4
stopped "without its end behind an evaluation" "$(cut iteration_completed 2 true)" eval_batch_end 3
stopped "with an end behind an evaluation" "$(call iteration_completed end 'true, false' '"once": 6')" eval_batch_end 11
stopped "with an end in an epoch's last iteration" "$(call iteration_completed end 'true, false' '"once": 8')" eval_batch_end 15
stopped "with a shorter epoch behind an evaluation" "$(limit iteration_completed 2 3 2)" eval_batch_end 3
members=$(evaluation '"epoch_completed"')
stopped "with a cut between epochs" "$(cut epoch_completed 1)" eval_batch_end 1
stopped "with another state behind an evaluation" "$(call epoch_completed go_back '"{\"epoch_length\": 4, \"iteration\": 8, \"max_epochs\": 4}"' '"once": 1')" eval_batch_end 1
members=$(evaluation '["started", "iteration_completed"]')
stopped "with one at the start" "$(cut iteration_completed 2)" eval_batch_end 5
members=$(evaluation '["iteration_completed", "batch_end"]')
stopped "with one at the event around" "$(cut iteration_completed 2)" eval_batch_end 5
members=

# killed <iterations>: the whole run as it was when it had saved that file.
killed() {
  rm -rf cut
  cp -r whole cut
  rm -r cut/saves/*
  sed -i "s/\"status\": \"finished\"/\"status\": \"${2:-running}\"/" cut/runs/small/record.json
  local file
  file=$(ls whole/saves/*-ba"$1".* | head -1)
  cp "$file" cut/saves
  ln -s "$(basename "$file")" cut/saves/latest.safetensors
}

# ended <what> <handler> <iterations> <event> [members]: a function ends the run there; killed before its end, it ends again.
ended() {
  whole "$1" "\"handlers\": [$2]${5:+, $5}"
  killed "$3"
  (cd cut && tutti --resume auto)
  check "$1: it goes on" test $? -eq 0 || cat cut/err.txt
  check "$1: to what is left of its end" diff <(told whole | sed "1,/^$4/d") <(told cut)
  check "$1: with the same words" test "$(grep ^ran cut/out.txt | sed 's/, [0-9.]* s//')" = "$(grep ^ran whole/out.txt | sed 's/, [0-9.]* s//')"
  check "$1: in the same files" test "$(readlink "$(latest whole)")" = "$(readlink "$(latest cut)")"
}
ending() { call "$1" end "true, $3" "\"once\": $2"; }
ended "a run that is ended" "$(ending iteration_completed 6 false)" 6 'iteration_completed 2\.6'
ended "without its last event" "$(ending iteration_completed 6 true)" 6 'iteration_completed 2\.6'
ended "in an epoch's last iteration" "$(ending iteration_completed 8 false)" 8 'iteration_completed 2\.8'
ended "with an epoch's end" "$(ending epoch_completed 1 false)" 4 'epoch_completed 1\.4' \
  '"callbacks": [{"name": "checkpoint_saver", "folder": "saves", "interval": "1ep"}]'
killed 4 finished
(cd cut && tutti --resume auto)
check "one that came to its end has nothing left" grep -q 'nothing is left to run' cut/err.txt
(cd cut && tutti --resume auto --set max_epochs=5 --set handlers=[])
says_ran "and goes on with a longer limit" "20 iterations, 5 epochs"
finish
