#!/usr/bin/env bash
# catalogue_test.sh TUTTI FOLDER - every operation and layer of every release in the folder is there, as it was released:
# a line of its catalogue may have grown at its end alone.
set -uo pipefail
tutti=$1 releases=$2
bad=0
for what in ops layers; do
  "$tutti" $what >"$what.now" || exit 1
  for folder in "$releases"/1.*; do
    while IFS= read -r line; do
      if ! awk -v want="$line" 'index($0, want) == 1 { found = 1 } END { exit !found }' "$what.now"; then
        name=${line%%:*}
        echo "$name was released as \"$line\" and is \"$(grep "^$name:" "$what.now")\": what was released stays; add attributes at the end, or another name"
        bad=1
      fi
    done <"$folder/$what.txt"
    [ -s "$folder/$what.txt" ] || { echo "$folder/$what.txt is missing"; bad=1; }
  done
done
exit $bad
