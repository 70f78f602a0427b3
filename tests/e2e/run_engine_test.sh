#!/usr/bin/env bash
# run_engine_test.sh - tutti run with functions of plugins: what is heard, and everything that may go wrong.
. "$(dirname "$0")/lib.sh"
unruly=$(dirname "$TUTTI")/tests/fixtures/unruly

engine() {
  cat <<JSON
{"data": {"dataset": {"name": "glyphs", "samples": 640}, "batch_size": 64},
 "process": {"call": "batch_mean.of", "args": ["input"]}
 ${1:+, $1}}
JSON
}

engine '"max_epochs": 2, "handlers": [
  {"on": "iteration_completed", "every": 10, "call": "demo.note", "args": ["output", 0]},
  {"on": "epoch_completed", "call": "demo.mark"},
  {"on": "milestone", "once": 2, "call": "demo.note", "args": ["output", 0]}]' >engine.json
"$TUTTI" run engine.json | sed 's/: output.*//; s/, [0-9.]* s.*//' >came.txt
printf '%s\n' 'iteration_completed at step 10' 'iteration_completed at step 20' \
  'milestone at step 20' 'ran 20 iterations, 2 epochs' >want.txt
check "each handler is heard where its filter passes" diff came.txt want.txt
check "explain knows engine files" sh -c "$TUTTI explain engine.json | grep -q 'handler *demo.note#2'"
check "validate knows engine files" "$TUTTI" validate engine.json
says "train does not run them" 2 \
  'engine.json:2: process: makes this an engine file, which `tutti run` runs' "$TUTTI" train engine.json

engine '"handlers": [{"on": "iteration_completed", "every": 4, "call": "batch_mean.stop_below", "args": [1e9]}]' >stop.json
check "a handler ends the run" sh -c "$TUTTI run stop.json | grep -q '^ran 4 iterations, 1 epochs'"
check "limits can be set" sh -c "$TUTTI run stop.json --set handlers=[] --set max_iters=13 | grep -q '^ran 13 iterations, 2 epochs'"
engine '"loggers": [{"name": "jsonl"}], "callbacks": [{"name": "speed_monitor"}]' >logged.json
check "loggers and callbacks take part" sh -c "$TUTTI run logged.json && grep -q '\"output\"' runs/run/*.jsonl"

engine '"max_epoch": 2, "max_epochs": 0, "optimizer": {"name": "sgd"}, "handlers": [
  {"on": "batch_end", "call": "demo.mark"},
  {"on": "terminate", "every": 2, "call": "demo.mark"},
  {"on": "u3", "filter": {"call": "unruly.filter", "args": [1]}, "call": "demo.mark"}]' >bad.json
says "everything wrong is told at once" 2 'bad.json:3: max_epoch: unknown key; did you mean max_epochs?
bad.json:3: max_epochs: is 0, want an integer of at least 1, or null
bad.json:3: optimizer: wants a model, which is missing
bad.json:4: handlers[0]: hears batch_end, which needs a model; the loop'"'"'s are started, epoch_started, iteration_completed and so on
bad.json:5: handlers[1]: has a filter on terminate, which counts nothing
bad.json:6: handlers[2]: has a filter on u3, which counts nothing' \
  "$TUTTI" run bad.json --plugin-path "$unruly"
echo '{"process": 3}' >empty.json
says "what is missing is told" 2 'empty.json:1: process: want "process": "supervised", "plugin.function" or {"call": "plugin.function", "args": []}
empty.json:1: without data epoch_length must be given' "$TUTTI" run empty.json

# bare <process> [members]: a loop of three batches of nothing.
bare() { echo "{\"epoch_length\": 3, \"process\": {\"call\": \"unruly.$1}${2:+, $2}}" >bare.json; }
# fails <what> <stderr>: the run of bare.json ends with 1 and that.
fails() { says "$1" 1 "$2" "$TUTTI" run bare.json --plugin-path "$unruly"; }
# prints <what> <stdout>: it ends well and prints that, before its last line.
prints() { check "$1" sh -c "[ \"\$($TUTTI run bare.json --plugin-path $unruly 2>&1 | sed 's/, [0-9.]* s.*//')\" = \"$2\" ]"; }
on() { echo "\"handlers\": [{\"on\": \"$1\", \"call\": \"unruly.$2}${3:+, $3}]"; }

