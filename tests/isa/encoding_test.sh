#!/usr/bin/env bash
# encoding_test.sh OBJECT... - tdpfp16ps, which code for f16 writes as bytes, is the instruction of that name, with the
# registers that the compiler's tdpbf16ps has in the same place of what is for bf16.
set -uo pipefail
kinds=(gemm sdpa) # the micro-kernels, and attention's tiles
declare -A bf16 f16
for object in "$@"; do
  case $object in
    */gemm_microkernel_amx.c.*) bf16[gemm]=$object ;;
    */gemm_microkernel_amx_f16.c.*) f16[gemm]=$object ;;
    */op_sdpa_isa_amx.dir/*sdpa_tiles.c.*) bf16[sdpa]=$object ;;
    */op_sdpa_f16_isa_amx_fp16.dir/*sdpa_tiles.c.*) f16[sdpa]=$object ;;
  esac
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if ! command -v as >/dev/null || ! echo 'tdpfp16ps %tmm6, %tmm4, %tmm0' | as - -o "$work/probe.o" 2>/dev/null; then
  echo "skipped: there are no binutils that know tdpfp16ps (2.40)"
  exit 77
fi
# multiplies OBJECT TYPE: the tiles that its instructions multiply, of such pairs
multiplies() {
  objdump -d --no-show-raw-insn "$1" | sed -n "s/.*tdp${2}ps *//p" | sort # what is around them may move them
}
for kind in "${kinds[@]}"; do
  multiplies "${bf16[$kind]}" bf16 >"$work/bf16"
  multiplies "${f16[$kind]}" fp16 >"$work/fp16"
  count=$(wc -l <"$work/bf16")
  if [ "$count" -eq 0 ]; then
    echo "FAILED: $kind has no tdpbf16ps"
    exit 1
  fi
  if ! diff "$work/bf16" "$work/fp16"; then
    echo "FAILED: of $kind, what is for f16 does not multiply the registers that what is for bf16 does"
    exit 1
  fi
  echo "ok: $count instructions of $kind"
done
