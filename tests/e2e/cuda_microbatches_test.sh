#!/usr/bin/env bash
# cuda_microbatches_test.sh - gradients that are added up where they are made, on the stand-in of a GPU.
. "$(dirname "$0")/lib.sh"
standin="$(dirname "$TUTTI")/standin"
[ -d "$standin" ] || skip_all "the stand-in is not built"
for k in $(seq 64); do echo "what is $k and what is $((k * k % 97)) and why"; done >words.txt
glyphs='{"name": "glyphs", "samples": 24}'

# trains <what> <model> <dataset> <precision> <part>: three microbatches, the last one smaller, to weights as the CPU's.
trains() {
  local what=$1
  for device in cpu cuda; do
    rm -rf $device && mkdir $device
    cat >$device/run.json <<END
{"name": "$device", "seed": 3, "model": $2,
 "train": {"dataset": $3, "transforms": ${6:-[]}, "batch_size": 8, "workers": 1},
 "microbatch_size": 3, "precision": "$4", "max_duration": "3ba",
 "optimizer": {"name": "sgd", "lr": 0.05, "momentum": 0.9},
 "callbacks": [{"name": "checkpoint_saver", "folder": "saves", "interval": "1dur"}]}
END
    (cd $device && LD_LIBRARY_PATH="$standin" TUTTI_CUDA_STANDIN=leaks=1 TUTTI_CUDA_TRACE=$PWD/trace \
      "$TUTTI" train run.json --device $device >out.txt 2>&1) || cat $device/out.txt
  done
  check "$what: weights as on the CPU" python3 "$e2e/near_weights.py" "$(latest cpu)" "$(latest cuda)" "$5"
  check "$what: no launch adds gradients" sh -c "! grep -q '^launch own_add' cuda/trace"
}
normal='[{"name": "normalize", "mean": [0.13], "std": [0.31]}]'
trains mlp '{"name": "mlp", "hidden": [16]}' "$glyphs" fp32 1e-5 "$normal"
check "with masks of the library's" sh -c "grep -q 'epilogue 136' cuda/trace && ! grep -q matmul_relu_mask_cuda cuda/trace"
TUTTI_CUDA_MASKS=1 trains "mlp, where the library has its bits elsewhere" '{"name": "mlp", "hidden": [16]}' "$glyphs" fp32 1e-5 "$normal"
check "with masks of ours" sh -c "! grep -q 'epilogue 136' cuda/trace && grep -q matmul_relu_mask_cuda cuda/trace"
trains convolutions '{"name": "cnn", "channels": [8, 8]}' "$glyphs" fp32 1e-4 "$normal"
# A norm's bias begins at 0, so that its norm is that of three steps: 0.03 to 0.14 for seeds 1 to 6.
trains "convolutions in 16 bits" '{"name": "cnn", "channels": [8, 8]}' "$glyphs" amp_bf16 0.2 "$normal"
trains gpt '{"name": "gpt2", "n_layer": 1, "n_head": 2, "n_embd": 16}' \
  '{"name": "text", "path": "../words.txt", "length": 16}' fp32 1e-4
finish
