#!/usr/bin/env bash
# readme_test.sh - every command of README.md does what it says: exit status 0, in a copy of the tree, whose
# build/release is a copy of the build under test: what they write disturbs no other test.  There tools/run
# finds a cmake that notes what it is asked for, because the build has been made by those commands; tools/test
# is what runs this, so it is only looked at.
. "$(dirname "$0")/lib.sh"
build=$(dirname "$TUTTI")
mkdir tree bin
for entry in "$SOURCE"/*; do
  [ "$(basename "$entry")" = build ] || cp -a "$entry" tree/
done
cp -a "$SOURCE/CMakePresets.json" tree/
mkdir -p tree/build/release
cp -a "$TUTTI" "$build/lib" tree/build/release/
cat >bin/cmake <<SH
#!/bin/sh
echo "\$@" >>'$work/cmake.txt'
SH
chmod +x bin/cmake
cd tree || exit 1

commands() { python3 "$e2e/guide.py" commands README.md; }
# The files that README.md shows: a line that begins with `NAME`, then the block.
shown() { python3 "$e2e/guide.py" shown README.md "$1"; }
mkdir -p plugins.d/brighten
shown brighten.c >plugins.d/brighten/brighten.c
shown plugin.json >plugins.d/brighten/plugin.json
shown run.json >run.json

check "README.md has commands" test "$(commands | wc -l)" -ge 10
while IFS= read -r command; do
  case $command in
    tools/test) check "$command" test -x tools/test ;;
    tools/run)
      check "$command" env PATH="$work/bin:$PATH" \
        tools/run --set max_duration=20ba --set eval.0.dataset.samples=500
      check "it builds the release" test "$(cat "$work/cmake.txt")" = "--preset release -DTUTTI_WERROR=OFF -DBUILD_TESTING=OFF -DTUTTI_ISA_ONLY=native
--build --preset release"
      ;;
    *run.json*) check "$command" bash -c "$command >run.txt" ;;
    *) check "$command" bash -c "$command" ;;
  esac
done < <(commands)
check "the plugin that it shows trains" grep -q "trained 20 batches" run.txt
check "the build under test is as it was" test -z "$(find "$TUTTI" "$build/lib" -newer "$work/bin/cmake")"
finish
