#!/usr/bin/env bash
# format.sh - every C source is as clang-format leaves it, and begins with its name and purpose.
set -uo pipefail
. "$(dirname "$0")/files.sh"
command -v clang-format >/dev/null || { echo "skipped: no clang-format"; exit 77; }
version=$(clang-format --version | sed -E 's/.* version ([0-9]+).*/\1/')
[ "$version" = 14 ] || { echo "skipped: clang-format $version formats otherwise than 14, by which the sources are formatted"; exit 77; }
bad=0
mapfile -t files < <(list_files '*.c' '*.h' '*.cuh')
printf '%s\0' "${files[@]}" | xargs -0 -r -n 40 clang-format --dry-run --Werror || bad=1
for file in "${files[@]}"; do
  first=$(head -n 1 "$file")
  case $first in
  "/* $(basename "$file") - "*) ;;
  *) echo "$file: the first line is not '/* $(basename "$file") - purpose. */'" && bad=1 ;;
  esac
done
exit $bad
