#!/usr/bin/env bash
# ops.sh - the host knows no operation by name: what it must know of one, the operation says itself
# (tutti/op_traits.h). Strings in host/ that are names of operations of kernels/ are faults, and so are sources
# that include tutti/ops.h, whose calls emit operations by name.
set -ufo pipefail # the table has * as a word
. "$(dirname "$0")/files.sh"
# Where such a word stands for another reason: <file> <words, or * for all>: <reason>.
allowed() {
  cat <<'TABLE'
host/base/cgroup.h max: what the kernel's file says for "no limit"
host/check/values.c min max: keys of a manifest
host/cli/bench/bench_kernels.c *: measures kernels of operations by name
host/cli/bench/bench_plan.c conv2d mean: builds a graph to measure, as a model would
host/cli/bench/bench_plan.c tutti/ops.h: builds a graph to measure, as a model would
host/cli/machine_bound.c tutti/ops.h: builds a product to measure, as a model would
host/cli/plugins_info.c min max: keys of a manifest
host/device/net_model.c scale_checked: run by itself, outside of any graph
host/graph/ir/graph_guard.c tutti/ops.h: a guard within a guard is their product
host/graph/net/sequence.c cache_write: what the cache of tutti/graph.h stands for
host/graph/passes/across_slots.c tutti/ops.h: emits by names that operations give for it
host/graph/passes/align_gemms.c pad slice: what it emits, as a model would
host/graph/passes/autodiff.c tutti/ops.h: the sum of two gradients of one value
host/graph/plan/loss_blend.c tutti/ops.h: emits a blend of two losses, as a model would
host/graph/plan/penalty.c tutti/ops.h: emits the terms of a penalty, as a loss would
host/graph/runtime/upcast.c dropout: an attribute
host/plugin/manifest.c min: a key of a manifest
host/plugin/spec.c min max: keys of a manifest
host/plugin/when.c min max: keys of a manifest
host/train/data/data_source.c gather: run by itself, outside of any graph
host/train/data/device_dataset.c gather: run by itself, outside of any graph
host/train/data/device_dataset.h gather: run by itself, outside of any graph
host/train/ranks/reduce.c sum mean min max: operations of tutti.ranks/1
host/train/run_file/run_distributed.c batch_norm: a key of a run file
host/train/update/device_scalars.c unscale scale_by loss_scale next_update: run by themselves, outside of any graph
host/train/update/gradient_norm.c gradient_squares gradient_norm: run by themselves, outside of any graph
TABLE
}
# Every word behind OPS and ISA_OPS until the next keyword, on every line of a tutti_add_op.
names=$(find kernels -mindepth 2 -maxdepth 2 -name CMakeLists.txt -exec cat {} + |
  sed -E 's/^ *tutti_add_op\(//; s/\)//' | tr -s ' \n' '\n' |
  awk '/^[A-Z_]+$/ { take = /^(ISA_)?OPS$/; next } take && /^[a-z0-9_]+$/' | sort -u)
for name in conv2d conv2d_grad_weight matmul matmul_bias_grad add; do
  grep -qx "$name" <<<"$names" || { echo "ops.sh: the names of operations lack $name"; exit 1; }
done
pattern=$(paste -sd'|' <<<"$names")
found=$(grep_files -n "\"($pattern)\"" -- 'host/*.c' 'host/*.h' 'host/*.cu' 'host/*.cuh')
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
while IFS= read -r file; do
  [ -n "$file" ] || continue
  allowed | grep -q "^$file tutti/ops.h:" && continue
  echo "$file: includes tutti/ops.h"
  bad=1
done <<<"$(grep_files -l '^#include "tutti/ops.h"' -- 'host/*.c' 'host/*.h' 'host/*.cu' 'host/*.cuh')"
# A row for what is not there any more is a fault as well.
while IFS=' ' read -r file words; do
  words=${words%%:*}
  for word in $words; do
    case $word in
      '*') grep -qE "\"($pattern)\"" "$file" ;;
      tutti/ops.h) grep -q '^#include "tutti/ops.h"' "$file" ;;
      *) grep -q "\"$word\"" "$file" ;;
    esac 2>/dev/null && continue
    echo "ops.sh: $file has no $word any more"
    bad=1
  done
done <<<"$(allowed)"
[ $bad = 0 ] || echo "ops.sh: the host names operations; let them say it in tutti/op_traits.h"
exit $bad
