#!/usr/bin/env bash
# anywhere_test.sh - with "deterministic": "anywhere" runs compute the same bits at each level of the CPU, with any number of
# threads, built by gcc or by clang: those of a digest that is kept here.
. "$(dirname "$0")/lib.sh"
[ -z "$SANITIZE" ] || skip_all "sanitizers keep compilers from fusing products and sums, so that bits differ"
export TUTTI_TUNE=1 # other tests run beside this one
export XDG_CACHE_HOME=$work/cache

TUTTI_ISA=v3 "$TUTTI" version | grep -q 'v3' || skip_all "this CPU has no AVX2 and FMA"

# Data without a function of libm: bytes of a linear congruence.
python3 - <<'PY'
def numbers(n, x):
    out = bytearray()
    for _ in range(n):
        x = (x * 1664525 + 1013904223) % 2**32
        out.append(x >> 24)
    return bytes(out)
with open("images.bin", "wb") as f:
    for k in range(48):
        f.write(bytes([k * 7 % 10]) + numbers(3072, k))
with open("text.txt", "w", encoding="utf-8") as f:
    f.write("".join(chr(97 + b % 26) for b in numbers(4000, 5)))
for name, shape, values in ("pictures", (24, 16, 16, 3), numbers(18432, 3)), ("maps", (24, 16, 16), bytes(b % 3 for b in numbers(6144, 9))):
    head = f"{{'descr': '|u1', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    with open(name + ".npy", "wb") as f:
        f.write(b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head.encode() + values)
PY

# run_file <name> <model> <dataset> <batch_size> <more> <transforms>
run_file() {
  cat >"$1.json" <<JSON
{
  "name": "$1", "seed": 11, "deterministic": "anywhere", "model": $2,
  "train": {"dataset": $3, "transforms": [${6:-}], "batch_size": $4, "workers": 1},
  "optimizer": {"name": "adamw", "lr": 0.01},
  "max_duration": "3ba",
  "callbacks": [{"name": "checkpoint_saver", "folder": "saves", "interval": "1ba", "keep": -1}]
  $5
}
JSON
}
images='{"name": "cifar_bin", "path": "images.bin"}'
normal='{"name": "normalize", "mean": [0.5, 0.5, 0.5], "std": [0.25, 0.25, 0.25]}'
run_file mlp '{"name": "mlp", "hidden": [512, 64], "dropout": 0.1}' "$images" 12 '' "$normal"
run_file resnet_cifar '{"name": "resnet_cifar", "depth": 8}' "$images" 8 '' "$normal"
run_file gpt2 '{"name": "gpt2", "n_layer": 2, "n_head": 2, "n_embd": 64}' \
  '{"name": "text", "path": "text.txt", "vocabulary": "chars", "length": 96, "split": "train"}' 8 \
  ', "algorithms": [{"name": "gradient_clipping", "clipping_type": "norm", "clipping_threshold": 1.0}]'
run_file llama '{"name": "llama", "num_hidden_layers": 1, "num_attention_heads": 4, "num_key_value_heads": 2, "hidden_size": 64, "intermediate_size": 96}' \
  '{"name": "text", "path": "text.txt", "vocabulary": "chars", "length": 96, "split": "train"}' 8 ''
text='{"name": "text", "path": "text.txt", "vocabulary": "chars", "length": 96, "split": "train"}'
half=', "precision": "amp_bf16"'
run_file gpt2_bf16 '{"name": "gpt2", "n_layer": 1, "n_head": 2, "n_embd": 64, "dropout": 0.1}' "$text" 8 "$half"
run_file resnet_bf16 '{"name": "resnet_cifar", "depth": 8}' "$images" 8 "$half" "$normal"
run_file mlp_fp16 '{"name": "mlp", "hidden": [512, 64]}' "$images" 12 ', "precision": "amp_fp16"' "$normal"
run_file bert '{"name": "bert", "num_hidden_layers": 1, "num_attention_heads": 2, "hidden_size": 32, "dropout": 0.1}' "$text" 8 '' '{"name": "mask_tokens"}'
run_file vit '{"name": "vit", "patch_size": 8, "num_layers": 1, "num_heads": 2, "hidden_dim": 32, "dropout": 0.1}' "$images" 8 '' "$normal"
run_file resnet '{"name": "resnet", "depth": 50, "width": 4, "zero_init_residual": true}' "$images" 8 '' "$normal"
run_file cnn '{"name": "cnn", "channels": [8, 16], "activation": "gelu", "norm_groups": 4, "dropout": 0.1}' "$images" 8 '' "$normal"
run_file convnext '{"name": "convnext", "depths": [1, 1, 1, 1], "patch_size": 2, "hidden_sizes": [8, 8, 16, 16], "drop_path_rate": 0.1}' "$images" 8 '' "$normal"
run_file unet '{"name": "unet", "width": 4, "depth": 2}' '{"name": "npy", "inputs": "pictures.npy", "targets": "maps.npy", "classes": 3}' 8 '' "$normal"

