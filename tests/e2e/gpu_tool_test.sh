#!/usr/bin/env bash
# gpu_tool_test.sh - tools/gpu on the stand-in of a GPU, and where there is no GPU.
. "$(dirname "$0")/lib.sh"
build="$(dirname "$TUTTI")"
[ -e "$build/standin/libcudart.so.13" ] || skip_all "the stand-in is not built"
mkdir empty
env PATH="$work/empty" /usr/bin/python3 "$SOURCE/tools/gpu" --output none >none.txt
check "without a GPU there is one sentence, and status 2" test $? = 2 -a "$(head -1 none.txt)" = 'tools/gpu: there is no GPU that nvidia-smi knows of'
says "a stage that is none" 2 'tools/gpu: there is no stage op; there are first, chosen, operations, device, tuned, graphs, again, ranks, parity, plugins, sanitizer, mlp, mlp-launches, airbench, profile, ncu, peers-mlp' \
  python3 "$SOURCE/tools/gpu" --standin --only op
says "no CIFAR-10 where it is said to be" 2 "tools/gpu: --cifar empty: want CIFAR-10's binary files there, or train and test as shards" \
  python3 "$SOURCE/tools/gpu" --standin --cifar empty
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
assert len(out["device"]["tests"]) == 1 and out["device"]["wrong"] == {}, out["device"]
assert out["tuned"]["tests"] == 1 and out["tuned"]["wrong"] == {}, out["tuned"]
assert "MLP" in out["parity"] and len(out["plugins"]) == 2, out
assert all(text.endswith(" of how far they have moved") for text in out["plugins"].values()), out["plugins"]
trained, = out["airbench"]
assert trained["seed"] == 17 and trained["seconds"] > 0 and 0 <= trained["accuracy"] <= 1, trained
assert [b["id"] for b in out["bench"]] == ["mlp", "mlp-launches"] and out["bench"][0]["per_second"] > 0, out
by = {(c["operation"], c["library"]): c["steps"] for c in out["chosen"]["mlp"]}
assert by["matmul_bias_grad", "cuBLASLt 13.0.0"] == 3, by
launches = out["launches"]["mlp"]
assert any(one["name"] == "body.linear0: matmul_relu" and one["count"] == 5 and one["ms"] > 0 for one in launches), launches
assert "MLP" in open("out/gpu.txt").read(), open("out/gpu.txt").read()
found = open("out/findings.txt").read().splitlines()
kinds = out["kinds"]["mlp"]
assert any(k["kind"] == "body.linearN: matmul_relu" and k["count"] == 2 and k["ms"] > 0 for k in kinds), kinds
assert [k["ms"] for k in kinds] == sorted((k["ms"] for k in kinds), reverse=True), kinds
assert any("launches of body.linearN: matmul_relu a step" in line for line in found) and any("without graphs" in line for line in found), found
assert [float(line.split(" ms")[0]) for line in found if " ms  " in line] == sorted(
    (float(line.split(" ms")[0]) for line in found if " ms  " in line), reverse=True), found
PY
check "CIFAR-10 as --cifar names it, else of the pack, else the stage is left out" python3 - <<'PY'
import json, os, pathlib, sys, types
sys.path.insert(0, os.environ["SOURCE"] + "/tools/on_gpu")
sys.dont_write_bytecode = True
import airbench
def machine(cifar, build):
    m = types.SimpleNamespace(args=types.SimpleNamespace(standin=False, cifar=cifar), build=build, result={}, left=[])
    m.leave_out = lambda what, why: m.left.append((what, why))
    return m
pack = pathlib.Path("airpack")
m = machine(None, pack)
airbench.airbench(m)
assert len(m.left) == 1 and m.left[0][0] == "airbench" and "--cifar" in m.left[0][1] and "airbench" not in m.result, vars(m)
airbench.made_up(pack / "cifar")
assert airbench.pictures(m) == pack / "cifar"
for split in ("train", "test"):
    (pathlib.Path("shards") / split).mkdir(parents=True)
    (pathlib.Path("shards") / split / "index.json").write_text("{}")
assert airbench.pictures(machine(pathlib.Path("shards"), pack)) == pathlib.Path("shards")
assert airbench.dataset(pathlib.Path("shards"), "test") == {"name": "mds", "path": "shards/test", "classes": 10}
pathlib.Path("air.jsonl").write_text("\n".join(json.dumps({"values": v}) for v in (
    {"time/train": 0.0001}, {"time/train": 0.0005}, {"metrics/test/accuracy": 0.9})))
assert airbench.result(pathlib.Path("air.jsonl")) == {"seconds": 1.8, "accuracy": 0.9}
PY
check "layers of one kind are one line" python3 - <<'PY'
import os, sys
sys.path.insert(0, os.environ["SOURCE"] + "/tools/on_gpu")
sys.dont_write_bytecode = True
from what_runs import by_kind, kind
for name, want in {"h.11: matmul_add": "h.N: matmul_add", "h.3.mlp.c_fc: matmul_act": "h.N.mlp.c_fc: matmul_act",
                   "stage1.block2: add": "stageN.blockN: add", "body.linear0: matmul": "body.linearN: matmul",
                   "stage1.block2.conv1: conv2d": "stageN.blockN.conv1: conv2d", "cast": "cast",
                   "a.blocks.3: conv2d": "a.blocks.N: conv2d"}.items():
    assert kind(name) == want, (name, kind(name))
