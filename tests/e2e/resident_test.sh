#!/usr/bin/env bash
# resident_test.sh - data that is kept, in memory and on devices, gives the batches that it gives elsewhere.
. "$(dirname "$0")/lib.sh"
shadow="$(dirname "$TUTTI")/tests/devices/plugins"
standin="$(dirname "$TUTTI")/standin"
# Pictures of noise in three colours, 14 x 13, of two classes.
python3 - <<'PY'
import random, struct
random.seed(4)
def npy(name, descr, shape, data):
    text = "{'descr': '%s', 'fortran_order': False, 'shape': %s, }" % (descr, shape)
    text += " " * (-(len(text) + 11) % 64) + "\n"
    with open(name, "wb") as f:
        f.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode() + data)
n = 200
labels = [k % 2 for k in range(n)]
npy("x.npy", "|u1", (n, 14, 13, 3), bytes(random.randrange(60 + 90 * c, 256) for c in labels for _ in range(14 * 13 * 3)))
npy("y.npy", "<i4", (n,), struct.pack("<%di" % n, *labels))
PY
cat >members.json <<JSON
{"train": {"dataset": {"name": "npy", "inputs": "$work/x.npy", "targets": "$work/y.npy"},
           "transforms": [{"name": "colout_transform", "p_row": 0.2}, {"name": "center_crop", "size": [12, 14]}, {"name": "random_crop", "padding": 3, "mode": "reflect"},
                          {"name": "random_resized_crop", "size": [14, 13]}, {"name": "random_crop", "padding": 2},
                          {"name": "resize", "size": [12, 14], "filter": "bicubic"}, {"name": "random_flip"}, {"name": "random_flip", "alternate": true},
                          {"name": "color_jitter", "brightness": 0.4, "contrast": 0.4, "saturation": 0.2, "hue": 0.1, "p": 0.7},
                          {"name": "normalize", "mean": [0.5, 0.4, 0.3], "std": [0.2, 0.3, 0.4]}],
           "batch_size": 64, "workers": 2, "drop_last": false, "metrics": [{"name": "accuracy"}]},
 "eval": [{"label": "test", "dataset": {"name": "npy", "inputs": "$work/x.npy", "targets": "$work/y.npy"}, "batch_size": 150,
           "transforms": [{"name": "center_crop", "size": [12, 14]}, {"name": "to_float", "max": 2}, {"name": "resize", "size": [9, 16]},
                          {"name": "resize", "size": [12, 14], "filter": "bicubic"}, {"name": "normalize", "mean": [0.2, 0.3, 0.4], "std": [0.3, 0.3, 0.3]}],
           "metrics": [{"name": "accuracy"}, {"name": "cross_entropy"}]}],
 "algorithms": [{"name": "augmix", "alpha": 0.7}, {"name": "randaugment", "depth": 3}], "microbatch_size": 24, "max_duration": "3ep",
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
  train device_resumed --device shadow --accept-different-bits "${kept[@]}" --resume "$(ls "$work"/cpu/saves/*-ba5.*)"
  check "the device, resumed" python3 "$e2e/same_weights.py" "$(latest cpu)" "$(latest device_resumed)"

  # Algorithms that change the batch where it is.
  mixed='algorithms=[{"name": "cutout", "length": 0.3}, {"name": "mixup"}, {"name": "label_smoothing"}]'
  train cpu_mixed --set "$mixed" --set train.metrics=[]
  train device_mixed --device shadow "${kept[@]}" --set "$mixed" --set train.metrics=[]
  equal cpu_mixed device_mixed
  check "nothing but metrics looks at copies" test "$(lookers device_mixed)" = ""

  resized='train.transforms=[{"name": "random_invert"}, {"name": "to_float"}]'
  says "no kernels" 2 'tutti: train: resident is true, but transform random_invert has no kernels' \
    "$TUTTI" train run.json --device shadow --plugin-path "$shadow" "${kept[@]}" --set "$resized"
  train auto --device shadow --set train.resident=auto --set eval=[] --set "$resized" --duration 1ba
  check "auto says so and goes on" grep -q \
    '"train: samples are read batch by batch: transform random_invert has no kernels"' auto/log.jsonl
  says "too large" 2 'tutti: train: resident is true, but its samples take 2.3 MiB, 1.0 MiB are free on shadow 0' \
    "$TUTTI" train run.json --plugin-path "$shadow" "${kept[@]}" --set train.transforms=[] --set 'train.dataset={"name": "glyphs", "samples": 3000}'  \
    --set 'device={"name": "shadow", "megabytes": 1}'
else
  skip "the shadow device is not built"
fi
if [ -e "$standin/libcudart.so.13" ]; then
  export LD_LIBRARY_PATH="$standin"
  train gpu --device cuda --duration 6ba
  TUTTI_CUDA_TRACE="$work/trace" train gpu_kept --device cuda --duration 6ba "${kept[@]}"
  check "of a batch its numbers alone come from the host" test \
    "$(sed -n '/^launch graph/,$s/^copy \([0-9]*\) bytes host .*/\1/p' trace | awk '$1 > 1200' | tr '\n' ' ')" = "109200 "
  equal gpu gpu_kept
else
  skip "the stand-in is not built"
fi
finish
