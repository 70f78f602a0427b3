#!/usr/bin/env bash
# walk_text_test.sh - docs/walks/text.sh does what it says.
. "$(dirname "$0")/lib.sh"
check "the walk goes to its end" bash "$SOURCE/docs/walks/text.sh" walk
cp check.out out.txt
# Even guesses among the text's 17 characters have ln 17 = 2.83.
check "the text is learnt" awk '/^validation language_cross_entropy/ { found = $NF < 1.5 } END { exit !found }' out.txt
check "and goes on" grep -q ' is ' out.txt
finish