rows = by_kind([(1.0, 5, "h.0: add"), (4.0, 10, "cast"), (3.5, 5, "h.1: add")], 5)
assert rows == [{"kind": "h.N: add", "ms": 0.9, "count": 2.0}, {"kind": "cast", "ms": 0.8, "count": 2.0}], rows
PY
check "a test is run once more only where an error stays, and what is late hides nothing" python3 - <<'PY'
import os, sys
sys.path.insert(0, os.environ["SOURCE"] + "/tools/on_gpu")
sys.dont_write_bytecode = True
import types
import checks
tried = []
def again(says):
    def one_test(m, name, fork, limit, seed, **extra):
        tried.append(fork)
        return says
    checks.one_test = one_test
m = types.SimpleNamespace(left=lambda: 100.0)
stays = ["case 0: cuda:0: an illegal address (cudaErrorIllegalAddress); launched last: fc: matmul"]
off = ["case 0: matmul: element (1, 2) is 2.1, want 2 (+-0.01)"]
again(["took longer than 60 s"])
assert checks.told_apart(m, "op", off, 1, {}) == off and not tried
assert checks.told_apart(m, "op", stays, 1, {}) == stays and tried == ["yes"]
again(off)
assert checks.told_apart(m, "op", stays, 1, {}) == off
again([])
assert checks.told_apart(m, "op", stays, 1, {}) == [stays[0] + " (not when each test is by itself)"]
PY
check "a test that the end of its stage cuts is left out, not wrong" python3 - <<'PY'
import os, sys, threading, types
sys.path.insert(0, os.environ["SOURCE"] + "/tools/on_gpu")
sys.dont_write_bytecode = True
import pathlib
import checks
import machine
class Short(machine.Machine):
    def __init__(self, left):
        self.env, self.log, self.build, self.lock = dict(os.environ), open("short.log", "w"), pathlib.Path(".").resolve(), threading.RLock()
        self.stage_end, self.result, self.scratch = machine.time.monotonic() + left, {"wrong": [], "left_out": []}, pathlib.Path(".")
        self.args, self.said = types.SimpleNamespace(standin=False), []
    def say(self, line):
        self.said.append(line)
os.makedirs("tests")
for name, text in {"op_a_test": "exit 0", "op_conv2d_test": "sleep 30", "op_z_test": "echo x:1:F: off; exit 1"}.items():
    open(f"tests/{name}", "w").write(f"#!/bin/sh\n{text}\n")
    os.chmod(f"tests/{name}", 0o755)
assert checks.one_test(Short(60), "op_conv2d_test", "no", 1) == ["took longer than 1 s"]
m = Short(2.9)
checks.tuned(m)
assert m.result["left_out"] == ["op_conv2d_test"] and len(m.result["wrong"]) == 1, m.result
assert "op_conv2d_test: no time left in this stage after 3 s" in m.said, m.said
assert m.said[-1].startswith("1 of 3 tests of operations are right on the device, by tuned algorithms, 1 left out, "), m.said
begun, checks.one_test = [], lambda m, name, *rest, **more: begun.append(name) or []
checks.tuned(Short(9))
assert begun[0] == "op_conv2d_test", begun
PY
check "compute-sanitizer: what matters first, and which of its lines are wrong" python3 - <<'PY'
import os, sys
sys.path.insert(0, os.environ["SOURCE"] + "/tools/on_gpu")
sys.dont_write_bytecode = True
import sanitizer
from machine import Said
names = [f"op_{k}_test" for k in range(9)]
looks = sanitizer.looks(names)
assert looks[:12] == [("memcheck", n) for n in names[:6]] + [("racecheck", n) for n in names[:6]], looks
assert len(set(looks)) == 18 and looks[12:15] == [("memcheck", n) for n in names[6:]], looks
asked = '========= Program hit cudaErrorInvalidValue (error 1) due to "invalid argument" on CUDA API call to cudaFuncGetParamInfo.'
for status, text, want in [
        (0, "100%: Checks: 7, Failures: 0, Errors: 0\n========= ERROR SUMMARY: 0 errors", ("right", None)),
        (0, "========= RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)", ("right", None)),
        (3, asked, ("right", None)), (1, asked + "\n50%: Checks: 2", ("wrong", "50%: Checks: 2")),
        (3, asked + "\n========= Invalid __global__ read of size 4 bytes", ("wrong", "Invalid __global__ read of size 4 bytes")),
        (3, "========= Error: Race reported between Write access at sm90_xmma_dgrad_x__5x_cudnn+0x8d30",
         ("with something found in NVIDIA's own kernels", None)),
        (255, "========= Error: Target application terminated before first instrumented API call",
         ("without a call of CUDA", None)),
        (3, "========= Error: Race reported between Write access", ("wrong", "Error: Race reported between Write access")),
        (1, "========= Device not supported", ("========= Device not supported", None)), (139, "", ("wrong", "ends with 139"))]:
    assert sanitizer.judge(Said(status, text)) == want, (text, sanitizer.judge(Said(status, text)))
