#!/usr/bin/env bash
# cut_evaluation_test.sh - a signal that comes before an evaluation that is due, or amid it, stops the run at once; the run
# that goes on does that evaluation, then what comes behind it, and ends as one that was not stopped.
. "$(dirname "$0")/lib.sh"
unruly="$(dirname "$TUTTI")/tests/fixtures/unruly"

evaluations() { grep -o '"metrics/[a-z]*/accuracy": *[0-9.e-]*' "$1/runs/small/log.jsonl"; }

# cut <what> <command> <run file> <event> <number>...: whole, and stopped at the <number>th <event>.
cut() {
  local what=$1 command=$2 file=$3 event=$4
  shift 4
  rm -rf whole
  mkdir whole
  cp "$file" whole/run.json
  check "$what: a run" sh -c "cd whole && $TUTTI $command run.json >out.txt 2>err.txt" || cat whole/err.txt
  for number; do
    local stop="[{\"on\": \"$event\", \"call\": \"unruly.interrupt_at\", \"args\": [$number]}]"
    rm -rf cut
    mkdir cut
    cp "$file" cut/run.json
    (cd cut && "$TUTTI" "$command" run.json --plugin-path "$unruly" --set "handlers=$stop" >out.txt 2>err.txt)
    check "$what, $number: a signal stops it" test $? -eq 130 || cat cut/err.txt
    check "$what, $number: it is saved" grep -q 'stopped by signal 2 after batch [0-9]*, which is saved' cut/err.txt
    check "$what, $number: before the evaluation" test "$(evaluations cut | wc -l)" -lt "$(evaluations whole | wc -l)"
    check "$what, $number: it goes on" sh -c "cd cut && $TUTTI $command run.json --resume auto >out.txt 2>err.txt" || cat cut/err.txt
    check "$what, $number: with the same evaluations" test "$(evaluations whole)" = "$(evaluations cut)"
    check "$what, $number: to the same end" python3 "$e2e/same_weights.py" "$(latest whole)" "$(latest cut)"
    check "$what, $number: under the same name" test "$(readlink "$(latest whole)")" = "$(readlink "$(latest cut)")"
    check "$what, $number: nothing is left" sh -c "cd cut && $TUTTI $command run.json --resume auto 2>&1 | grep -q 'nothing is left to'"
  done
}

# Two evaluations of two batches each: 4 batches of them an epoch.
small_run '"loggers": [{"name": "jsonl", "flush_interval": 1}]' | python3 -c '
import json, sys
run = json.load(sys.stdin)
run["callbacks"][0] |= {"interval": "1ep", "keep": -1}
run["eval"].append(run["eval"][0] | {"label": "again"})
json.dump(run, open("epochs.json", "w"))
json.dump(run | {"iteration_length": "1ep"}, open("iterations.json", "w"))
json.dump(run | {"algorithms": [{"name": "ema", "half_life": "5ba"}], "callbacks": run["callbacks"] + [
  {"name": "early_stopper", "monitor": "accuracy", "dataloader_label": "test", "patience": "2ep"}]}, open("stops.json", "w"))
evals = [one | {"interval": "4ba"} for one in run["eval"]]
json.dump(run | {"eval": evals, "callbacks": [run["callbacks"][0] | {"interval": "2ba"}]}, open("batches.json", "w"))
del run["max_duration"]
on = [one | {"on": "epoch_completed"} for one in run["eval"]]
json.dump(run | {"eval": on, "process": "supervised", "max_epochs": 3}, open("engine.json", "w"))
on = [one | {"on": {"event": "iteration_completed", "every": 10}} for one in run["eval"]]
json.dump(run | {"eval": on, "process": "supervised", "max_epochs": 3}, open("engine_batches.json", "w"))'
cut "amid evaluations of epochs" train epochs.json eval_batch_end 1 3 4 6 9 12
cut "before them" train epochs.json batch_end 10 30
cut "with their epoch's end" train epochs.json epoch_end 1 3
cut "with iterations" train iterations.json eval_batch_end 2 10
cut "with what judges them" train stops.json eval_batch_end 1 9
cut "of batches" train batches.json eval_batch_end 1 28
cut "in an engine file" run engine.json eval_batch_end 1 3 9 12
cut "before them in an engine file" run engine.json iteration_completed 10 30
cut "of batches in an engine file" run engine_batches.json eval_batch_end 1 3 9 12

# A checkpoint between the end of an epoch, or of tokens, and that of the iteration that it ends.
iterations() {
  mkdir "$1" "$1_on"
  cp "$2" "$1/run.json"
  cp "$2" "$1_on"
  check "iterations of $1" sh -c "cd $1 && $TUTTI train run.json >out.txt 2>err.txt" || cat "$1/err.txt"
  check "go on from the last batch of one" sh -c "cd $1_on && $TUTTI train $2 --resume \$(ls ../$1/saves/*-$3.*) >out.txt 2>err.txt" || cat "$1_on/err.txt"
  check "to the same end" python3 "$e2e/same_weights.py" "$(latest "$1")" "$(latest "$1_on")"
}
iterations epochs iterations.json ba10
python3 -c 'print("\n".join(f"ROMEO: {a} and {b} went by the {a}." for a in ("fox", "crow", "hen", "owl") * 40 for b in ("wolf", "cat")))' >play.txt
python3 -c '
import json, sys
run = json.load(open(sys.argv[1]))
run["train"]["dataset"]["path"] = sys.argv[2]
run["train"] |= {"batch_size": 2}
run |= {"iteration_length": str(2 * 3 * run["train"]["dataset"]["length"]) + "tok", "max_duration": "8ba", "eval": [], "loggers": [],
  "callbacks": [{"name": "checkpoint_saver", "folder": "saves", "interval": "1ba", "keep": -1}]}
run.pop("microbatch_size", None)
run["train"].pop("microbatch_size", None)
json.dump(run, open("tokens.json", "w"))' "$SOURCE/host/recipes/shakespeare_gpt.json" "$work/play.txt"
iterations tokens tokens.json ba3
finish
