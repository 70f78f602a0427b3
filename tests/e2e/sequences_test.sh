#!/usr/bin/env bash
# sequences_test.sh - lines of digits read by the loss ctc: the recipe, shortened, learns; evaluation, prediction, a
# resume to the same bytes, microbatches, the stand-in of a GPU; lines in files; and what does not fit.
. "$(dirname "$0")/lib.sh"
standin="$(dirname "$TUTTI")/standin"

# The recipe on lines of two digits at most.
python3 - "$SOURCE/host/recipes/sequences.json" >run.json <<'PY'
import json, sys
run = json.load(open(sys.argv[1]))
run |= {"name": "short", "threads": 1, "max_duration": "1ep", "schedulers": [], "loggers": [],
        "callbacks": [{"name": "checkpoint_saver", "folder": "saves", "interval": "1ba", "keep": 2}]}
run["model"]["channels"] = [8, 12, 16]
run["optimizer"]["lr"] = 0.01
run["train"] |= {"batch_size": 16}
run["train"]["dataset"] |= {"samples": 3200, "length": 2}
run["eval"][0]["dataset"] |= {"samples": 200, "length": 2}
print(json.dumps(run))
PY
check "the recipe, shortened" "$TUTTI" train run.json --quiet
cp check.out said.txt
# blanks alone, or classes by chance, have a loss above 2
check "reads lines" awk '/^test loss/ {exit !($3 < 0.8)}' said.txt
check "digit by digit" awk '/^test word_error_rate/ {exit !($3 < 0.3)}' said.txt
check "evaluated" "$TUTTI" eval run.json --checkpoint auto --quiet
check "to the same loss" test "$(grep '^test loss' check.out)" = "$(grep '^test loss' said.txt)"
check "predicted" "$TUTTI" predict run.json --checkpoint auto --output out.npy
check "outputs of each column" grep -qa "'shape': (200, 14, 11" out.npy
sed 's/"samples": 3200/"samples": 640/; s/"1ep"/"40ba"/' run.json >few.json
same "a resume" few.json
check "in microbatches" "$TUTTI" train few.json --quiet --set callbacks=[] --set max_duration=2ba --set microbatch_size=4

if [ -e "$standin/libcudart.so.13" ]; then
  rm -rf cpu gpu && mkdir cpu gpu
  check "on the CPU" "$TUTTI" train few.json --quiet --set max_duration=4ba --set callbacks.0.folder=cpu/saves --device cpu
  check "on the stand-in" env LD_LIBRARY_PATH="$standin" TUTTI_CUDA_STANDIN=leaks=1 "$TUTTI" train few.json --quiet \
    --set max_duration=4ba --set callbacks.0.folder=gpu/saves --device cuda
  check "nearly the same weights" python3 "$e2e/near_weights.py" "$(latest cpu)" "$(latest gpu)" 1e-2
else
  skip "the stand-in is not built"
fi

# Lines in files: class 1 where a stripe is bright, 2 where it is dark, 255 behind the end.
python3 - <<'PY'
import random, struct
random.seed(4)
def npy(path, descr, shape, data):
    head = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}"
    head += " " * (63 - (len(head) + 10) % 64) + "\n"
    with open(path, "wb") as f:
        f.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + data)
lines = [[random.choice((1, 2)) for _ in range(random.randint(1, 3))] for _ in range(128)]
def pixel(line, x):
    return 0.0 if x % 8 in (0, 1, 6, 7) or x // 8 >= len(line) else (1.0 if line[x // 8] == 1 else -1.0)
flat = [pixel(line, x) for line in lines for y in range(4) for x in range(24)]
npy("lines.npy", "<f4", (128, 4, 24, 1), struct.pack(f"<{len(flat)}f", *flat))
npy("texts.npy", "|u1", (128, 3), bytes(line[k] if k < len(line) else 255 for line in lines for k in range(3)))
PY
files="{\"name\": \"npy\", \"inputs\": \"$work/lines.npy\", \"targets\": \"$work/texts.npy\", \"classes\": 3, \"ignore_index\": 255}"
check "lines of files" "$TUTTI" train few.json --quiet --set callbacks=[] --set max_duration=12ep --set train.transforms=[] \
  --set eval.0.transforms=[] --set "train.dataset=$files" --set "eval.0.dataset=$files" --set model.num_classes=3 \
  --set 'loss={"name": "ctc", "zero_infinity": true}' --set 'model.channels=[8, 8]' \
  --set 'eval.0.metrics=[{"name": "loss"}, {"name": "word_error_rate", "blank": 0}]'
check "are read" awk '/^test loss/ {low = $3 < 0.1} /^test word_error_rate/ {right = $3 < 0.02} END {exit !(low && right)}' check.out

says "an output for the image alone" 1 'tutti: ctc: the output is F32 (16, 11) and the target I32 (16, 2), want F32 (B, T, N) and classes (B, S); the model cnn with "columns": true has a row of outputs for each step' \
  "$TUTTI" train few.json --quiet --set model.columns=false --set callbacks=[]
says "a blank that is no class" 1 'tutti: ctc: blank is 11, and the output has 11 classes' \
  "$TUTTI" train few.json --quiet --set loss.blank=11 --set callbacks=[]
finish
