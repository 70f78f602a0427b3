#!/usr/bin/env bash
# handlers_test.sh - functions of a plugin, bound to events by the run file.
. "$(dirname "$0")/lib.sh"

small_run '"loggers": [{"name": "file"}], "handlers": [
  {"on": "iteration_completed", "every": 10, "call": "demo.note", "args": ["loss/train/total", -1]},
  {"on": "EPOCH_COMPLETED", "call": "org.tutti.demo.mark"},
  {"on": ["milestone", {"event": "fit_start", "once": [7, 8]}], "call": "demo.once_only",
   "args": {"text": "the first epoch", "handler": "first"}, "id": "first"},
  {"on": "batch_end", "filter": {"call": "is_prime", "args": [23]}, "call": "demo.note",
   "args": ["time/batch", 0.0]}
]' >run.json
check "a run with handlers" "$TUTTI" train run.json
grep -o '\(iteration_completed\|batch_end\) at step [0-9]*\|the first epoch' runs/small/log.txt >heard.txt
printf '%s\n' 'iteration_completed at step 10' 'the first epoch' 'iteration_completed at step 20' \
  'batch_end at step 23' 'batch_end at step 29' 'iteration_completed at step 30' >want.txt
check "each is heard where its filter passes" diff heard.txt want.txt
check "explain shows the handlers" sh -c "$TUTTI explain run.json | grep -q 'handler .*demo.note#2'"

small_run '"handlers": [{"on": "milestone", "once": 2, "call": "demo.stop", "args": ["enough"]},
  {"on": "epoch_end", "call": "demo.mark"}]' | sed 's/"saves"/"stop"/' >stop.json
check "a handler ends the run" sh -c "$TUTTI train stop.json | grep -q '^trained 20 batches'"

for how in stop disable ignore; do
  small_run "\"handlers\": [{\"on\": \"batch_end\", \"before\": 3, \"call\": \"demo.note\",
    \"args\": [\"nothing\", 0.5], \"on_error\": \"$how\"}]" | sed "s/\"saves\"/\"fails_$how\"/" >fails_$how.json
done
says "a handler's error stops the run" 1 \
  'tutti: demo.note on batch_end: nothing has been logged as nothing' "$TUTTI" train fails_stop.json
says "or disables the handler" 0 \
  'tutti: demo.note: on batch_end: nothing has been logged as nothing (disabled from now on)' \
  "$TUTTI" train fails_disable.json
says "or is ignored" 0 'tutti: demo.note: on batch_end: nothing has been logged as nothing (ignored)
tutti: demo.note: on batch_end: nothing has been logged as nothing (ignored)' \
  "$TUTTI" train fails_ignore.json

small_run '"handlers": [
  {"on": "iteration_complete", "call": "demo.note", "args": ["loss", 0.5]},
  {"on": "started", "call": "demo.nota", "args": []},
  {"on": "started", "every": 2, "once": 3, "call": "demo.note", "args": [1, "x"]},
  {"on": [], "call": "demo.note", "args": ["loss"]},
  {"on": "started", "call": "demo.is_prime", "args": [3], "filter": "demo.note"},
  {"on": "started", "once": 0, "call": "demo.note", "args": {"metric": "m", "limits": 3}, "evry": 3}
]' >wrong.json
says "everything wrong is told with its line" 2 'wrong.json:22: handlers[0].on: "iteration_complete" is no event; did you mean iteration_completed?
wrong.json:23: handlers[1].call: no plugin declares a handler demo.nota; did you mean note?
wrong.json:24: handlers[2]: a handler takes a function, once, or every with before and after, not several of them
wrong.json:24: handlers[2].args[0]: is 1, want a string for "metric"
wrong.json:24: handlers[2].args[1]: is "x", want an f64 for "limit"
wrong.json:25: handlers[3].on: is empty, want an event
wrong.json:25: handlers[3].args: 1 arguments are given, want 2: note(str metric, f64 limit)
wrong.json:26: handlers[4].filter: demo.note is no filter
wrong.json:26: handlers[4].call: demo.is_prime is a filter, no handler
wrong.json:27: handlers[5].evry: unknown key; did you mean every?
wrong.json:27: handlers[5].once: is 0, want an integer of at least 1, or a list of them
wrong.json:27: handlers[5].args.limits: is no argument of note(str metric, f64 limit)
wrong.json:27: handlers[5].args: has no "limit": note(str metric, f64 limit)' "$TUTTI" validate wrong.json
finish