bare 'give", "args": [-9]'
fails "a process that fails without a text" 'tutti: unruly.give: returned E_EXISTS without saying why'
bare 'give", "args": [7]'
fails "a process that answers oddly" 'tutti: unruly.give: returned 7, want 0 or a negative status'
bare 'give", "args": [0]' "$(on iteration_started 'give", "args": [-9]')"
fails "a handler that fails without a text" 'tutti: unruly.give on iteration_started: returned E_EXISTS without saying why'
bare 'give", "args": [0]' "$(on iteration_started 'give", "args": [7]')"
fails "a handler that answers oddly" 'tutti: unruly.give on iteration_started: returned 7, want 0 or a negative status'
bare 'give", "args": [0]' "$(on started 'tally", "filter": {"call": "unruly.filter", "args": [-9]}')"
fails "a filter that fails without a text" 'tutti: unruly.tally on started: filter unruly.filter returned E_EXISTS without saying why'
bare 'give", "args": [0]' "$(on started 'tally", "filter": {"call": "unruly.filter", "args": [9]}')"
prints "any positive answer of a filter passes" 'ran 3 iterations, 1 epochs'
bare 'give", "args": [0]' "$(on iteration_started 'give", "args": [-9], "on_error": "ignore"')"
prints "what is ignored is told" "tutti: unruly.give: on iteration_started: returned E_EXISTS without saying why (ignored)
tutti: unruly.give: on iteration_started: returned E_EXISTS without saying why (ignored)
tutti: unruly.give: on iteration_started: returned E_EXISTS without saying why (ignored)
ran 3 iterations, 1 epochs"
bare 'give", "args": [0]' "$(on iteration_started 'give", "args": [-9], "on_error": "disable"')"
prints "what is disabled is told" "tutti: unruly.give: on iteration_started: returned E_EXISTS without saying why (disabled from now on)
ran 3 iterations, 1 epochs"

bare 'crash"'
says "a crash names the process function" 139 \
  'tutti: plugin org.tutti.unruly crashed: unruly.crash, call crash, step 0: SIGSEGV' \
  "$TUTTI" run bare.json --plugin-path "$unruly"
bare 'give", "args": [0]' "$(on epoch_completed 'crash"')"
says "a crash names the handler" 139 \
  'tutti: plugin org.tutti.unruly crashed: unruly.crash, call crash, event epoch_completed, step 3: SIGSEGV' \
  "$TUTTI" run bare.json --plugin-path "$unruly"

bare 'give", "args": [0]' '"handlers": [{"on": "epoch_completed", "call": "demo.mark"}, {"on": "milestone", "call": "demo.mark"}]'
"$TUTTI" run bare.json --plugin-path "$unruly" >out.txt 2>err.txt
check "an event that goes round is a sentence" test $? = 1
check "which names it" grep -q 'demo.mark on epoch_completed: .*milestone goes round: it is fired inside 8 other events' err.txt

all=$(seq -s '", "' -f 'u%g' 0 69)
bare 'give", "args": [0]' "\"handlers\": [{\"on\": [\"$all\"], \"call\": \"unruly.tally\"}, {\"on\": \"completed\", \"call\": \"unruly.fire_all\"}]"
check "a handler hears more than 64 events" sh -c "$TUTTI run bare.json --plugin-path $unruly | grep -q 'output 70'"

bare 'give", "args": [0]' '"handlers": [
  {"on": "epoch_completed", "call": "unruly.tally"}, {"on": "completed", "call": "unruly.tally"},
  {"on": "started", "call": "unruly.tell", "args": ["unruly.tally", true]},
  {"on": "iteration_completed", "once": 1, "call": "unruly.tell", "args": ["unruly.tally", false]}]'
prints "a handler that is removed is there no more" 'unruly.tally is there
unruly.tally is not there
ran 3 iterations, 1 epochs'

bare 'interrupt"'
says "a signal ends the run" 130 'tutti: signal 2: stopping after this batch; a second signal does not wait for it; plugin org.tutti.unruly is at work: unruly.interrupt, call interrupt, step 0
tutti: stopped by signal 2 after batch 1; no checkpoint_saver, so nothing is saved' \
  "$TUTTI" run bare.json --plugin-path "$unruly"
bare 'interrupt"' "$(on exception_raised 'give", "args": [0]')"
says "also where handlers take it" 130 'tutti: signal 2: stopping after this batch; a second signal does not wait for it; plugin org.tutti.unruly is at work: unruly.interrupt, call interrupt, step 0
tutti: stopped by signal 2 after batch 1; no checkpoint_saver, so nothing is saved' \
  "$TUTTI" run bare.json --plugin-path "$unruly"
finish
