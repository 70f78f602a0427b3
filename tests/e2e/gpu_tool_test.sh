#!/usr/bin/env bash
# gpu_tool_test.sh - tools/gpu on the stand-in of a GPU, and where there is no GPU.
. "$(dirname "$0")/lib.sh"
build="$(dirname "$TUTTI")"
[ -e "$build/standin/libcudart.so.13" ] || skip_all "the stand-in is not built"
mkdir empty
env PATH="$work/empty" /usr/bin/python3 "$SOURCE/tools/gpu" --output none >none.txt
check "without a GPU there is one sentence, and status 2" test $? = 2 -a "$(head -1 none.txt)" = 'tools/gpu: there is no GPU that nvidia-smi knows of'
says "a stage that is none" 2 'tools/gpu: there is no stage op; there are first, chosen, operations, tuned, graphs, again, parity, plugins, sanitizer, mlp, mlp-launches, profile, peers' \
  python3 "$SOURCE/tools/gpu" --standin --only op
# Three calls, each of which goes on from what the one before has left.
for call in 1 2 3; do
  check "call $call on the stand-in" python3 "$SOURCE/tools/gpu" --standin --from "$build" --output out --call $call
done
check "whose figures are together in the files" python3 - <<'PY'
import json
out = json.load(open("out/gpu.json"))
assert out["gpu"] == "stand-in" and out["wrong"] == [] and out["left_out"] == [], out
assert out["operations"]["tests"] == 2 and out["operations"]["wrong"] == {}, out
assert out["operations"]["by"]["matmul"].get("cuBLASLt 13.0.0", 0) > 9, out["operations"]
assert out["tuned"]["tests"] == 1 and out["tuned"]["wrong"] == {}, out["tuned"]
assert "MLP" in out["parity"] and len(out["plugins"]) == 2, out
assert [b["id"] for b in out["bench"]] == ["mlp", "mlp-launches"] and out["bench"][0]["per_second"] > 0, out
by = {(c["operation"], c["library"]): c["steps"] for c in out["chosen"]["mlp"]}
assert by["matmul", "cuBLASLt 13.0.0"] > 1, by
launches = out["launches"]["mlp"]
assert any(one["name"] == "body.linear0: matmul_relu" and one["count"] == 5 and one["ms"] > 0 for one in launches), launches
assert "MLP" in open("out/gpu.txt").read(), open("out/gpu.txt").read()
found = open("out/findings.txt").read().splitlines()
assert any("launches of" in line for line in found) and any("without graphs" in line for line in found), found
assert [float(line.split(" ms")[0]) for line in found if " ms  " in line] == sorted(
    (float(line.split(" ms")[0]) for line in found if " ms  " in line), reverse=True), found
PY
# What only a real GPU can run is at least a run file that holds.
check "every row's command is one that tutti takes" python3 - <<'PY'
import os, subprocess, sys
source, tutti = os.environ["SOURCE"], os.environ["TUTTI"]
sys.path.insert(0, source + "/tools/on_gpu")
sys.dont_write_bytecode = True
import speed
for row in speed.ROWS:
    words = [tutti, "validate", f"{source}/tools/bench/rows/{row.row}.json", "--plugin-path",
             os.path.dirname(tutti) + "/bench", "--set", "precision=amp_bf16", "--set",
             f"train.batch_size={row.batch}", "--set", f"device={speed.device(row)}"]
    for change in row.changes:
        words += ["--set", change]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 0, (row.id, done.stdout, done.stderr)
    assert not row.same or any(r.id == row.same for r in speed.ROWS), row.id
PY
# A GPU that fails in the middle: every stage has its turn, and the reason is told.
LD_LIBRARY_PATH= TUTTI_CUDA_STANDIN=fail_launch=9 python3 "$SOURCE/tools/gpu" --standin --from "$build" --output bad \
  --only first operations parity plugins mlp >bad.txt
check "a GPU that fails does not hide what comes after" test $? = 1 -a "$(grep -c ^WRONG bad.txt)" -ge 6
check "with the reason" grep -q '^WRONG the first run: .*unspecified launch failure' bad.txt
check "which the page of findings repeats" grep -q '^WRONG the first run: ' bad/findings.txt
finish
