#!/usr/bin/env bash
# walk_images_test.sh - docs/walks/images.sh does what it says.
. "$(dirname "$0")/lib.sh"
check "the walk goes to its end" bash "$SOURCE/docs/walks/images.sh" walk
cp check.out out.txt
check "the classes are told apart, where guesses have 0.33" awk '/^val accuracy/ { found = $NF > 0.6 } END { exit !found }' out.txt
check "a prediction for each picture" test "$(wc -l <walk/predictions.csv)" = 37
finish
