#!/usr/bin/env bash
# ops.sh - the host knows no operation by name: what it must know of one, the operation says itself
# (tutti/op_traits.h). Strings in host/ that are names of operations of kernels/ are faults.
set -uo pipefail
# Where such a word stands for another reason: <file> <words, or * for all>: <reason>.
allowed() {
  cat <<'TABLE'
host/base/cgroup.h max: what the kernel's file says for "no limit"
host/check/values.c min max: keys of a manifest
host/cli/bench/bench_kernels.c *: measures kernels of operations by name
host/cli/bench/bench_plan.c mean: builds a graph to measure, as a model would
host/cli/plugins_info.c min max: keys of a manifest
host/device/net_model.c scale_checked: run by itself, outside of any graph
host/graph/net/sequence.c cache_write: what the cache of tutti/graph.h stands for
host/graph/passes/align_products.c pad slice: what it emits, as a model would
host/graph/runtime/upcast.c dropout: an attribute
host/plugin/manifest.c min: a key of a manifest
host/plugin/spec.c min max: keys of a manifest
host/plugin/when.c min max: keys of a manifest
host/train/data/data_source.c gather: run by itself, outside of any graph
host/train/data/device_dataset.c gather: run by itself, outside of any graph
host/train/data/device_dataset.h gather: run by itself, outside of any graph
host/train/update/gradient_norm.c gradient_squares gradient_norm: run by themselves, outside of any graph
host/train/update/device_scalars.c unscale scale_by loss_scale next_update: run by themselves, outside of any graph
TABLE
}
names=$(sed -nE 's/^ *tutti_add_op\(//; s/.*\b(ISA_)?OPS ([a-z0-9_ ]+).*/\2/p; s/.*\bISA_OPS ([a-z0-9_ ]+).*/\1/p' \
  kernels/*/CMakeLists.txt | tr ' ' '\n' | sort -u)
[ "$(wc -l <<<"$names")" -gt 50 ] || { echo "ops.sh: the names of operations were not found"; exit 1; }
pattern=$(paste -sd'|' <<<"$names")
found=$(git grep -nE "\"($pattern)\"" -- 'host/*.c' 'host/*.h')
bad=0
while IFS= read -r line; do
  [ -n "$line" ] || continue
  file=${line%%:*}
  for word in $(grep -oE "\"($pattern)\"" <<<"${line#*:*:}" | tr -d '"' | sort -u); do
    allowed | grep -qE "^$file (\*|([a-z0-9_]+ )*$word( [a-z0-9_]+)*):" && continue
    echo "$line"
    bad=1
  done
done <<<"$found"
[ $bad = 0 ] || echo "ops.sh: the host names operations; let them say it in tutti/op_traits.h"
exit $bad
