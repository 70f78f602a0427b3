#!/usr/bin/env bash
# format.sh - every C source is as clang-format leaves it, and begins with its name and purpose.
set -uo pipefail
. "$(dirname "$0")/files.sh"
command -v clang-format >/dev/null || { echo "skipped: no clang-format"; exit 77; }
version=$(clang-format --version | sed -E 's/.* version ([0-9]+).*/\1/')
[ "$version" = 14 ] || { echo "skipped: clang-format $version formats otherwise than 14, by which the sources are formatted"; exit 77; }
bad=0
mapfile -t files < <(list_files '*.c' '*.h' '*.cuh')
# What was clean once is not asked for again: sums of files, behind that of the rules.
known=${TUTTI_BUILD:-build/release}/formatted rules=$(sha256sum .clang-format)
[ "$(head -n 1 "$known" 2>/dev/null)" = "$rules" ] || echo "$rules" >"$known"
mapfile -t fresh < <(sha256sum "${files[@]}" | grep -vxFf "$known")
for ((k = 0; k < ${#fresh[@]}; k += 40)); do
  some=("${fresh[@]:k:40}")
  if clang-format --dry-run --Werror "${some[@]#*  }"; then
    printf '%s\n' "${some[@]}" >>"$known"
  else
    bad=1
  fi
done
for file in "${files[@]}"; do
  read -r first <"$file"
  case $first in
  "/* ${file##*/} - "*) ;;
  *) echo "$file: the first line is not '/* ${file##*/} - purpose. */'" && bad=1 ;;
  esac
done
exit $bad
