#!/usr/bin/env bash
# packed_weights_test.sh - an algorithm writes weights between two evaluations with no update between: each sees the weights of
# its moment, where products read them packed (on CPUs with units for bf16) as elsewhere.
. "$(dirname "$0")/lib.sh"

# evaluation <label> <interval>
evaluation() {
  echo "{\"label\": \"$1\", \"interval\": \"$2\", \"dataset\": {\"name\": \"glyphs\", \"samples\": 100, \"split\": \"test\"}," \
    "\"transforms\": [{\"name\": \"normalize\", \"mean\": [0.13], \"std\": [0.31]}], \"batch_size\": 50, \"metrics\": [{\"name\": \"loss\"}]}"
}
# The model gets its mean behind the evaluation of the last batch, and before that of the last epoch.
cat >members.json <<JSON
{"model": {"name": "mlp", "hidden": [256, 256]}, "precision": "amp_bf16", "max_duration": "2ep",
 "eval": [$(evaluation batch 1ba), $(evaluation epoch 1ep)],
 "algorithms": [{"name": "swa", "swa_start": "1ep", "swa_end": "2ep", "update_interval": "1ep"}],
 "loggers": [{"name": "jsonl", "filename": "log.jsonl"}],
 "callbacks": [{"name": "checkpoint_saver", "folder": "saves", "interval": "1ep"}]}
JSON
small_run | python3 "$e2e/small_run.py" members.json >run.json
last() { grep -o "\"metrics/$1/loss\":[0-9.]*" log.jsonl | tail -1 | cut -d: -f2; } # last <label>
check "it trains" "$TUTTI" train run.json --quiet
in_run=$(last epoch)
check "the mean is another model than the last batch's" test "$in_run" != "$(last batch)"
check "its checkpoint is evaluated" "$TUTTI" eval run.json --checkpoint saves/latest.safetensors --quiet
check "to what the run said of it" grep -qx "epoch loss: $(printf %.4f "$in_run")" check.out
finish
