#!/usr/bin/env bash
# own_files_test.sh - callbacks with files of their own, and those that log now and then, in runs that a signal or a kill
# ends: the run that goes on is not in its own way, and what it has at its end is what one that was not stopped has.
. "$(dirname "$0")/lib.sh"
unruly="$(dirname "$TUTTI")/tests/fixtures/unruly"

small_run '"loggers": [{"name": "jsonl", "flush_interval": 1}], "microbatch_size": 32' | python3 -c '
import json, sys
run = json.load(sys.stdin)
run["callbacks"] = [
    {"name": "mlperf", "root_folder": "submission", "index": 0, "metric_label": "test", "target": 2, "system_name": "box"},
    {"name": "memory_snapshot", "interval": "3ba"}, {"name": "oom_observer", "folder": "oom"},
    {"name": "activation_monitor", "interval": "1ep"}, {"name": "image_visualizer", "interval": "1ep", "num_images": 1},
    {"name": "runtime_estimator"}] + [run["callbacks"][0] | {"interval": "5ba", "keep": -1},
    {"name": "checkpoint_saver", "id": "weights", "folder": "weights", "weights_only": True, "interval": "4ba", "keep": -1}]
run["algorithms"] = [{"name": "ema", "half_life": "5ba"}]
run["traces"] = [{"file": "traces.txt"}, {"file": "ran.jsonl", "format": "json", "all": False}]
run["loggers"].append({"name": "mlflow", "tracking_uri": "file:mlruns"})
json.dump(run, open("run.json", "w"))'

# What a run in folder $1 has: the submission without its times, what was logged how often, the snapshots.
has() {
  sed 's/"time_ms": [0-9]*, //' "$1/submission/results/box/resnet/result_0.txt"
  grep -c '"activations/l2_norm/_output.0"' "$1/runs/small/log.jsonl"
  grep -c '"Images/Train"' "$1/runs/small/log.jsonl"
  grep -ho '"batch": [0-9]*,' "$1"/runs/small/torch_traces/*.json
  ls "$1/weights"
  grep -vE '/(INIT|EVAL_[A-Z_]*)=' "$1/runs/small/traces.txt"
  sed 's/"duration_us": [0-9.]*//' "$1/runs/small/ran.jsonl" | grep -vE "Event.(INIT|EVAL_)"
  echo "$1"/mlruns/*/*/meta.yaml | wc -w
}
train() { (cd "$1" && shift && "$TUTTI" train run.json "$@" >out.txt 2>err.txt); }
ends_as_whole() {
  check "$1: it goes on" train cut --resume auto || cat cut/err.txt
  check "$1: it has what one has that was not stopped" bash -c "$(declare -f has); diff <(has whole) <(has cut)"
}

mkdir whole
cp run.json whole
check "a run" train whole
check "has a line for each evaluation" test "$(has whole | grep -c '"eval_accuracy"')" = 3
for on in batch_end:4 batch_end:13 eval_batch_end:1 eval_batch_end:4; do
  rm -rf cut
  mkdir cut
  cp run.json cut
  train cut --plugin-path "$unruly" --set "handlers=[{\"on\": \"${on%:*}\", \"call\": \"unruly.interrupt_at\", \"args\": [${on#*:}]}]"
  check "stopped at $on" test $? -eq 130 || cat cut/err.txt
  ends_as_whole "stopped at $on"
done

# As after a kill: files have more than the newest checkpoint knows of.
for saved in ep0-ba5 ep1-ba15 none; do # with none it was killed before the first: it begins anew
  rm -rf cut
  cp -r whole cut
  if [ $saved = none ]; then
    rm cut/saves/*
    echo '{}' >cut/runs/small/oom/rank0_oom_0.json
  else
    find cut/saves -type f -newer "cut/saves/$saved.safetensors" ! -name "$saved.*" -delete
    ln -sf "$saved.safetensors" cut/saves/latest.safetensors
  fi
  sed -i 's/"status": "finished"/"status": "running"/' cut/runs/small/record.json
  ends_as_whole "killed after $saved"
done

# Nothing is left to train: what there is stays as it is.
rm -rf cut
cp -r whole cut
check "nothing is left" sh -c "cd cut && $TUTTI train run.json --resume auto 2>&1 | grep -q 'nothing is left to train'"
check "and it stays" bash -c "$(declare -f has); diff <(has whole) <(has cut) && diff -r whole/mlruns cut/mlruns"

# As of programs that kept none of it: it begins anew.
rm -rf cut
cp -r whole cut
mv cut/saves/ep1-ba15.safetensors old.safetensors
rm -r cut/saves/* cut/weights
for item in mlperf.mark mlperf.is_over memory_snapshot.progress activation_monitor.logged image_visualizer.last runtime_estimator.labels runtime_estimator.counts; do
  check "the checkpoint has $item" python3 "$e2e/rewrite_checkpoint.py" old.safetensors older.safetensors "callback.$item" "callback.$item.lost"
  mv older.safetensors old.safetensors
done
check "a checkpoint without them is gone on from" train cut --resume ../old.safetensors || cat cut/err.txt

# Who goes back to a checkpoint by its name does not lose the later ones unasked, and who was refused owns nothing.
rm -rf cut
cp -r whole cut
says "later checkpoints are left alone" 1 \
  'tutti: mlperf: cache_clear_cmd is not set: a valid submission needs it
tutti: weights on fit_start: checkpoint_saver: cut/weights/ep0-ba8.safetensors is there already and this run would write over it; resume from it, choose another folder, or set overwrite' \
  sh -c "cd cut && rm -f saves/ep1* saves/ep2* saves/ep3* weights/ep1* weights/ep2* weights/ep3* && '$TUTTI' train run.json --quiet --resume saves/ep0-ba5.safetensors"
rm -rf cut
mkdir cut
cp -r run.json whole/submission cut
for attempt in first second; do
  check "the $attempt attempt leaves a result of another run alone" sh -c "cd cut && ! '$TUTTI' train run.json --resume auto >out.txt 2>err.txt && grep -q 'result_0.txt already exists' err.txt && diff -r ../whole/submission submission"
done

# A process that was refused takes nothing from the one that goes on.
rm -rf cut
cp -r whole cut
rm cut/saves/*
sed -i 's/"status": "finished"/"status": "running"/' cut/runs/small/record.json
check "a run that begins is refused" sh -c "cd cut && ! '$TUTTI' train run.json >out.txt 2>err.txt"
ends_as_whole "refused, then killed"
says "and so is one whose time begins again" 1 \
  'tutti: mlperf: cache_clear_cmd is not set: a valid submission needs it
tutti: mlperf on fit_start: cut/submission/results/box/resnet/result_0.txt already exists; give another index' \
  sh -c "cd cut && '$TUTTI' train run.json --quiet --resume auto --reset-time --set callbacks.6.overwrite=true --set callbacks.7.overwrite=true"

# Traces that cannot be written are told at the end, when loggers are gone.
rm -rf cut
mkdir cut
cp run.json cut
check "a run whose traces have no room" train cut --set 'traces=[{"file": "/dev/full"}, {"file": "/dev/full", "format": "json"}]'
check "says so, of each" test "$(grep -c 'traces could not be written in full' cut/err.txt)" = 2

says "a run that begins leaves a result alone" 1 \
  'tutti: mlperf: cache_clear_cmd is not set: a valid submission needs it
tutti: mlperf on fit_start: whole/submission/results/box/resnet/result_0.txt already exists; give another index' \
  sh -c "cd whole && '$TUTTI' train run.json --quiet"
finish
