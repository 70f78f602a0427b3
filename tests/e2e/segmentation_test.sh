#!/usr/bin/env bash
# segmentation_test.sh - a class for each pixel: the recipe, shortened, learns; evaluation, prediction, a resume to the
# same bytes, microbatches, the stand-in of a GPU; maps in npy files; and what does not fit.
. "$(dirname "$0")/lib.sh"
standin="$(dirname "$TUTTI")/standin"
recipe=$SOURCE/host/recipes/segmentation.json

# The recipe on pictures of one shape and 16 x 16 pixels.
python3 - "$recipe" >run.json <<'PY'
import json, sys
run = json.load(open(sys.argv[1]))
run |= {"name": "short", "threads": 1, "max_duration": "1ep", "schedulers": [], "loggers": [],
        "callbacks": [{"name": "checkpoint_saver", "folder": "saves", "interval": "100ba", "keep": 2}]}
run["model"] |= {"depth": 2}
run["optimizer"]["lr"] = 0.005
run["train"] |= {"batch_size": 4}
run["train"]["dataset"] |= {"samples": 2400, "size": 16, "shapes": 1}
run["eval"][0]["dataset"] |= {"samples": 100, "size": 16, "shapes": 1}
print(json.dumps(run))
PY
iou_of() { sed -n 's/^test jaccard_index: //p' "$1"; }

check "the recipe, shortened" "$TUTTI" train run.json --quiet
cp check.out said.txt
# the ground alone has 0.22
check "finds shapes" awk -v iou="$(iou_of said.txt)" 'BEGIN {exit !(iou > 0.3)}'
check "evaluated" "$TUTTI" eval run.json --checkpoint auto
check "to the same score" test "$(iou_of check.out)" = "$(iou_of said.txt)"
check "predicted" "$TUTTI" predict run.json --checkpoint auto --output out.npy
check "logits of each pixel" grep -qa "'shape': (100, 16, 16, 4" out.npy
python3 - run.json >few.json <<'PY'
import json, sys
run = json.load(open(sys.argv[1]))
run["train"]["dataset"]["samples"] = 64
run |= {"max_duration": "1ep", "eval": [],
        "callbacks": [{"name": "checkpoint_saver", "folder": "saves", "interval": "1ba", "keep": 2}]}
print(json.dumps(run))
PY
same "a resume" few.json
check "in microbatches, enlarged between neighbours" "$TUTTI" train few.json --set callbacks=[] --set max_duration=2ba \
  --set microbatch_size=2 --set model.upsampling=bilinear
check "the focal loss" "$TUTTI" train few.json --set callbacks=[] --set max_duration=2ba --set loss=focal
check "classes smoothed" "$TUTTI" train few.json --set callbacks=[] --set max_duration=2ba \
  --set 'loss={"name": "cross_entropy", "label_smoothing": 0.1}'

if [ -e "$standin/libcudart.so.13" ]; then
  rm -rf cpu gpu && mkdir cpu gpu
  for up in transposed bilinear; do
    check "$up on the CPU" "$TUTTI" train few.json --set max_duration=3ba --set model.depth=1 --set model.upsampling=$up --set callbacks.0.folder=cpu/saves --device cpu
    check "$up on the stand-in" env LD_LIBRARY_PATH="$standin" TUTTI_CUDA_STANDIN=leaks=1 "$TUTTI" train few.json \
      --set max_duration=3ba --set model.depth=1 --set model.upsampling=$up --set callbacks.0.folder=gpu/saves --device cuda
    check "nearly the same weights" python3 "$e2e/near_weights.py" "$(latest cpu)" "$(latest gpu)" 1e-2
    rm -rf cpu gpu && mkdir cpu gpu
  done
else
  skip "the stand-in is not built"
fi

# Maps in files: the left half is class 1, the right half 0, the middle does not count.
python3 - <<'PY'
import struct
def npy(path, descr, shape, data):
    head = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}"
    head += " " * (63 - (len(head) + 10) % 64) + "\n"
    with open(path, "wb") as f:
        f.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + data)
