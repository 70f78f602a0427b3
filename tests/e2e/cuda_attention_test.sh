#!/usr/bin/env bash
# cuda_attention_test.sh - a GPT with dropout in its attention on a GPU, as far as the stand-ins go: by cuDNN and
# by kernels of our own the same probabilities are left out as on the CPU, forward and backward.
. "$(dirname "$0")/lib.sh"
standin="$(dirname "$TUTTI")/standin"
[ -d "$standin" ] || skip_all "the stand-in is not built"
for ((k = 0; k < 90; k++)); do
  echo "the king loves rome, the fool mocks paris $((k * 7 % 10))."
done >play.txt
cat >gpt.json <<'JSON'
{
  "name": "gpt",
  "seed": 5,
  "model": {"name": "gpt2", "n_layer": 1, "n_head": 1, "n_embd": 16, "dropout": 0.2},
  "train": {
    "dataset": {"name": "text", "path": "play.txt", "vocabulary": "chars", "length": 256, "stride": 128, "split": "train"},
    "batch_size": 2
  },
  "optimizer": {"name": "sgd", "lr": 0.5},
  "callbacks": [{"name": "checkpoint_saver", "folder": "saves", "interval": "1dur"}],
  "precision": "amp_bf16",
  "max_duration": "3ba",
  "threads": 1
}
JSON
train() { # train <folder> <device> [<variable=value>...]
  local folder=$1 device=$2
  shift 2
  mkdir "$folder" && cp gpt.json "$folder/run.json"
  (cd "$folder" && env LD_LIBRARY_PATH="$standin" TUTTI_CUDA_STANDIN=leaks=1 TUTTI_CUDA_TRACE="$PWD/trace" "$@" \
    "$TUTTI" train run.json --device "$device" --set "train.dataset.path=$work/play.txt")
}
check "on the CPU" train cpu cpu
check "on the GPU" train cuda cuda
check "by kernels of our own" train own cuda TUTTI_CUDA_LIBRARIES=0
# forward and backward of three steps, of which the third is a graph
check "cuDNN's attention gets a mask" test "$(grep -c '^launch sdpa_mask ' cuda/trace)" = 6
check "which our own do without" sh -c "! grep -q '^launch sdpa_mask ' own/trace && grep -q '^launch sdpa_by_query_bf16_64' own/trace"
for folder in cuda own; do
  check "weights of '$folder' are near the CPU's" python3 "$e2e/near_weights.py" "$(latest cpu)" "$(latest $folder)" 0.02
done

# The loss and its gradient for the logits come of one kernel.
for folder in cuda own; do
  check "'$folder' launches one kernel for the loss and its gradient" \
    test "$(grep -oE '^launch softmax_cross_entropy\w*' $folder/trace | sort | uniq -c | xargs)" = "3 launch softmax_cross_entropy_and_grad_rows"
done
losses() { # losses <device>: what the plan has of them
  LD_LIBRARY_PATH="$standin" "$TUTTI" plan gpt.json --device "$1" | grep -oE 'softmax_cross_entropy\w*\(' | sort -u | xargs
}
check "so the plan of the GPU has it" test "$(losses cuda)" = "softmax_cross_entropy_and_grad("
check "the CPU's has two operations" test "$(losses cpu)" = "softmax_cross_entropy( softmax_cross_entropy_grad("

# A layer norm stores the 16 bits that a product reads, and its gradient reads those of a product.
norms() { # norms <device>: what the plan has of them
  LD_LIBRARY_PATH="$standin" "$TUTTI" plan gpt.json --device "$1" | grep -E '^ +[0-9]+ layer_norm' >"norms.$1"
}
check "the plan of the GPU" norms cuda
check "has norms that store 16 bits" test "$(grep -cE 'layer_norm .*F32 .* -> %[0-9]+ BF16' norms.cuda)" -ge 3
check "and no others" sh -c "! grep -qE 'layer_norm .* -> %[0-9]+ F32' norms.cuda"
check "and gradients that read them" test "$(grep -cE 'layer_norm_grad(_cast)? %[0-9]+ F32 \S+ \S+ \S+ at \S+ %[0-9]+ BF16' norms.cuda)" = 3
check "and give F32" test "$(grep -cE 'layer_norm_grad(_cast)? .* -> %[0-9]+ F32' norms.cuda)" = 3
check "and 16 bits beside it, where a product reads them" test "$(grep -cE 'layer_norm_grad_cast .* F32 .* -> .* BF16 ' norms.cuda)" = 2
check "the plan of the CPU" norms cpu
check "has norms that store 16 bits too" test "$(grep -cE 'layer_norm .*F32 .* -> %[0-9]+ BF16' norms.cpu)" = 3
check "and gradients that read F32, of products with F32 weights" test "$(grep -cE 'layer_norm_grad(_cast)? %[0-9]+ F32 \S+ \S+ \S+ at \S+ %[0-9]+ F32' norms.cpu)" = 3
check "and give 16 bits beside it" test "$(grep -cE 'layer_norm_grad_cast .* F32 .* -> .* BF16 ' norms.cpu)" = 2

# Which is faster is measured once and kept, forward and backward each by itself.
sed -i 's/"n_embd": 16, "dropout": 0.2/"n_embd": 8, "dropout": 0.2/; s/"batch_size": 2/"batch_size": 1/; s/"3ba"/"1ba"/' gpt.json
masks() { # masks <folder>: how many cuDNN was given in a step
  train "$1" cuda TUTTI_TUNE=1 XDG_CACHE_HOME="$work/cache" >/dev/null || return 1
  grep -c '^launch sdpa_mask ' "$1/trace"
}
check "algorithms are measured" test "$(masks first)" -gt 2
check "and kept" test "$(grep -cP ': sdpa (forward|gradient) .*\t(own|cudnn)$' cache/tutti/kernels)" = 2
sed -i '/: sdpa/s/\t.*/\town/' cache/tutti/kernels
check "what is kept is what is done" test "$(masks by_own)" = 0
sed -i '/: sdpa gradient/s/\t.*/\tcudnn/' cache/tutti/kernels
check "also one by cuDNN and one by our own" test "$(masks by_both)" = 1
sed -i 's/"seed": 5,/"seed": 5, "deterministic": "machine",/' gpt.json
check "but not where new runs are to have the same bits" test "$(masks machine)" = 2
rm cache/tutti/kernels
check "for which nothing is measured" test "$(masks anew)" = 2 -a ! -e cache/tutti/kernels
finish
