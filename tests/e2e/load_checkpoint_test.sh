#!/usr/bin/env bash
# load_checkpoint_test.sh - files that are loaded at events of a run: whole before it begins, weights at any time.
. "$(dirname "$0")/lib.sh"

small_run | sed 's/"interval": "1ba", "keep": 2/"interval": "10ba", "keep": -1/' >run.json
check "a run" "$TUTTI" train run.json --quiet
first=$work/saves/ep0-ba10.safetensors last=$work/saves/ep2-ba30.safetensors
load() { # load <settings>: the same run with the callback, its checkpoints in other/
  sed "s|\"callbacks\": \[|\"callbacks\": [{\"name\": \"load_checkpoint\", \"load_path\": $1}, |; s/\"folder\": \"saves\"/\"folder\": \"other\"/" run.json >load.json
  rm -rf other runs
}
for event in before_load after_load; do
  load "\"$first\", \"event\": \"$event\""
  check "a checkpoint at $event" "$TUTTI" train load.json --quiet
  check "and the run ends with the bits of the one that wrote it" python3 "$e2e/same_weights.py" "$last" other/ep2-ba30.safetensors
done
load "\"$first\", \"load_weights_only\": true"
check "weights alone" "$TUTTI" train load.json --quiet
check "leave the clock" test -e other/ep0-ba10.safetensors

# A run that is resumed goes on from its own checkpoint, whatever it began with.
for event in after_load fit_start; do
  load "\"$first\", \"load_weights_only\": true, \"event\": \"$event\""
  check "a run with weights at $event" "$TUTTI" train load.json --quiet
  cp other/ep2-ba30.safetensors want.safetensors
  rm other/ep2-ba30.safetensors other/*latest*
  check "goes on" "$TUTTI" train load.json --quiet --resume other/ep1-ba20.safetensors
  check "without them" python3 "$e2e/same_weights.py" want.safetensors other/ep2-ba30.safetensors
done

# Each evaluation is then the file's.
"$TUTTI" eval run.json --checkpoint "$last" --quiet >want.txt
load "\"$last\", \"load_weights_only\": true, \"event\": \"eval_start\""
"$TUTTI" train load.json --set max_duration=1ep >out.txt 2>err.txt
check "weights at eval_start" test -n "$(grep ^test want.txt)" -a "$(grep ^test want.txt)" = "$(grep ^test out.txt)"
load "\"$last\", \"load_weights_only\": true, \"event\": \"fit_start\", \"ignore_keys\": [\"model.nothing\"]"
"$TUTTI" train load.json --quiet --set max_duration=1ba >out.txt 2>err.txt
check "a pattern that nothing matches is told" grep -q 'has nothing like model.nothing, which' err.txt
load "\"$first\", \"load_weights_only\": true"
says "weights of another shape" 1 \
  "tutti: load_checkpoint on before_load: saves/ep0-ba10.safetensors: body.head.weight is F32 (10, 32), the model's is F32 (10, 16); 3 of this run's 4 weights do not fit, \"load_strict\": false takes the others" \
  "$TUTTI" train load.json --quiet --set model.hidden=[16]
check "stay when it is not strict" "$TUTTI" train load.json --quiet --set model.hidden=[16] --set callbacks.0.strict_model_weights=false --set max_duration=1ba
load "\"nowhere.safetensors\""
says "a file that is not there" 1 'tutti: load_checkpoint on before_load: nowhere.safetensors: cannot open the checkpoint: No such file or directory' "$TUTTI" train load.json --quiet
load "\"$first\", \"event\": \"epoch_start\""
says "a whole checkpoint when the run has begun" 2 \
  'load.json:20: callbacks[0]: load_checkpoint: at epoch_start the run has begun, so that weights alone can be loaded: set load_weights_only' "$TUTTI" validate load.json
finish