classes = [[[255 if x in (7, 8) else int(x < 8)] for x in range(16)] for y in range(16)] * 32
flat = [v[0] for row in classes for v in row]
npy("masks.npy", "|u1", (32, 16, 16), bytes(flat))
npy("halves.npy", "<f4", (32, 16, 16, 1), struct.pack(f"<{len(flat)}f", *[float(v == 1) - 0.5 for v in flat]))
PY
cat >maps.json <<JSON
{"name": "maps", "seed": 5, "model": {"name": "unet", "width": 4, "depth": 2}, "threads": 1,
 "train": {"dataset": {"name": "npy", "inputs": "$work/halves.npy", "targets": "$work/masks.npy", "classes": 2, "ignore_index": 255}, "batch_size": 8},
 "eval": [{"label": "maps", "dataset": {"name": "npy", "inputs": "$work/halves.npy", "targets": "$work/masks.npy", "classes": 2, "ignore_index": 255},
           "metrics": [{"name": "jaccard_index", "num_classes": 2}, {"name": "accuracy"}]}],
 "optimizer": {"name": "adam", "lr": 0.02}, "max_duration": "8ep"}
JSON
check "maps of files" "$TUTTI" train maps.json --quiet
check "are learned" awk '/^maps accuracy/ {exit !($3 > 0.99)}' check.out

# The models of pictures have a head for maps too.  Here it is the pixel that tells: odd pictures are mirrored.
python3 - <<'PY'
import struct
def npy(path, descr, shape, data):
    head = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}"
    head += " " * (63 - (len(head) + 10) % 64) + "\n"
    with open(path, "wb") as f:
        f.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + data)
left = [[int((x < 8) == (k % 2 == 0)) for x in range(16)] for k in range(32)]
flat = [c for row in left for y in range(16) for c in row]
flat = [255 if k % 16 in (7, 8) else c for k, c in enumerate(flat)]
npy("turned_masks.npy", "|u1", (32, 16, 16), bytes(flat))
npy("turned.npy", "<f4", (32, 16, 16, 1), struct.pack(f"<{len(flat)}f", *[{0: -0.5, 1: 0.5, 255: 0.0}[c] for c in flat]))
PY
sed 's/halves.npy/turned.npy/g; s/masks.npy/turned_masks.npy/g; s/{"name": "accuracy"}/&, {"name": "dice_score", "num_classes": 2}/; s/"max_duration": "8ep"/"max_duration": "20ep"/; s/"lr": 0.02/"lr": 0.01/' \
  maps.json >turned.json
for model in '{"name": "mlp", "hidden": [32]}' '{"name": "cnn", "channels": [8, 8]}' \
  '{"name": "resnet", "depth": 18, "width": 4, "stem": "cifar"}' \
  '{"name": "vit", "patch_size": 4, "num_layers": 1, "num_heads": 2, "hidden_dim": 16}'; do
  check "maps by $model" "$TUTTI" train turned.json --quiet --set "model=$model"
  check "are learned" awk '/^maps (accuracy|jaccard_index|dice_score)/ {n += $3 > 0.95} END {exit n != 3}' check.out
done

