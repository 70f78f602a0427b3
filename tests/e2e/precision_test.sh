#!/usr/bin/env bash
# precision_test.sh - a run in each precision learns what fp32 learns, resumes to the very bytes, and keeps
# its checkpoint in f32; the loss scale of amp_fp16 goes along.
. "$(dirname "$0")/lib.sh"
latest() { ls "$1"/saves/*latest* 2>/dev/null | head -1; }

clip='"algorithms": [{"name": "gradient_clipping", "clipping_type": "norm", "clipping_threshold": 0.5}]'
for p in fp32 amp_bf16 amp_fp16 fp32_fast; do
  rm -rf a b && mkdir a b
  small_run "\"precision\": \"$p\", \"microbatch_size\": 40, $clip" | tee a/run.json >b/run.json
  (cd a && "$TUTTI" train run.json >out.txt 2>&1) || { cat a/out.txt; failures=$((failures + 1)); }
  (cd b && "$TUTTI" train run.json --set max_duration=13ba --set schedulers.0.t_max=3ep >out.txt 2>&1)
  (cd b && "$TUTTI" train run.json --resume auto >out.txt 2>&1) || { cat b/out.txt; failures=$((failures + 1)); }
  check "$p: resumed equals uninterrupted" python3 "$e2e/same_weights.py" "$(latest a)" "$(latest b)"
  check "$p: the checkpoint is f32" python3 - "$(latest a)" "$p" <<'PY'
import json, struct, sys
raw = open(sys.argv[1], "rb").read()
size = struct.unpack("<Q", raw[:8])[0]
header = json.loads(raw[8:8 + size])
header.pop("__metadata__")
for name, t in header.items():
    if name.startswith(("model.", "optimizer.")):
        assert t["dtype"] == "F32", (name, t)
scale = header.get("run.loss_scale")
assert (scale is not None) == (sys.argv[2] == "amp_fp16"), scale
if scale:
    at = 8 + size + scale["data_offsets"][0]
    assert struct.unpack("<2d", raw[at:at + 16])[0] >= 1.0
PY
  mv a "kept_$p"
done
accuracy() { grep -o 'test accuracy: [0-9.]*' "kept_$1/out.txt" | tail -1 | cut -d' ' -f3; }
for p in amp_bf16 amp_fp16 fp32_fast; do
  check "$p: learns as fp32 does ($(accuracy $p) and $(accuracy fp32))" \
    awk "BEGIN {exit !($(accuracy fp32) > 0.15 && $(accuracy $p) > $(accuracy fp32) - 0.1)}"
done
check "amp_bf16 is not fp32" test -n "$(python3 "$e2e/same_weights.py" "$(latest kept_fp32)" "$(latest kept_amp_bf16)" || echo differs)"

# Weights so large that gradients times 65536 are beyond f16: updates are left out and the scale is halved
# until they fit; a run that stops in between goes on with the scale it had.
rm -rf a b && mkdir a b
small_run '"precision": "amp_fp16", "loggers": [{"name": "console"}]' |
  sed 's/"lr": 0.01/"lr": 50/; s/"batch_size": 64/"batch_size": 4/; s/"samples": 640/"samples": 40/' |
  tee a/run.json >b/run.json
(cd a && "$TUTTI" train run.json >out.txt 2>&1)
check "an update that overflows is left out" \
  grep -q 'gradients of batch 1 are not finite: no update, the loss scale is now 32768' a/out.txt
check "until the scale fits" test "$(grep -c 'are not finite' a/out.txt)" -lt 16
(cd b && "$TUTTI" train run.json --set max_duration=3ba --set schedulers.0.t_max=3ep >out.txt 2>&1)
(cd b && "$TUTTI" train run.json --resume auto >out.txt 2>&1)
check "and resumed" python3 "$e2e/same_weights.py" "$(latest a)" "$(latest b)"
check "fp32_fast: the plan tells what has come of it" \
  sh -c '"$1" plan kept_fp32_fast/run.json | grep -Eq "^fp32_fast: [0-9]+ of [0-9]+ large products as three of bf16, the others in f32, which is faster here$"' sh "$TUTTI"
"$TUTTI" plan kept_amp_fp16/run.json >halves.txt
check "amp_fp16: the plan tells what is converted, as no CPU's products take F16" \
  grep -Eq '^ +[0-9]+ matmul( \[[^]]*\])? converted to f32 %[0-9]+ .*F16' halves.txt
check "fp32: nothing is" sh -c '! "$1" plan kept_fp32/run.json | grep "converted to f32"' sh "$TUTTI"
finish
