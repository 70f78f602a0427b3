#!/usr/bin/env bash
# docs_test.sh - man pages have every command, option, variable and member there is, and shells complete by the tables.
. "$(dirname "$0")/lib.sh"
build=$(dirname "$TUTTI")
man=$build/share/man

# The names of a page's items, each with a space behind it.
for page in "$man"/man?/*; do
  grep -A1 '^\.TP$' "$page" | sed -nE 's/\\-/-/g; s/^\\fB([^\\ =]+).*/\1 /p' >"$(basename "$page").items"
done
# in_page <page> <word>: the word begins an item there.
in_page() { grep -qF -- "$2 " "$(basename "$1").items"; }
commands=$("$TUTTI" docs complete -- help '' | cut -f1)
check "there are commands" test "$(wc -w <<<"$commands")" -ge 10
for command in $commands; do
  page=$man/man1/tutti-$command.1
  check "tutti(1) has $command" in_page "$man/man1/tutti.1" "$command"
  check "the page is what $command says" diff "$page" <("$TUTTI" docs man "$command")
  for option in $("$TUTTI" "$command" --help | grep -oE '^ +(-[a-zA-Z?], )?--[a-z-]+' | grep -oE -- '--[a-z-]+'); do
    check "tutti-$command(1) has $option" in_page "$page" "$option"
  done
done
check "there are many options in train" test "$(grep -c '^\\fB.*\-\\-' "$man/man1/tutti-train.1")" -ge 10
for use in $("$TUTTI" plugins 2>&1 | sed -E 's/.*\[OPTION...\] (.*);.*/\1/; s/ [A-Z]+//g' | tr '|' ' '); do
  check "tutti-plugins(1) has $use" in_page "$man/man1/tutti-plugins.1" "$use"
done
for variable in $(grep -rhoE 'getenv\("(TUTTI|OMP|XDG)_[A-Z_]+"\)' "$SOURCE"/host "$SOURCE"/kernels --include='*.c' --include='*.h' \
  --exclude='*_test.c' | grep -oE '[A-Z][A-Z_]+' | sort -u); do
  check "tutti(1) has $variable" in_page "$man/man1/tutti.1" "$variable"
done

# ---- formats ----
for format in run engine plugin; do
  page=$man/man5/tutti-$format.5
  python3 - "$SOURCE/sdk/schema/$format.schema.json" >members.txt <<'PY'
import json, sys
def walk(node):
    if isinstance(node, dict):
        for name, member in (node.get("properties") or {}).items():
            if isinstance(member, dict) and len(member) and "then" not in node:
                print(name)
        for key, below in node.items():
            if key not in ("if", "not", "oneOf") or key == "oneOf" and "properties" not in str(below)[:40]:
                walk(below)
    elif isinstance(node, list):
        for below in node:
            walk(below)
schema = json.load(open(sys.argv[1]))
for name in schema["properties"]:
    print(name)
walk(schema.get("$defs", {}))
PY
  check "$format has members" test "$(wc -l <members.txt)" -ge 20
  for member in $(sort -u members.txt); do
    check "tutti-$format(5) has $member" in_page "$page" "$member"
  done
done
# An item without a text has a type that is told under TYPES, or in the page of run files.
for page in "$man"/man?/*; do
  types=$(sed -n '/^.SH "TYPES"/,$p' "$page" | grep -A1 '^\.TP$' | sed -nE 's/^\\fB([a-z_]+)\\fR.*/\1/p' | paste -sd '|')
  check "every item of $(basename "$page") says something" awk -v "types=I(list of )?(${types:-none})[^a-z]" '
    after && /^(\.TP|\.RE|\.SH.*)?$/ && name !~ types && name !~ /of tutti/ { print "nothing of " name; bad = 1 }
    { after = 0 } named { name = $0; named = 0; after = 1 } /^\.TP$/ { named = 1 } END { exit bad }' "$page"
done
if command -v groff >/dev/null; then
  for page in "$man"/man?/*; do
    check "$(basename "$page") is clean by groff" test -z "$(groff -man -ww -z "$page" 2>&1)"
  done
else
  skip "no groff (Debian's package groff-base)"
fi
if command -v mandoc >/dev/null; then
  check "the pages are clean by mandoc" mandoc -T lint -W warning "$man"/man?/*
else
  skip "no mandoc (Debian's package mandoc)"
fi

# ---- recipes by name ----
check "a recipe goes by its name" "$TUTTI" validate glyphs_cnn
echo '{' >glyphs_cnn
check "a file of that name comes first" bash -c "! '$TUTTI' validate glyphs_cnn 2>/dev/null"
rm glyphs_cnn
check "its folders are here" bash -c "'$TUTTI' train glyphs_cnn --set max_duration=1ba --set train.dataset.samples=128 \
  --set eval.0.dataset.samples=10 --set 'callbacks=[{\"name\": \"checkpoint_saver\", \"folder\": \"saves\"}]' && ls saves/*"

# ---- completion: what a shell shows for the words of a line, the last one under the cursor ----
touch other.txt
mkdir -p sub
# bash_shows <word>...: one a line.
bash_shows() {
  bash -c '. "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _tutti; printf "%s\n" "${COMPREPLY[@]}"' \
    "$SOURCE/host/cli/docs/completion/tutti.bash" "$TUTTI" "$@"
}
zsh_shows() {
  zsh -fc '
    _describe() { print -l -- ${${(P)2}%%:*} }
    _files() { [[ $1 = -/ ]] && print -l -- $PREFIX*(/N) || print -l -- $PREFIX*(N) }
    compset() { PREFIX=${PREFIX#*=} }
    complete_tutti() { . $0 }
    words=("$@"); CURRENT=$#; PREFIX=${@[-1]}
    eval "one() { $(<$0) }"; one' "$SOURCE/host/cli/docs/completion/_tutti" "$TUTTI" "$@"
}
try() {
  local shows=$1
  completes() { # <words> <expected lines, sorted>
    check "$shows: tutti ${1//|/ }" diff <(IFS='|'; set -f; $shows $1 | sed '/^$/d' | sort) <(tr ' ' '\n' <<<"$2" | sed '/^$/d')
  }
  completes 'pl' 'plan plugins'
  completes 'help|val' 'validate'
  completes 'plugins|in' 'info'
  completes 'plugins|info|mixu' 'mixup'
  completes 'plugins|check|su' 'sub'
  completes 'plugins|new|mine|--kind|op' 'op optimizer'
  completes 'plugins|new|mine|--lang|c' 'c cpp cuda'
  completes 'train|--res' '--reset-time --resume'
  completes 'train|--resume|a' 'auto'
  completes 'train|--plugin-path|s' 'sub'
  completes 'train|glyphs_c' 'glyphs_cnn'
  completes 'train|oth' 'other.txt'
  completes 'train|glyphs_cnn|oth' ''
  completes 'train|--set|threads=1|oth' 'other.txt'
  completes 'layers|conv2' 'conv2d'
  completes 'ops|group_n' 'group_norm group_norm_grad'
  completes 'version|--he' '--help'
  completes 'nothing|x' ''
}
rm -rf saves
try bash_shows
check "bash: --device=c" diff <(bash_shows train --device = c | sort) <(printf 'cpu\ncuda\n')
check "bash: --device=" grep -qx auto <(bash_shows train --device =)
if command -v zsh >/dev/null; then
  try zsh_shows
  check "zsh: --device=c" diff <(zsh_shows train --device=c | sort) <(printf 'cpu\ncuda\n')
else
  skip "no zsh: its completion is not tried"
fi
finish
