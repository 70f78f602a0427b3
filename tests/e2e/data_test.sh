#!/usr/bin/env bash
# data_test.sh - `tutti data`: what a path holds, told without a run.
. "$(dirname "$0")/lib.sh"

# Twelve pictures of three classes, a set of shards, an array and a text.
python3 - <<'PY'
import json, os, struct, zlib

def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

def png(path, width, height, rgb):
    rows = b"".join(b"\0" + bytes(rgb) * width for _ in range(height))
    with open(path, "wb") as f:
        f.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
                + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))

for name, count, rgb in (("ant", 6, (255, 0, 0)), ("bee", 4, (0, 255, 0)), ("cat", 2, (0, 0, 255))):
    os.makedirs("pictures/" + name)
    for k in range(count):
        png("pictures/%s/%d.png" % (name, k), 20 + 2 * k, 16, rgb)

os.makedirs("shards")
rows = [struct.pack("<q4f", k % 2, *[k + 0.25 * j for j in range(4)]) for k in range(10)]
ends = [4 + 4 * 11 + 24 * k for k in range(11)]
data = struct.pack("<12I", 10, *ends) + b"".join(rows)
open("shards/shard.00000.mds", "wb").write(data)
json.dump({"version": 2, "shards": [{
    "format": "mds", "version": 2, "samples": 10, "hashes": [], "compression": None, "zip_data": None,
    "column_names": ["label", "x"], "column_encodings": ["int", "ndarray:float32:4"], "column_sizes": [8, 16],
    "raw_data": {"basename": "shard.00000.mds", "bytes": len(data), "hashes": {}}}]}, open("shards/index.json", "w"))
open("words.txt", "w").write("one two three four five six seven eight nine ten\n" * 4)
head = b"{'descr': '|u1', 'fortran_order': False, 'shape': (5, 8, 8), }"
head += b" " * (117 - len(head)) + b"\n"
open("grey.npy", "wb").write(b"\x93NUMPY\1\0" + struct.pack("<H", len(head)) + head + bytes(range(64)) * 5)
PY

check "a folder of pictures" eval '"$TUTTI" data inspect pictures >text.txt && grep -q "pictures: data set image_folder, 12 samples" text.txt'
check "columns" eval 'grep -q "^  input *U8 (16, -1, 3)$" text.txt && grep -q "^  target *I32 (), 3 classes$" text.txt'
check "classes" eval '[ "$(sed -n "/^classes/,\$p" text.txt | tr -s " " | cut -d" " -f2-4)" = "$(printf "%s\n" classes "ant 6 50.0%" "bee 4 33.3%" "cat 2 16.7%")" ]'
check "for programs" eval '"$TUTTI" data inspect pictures --json --sheet sheet.png >out.json'
check "what it says" python3 - <<'PY'
import json
out = json.load(open("out.json"))
assert out["samples"] == 12 and out["counted"] == 12 and out["classes"] == [6, 4, 2], out
assert out["class_names"] == ["ant", "bee", "cat"], out
assert out["columns"][0] == {"name": "input", "type": "U8", "shape": [16, -1, 3], "classes": 0}, out
first = out["first"][0]["input"]
assert first["shape"] == [16, 20, 3] and first["min"] == 0 and first["max"] == 255 and first["mean"] == 85, first
PY
check "the sheet has the pictures by class" python3 - <<'PY'
import struct, zlib
data = open("sheet.png", "rb").read()
width, height = struct.unpack(">II", data[16:24])
assert (width, height) == (8 * 116 + 4, 2 * 116 + 4), (width, height)
at, packed = 8, b""
while at < len(data):
    size, kind = struct.unpack(">I4s", data[at:at + 8])
    packed += data[at + 8:at + 8 + size] if kind == b"IDAT" else b""
    at += 12 + size
