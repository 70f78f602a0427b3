#!/usr/bin/env bash
# aarch64_test.sh - what `tools/build aarch64` has cross-built trains under qemu to the weights that this machine's
# own program comes to, but for rounding.
. "$(dirname "$0")/lib.sh"
arm=${TUTTI_AARCH64:-$SOURCE/build/aarch64/tutti}
[ -x "$arm" ] || { echo "skipped: nothing is cross-built; tools/setup --cross arm64 && tools/build aarch64"; exit 77; }
command -v qemu-aarch64-static >/dev/null || { echo "skipped: no qemu-aarch64-static"; exit 77; }

check "it is of the other architecture" bash -c "[ \"\$(od -An -tx1 -j18 -N1 '$arm')\" = ' b7' ]"
mkdir here there
small_run | tee here/run.json >there/run.json # saves lie beside the run file
(cd here && "$TUTTI" train run.json --threads 1 --set max_duration=12ba >out.txt 2>&1) || cat here/out.txt
check "it trains" env -C there qemu-aarch64-static "$arm" train run.json --threads 1 --set max_duration=12ba
check "to the same weights" python3 "$e2e/near_weights.py" "$(latest here)" "$(latest there)" 1e-5
finish
