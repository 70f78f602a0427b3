#!/usr/bin/env bash
# readme.sh - each top-level folder explains itself, and README.md names commands that exist.
set -uo pipefail
. "$(dirname "$0")/files.sh"
bad=0
for folder in $(list_files . | grep / | cut -d/ -f1 | sort -u | grep -v '^\.'); do
  [ -s "$folder/README.md" ] || { echo "$folder/ has no README.md"; bad=1; }
done
# Every file that README.md or a folder's README links to is there.
while IFS=: read -r file link; do
  case $link in http*|\#*) continue ;; esac
  [ -e "$(dirname "$file")/${link%%#*}" ] || { echo "$file: links to $link, which is not there"; bad=1; }
done < <(list_files '*.md' | xargs grep -oHE '\]\([^)]+\)' | sed -E 's/\]\(([^)]+)\)/\1/')
exit $bad
