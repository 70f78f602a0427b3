#!/usr/bin/env bash
# headers_test.sh - headers_test.sh CC CXX INCLUDE: every SDK header on its own, as C11 and as C++17.
set -uo pipefail
cc=$1 cxx=$2 include=$3
flags=(-Wall -Wextra -pedantic -Wpadded -Werror -fsyntax-only -I "$include")
bad=0
count=0
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
