#!/usr/bin/env bash
# settings_test.sh - settings: what plugins say against some, other spellings, and what surgery logs of its own.
. "$(dirname "$0")/lib.sh"
small_run >run.json
line=$(grep -n '"algorithms"' <(small_run '"algorithms": []') | cut -d: -f1)

# refused <what> <algorithms> <sentence>: validate and train alike, before anything is opened.
refused() {
  small_run "\"algorithms\": [$2]" >bad.json
  says "validate: $1" 2 "bad.json:$line: $3" "$TUTTI" validate bad.json
  says "train: $1" 2 "bad.json:$line: $3" "$TUTTI" train bad.json
}
refused "ema with only smoothing" '{"name": "ema", "smoothing": 0.9}' \
  'algorithms[0]: ema: half_life and smoothing are both set, want one; half_life is 1000ba unless it is null'
refused "a selection that ends before it starts" '{"name": "selective_backprop", "start": 0.9, "end": 0.5}' \
  'algorithms[0]: selective_backprop: start is 0.9 and end is 0.5, want start below end'
refused "an average that ends before it starts" '{"name": "swa", "swa_start": "0.9dur", "swa_end": "0.5dur"}' \
  'algorithms[0]: swa: swa_start is 0.9 and swa_end is 0.5, want a start of 0 or more and below the end'
refused "two that wrap the optimizer" '{"name": "sam"}, {"name": "sam", "id": "again"}' \
  'algorithms[1]: again and sam at line '"$line"' both wrap the optimizer, want one of them'
refused "images that grow for longer than the run" '{"name": "progressive_resizing", "delay_fraction": 0.9, "finetune_fraction": 0.2}' \
  'algorithms[0]: progressive_resizing: delay_fraction 0.9 and finetune_fraction 0.2 together are more than 1'

# Spellings of other sources of recipes.
good() {
  small_run "\"algorithms\": [$2]" >good.json
  check "$1" "$TUTTI" validate good.json
}
good "a share of the run as a number" '{"name": "stochastic_depth", "target_layer_name": "basic_block", "drop_warmup": 0.1}'
good "a cosine by its name" '{"name": "swa", "anneal_strategy": "cosine"}'
good "true and false as choices" '{"name": "colout", "resize_target": true}'
good "columns by number" '{"name": "mixup", "input_key": 0, "target_key": 1}'
good "columns by name" '{"name": "cutmix", "input_key": "input", "target_key": "target"}'
refused "a share that is none" '{"name": "stochastic_depth", "target_layer_name": "basic_block", "drop_warmup": "3ba"}' \
  'algorithms[0].drop_warmup: is "3ba", want a share of the run such as 0.1 or "0.1dur"'
refused "a column that cannot be" '{"name": "mixup", "input_key": -1}' \
  'algorithms[0].input_key: is -1, want a column'\''s name or number'

# A number for a list of equal ones: 20 by 20 pixels, which the first layer of 10 units reads.
sized() {
  small_run '"callbacks": []' | python3 "$e2e/small_run.py" <(cat <<JSON
{"name": "sized", "max_duration": "1ba", "eval": [], "model": {"name": "mlp", "hidden": [10]},
 "train": {"dataset": {"name": "glyphs", "samples": 64}, "transforms": [{"name": "resize", "size": $1}, {"name": "to_float"}], "batch_size": 64}}
JSON
  ) >sized.json
}
sized 20
check "a number for both sides" eval '"$TUTTI" train sized.json >sized.txt && grep -q "mlp, $((20 * 20 * 10 + 10 + 10 * 10 + 10)) parameters" sized.txt'
sized 0
says "which is judged as an item" 2 'sized.json:18: train.transforms[0].size: is 0, want an integer of at least 1 and of at most 16384' \
  "$TUTTI" validate sized.json
sized '"20"'
says "and named where it was meant" 2 'sized.json:18: train.transforms[0].size: is "20", want a list of 1 to 2 items, each an integer of at least 1 and of at most 16384, or a number that stands for 2 (pixels)' \
  "$TUTTI" validate sized.json
check "plugins info tells it" eval '"$TUTTI" plugins info resize >info.txt && grep -q "size (list, pixels, .*scalar 2" info.txt'

