#!/usr/bin/env bash
# loop_service_test.sh - what plugins can ask of the loop that calls them: tutti.loop/1, and handlers that join.
. "$(dirname "$0")/lib.sh"
looper=$(dirname "$TUTTI")/tests/fixtures/looper

# bare [members]: a loop of two epochs of three batches of nothing.
bare() { echo "{\"epoch_length\": 3, \"max_epochs\": 2, \"process\": {\"call\": \"looper.train\", \"args\": [0]}${1:+, $1}}" >run.json; }
# call <event> <function> [arguments] [filter]: a handler.
call() { echo "{\"on\": \"$1\", \"call\": \"looper.$2\", \"args\": [${3:-}]${4:+, $4}}"; }
# prints <what> <stdout>: the run ends well and prints that, its last line cut.
prints() {
  "$TUTTI" run run.json --plugin-path "$looper" >out.txt 2>&1
  check "$1" diff <(sed 's/, [0-9.]* s.*//' out.txt) <(echo "$2")
}
# refused <what> <text>: it fails with that.
refused() { says "$1" 1 "$2" "$TUTTI" run run.json --plugin-path "$looper"; }

bare "\"handlers\": [$(call epoch_completed tell)]"
prints "state and limits" 'epoch_completed 3: all is well, cut at -1, limits 2 -1 3, {"epoch_length": 3, "iteration": 3, "max_epochs": 2}
epoch_completed 6: all is well, cut at -1, limits 2 -1 3, {"epoch_length": 3, "iteration": 6, "max_epochs": 2}
ran 6 iterations, 2 epochs'
bare "\"handlers\": [$(call iteration_started fail '"the sky fell"' '"once": 2'), $(call exception_raised tell)]"
prints "the exception's text" 'exception_raised 2: looper.fail on iteration_started: the sky fell, cut at -1, limits 2 -1 3, {"epoch_length": 3, "iteration": 2, "max_epochs": 2}
ran 5 iterations, 2 epochs'
bare "\"handlers\": [$(call iteration_completed cut '' '"once": 2'), $(call terminate_single_epoch tell)]"
prints "where an epoch was cut" 'terminate_single_epoch 2: all is well, cut at 2, limits 2 -1 3, {"epoch_length": 3, "iteration": 2, "max_epochs": 2}
ran 5 iterations, 2 epochs'
bare "\"handlers\": [$(call epoch_completed limit '0, 4' '"once": 2')]"
prints "a limit is raised" 'ran 12 iterations, 4 epochs'
bare "\"handlers\": [$(call started limit '0, -1'), $(call started limit '1, 4')]"
prints "or exchanged" 'ran 4 iterations, 2 epochs'
bare "\"handlers\": [$(call started limit '1, 4')]"
refused "but not both" 'tutti: looper.limit on started: max_epochs is set: make it -1 to run by max_iters'
bare "\"handlers\": [$(call started limit '2, 0')]"
refused "nor to nothing" 'tutti: looper.limit on started: epoch_length is 0, want 1 or more, or -1'
bare "\"handlers\": [$(call iteration_completed go_back '"{\"epoch_length\": 3, \"iteration\": 6, \"max_epochs\": 3}"' '"once": 5'),
  $(call iteration_completed add '"{\"on\": \"started\", \"call\": \"looper.tell\"}"' '"once": 4')]"
prints "a run goes on from another state, which a handler that has joined hears" \
  'started 6: all is well, cut at -1, limits 3 -1 3, {"epoch_length": 3, "iteration": 6, "max_epochs": 3}
