#!/usr/bin/env bash
# losses_test.sh - runs with a loss in the place of the model's own: regression on a table in npy files by every model
# with a head of numbers, evaluation, prediction, a resume to the same bytes, microbatches, the stand-in of a GPU, other
# algorithms beside it; and what does not fit.
. "$(dirname "$0")/lib.sh"
standin="$(dirname "$TUTTI")/standin"

# npy <file> <dtype> <shape> <python expression of k>: an array whose k-th number is the expression's.
npy() {
  python3 - "$@" <<'PY'
import math, random, struct, sys
path, descr, shape, text = sys.argv[1], sys.argv[2], tuple(int(n) for n in sys.argv[3].split(",")), sys.argv[4]
random.seed(7)
code = {"<f4": "f", "<f8": "d", "|u1": "B"}[descr]
head = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}"
head += " " * (63 - (len(head) + 10) % 64) + "\n"
rows = [random.random() for _ in range(math.prod(shape) if len(shape) > 1 else 0)]
values = [eval(text) for k in range(math.prod(shape))]
with open(path, "wb") as f:
    f.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode())
    f.write(struct.pack(f"<{len(values)}{code}", *values))
PY
}
wave='math.sin(k * 0.7123) * 0.5 + 0.5'
npy x.npy '<f4' 640,4 "$wave"
npy y.npy '<f8' 640 '2 * math.sin(4 * k * 0.7123) + math.cos((4 * k + 1) * 0.7123) * 0.5'
npy images.npy '<f4' 64,16,16,1 "$wave"
npy pairs.npy '<f4' 64,2 "$wave"

# run_of <members>: a regression on the table; the members are added.
run_of() {
  cat <<JSON
{"name": "table", "seed": 5, "model": {"name": "mlp", "hidden": [32]}, "loss": "mse", "threads": 2,
 "train": {"dataset": {"name": "npy", "inputs": "$work/x.npy", "targets": "$work/y.npy"}, "batch_size": 64},
 "eval": [{"label": "table", "dataset": {"name": "npy", "inputs": "$work/x.npy", "targets": "$work/y.npy"},
           "metrics": [{"name": "r2_score"}, {"name": "mean_squared_error"}]}],
 "optimizer": {"name": "adam", "lr": 0.01}, "max_duration": "10ep",
 "callbacks": [{"name": "checkpoint_saver", "folder": "saves", "interval": "1ba", "keep": 2}] ${1:+, $1}}
JSON
}
r2_of() { sed -n 's/^table r2_score: //p' "$1"; }

# A table of rows whose last number is the target, by the recipe.
python3 - <<'PY'
import math, random, struct
random.seed(3)
def table(path, n):
    head = f"{{'descr': '<f8', 'fortran_order': False, 'shape': ({n}, 6), }}"
    head += " " * (63 - (len(head) + 10) % 64) + "\n"
    with open(path, "wb") as f:
        f.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode())
        for _ in range(n):
            x = [random.random() for _ in range(5)]
            y = 10 * math.sin(math.pi * x[0] * x[1]) + 20 * (x[2] - 0.5) ** 2 + 10 * x[3] + 5 * x[4]
            f.write(struct.pack("<6d", *x, y + random.gauss(0, 1)))
table("table.npy", 10000)
table("test.npy", 2000)
PY
recipe=$SOURCE/host/recipes/regression.json
check "the recipe of a regression" "$TUTTI" train "$recipe" --quiet
check "reaches its score" awk '/^test r2_score/ {exit !($3 > 0.94)}' check.out
check "the recipe on a table in a file" "$TUTTI" train "$recipe" --quiet \
  --set "train.dataset={\"name\": \"npy\", \"inputs\": \"$work/table.npy\", \"target_column\": -1}" \
  --set "eval.0.dataset={\"name\": \"npy\", \"inputs\": \"$work/test.npy\", \"target_column\": -1}"
check "reaches it too" awk '/^test r2_score/ {exit !($3 > 0.94)}' check.out

# Several labels a picture, by the recipe on pictures of one shape and 16 x 16 pixels: guessing has an auroc of 0.5.
check "the recipe of several labels, shortened" "$TUTTI" train "$SOURCE/host/recipes/multi_label.json" --quiet --threads 1 \
  --set train.dataset.size=16 --set train.dataset.shapes=1 --set eval.0.dataset.size=16 --set eval.0.dataset.shapes=1 \
  --set max_duration=2ep
check "finds them" awk '/^test multilabel_auroc/ {exit !($3 > 0.65)}' check.out

