#!/usr/bin/env bash
# cut_evaluation_test.sh - a signal that comes before an evaluation that is due, or amid it, stops the run at once; the run
# that goes on does that evaluation, then what comes behind it, and ends as one that was not stopped.
. "$(dirname "$0")/lib.sh"
unruly="$(dirname "$TUTTI")/tests/fixtures/unruly"

# In turn, what evaluations gave and what handlers saw of it.
evaluations() { grep -oE '"metrics/[a-z]*/accuracy": *[0-9.e-]*|"text": ?"[a-z_]* at step [^"]*' "$1/runs/small/log.jsonl"; }
handlers() { python3 -c 'import json, sys; print(json.dumps(json.load(open(sys.argv[1])).get("handlers", []))[1:-1])' "$1"; }

# whole <what> <command> <run file>: the run that nothing stops, in whole/.
whole() {
  rm -rf whole
  mkdir whole
  cp "$3" whole/run.json
  check "$1: a run" sh -c "cd whole && $TUTTI $2 run.json >out.txt 2>err.txt" || cat whole/err.txt
}

# as_whole <what> <command>: the run in cut/ goes on, and ends as the one in whole/.
as_whole() {
  check "$1: it goes on" sh -c "cd cut && $TUTTI $2 run.json --resume auto >out.txt 2>err.txt" || cat cut/err.txt
  check "$1: with the same evaluations" test "$(evaluations whole)" = "$(evaluations cut)"
  local saved
  for saved in whole/saves/*.safetensors; do
    check "$1: to the same $(basename "$saved")" python3 "$e2e/same_weights.py" "$saved" "cut/saves/$(basename "$saved")"
  done
  check "$1: as many files of weights" bash -c 'diff <(ls whole/weights 2>&1 | sed s/whole//) <(ls cut/weights 2>&1 | sed s/cut//)'
  check "$1: the same is the latest" test "$(readlink "$(latest whole)")" = "$(readlink "$(latest cut)")"
  check "$1: nothing is left" sh -c "cd cut && $TUTTI $2 run.json --resume auto 2>&1 | grep -q 'nothing is left to'"
}

# cut <what> <command> <run file> <function>:<event> <number>...: stopped at the <number>th <event>.
cut() {
  local what=$1 command=$2 file=$3 function=${4%:*} event=${4#*:}
  shift 4
  whole "$what" "$command" "$file"
  local more
  more=$(handlers "$file")
  for number; do
    local stop="[{\"on\": \"$event\", \"call\": \"unruly.$function\", \"args\": [$number]}${more:+, $more}]"
    rm -rf cut
    mkdir cut
    cp "$file" cut/run.json
    (cd cut && "$TUTTI" "$command" run.json --plugin-path "$unruly" --set "handlers=$stop" >out.txt 2>err.txt)
    check "$what, $number: a signal stops it" test $? -eq 130 || cat cut/err.txt
    check "$what, $number: it is saved" grep -q 'stopped by signal 2 after batch [0-9]*, which is saved' cut/err.txt || cat cut/err.txt
    check "$what, $number: before an evaluation" test "$(evaluations cut | wc -l)" -lt "$(evaluations whole | wc -l)"
    as_whole "$what, $number" "$command"
  done
}

# Two evaluations of two batches each: 4 batches of them an epoch.
small_run '"loggers": [{"name": "jsonl", "flush_interval": 1}]' | python3 -c '
import json, sys
run = json.load(sys.stdin)
saver = run["callbacks"][0] | {"interval": "1ep", "keep": -1}
weights = {"name": "checkpoint_saver", "id": "weights", "folder": "weights", "weights_only": True, "interval": "1ep"}
def write(name, **more):
    json.dump(run | more, open(name, "w"))
run |= {"eval": run["eval"] + [run["eval"][0] | {"label": "again"}], "callbacks": [saver]}
write("epochs.json", callbacks=[saver, weights])
write("iterations.json", iteration_length="1ep")
slow = {"optimizer": {"name": "sgd", "lr": 1e-9}, "max_duration": "6ep"}
stopper = {"name": "early_stopper", "monitor": "accuracy", "dataloader_label": "test", "patience": "1ep"}
write("stops.json", algorithms=[{"name": "ema", "half_life": "5ba"}], callbacks=[saver, stopper], **slow)
write("batches.json", eval=[one | {"interval": "4ba"} for one in run["eval"]], callbacks=[saver | {"interval": "2ba"}])
write("last.json", eval=[one | {"interval": "100ba"} for one in run["eval"]], callbacks=[saver | {"interval": "7ba"}])
train = run["train"] | {"metrics": [{"name": "accuracy"}]}
write("train.json", train=train, callbacks=[saver | {"interval": "1ba"}, stopper | {"dataloader_label": "train", "min_delta": 1.0}], **slow)
del run["max_duration"]
run |= {"process": "supervised", "max_epochs": 3}
def on(name, event, **more):
    write(name, eval=[one | {"on": event} for one in run["eval"]], **more)
on("engine.json", "epoch_completed")
on("engine_batches.json", {"event": "iteration_completed", "every": 10})
def note(event, **more):
    return {"on": event, "call": "demo.note", "args": ["metrics/test/accuracy", 0.0]} | more
on("engine_notes.json", "epoch_completed", handlers=[note("epoch_completed"), note("epoch_completed", every=2), note("epoch_end")])
on("engine_batch_notes.json", {"event": "iteration_completed", "every": 10}, handlers=[note("iteration_completed", every=10)])
on("completed.json", "completed", callbacks=[saver | {"interval": "7ba"}])'
cut "amid evaluations of epochs" train epochs.json interrupt_at:eval_batch_end 1 3 4 6 9 12
cut "before them" train epochs.json interrupt_at:batch_end 10 30
cut "with their epoch's end" train epochs.json interrupt_at:epoch_end 1 3
cut "with a call that is left" train epochs.json insist_at:epoch_end 1 3
cut "with iterations" train iterations.json interrupt_at:eval_batch_end 2 10
cut "with what judges them" train stops.json interrupt_at:eval_batch_end 1 9
cut "stopped already" train stops.json interrupt_at:eval_batch_end 11
cut "of batches" train batches.json interrupt_at:eval_batch_end 1 28
cut "of batches, with a call that is left" train batches.json insist_at:batch_end 8 28
cut "of the end alone" train last.json interrupt_at:batch_end 10 30
cut "amid that of the end" train last.json interrupt_at:eval_batch_end 1 3
cut "in an engine file" run engine.json interrupt_at:eval_batch_end 1 3 9 12
cut "before them in an engine file" run engine.json interrupt_at:iteration_completed 10 30
cut "of batches in an engine file" run engine_batches.json interrupt_at:eval_batch_end 1 3 9 12
cut "with handlers that look at them" run engine_notes.json interrupt_at:eval_batch_end 1 3 4 6 9 12
cut "of batches with handlers" run engine_batch_notes.json interrupt_at:eval_batch_end 1 3 4 9 12
cut "with handlers, before them" run engine_notes.json interrupt_at:iteration_completed 10 20 30
cut "with handlers, with a call that is left" run engine_notes.json insist_at:eval_batch_end 1 4 12
cut "of the end in an engine file" run completed.json interrupt_at:eval_batch_end 1

# killed <file> <status>: the whole run as it was when it had saved that file, without its log.
killed() {
  rm -rf cut
  cp -r whole cut
  rm -r cut/saves/* cut/runs/small/log.jsonl
  sed -i "s/\"status\": \"finished\"/\"status\": \"$2\"/" cut/runs/small/record.json
  cp "whole/saves/$1" "cut/saves/$1"
  ln -s "$1" cut/saves/latest.safetensors
}

# goes_on <what>: to the end of the whole run, over its last epochs.
goes_on() {
  check "$1: it goes on" sh -c "cd cut && $TUTTI train run.json --resume auto >out.txt 2>err.txt" || cat cut/err.txt
  check "$1: to the same end" python3 "$e2e/same_weights.py" "$(latest whole)" "$(latest cut)"
  check "$1: under the same name" test "$(readlink "$(latest whole)")" = "$(readlink "$(latest cut)")"
}

# What judges training at the end of an epoch has the values of the batch before, also in a run that begins behind it.
whole "the end of an epoch" train train.json
for number in 20 30; do
  killed ep$((number / 10 - 1))-ba$number.safetensors running
  goes_on "the end of an epoch, $number"
  check "the end of an epoch, $number: with the same metrics of training" bash -c 'grep -o "\"metrics/train/accuracy\": *[0-9.e-]*" cut/runs/small/log.jsonl >last.txt &&
    grep -o "\"metrics/train/accuracy\": *[0-9.e-]*" whole/runs/small/log.jsonl | tail -$(wc -l <last.txt) | diff - last.txt'
done

# A run that a callback has stopped, and that is killed before its end, does not train on.  With a longer limit it does, also
# where the first attempt is killed before it saves.
whole "a run that is stopped" train stops.json
check "a run that is stopped: early" test "$(readlink "$(latest whole)")" = ep3-ba30.safetensors
killed ep3-ba30.safetensors running
goes_on "stopped and killed"
killed ep3-ba30.safetensors finished
longer="$TUTTI train run.json --resume auto --set max_duration=9ep --set callbacks.1.patience=8ep"
check "a longer limit, killed" sh -c "cd cut && ! timeout -s KILL 60 $longer --plugin-path $unruly --set 'handlers=[{\"on\": \"batch_start\", \"call\": \"unruly.crash\"}]' >out.txt 2>err.txt"
check "is told as such" grep -q '"status": "running"' cut/runs/small/record.json
check "goes on" sh -c "cd cut && $longer >out.txt 2>err.txt"
check "to that limit" test "$(readlink "$(latest cut)")" = ep9-ba90.safetensors

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
