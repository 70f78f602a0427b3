#!/usr/bin/env bash
# algorithms_resume_test.sh - for every folder of plugins/algorithms: a run that was stopped and resumed
# ends with the very bytes of one that was not.  resume.json in the folder has the members of a run in
# which the algorithm does something; there may be more, resume_*.json.  Text for language models is in
# ../corpus.txt.
. "$(dirname "$0")/lib.sh"
seq 1 4000 >corpus.txt
for folder in "$SOURCE"/plugins/algorithms/${ONLY:-*}/; do
  check "$(basename "$folder") has a resume.json" test -s "$folder/resume.json"
  for members in "$folder"resume*.json; do
    [ -e "$members" ] || continue
    small_run | python3 "$e2e/small_run.py" "$members" >run.json
    same "$(basename "$folder")/$(basename "$members")" run.json
  done
done
finish
