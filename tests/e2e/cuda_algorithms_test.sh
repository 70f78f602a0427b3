#!/usr/bin/env bash
# cuda_algorithms_test.sh - every algorithm that has kernels, on the stand-in of a GPU: it launches them, no
# tensor comes to the host in a step, and the weights are the CPU's but for the order of sums.  That is 1e-6
# with plain gradient descent; Adam's quotient makes more of small gradients.
. "$(dirname "$0")/lib.sh"
standin="$(dirname "$TUTTI")/standin"
[ -e "$standin/libcudart.so.13" ] || skip_all "the stand-in is not built"
seq 1 4000 >corpus.txt
cat >short.json <<'JSON'
{"eval": [], "max_duration": "3ba", "optimizer": {"name": "sgd", "lr": 0.05}, "callbacks": [{"name": "checkpoint_saver", "folder": "saves", "interval": "3ba"}]}
JSON
most=16 # bytes: single numbers

# What the trace says was read by the host between the first launch and the last, if it is more than that.
tensors_read() {
  local last
  last=$(grep -n '^launch ' trace | tail -1 | cut -d: -f1)
  head -n "$last" trace | sed -n '/^launch /,$p' | awk -v most=$most '/^copy .* -> host/ && $2 > most' | sort | uniq -c
}
# The device functions that a manifest names, as alternatives.
entries() { grep -o '"entry": *"[a-z0-9_]*"' "$1/plugin.json" | cut -d'"' -f4 | paste -sd'|'; }
no_tensor_is_read() { [ -z "$(tensors_read)" ] || { tensors_read; return 1; }; }

for members in "$SOURCE"/plugins/algorithms/${ONLY:-*}/resume*.json; do
  plugin="$(basename "$(dirname "$members")")"
  grep -q '"kernels"' "$(dirname "$members")/plugin.json" || continue
  what="$plugin/$(basename "$members")"
  rm -rf cpu gpu trace && mkdir cpu gpu
  small_run | python3 "$e2e/small_run.py" "$members" short.json |
    sed 's/"truncate": false/"truncate": true/' | tee cpu/run.json >gpu/run.json # what is not cut is copied
  check "$what: a run on the CPU" "$TUTTI" train cpu/run.json
  check "$what: a run on the stand-in" sh -c "LD_LIBRARY_PATH='$standin' TUTTI_CUDA_TRACE='$PWD/trace' \
    '$TUTTI' train gpu/run.json --device cuda >gpu/out.txt 2>&1 || { cat gpu/out.txt; false; }"
  check "$what: nobody looks" sh -c '! grep "looks at tensors" gpu/out.txt'
  check "$what: its kernels are launched" grep -qE "^launch ($(entries "$(dirname "$members")")) " trace
  check "$what: no tensor comes to the host in a step" no_tensor_is_read
  check "$what: nearly the same weights" python3 "$e2e/near_weights.py" "$(latest cpu)" "$(latest gpu)" 1e-5
done
finish
