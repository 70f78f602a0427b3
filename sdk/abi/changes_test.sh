#!/usr/bin/env bash
# changes_test.sh SOURCE PYTHON CC - what tools/abi says of changes to headers: of a released thing a sentence with
# the remedy, of a new one nothing if it is tagged and hidden.
set -uo pipefail
source=$1 python=$2 cc=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0

# changed <what> <header> <sed script>: what the check says of headers with that change, in $work/said.
changed() {
  rm -rf "$work/include"
  cp -r "$source/sdk/include" "$work/include"
  sed -i -E "$3" "$work/include/tutti/$2"
  if cmp -s "$source/sdk/include/tutti/$2" "$work/include/tutti/$2"; then
    echo "FAILED: $1: nothing was changed"
    failures=$((failures + 1))
  fi
  "$python" "$source/tools/abi" check --include "$work/include" --cc "$cc" >"$work/said" 2>&1
  status=$?
}
# refuses <what> <header> <sed script> <text>: the check fails and says so.
refuses() {
  changed "$1" "$2" "$3"
  if [ $status -eq 1 ] && grep -qF "$4" "$work/said"; then
    echo "ok: $1"
  else
    echo "FAILED: $1: status $status"
    head -5 "$work/said"
    failures=$((failures + 1))
  fi
}
# The minor that something new gets: of the headers, or one more once that is released.
next=$(sed -n 's/^#define TUTTI_MINOR //p' "$source/sdk/include/tutti/base.h")
while [ -d "$source/sdk/abi/1.$next" ]; do next=$((next + 1)); done
remedy="what was released stays as it is; put a new member at the end of its struct, tagged \`since 1.$next\` and behind \`#if TUTTI_USE_MINOR >= $next\`, or make a new interface id"
refuses "a member that moved" weights.h '/^    int32_t group;/d; s/^(    int32_t) reserved;$/\1 reserved, group;/' \
  "tutti_weight.group was at byte 96 with 4 bytes and is at byte 100 with 4 since release 1.0: $remedy"
refuses "a member that is gone" scheduler.h '/double scale_ratio;/d' "tutti_schedule.scale_ratio is gone since release 1.0: $remedy"
refuses "a member too many" scheduler.h 's/^(    double) scale_ratio;/\1 scale_ratio, other;/' \
  "the size of tutti_schedule was 56 and is 64 since release 1.0: $remedy"
refuses "a constant with another value" closure.h 's/NO_LOSS = 1u << 0/NO_LOSS = 1u << 1/' \
  "TUTTI_WRAPPER_NO_LOSS was 1 and is 2 since release 1.0: $remedy"
refuses "an id with another text" pass.h 's,tutti.pass/1,tutti.order/1,' 'TUTTI_PASS_V1 was "tutti.pass/1" and is "tutti.order/1"'
if command -v abidiff >/dev/null; then
  refuses "a member of another type" scheduler.h 's/^    double scale_ratio;/    int64_t scale_ratio;/' "$remedy"
  refuses "a function with another argument" loop.h 's/void \(\*set_output\)\(void \*ctx, double value\)/void (*set_output)(void *ctx, float value)/' "$remedy"
else
  echo "skipped: there is no abidiff"
  skipped=77
fi

grow="s/^#define TUTTI_MINOR [0-9]+\$/#define TUTTI_MINOR $next/"
tagged="s|^(    double scale_ratio;.*)\$|\\1\\n#if TUTTI_USE_MINOR >= $next\\n    double next; /* since 1.$next */\\n#endif|"
# grown <sed script>: headers of the next minor, with that change to scheduler.h.
grown() {
  rm -rf "$work/include"
  cp -r "$source/sdk/include" "$work/include"
  sed -i -E "$grow" "$work/include/tutti/base.h"
  sed -i -E "$1" "$work/include/tutti/scheduler.h"
  "$python" "$source/tools/abi" check --include "$work/include" --cc "$cc" >"$work/said" 2>&1
  status=$?
}
# says <what> <status> <text>
says() {
  if [ $status -eq "$2" ] && grep -qF "$3" "$work/said"; then
    echo "ok: $1"
  else
    echo "FAILED: $1: status $status, want $2"
    head -5 "$work/said"
    failures=$((failures + 1))
  fi
}
grown "$tagged"
says "a member of 1.$next that is tagged and hidden" "${skipped:-0}" "releases that hold: 1.0"
grown "${tagged/ \/\* since 1.$next \*\//}"
says "one without its tag" 1 "scheduler.h:19: what is behind TUTTI_USE_MINOR >= $next has no \`since 1.$next\`"
grown "s|^(    double scale_ratio;.*)\$|\\1\\n    double next; /* since 1.$next */|"
says "one that is not hidden" 1 "\`since 1.$next\` stands behind TUTTI_USE_MINOR >= 0"
grown "s|^typedef struct tutti_schedule .*\$|typedef struct tutti_loose {\\n    int32_t one;\\n} tutti_loose;\\n\\n&|"
says "a struct without a size" 1 "scheduler.h: tutti_loose has no struct_size, and sdk/CONTRACT.md does not say that it never grows"

