#!/usr/bin/env bash
# async_save_test.sh - files that are written while training goes on are those that are written at once.
. "$(dirname "$0")/lib.sh"
small_run | sed 's/"keep": 2/"keep": -1/' >run.json
check "a run that waits for its files" "$TUTTI" train run.json --set callbacks.0.folder=waits
check "a run that does not" "$TUTTI" train run.json --set callbacks.0.folder=behind --set callbacks.0.async=true
ls waits >waits.txt
ls behind >behind.txt
check "they have one for each batch" test "$(grep -c 'ba[0-9]*[.]safetensors$' waits.txt)" = 30
check "of the same names" diff waits.txt behind.txt
for name in $(grep 'ba[0-9]*[.]' waits.txt); do
  python3 "$e2e/same_weights.py" "waits/$name" "behind/$name" || echo "$name"
done >different.txt 2>&1
check "with the same bits" diff /dev/null different.txt
check "the newest is the last one" python3 "$e2e/same_weights.py" behind/latest.safetensors behind/ep2-ba30.safetensors
check "a run goes on from one of them" "$TUTTI" train run.json --resume behind/ep0-ba7.safetensors --set callbacks.0.folder=on --set callbacks.0.async=true
check "with the same bits" python3 "$e2e/same_weights.py" waits/ep2-ba30.safetensors on/ep2-ba30.safetensors
finish
