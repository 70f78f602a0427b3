#!/usr/bin/env bash
# device_flags_test.sh - what a plugin's device says that its kernels do: plans made for it, and the same training.
. "$(dirname "$0")/lib.sh"
shadow="$(dirname "$TUTTI")/tests/devices/plugins"
[ -d "$shadow" ] || skip_all "the shadow device is not built"
seq 1 400 >corpus.txt
cat >mlp.json <<'JSON'
{"model": {"name": "mlp", "hidden": [32, 32], "dropout": 0}, "microbatch_size": 24, "eval": [], "max_duration": "6ba"}
JSON
cat >llama.json <<'JSON'
{"model": {"name": "llama", "hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 1,
           "num_attention_heads": 2, "num_key_value_heads": 2},
 "train": {"dataset": {"name": "text", "path": "../corpus.txt", "length": 16}, "batch_size": 8, "workers": 1},
 "microbatch_size": 4, "eval": [], "max_duration": "6ba"}
JSON

# run_on <folder> <model> <device>: a run there; steps of its plan, "silu+mul" where two run as one, in <folder>.plan.
run_on() {
  rm -rf "$1" && mkdir "$1"
  echo "{\"device\": $3}" >device.json
  small_run | python3 "$e2e/small_run.py" "$2.json" device.json >"$1/run.json"
  (cd "$1" && "$TUTTI" plan run.json --plugin-path "$shadow") >"$1.txt" || return
  awk '$1 ~ /^[0-9]+$/ {print $2}' "$1.txt" >"$1.plan"
  (cd "$1" && "$TUTTI" train run.json --quiet --plugin-path "$shadow")
}
count() { grep -cxE -- "$2" "$1.plan"; } # count <folder> <steps>

# flag <name> <model> <without> <its steps> <steps that become them>: a run with this flag, and one without.
flag() {
  check "$1: a run" run_on "$1" "$2" "{\"name\": \"shadow\", \"$1\": true}"
  check "$1: its plan has $4" [ "$(count "$1" "$4")" -gt 0 ]
  check "$1: without it there are none" [ "$(count "$3" "$4")" -eq 0 ]
  check "$1: but more $5" [ "$(count "$3" "$5")" -gt "$(count "$1" "$5")" ]
}

for model in mlp llama; do
  check "$model on the CPU" run_on ${model}_cpu $model '"cpu"'
  check "$model on a device that says nothing" run_on $model $model '{"name": "shadow"}'
  check "with the CPU's steps" cmp ${model}_cpu.plan $model.plan
  check "and its weights" python3 "$e2e/same_weights.py" "$(latest ${model}_cpu)" "$(latest $model)"
done
check "llama on one with a kernel of its own" run_on own llama '{"name": "shadow", "own_relu": true}'

flag adds llama llama matmul_add 'matmul|add'
flag groups llama own '[a-z]+(\+[a-z]+)+' 'silu|mul'
for name in adds groups own; do
  check "$name: the CPU's weights" python3 "$e2e/same_weights.py" "$(latest llama_cpu)" "$(latest $name)"
done
flag masks mlp mlp 'matmul_relu|matmul_relu_grad' 'matmul|matmul_act_grad'
flag loss_grads mlp mlp softmax_cross_entropy_and_grad 'softmax_cross_entropy|softmax_cross_entropy_grad'
for name in masks loss_grads; do
  check "$name: the CPU's weights" python3 "$e2e/same_weights.py" "$(latest mlp_cpu)" "$(latest $name)"
done
# The order of the sums is the product's.
flag sums mlp mlp matmul_bias_grad sum_to
check "sums: nearly the CPU's weights" python3 "$e2e/near_weights.py" "$(latest mlp_cpu)" "$(latest sums)" 1e-5

all='"adds": true, "sums": true, "masks": true, "halves": true, "half_results": true, "loss_grads": true'
# Adam's quotient would make much of gradients that are nearly 0.
sed -i 's/^{/{"precision": "amp_bf16", "optimizer": {"name": "sgd", "lr": 0.1}, /' mlp.json
check "mixed precision on the CPU" run_on low_cpu mlp '"cpu"'
check "on a device that says all at once" run_on low mlp "{\"name\": \"shadow\", $all}"
check "nearly the same weights" python3 "$e2e/near_weights.py" "$(latest low_cpu)" "$(latest low)" 1e-2
finish
