#!/usr/bin/env bash
# tidy.sh - clang-tidy over every source of the build, each only when its preprocessed text is new.
set -uo pipefail
command -v clang-tidy >/dev/null || { echo "skipped: no clang-tidy"; exit 77; }
commands=$TUTTI_BUILD/compile_commands.json
[ -f "$commands" ] || { echo "skipped: no compile commands"; exit 77; }
grep -q -e '-fsanitize=' "$commands" && { echo "skipped: a sanitizer build"; exit 77; }
mapfile -t files < <(git ls-files '*.c' | grep -v -e '^tests/fixtures/' -e '^tests/fuzz/')
printf '%s\0' "${files[@]}" |
  xargs -0 -r -P "$(nproc)" -n 4 sh -c '
    for file; do
      grep -q "$PWD/$file\"" "$0" || continue
      clang-tidy --quiet -p "$(dirname "$0")" "$file" 2>/dev/null | grep -E "(warning|error):" && bad=1
    done
    exit ${bad:-0}' "$commands"
