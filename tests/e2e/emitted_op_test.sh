#!/usr/bin/env bash
# emitted_op_test.sh - an algorithm, a layer and a model emit the operation of another plugin by its name, and train to
# the weights that the host's own operations give.
. "$(dirname "$0")/lib.sh"
build=$(dirname "$TUTTI")
standin="$build/standin"
[ -d "$build/tests/ops/plugins" ] || skip_all "the plugin with an operation is not built"
[ -d "$build/tests/fixtures/softsigned/softsigned" ] || skip_all "the plugin that emits it is not built"
export TUTTI_ADD_PLUGIN_PATH="$build/tests/ops/plugins:$build/tests/fixtures/softsigned"
# What does not go through the algorithm: x / (1 + |x|) behind both layers, or a relu behind the first.
model() { echo "\"model\": {\"name\": \"softsigned_mlp\", \"behind\": \"$1\"}"; }
algorithm='"algorithms": [{"name": "softsigned"}]'
train() { # train <folder> <device> <members>
  rm -rf "$1" && mkdir "$1"
  # Adam's quotient would make much of gradients that are nearly 0.
  small_run "$3" | python3 "$e2e/small_run.py" <(echo '{"optimizer": {"name": "sgd", "lr": 0.5}, "eval": []}') >"$1/run.json"
  LD_LIBRARY_PATH="$standin" TUTTI_CUDA_STANDIN=leaks=1 "$TUTTI" train "$1/run.json" --device "$2" --duration 20ba \
    --set "callbacks.0.folder=\"$1/saves\""
}
near() { python3 "$e2e/near_weights.py" "$(latest "$1")" "$(latest "$2")" "$3"; } # near <folder> <folder> <part>
unlike() { near "$1" "$2" inf && ! near "$1" "$2" 0.05; }
check "a model trains with the host's operations" train built_in cpu "$(model built_in)"
check "and one that emits the plugin's" train operation cpu "$(model operation)"
check "to nearly the same weights" near built_in operation 1e-5
check "one without either" train plain cpu "$(model relu)"
check "does not" unlike built_in plain
check "an algorithm that emits it there" train algorithm cpu "$(model relu), $algorithm"
check "trains to those of the host's operations" near built_in algorithm 1e-5
check "and to the bits of the model that emits it" python3 "$e2e/same_weights.py" "$(latest operation)" "$(latest algorithm)"
# steps <folder> <device>: how many steps of the plan have the operation, and its gradient.
steps() {
  LD_LIBRARY_PATH="$standin" "$TUTTI" plan "$1/run.json" --device "$2" | grep -E '^ *[0-9]+ [a-z]' | awk '{print $2}' >plan.txt
  echo "$(tr + '\n' <plan.txt | grep -cx softsign) $(tr + '\n' <plan.txt | grep -cx softsign_grad)"
}
check "its plan has the operation twice" test "$(steps algorithm cpu)" = "2 2"
check "that of the host's operations has none" test "$(steps built_in cpu)" = "0 0"
same "with the algorithm" algorithm/run.json
if [ -d "$standin" ]; then
  check "it trains on a GPU" train gpu cuda "$(model relu), $algorithm"
  check "to nearly the same weights" near built_in gpu 1e-4
  check "by a plan that has it twice" test "$(steps gpu cuda)" = "2 2"
else
  skip "the stand-in is not built"
fi
finish
