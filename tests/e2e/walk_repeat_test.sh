#!/usr/bin/env bash
# walk_repeat_test.sh - docs/walks/repeat.sh does what it says, with kernels that are measured.
. "$(dirname "$0")/lib.sh"
export TUTTI_TUNE=1 # other tests run beside this one
export XDG_CACHE_HOME=$work/cache
check "the walk goes to its end" bash "$SOURCE/docs/walks/repeat.sh" walk
cp check.out out.txt
check "the repeated run has the same losses" grep -q '^the repeated run has the same losses$' out.txt
finish