# A repository of its own, with 1.0 alone, which becomes frozen.
tree=$work/tree
mkdir -p "$tree/tools" "$tree/sdk"
cp "$source"/tools/abi* "$tree/tools/"
cp -r "$source/sdk/abi" "$source/sdk/CONTRACT.md" "$source/sdk/template" "$source/sdk/template_cuda" "$tree/sdk/"
cp -r "$source/sdk/abi/1.0/include" "$tree/sdk/include"
rm -rf "$tree/sdk/abi/1.0/commit" "$tree"/sdk/abi/1.[1-9]*
for name in abi include; do find "$tree/sdk/$name" -name __pycache__ -prune -exec rm -rf {} +; done
# in_tree WORDS: tools/abi there.
in_tree() {
  PYTHONDONTWRITEBYTECODE=1 "$python" "$tree/tools/abi" "$@" --cc "$cc" >"$work/said" 2>&1
  status=$?
}
commit() { git -C "$tree" -c user.name=t -c user.email=t@t.invalid -c commit.gpgsign=false "$@" -q -m one; }
if command -v git >/dev/null; then
  git init -q "$tree" && git -C "$tree" add -A && commit commit
  echo >>"$tree/sdk/abi/README.md"
  in_tree freeze 1.0
  says "freezing what is not committed" 2 "the tree has changes that are not committed"
  git -C "$tree" checkout -q .
  in_tree freeze 1.1
  says "freezing what is no release" 2 "there is no release 1.1"
  in_tree freeze 1.0
  says "freezing" 0 "1.0 is frozen at $(git -C "$tree" rev-parse HEAD)"
  git -C "$tree" add -A && commit commit
  in_tree freeze 1.0
  says "freezing twice" 2 "1.0 is frozen already"
  in_tree release 1.0
  says "releasing again what is frozen" 2 "1.0 is frozen (commit"
  in_tree check
  says "a frozen release as it was" "${skipped:-0}" "releases that hold: 1.0"
  sed -i 's/TUTTI_WRAPPER_NO_LOSS, 1/TUTTI_WRAPPER_NO_LOSS, 2/' "$tree/sdk/abi/1.0/layout.inc"
  commit commit -a
  in_tree check
  says "a frozen release that was edited" 1 "sdk/abi/1.0/layout.inc has changed since 1.0 was frozen at"
  rm -rf "$tree/.git"
  cp "$source/sdk/abi/1.0/layout.inc" "$tree/sdk/abi/1.0/"
  GIT_CEILING_DIRECTORIES=$work in_tree check
  says "a tarball" "${skipped:-0}" "not compared with the commits that froze them, which are not here: 1.0"
else
  echo "skipped: there is no git"
  skipped=77
fi

# There 1.1 is made; instead of a program's operations it has words.
sed -i 's/^#define TUTTI_MINOR 0$/#define TUTTI_MINOR 1/' "$tree/sdk/include/tutti/base.h"
in_tree release one
says "a release that is no number" 2 "one is no release; want 1.N, as in \`tools/abi release 1.1\`"
in_tree release 1.1
says "a release without a program" 2 "name it with --tutti"
mv "$tree/sdk/abi/newest/norm_descent" "$tree"
in_tree release 1.1 --tutti echo
says "a release with no plugin that needs it" 2 "no plugin of sdk/abi/newest asks for 1.1"
mv "$tree/norm_descent" "$tree/sdk/abi/newest/"
if command -v abidw >/dev/null; then
  in_tree release 1.1 --tutti echo
  says "a release" 0 "sdk/abi/1.1: "
  [ -f "$tree/sdk/abi/1.1/plugins/norm_descent/plugin.c" ] || { echo "FAILED: 1.1 keeps no plugin that asks for it" && failures=$((failures + 1)); }
  sed -i -E 's/^(    double) scale_ratio;/\1 scale_ratio, other;/' "$tree/sdk/include/tutti/scheduler.h"
  in_tree check
  says "a change of what both releases have" 1 "since release 1.1: what was released stays as it is; put a new member at the end of its struct, tagged \`since 1.2\`"
else
  echo "skipped: there is no abidw"
  skipped=77
fi
[ $failures -eq 0 ] || exit 1
exit "${skipped:-0}"