# bits <run file> <arguments...>: of the weights that a run of it ends with.
bits() {
  local file=$1 folder
  shift
  folder=$(mktemp -d -p "$work")
  "$TUTTI" train "$file" --quiet --set callbacks.0.folder="$folder" "$@" >&2 && python3 "$e2e/digest.py" "$folder/ep0-ba3.safetensors"
}
# equal <what> <digest> <digest>
equal() { check "$1" test "$2" = "$3"; }

# Wherever and by whatever compiler this runs.  A glibc whose log, cos and pow round otherwise may draw other weights.
declare -A kept=([mlp]=c708f12af6427ce2 [resnet_cifar]=cb76ac61bb26ae8f [gpt2]=66581484698fbb62 [llama]=70c34235fd500c6f
  [gpt2_bf16]=c76b16ffb1953cd2 [resnet_bf16]=f70fea0e31d5b35b [mlp_fp16]=abc09c9e1ccecba5 [bert]=6ca29898be03ee57 [vit]=eea31d5b68af99fd [resnet]=ab8caccf24a70ad1 [cnn]=f93aebb1bf0afc34 [convnext]=faddaf2f0e80314f [unet]=570215505c3f402b)
for model in mlp resnet_cifar gpt2 llama; do
  equal "$model at the level of this CPU, by two threads" "$(bits $model.json --threads 2)" "${kept[$model]}"
done
for model in "${!kept[@]}"; do
  equal "$model with AVX2, by one" "$(TUTTI_ISA=v3 bits $model.json --threads 1)" "${kept[$model]}"
  equal "$model with AVX-512 where there is, by three" "$(TUTTI_ISA=v4 bits $model.json --threads 3)" "${kept[$model]}"
done
for model in gpt2_bf16 resnet_bf16; do
  equal "$model with units for bf16 where there are" "$(TUTTI_ISA=bf16 bits $model.json --threads 2)" "${kept[$model]}"
done
check "nothing is measured" test ! -e cache/tutti/kernels
"$TUTTI" plan gpt2.json >plan.txt 2>&1
check "a plan says which steps are reproducible" grep -q 'matmul.*\[reproducible\]' plan.txt
check "and what that costs, by operation" grep -Eq '^  matmul +[1-9][0-9]* steps +[0-9.]+ ms +[0-9.]+ ms +[0-9.]+ times$' plan.txt
check "and in all" grep -Eq '^  all +[1-9][0-9]* steps +[0-9.]+ ms +[0-9.]+ ms +[0-9.]+ times$' plan.txt
"$TUTTI" plan gpt2.json --set deterministic=run >plan.txt 2>&1
check "which the default does not say" bash -c "! grep -q ' times$' plan.txt"
"$TUTTI" explain gpt2.json >told.txt
check "the mode is explained" grep -q '^deterministic: anywhere: the same bits in every run with this seed on x86-64' told.txt

# A resume elsewhere: other threads, another level, no word about it.
mkdir whole
"$TUTTI" train gpt2.json --quiet --threads 2 --set callbacks.0.folder="$work/whole" >&2
TUTTI_ISA=v3 check "a run is repeated by other threads" "$TUTTI" train --repeat runs/gpt2 --quiet --set callbacks.0.folder="$work/again" --threads 1
check "and computes the same bits" python3 "$e2e/same_weights.py" whole/ep0-ba3.safetensors again/ep0-ba3.safetensors
(
  export TUTTI_ISA=v3
  says "a resume by other threads at another level says nothing" 0 "" \
    "$TUTTI" train gpt2.json --quiet --threads 3 --set callbacks.0.folder="$work/after" --resume whole/ep0-ba1.safetensors
  exit "$failures"
) || failures=$((failures + 1))
check "and gets the same bits" python3 "$e2e/same_weights.py" whole/ep0-ba3.safetensors after/ep0-ba3.safetensors
"$TUTTI" train gpt2.json --quiet --set callbacks.0.folder="$work/run" --set deterministic=run \
  --resume whole/ep0-ba1.safetensors >out.txt 2>err.txt
check "a resume by other kernels is refused" grep -q \
  '^tutti: whole/ep0-ba1.safetensors: was computed by kernels that compute the same bits anywhere, this is ' err.txt

# What cannot be.
TUTTI_ISA=base says "no AVX2" 2 \
  'tutti: deterministic is "anywhere", which wants an x86-64 CPU with AVX2 and FMA, and kernels here are for base' \
  "$TUTTI" train mlp.json --quiet
says "another device" 2 \
  'tutti: deterministic is "anywhere", which only the device cpu can do, and the device is shadow' \
  "$TUTTI" train mlp.json --quiet --device shadow --plugin-path "$(dirname "$TUTTI")/tests/devices/plugins"
sed 's/"model": {[^}]*}/"model": {"name": "softsign_mlp"}/' mlp.json >softsign.json
says "an operation of a plugin that promises nothing" 1 \
  'tutti: body.softsign: softsign: its kernel promises no equal bits on other CPUs, which "deterministic": "anywhere" wants; "machine" does without' \
  "$TUTTI" train softsign.json --quiet --plugin-path "$(dirname "$TUTTI")/tests/ops/plugins"
finish
