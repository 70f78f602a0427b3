#!/usr/bin/env bash
# resident_test.sh - data that is kept, in memory and on devices, gives the batches that it gives elsewhere.
. "$(dirname "$0")/lib.sh"
shadow="$(dirname "$TUTTI")/tests/devices/plugins"
standin="$(dirname "$TUTTI")/standin"
cat >members.json <<'JSON'
{"train": {"dataset": {"name": "glyphs", "samples": 200},
           "transforms": [{"name": "center_crop", "size": [30, 26]}, {"name": "random_crop", "padding": 3, "mode": "reflect"},
                          {"name": "random_crop", "padding": 2}, {"name": "random_flip"},
                          {"name": "color_jitter", "brightness": 0.4, "contrast": 0.4, "saturation": 0.2, "hue": 0.1},
                          {"name": "normalize", "mean": [0.13], "std": [0.31]}],
           "batch_size": 64, "workers": 2, "drop_last": false, "metrics": [{"name": "accuracy"}]},
 "eval": [{"label": "test", "dataset": {"name": "glyphs", "samples": 70, "split": "test"}, "batch_size": 50,
           "transforms": [{"name": "center_crop", "size": [30, 26]}, {"name": "to_float", "max": 2}, {"name": "normalize", "mean": [0.2], "std": [0.3]}],
           "metrics": [{"name": "accuracy"}, {"name": "cross_entropy"}]}],
 "microbatch_size": 24, "max_duration": "3ep",
 "loggers": [{"name": "jsonl", "filename": "log.jsonl"}],
 "callbacks": [{"name": "checkpoint_saver", "folder": "saves", "interval": "5ba", "keep": -1}]}
JSON
small_run | python3 "$e2e/small_run.py" members.json >run.json
kept=(--set train.resident=true --set eval.0.resident=true)

# train <folder> <what train gets>: one training there.
train() {
  rm -rf "$1" && mkdir "$1" && cp run.json "$1/"
  check "a run in $1" sh -c 'cd "$1" && shift && "$@" 2>out.txt || { cat out.txt; false; }' - "$1" "$TUTTI" train run.json --plugin-path "$shadow" "${@:2}"
}
# Which plugins have looked at copies.
lookers() { sed -n 's/^tutti: train: \([a-z_]*\) looks at .*/\1/p' "$1/out.txt" | tr '\n' ' '; }
# Metrics and losses that the run in folder $1 has logged.
numbers() { grep -ho '"\(metrics\|loss\)/[^,}]*' "$1/log.jsonl"; }
equal() {
  check "$2 ends with the weights of $1" python3 "$e2e/same_weights.py" "$(latest "$1")" "$(latest "$2")"
  numbers "$1" >one.txt
  numbers "$2" >two.txt
  check "and logs its numbers" sh -c 'test -s one.txt && cmp one.txt two.txt'
}
train cpu
train cpu_kept "${kept[@]}"
equal cpu cpu_kept
train cpu_resumed "${kept[@]}" --resume "$(ls "$work"/cpu/saves/*-ba5.*)"
check "kept and resumed in the middle of an epoch" python3 "$e2e/same_weights.py" "$(latest cpu)" "$(latest cpu_resumed)"

if [ -d "$shadow" ]; then
  train device --device shadow
  train device_kept --device shadow "${kept[@]}"
  equal device device_kept
  check "and with those of the CPU" python3 "$e2e/same_weights.py" "$(latest cpu)" "$(latest device_kept)"
  train device_resumed --device shadow "${kept[@]}" --resume "$(ls "$work"/cpu/saves/*-ba5.*)"
  check "the device, resumed" python3 "$e2e/same_weights.py" "$(latest cpu)" "$(latest device_resumed)"

  # Algorithms that change the batch where it is.
  mixed='algorithms=[{"name": "cutout", "length": 0.3}, {"name": "mixup"}, {"name": "label_smoothing"}]'
  train cpu_mixed --set "$mixed" --set train.metrics=[]
  train device_mixed --device shadow "${kept[@]}" --set "$mixed" --set train.metrics=[]
  equal cpu_mixed device_mixed
  check "nothing but metrics looks at copies" test "$(lookers device_mixed)" = ""

  resized='train.transforms=[{"name": "random_resized_crop", "size": [28]}, {"name": "normalize", "mean": [0.1], "std": [0.3]}]'
  says "no kernels" 2 'tutti: train: resident is true, but transform random_resized_crop has no kernels' \
    "$TUTTI" train run.json --device shadow --plugin-path "$shadow" "${kept[@]}" --set "$resized"
  train auto --device shadow --set train.resident=auto --set eval=[] --set "$resized" --duration 1ba
  check "auto says so and goes on" grep -q \
    '"train: samples are read batch by batch: transform random_resized_crop has no kernels"' auto/log.jsonl
  says "too large" 2 'tutti: train: resident is true, but its samples take 2.3 MiB, 1.0 MiB are free on shadow 0' \
    "$TUTTI" train run.json --plugin-path "$shadow" "${kept[@]}" --set train.dataset.samples=3000 \
    --set 'device={"name": "shadow", "megabytes": 1}'
fi
if [ -e "$standin/libcudart.so.13" ]; then
  export LD_LIBRARY_PATH="$standin"
  train gpu --device cuda --duration 6ba
  TUTTI_CUDA_TRACE="$work/trace" train gpu_kept --device cuda --duration 6ba "${kept[@]}"
  check "of a batch its numbers alone come from the host" test \
    "$(sed -n '/^launch graph/,$s/^copy \([0-9]*\) bytes host .*/\1/p' trace | awk '$1 > 512' | tr '\n' ' ')" = "54880 "
  equal gpu gpu_kept
fi
finish
