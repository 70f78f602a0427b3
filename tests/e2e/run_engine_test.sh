#!/usr/bin/env bash
# run_engine_test.sh - tutti run: a loop from a file, and everything wrong with one at once.
. "$(dirname "$0")/lib.sh"

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
check "an engine runs" "$TUTTI" run engine.json
"$TUTTI" run engine.json | sed 's/: output.*//; s/, [0-9.]* s.*//' >came.txt
printf '%s\n' 'iteration_completed at step 10' 'iteration_completed at step 20' \
  'milestone at step 20' 'ran 20 iterations, 2 epochs' >want.txt
check "each handler is heard where its filter passes" diff came.txt want.txt

engine '"handlers": [{"on": "iteration_completed", "every": 4, "call": "batch_mean.stop_below", "args": [1e9]}]' >stop.json
check "a handler ends the run" sh -c "$TUTTI run stop.json | grep -q '^ran 4 iterations, 1 epochs'"
check "limits can be set" sh -c "$TUTTI run stop.json --set handlers=[] --set max_iters=13 | grep -q '^ran 13 iterations, 2 epochs'"
engine '"handlers": [{"on": "started", "call": "demo.note", "args": ["nothing", 0]}]' >fails.json
says "a handler's error ends the run" 1 \
  'tutti: demo.note on started: nothing has been logged as nothing' "$TUTTI" run fails.json

engine '"max_epoch": 2, "max_epochs": 0, "handlers": [{"on": "batch_end", "call": "demo.mark"}]' >bad.json
says "everything wrong is told at once" 2 \
  'bad.json:3: max_epoch: there is no such key; did you mean max_epochs
bad.json:3: handlers[0]: hears an event of `tutti train`; the loop'"'"'s are started, epoch_started, iteration_completed and so on
bad.json:3: max_epochs: want a whole number from 1 to 9223372036854775807' "$TUTTI" run bad.json
finish
