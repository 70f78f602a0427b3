#!/usr/bin/env bash
# focal_loss_test.sh - an algorithm with a loss of its own in whole runs: with gamma 0 it changes no byte, with
# more it trains, on the CPU and on the stand-in of a GPU, also beside algorithms that mix, weigh or penalise
# losses, and evaluation keeps the model's.
. "$(dirname "$0")/lib.sh"
standin="$(dirname "$TUTTI")/standin"

# train <folder> <algorithms> <device> <members>: a run of small_run with these.
train() {
  rm -rf "$1" && mkdir "$1"
  echo "{\"algorithms\": [$2]${4:+, $4}}" >members.json
  echo '{"max_duration": "20ba", "callbacks": [{"name": "checkpoint_saver", "folder": "saves", "interval": "20ba"}]}' >short.json
  small_run | python3 "$e2e/small_run.py" short.json members.json >"$1/run.json"
  LD_LIBRARY_PATH="$standin" TUTTI_CUDA_STANDIN=leaks=1 "$TUTTI" train "$1/run.json" --device "$3" >"$1/out.txt" 2>&1 ||
    { cat "$1/out.txt"; return 1; }
  cat "$1/out.txt"
}
# differ <a> <b>: their weights are not the same.
differ() { ! python3 "$e2e/same_weights.py" "$(latest "$1")" "$(latest "$2")"; }

check "a run without it" train plain '' cpu
check "one with gamma 0" train none '{"name": "focal_loss", "gamma": 0}' cpu
check "gamma 0 changes no byte" python3 "$e2e/same_weights.py" "$(latest plain)" "$(latest none)"
check "gamma 2 trains" train focal '{"name": "focal_loss"}' cpu
check "to other weights" differ plain focal
check "a number below 0 is refused" sh -c "! '$TUTTI' train focal/run.json --set algorithms.0.gamma=-1 2>said && grep -q 'gamma' said"
for beside in '{"name": "mixup", "interpolate_loss": true}' '{"name": "label_smoothing"}' '{"name": "gradient_penalty"}' \
  '{"name": "selective_backprop", "start": 0, "end": 1, "interrupt": 0}'; do
  check "beside $beside" train beside "{\"name\": \"focal_loss\"}, $beside" cpu
  check "it still counts" differ focal beside
done
if [ -e "$standin/libcudart.so.13" ]; then
  sgd='"optimizer": {"name": "sgd", "lr": 0.05}'
  check "with sgd" train cpu '{"name": "focal_loss"}' cpu "$sgd"
  check "on the stand-in" train gpu '{"name": "focal_loss"}' cuda "$sgd"
  check "nearly the same weights" python3 "$e2e/near_weights.py" "$(latest cpu)" "$(latest gpu)" 1e-4
else
  skip "the stand-in is not built"
fi
finish
