#!/usr/bin/env bash
# embedded_test.sh - the program in host/README.md compiles with the command that stands there, and runs.
. "$(dirname "$0")/lib.sh"
build=$(dirname "$TUTTI")
readme=$SOURCE/host/README.md
awk '/^```c$/ {on = 1; next} /^```$/ {on = 0} on' "$readme" >fit.c
command=$(tr '\n' ' ' <"$readme" | grep -o '`cc -std=c11 fit.c[^`]*`' | tr -d '`')
command=${command//build\/release/$build}
command=${command//-Ihost/-I$SOURCE/host}
command=${command//-Isdk/-I$SOURCE/sdk}
# A library that is built with sanitizers wants their runtime, and the compiler that has it.
if [ -n "$SANITIZE" ]; then
  command="$COMPILER ${command#cc } -fsanitize=$SANITIZE"
fi
lines() { [ "$(wc -l <fit.c)" -gt 30 ] && [ "$(wc -l <fit.c)" -lt 50 ]; }
check "host/README.md has a short program" lines
# shellcheck disable=SC2086 # the command is words
check "it compiles" $command -o fit
check "it runs" ./fit
./fit >out.txt
check "it begins" grep -q '^epoch 1: w ' out.txt
check "it has learnt" grep -q '^epoch .*: w 2\.0' out.txt
finish
