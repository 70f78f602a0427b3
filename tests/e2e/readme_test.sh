#!/usr/bin/env bash
# readme_test.sh - every command of README.md does what it says: exit status 0, in a copy of the tree's
# layout where build/release is the build under test.  tools/test is what runs this, so it is only
# looked at; tools/run installs and builds, which has happened, so it is run without the default's length.
. "$(dirname "$0")/lib.sh"
build=$(dirname "$TUTTI")
for entry in "$SOURCE"/*; do
  [ "$(basename "$entry")" = build ] || ln -s "$entry" .
done
mkdir build
ln -s "$build" build/release

commands() {
  awk '/^```sh$/ { on = 1; next } /^```/ { on = 0 } on' "$SOURCE/README.md" |
    sed -E 's/[[:space:]]+#.*$//; /^$/d'
}
check "README.md has commands" test "$(commands | wc -l)" -ge 10
while IFS= read -r command; do
  case $command in
    tools/test) check "$command" test -x tools/test ;;
    tools/run) # builds nothing unless another build than the release is under test
      [ "$build" -ef "$SOURCE/build/release" ] || { echo "skipped: $command"; continue; }
      check "$command" "$SOURCE/tools/run" --set max_duration=20ba --set eval.0.dataset.samples=500
      ;;
    *) check "$command" bash -c "$command" ;;
  esac
done < <(commands)
finish