raw, rows, line = zlib.decompress(packed), [], bytes(3 * width)
for y in range(height):
    kind, now = raw[y * (3 * width + 1)], bytearray(raw[y * (3 * width + 1) + 1:(y + 1) * (3 * width + 1)])
    for x in range(3 * width):
        a, b, c = (now[x - 3] if x >= 3 else 0), line[x], (line[x - 3] if x >= 3 else 0)
        p = a + b - c
        near = min((abs(p - a), 0, a), (abs(p - b), 1, b), (abs(p - c), 2, c))[2]
        now[x] = (now[x] + (0, a, b, (a + b) // 2, near)[kind]) & 255
    rows.append(bytes(now))
    line = rows[-1]
middle = [tuple(rows[4 + r * 116 + 56][3 * (4 + c * 116 + 56):][:3]) for r in range(2) for c in range(8)]
want = [(255, 0, 0)] * 6 + [(0, 255, 0)] * 4 + [(0, 0, 255)] * 2 + [(16, 16, 16)] * 4
assert middle == want, middle
PY
check "shards" eval '"$TUTTI" data inspect shards | grep -q "^shards: data set mds, 10 samples in 1 group$"'
check "some of the samples" eval '"$TUTTI" data inspect shards --samples 4 | grep -q "^classes, of 4 of the samples$"'
check "tokens as text" eval '"$TUTTI" data inspect words.txt --set length=24 | grep -q "  input *\"one two three four five \""'
check "an array" eval '"$TUTTI" data inspect grey.npy --sheet grey.png | grep -q "sample 2"'
check "a data set that is named" eval '"$TUTTI" data inspect pictures --as image_folder --set channels=grey | grep -q "(16, -1, 1)"'
says "nothing there" 2 'tutti: nowhere: there is no such file or folder' "$TUTTI" data inspect nowhere
mkdir -p empty
says "nothing known" 2 'tutti: empty: nothing tells which data set it is; name one, as --as npy' "$TUTTI" data inspect empty
says "no pictures" 1 'tutti: sample 0 is no picture: want (height, width, colours)' "$TUTTI" data inspect shards --sheet x.png
echo '{"text": "a"}' >texts.jsonl
says "a setting that is wanted" 2 'tutti: texts.jsonl: the data set documents wants tokenizer_file: --set tokenizer_file=FILE gives it' "$TUTTI" data inspect texts.jsonl
printf 'text,price\na,1\n' >texts.csv
says "a table of texts" 2 'tutti: dataset table cannot be opened: texts.csv:2: the field "text" is "a", want a number; texts are read by the data set documents' "$TUTTI" data inspect texts.csv
if reads_tokenizers; then
  says "texts that want more" 2 'tutti: dataset documents cannot be opened: none.json: No such file or directory' "$TUTTI" data inspect texts.csv --set tokenizer_file=none.json
else
  skip "built without PCRE2 10.40 or utf8proc"
fi
python3 -c 'for k in range(-1, 300): print("size,rooms,price" if k < 0 else f"{k * 7 % 300 / 300},{k % 5},{k * 7 % 300 / 100 + k % 5}")' >houses.csv
check "a table" eval '"$TUTTI" data inspect houses.csv --set targets=[\"price\"] --json >h.json && "$TUTTI" data convert houses.csv houses --set targets=[\"price\"] && "$TUTTI" data inspect houses --set target_column=target --json >m.json && python3 - <<PY
import json
table, shards = json.load(open("h.json")), json.load(open("m.json"))
assert table["samples"] == shards["samples"] == 300 and table["columns"][0]["shape"] == [2] and table["columns"][1]["type"] == "F32", table
assert table["first"] == shards["first"] and table["first"][1]["target"]["first"] == [table["first"][1]["target"]["min"]], (table, shards)
PY'
cat >houses.json <<'JSON'
{"model": {"name": "mlp", "hidden": [8]}, "loss": "mse", "max_duration": "20ep", "optimizer": {"name": "adamw", "lr": 0.02},
 "train": {"dataset": {"name": "table", "path": "houses.csv", "targets": ["price"]}, "batch_size": 20, "workers": 1, "transforms": []},
 "eval": [{"label": "all", "dataset": {"name": "table", "path": "houses.csv", "targets": ["price"]}, "batch_size": 100, "workers": 1,
           "transforms": [], "interval": "20ep", "metrics": [{"name": "r2_score"}]}],
 "loggers": [{"name": "jsonl", "filename": "houses.log"}]}
JSON
check "which a model learns" eval '"$TUTTI" train houses.json --quiet && python3 - <<PY
import json
rows = [json.loads(line) for line in open("houses.log")]
score = [v for r in rows if r["kind"] == "metrics" for k, v in r["values"].items() if "r2_score" in k][-1]
assert score > 0.9, score
PY'
says "no such setting" 2 'tutti: settings: class: mds has no such setting; did you mean classes?' "$TUTTI" data inspect shards --set class=3
says "no setting" 2 'tutti: --set classes: want KEY=VALUE' "$TUTTI" data inspect shards --set classes

# A JPEG among PNGs.
mkdir -p mixed/all && cp pictures/ant/0.png mixed/all/ && base64 -d >mixed/all/1.jpg <<'B64'
/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDACgcHiMeGSgjISMtKygwPGRBPDc3PHtYXUlkkYCZlo+AjIqgtObDoKrarYqMyP/L2u71////m8H////6/+b9//j/2wBDASstLTw1PHZBQXb4
pYyl+Pj4+Pj4+Pj4+Pj4+Pj4+Pj4+Pj4+Pj4+Pj4+Pj4+Pj4+Pj4+Pj4+Pj4+Pj4+Pj4+Pj/wAARCAAIAAgDASIAAhEBAxEB/8QAFQABAQAAAAAAAAAAAAAAAAAAAAT/xAAXEAEAAwAA
AAAAAAAAAAAAAAAAAgNh/8QAFQEBAQAAAAAAAAAAAAAAAAAAAAL/xAAXEQADAQAAAAAAAAAAAAAAAAAAAQIR/9oADAMBAAIRAxEAPwCKFOAKdMRTw//Z
B64
check "JPEG and PNG in one column" eval '"$TUTTI" data convert mixed both && "$TUTTI" data inspect both --json >new.json && "$TUTTI" data inspect mixed --json >old.json && python3 - <<PY
import json
old, new = json.load(open("old.json")), json.load(open("new.json"))
held = open("both/shard.00000.mds", "rb").read()
assert old["first"] == new["first"] and new["first"][1]["input"]["shape"] == [8, 8, 3], (old, new)
assert all(open("mixed/all/" + name, "rb").read() in held for name in ("0.png", "1.jpg"))
assert json.load(open("both/index.json"))["shards"][0]["column_encodings"] == ["jpeg", "int32"]
PY'

# Written anew as shards: the same samples, whatever the threads.
check "pictures become shards" "$TUTTI" data convert pictures anew --shard-samples 5
check "which hold the same" eval '"$TUTTI" data inspect anew --json >anew.json && python3 - <<PY
import json
old, new = json.load(open("out.json")), json.load(open("anew.json"))
assert new["dataset"] == "mds" and len(json.load(open("anew/index.json"))["shards"]) == 3
assert (old["samples"], old["classes"], old["first"]) == (new["samples"], new["classes"], new["first"]), (old, new)
PY'
check "pictures stay the files that they are" python3 - <<'PY'
import glob, json
files = sorted(glob.glob("pictures/*/*.png"), key=lambda p: (p.split("/")[1], p))
held = b"".join(open("anew/shard.%05d.mds" % k, "rb").read() for k in range(3))
assert len(files) == 12 and all(open(p, "rb").read() in held for p in files)
assert json.load(open("anew/index.json"))["shards"][0]["column_encodings"] == ["png", "int32"]
PY
check "classes keep their names" eval '[ "$(cat anew/classes.txt)" = "$(printf "%s\n" ant bee cat)" ] && "$TUTTI" data inspect anew --json | grep -q "\"class_names\": \[\"ant\", \"bee\", \"cat\"\]"'
check "pictures that are read otherwise become PNG" eval '"$TUTTI" data convert pictures grey --set channels=grey && "$TUTTI" data inspect grey --json >new.json && "$TUTTI" data inspect pictures --set channels=grey --json >old.json && python3 - <<PY
import json
old, new = json.load(open("old.json")), json.load(open("new.json"))
assert old["first"] == new["first"] and new["first"][0]["input"]["shape"] == [16, 20, 1], (old, new)
PY'
check "and once more from shards" eval '"$TUTTI" data convert anew again --shard-samples 5 && cmp anew/shard.00001.mds again/shard.00001.mds && cmp anew/classes.txt again/classes.txt'
printf 'a\nb\n' >two.txt
says "labels that are not as many as classes" 2 'tutti: dataset mds cannot be opened: two.txt: names 2 classes, classes says 3' "$TUTTI" data inspect anew --set labels=two.txt --set classes=3
says "a label that no class has" 1 'tutti: anew/shard.00002.mds: sample 0: column target: label 2, want 0 to 1' "$TUTTI" data inspect anew --set labels=two.txt
says "a set that is there" 1 'tutti: anew: there is a set already' "$TUTTI" data convert pictures anew
check "tokens become shards" eval '"$TUTTI" data convert words.txt tokens --set length=24'
check "which are the tokens of a model" eval '"$TUTTI" data inspect tokens --json >t.json && "$TUTTI" data inspect words.txt --set length=24 --json >w.json && python3 - <<PY
import json
old, new = json.load(open("w.json")), json.load(open("t.json"))
assert old["first"] == new["first"] and old["samples"] == new["samples"], (old, new)
PY'
check "and a file of tokens" "$TUTTI" data convert words.txt words.bin --set length=24
check "which goes on from sample to sample" eval '"$TUTTI" data inspect words.bin --set length=24 --set vocabulary_size=256 --json >b.json && python3 - <<PY
import json
old, new = json.load(open("w.json")), json.load(open("b.json"))
assert new["dataset"] == "tokens_bin" and old["samples"] == new["samples"] == 8
assert old["first"] == new["first"], (old, new)
data, text = open("words.bin", "rb").read()[1024:], open("words.txt", "rb").read()
assert data == b"".join(bytes([c, 0]) for c in text[:24 * 8 + 1]), data
PY'
says "blocks that overlap" 1 'tutti: sample 1 does not begin with the token that the one before it ends with; want "stride" to be "length"' \
  "$TUTTI" data convert words.txt other.bin --set length=24 --set stride=8
check "a long text" python3 -c 'import random; r = random.Random(2); open("long.txt", "wb").write(bytes(r.choices(range(32, 127), k=6_000_001)))'
check "by one thread" "$TUTTI" data convert long.txt one.bin --set length=24 --threads 1
check "and by three" eval '"$TUTTI" data convert long.txt three.bin --set length=24 --threads 3 && cmp one.bin three.bin && ! ls ./*.part* 2>/dev/null'
check "which is the text" python3 -c 'import struct
text, data = open("long.txt", "rb").read(), open("one.bin", "rb").read()
count = struct.unpack("<3i", data[:12])[2]
assert count == 6_000_001 // 24 * 24 + 1 and data[1024::2] == text[:count] and not any(data[1025::2]), count'
# Killed once a part is there, wherever it is then.
"$TUTTI" data convert long.txt cut.bin --set length=24 --threads 2 2>/dev/null &
until [ "$(stat -c %s cut.bin.part 2>/dev/null || echo 0)" -gt 2000000 ] || ! kill -0 $! 2>/dev/null; do sleep 0.005; done
kill -KILL $! 2>/dev/null
wait $! 2>/dev/null
[ -e cut.bin ] || check "killed and begun again" "$TUTTI" data convert long.txt cut.bin --set length=24
check "the same file" cmp one.bin cut.bin
# Two blocks that are there, one of them changed, and a beginning of the third; the plan is that of a try that is stopped by a limit.
(ulimit -f 5000 && "$TUTTI" data convert long.txt part.bin --set length=24 --threads 1 2>why.txt)
check "a disk that is full" eval 'grep -q "^tutti: part.bin.part: File too large$" why.txt && [ -e part.bin.part.json ]'
printf X | dd of=part.bin.part bs=1 seek=1024 conv=notrunc status=none
says "begun with other settings" 1 'tutti: part.bin.part.json: was begun from other data or with other settings; remove it, or name another file' \
  "$TUTTI" data convert long.txt part.bin --set length=32
check "what is written stays" eval '"$TUTTI" data convert long.txt part.bin --set length=24 && [ "$(cmp -l one.bin part.bin | wc -l)" = 1 ] && [ ! -e part.bin.part.json ]'
check "a bar on a terminal" python3 - <<'PY'
import os, pty, subprocess
here, there = pty.openpty()
run = subprocess.Popen([os.environ["TUTTI"], "data", "convert", "long.txt", "bar.bin", "--set", "length=24"], stderr=there)
os.close(there)
seen = b""
try:
    while more := os.read(here, 4096):
        seen += more
except OSError:  # the other end is closed
    pass
assert run.wait() == 0
lines = [line for line in seen.decode().split("\r") if line.strip()]
assert len(lines) == 6 and lines[0].startswith("[#####-----") and "of 250000 samples, " in lines[0], lines
assert lines[-1].startswith("[" + "#" * 30 + "] 250000 of 250000 samples, ") and " 0 s left" in lines[-1], lines
PY
lines_of_text() {
printf '{"text": "one two three"}\n{"text": "four five, six"}\n{"text": "seven"}\n' >lines.jsonl
lines=(--set "tokenizer_file=$SOURCE/plugins/common/tokenizer/recorded/gpt2.json" --set 'end_token="<|end|>"' --set packing=stream --set length=4)
check "lines of text become a file of tokens" eval '"$TUTTI" data convert lines.jsonl lines.bin "${lines[@]}" && "$TUTTI" data convert lines.jsonl lines "${lines[@]}"'
check "which are those of the texts, and shards too" eval '"$TUTTI" data inspect lines.jsonl "${lines[@]}" --json >l.json && "$TUTTI" data inspect lines --json >m.json &&
  "$TUTTI" data inspect lines.bin --set length=4 --set vocabulary_size=420 --json >b.json && python3 - <<PY
import json, struct
l, m, b = (json.load(open(f + ".json")) for f in "lmb")
assert l["first"] == b["first"] and m["first"] == b["first"] and l["samples"] == m["samples"] == b["samples"] > 3, (l, m, b)
vocab = json.load(open("$SOURCE/plugins/common/tokenizer/recorded/gpt2.json"))
words = {v: k for k, v in vocab["model"]["vocab"].items()} | {t["id"]: t["content"] for t in vocab["added_tokens"]}
data = open("lines.bin", "rb").read()
tokens = struct.unpack("<%dH" % (len(data) // 2 - 512), data[1024:])
text = "".join(words[t] for t in tokens).replace("\u0120", " ")
assert "one two three<|end|>four five, six<|end|>seven<|end|>".startswith(text) and len(tokens) % 4 == 1 and "six" in text, text
PY'
says "columns that are not read back" 0 'tutti: packed: mds does not read back document_ids, position_ids: it takes one column as its input (input_column) and one as its target (target_column)' \
  "$TUTTI" data convert lines.jsonl packed "${lines[@]:0:4}" --set packing=cut --set length=4
check "which are in the shards" grep -q '"column_names": \["document_ids", "input", "position_ids", "target"\]' packed/index.json
check "input and target are taken by their names" eval '"$TUTTI" data inspect lines.jsonl "${lines[@]:0:4}" --set packing=cut --set length=4 --json >l.json &&
  "$TUTTI" data inspect packed --json >m.json && python3 - <<PY
import json
l, m = (json.load(open(f + ".json")) for f in "lm")
assert [c["name"] for c in m["columns"]] == ["input", "target"], m["columns"]
assert [{n: f[n] for n in ("input", "target")} for f in l["first"]] == m["first"], (l["first"], m["first"])
PY'
}
reads_tokenizers && lines_of_text # else that part has been said to be skipped
says "nothing is left" 0 '' "$TUTTI" data convert pictures whole_pictures
says "pictures as tokens" 1 'tutti: other.bin: a file of tokens takes samples of tokens, whose target is the input one further' \
  "$TUTTI" data convert pictures other.bin
says "a file that is there" 1 'tutti: words.bin: is there already' "$TUTTI" data convert words.txt words.bin --set length=24
python3 - <<'PY'
import struct
head = b"{'descr': '<f4', 'fortran_order': False, 'shape': (3000, 4), }"
head += b" " * (117 - len(head)) + b"\n"
open("many.npy", "wb").write(b"\x93NUMPY\1\0" + struct.pack("<H", len(head)) + head + struct.pack("<12000f", *range(12000)))
PY
check "in one go" "$TUTTI" data convert many.npy whole --shard-samples 50 --threads 1
# Killed once the first shard is there, wherever it is then; it may have been done.
"$TUTTI" data convert many.npy killed --shard-samples 50 --threads 3 2>/dev/null &
until [ -e killed/shard.00000.mds ] || ! kill -0 $! 2>/dev/null; do sleep 0.01; done
kill -KILL $! 2>/dev/null
wait $! 2>/dev/null
[ -e killed/index.json ] || check "killed and begun again" "$TUTTI" data convert many.npy killed --shard-samples 50 --threads 2
rm -f killed/conversion.json killed/*.part
check "the same bytes" diff -r -x .lock whole killed
mkdir -p begun/shard.00059.mds.part
check "a shard that cannot be written" eval '! "$TUTTI" data convert many.npy begun --shard-samples 50 --threads 1 2>why.txt && grep -q "begun/shard.00059.mds.part: Is a directory" why.txt'
rmdir begun/shard.00059.mds.part
cp begun/shard.00003.mds begun/shard.00007.mds && rm begun/shard.00008.mds
cp -r begun other && printf '{"from": "elsewhere"}\n' >other/conversion.json
says "begun from other data" 1 'tutti: other: was begun from other data or with other settings; remove it, or name another folder' \
  "$TUTTI" data convert many.npy other --shard-samples 50
truncate -s -1 begun/shard.00009.mds
check "written shards stay; one that is missing, and one that is cut, are written" eval '"$TUTTI" data convert many.npy begun --shard-samples 50 && [ "$(diff -rq -x .lock whole begun)" = "Files whole/shard.00007.mds and begun/shard.00007.mds differ" ]'
rm begun/index.json
check "shards of which nothing is known are written again" eval '"$TUTTI" data convert many.npy begun --shard-samples 50 && diff -r -x .lock whole begun'
finish
