#!/usr/bin/env bash
# eval_predict_test.sh - a checkpoint evaluated and used, and microbatches that are made to fit.
. "$(dirname "$0")/lib.sh"
python=${PYTHON:-python3}
small_run '"algorithms": [{"name": "ema", "half_life": "5ba"}]' | sed 's/"name": "accuracy"/&}, {"name": "cross_entropy"/' >run.json
sed -i 's/"max_duration"/"loggers": [{"name": "jsonl"}, {"name": "file"}, {"name": "console"}], "traces": [{"file": "traces.txt"}], &/' run.json
"$TUTTI" train run.json >train.txt 2>&1
check "a run" test $? = 0
cp -r runs before

"$TUTTI" eval run.json --checkpoint auto >eval.txt 2>err.txt
check "eval prints what the fit's last evaluation did" test "$(grep ^test train.txt)" = "$(cat eval.txt)"
"$TUTTI" eval run.json --checkpoint auto --set eval.0.microbatch_size=7 >parts.txt 2>err.txt
check "in parts too" diff eval.txt parts.txt

"$TUTTI" predict run.json --checkpoint auto --output out.npy >predict.txt
check "as many rows as samples" test "$(cat predict.txt)" = '100 predictions'
check "which are the model's logits" "$python" - <<'PY'
import struct
with open("out.npy", "rb") as f:
    magic, (size,) = f.read(8), struct.unpack("<H", f.read(2))
    header = eval(f.read(size))
    data = f.read()
assert magic == b"\x93NUMPY\x01\x00" and (10 + size) % 64 == 0, (magic, size)
assert header == {"descr": "<f4", "fortran_order": False, "shape": (100, 10)}, header
rows = [struct.unpack_from("<10f", data, 40 * k) for k in range(100)]
assert len(data) == 4000
classes = {max(range(10), key=row.__getitem__) for row in rows}
assert len(classes) > 3, classes
PY
# Nothing is updated: the optimizer of the file that is evaluated may be another one than the checkpoint's.
for other in '{"name": "sgd", "lr": 0.1, "momentum": 0.9}' '{"name": "adafactor"}'; do
  "$TUTTI" eval run.json --checkpoint auto --set "optimizer=$other" >other.txt 2>err.txt
  check "the same scores with another optimizer in the file" diff eval.txt other.txt
  check "without a remark" sh -c '! grep -i "optimizer\|left out\|anew" err.txt'
  check "predictions too" "$TUTTI" predict run.json --checkpoint auto --output other.npy --set "optimizer=$other"
  check "to the byte" cmp out.npy other.npy
done
says "no checkpoint yet: none is made up" 1 'tutti: small: auto finds no checkpoint: the run has written none yet' \
  "$TUTTI" eval run.json --checkpoint auto --set callbacks.0.folder=nowhere --set 'loggers=[]'
says "for predictions either" 1 'tutti: small: auto finds no checkpoint: the run has written none yet' \
  "$TUTTI" predict run.json --checkpoint auto --output none.npy --set callbacks.0.folder=nowhere --set 'loggers=[]'
check "and no file" test ! -e none.npy
says "no such data" 1 'tutti: small: there is no evaluation nowhere' \
  "$TUTTI" predict run.json --checkpoint auto --output x.npy --data nowhere
check "which leaves nothing behind" test ! -e x.npy -a ! -e x.npy.part
says "an output that cannot be made" 1 'tutti: none/x.npy.part: No such file or directory' \
  "$TUTTI" predict run.json --checkpoint auto --output none/x.npy
says "no evaluation" 1 'tutti: small: the run file has no evaluation' \
  "$TUTTI" eval run.json --checkpoint auto --set 'eval=[]'

check "neither touches what the run has logged" diff -r before runs

# Two evaluations, each with its own interval, part of the data and metrics.
small_run '"loggers": [{"name": "jsonl"}]' | python3 "$e2e/small_run.py" <(cat <<'JSON'
{"name": "two", "callbacks": [], "max_duration": "20ba", "eval": [
 {"label": "often", "dataset": {"name": "glyphs", "samples": 100, "split": "test"}, "transforms": [{"name": "to_float"}],
  "batch_size": 20, "subset_num_batches": 2, "interval": "5ba", "metrics": [{"name": "accuracy"}]},
 {"label": "rarely", "dataset": {"name": "glyphs", "samples": 60, "split": "test"}, "transforms": [{"name": "to_float"}],
  "batch_size": 20, "interval": "1ep", "metrics": [{"name": "cross_entropy"}, {"name": "top_k_accuracy"}]}]}
JSON
) >two.json
"$TUTTI" train two.json >two.txt 2>&1
check "two evaluations" test $? = 0
check "one comes every 5 batches" test "$(grep metrics/often/accuracy runs/two/log.jsonl | grep -o '"batch":[0-9]*' | tr '\n' ' ')" = \
  '"batch":5 "batch":10 "batch":15 "batch":20 '
check "the other every epoch" test "$(grep -c 'metrics/rarely/cross_entropy' runs/two/log.jsonl)" = 2
check "each with its own metrics" sh -c "! grep -q 'metrics/often/cross_entropy\|metrics/rarely/accuracy' runs/two/log.jsonl"
check "and its part of the data" grep -Eq '^  often +glyphs, 100 samples, 2 batches of 20$' two.txt

# microbatch_size auto: the plan is made smaller until its memory can be had.
if [ -n "$SANITIZE" ]; then
  skip "memory that ends: the shadow memory of -fsanitize=$SANITIZE is larger than any limit"
  finish
fi
(
  ulimit -v 1100000
  "$TUTTI" train --set train.batch_size=8000 --set microbatch_size=auto --set max_duration=1ba \
    --set 'loggers=[]' --set 'eval=[]' --threads 2 >out.txt 2>err.txt
)
check "a batch that does not fit is trained in parts" test $? = 0
check "and the parts are told" grep -q 'memory is out with 8000 samples at a time; microbatch_size is now 4000$' err.txt
check "all of it counts" grep -q '^trained 1 batches, 8000 samples' out.txt
wide() {
  "$TUTTI" train --set max_duration=1ba --set train.dataset.samples=400 --set 'loggers=[]' --set eval.0.dataset.samples=12000 \
    --set eval.0.batch_size=12000 --set eval.0.prefetch=1 --threads 2 "$@"
}
wide >whole.txt 2>/dev/null
(
  ulimit -v 1000000
  wide --set eval.0.microbatch_size=auto >out.txt 2>err.txt
)
check "a batch that does not fit is evaluated in parts" test $? = 0
check "which are told too" grep -q 'memory is out with 12000 samples at a time; microbatch_size of the evaluation test is now 6000$' err.txt
check "and change no metric" diff <(grep ^test whole.txt) <(grep ^test out.txt)
finish
