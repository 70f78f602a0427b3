#!/usr/bin/env bash
# supervised_run_test.sh - tutti run trains a model: the same weights as tutti train, evaluations at events, resume.
. "$(dirname "$0")/lib.sh"

# supervised [members]: small_run as an engine file.
supervised() {
  small_run | python3 -c '
import json, sys
run = json.load(sys.stdin)
del run["max_duration"], run["callbacks"][0]["keep"]
run |= {"process": "supervised", "max_epochs": 3, "name": "engine"}
run |= json.loads(sys.argv[1])
run["callbacks"][0] |= {"keep": -1, "interval": "13ba"}
json.dump(run, sys.stdout, indent=1)' "{$1}"
}

mkdir train engine resumed
small_run >train/run.json
(cd train && "$TUTTI" train run.json >out.txt 2>&1) || echo "FAILED: train"
supervised '"handlers": [{"on": "epoch_completed", "call": "demo.note", "args": ["metrics/test/accuracy", 0]},
  {"on": "iteration_completed", "once": 30, "call": "demo.note", "args": ["loss/train/total", 0]}]' >engine/run.json
check "a supervised process trains" sh -c "cd engine && $TUTTI run run.json >out.txt"
check "with the metrics of a training run" test "$(grep ^test engine/out.txt)" = "$(grep ^test train/out.txt)"
# What trains nothing takes engine files and their checkpoints.
check "eval takes an engine file" test "$(cd engine && "$TUTTI" eval run.json --checkpoint auto 2>eval.txt | grep ^test)" = "$(grep ^test engine/out.txt)" || cat engine/eval.txt
check "predict too" sh -c "cd engine && $TUTTI predict run.json --checkpoint auto --output out.csv && [ \$(wc -l <out.csv) -gt 10 ]"
check "and plan" sh -c "$TUTTI plan engine/run.json | grep -q '^segments of a step'"
check "export takes the checkpoint" sh -c "$TUTTI export $(latest engine) --onnx engine.onnx | grep -q '^engine.onnx: '"
echo '{"epoch_length": 3, "process": {"call": "demo.mark"}}' >none.json
says "a loop without a model has none" 2 'none.json:1: model is missing: this engine file has none' "$TUTTI" plan none.json
cat >differs.py <<'PY'
"""Whether two checkpoints have the same weights and optimizer state."""
import json, struct, sys
def tensors(path):
    raw = open(path, "rb").read()
    size = struct.unpack("<Q", raw[:8])[0]
    head = json.loads(raw[8:8 + size])
    head.pop("__metadata__", None)
    return {k: raw[8 + size + v["data_offsets"][0]:8 + size + v["data_offsets"][1]] for k, v in head.items()
            if k.startswith(("model.", "optimizer."))}
a, b = tensors(sys.argv[1]), tensors(sys.argv[2])
sys.exit(not a or a != b)
PY
check "and to the same weights" python3 differs.py "$(latest train)" "$(latest engine)"
check "an evaluation comes before the handlers of its event" sh -c "[ \$(grep -c '^epoch_completed at step [123]0: metrics/test/accuracy' engine/out.txt) = 3 ]"

# alike <folder> <settings of both>: the engine's weights are those of training, precision and device included.
alike() {
  mkdir "$1"
  (cd "$1" && cp ../engine/run.json engine.json && cp ../train/run.json .)
  check "an engine with $1" sh -c 'cd "$0" && shift && "$@"' "$1" - "$TUTTI" run engine.json --set 'callbacks.0.folder=engine' "${@:2}"
  check "and training" sh -c 'cd "$0" && shift && "$@"' "$1" - "$TUTTI" train run.json --set 'callbacks.0.folder=train' "${@:2}"
  check "end with the same weights" python3 differs.py "$(ls "$1"/train/*latest*)" "$(ls "$1"/engine/*latest*)"
}
alike precision --set precision=amp_bf16
alike schedule --set 'schedulers=[{"name": "cosine_annealing_with_warmup", "t_warmup": "5ba"}]' --set microbatch_size=40
shadow="$(dirname "$TUTTI")/tests/devices/plugins"
if [ -d "$shadow" ]; then
  alike device --set device=shadow --plugin-path "$shadow"
else
  skip "the shadow device is not built"
fi

