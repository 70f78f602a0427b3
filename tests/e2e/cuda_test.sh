#!/usr/bin/env bash
# cuda_test.sh - a run on a GPU, as far as the stand-in for its runtime goes; what is said where there is none.
. "$(dirname "$0")/lib.sh"
standin="$(dirname "$TUTTI")/standin"
[ -d "$standin" ] || { echo "skipped: the stand-in is not built"; exit 77; }
small_run | sed 's/"callbacks": .*/"callbacks": []/' >run.json

gpu() { # gpu <settings> <command...>
  local settings=$1
  shift
  LD_LIBRARY_PATH="$standin" TUTTI_CUDA_STANDIN="$settings" "$@"
}
check "version tells of the GPU" sh -c "LD_LIBRARY_PATH='$standin' '$TUTTI' version | grep -qx 'cuda:0: Stand-in GPU'"
check "info tells its memory" sh -c "LD_LIBRARY_PATH='$standin' '$TUTTI' plugins info cuda | grep -qx '  0: Stand-in GPU, 2.0 GiB of 2.0 GiB free, kernels cuda, memory of its own, asynchronous'"
check "a run on the GPU, nothing leaks" gpu leaks=1 "$TUTTI" train run.json --device cuda --duration 4ba
export TUTTI_CUDA_TRACE=$PWD/trace
check "auto takes the GPU" gpu leaks=1 "$TUTTI" train run.json --duration 4ba
check "and replays segments as graphs" grep -q '^launch graph' trace
unset TUTTI_CUDA_TRACE
gpu "" "$TUTTI" plan run.json --device cuda >plan.txt
check "plan tells what a step takes" grep -qE '^  the plan of a step [0-9.]+ [KM]iB$' plan.txt
gpu memory=1500000 "$TUTTI" train run.json --device cuda --set train.batch_size=640 2>err.txt
check "a plan larger than the GPU is refused with its size" grep -qE \
  '^tutti: the training plan for inputs of .* needs [0-9.]+ [KM]iB, [0-9.]+ [KM]iB are available on Stand-in GPU; use a smaller microbatch_size$' err.txt
says "no driver" 2 'tutti: cuda: there is no NVIDIA driver, the runtime of CUDA 13.0 wants one' \
  gpu driver=0 "$TUTTI" train run.json --device cuda
says "not so many" 2 'tutti: there is no device 3, this machine has 1' \
  gpu devices=1 "$TUTTI" train run.json --device cuda:3
says "too old" 2 'tutti: cuda:0: Stand-in GPU has compute capability 7.0, want 8.0 or newer' \
  gpu capability=70 "$TUTTI" train run.json --device cuda
check "auto without one is the CPU" gpu devices=0 "$TUTTI" train run.json --duration 1ba
gpu fail_launch=50 "$TUTTI" train run.json --device cuda >out.txt 2>err.txt
check "a failure names what was launched last" \
  grep -qE '^tutti: cuda:0: unspecified launch failure \(cudaErrorLaunchFailure\); launched last: [a-z0-9_.]+.*: [a-z0-9_]+' err.txt
finish
