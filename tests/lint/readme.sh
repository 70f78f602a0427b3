#!/usr/bin/env bash
# readme.sh - each top-level folder and each group of plugins explains itself, a group with what its plugins share; links
# lead somewhere, and a README of the host or of a kernel that has a table of its folder's sources has all of them.
set -uo pipefail
. "$(dirname "$0")/files.sh"
bad=0
for folder in $(list_files . | grep / | cut -d/ -f1 | sort -u | grep -v '^\.'); do
  [ -s "$folder/README.md" ] || { echo "$folder/ has no README.md"; bad=1; }
done
# Each group of plugins does too, and names what its plugins share.
for group in $(list_files plugins | cut -d/ -f2 | sort -u | grep -v '\.'); do
  [ -s "plugins/$group/README.md" ] || { echo "plugins/$group/ has no README.md"; bad=1; continue; }
  for source in $(list_files "plugins/$group/*" | grep -E "^plugins/$group/[^/]+\.(c|h|cu)$"); do
    grep -qF "\`${source##*/}\`" "plugins/$group/README.md" || { echo "plugins/$group/README.md lacks ${source##*/}"; bad=1; }
  done
done
# Every file that README.md or a folder's README links to is there.
while IFS=: read -r file link; do
  case $link in http*|\#*) continue ;; esac
  [ -e "$(dirname "$file")/${link%%#*}" ] || { echo "$file: links to $link, which is not there"; bad=1; }
done < <(list_files '*.md' | xargs grep -oHE '\]\([^)]+\)' | sed -E 's/\]\(([^)]+)\)/\1/')
# Sources of a folder whose README names two or more of them.
while IFS= read -r readme; do
  folder=$(dirname "$readme") named=0 missing=()
  for source in $(list_files "$folder/*.c" "$folder/*.cu" | grep -E "^$folder/[^/]+$" | grep -v '_test\.c$'); do
    name=${source##*/}
    if grep -qF "\`${name%.*}." "$readme"; then named=$((named + 1)); else missing+=("$name"); fi
  done
  if [ $named -ge 2 ] && [ ${#missing[@]} -gt 0 ]; then
    echo "$readme: its table of files lacks ${missing[*]}"
    bad=1
  fi
done < <(list_files 'host/*README.md' 'kernels/*README.md')
# Every header of the SDK stands in the SDK's README.
for header in sdk/include/tutti/*.h; do
  grep -qF "\`${header##*/}\`" sdk/README.md || { echo "sdk/README.md lacks ${header##*/}"; bad=1; }
done
exit $bad
