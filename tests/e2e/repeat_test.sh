#!/usr/bin/env bash
# repeat_test.sh - a run's folder has all that repeats the run, and `tutti train --repeat` gives its bits with an empty
# cache; what cannot be as it was is told.
. "$(dirname "$0")/lib.sh"
export TUTTI_TUNE=1 # other tests run beside this one
export XDG_CACHE_HOME=$work/cache
field() { python3 -c "import json, sys
value = json.load(open(sys.argv[1]))
for key in sys.argv[2:]: value = value[int(key) if key.isdigit() else key]
print(value)" "$@"; }
has() { [ "$(field "${@:2}")" = "$1" ] || { echo "it is $(field "${@:2}"), want $1"; false; }; }
losses() { grep -o '"loss/train/total":[^,}]*' "$1/log.jsonl"; }
same_losses() { [ "$(losses "$1" | wc -l)" -gt 4 ] && diff <(losses "$1") <(losses "$2"); }

mkdir data
small_run '"loggers": [{"name": "jsonl", "flush_interval": 1}]' | sed 's/{"name": "mlp", "hidden": \[32\], "dropout": 0.1}/{"name": "cnn"}/
  s/"3ep"/"6ba"/; s/"threads": 2,//; s/"workers": 2/"workers": 1/; s/"batch_size": 64/"batch_size": 16/
  s/"folder": "saves", "interval": "1ba"/"interval": "3ba"/' >data/run.json
check "a run that measures its kernels" "$TUTTI" train data/run.json --quiet --threads 2
run=runs/small/record.json
check "its folder has a record" has tutti.record/1 $run format
check "which says that it is over" has finished $run status
check "and how far it came" has 6 $run batches
check "with the settings of the command line" has 2 $run run threads
check "where paths count from" has "$work/data" $run folder
check "the kernels" test "$(field $run kernels | wc -l)" -gt 1
check "the plugins, each with its hash" test "$(field $run plugins 0 sha256 | wc -c)" = 65
check "and the last value of each metric" has "$(losses runs/small | tail -1 | cut -d: -f2)" $run metrics loss/train/total last
check "nothing half written" test ! -e $run.part

# Another cache, from another folder, and no cache at all.
sed -i -e '/: conv2d F32/s/direct$/blocked/; t' -e '/: conv2d F32/s/\t\(oneDNN [0-9.]*\).*/\t\1 direct/' cache/tutti/kernels
mkdir elsewhere
cd elsewhere || exit 1
"$TUTTI" train ../data/run.json --quiet --threads 2 >/dev/null 2>&1
check "a new run takes what the cache has, and other bits come out" eval '! same_losses ../runs/small runs/small'
check "--repeat takes what the run had" "$TUTTI" train --repeat ../runs/small --quiet
check "and gets its losses to the bit" same_losses ../runs/small runs/small-repeat
XDG_CACHE_HOME=$work/empty check "also with an empty cache" "$TUTTI" train --repeat ../runs/small --quiet
check "as a run of another name" same_losses ../runs/small runs/small-repeat-2
check "whose weights are the same" python3 "$e2e/same_weights.py" {../runs/small,runs/small-repeat-2}/checkpoints/ep0-ba6.safetensors
XDG_CACHE_HOME=$work/none check "and its own record repeats it again" "$TUTTI" train --repeat runs/small-repeat-2 --quiet --set name=third
check "by the name of --set" same_losses ../runs/small runs/third
cd ..

# Paths of --set count from where one stood.
for k in $(seq 400); do echo "line $k of a text"; done >text.txt
check "a run on a text of --set" "$TUTTI" train "$SOURCE/host/recipes/shakespeare_gpt.json" --quiet --set name=text \
  --set train.dataset.path=text.txt --set eval=[] --set max_duration=2ba --set train.batch_size=2 --set callbacks=[] --set 'loggers=[{"name": "jsonl"}]'
(cd elsewhere && check "is repeated from elsewhere" "$TUTTI" train --repeat ../runs/text --quiet && exit "$failures") || failures=$((failures + 1))

# What cannot be as it was.
says "threads are told" 1 \
  'tutti: runs/small/record.json: was computed by 2 threads, this run has 3; results will differ in their last bits: --accept-different-bits goes on' \
  "$TUTTI" train --repeat runs/small --quiet --set name=x --threads 3
sed 's/"sha256": "./"sha256": "x/' -i runs/small/record.json
"$TUTTI" train --repeat runs/small --quiet --set name=x >out.txt 2>err.txt
check "so is another plugin" grep -q '^tutti: train: runs/small/record.json: had plugin org.tutti.[a-z_0-9]* 1.* its results may differ$' err.txt
says "no record" 2 'tutti: data: has no record.json, want the folder of a run (tutti runs)' "$TUTTI" train --repeat data
says "a run file beside it" 2 'tutti: --repeat takes the run file of the record; leave data/run.json out, or change the run with --set' \
  "$TUTTI" train data/run.json --repeat runs/small

# How runs end.
"$TUTTI" train data/run.json --quiet --set name=bad --set optimizer.lr=1e30 >out.txt 2>err.txt
check "a run that fails says so" has failed runs/bad/record.json status
check "and why" grep -q "$(field runs/bad/record.json error)" err.txt
"$TUTTI" train data/run.json --quiet --set name=long --set max_duration=1000ep >out.txt 2>&1 &
until grep -q loss/train runs/long/log.jsonl 2>/dev/null; do sleep 0.05; done
check "one under way" has running runs/long/record.json status
kill -TERM $!
wait $!
check "is interrupted by a signal" has interrupted runs/long/record.json status
batches=$(field runs/long/record.json batches)
"$TUTTI" train data/run.json --quiet --set name=long --set max_duration="$((batches + 1))ba" --resume auto >out.txt 2>&1
check "taken up" has finished runs/long/record.json status
check "it keeps the attempt before" has "$batches" runs/long/record.json attempts 0 batches
finish
