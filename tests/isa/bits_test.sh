#!/usr/bin/env bash
# bits_test.sh PROGRAM... - the cases of operations' test programs give the same bits at each level of this CPU that has
# AVX2, as far as operations promise it (TUTTI_OP_REPRODUCIBLE).
set -uo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
bad=0
for level in v3 v4 bf16; do
  for program in "$@"; do
    TUTTI_ISA=$level TUTTI_OP_BITS=$work/$level CK_FORK=no "$program" >"$work/out" 2>&1 || { cat "$work/out"; bad=1; }
  done
done
[ -s "$work/v3" ] || [ "$bad" = 1 ] || { echo "skipped: this CPU has no AVX2"; exit 77; }
for level in v4 bf16; do
  diff "$work/v3" "$work/$level" || { echo "level $level computes other bits than v3"; bad=1; }
done
echo "$(wc -l <"$work/v3") cases"
exit $bad