# By number or by name, a run does the same.
for keys in '' ', "input_key": 0, "target_key": 1'; do
  small_run '"algorithms": [{"name": "mixup"'"$keys"'}]' >mix.json
  rm -rf saves; "$TUTTI" train mix.json --set max_duration=4ba >mix.out 2>&1 || cat mix.out
  cp "$(latest .)" "keys$((n = ${n:-0} + 1)).safetensors"
done
check "keys change nothing" python3 "$e2e/same_weights.py" keys1.safetensors keys2.safetensors

refused "targets of samples that cannot be resized" '{"name": "colout", "batch": false, "resize_target": "some"}' \
  'algorithms[0].resize_target: is "some", want "auto", "true" or "false"'
rm -rf saves
# What is no algorithm but a transform or a stand-in for the model, and colout of samples.
stands() {
  rm -rf x y && mkdir x y
  small_run "\"algorithms\": [$2]" >x/run.json
  small_run '' | sed "$3" >y/run.json
  for run in x y; do
    (cd $run && "$TUTTI" train run.json --set max_duration=3ba --set 'model={"name": "'"${4:-cnn}"'"}' --set eval=[] >out.txt 2>&1) || cat $run/out.txt
  done
  check "$1" python3 "$e2e/same_weights.py" "$(latest x)" "$(latest y)"
}
stands "augmix among algorithms" '{"name": "augmix"}' '0,/"transforms": \[/s//&{"name": "augmix"}, /'
stands "randaugment among algorithms" '{"name": "randaugment", "depth": 1}' '0,/"transforms": \[/s//&{"name": "randaugment", "depth": 1}, /'
stands "colout of samples" '{"name": "colout", "p_row": 0.2, "resize_target": false, "batch": false}' '0,/"transforms": \[/s//&{"name": "colout_transform", "p_row": 0.2, "resize_target": false}, /'
# Transforms that change a share of the samples: which ones is no matter of threads.
small_run '' | sed '0,/"transforms": \[/s//&{"name": "gaussian_noise", "p": 0.3}, {"name": "color_jitter", "brightness": 0.4, "p": 0.3}, {"name": "gaussian_blur", "p": 0.3}, /' >shares.json
shares() { # file, what train gets
  rm -rf saves; "$TUTTI" train shares.json --set max_duration=3ba --set eval=[] "${@:2}" >share.out 2>&1 || cat share.out
  cp "$(latest .)" "$1"
}
shares one.safetensors --set train.workers=1
shares three.safetensors --set train.workers=3
shares all.safetensors --set train.transforms.0.p=1
check "the same share of samples is changed by one worker and by three" python3 "$e2e/same_weights.py" one.safetensors three.safetensors
check "which is not all" eval '! python3 "$e2e/same_weights.py" one.safetensors all.safetensors'
rm -rf saves
small_run '"algorithms": [{"name": "no_op_model"}], "loggers": [{"name": "jsonl"}]' >noop.json
rm -rf saves
check "no_op_model among algorithms" "$TUTTI" train noop.json --set name=noop --set max_duration=2ba --set eval=[]
check "takes the model's place" python3 - <<PY
import sys
sys.path.insert(0, "$e2e")
from checkpoint import tensors
names = [k for k in tensors("$(latest .)") if k.startswith("model.")]
assert names == ["model.weight"], names
PY
rm -rf saves

# What is said on INIT reaches the loggers.
small_run '"model": {"name": "cnn", "channels": [8, 16]}, "max_duration": "1ba", "loggers": [{"name": "jsonl"}, {"name": "file"}], "algorithms": [{"name": "blurpool", "min_channels": 1}, {"name": "squeeze_excite"}]' >log.json
python3 "$e2e/small_run.py" <log.json >one.json
check "a run with surgery" "$TUTTI" train one.json --set name=logged
check "its numbers are in the lines" grep -q '"blurpool/num_blurpool_layers":[1-9]' runs/logged/log.jsonl
check "and in the text" grep -q 'blurpool/num_blurpool_layers: [1-9]' runs/logged/log.txt
check "so are its warnings" grep -q '"component":"squeeze_excite","text":"squeeze_excite has no effect' runs/logged/log.jsonl
finish
