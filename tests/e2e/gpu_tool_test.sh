#!/usr/bin/env bash
# gpu_tool_test.sh - tools/gpu on the stand-in of a GPU, and where there is no GPU.
. "$(dirname "$0")/lib.sh"
build="$(dirname "$TUTTI")"
[ -e "$build/standin/libcudart.so.13" ] || { echo "skipped: the stand-in is not built"; exit 77; }
mkdir empty
env PATH="$work/empty" /usr/bin/python3 "$SOURCE/tools/gpu" --output none.json >none.txt
check "without a GPU there is one sentence, and status 2" test $? = 2 -a "$(cat none.txt)" = 'tools/gpu: there is no GPU that nvidia-smi knows of'
check "the stand-in's table" python3 "$SOURCE/tools/gpu" --standin --build "$build" --output out.json
check "which is in the file too" python3 - <<'PY'
import json
out = json.load(open("out.json"))
assert out["gpu"] == "stand-in" and out["wrong"] == [], out
assert out["ops"]["tests"] == 2 and out["ops"]["failed"] == 0, out
assert "MLP" in out["parity"] and out["bench"][0]["per_second"]["tutti"] > 0, out
PY
finish
