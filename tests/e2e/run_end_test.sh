#!/usr/bin/env bash
# run_end_test.sh - a run that is killed behind its last checkpoint does what is left of its end when it is taken up: the
# end of an epoch, the last evaluation, what callbacks write.  What came to its end stays as it is.
. "$(dirname "$0")/lib.sh"

logs='"loggers": [{"name": "jsonl", "flush_interval": 1}]'

# killed <from> <to>: as <from> was between its last checkpoint and its end.
killed() {
  cp -r "$1" "$2"
  rm "$2/model.onnx"
  sed -i 's/"status": "finished"/"status": "running"/' "$2/runs/$3/record.json"
}

evaluations() { grep -c '"metrics/test/accuracy"' "$1/runs/$2/log.jsonl"; }

# ends <what> <command> <name> <run file>: whole once, killed, taken up twice.
ends() {
  local what=$1 command=$2 name=$3
  mkdir whole
  cp "$4" whole/run.json
  (cd whole && "$TUTTI" "$command" run.json >out.txt 2>err.txt) || { echo "FAILED: $what"; cat whole/err.txt; failures=$((failures + 1)); return; }
  killed whole cut "$name"
  check "$what: a run that was killed behind its last checkpoint is taken up" sh -c "cd cut && $TUTTI $command run.json --resume auto >out.txt 2>err.txt" || cat cut/err.txt
  check "$what: what is written at the end" cmp whole/model.onnx cut/model.onnx
  check "$what: as many evaluations" test "$(evaluations whole "$name")" = "$(evaluations cut "$name")"
  check "$what: the same checkpoints" bash -c 'diff <(ls whole/saves) <(ls cut/saves)'
  check "$what: the same weights" python3 "$e2e/same_weights.py" "$(latest whole)" "$(latest cut)"
  check "$what: it is finished" grep -q '"status": "finished"' "cut/runs/$name/record.json"
  rm cut/model.onnx
  cp cut/runs/$name/record.json cut/record.json
  check "$what: what came to its end has nothing left" sh -c "cd cut && $TUTTI $command run.json --resume auto 2>&1 | grep -q 'nothing is left to'"
  check "$what: and its record stays as it is" sh -c "[ ! -e cut/model.onnx ] && cmp cut/runs/$name/record.json cut/record.json"
  (cd cut && "$TUTTI" "$command" run.json --resume auto --strict --set seed=6 >out.txt 2>&1)
  check "$what: also where an attempt is refused" cmp cut/runs/$name/record.json cut/record.json
  rm -rf whole cut
}

small_run "$logs" | python3 -c '
import json, sys
run = json.load(sys.stdin)
run["callbacks"][0]["interval"] = "1ep"
run["callbacks"].insert(0, {"name": "export_for_inference", "save_path": "model.onnx"})
json.dump(run, open("epochs.json", "w"))
run["callbacks"][1]["interval"] = "5ba"
json.dump(run | {"max_duration": "25ba"}, open("batches.json", "w"))
json.dump(run | {"max_duration": "20ba"}, open("whole_epochs.json", "w"))
del run["max_duration"]
json.dump(run | {"process": "supervised", "max_epochs": 2}, open("engine.json", "w"))'
ends "epochs" train small epochs.json
ends "batches, whose last epoch is cut" train small batches.json
ends "batches, two epochs" train small whole_epochs.json
ends "an engine file" run small engine.json

# A run that was stopped before its max_duration, or whose last checkpoint lies before the end of its last epoch.
python3 -c '
import json
run = json.load(open("epochs.json"))
json.dump(run | {"optimizer": {"name": "sgd", "lr": 1e-9}, "max_duration": "9ep", "callbacks": run["callbacks"] + [
  {"name": "early_stopper", "monitor": "accuracy", "dataloader_label": "test", "patience": "2ep"}]}, open("stops.json", "w"))
json.dump(run | {"callbacks": [run["callbacks"][0], run["callbacks"][1] | {"interval": "5ba"}]}, open("late.json", "w"))'
for name in stops late; do
  mkdir $name
  cp $name.json $name/run.json
  check "$name: a run trains" sh -c "cd $name && $TUTTI train run.json >out.txt 2>&1"
  ls $name/saves >$name/before.txt
  check "$name: what came to its end there has nothing left" sh -c "cd $name && $TUTTI train run.json --resume auto 2>&1 | grep -q 'nothing is left to train: the run has come to its end after batch'"
  check "$name: and stays as it is" bash -c "ls $name/saves | diff $name/before.txt - && grep -q '\"status\": \"finished\"' $name/runs/small/record.json"
done
check "with a longer max_duration it goes on" bash -c "cd stops && $TUTTI train run.json --resume auto --set max_duration=11ep >out.txt 2>&1 && ! ls saves | diff before.txt - >/dev/null"
check "with a duration it does" sh -c "cd late && $TUTTI train run.json --resume auto --duration 2ep >out.txt 2>&1 && ls saves | grep -q ba40"

# A duration that was over is no end of the run.
mkdir short
cp epochs.json short/run.json
check "a run of one epoch" sh -c "cd short && $TUTTI train run.json --duration 1ep >out.txt 2>&1"
check "goes on to its end" sh -c "cd short && $TUTTI train run.json --resume auto >out.txt 2>&1 && ls saves | grep -q ba30"
# Nothing was finished where nothing has run.
mkdir other
sed 's/"name": "small"/"name": "other"/' epochs.json >other/run.json
(cd other && "$TUTTI" train run.json --resume "$(ls ../short/saves/*-ba30.*)" >out.txt 2>&1)
(cd other && "$TUTTI" train run.json --resume "$(ls ../short/saves/*-ba30.*)" >again.txt 2>&1)
check "a checkpoint at the limit in another run, twice" sh -c "grep -q 'nothing is left to train' other/out.txt && grep -q 'nothing is left to train' other/again.txt && grep -q '\"status\": \"failed\"' other/runs/other/record.json"

# Only rank 0 has a record.
ranks() { # ranks <folder> [options]
  (cd "$1" && shift && TUTTI_RANK=1 TUTTI_WORLD_SIZE=2 "$TUTTI" train run.json "$@" >out1.txt 2>err1.txt & \
   cd "$1" && shift && TUTTI_RANK=0 TUTTI_WORLD_SIZE=2 "$TUTTI" train run.json "$@" >out.txt 2>err.txt; status=$?; wait; exit $status)
}
mkdir whole
python3 -c '
import json, sys
run = json.load(open("batches.json"))
json.dump(run | {"microbatch_size": 32, "threads": 1, "distributed": {"comm": "shared_memory"}}, sys.stdout)' >whole/run.json
check "two ranks train" ranks whole
killed whole cut small
check "two ranks take up what was killed" ranks cut --resume auto || cat cut/err.txt cut/err1.txt
check "what rank 0 writes at the end" cmp whole/model.onnx cut/model.onnx
check "is all that was left" grep -q '"status": "finished"' cut/runs/small/record.json
finish
