#!/usr/bin/env bash
# reproduce_test.sh - a resumed run computes the bits of one that was not stopped, whatever kernels are measured
# by then and however many CPUs there are; what cannot be the same is told.
. "$(dirname "$0")/lib.sh"
export TUTTI_TUNE=1 # other tests run beside this one
export XDG_CACHE_HOME=$work/cache
same_as_whole() { python3 "$e2e/same_weights.py" whole/ep0-ba6.safetensors saves/ep0-ba6.safetensors; }
differs() { ! same_as_whole; }
resume() { rm -rf saves && "$TUTTI" train run.json --resume whole/ep0-ba4.safetensors "$@"; }

small_run | sed 's/{"name": "mlp", "hidden": \[32\], "dropout": 0.1}/{"name": "cnn"}/; s/"3ep"/"6ba"/
  s/"interval": "1ba"/"interval": "2ba"/; s/"keep": 2/"keep": -1/; s/"threads": 2,//; s/"workers": 2/"workers": 1/; s/"batch_size": 64/"batch_size": 16/' >run.json
# At least two threads, or there is nothing that fewer could change.
check "a run that measures its kernels" "$TUTTI" train run.json --threads 2
check "they are kept for other runs" grep -q ': conv2d .*oneDNN' cache/tutti/kernels
mv saves whole

# Another cache: what was measured as the fastest is another algorithm now.
sed -i -e '/: conv2d F32/s/direct$/blocked/; t' -e '/: conv2d F32/s/\t\(oneDNN [0-9.]*\).*/\t\1 direct/' cache/tutti/kernels
"$TUTTI" train run.json --threads 2 >out.txt 2>&1
check "a new run takes them, and other bits come out" differs
check "a run that is resumed keeps its own" resume
check "and gets the same bits" same_as_whole
XDG_CACHE_HOME=$work/empty TUTTI_TUNE=0 check "also where none are measured" resume
check "and gets the same bits" same_as_whole
(while :; do :; done) &
busy=$!
XDG_CACHE_HOME=$work/fresh check "also on a busy machine with one CPU and an empty cache" taskset -c "$(taskset -cp $$ | sed 's/.*: \([0-9]*\).*/\1/')" \
  bash -c 'rm -rf saves && "$0" train run.json --resume whole/ep0-ba4.safetensors' "$TUTTI"
kill $busy
check "and gets the same bits" same_as_whole
check "of which the checkpoint tells" grep -aq '"threads":"2"' saves/ep0-ba6.safetensors

says "another number of threads is refused" 1 \
  'tutti: whole/ep0-ba4.safetensors: was computed by 2 threads, this run has 3; results will differ in their last bits: --accept-different-bits goes on' \
  resume --threads 3
says "or accepted" 0 \
  'tutti: train: whole/ep0-ba4.safetensors: was computed by 2 threads, this run has 3; results will differ in their last bits' \
  resume --threads 3 --accept-different-bits
TUTTI_ISA=base resume >out.txt 2>err.txt
check "so are kernels for other CPUs" test $? = 1
check "by name" grep -Eq '^tutti: whole/ep0-ba4.safetensors: was computed by kernels for [a-z0-9]+, this is kernels for base; ' err.txt
TUTTI_ISA=base says "an evaluation goes on" 0 "" "$TUTTI" eval run.json --checkpoint whole/ep0-ba4.safetensors

# What was chosen for kernels of one level is nothing to another, which lacks some of them.
sed 's/{"name": "cnn"}/{"name": "resnet", "depth": 18, "width": 4, "stem": "cifar"}/; s/"6ba"/"1ba"/' run.json >pixels.json
check "convolutions of a pixel" "$TUTTI" train pixels.json --set callbacks=[]
sed -i -E '/: conv2d F32 .* F32 \([0-9]+, 1, 1, /s/\t[^\t]*$/\ttiles/' cache/tutti/kernels
check "by products of our own" grep -q '	tiles$' cache/tutti/kernels
TUTTI_ISA=base check "on a CPU without these" "$TUTTI" train pixels.json --set callbacks=[]

# Shapes that come after the checkpoint: images grow from batch 2 on.
sed 's/"max_duration"/"algorithms": [{"name": "progressive_resizing", "initial_scale": 0.5, "delay_fraction": 0.3, "finetune_fraction": 0.3}], &/' run.json >grow.json
rm -rf whole saves
"$TUTTI" train grow.json --threads 2 >out.txt 2>&1
mkdir whole
cp -r saves/. whole
XDG_CACHE_HOME=$work/empty TUTTI_TUNE=0 check "a run whose images grow is resumed without a cache" \
  bash -c 'rm -rf saves && "$0" train grow.json --resume whole/ep0-ba2.safetensors' "$TUTTI"
check "and gets the same bits" same_as_whole

# The same bits in new runs: nothing is measured, no cache read.
for k in 1 2; do
  XDG_CACHE_HOME=$work/$([ $k = 1 ] && echo cache || echo none) "$TUTTI" train run.json --set deterministic=machine \
    --threads 2 --set callbacks.0.folder="$work/new$k" >out.txt 2>&1
done
check "two runs with other caches" python3 "$e2e/same_weights.py" new1/ep0-ba6.safetensors new2/ep0-ba6.safetensors
check "and no cache was written" test ! -e none
finish
