#!/usr/bin/env bash
# only_test.sh SOURCE_FOLDER - what a build for one level (TUTTI_ISA_AT) compiles, and which variant then runs.
set -uo pipefail
source=$1
for tool in cmake ninja pkg-config; do
  if ! command -v $tool >/dev/null; then
    echo "skipped: no $tool"
    exit 77
  fi
done
unset CMAKE_C_COMPILER_LAUNCHER CMAKE_CXX_COMPILER_LAUNCHER
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/mine"
cat >"$work/mine/CMakeLists.txt" <<CMAKE
cmake_minimum_required(VERSION 3.22)
project(mine LANGUAGES C)
include("$source/tools/cmake/Isa.cmake")
foreach(name both high)
  add_executable(\${name} "$source/tests/isa/only_level.c")
  target_include_directories(\${name} PRIVATE "$source/sdk/include" "$source/tests/isa")
  target_compile_definitions(\${name} PRIVATE TUTTI_USE_MINOR=2)
endforeach()
tutti_isa_sources(both SOURCES "$source/tests/isa/isa_level.c" DISPATCH isa_level)
tutti_isa_sources(high SOURCES "$source/tests/isa/isa_level.c" DISPATCH isa_level LEVELS bf16 amx)
CMAKE
failed=0
# variants PROGRAM: the levels that it has code for, by name
variants() {
  nm "$work/build/$1" | sed -n 's/.* T isa_level_\(.*\)$/\1/p' | sort | tr '\n' ' '
}
# expect AT BOTH HIGH: what the programs have in a build for the level AT
expect() {
  rm -rf "$work/build"
  if ! { cmake -S "$work/mine" -B "$work/build" -G Ninja -DTUTTI_ISA_AT="$1" && cmake --build "$work/build"; } >"$work/log" 2>&1; then
    echo "FAILED: a build for '$1'" && tail -20 "$work/log"
    failed=1
    return
  fi
  for program in both high; do
    want=$2
    [ "$program" = both ] || want=$3
    if [ "$(variants $program)" != "$want" ]; then
      echo "FAILED: built for '$1', $program has '$(variants $program)', want '$want'"
      failed=1
    fi
    if [ "$(TUTTI_ISA=base "$work/build/$program")" != base ]; then
      echo "FAILED: built for '$1', $program does not run at the level base"
      failed=1
    fi
  done
}
expect '' 'v3 v4 ' 'amx bf16 '
expect base '' ''
expect v2 '' ''
expect v3 'v3 ' ''
expect bf16 'v4 ' 'bf16 '
expect amx_fp16 'v4 ' 'amx '

# this tree, as tools/run sets it up
tree=$work/tree
if ! cmake -S "$source" -B "$tree" -G Ninja -DBUILD_TESTING=OFF -DTUTTI_ISA_ONLY=native >"$work/log" 2>&1; then
  echo "FAILED: TUTTI_ISA_ONLY=native" && tail -20 "$work/log"
  failed=1
elif ! grep -qE '^const int32_t tutti_op_table_only = TUTTI_ISA_[a-z0-9_]+;$' "$tree/kernels/op_table.c"; then
  echo "FAILED: the table of a build for this machine does not name its level"
  failed=1
elif [ -e "$tree/CPackConfig.cmake" ]; then
  echo "FAILED: packages of a build for one level"
  failed=1
fi
# refused OPTION SENTENCE: what cannot be
refused() {
  if cmake -S "$source" -B "$tree" "$1" >"$work/log" 2>&1 || ! grep -q "$2" "$work/log"; then
    echo "FAILED: $1 is to be refused: $2" && tail -5 "$work/log"
    failed=1
  fi
}
refused -DTUTTI_ISA_ONLY=v7 'want native, base or one of'
cmake -S "$source" -B "$tree" -DTUTTI_ISA_ONLY=v3 >"$work/log" 2>&1
refused -DBUILD_TESTING=ON 'tests are of all levels'
[ "$failed" -eq 0 ] && echo "ok: six builds, and what the tree does"
exit "$failed"
