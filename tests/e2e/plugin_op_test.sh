#!/usr/bin/env bash
# plugin_op_test.sh - an operation that a plugin brings trains like a built-in one, on the CPU and on a GPU.
. "$(dirname "$0")/lib.sh"
build=$(dirname "$TUTTI")
plugins="$build/tests/ops/plugins"
standin="$build/standin"
[ -d "$plugins" ] || skip_all "the plugin with an operation is not built"
train() { # train <folder> <device> <precision>
  rm -rf "$1" && mkdir "$1"
  # Adam's quotient would make much of gradients that are nearly 0.
  echo "{\"model\": {\"name\": \"softsign_mlp\"}, \"precision\": \"$3\", \"optimizer\": {\"name\": \"sgd\", \"lr\": 0.1}}" >members.json
  small_run | python3 "$e2e/small_run.py" members.json >"$1/run.json"
  LD_LIBRARY_PATH="$standin" TUTTI_CUDA_STANDIN=leaks=1 "$TUTTI" train "$1/run.json" --plugin-path "$plugins" \
    --device "$2" --duration 10ba --set "callbacks.0.folder=\"$1/saves\"" --set 'eval=[]'
}
check "it trains on the CPU" train cpu cpu fp32
check "and the same again" train again cpu fp32
check "to the same bits" python3 "$e2e/same_weights.py" "$(latest cpu)" "$(latest again)"
check "in bf16" train low cpu amp_bf16
check "near f32" python3 "$e2e/near_weights.py" "$(latest cpu)" "$(latest low)" 0.05
# plan <folder> <device>: the plan's steps, "softsign+affine" where two run as one, in plan.txt.
plan() {
  LD_LIBRARY_PATH="$standin" "$TUTTI" plan "$1/run.json" --plugin-path "$plugins" --device "$2" |
    grep -E '^ *[0-9]+ [a-z]' | awk '{print $2}' >plan.txt
}
has() { grep -qxF "$1" plan.txt || { cat plan.txt && false; }; } # has <step>
check "a plan on the CPU" plan cpu cpu
check "fuses it with what follows" has softsign+affine
check "and its gradient with what comes before" has affine+softsign_grad
if [ -d "$standin" ]; then
  check "it trains on a GPU" train gpu cuda fp32
  check "to nearly the same weights" python3 "$e2e/near_weights.py" "$(latest cpu)" "$(latest gpu)" 1e-4
  # NVRTC compiles its expression into the kernel of the group.
  check "a plan on a GPU" plan gpu cuda
  check "fuses it too" has softsign+affine
  check "and its gradient" has affine+softsign_grad
  alone() { TUTTI_CUDA_NVRTC=0 "$@"; } # as where NVRTC is missing
  check "without NVRTC it trains" alone train alone cuda fp32
  check "to the same bits" python3 "$e2e/same_weights.py" "$(latest gpu)" "$(latest alone)"
  check "in a step of its own" alone plan gpu cuda
  check "which it is" has softsign
  check "and its gradient" has softsign_grad
  why() { # why <text>: the plan says so
    TUTTI_CUDA_NVRTC=0 LD_LIBRARY_PATH="$standin" "$TUTTI" plan gpu/run.json --plugin-path "$plugins" --device cuda >whole.txt &&
      grep -qF "$1" whole.txt
  }
  check "with the reason" why "softsign [own kernel: not fused: NVRTC: nvrtcVersion failed]"
  require() {
    TUTTI_CUDA_NVRTC=0 LD_LIBRARY_PATH="$standin" "$TUTTI" train gpu/run.json --plugin-path "$plugins" --quiet --set name=strict \
      --set 'device={"name":"cuda","require":"libraries"}'
  }
  says "a run that wants libraries is refused" 1 \
    "tutti: body.softsign: softsign: device.require wants a library for it: not fused: NVRTC: nvrtcVersion failed" require
  check "in bf16 too" train gpu_low cuda amp_bf16
  check "near f32 there" python3 "$e2e/near_weights.py" "$(latest cpu)" "$(latest gpu_low)" 0.05
else
  skip "the stand-in is not built"
fi
finish
