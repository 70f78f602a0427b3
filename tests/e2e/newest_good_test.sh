#!/usr/bin/env bash
# newest_good_test.sh - --resume auto past damaged checkpoints, and states that a checkpoint lacks.
. "$(dirname "$0")/lib.sh"
flip() { # <file>: one bit of its weights
  python3 - "$1" <<'PY'
import sys
with open(sys.argv[1], "r+b") as f:
    f.seek(-100, 2)
    byte = f.read(1)[0]
    f.seek(-100, 2)
    f.write(bytes([byte ^ 4]))
PY
}
small_run | sed 's/"keep": 2/"keep": -1/; s/"interval": "1ba"/"interval": "1ep"/' >run.json
check "a run of three checkpoints" "$TUTTI" train run.json
cp saves/ep3-ba30.safetensors whole.safetensors
flip saves/ep3-ba30.safetensors
flip saves/ep2-ba20.safetensors
"$TUTTI" eval run.json --checkpoint auto >out.txt 2>err.txt
check "an evaluation is one of the newest or of none" grep -q \
  'tutti: .*/saves/ep3-ba30.safetensors: the checkpoint is damaged: its bytes do not match the checksum$' err.txt
check "and changes no file" test -e saves/ep3-ba30.safetensors
says "the newest good one is taken" 0 "tutti: train: saves/ep2-ba20.safetensors: the checkpoint is damaged: its bytes do not match the checksum; it is kept as saves/ep2-ba20.safetensors.damaged
tutti: train: saves/ep3-ba30.safetensors: the checkpoint is damaged: its bytes do not match the checksum; it is kept as saves/ep3-ba30.safetensors.damaged" \
  "$TUTTI" train run.json --resume auto
check "and leads to the same end" python3 "$e2e/same_weights.py" whole.safetensors saves/ep3-ba30.safetensors
for file in saves/ep*.safetensors; do flip "$file"; done
says "without a good one the run does not begin anew" 1 \
  'tutti: saves/ep3-ba30.safetensors: the checkpoint is damaged: its bytes do not match the checksum' \
  "$TUTTI" train run.json --resume auto
check "and no file is moved" test -e saves/ep3-ba30.safetensors

# ---- what a checkpoint has of objects ----
rm -r saves
small_run '"algorithms": [{"name": "ema"}]' | sed 's/"1ba"/"1ep"/' >ema.json
check "a run with an average" "$TUTTI" train ema.json --set max_duration=1ep
python3 "$e2e/rewrite_checkpoint.py" saves/ep1-ba10.safetensors lost.safetensors algorithm.ema.flags algorithm.ema.flagt
says "a state that is not there is no new one" 1 \
  'tutti: lost.safetensors: has no algorithm.ema.flags, though it has the state of ema; it was written by another version or other settings of it' \
  "$TUTTI" train ema.json --resume lost.safetensors
# A callback whose table says that its state may be new, as older versions of it kept none.
memory='callbacks.1={"name": "memory_snapshot"}'
check "a run with a callback that keeps a state" "$TUTTI" train ema.json --set max_duration=1ep --set "$memory" --set callbacks.0.overwrite=true
python3 "$e2e/rewrite_checkpoint.py" saves/ep1-ba10.safetensors older.safetensors callback.memory_snapshot.progress callback.memory_snapshot.progrest
says "a state that may be new begins anew" 0 \
  'tutti: train: older.safetensors: is of an older format, whose checksum does not cover names and settings; damage to these would not be noticed' \
  "$TUTTI" train ema.json --resume older.safetensors --set max_duration=11ba --set "$memory" --set callbacks.0.overwrite=true
check "and the run goes on to its end" grep -q '^trained 11 batches' says.out
python3 "$e2e/rewrite_checkpoint.py" older.safetensors neither.safetensors algorithm.ema.flags algorithm.ema.flagt
says "which excuses no other object" 1 \
  'tutti: neither.safetensors: has no algorithm.ema.flags, though it has the state of ema; it was written by another version or other settings of it' \
  "$TUTTI" train ema.json --resume neither.safetensors --set max_duration=11ba --set "$memory" --set callbacks.0.overwrite=true
"$TUTTI" train ema.json --resume saves/ep1-ba10.safetensors --set max_duration=11ba --set callbacks.0.overwrite=true \
  --set 'callbacks.1={"name": "speed_monitor"}' --set 'loggers=[{"name": "jsonl"}]' >out.txt 2>err.txt
check "an object that joins is told of" grep -q 'knows no speed_monitor; its state begins anew' runs/small/log.jsonl
"$TUTTI" train ema.json --resume saves/ep1-ba10.safetensors --set 'optimizer={"name": "sgd"}' --set callbacks=[] --set max_duration=11ba >out.txt 2>err.txt
check "optimizer state that is left out is told of" grep -q \
  'saves/ep1-ba10.safetensors: 8 of its tensors are not in this run.s model or optimizer and are left out, such as optimizer.exp_avg.body.head.bias$' err.txt
check "and the other optimizer" grep -q 'with other settings: optimizer.name was "adamw", is "sgd"; optimizer.lr was 0.01, is not set$' err.txt
finish
