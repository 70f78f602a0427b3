#!/usr/bin/env bash
# readme.sh - each top-level folder, each group of plugins and each folder of three sources explains itself, a group with
# what its plugins share; links lead somewhere. readme_tables.py looks at the tables of files.
set -uo pipefail
. "$(dirname "$0")/files.sh"
bad=0
for folder in $(list_files . | grep / | cut -d/ -f1 | sort -u | grep -v '^\.'); do
  [ -s "$folder/README.md" ] || { echo "$folder/ has no README.md"; bad=1; }
done
# So does each folder with three sources or more.  Where another page speaks for the folders of a pattern, a row has the
# pattern, that page and the reason; `+` stands for one name.
exempt='
kernels/+              kernels/README.md               one operation each, all with the same files
sdk/abi/+/+            sdk/abi/README.md               copies of released headers and plugins, never edited
sdk/abi/+/+/+          sdk/abi/README.md               the same
sdk/templates/+/+      sdk/README.md                   a plugin of each kind, copied as it lies there
tests/unit/+           tests/unit/README.md            one library of the host each
tests/unit/+/+         tests/unit/README.md            one part of the compiler each
tests/devices/+        tests/devices/README.md         one device or plugin each
tests/fixtures/+       tests/fixtures/README.md        one broken plugin each
tests/ops/+            sdk/README.md                   one plugin with an operation each
plugins/loggers/pipe/+ plugins/loggers/pipe/README.md  one script for each service
'
is_exempt() { # <folder>: a row of the table is for it.
  local pattern page reason
  while read -r pattern page reason; do
    [ -n "$pattern" ] && [[ $1 =~ ^${pattern//+/[^/]+}$ ]] && return 0
  done <<<"$exempt"
  return 1
}
sources=$({ list_files . | grep -E '\.(c|h|cc|cu|cuh|hpp|rs|py|sh|js|css|html|cmake|in)$'
  grep_files -lI '^#!' -- . | grep -E '(^|/)[^./]+$'; } | grep / | sed 's|/[^/]*$||' | sort | uniq -c) # how many, and where
while read -r count folder; do
  [ "$count" -lt 3 ] || [ -s "$folder/README.md" ] || is_exempt "$folder" ||
    { echo "$folder/ has $count sources and no README.md; write it, or name in readme.sh the page that speaks for it"; bad=1; }
done <<<"$sources"
while read -r pattern page reason; do
  [ -n "$pattern" ] || continue
  [ -s "$page" ] || { echo "readme.sh: $pattern: $page is not there"; bad=1; }
  [ -n "$reason" ] || { echo "readme.sh: $pattern: there is no reason"; bad=1; }
  grep -qE " ${pattern//+/[^/]+}$" <<<"$sources" || { echo "readme.sh: $pattern: no folder of sources is called so"; bad=1; }
done <<<"$exempt"
# Each group of plugins has one, and names what its plugins share.
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
exit $bad
