#!/usr/bin/env bash
# refusals_test.sh - data, checkpoints and sizes that a run must refuse, each with its sentence.
. "$(dirname "$0")/lib.sh"
python=${PYTHON:-python3}

# ---- data: two drawings as IDX files ----
"$python" - <<'PY'
import struct
def idx(name, shape, data):
    with open(name, "wb") as f:
        f.write(bytes([0, 0, 8, len(shape)]) + struct.pack(f">{len(shape)}I", *shape) + data)
idx("images", (64, 4, 4), bytes(range(256)) * 4)
idx("labels", (64,), bytes(k % 3 for k in range(64)))
idx("short", (64, 4, 4), bytes(1000))
idx("none", (0, 4, 4), b"")
PY
cat >idx.json <<'JSON'
{
  "model": {"name": "mlp", "hidden": [4]},
  "train": {
    "dataset": {"name": "idx", "images": "images", "labels": "labels"},
    "transforms": [{"name": "normalize", "mean": [0.5], "std": [0.5]}],
    "batch_size": 16
  },
  "optimizer": {"name": "sgd", "lr": 0.1},
  "max_duration": "1ep"
}
JSON
check "the set as it should be" "$TUTTI" train idx.json
says "a missing file" 2 'tutti: dataset idx cannot be opened: nowhere: No such file or directory' \
  "$TUTTI" train idx.json --set train.dataset.images=nowhere
says "a truncated file" 2 \
  'tutti: dataset idx cannot be opened: short: ends 24 bytes before its header says' \
  "$TUTTI" train idx.json --set train.dataset.images=short
says "an empty set" 2 'tutti: dataset idx cannot be opened: none: the set is empty' \
  "$TUTTI" train idx.json --set train.dataset.images=none
says "a label out of range" 2 \
  'tutti: dataset idx cannot be opened: labels: sample 2: label 2, want 0 to 1' \
  "$TUTTI" train idx.json --set train.dataset.classes=2
says "a batch larger than the set" 2 \
  'tutti: dataset idx has 64 samples, which is no whole batch of 65' \
  "$TUTTI" train idx.json --set train.batch_size=65

# ---- checkpoints ----
small_run >run.json
check "a run that saves" "$TUTTI" train run.json
saved=$(find saves -name '*.safetensors' -type f | sort | tail -1)
resume() {
  "$TUTTI" train "${2:-run.json}" --set max_duration=4ep --resume "$1"
}

head -c 1000 "$saved" >cut.safetensors
says "a truncated header" 1 \
  'tutti: cut.safetensors: the checkpoint is damaged: it ends within the header' \
  resume cut.safetensors
head -c -1000 "$saved" >cut.safetensors
says "truncated weights" 1 \
  'tutti: cut.safetensors: the checkpoint is damaged: it is shorter than its tensors' \
  resume cut.safetensors
cp "$saved" flip.safetensors
"$python" - <<'PY'
with open("flip.safetensors", "r+b") as f:
    f.seek(-100, 2)
    byte = f.read(1)[0]
    f.seek(-100, 2)
    f.write(bytes([byte ^ 4]))
PY
says "a flipped bit" 1 \
  'tutti: flip.safetensors: the checkpoint is damaged: its bytes do not match the checksum' \
  resume flip.safetensors
sed 's/"hidden": \[32\]/"hidden": [16]/' run.json >other.json
says "another model" 1 \
  "tutti: $saved: model.body.head.weight is F32 (10, 32), the model's is F32 (10, 16); 3 of this run's 4 weights do not fit, \"load_strict\": false takes the others" \
  resume "$saved" other.json

# The same checkpoint as if a plugin of another version had written it, in the format of before.
rewrite() {
  "$python" "$SOURCE/tests/e2e/rewrite_checkpoint.py" "$saved" "$1" "$2" "$3"
}
rewrite newer.safetensors 'org.tutti.mlp 1.0.0' 'org.tutti.mlp 2.0.0'
says "another plugin version" 1 \
  'tutti: newer.safetensors: was written with plugin org.tutti.mlp 2.0.0, this run has 1.0.0; use the version that wrote it, or start anew' \
  resume newer.safetensors
