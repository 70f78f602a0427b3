#!/usr/bin/env bash
# walk_onnx_test.sh - docs/walks/onnx.sh does what it says.
. "$(dirname "$0")/lib.sh"
bash "$SOURCE/docs/walks/onnx.sh" walk >out.txt 2>&1
status=$?
grep -q 'built without protobuf-c' out.txt && skip_all "$(grep 'built without' out.txt)"
check "the walk goes to its end" test $status = 0
if grep -q '^not compared: ' out.txt; then
  skip "$(grep '^not compared: ' out.txt)"
else
  check "the file is compared" grep -q '^onnxruntime .* away$' out.txt
fi
[ "$failures" -eq 0 ] || cat out.txt
finish
