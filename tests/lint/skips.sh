#!/usr/bin/env bash
# skips.sh - a test that skips something says so by tutti_skip, skip or skip_all, so that it counts as skipped;
# where neither is at hand it ends with 77 on the line of its sentence or the next.
set -uo pipefail
. "$(dirname "$0")/files.sh"
bad=0
while IFS=: read -r file line _; do
  sed -n "$line,$((line + 1))p" "$file" | grep -qE '\b77\b|SKIPPED' && continue
  echo "$file:$line: says that it skips and counts as passed; use tutti_skip, skip or skip_all"
  bad=1
done < <(grep_files -n "['\"]skipped: " -- '*_test.c' 'tests/**.c' 'tests/**.h' '*.sh' '*.py' \
  ':!tests/include/tutti_check.h' ':!tests/e2e/lib.sh' ':!tests/lint/skips.sh')
exit $bad
