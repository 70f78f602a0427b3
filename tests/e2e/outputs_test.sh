#!/usr/bin/env bash
# outputs_test.sh - what a command writes where a named pipe, a symbolic link or a descriptor stands: no node is replaced.
. "$(dirname "$0")/lib.sh"
soon() { timeout -k 5 300 "$@"; }
echo 'var Chart = function () {};' >stand_in.js
export TUTTI_CHART_JS=$work/stand_in.js

small_run '"loggers": [{"name": "jsonl"}]' | sed 's/"3ep"/"2ba"/' >run.json
check "a run" "$TUTTI" train run.json --quiet
predict() { soon "$TUTTI" predict run.json --checkpoint auto --output "$@"; }
export_onnx() { soon "$TUTTI" export saves/latest.safetensors --onnx "$1"; }
report() { soon "$TUTTI" report runs/small --page "$1"; }
without_time() { sed 's/"generated":[0-9]*//g' "$1"; }
seq 400 >numbers.txt
tokens() { soon "$TUTTI" data convert numbers.txt "$1" --as text --set length=8; }
python3 - <<'PY'
import struct
for name, head, data in (("x", "'<f4', 'fortran_order': False, 'shape': (4, 4, 4)", struct.pack("<64f", *range(64))),
                         ("y", "'<i8', 'fortran_order': False, 'shape': (4,)", struct.pack("<4q", 0, 1, 0, 1))):
    text = ("{'descr': " + head + "}").ljust(117) + "\n"
    open(name + ".npy", "wb").write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode() + data)
PY
sheet() { soon "$TUTTI" data inspect x.npy --set targets=y.npy --set classes=2 --sheet "$1"; }
check "regular files" eval 'predict out.csv && predict out.jsonl && predict out.npy && report out.html && tokens out.bin && sheet out.png'
onnx=1
export_onnx out.onnx >why.txt 2>&1
if grep -q 'built without protobuf-c' why.txt; then
  onnx= && skip "ONNX files: built without protobuf-c (Debian's packages libprotobuf-c-dev and protobuf-c-compiler)"
else
  check "an ONNX file" test -s out.onnx
fi
check "nothing half written" eval '! ls | grep -F .part'

# through <what> <file> <command> <as>: the command writes a named pipe, whose reader gets what the file has.
mkfifo pipe
through() {
  local reader
  soon cat pipe >got &
  reader=$!
  check "$1 go through a named pipe" "$3" pipe ${4:+--format "$4"}
  wait $reader
  check "whole" eval "cmp <(without_time got) <(without_time '$2') && [ -p pipe ]"
}
through "rows of CSV" out.csv predict csv
through "JSON lines" out.jsonl predict jsonl
[ -z "$onnx" ] || through "an ONNX file" out.onnx export_onnx
through "a page" out.html report
through "pictures" out.png sheet
says "NumPy's format does not" 1 'tutti: pipe: is no regular file; npy states the number of rows before them, which is known only at the end; csv and jsonl do without' \
  predict pipe --format npy
mkfifo pipe.bin
says "nor do tokens" 1 'tutti: pipe.bin: is there already' tokens pipe.bin
check "the pipes stay, and nothing beside them" eval '[ -p pipe ] && [ -p pipe.bin ] && ! ls | grep -F .part'

# A link stays, and what it names is replaced or made.
mkdir -p deep
linked() { # <file> <command>
  local there=deep/there-$1
  echo old >"$there"
  rm -f link-* && ln -s "$there" "link-there-$1" && ln -s "$work/deep/new-$1" "link-new-$1" && ln -s "link-new-$1" "link-twice-$1"
  if [ "$1" = out.bin ]; then rm "$there"; fi
  check "$1 through links" eval "$2 link-there-$1 && $2 link-twice-$1"
  check "which stay" test -L "link-there-$1" -a -L "link-twice-$1" -a -L "link-new-$1"
  check "what they name is whole" eval "cmp <(without_time $there) <(without_time $1) && cmp <(without_time deep/new-$1) <(without_time $1)"
}
linked out.csv predict
linked out.npy predict
[ -z "$onnx" ] || linked out.onnx export_onnx
linked out.html report
linked out.bin tokens
linked out.png sheet
ln -s one two && ln -s two one
says "links in a circle" 1 'tutti: one: Too many levels of symbolic links' predict one --format csv
says "a folder" 1 'tutti: deep: Is a directory' predict deep --format csv
mkfifo late.csv.part
says "a named pipe in the place of the part" 1 'tutti: late.csv.part: is no regular file, and is to be written before late.csv' predict late.csv

# Descriptors are written where they are.  A program that is wrong would replace what it is given, so that nothing in /dev is
# named where that could be: nobody can make a file beside /proc/self/fd/1.
predict /proc/self/fd/1 --format csv 2>told.txt | cat >got
check "standard output has the rows alone" cmp got out.csv
check "and their number is told elsewhere" grep -qx '100 predictions' told.txt
(echo before && predict /proc/self/fd/1 --format jsonl && echo after) >all.txt 2>told.txt
check "a file of the shell's keeps what it had" cmp all.txt <(echo before && cat out.jsonl && echo after)
check "a descriptor with another number" eval 'predict /proc/self/fd/7 --format csv 7>got && cmp got out.csv'
ln -s /proc/self/fd/1 out
check "a link to standard output" eval 'predict out --format csv 2>/dev/null | cmp - out.csv && [ -L out ]'
# More than a pipe holds.
(soon head -c 9 pipe >/dev/null) &
check "a reader that leaves is told" eval '! predict pipe --format csv --set eval.0.dataset.samples=2000 2>why.txt && grep -q "^tutti: pipe: Broken pipe$" why.txt && [ -p pipe ]'
if [ -n "$onnx" ]; then
  (soon head -c 9 pipe >/dev/null) &
  says "by export too" 1 'tutti: pipe: Broken pipe' export_onnx pipe
fi
finish
