#!/usr/bin/env bash
# kept_test.sh - what a run that goes on has besides weights: last values of metrics, the least and the greatest in its record,
# counts of events, rates that a plugin has set, updates that were left out; and the order in which it is saved.
. "$(dirname "$0")/lib.sh"
unruly="$(dirname "$TUTTI")/tests/fixtures/unruly"
attendant="$(dirname "$TUTTI")/tests/fixtures/attendant"

# resumed <what> <run file> <batch>: whole, and again from the checkpoint of that batch, as a run that was killed behind it.
resumed() {
  rm -rf whole again
  mkdir whole
  cp "$2" whole/run.json
  check "$1: a run" sh -c "cd whole && $TUTTI train run.json >out.txt 2>err.txt" || cat whole/err.txt
  cp -r whole again
  local file
  file=$(basename "$(ls whole/saves/*-ba"$3".safetensors)")
  rm -r again/saves/* again/runs/small/log.jsonl
  cp "whole/saves/$file" again/saves
  ln -s "$file" again/saves/latest.safetensors
  sed -i 's/"status": "finished"/"status": "running"/' again/runs/small/record.json
  check "$1: goes on" sh -c "cd again && $TUTTI train run.json --resume auto >out.txt 2>err.txt" || cat again/err.txt
  check "$1: to the same end" python3 "$e2e/same_weights.py" "$(latest whole)" "$(latest again)"
}

small_run '"loggers": [{"name": "jsonl", "flush_interval": 1}]' | python3 -c '
import json, sys
run = json.load(sys.stdin)
run["callbacks"][0] |= {"interval": "5ba", "keep": -1}
def write(name, **more):
    json.dump(run | more, open(name, "w"))
write("values.json", handlers=[
  {"on": "epoch_end", "after": 1, "call": "demo.note", "args": ["metrics/test/accuracy", 0]},
  {"on": "eval_end", "every": 2, "call": "demo.note", "args": ["loss/train/total", 0]}])
write("rates.json", step_schedulers_every_batch=False, callbacks=[run["callbacks"][0] | {"interval": "1ba"}], algorithms=[
  {"name": "swa", "swa_start": "0.2dur", "swa_end": "0.5dur", "update_interval": "2ba", "schedule_swa_lr": True, "swa_lr": 0.001, "anneal_steps": 2}])
write("ends.json", callbacks=[run["callbacks"][0] | {"interval": "1ep"},
  {"name": "checkpoint_saver", "id": "weights", "folder": "weights", "weights_only": True, "interval": "1ep"}], eval=[])
write("begins.json", callbacks=[run["callbacks"][0] | {"interval": "4ba"}], eval=[run["eval"][0] | {"interval": "3ba"}],
      algorithms=[{"name": "ema", "half_life": "5ba"}], traces=[{"file": "traces.txt"}])
run["callbacks"] += [{"name": "lr_monitor"}, {"name": "activation_monitor", "interval": "1ba"}, {"name": "memory_monitor"}]
write("watched.json", callbacks=[run["callbacks"][0] | {"interval": "4ba"}] + run["callbacks"][1:], eval=[run["eval"][0] | {"interval": "3ba"}],
      loggers=[{"name": "jsonl", "log_traces": True}], algorithms=[{"name": "ema", "half_life": "5ba"}, {"name": "label_smoothing"}], max_duration="8ba")
del run["callbacks"][1:]
small = {"train": run["train"] | {"dataset": {"name": "glyphs", "samples": 256}}, "algorithms": [{"name": "attendant"}], "traces": [{"file": "traces.txt"}]}
several = [run["eval"][0] | {"label": k, "interval": every} for k, every in (("first", "3ba"), ("second", "3ba"), ("third", "1ep"))]
write("several.json", callbacks=[run["callbacks"][0] | {"interval": "3ba"}], eval=several, max_duration="11ba", **small)
loop = run | small | {"process": "supervised", "max_epochs": 1, "eval": [run["eval"][0] | {"on": "batch_checkpoint"}]}
json.dump({k: v for k, v in loop.items() if k not in ("max_duration", "schedulers")}, open("loop.json", "w"))
write("order.json", callbacks=[run["callbacks"][0], {"name": "export_for_inference", "save_path": "model.onnx"}])
write("norm.json", model={"name": "cnn"}, callbacks=[run["callbacks"][0] | {"interval": "1ba"}], max_duration="4ba")'

resumed "values" values.json 15
noted() { grep -o "$2 at step [0-9]*: [^\"]*" "$1/runs/small/log.jsonl"; }
check "handlers are heard" test "$(noted whole epoch_end | wc -l)" -ge 2
check "handlers hear what was logged before" test "$(noted whole epoch_end | tail -2)" = "$(noted again epoch_end)"
check "and as often" test "$(noted whole eval_end)" = "$(noted again eval_end)"
cat >same_record.py <<'PY'
"""Whether the records of two runs have the same results: last, least and greatest."""
import json, sys
a, b = ({k: v for k, v in json.load(open(f"{run}/runs/small/record.json"))["metrics"].items() if k.startswith(("loss/", "metrics/"))}
        for run in ("whole", "again"))
sys.exit(not a or a != b)
PY
check "the record has the least and the greatest of the whole run" python3 same_record.py

resumed "rates" rates.json 25
resumed "rates, before the plugin has set any" rates.json 4

# stopped <folder> <run file> <event> <number>: left by a second signal at that event.
stopped() {
  mkdir "$1"
  cp "$2" "$1/run.json"
  (cd "$1" && "$TUTTI" train run.json --plugin-path "$unruly" \
    --set "handlers=[{\"on\": \"$3\", \"call\": \"unruly.insist_at\", \"args\": [$4]}]" >out.txt 2>err.txt)
}
stopped left ends.json epoch_end 1
check "a call at the end of an epoch is left" grep -q 'after batch 10, which is saved; the call under way was left' left/err.txt || cat left/err.txt
check "the run goes on" sh -c "cd left && $TUTTI train run.json --resume auto >out.txt 2>err.txt" || cat left/err.txt
check "to what comes behind that call" test -e left/weights/ep1-ba10.safetensors
stopped inside norm.json after_forward 3
check "a call amid a step is left" grep -q 'after batch 2; the call under way was left, and nothing is saved: the model.s buffers have a part of the next batch' inside/err.txt || cat inside/err.txt
check "with what was saved before" test "$(readlink "$(latest inside)")" = ep0-ba2.safetensors
check "from which it goes on" sh -c "cd inside && $TUTTI train run.json --resume auto >out.txt 2>err.txt" || cat inside/err.txt
mkdir plain
cp norm.json plain/run.json
check "to the end of one" sh -c "cd plain && $TUTTI train run.json >out.txt 2>err.txt" || cat plain/err.txt
check "that was not stopped" python3 "$e2e/same_weights.py" "$(latest plain)" "$(latest inside)"

# A batch that a second signal leaves is made again; the log has the begin of its epoch and its own once, whether or not
# a checkpoint of before has them.
begins() { grep -hoE '"time/(epoch|batch)":[0-9]*' "$1"/runs/*/log.jsonl; }
mkdir logged && cp begins.json logged/run.json
check "that nothing stops" sh -c "cd logged && $TUTTI train run.json >out.txt 2>err.txt" || cat logged/err.txt
# An algorithm that has swapped weights for an evaluation does nothing when that begins again.
traces() { grep -hv /INIT= "$1"/runs/*/traces.txt | sed 's,\(/EVAL_[A-Z_]*\)=.,\1,'; }
for at in "batch_start 1" "after_forward 1" "after_forward 7" "batch_end 7" "eval_batch_end 3" "eval_end 2"; do
  rm -rf again
  stopped again begins.json $at
  check "$at: the batch is left" grep -qE '(which is saved|so nothing is to be saved); the call under way was left' again/err.txt || cat again/err.txt
  check "$at: and made again" sh -c "cd again && $TUTTI train run.json --resume auto >out.txt 2>err.txt" || cat again/err.txt
  check "$at: its begin is in the log once" diff <(begins logged) <(begins again)
  check "$at: what it traced is there once" diff <(traces logged) <(traces again)
done

# Each row of the log is there once, whatever logs it: the host, callbacks, traces of algorithms.
cat >rows.py <<'PY'
"""Names and batches of what the log of a run has, sorted; what messages say is not compared."""
import json, sys
for row in map(json.loads, open(f"{sys.argv[1]}/runs/small/log.jsonl")):
    names = row["values"] if row["kind"] == "metrics" else [row["key"]] if row["kind"] == "trace" else []
    for name in names:
        if not name.endswith("Event.INIT"):
            print(row["batch"], row["kind"], name)
PY
rows() { python3 rows.py "$1" | sort; }
# whole <what> <run file>: in seen, that nothing stops.  goes_on <what>: again does, to its end.
whole() {
  rm -rf seen && mkdir seen && cp "$2" seen/run.json
  check "$1: that nothing stops" sh -c "cd seen && $TUTTI train run.json >out.txt 2>err.txt" || cat seen/err.txt
}
goes_on() { check "$1: it goes on" sh -c "cd again && $TUTTI train run.json --resume auto >out.txt 2>err.txt" || cat again/err.txt; }
whole watched watched.json
check "watched: has rows" test "$(rows seen | wc -l)" -gt 200
for at in "after_forward 7" "before_backward 3" "after_train_batch 7" "batch_end 7" "eval_batch_end 3" "eval_end 2"; do
  rm -rf again
  stopped again watched.json $at
  check "watched, $at: the call is left" grep -q 'which is saved; the call under way was left' again/err.txt || cat again/err.txt
  goes_on "watched, $at"
  check "watched, $at: each row is there once" diff <(rows seen) <(rows again)
done

# Loggers and metrics are called behind the update of a batch, before it counts: such a call is never left.
never_left() { # <what> <option...>
  rm -rf again && mkdir again && cp watched.json again/run.json
  (cd again && "$TUTTI" train run.json --plugin-path "$unruly" "${@:2}" >out.txt 2>err.txt)
  check "$1: the batch is trained to its end" grep -q 'stopped by signal 2 after batch 3, which is saved$' again/err.txt || cat again/err.txt
  goes_on "$1"
  check "$1: to the same end" python3 "$e2e/same_weights.py" "$(latest seen)" "$(latest again)"
}
never_left "a logger" --set 'loggers=[{"name": "unruly"}, {"name": "jsonl", "log_traces": true}]'
check "a logger: each row is there once" diff <(rows seen) <(rows again)
python3 - <<'PY'
import json
run = json.load(open("watched.json"))
json.dump(run | {"algorithms": [], "callbacks": run["callbacks"][:1]}, open("watched.json", "w"))
PY
whole "a metric" watched.json # nothing hears of the step: its parts are one
never_left "a metric" --set 'train.metrics=[{"name": "unruly"}]'

# The end of a run is done again, in a checkpoint of which it is: one that was stopped before its last batch.
python3 - <<'PY'
import json
run = json.load(open("watched.json"))
test = run["eval"][0]
json.dump(run | {"max_duration": "3ep", "eval": [test | {"interval": "1ep"}, test | {"label": "last", "interval": "7ba"}], "callbacks": run["callbacks"] + [
    {"name": "threshold_stopper", "monitor": "accuracy", "dataloader_label": "test", "threshold": 0}]}, open("stopped.json", "w"))
PY
whole "an end" stopped.json
check "an end: before the last batch" test "$(latest seen | xargs readlink)" = ep1-ba10.safetensors
for at in "kill_at fit_end 1" "kill_at eval_batch_end 5" "kill_at eval_end 3" "insist_at fit_end 1" "insist_at eval_batch_end 5" \
  "insist_at eval_end 3" "interrupt_at fit_end 1" "interrupt_at eval_batch_end 5"; do
  rm -rf again && mkdir again && cp stopped.json again/run.json
  read -r how event number <<<"$at"
  (cd again && "$TUTTI" train run.json --plugin-path "$unruly" \
    --set "handlers=[{\"on\": \"$event\", \"call\": \"unruly.$how\", \"args\": [$number]}]" >out.txt 2>err.txt)
  check "an end, $at: is stopped" test $? -ne 0
  goes_on "an end, $at"
  check "an end, $at: each row is there once" diff <(rows seen) <(rows again)
done

# Where the clock begins anew, no checkpoint event of the old one is still to come.
rm -rf again
stopped again begins.json epoch_end 1
check "a new clock: a run" sh -c "cd again && $TUTTI train run.json --resume auto --reset-time --set callbacks.0.overwrite=true --set name=anew >out.txt 2>err.txt" || cat again/err.txt
check "a new clock: its first event of a checkpoint is behind a batch" test "$(grep -m1 _CHECKPOINT= again/runs/anew/traces.txt)" = '[STEP=1][ema/BATCH_CHECKPOINT=0]'

# One that comes before all have heard that training begins leaves what was saved: a log is not where a checkpoint has it yet.
rm -rf again
mkdir again && cp begins.json again/run.json
(cd again && "$TUTTI" train run.json --plugin-path "$unruly" --set callbacks.0.interval=100ep \
  --set 'handlers=[{"on": "batch_end", "once": 3, "call": "unruly.crash"}]' >out.txt 2>err.txt)
check "fit_start: a run before it has left rows" test "$(begins again | wc -l)" -gt 2 || cat again/err.txt
(cd again && "$TUTTI" train run.json --resume auto --plugin-path "$unruly" \
  --set 'handlers=[{"on": "fit_start", "call": "unruly.insist_at", "args": [1]}]' >out.txt 2>err.txt)
check "fit_start: the run is left" grep -q 'stopped by signal 2 before a batch was trained' again/err.txt || cat again/err.txt
check "fit_start: nothing is saved" sh -c '! ls again/saves | grep -q safetensors'
check "fit_start: it begins anew" sh -c "cd again && $TUTTI train run.json --resume auto >out.txt 2>err.txt" || cat again/err.txt
check "fit_start: each begin is in the log once" diff <(begins logged) <(begins again)

check "what saves comes last" sh -c "$TUTTI explain order.json --json | grep -q '\"fit_end\".*export_for_inference.*checkpoint_saver'"
finish
