#!/usr/bin/env bash
# pairs_test.sh - runs on pairs and triples of drawings and on those of files: they learn, evaluated by the mean loss;
# a resume to the same bytes, the stand-in of a GPU; and what does not fit.
. "$(dirname "$0")/lib.sh"
standin="$(dirname "$TUTTI")/standin"

# run_of <parts> <kind of sample> <loss>: a small perceptron on drawings.
run_of() {
  local data='"transforms": [{"name": "normalize", "mean": [0.13], "std": [0.31]}], "batch_size": 50, "workers": 1'
  cat <<JSON
{"name": "parts", "seed": 1, "model": {"name": "siamese", "parts": $1, "hidden": [64], "dim": 16}, "loss": $3, "threads": 1,
 "train": {"dataset": {"name": "glyphs", "samples": 2000, "sample": "$2"}, $data},
 "eval": [{"label": "test", "dataset": {"name": "glyphs", "samples": 500, "sample": "$2", "split": "test"}, $data,
           "metrics": [{"name": "loss"}]}],
 "callbacks": [{"name": "checkpoint_saver", "folder": "saves", "interval": "1ba", "keep": 2, "overwrite": true}],
 "optimizer": {"name": "adam", "lr": 0.002}, "max_duration": "2ep"}
JSON
}

run_of 3 triple '{"name": "triplet", "swap": true}' >triples.json
check "triples" "$TUTTI" train triples.json --quiet
cp check.out said.txt
# untrained, the likes are no nearer than others: 1 and more
check "find their like" awk '/^test loss/ {exit !($3 < 0.5)}' said.txt
check "evaluated" "$TUTTI" eval triples.json --checkpoint auto --quiet
check "to the same loss" test "$(grep '^test loss' check.out)" = "$(grep '^test loss' said.txt)"
same "a resume" triples.json
check "in microbatches" "$TUTTI" train triples.json --quiet --set microbatch_size=20 --set callbacks=[] --set max_duration=2ba

run_of 2 pair '{"name": "cosine_embedding", "margin": 0.3}' >pairs.json
check "pairs" "$TUTTI" train pairs.json --quiet
# one half alike: a constant cosine gives at least 0.35
check "are told apart" awk '/^test loss/ {exit !($3 < 0.27)}' check.out

if [ -e "$standin/libcudart.so.13" ]; then
  # a bias of the head leaves distances as they are: Adam would enlarge what rounding makes of its gradient
  for run in pairs triples; do
    rm -rf cpu gpu && mkdir cpu gpu
    check "$run on the CPU" "$TUTTI" train $run.json --quiet --set max_duration=20ba --set optimizer.name=sgd --set optimizer.lr=0.01 --set callbacks.0.folder=cpu/saves --device cpu
    check "$run on the stand-in" env LD_LIBRARY_PATH="$standin" TUTTI_CUDA_STANDIN=leaks=1 "$TUTTI" train $run.json --quiet \
      --set max_duration=20ba --set optimizer.name=sgd --set optimizer.lr=0.01 --set callbacks.0.folder=gpu/saves --device cuda
    check "nearly the same weights" python3 "$e2e/near_weights.py" "$(latest cpu)" "$(latest gpu)" 1e-3
  done
else
  skip "the stand-in is not built"
fi

# Pairs in files: (64, 2, 3), alike where k is even.
python3 - <<'PY'
import struct
def npy(path, descr, shape, data):
    head = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}"
    head += " " * (63 - (len(head) + 10) % 64) + "\n"
    with open(path, "wb") as f:
        f.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + data)
rows = [v for k in range(64) for v in (1.0, k / 64, 0.5, *((1.0, k / 64, 0.4) if k % 2 == 0 else (-1.0, 0.2, k / 64)))]
npy("pairs.npy", "<f4", (64, 2, 3), struct.pack(f"<{len(rows)}f", *rows))
npy("alike.npy", "<f4", (64,), struct.pack("<64f", *(1.0 if k % 2 == 0 else -1.0 for k in range(64))))
PY
files="{\"name\": \"npy\", \"inputs\": \"$work/pairs.npy\", \"targets\": \"$work/alike.npy\"}"
check "pairs of files" "$TUTTI" train pairs.json --quiet --set "train.dataset=$files" --set "eval.0.dataset=$files" \
  --set train.transforms=[] --set eval.0.transforms=[] --set train.batch_size=16 --set max_duration=20ep
check "are learned" awk '/^test loss/ {exit !($3 < 0.1)}' check.out

says "a loss of pairs on triples" 1 'tutti: cosine_embedding: 1 output, the first of which is F32 (50, 3, 16), want F32 (B, 2, D), or 2 outputs (B, D); the model siamese with "parts": 2 has that' \
  "$TUTTI" train triples.json --quiet --set loss=cosine_embedding
sed 's/"loss": {[^}]*},//' pairs.json >own.json
says "no loss" 1 'tutti: loss: siamese has no loss of its own; set "loss", to cosine_embedding for pairs or to triplet for triples' \
  "$TUTTI" train own.json --quiet
says "samples of one part" 2 'tutti: siamese: samples are F32 (28, 28, 1), want a first dimension that 3 parts divide' \
  "$TUTTI" train triples.json --quiet --set train.dataset.sample=single --set eval=[]
finish
