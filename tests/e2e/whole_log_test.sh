#!/usr/bin/env bash
# whole_log_test.sh - a run that was killed and resumed has a row for every batch, once; a folder is one run's.
. "$(dirname "$0")/lib.sh"

# rows <log>: the batches that have a loss, and that every line is JSON.
rows() {
  python3 - "$1" <<'PY'
import json, sys
batches = []
with open(sys.argv[1]) as f:
    for line in f:
        row = json.loads(line)
        if row["kind"] == "metrics" and "loss/train/total" in row["values"]:
            batches.append((row["batch"], row["values"]["loss/train/total"]))
if [b for b, _ in batches] != list(range(len(batches))):
    sys.exit(f"batches {[b for b, _ in batches]}")
for batch, loss in batches:
    print(batch, loss)
PY
}
# text_rows <log>: the same of a text log.
text_rows() { sed -n 's/^\[metric\]\[batch=\([0-9]*\)\]: loss\/train\/total.*/\1/p' "$1" | tr '\n' ' '; }

small_run '"loggers": [{"name": "jsonl", "flush_interval": 7}, {"name": "file"}]' |
  sed 's/"3ep"/"15ep"/; s/"1ba"/"3ba"/; s/"batch_size": 50,/"batch_size": 50, "interval": "100ep",/' >run.json
mkdir whole killed
check "a run from start to end" bash -c 'cd whole && "$0" train ../run.json --set callbacks.0.folder="$PWD/saves"' "$TUTTI"
# Killed before its first checkpoint, later at any moment; the last kill leaves half a line.
resume() { exec "$TUTTI" train ../run.json --resume auto --set callbacks.0.folder="$PWD/saves" "$@" >out.txt 2>err.txt; }
cd killed || exit 1
for interval in 100ep 7ba 4ba; do
  (resume --set callbacks.0.interval="$interval" --set loggers.0.flush_interval=1) &
  # On the way, but not at the end: there are 150 batches.
  for try in $(seq 200); do
    now=$(grep -cs '"loss/train/total"' runs/small/log.jsonl)
    test "${now:-0}" -gt "${had:=0}" && break
    sleep 0.01
  done
  had=$(grep -c '"loss/train/total"' runs/small/log.jsonl)
  kill -KILL $! 2>/dev/null
  wait $! 2>/dev/null
done
printf '{"time":1.5,"kind":"metr' >>runs/small/log.jsonl
(resume)
check "the killed run ends" test $? = 0
cd ..
rows whole/runs/small/log.jsonl >whole.txt
rows killed/runs/small/log.jsonl >killed.txt
check "every batch has its row, once" test "$(wc -l <killed.txt)" = 150
check "with the same loss" cmp whole.txt killed.txt
check "also in a text log" test "$(text_rows killed/runs/small/log.txt)" = "$(text_rows whole/runs/small/log.txt)"
# Steps that were lost with a kill are not forgotten.
before=$(wc -l <killed/runs/small/log.jsonl)
mv killed/saves/ep14-ba147.safetensors old.safetensors
rm killed/saves/*
check "a run from an older checkpoint" bash -c 'cd killed && "$0" train ../run.json --resume ../old.safetensors --set callbacks=[]' "$TUTTI"
rows killed/runs/small/log.jsonl >killed.txt
check "has its rows once too" cmp whole.txt killed.txt
check "what was undone is kept" grep -q '"batch":149,' killed/runs/small/log.jsonl.undone

# ---- one run a folder ----
"$TUTTI" train run.json --set max_duration=100000ep --set callbacks.0.interval=1ep >out.txt 2>&1 &
pid=$!
for lock in runs/small saves; do
  for try in $(seq 600); do grep -qs "process $pid on" $lock/.lock && break; sleep 0.1; done
done
says "a second run in the folder of the first" 1 \
  "tutti: runs/small: is in use by process $pid on $(hostname); wait for its end, or give this run a folder of its own" \
  "$TUTTI" train run.json
says "a run of another name with the same checkpoints" 1 \
  "tutti: checkpoint_saver on fit_start: saves: is in use by process $pid on $(hostname); wait for its end, or give this run a folder of its own" \
  "$TUTTI" train run.json --set name=other --set loggers=[]
check "an evaluation may look at it" "$TUTTI" eval run.json --checkpoint auto
kill -KILL $pid
wait $pid 2>/dev/null

# ---- other settings ----
touch saves/ep1-ba10.safetensors.tmp-a1B2c3 saves/ep1-ba10.safetensors.tmp-tutti-a1B2c3 saves/ep1-ba10.safetensors.backup
rm -f saves/latest.safetensors.tmp # the kill may have come between the link and its rename
mkdir saves/latest.safetensors.tmp
"$TUTTI" train run.json --resume auto --set seed=6 --set optimizer.lr=0.5 --set max_duration=1000ep --duration 2ba >out.txt 2>err.txt
check "a seed and a rate that differ are told" grep -Eq \
  'saves/ep[0-9]+-ba[0-9]+.safetensors: was written with other settings: seed was 5, is 6; optimizer.lr was 0.01, is 0.5$' err.txt
check "the files of killed saves are gone" test "$(ls saves | grep -c tmp-)" = 0
check "others stay" test -e saves/ep1-ba10.safetensors.backup
check "a link that fails is a warning" grep -q 'checkpoint_saver: cannot link .*/saves/latest.safetensors to ep.*: File exists' err.txt
"$TUTTI" train run.json --resume auto --strict --set train.dataset.samples=700 --set max_duration=2000ep >out.txt 2>err.txt
check "--strict refuses" test $? = 1
check "and says why" grep -q 'was written with other settings: seed was 6, is 5; train.dataset.samples was 640, is 700; optimizer.lr was 0.5, is 0.01; and 1 more' err.txt
finish
