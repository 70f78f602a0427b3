#!/usr/bin/env bash
# kept_test.sh - what a run that goes on has besides weights: last values of metrics, the least and the greatest in its record,
# counts of events, rates that a plugin has set, updates that were left out; and the order in which it is saved.
. "$(dirname "$0")/lib.sh"
unruly="$(dirname "$TUTTI")/tests/fixtures/unruly"

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
