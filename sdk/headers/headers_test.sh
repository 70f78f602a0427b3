#!/usr/bin/env bash
# headers_test.sh - headers_test.sh CC CXX INCLUDE: every SDK header on its own, as C11 and as C++17.
set -uo pipefail
cc=$1 cxx=$2 include=$3
flags=(-Wall -Wextra -pedantic -Wpadded -Werror -fsyntax-only -I "$include")
bad=0
count=0
# What a plugin gets with the SDK is the SDK: of the C library no more than these, and no input or output.
allowed='math|stdarg|stddef|stdint|stdlib|string'
found=$(grep -nE '^# *include <' "$include"/tutti/*.h | grep -vE "<($allowed)\.h>|cuda_code\.h:.*<cuda_runtime\.h>")
[ -z "$found" ] || { echo "a header of the SDK brings another one with it, want none but $allowed:"; echo "$found"; bad=1; }
declared=$(for header in "$include"/tutti/*.h; do
  [[ $header == */cuda_code.h ]] || printf '#include "%s"\n' "$header"
done | "$cc" -std=c11 -x c -E -)
for stream in FILE stdout printf; do # neither by way of those
  grep -qE "^(typedef|extern) .*\b$stream\b" <<<"$declared" &&
    { echo "the headers of the SDK declare $stream"; bad=1; }
done
for header in "$include"/tutti/*.h; do
  name=tutti/${header##*/}
  source=$(printf '#include "%s"\n#include "%s"\n' "$name" "$name")
  "$cc" -std=c11 "${flags[@]}" -x c - <<<"$source" || { echo "$name: not C11"; bad=1; }
  "$cxx" -std=c++17 "${flags[@]}" -x c++ - <<<"$source" || { echo "$name: not C++17"; bad=1; }
  count=$((count + 1))
done
echo "$count headers"
[ "$count" -gt 0 ] || bad=1
exit $bad
