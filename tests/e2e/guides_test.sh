#!/usr/bin/env bash
# guides_test.sh - every block of code of the guides does what it says: files are written, commands run in the order of
# the page, with the installed program and SDK. Those that install packages or make images are noted, not run.
. "$(dirname "$0")/lib.sh"
build=$(dirname "$TUTTI")
for tool in cmake ninja pkg-config; do
  command -v $tool >/dev/null || skip_all "no $tool"
done
pkg-config --exists check || skip_all "no Check (Debian's package check), which tests of plugins want"
[ -z "$SANITIZE" ] || skip_all "built with -fsanitize=$SANITIZE, whose runtime a plugin's test has not"
export TUTTI_PLUGIN_PATH= TUTTI_ADD_PLUGIN_PATH= XDG_DATA_HOME=$work/none
unset CMAKE_C_COMPILER_LAUNCHER CMAKE_CXX_COMPILER_LAUNCHER TUTTI_PLUGIN_PATH
umask 022
for component in runtime sdk; do
  check "the component $component" cmake --install "$build" --prefix "$work/p" --component $component
done
export CMAKE_PREFIX_PATH=$work/p PKG_CONFIG_PATH=$work/p/share/pkgconfig MANPATH=$work/p/share/man
PATH=$work/p/bin:$PATH:$HOME/.cargo/bin

# goes_through <page>: in a folder of its own.
goes_through() {
  local name
  name=$(basename "$1" .md)
  mkdir -p "$name"
  check "$1 has blocks that can be run" python3 "$e2e/guide.py" script "$SOURCE/$1"
  python3 "$e2e/guide.py" script "$SOURCE/$1" >"$name.sh"
  check "$1 has at least 3 commands" test "$(grep -c '^echo "+ ' "$name.sh")" -ge 3
  if (cd "$name" && bash -euc 'without() { echo "without: $1"; }; . "$0"' "../$name.sh") >"$name.out" 2>&1; then
    echo "ok: $1"
  else
    echo "FAILED: $1: a command failed, the last one here"
    tail -40 "$name.out"
    failures=$((failures + 1))
  fi
  while read -r line; do
    skip "a part of $1: no ${line#without: }"
  done < <(grep '^without: ' "$name.out")
}
goes_through docs/tutorial.md
check "the plugin in C trains, twice" test "$(grep -c '^trained 20 batches' tutorial.out)" = 2
goes_through docs/plugin_kinds.md
check "the run of all kinds trains" grep -q '^trained 40 batches' plugin_kinds.out

# Installing: beside the tree's build, in a home of its own.
mkdir -p install/build install/tools bin
ln -s "$build" install/build/release
for stand_in in bin/docker bin/cpack install/tools/build; do
  printf '#!/bin/sh\necho "%s $*" >>"%s/noted.txt"\n' "$(basename $stand_in)" "$work" >$stand_in
  chmod +x $stand_in
done
HOME=$work/home PATH=$work/bin:$PATH goes_through docs/install.md
check "it installed the program" test -x home/.local/bin/tutti
check "it would build, pack, make images" diff noted.txt - <<'TXT'
build release -DBUILD_TESTING=OFF
cpack --config build/release/CPackConfig.cmake -B packages
docker build --target runtime -t tutti .
docker build --target mpi -t tutti-mpi .
docker build --target sdk -t tutti-sdk .
TXT
for name in $(grep -oE -- '--target [a-z]+' noted.txt | cut -d' ' -f2); do
  check "Dockerfile has $name" grep -qE "^FROM .* AS $name$" "$SOURCE/Dockerfile"
done

# Those of distributed.md are tried by e2e_plan_test and dist_slurm_test.
check "no other page of docs has commands that nobody runs" diff <(cd "$SOURCE/docs" && grep -l '^```sh' ./*.md) - <<'TXT'
./distributed.md
./install.md
./plugin_kinds.md
./tutorial.md
TXT

# The members that pages of plugins show are JSON.
check "blocks of JSON are JSON" python3 - "$e2e" "$SOURCE" <<'PY'
import json, pathlib, sys
sys.path.insert(0, sys.argv[1])
from guide import blocks
bad, seen = [], 0
for page in sorted(pathlib.Path(sys.argv[2], "plugins").rglob("README.md")) + sorted(pathlib.Path(sys.argv[2], "docs").glob("*.md")):
    for language, content, _, _ in blocks(page.read_text()):
        if language == "json":
            seen += 1
            for text in (content, "{" + content.rstrip().rstrip(",") + "}"):
                try:
                    json.loads(text)
                    break
                except ValueError:
                    pass
            else:
                bad.append(f"{page}: {content[:80]!r} is no JSON")
print("\n".join(bad))
sys.exit(bool(bad) or seen < 30)
PY
finish
