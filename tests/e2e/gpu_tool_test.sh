#!/usr/bin/env bash
# gpu_tool_test.sh - tools/gpu on the stand-in of a GPU, and where there is no GPU.
. "$(dirname "$0")/lib.sh"
build="$(dirname "$TUTTI")"
[ -e "$build/standin/libcudart.so.13" ] || skip_all "the stand-in is not built"
mkdir empty
env PATH="$work/empty" /usr/bin/python3 "$SOURCE/tools/gpu" --output none >none.txt
check "without a GPU there is one sentence, and status 2" test $? = 2 -a "$(head -1 none.txt)" = 'tools/gpu: there is no GPU that nvidia-smi knows of'
check "the stand-in's table" python3 "$SOURCE/tools/gpu" --standin --from "$build" --output out
check "which is in the files too" python3 - <<'PY'
import json
out = json.load(open("out/gpu.json"))
assert out["gpu"] == "stand-in" and out["wrong"] == [] and out["left_out"] == [], out
assert out["operations"]["tests"] == 2 and out["operations"]["wrong"] == {}, out
assert "MLP" in out["parity"] and len(out["plugins"]) == 2 and out["bench"][0]["per_second"] > 0, out
assert "MLP" in open("out/gpu.txt").read() and "op_exp_test" in open("out/gpu.log").read()
PY
# A GPU that fails in the middle: every stage has its turn, and the reason is told.
LD_LIBRARY_PATH= TUTTI_CUDA_STANDIN=fail_launch=9 python3 "$SOURCE/tools/gpu" --standin --from "$build" --output bad >bad.txt
check "a GPU that fails does not hide what comes after" test $? = 1 -a "$(grep -c ^WRONG bad.txt)" -ge 6
check "with the reason" grep -q '^WRONG the first run: .*unspecified launch failure' bad.txt
finish