rewrite older.safetensors 'org.tutti.mlp 1.0.0' 'org.tutti.mlp 1.1.0'
says "a plugin older than the one that wrote it" 1 \
  'tutti: older.safetensors: was written with plugin org.tutti.mlp 1.1.0, this run has 1.0.0; use the version that wrote it, or start anew' \
  resume older.safetensors
rewrite patch.safetensors 'org.tutti.mlp 1.0.0' 'org.tutti.mlp 1.0.9'
check "a version that differs in its last part goes on" resume patch.safetensors

# A model that an algorithm has changed wants the same algorithm again.
sed 's/{"name": "mlp", "hidden": \[32\], "dropout": 0.1}/{"name": "cnn"}/; s/"saves"/"changed"/; s/"1ba"/"1ep"/' run.json >plain.json
check "a run whose model is changed" "$TUTTI" train plain.json --set max_duration=1ep \
  --set 'algorithms=[{"name": "blurpool", "min_channels": 1}]'
says "a model that was changed by an algorithm that the run leaves out" 1 \
  'tutti: changed/latest.safetensors: its model was changed by blurpool, which this run does not have; add --set '\''algorithms.0={"name": "blurpool", "replace_convs":true,"replace_maxpools":true,"blur_first":true,"min_channels":1}'\''' \
  "$TUTTI" train plain.json --resume changed/latest.safetensors
check "what it says to add takes the run up" "$TUTTI" train plain.json --resume changed/latest.safetensors \
  --set max_duration=2ep --set "$(sed -n "s/.*; add --set '\(.*\)'$/\1/p" says.err)"
norms=(--set 'model={"name": "vit", "patch_size": 14, "num_layers": 1, "num_heads": 1, "hidden_dim": 8, "mlp_dim": 8}' --set precision=amp_bf16
  --set callbacks.0.interval=1ba --set callbacks.0.folder=norms)
check "a run whose norms are of 16 bits" "$TUTTI" train plain.json "${norms[@]}" --set max_duration=1ba --set 'algorithms=[{"name": "low_precision_layernorm"}]'
says "norms that the run leaves out" 1 \
  'tutti: norms/latest.safetensors: its model was changed by low_precision_layernorm, which this run does not have; add --set '\''algorithms.0={"name": "low_precision_layernorm", "apply_at":"init"}'\''' \
  "$TUTTI" train plain.json "${norms[@]}" --resume norms/latest.safetensors
"$TUTTI" train plain.json --resume changed/latest.safetensors --set max_duration=2ep \
  --set 'algorithms=[{"name": "blurpool", "min_channels": 2}]' >out.txt 2>err.txt
check "other settings are told of" grep -q 'its model was changed by blurpool {.*"min_channels":1}, this run.s by {.*"min_channels":2}' err.txt

# ---- a batch larger than memory: its size is known before the first step ----
"$TUTTI" train --set train.batch_size=4000000 --set train.dataset.samples=4000000 \
  --set eval=[] >out.txt 2>err.txt
check "a plan larger than memory fails" test $? = 1
check "and says how large" grep -Eq \
  '^tutti: the training plan for inputs of F32 \(4000000, 28, 28, 1\) needs [0-9.]+ [GT]iB, [0-9.]+ [GMT]iB are available; use a smaller microbatch_size$' err.txt
check "before any batch" sh -c '! grep -q ^trained out.txt'
# Processes of one launcher would write the same files.
says "two processes of mpirun" 2 "tutti: Open MPI's mpirun has started 2 processes, each of which would train the whole run and write the same files; start one, or give the run file a \"distributed\" object" \
  env OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_RANK=1 "$TUTTI" train idx.json
check "one process of srun trains" env SLURM_STEP_NUM_TASKS=1 "$TUTTI" train idx.json --set name=alone --set max_duration=1ba
# A rank without plugins does not leave the others of MPICH's mpirun waiting.
echo x >policy.json
for command in train run eval profile; do
  check "$command has the launcher end its job" sh -c '
    ! PMI_FD=3 PMI_RANK=0 PMI_SIZE=2 "$TUTTI" "$1" idx.json --plugin-policy policy.json 3>asked.txt 2>err.txt &&
    [ "$(cat asked.txt)" = "cmd=abort exitcode=2" ]' - "$command"
done

finish
