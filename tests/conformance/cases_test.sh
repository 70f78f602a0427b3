#!/usr/bin/env bash
# cases_test.sh RUNNER FOLDER - every case of the folder passes, no file of cases is missing, and the runner
# fails on wrong answers.
runner=$1
folder=$2
here=$(dirname "$(realpath "$0")")
total=0
# How many cases each file has: one that is lost fails.
for row in dispatch:9 engine:41 event_counts:1 event_sequences:4 interval:5 loop:150 schedule:9 time:26; do
  file=$folder/${row%:*}.json want=${row#*:}
  [ -s "$file" ] || { echo "$file is missing"; exit 1; }
  said=$("$runner" "$file")
  [ "$said" = "$want passed, 0 failed" ] || { echo "$file: $said; want $want cases that pass"; exit 1; }
  total=$((total + want))
done
grep -qF "[$total cases](tests/conformance/README.md)" "$here/../../README.md" || { echo "README.md has another number than $total of cases"; exit 1; }
for file in "$folder"/*.json; do
  grep -q " $(basename "$file" .json):" "$0" || { echo "$file: has no row in cases_test.sh"; exit 1; }
done
if "$runner" "$here/wrong.json" >/dev/null 2>&1; then
  echo "wrong answers pass"
  exit 1
fi
