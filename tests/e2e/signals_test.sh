#!/usr/bin/env bash
# signals_test.sh - signals, limits and closed pipes: the run is saved, or says what happened.
. "$(dirname "$0")/lib.sh"
small_run '"loggers": [{"name": "jsonl", "flush_interval": 1}]' | sed 's/"1ba"/"100ep"/; s/"3ep"/"2000ep"/' >run.json

# start <folder> <command...>: a run of its own that has begun, of $run; sets pid.
run=run.json
start() {
  mkdir "$1"
  (cd "$1" && shift && exec "$@" "$TUTTI" train ../$run --set callbacks.0.folder="$PWD/saves" >out.txt 2>err.txt) &
  pid=$!
  for try in $(seq 1200); do
    grep -qs '"loss/train/total"' "$1/runs/small/log.jsonl" && return
    sleep 0.05
  done
}
saved() { # <folder>: waits for a checkpoint
  for try in $(seq 1200); do
    [ -e "$1/saves/latest.safetensors" ] && return
    sleep 0.05
  done
  return 1
}

further() { # <folder>: waits for rows of a later batch: two saves of one are one file
  local rows
  rows=$(wc -l <"$1/runs/small/log.jsonl")
  for try in $(seq 1200); do
    [ "$(wc -l <"$1/runs/small/log.jsonl")" -gt $((rows + 20)) ] && return
    sleep 0.05
  done
  return 1
}

start usr1 env --default-signal=XFSZ
# Handled, not ignored, which programs that a run starts would inherit.
handled() { (((0x$(sed -n "s/^$1:[[:space:]]*//p" /proc/$pid/status) >> 24) & 1)); } # SIGXFSZ is 25
check "the signal of too large files is handled" handled SigCgt
check "and not ignored" eval '! handled SigIgn'
kill -USR1 $pid
check "SIGUSR1 saves" saved usr1
check "and goes on" further usr1
kill -HUP $pid
wait $pid
check "SIGHUP ends with 129" test $? = 129
check "and says so" grep -q 'stopped by signal 1 after batch [0-9]*, which is saved' usr1/err.txt
check "with a second checkpoint" test "$(ls usr1/saves/*ba* | wc -l)" = 2

sed 's/"max_duration"/"save_on": ["hup", "usr1"], &/' run.json >saving.json
run=saving.json start hup env
kill -HUP $pid
check "SIGHUP saves where it is to" saved hup
check "and does not stop" further hup
kill -USR1 $pid
saved_again() { # waits for a second checkpoint
  for try in $(seq 1200); do
    [ "$(ls hup/saves/*ba* | wc -l)" = 2 ] && return
    sleep 0.05
  done
  return 1
}
check "and SIGUSR1 beside it" saved_again
check "which does not stop it either" kill -0 $pid
kill -TERM $pid
wait $pid
check "as SIGTERM does" test $? = 143

# What a shell starts in the background ignores SIGINT, unless it is told not to.
start int env --default-signal=INT
kill -INT $pid
wait $pid
check "SIGINT ends with 130" test $? = 130
check "and says so too" grep -q 'stopped by signal 2 after batch [0-9]*, which is saved' int/err.txt
check "the batch is saved" test -e int/saves/latest.safetensors

start ignored bash -c 'trap "" INT HUP; exec "$@"' -
kill -INT $pid
kill -HUP $pid
rows=$(wc -l <ignored/runs/small/log.jsonl)
for try in $(seq 600); do [ "$(wc -l <ignored/runs/small/log.jsonl)" -gt "$((rows + 60))" ] && break; sleep 0.05; done
check "ignored signals stay ignored" test "$(wc -l <ignored/runs/small/log.jsonl)" -gt "$((rows + 60))"
kill -TERM $pid
wait $pid
check "others are heard" test $? = 143

mkdir limit pipe
(cd limit && ulimit -f 100 && exec "$TUTTI" train ../run.json --set loggers=[] --set max_duration=1ba --set callbacks.0.folder="$PWD/saves" >out.txt 2>err.txt)
check "a limit of file sizes is an error" test $? = 1
check "and told" grep -Eq 'cannot write the checkpoint: File too large$' limit/err.txt