found = {("memcheck", "op_a_test"): "right", ("memcheck", "op_b_test"): "right", ("racecheck", "op_a_test"): "right",
         ("racecheck", "op_b_test"): "late"}
assert sanitizer.summary(found, 2) == ("memcheck finds nothing in 2 of 2 tests of operations; "
                                       "racecheck finds nothing in 1 of 2 tests of operations (a); 1 late"), sanitizer.summary(found, 2)
PY
check "a pack is of other sources where those of what it holds have changed, not where other tests have" python3 - <<'PY'
import os, pathlib, sys
sys.path.insert(0, os.environ["SOURCE"] + "/tools/on_gpu")
sys.dont_write_bytecode = True
import pack
root = pathlib.Path("sources").resolve()
def write(path, text="text"):
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_text(text)
    return pack.fingerprint(root)
last = pack.fingerprint(root)
for path in ("host/graph/net.c", "kernels/exp/exp_test.c", "kernels/exp/exp.cu", "plugins/losses/ce/plugin.json", "sdk/include/a.h",
             "tests/support/gradcheck.c", "tests/cuda/op_device.c", "tools/bench/pace/pace.c"):
    now = write(path)
    assert now != last, path
    last = now
for path in ("tests/unit/graph/net_test.c", "tests/cuda/standin/code.c", "plugins/losses/ce/ce_test.c", "plugins/losses/ce/pairs.json",
             "tools/bench/rows/mlp.json"):
    assert write(path) == last, path
PY
# Weights 1 and 2 have come to 1.1 and 2.1, here and there by another 0.002; a statistic has come further.
python3 - <<'PY'
import json, struct
for name, w in {"start": (1.0, 2.0, 5.0), "a": (1.1, 2.1, 9.0), "b": (1.102, 2.1, 9.5), "c": (float("nan"), 2.1, 9.0)}.items():
    at = {"model.fc.weight": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]},
          "model.norm.running_var": {"dtype": "F32", "shape": [1], "data_offsets": [8, 12]}}
    head = json.dumps(at).encode()
    open(f"{name}.safetensors", "wb").write(struct.pack("<Q", len(head)) + head + struct.pack("<3f", *w))
PY
near() { python3 "$SOURCE/tests/e2e/near_weights.py" "$1.safetensors" "$2.safetensors" "$3" start.safetensors "$4"; }
check "weights are near by a part of how far they have moved" near a b inf 0.02
check "which is told" grep -qx '0.0141 of how far they have moved' check.out
check "and no nearer" sh -c "! python3 '$SOURCE/tests/e2e/near_weights.py' a.safetensors b.safetensors inf start.safetensors 0.01"
check "nor is no number" sh -c "! python3 '$SOURCE/tests/e2e/near_weights.py' a.safetensors c.safetensors inf start.safetensors 1e9"
check "nor is it by itself, whatever comes after it" sh -c "! python3 '$SOURCE/tests/e2e/near_weights.py' a.safetensors c.safetensors 0.1"
# What only a real GPU can run is at least a run file that holds.
check "every row's command is one that tutti takes" python3 - <<'PY'
import os, subprocess, sys
source, tutti = os.environ["SOURCE"], os.environ["TUTTI"]
sys.path.insert(0, source + "/tools/on_gpu")
sys.dont_write_bytecode = True
import parity
import speed
def holds(row, *changes):
    words = [tutti, "validate", f"{source}/tools/bench/rows/{row}.json", "--plugin-path", os.path.dirname(tutti) + "/bench"]
    for change in changes:
        words += ["--set", change]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 0, (words, done.stdout, done.stderr)
for case in parity.PARITY:
    holds(case.row, f"precision={case.precision}", *case.changes, "optimizer.lr=0")
for row in speed.ROWS:
    holds(row.row, "precision=amp_bf16", f"train.batch_size={row.batch}", f"device={speed.device(row)}", *row.changes)
    assert not row.same or any(r.id == row.same for r in speed.ROWS), row.id
PY
# A GPU that fails in the middle: every stage has its turn, and the reason is told.
LD_LIBRARY_PATH= TUTTI_CUDA_STANDIN=fail_launch=9 python3 "$SOURCE/tools/gpu" --standin --from "$build" --output bad \
  --only first operations parity plugins mlp >bad.txt
check "a GPU that fails does not hide what comes after" test $? = 1 -a "$(grep -c ^WRONG bad.txt)" -ge 6
check "with the reason" grep -q '^WRONG the first run: .*unspecified launch failure' bad.txt
check "which the page of findings repeats" grep -q '^WRONG the first run: ' bad/findings.txt
finish
