#!/usr/bin/env bash
# frozen_resume_test.sh - a weight that was frozen stays so on resume, though its group has gone: it has no optimizer state.
. "$(dirname "$0")/lib.sh"

small_run '"x-note": 1' | sed 's/"lr": 0.01}/"lr": 0.01, "groups": [{"match": "*.bias", "frozen": true}]}/' >run.json
check "a run with a frozen group" "$TUTTI" train run.json --quiet --set max_duration=1ep
cp "$(latest .)" before
says "without the group it goes on, and says so" 0 \
  "tutti: train: $(basename "$(readlink -f "$(latest .)")" | sed 's|^|saves/|'): was written with other settings: optimizer.groups was [{\"match\":\"*.bias\",\"frozen\":true}], is []" \
  "$TUTTI" train run.json --quiet --resume auto --set max_duration=2ep --set optimizer.groups=[]
check "what was frozen is as it was, the rest has moved" python3 - "$e2e" before "$(latest .)" <<'PY'
import sys
sys.path.insert(0, sys.argv[1])
from checkpoint import tensors
a, b = tensors(sys.argv[2]), tensors(sys.argv[3])
names = [k for k in a if k in b and k.startswith("model.")]
same = {k for k in names if a[k] == b[k]}
frozen = {k for k in names if k.endswith("bias")}
assert frozen and same == frozen, (sorted(same), sorted(frozen))
PY
finish