ran 9 iterations, 3 epochs'
bare "\"handlers\": [$(call started go_back '"{\"epoch\": 3}"')]"
refused "from a state only" 'tutti: looper.go_back on started: epoch_length is missing'
bare "\"handlers\": [$(call started add '"{\"on\": \"startd\", \"call\": \"looper.tell\"}"')]"
refused "a handler that joins is read as a run file's" 'tutti: looper.add on started: handler:1: on: "startd" is no event; did you mean started?'
bare "\"handlers\": [$(call started evaluate '"test"')]"
refused "evaluations are found by their labels" 'tutti: looper.evaluate on started: the run has no evaluation test'

# Functions with results of their own.
note() { echo "{\"on\": \"completed\", \"call\": \"demo.note\", \"args\": [\"$1\", -1e9]}"; }
bare "\"handlers\": [$(call completed length '3, 4'), $(call completed half 3), $(call completed least), $(call completed many 3),
  $(call completed nothing '"x"'), $(call completed length '1, 1' '"id": "diagonal"'),
  $(note looper.length), $(note looper.half), $(note looper.least), $(note looper.many), $(note diagonal)]"
prints "what handlers return are metrics" 'completed at step 6: looper.length is 25
completed at step 6: looper.half is 1.5
completed at step 6: looper.least is -128
completed at step 6: looper.many is 3.14573e+06
completed at step 6: diagonal is 2
ran 6 iterations, 2 epochs'
bare "\"handlers\": [$(call iteration_completed tell '' '"filter": "looper.odd"'), $(note output)]"
sed -i 's/"call": "looper.train", "args": \[0\]/"call": "looper.half", "args": [5]/' run.json
"$TUTTI" run run.json --plugin-path "$looper" >out.txt 2>&1
check "what a process returns is the output" grep -qx 'completed at step 6: output is 2.5' out.txt
check "and a filter's number passes unless it is 0" test "$(grep -c '^iteration_completed [135]:' out.txt)$(grep -c '^iteration_completed' out.txt)" = 33
bare "\"handlers\": [$(call started close '-1')]"
refused "what POSIX functions return fails with errno" 'tutti: looper.close on started: returned -1: Bad file descriptor'
check "a listing tells what they give" sh -c "$TUTTI plugins info org.tutti.looper --plugin-path $looper | grep -qx 'length(f64 x, f64 y) gives f64: handler of org.tutti.looper'"
mkdir -p bad/looper && cp "$looper"/looper/* bad/looper/ && sed -i 's/"returns": "i8"/"returns": "int"/' bad/looper/plugin.json
check "what cannot be returned is told" sh -c "$TUTTI plugins list --plugin-path bad 2>&1 | grep -q '\"int\" is nothing that a handler can return, want status, posix, void'"

# trained [members]: small_run as an engine file whose process makes the training step.
trained() {
  small_run | python3 -c '
import json, sys
run = json.load(sys.stdin)
del run["max_duration"]
run |= {"process": {"call": "looper.train", "args": [1]}, "max_epochs": 2, "name": "engine"}
run["eval"][0]["on"] = "completed"
run["callbacks"][0]["keep"] = -1
json.dump(run | json.loads(sys.argv[1]), sys.stdout, indent=1)' "{$1}" >run.json
}
trained '"process": "supervised"'
check "supervised" "$TUTTI" run run.json
mv saves supervised
trained ''
check "a function that makes the training step" "$TUTTI" run run.json --plugin-path "$looper"
check "trains to the same weights" python3 "$e2e/same_weights.py" "$(ls supervised/*latest*)" "$(ls saves/*latest*)"
trained '"process": {"call": "looper.train", "args": [2]}, "callbacks": []'
refused "once a batch" 'tutti: looper.train: only the process function trains, once a batch'
trained "\"callbacks\": [], \"loggers\": [{\"name\": \"jsonl\"}], \"handlers\": [$(call iteration_completed evaluate '"test"' '"every": 5'),
  $(call iteration_completed use '"test"' '"once": 10'), $(call completed tell)]"
"$TUTTI" run run.json --plugin-path "$looper" >out.txt 2>&1
check "evaluations that functions start, and no other of data that the loop goes through" \
  grep -q 'evaluation test on completed: the loop goes through the data of test now\|looper.evaluate on iteration_completed: the loop goes through the data of test now' out.txt
sed -i 's/"every": 5/"once": [5, 10]/; s/"once": 10,/"once": 10, "x-b": 1,/; s/"on": "completed"/"on": "started"/' run.json
"$TUTTI" run run.json --plugin-path "$looper" >out.txt 2>&1
check "the data can be changed" grep -q '^ran 20 iterations, 2 epochs' out.txt
rm -rf saves
trained "\"handlers\": [$(call iteration_completed interrupt '' '"once": 7')]"
"$TUTTI" run run.json --plugin-path "$looper" >out.txt 2>&1
check "an interrupted run leaves off" grep -q '^interrupted; ran 7 iterations, 1 epochs' out.txt
check "and goes on" sh -c "$TUTTI run run.json --set handlers=[] --resume auto --plugin-path $looper | grep -q '^ran 20 iterations, 2 epochs'"
check "to the same weights" python3 "$e2e/same_weights.py" "$(ls supervised/*latest*)" "$(ls saves/*latest*)"
rm -rf saves
sparse() { "$TUTTI" run run.json --plugin-path "$looper" --set callbacks.0.interval=13ba --set "callbacks.0.folder=$1" "${@:2}" >out.txt 2>&1; }
trained "\"handlers\": [$(call iteration_completed interrupt '' '"once": 20')]"
check "a whole run" sparse whole --set handlers=[]
sparse cut
check "an interrupt behind the last batch leaves off" grep -q '^interrupted; ran 20 iterations' out.txt
check "before the end of the epoch, which is made up for" sparse cut --set handlers=[] --resume auto
check "and saved" python3 "$e2e/same_weights.py" "$(ls whole/*latest*)" "$(ls cut/*latest*)"
finish
