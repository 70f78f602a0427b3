#!/usr/bin/env bash
# cases_test.sh RUNNER FOLDER - every case of the folder passes, no file of cases is missing, and the runner
# fails on wrong answers.
runner=$1
folder=$2
here=$(dirname "$(realpath "$0")")
for kind in dispatch engine event_counts event_sequences interval loop schedule time; do
  [ -s "$folder/$kind.json" ] || { echo "$folder/$kind.json is missing"; exit 1; }
done
"$runner" "$folder"/*.json || exit 1
if "$runner" "$here/wrong.json" >/dev/null 2>&1; then
  echo "wrong answers pass"
  exit 1
fi