run_of >run.json
check "a table of numbers" "$TUTTI" train run.json
cp check.out said.txt
check "is learned" awk -v r2="$(r2_of said.txt)" 'BEGIN {exit !(r2 > 0.9)}'
check "evaluated" "$TUTTI" eval run.json --checkpoint auto
cp check.out evaluated.txt
check "to the same score" test "$(r2_of evaluated.txt)" = "$(r2_of said.txt)"
check "predicted" "$TUTTI" predict run.json --checkpoint auto --output out.npy
check "a number a sample" grep -qa "'shape': (640, 1" out.npy
same "a resume" run.json

grep -v checkpoint_saver run.json | sed 's/"max_duration": "10ep",/"max_duration": "2ep"}/' >short.json
check "a loss with settings" "$TUTTI" train short.json --set 'loss={"name": "smooth_l1", "beta": 0.5, "reduction": "sum"}'
check "in microbatches" "$TUTTI" train short.json --set microbatch_size=16
check "losses of samples" "$TUTTI" train short.json \
  --set 'algorithms=[{"name": "selective_backprop", "start": 0, "end": 1, "interrupt": 0}]'

for model in '"cnn"' '"mnist_classifier"' '"lenet"' '"resnet_cifar", "depth": 8' \
  '"resnet", "depth": 18, "width": 4, "stem": "cifar"' \
  '"vit", "patch_size": 4, "num_layers": 1, "hidden_dim": 24' \
  '"convnext", "patch_size": 1, "depths": [1, 1, 1, 1], "hidden_sizes": [8, 8, 8, 8]'; do
  check "two numbers by $model" "$TUTTI" train short.json --set "model={\"name\": $model}" --set max_duration=2ba \
    --set "train.dataset.inputs=$work/images.npy" --set "train.dataset.targets=$work/pairs.npy" --set train.batch_size=32 \
    --set "eval.0.dataset.inputs=$work/images.npy" --set "eval.0.dataset.targets=$work/pairs.npy" \
    --set 'eval.0.metrics=[{"name": "r2_score", "num_outputs": 2}]'
done

if [ -e "$standin/libcudart.so.13" ]; then
  rm -rf cpu gpu && mkdir cpu gpu
  check "on the CPU" "$TUTTI" train run.json --set loss=huber --set max_duration=20ba --set callbacks.0.folder=cpu/saves --device cpu
  check "on the stand-in" env LD_LIBRARY_PATH="$standin" TUTTI_CUDA_STANDIN=leaks=1 "$TUTTI" train run.json \
    --set loss=huber --set max_duration=20ba --set callbacks.0.folder=gpu/saves --device cuda
  check "nearly the same weights" python3 "$e2e/near_weights.py" "$(latest cpu)" "$(latest gpu)" 1e-3
else
  skip "the stand-in is not built"
fi

says "a metric twice" 2 'run.json: eval[0].metrics[1]: there is another r2_score, and a name has one value in logs; it could stand in an evaluation of its own' \
  "$TUTTI" validate run.json --set 'eval.0.metrics=[{"name": "r2_score"}, {"name": "r2_score", "adjusted": 4}]'
says "no such loss" 2 'run.json: loss: there is no loss mes; did you mean mse?' "$TUTTI" validate run.json --set loss=mes
says "no such setting" 2 'run.json: loss.beta: huber has no such setting; did you mean delta?' \
  "$TUTTI" validate run.json --set 'loss={"name": "huber", "beta": 1}'
says "no name" 2 'run.json: loss: is null, want the name of a loss, or an object with it' "$TUTTI" validate run.json --set loss=null
sed 's/"loss": "mse", //' short.json >own.json
says "numbers and cross entropy" 1 'tutti: loss: the targets are numbers, and the model'"'"'s own loss, cross entropy, wants classes; set "loss", to mse for instance, or num_classes if the numbers are probabilities of classes' \
  "$TUTTI" train own.json
small_run >classes.json
says "a metric of another task" 1 'tutti: r2_score: outputs are F32 (50, 10) and targets I32 (50), want F32 and numbers of one shape; of classes accuracy, f1_score or cross_entropy fits these' \
  "$TUTTI" train classes.json --quiet --set max_duration=1ep --set callbacks=[] --set 'eval.0.metrics=[{"name": "r2_score"}]'
says "a metric that is not there" 2 'classes.json: eval[0].metrics[0].name: there is no metric acuracy; did you mean accuracy?' \
  "$TUTTI" validate classes.json --set 'eval.0.metrics=[{"name": "acuracy"}]'
small_run '"loss": "mse"' >classes.json
says "classes and mse" 1 'tutti: mse: the output is F32 (64, 10) and the target I32 (64), want a number for each of the output'"'"'s; of classes cross_entropy, focal or multi_margin fits these' \
  "$TUTTI" train classes.json
finish
