#!/usr/bin/env bash
# sampler_test.sh - "sampler": which samples an epoch has, a resume in its middle, and what is refused.
. "$(dirname "$0")/lib.sh"
export TUTTI_TUNE=0

# 60 pictures, of class 2 alone but for four of class 0 and two of class 1; the picture is its number.
python3 - <<'PY'
def save(name, shape, values):
    head = f"{{'descr': '|u1', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    with open(name, "wb") as f:
        f.write(b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head.encode() + bytes(values))
save("x.npy", (60, 2, 2, 1), [k for k in range(60) for _ in range(4)])
save("y.npy", (60,), [0 if k in (3, 20, 41, 59) else 1 if k in (7, 33) else 2 for k in range(60)])
with open("weights.txt", "w", encoding="utf-8") as f:
    f.writelines(f"{1 if k % 7 == 3 else 0}\n" for k in range(60))
PY
# run_file <name> <sampler>
run_file() {
  cat >"$1.json" <<JSON
{"name": "$1", "seed": 4, "model": {"name": "mlp", "hidden": [4]}, "optimizer": {"name": "adam", "lr": 0.01}, "threads": 1,
 "train": {"dataset": {"name": "npy", "inputs": "x.npy", "targets": "y.npy"}, "transforms": [{"name": "to_float"}],
           "batch_size": 12, "workers": 2, "sampler": $2},
 "callbacks": [{"name": "checkpoint_saver", "folder": "$1", "interval": "1ba", "keep": -1}], "max_duration": "2ep"}
JSON
}
run_file weighted '{"name": "weighted", "weights": "weights.txt", "samples": 48}'
run_file balanced '{"name": "class_balanced"}'
for run in weighted balanced; do
  check "$run" "$TUTTI" train $run.json --quiet
  mv $run $run.whole
  check "$run, taken up in the middle of the second epoch" "$TUTTI" train $run.json --quiet --resume $run.whole/ep1-ba6.safetensors
  last=$(basename "$(ls -v $run.whole/*.safetensors | tail -1)")
  check "$run: the same bits" python3 "$e2e/same_weights.py" $run.whole/$last $run/$last
done
check "an epoch has the samples that are asked for" bash -c 'ls weighted.whole/*-ba8.safetensors && ! ls weighted.whole/*-ba9.safetensors'

refused() {
  says "$1" 2 "$2" "$TUTTI" validate "$3.json"
}
run_file none '{"name": "weighted"}'
refused "no weights" 'none.json:3: train.sampler: weights is missing: a file with a number a line, one a sample' none
run_file other '{"name": "by_weight"}'
run_file two '{"name": "class_balanced", "weights": "w"}'
refused "a setting of another" 'two.json:3: train.sampler.weights: is a setting of weighted, the sampler is class_balanced' two
run_file wide '{"name": "class_balanced", "column": "input"}'
says "a column without classes" 2 'tutti: sampler class_balanced: column input has no class a sample' "$TUTTI" train wide.json --quiet
run_file many '{"name": "weighted", "weights": "weights.txt", "replacement": false}'
says "more than have a weight" 1 'tutti: sampler: 60 samples are wanted, each once, and 9 have a weight above 0; "samples" sets how many' \
  "$TUTTI" train many.json --quiet
run_file length '{"name": "by_length"}'
says "no lengths" 2 'tutti: sampler by_length: samples of column input do not differ in length, and there is no column attention_mask' \
  "$TUTTI" train length.json --quiet
finish