cp engine/run.json resumed
check "a checkpoint is taken up" sh -c "cd resumed && $TUTTI run run.json --resume \$(ls ../engine/saves/*-ba13.*) >out.txt"
check "where it was left" python3 "$e2e/same_weights.py" "$(latest engine)" "$(latest resumed)"
check "events go on where they were" sh -c "[ \$(grep -c '^epoch_completed' resumed/out.txt) = 2 ]"
# Saved behind an epoch's last batch, before its end.
mkdir whole cut
sed 's|"handlers": \[|&{"on": "epoch_completed", "call": "demo.note", "args": ["loss/train/total", 0]}, |' engine/run.json >whole/run.json
cp whole/run.json cut
check "saved at the end of an epoch" sh -c "cd whole && $TUTTI run run.json --set callbacks.0.interval=10ba >out.txt"
check "a run ends that epoch when it goes on" sh -c "cd cut && $TUTTI run run.json --set callbacks.0.interval=10ba --resume \$(ls ../whole/saves/*-ba10.*) >out.txt"
check "as it does without" sh -c "grep ^epoch_completed whole/out.txt >one.txt; grep ^epoch_completed cut/out.txt | diff one.txt - && [ \$(wc -l <one.txt) = 6 ]"
check "with the same clocks" bash -c "ls cut/saves | diff - <(ls whole/saves | grep -v ba10)"
check "and weights" python3 "$e2e/same_weights.py" "$(latest whole)" "$(latest cut)"
cd engine || exit 1
says "what is over is not run again" 0 \
  'tutti: nothing is left to run: 3 epochs and 30 iterations have passed; give a larger max_epochs or max_iters' \
  "$TUTTI" run run.json --resume auto
check "a larger limit goes on" sh -c "$TUTTI run run.json --resume auto --set max_epochs=4 | grep -q '^ran 40 iterations, 4 epochs'"
says "a training run's checkpoint is refused" 1 \
  "tutti: ../$(latest ../train | cut -c4-): holds no loop; it was written by \`tutti train\`" \
  "$TUTTI" run run.json --resume "$(latest ../train)"
cd ..

supervised '"max_epochs": 1, "handlers": [{"on": "iteration_completed", "once": 4, "call": "unruly.interrupt"}]' >stop.json
says "a signal saves" 130 'tutti: signal 2: stopping after this batch; a second signal does not wait for it; plugin org.tutti.unruly is at work: unruly.interrupt, call interrupt, event iteration_completed, step 4
tutti: stopped by signal 2 after batch 4, which is saved' "$TUTTI" run stop.json \
  --plugin-path "$(dirname "$TUTTI")/tests/fixtures/unruly"
check "and the run goes on from there" sh -c "$TUTTI run stop.json --set handlers=[] --resume auto | grep -q '^ran 10 iterations, 1 epochs'"
# A file that a signal asked for behind the last batch lacks the end of its epoch: the run that goes on ends with its own.
mkdir last
sed 's/"once": 4/"once": 30/; s/"max_epochs": 1/"max_epochs": 3/' stop.json >last/run.json
(cd last && "$TUTTI" run run.json --plugin-path "$(dirname "$TUTTI")/tests/fixtures/unruly" >out.txt 2>&1)
check "a signal behind the last batch saves" test "$(ls last/saves/*-ba30.*)" = last/saves/ep2-ba30.safetensors
check "and what is left of the run" sh -c "cd last && $TUTTI run run.json --set handlers=[] --resume auto >out.txt"
check "is saved as without" python3 "$e2e/same_weights.py" "$(ls engine/saves/*-ba30.*)" last/saves/ep3-ba30.safetensors
check "with the evaluation of its end" test "$(grep ^test last/out.txt)" = "$(grep ^test engine/out.txt)"
check "and the latest" test "$(readlink last/saves/*latest*)" = ep3-ba30.safetensors

# The recipes, smaller.
check "the recipe of drawn digits" sh -c "$TUTTI run $SOURCE/host/recipes/glyphs_engine.json --set max_epochs=1 \
  --set train.dataset.samples=2560 --set eval.0.dataset.samples=500 --set eval.1.dataset.samples=500 --set handlers.0.every=10 |
  grep -q '^epoch_completed at step 40: metrics/validation/accuracy is '"
python3 -c 'print("\n".join(f"ROMEO: {a} and {b} went by the {a}." for a in ("fox", "crow", "hen", "owl") * 40 for b in ("wolf", "cat")))' >play.txt
check "the recipe of a small GPT" sh -c "$TUTTI run $SOURCE/host/recipes/shakespeare_gpt_engine.json --set max_iters=2 \
  --set train.dataset.path=play.txt --set eval.0.dataset.path=play.txt --set train.batch_size=2 --set eval.0.batch_size=2 \
  --set eval.0.subset_num_batches=1 --set eval.0.on.every=2 --set callbacks.0.max_new_tokens=2 |
  grep -q '^completed at step 2: metrics/validation/language_cross_entropy is '"
supervised '"max_epochs": null, "max_iters": 8, "name": "rate",
  "callbacks": [{"name": "checkpoint_saver", "folder": "rate"}],
  "eval": [{"dataset": {"name": "glyphs", "samples": 100}, "transforms": [{"name": "normalize", "mean": [0.13], "std": [0.31]}],
    "on": ["milestone", {"event": "iteration_completed", "every": 4}], "metrics": [{"name": "accuracy"}]}],
  "handlers": [{"on": "iteration_completed", "once": 6, "call": "demo.mark"}], "loggers": [{"name": "jsonl"}]' >events.json
check "evaluations run at any event" "$TUTTI" run events.json
check "also at custom ones" sh -c "[ \$(grep -c 'metrics/eval/accuracy' runs/rate/*.jsonl) = 3 ]"
finish