# Libraries of plugins are loaded from memory, for which the limit holds too.  limited KIB COMMAND: it ends by itself, with a
# sentence that names the limit; what is printed goes to a file, which is limited as well.
echo 'var Chart = function () {};' >stand_in.js
seq 20000 >numbers.txt
checkpoint=$work/usr1/saves/latest.safetensors
limited() {
  local size=$1 status
  shift
  (cd limit && ulimit -f "$size" && TUTTI_CHART_JS=$work/stand_in.js exec "$TUTTI" "$@" 2>&1 >out.txt) | cat >why.txt
  status=${PIPESTATUS[0]}
  check "at $size KiB, $1 $2 ends with 1 or 2, not by a signal" test "$status" = 1 -o "$status" = 2
  check "which names the limit" grep -Eq '^tutti: .*(the limit of file sizes \(ulimit -f\) is '$((1024 * size))'|: File too large)$' why.txt
}
onnx=1
"$TUTTI" export "$checkpoint" --onnx probe.onnx >why.txt 2>&1
if grep -q 'built without protobuf-c' why.txt; then
  onnx= && skip "ONNX files: built without protobuf-c (Debian's packages libprotobuf-c-dev and protobuf-c-compiler)"
fi
for size in 10 60; do # each of these writes more than 60 KiB, should every library be smaller
  limited $size train ../run.json
  [ -z "$onnx" ] || limited $size export "$checkpoint" --onnx out.onnx
  limited $size data convert ../numbers.txt out.bin --as text --set length=8
done
limited 10 eval ../run.json --checkpoint "$checkpoint"
limited 10 predict ../run.json --checkpoint "$checkpoint" --output out.csv
limited 10 report ../usr1/runs --page out.html
limited 10 plugins lock
limited 10 plugins list
check "plugins list says of how many it knows nothing" grep -Eq '^tutti: [0-9]+ of [0-9]+ plugins cannot be loaded by this process: ' why.txt
limited 10 plugins check "$(dirname "$TUTTI")/lib/tutti/plugins/mlp"
check "nothing half written" eval '! ls limit | grep -F .part'

# The same limit in the middle of a log, whose run goes on: checkpoints of this model are smaller.
mkdir log whole
small_run '"loggers": [{"name": "jsonl"}]' | sed 's/"batch_size": 64/"batch_size": 4/; s/"hidden": \[32\]/"hidden": [8]/; s/"3ep"/"8ep"/; s/"1ba"/"8ep"/' |
  tee log/run.json >whole/run.json
(cd whole && "$TUTTI" train run.json >out.txt 2>err.txt)
(cd log && ulimit -f 100 && exec "$TUTTI" train run.json >out.txt 2>err.txt)
check "a limit of file sizes in the middle of a log ends no run" test $? = 0
check "is told once" test "$(grep -c 'cannot write .*runs/small/log.jsonl: File too large; nothing more is logged there$' log/err.txt)" = 1
check "changes no weight" python3 "$e2e/same_weights.py" "$(latest log)" "$(latest whole)"
check "and keeps the rows before" python3 - log/runs/small/log.jsonl whole/runs/small/log.jsonl <<'PY'
import json, sys
cut, whole = ([line for line in open(name)] for name in sys.argv[1:])
rows = [json.loads(line) for line in cut if line.endswith("\n")]
values = [row.get("values") for row in rows if "loss/train/total" in row.get("values", {})]
want = [row["values"] for row in map(json.loads, whole) if "loss/train/total" in row.get("values", {})]
assert 100 < len(values) < len(want) and values == want[:len(values)], (len(values), len(want))
PY

cd pipe || exit 1
exec 3> >(true)
wait $! # the reader is gone before anything is written
"$TUTTI" train ../run.json --set 'loggers=[{"name": "console", "stream": "stdout"}]' --set max_duration=20ba \
  --set callbacks.0.folder="$PWD/saves" 2>err.txt >&3
check "a closed pipe is an error" test $? = 1
exec 3>&-
check "which is told at the end" grep -q 'tutti: cannot write to standard output: Broken pipe' err.txt
check "of a run that is saved" test -e saves/latest.safetensors
finish
