#!/usr/bin/env bash
# gradient_penalty_test.sh - gradients of gradients in whole runs: a step of a penalised perceptron, of a
# convolutional net and of a GPT against differences of plain steps; the first two trained.
. "$(dirname "$0")/lib.sh"

images='"dataset": {"name": "glyphs", "samples": 64}, "batch_size": 64,
  "transforms": [{"name": "normalize", "mean": [0.13], "std": [0.31]}]'
train=$images

# one_batch <model> <rate> <members>: a run whose every batch is the same, saved after each.
one_batch() {
  cat <<JSON
{"name": "one", "seed": 3, "model": $1,
 "train": {$train, "shuffle": false},
 "optimizer": {"name": "sgd", "lr": $2}, "max_duration": "2ba", "threads": 2,
 "callbacks": [{"name": "checkpoint_saver", "folder": "saves", "interval": "1ba", "keep": -1}]
 ${3:+, $3}}
JSON
}

# step <folder> <model> <rate> <members>: trains there.
step() {
  rm -rf "$1" && mkdir "$1" && one_batch "${@:2}" >"$1/run.json"
  check "a step: $1" bash -c "cd '$1' && '$TUTTI' train run.json"
}

# second_order <name> <model> <rate> <tolerance>: small rates lose the difference in the rounding of weights,
# large ones have more terms; the tolerance is about twice what is left in between.
second_order() {
  local name=$1 model=$2 rate=$3 tolerance=$4
  local penalty='"name": "gradient_penalty", "of": "weights", "weight"'
  step still "$model" 0
  step plain "$model" "$rate"
  step none "$model" "$rate" "\"algorithms\": [{$penalty: 0}]"
  step penalised "$model" "$rate" "\"algorithms\": [{$penalty: 1}]"
  check "$name: a weight of 0 changes no byte" python3 "$e2e/same_weights.py" "$(ls plain/saves/*-ba2.*)" "$(ls none/saves/*-ba2.*)"
  check "$name: the penalty's gradient is H g" python3 "$e2e/second_order.py" "$tolerance" 1 "$rate" \
    "$(ls still/saves/*-ba1.*)" "$(ls plain/saves/*-ba1.*)" "$(ls plain/saves/*-ba2.*)" "$(ls penalised/saves/*-ba1.*)"
}
second_order "mlp" '{"name": "mlp", "hidden": [24], "activation": "tanh"}' 0.002 0.04
# One block: a maximum between two has kinks that a step of any length crosses.
second_order "cnn" '{"name": "cnn", "channels": [6], "activation": "tanh"}' 0.05 0.06
echo "a gradient of a gradient is a gradient too" >text.txt
train='"dataset": {"name": "text", "path": "'$PWD'/text.txt", "length": 8}, "batch_size": 5'
second_order "gpt2" '{"name": "gpt2", "n_layer": 1, "n_head": 2, "n_embd": 8}' 0.0005 0.07
train=$images

# trains <model> <of> <epochs> <accuracy>: learns that much, though penalised.
trains() {
  rm -rf saves
  small_run "\"algorithms\": [{\"name\": \"gradient_penalty\", \"of\": \"$2\", \"weight\": 0.05}]" |
    sed "s/{\"name\": \"mlp\"[^}]*}/$1/; s/\"interval\": \"1ba\"/\"interval\": \"100ep\"/" >run.json
  "$TUTTI" train run.json --set max_duration="$3" >out.txt 2>&1
  cat out.txt
  awk -v least="$4" '/test accuracy/ {found = 1; exit !($3 > least)} END {if (!found) exit 1}' out.txt
}
for of in inputs weights; do
  check "mlp trains with a penalty of $of" trains '{"name": "mlp", "hidden": [32]}' $of 8ep 0.6
  check "cnn trains with a penalty of $of" trains '{"name": "cnn", "channels": [6, 8]}' $of 8ep 0.2
done
finish
