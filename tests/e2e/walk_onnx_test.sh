#!/usr/bin/env bash
# walk_onnx_test.sh - docs/walks/onnx.sh does what it says.
. "$(dirname "$0")/lib.sh"
bash "$SOURCE/docs/walks/onnx.sh" walk >out.txt 2>&1
status=$?
grep -q 'built without protobuf-c' out.txt && skip_all "$(grep 'built without' out.txt)"
check "the walk goes to its end" test $status = 0
check "the file is compared, or the walk says that it is not" grep -Eq '^(onnxruntime .* away|not compared: this Python has no onnxruntime)$' out.txt
[ "$failures" -eq 0 ] || cat out.txt
finish
