#!/usr/bin/env bash
# embedded_test.sh - the program in docs/embedding.md compiles with the command that stands there, and runs.
. "$(dirname "$0")/lib.sh"
build=$(dirname "$TUTTI")
page=$SOURCE/docs/embedding.md
python3 "$e2e/guide.py" shown "$page" fit.c >fit.c
command=$(sed -n '/^cc .*fit\.c/,/[^\\]$/p' "$page" | tr -d '\\\n')
command=${command//build\/release/$build}
command=${command//-Ihost/-I$SOURCE/host}
command=${command//-Isdk/-I$SOURCE/sdk}
# A library that is built with sanitizers wants their runtime, and the compiler that has it.
if [ -n "$SANITIZE" ]; then
  command="$COMPILER ${command#cc } -fsanitize=$SANITIZE"
fi
lines() { [ "$(wc -l <fit.c)" -gt 30 ] && [ "$(wc -l <fit.c)" -lt 50 ]; }
check "docs/embedding.md has a short program" lines
# shellcheck disable=SC2086 # the command is words
check "it compiles" $command
check "it runs" ./fit
./fit >out.txt
check "it begins" grep -q '^epoch 1: w ' out.txt
check "it has learnt" grep -q '^epoch .*: w 2\.0' out.txt
finish
