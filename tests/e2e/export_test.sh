#!/usr/bin/env bash
# export_test.sh - a checkpoint's model as an ONNX file, and predictions as NumPy, CSV and JSON lines.
. "$(dirname "$0")/lib.sh"
small_run >run.json
"$TUTTI" train run.json --quiet --duration 5ba >train.txt 2>&1
check "a run" test $? = 0
saved=$(latest .)

# ---- predictions ----

for format in npy csv jsonl; do
  "$TUTTI" predict run.json --checkpoint "$saved" --output "out.$format" >told.txt 2>&1
  check "predictions as $format" test "$(cat told.txt)" = '100 predictions'
done
check "all with the same numbers" python3 - <<'PY'
import csv, json, struct
data = open("out.npy", "rb").read()[128:]
rows = [struct.unpack_from("<10f", data, 40 * k) for k in range(100)]
with open("out.csv", newline="") as f:
    table = list(csv.reader(f))
assert table[0] == ["sample"] + [f"output_{k}" for k in range(10)], table[0]
near = lambda a, b: struct.pack("<f", a) == struct.pack("<f", b)
for k, row in enumerate(rows):
    assert int(table[k + 1][0]) == k
    assert all(near(a, float(b)) for a, b in zip(row, table[k + 1][1:], strict=True)), k
lines = [json.loads(line) for line in open("out.jsonl")]
assert [x["sample"] for x in lines] == list(range(100))
assert all(near(a, b) for row, x in zip(rows, lines) for a, b in zip(row, x["output"], strict=True))
PY
"$TUTTI" predict run.json --checkpoint "$saved" --output out.txt --format csv >/dev/null
check "a format that the name does not tell" cmp out.txt out.csv
says "a name that tells none" 1 'tutti: out: the ending names no format, want .npy, .csv, .jsonl or .json; --format says it too' \
  "$TUTTI" predict run.json --checkpoint "$saved" --output out
says "an unknown format" 1 'tutti: --format is "xml", want npy, csv or jsonl' \
  "$TUTTI" predict run.json --checkpoint "$saved" --output out --format xml
check "which leave nothing behind" test ! -e out -a ! -e out.part

# ---- ONNX ----

says "no file" 2 'tutti: export needs --onnx FILE or --huggingface FOLDER' "$TUTTI" export "$saved"
says "no number" 2 'tutti: --batch is "many", want a number of samples above 0' "$TUTTI" export "$saved" --onnx x --batch many
"$TUTTI" export "$saved" --onnx model.onnx >told.txt 2>err.txt
if grep -q 'built without protobuf-c' err.txt; then
  skip "$(cat err.txt)"
  finish
fi
check "an ONNX file" grep -Eq '^model.onnx: [0-9]+ operators, [0-9]+ weights of [0-9]+ bytes$' told.txt
check "without a remark" test ! -s err.txt
"$TUTTI" export "$saved" run.json --onnx again.onnx >/dev/null
check "a run file says the same" cmp model.onnx again.onnx
"$TUTTI" export "$saved" --onnx fixed.onnx --batch 4 >/dev/null
check "a fixed number of samples is another file" sh -c "! cmp -s model.onnx fixed.onnx"
small_run | python3 "$e2e/small_run.py" <(echo '{"callbacks": [{"name": "checkpoint_saver", "folder": "ends"},
  {"name": "export_for_inference", "save_path": "end.onnx"}]}') >ends.json
"$TUTTI" train ends.json --quiet --duration 3ba >train.txt 2>&1
check "a run that exports its model at the end" test $? = 0
"$TUTTI" export "$(ls ends/*latest*)" --onnx checkpoint.onnx >/dev/null
check "as its last checkpoint has it" cmp end.onnx checkpoint.onnx
says "an export that cannot be written ends the run" 1 "tutti: export_for_inference on fit_end: none/end.onnx.part: No such file or directory" \
  "$TUTTI" train ends.json --quiet --duration 1ba --set name=other --set callbacks.0.folder=others --set callbacks.1.save_path=none/end.onnx
protoc=$(command -v protoc-c || command -v protoc) # either decodes; the first one builds the program
if [ -n "$protoc" ]; then
  "$protoc" --decode=onnx.ModelProto -I "$SOURCE/host/export" onnx.proto <model.onnx >model.txt
  check "which protoc reads" grep -q 'producer_name: "tutti"' model.txt
  check "with a batch of any size" grep -q 'dim_param: "batch"' model.txt
  "$protoc" --decode=onnx.ModelProto -I "$SOURCE/host/export" onnx.proto <fixed.onnx >fixed.txt
  check "or of the one that was asked for" sh -c "! grep -q dim_param fixed.txt && grep -q 'dim_value: 4' fixed.txt"
else
  skip "no protoc reads the files (Debian's package protobuf-c-compiler)"
fi
python3 - <<'PY'
import json, struct
header = json.dumps({"w": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}).encode()
open("other.safetensors", "wb").write(struct.pack("<Q", len(header)) + header + b"\0\0\0\0")
PY
says "another program's file" 2 'tutti: other.safetensors: the file does not say which model it is of; give the run file too: tutti export CHECKPOINT RUN.json' \
  "$TUTTI" export other.safetensors --onnx x.onnx
says "a folder that is not there" 1 'tutti: none/x.onnx.part: No such file or directory' \
  "$TUTTI" export "$saved" --onnx none/x.onnx
build=$(dirname "$TUTTI")
if [ -d "$build/tests/ops/plugins" ]; then
  small_run '"model": {"name": "softsign_mlp"}' | python3 "$e2e/small_run.py" <(echo '{"model": {"name": "softsign_mlp"}}') >softsign.json
  "$TUTTI" train softsign.json --plugin-path "$build/tests/ops/plugins" --quiet --duration 1ba --set 'callbacks.0.folder="plain"' \
    --set 'eval=[]' >train.txt 2>&1
  check "a run with an operation of a plugin" test $? = 0
  says "which has no form in ONNX" 1 'tutti: body.softsign: operation softsign has no form in ONNX' \
    "$TUTTI" export "$(ls plain/*latest*)" softsign.json --plugin-path "$build/tests/ops/plugins" --onnx x.onnx
  check "and leaves no file" test ! -e x.onnx -a ! -e x.onnx.part
else
  skip "the plugin with an operation is not built"
fi
finish