# Their heads, and unet's, on a GPU, whose kernels for enlarged maps and classes of pixels differ from the CPU's, and as
# ONNX: an output for each pixel, which is what tutti predict writes.  What it computes is tests/peers/onnx_check.py's.
heads() { # heads <device> <folder> <model>: two batches, saved there; in more a relu's sign may turn by rounding
  rm -rf "$2" && "$TUTTI" train turned.json --quiet --device "$1" --set eval=[] --set max_duration=2ba --set "model=$3" \
    --set 'optimizer={"name": "sgd", "lr": 0.05}' --set "callbacks=[{\"name\": \"checkpoint_saver\", \"folder\": \"$2/saves\", \"interval\": \"2ba\"}]"
}
stand_in_heads() { LD_LIBRARY_PATH="$standin" TUTTI_CUDA_STANDIN=leaks=1 heads cuda "$@"; }
predicted() { "$TUTTI" predict turned.json --checkpoint "$(latest here)" --output "$1.npy" --set "model=$2" --device "$1"; }
stand_in_predicted() { LD_LIBRARY_PATH="$standin" TUTTI_CUDA_STANDIN=leaks=1 predicted "$@"; }
near_pixels() { # near_pixels <a.npy> <b.npy>: as many logits, and the largest difference small beside the largest logit
  python3 - "$1" "$2" <<'PY2'
import array, struct, sys
def logits(path):
    data = open(path, "rb").read()
    head = 10 + struct.unpack_from("<H", data, 8)[0]
    assert b"(32, 16, 16, 2" in data[:head], data[:head]
    return array.array("f", data[head:])
a, b = map(logits, sys.argv[1:])
far = max(abs(x - y) for x, y in zip(a, b, strict=True))
print(far, max(map(abs, a)))
assert 0.1 < max(map(abs, a)) < 1e4 and far <= 1e-4 * max(map(abs, a))
PY2
}
onnx=1
case $("$TUTTI" export "$(latest .)" --onnx none.onnx 2>&1) in
*'built without protobuf-c'*) onnx= && skip "ONNX files: built without protobuf-c (Debian's packages libprotobuf-c-dev and protobuf-c-compiler)" ;;
esac
for model in '{"name": "mlp", "hidden": [32]}' '{"name": "cnn", "channels": [8, 8]}' \
  '{"name": "resnet", "depth": 18, "width": 4, "stem": "cifar"}' \
  '{"name": "vit", "patch_size": 4, "num_layers": 1, "num_heads": 2, "hidden_dim": 16}' \
  '{"name": "unet", "width": 4, "depth": 2}' '{"name": "unet", "width": 4, "depth": 2, "upsampling": "bilinear"}'; do
  check "on the CPU $model" heads cpu here "$model"
  if [ -e "$standin/libcudart.so.13" ]; then
    check "trained on the stand-in" stand_in_heads there "$model"
    check "to nearly the same weights" python3 "$e2e/near_weights.py" "$(latest here)" "$(latest there)" 1e-3
    check "pixels of the CPU" predicted cpu "$model"
    check "pixels of the stand-in" stand_in_predicted cuda "$model"
    check "are nearly the same" near_pixels cpu.npy cuda.npy
  fi
  [ -n "$onnx" ] || continue
  check "as ONNX" "$TUTTI" export "$(latest here)" --onnx model.onnx
  check "with any number of samples" sh -c '! grep -q "takes\|depends" "$1"' _ check.out
  check "an output for each pixel" python3 - <<'PY2'
def fields(data):
    """(number, value) of a protobuf message."""
    at = 0
    def varint():
        nonlocal at
        value, shift = 0, 0
        while True:
            byte = data[at]
            at, value, shift = at + 1, value | (byte & 127) << shift, shift + 7
            if byte < 128:
                return value
    while at < len(data):
        key = varint()
        if key & 7 == 0:
            yield key >> 3, varint()
        else:
            size = varint() if key & 7 == 2 else {1: 8, 5: 4}[key & 7]
            at += size
            yield key >> 3, data[at - size:at]
def inside(data, *path):
    for number in path:
        data = next(v for n, v in fields(data) if n == number)
    return data
graph = inside(open("model.onnx", "rb").read(), 7)
def shape(which):
    dims = [v for n, v in fields(inside(graph, which, 2, 1, 2)) if n == 1]
    return [next(v.decode() if n == 2 else v for n, v in fields(d)) for d in dims]
assert shape(11) == ["batch", 16, 16, 1] and shape(12) == ["batch", 16, 16, 2], (shape(11), shape(12))
PY2
done
says "sides that features do not fill" 2 \
  'tutti: resnet: samples are F32 (16, 16, 1), want sides that are multiples of 32: its features are so much smaller, and there is a class for each pixel' \
  "$TUTTI" train turned.json --quiet --set 'model={"name": "resnet", "depth": 18}'

says "a label that is no class" 1 "tutti: masks.npy: sample 0: label 255, want 0 to 1" \
  "$TUTTI" train maps.json --quiet --set train.dataset.ignore_index=-100 --set train.shuffle=false --set train.workers=1
says "a row of labels" 2 'tutti: unet: samples are F32 (16, 16, 3) and targets F32 (3), want a class for each pixel' \
  "$TUTTI" train few.json --quiet --set train.dataset.target=labels
says "a model of one class a picture" 1 'tutti: cross_entropy: the output is F32 (4, 4) and the target I32 (4, 16, 16), want classes (B, ...) or F32 probabilities (B, ..., N); no loss fits these: the model wants another head, or the data another target' \
  "$TUTTI" train few.json --quiet --set 'model={"name": "lenet"}'
finish
