#!/usr/bin/env bash
# walk_lora_test.sh - docs/walks/lora.sh, and with it the recipe finetune_llama_lora.
. "$(dirname "$0")/lib.sh"
wants_tokenizers
bash "$SOURCE/docs/walks/lora.sh" walk >out.txt 2>&1
status=$?
check "the walk goes to its end" test $status = 0
[ $status = 0 ] || cat out.txt
check "adapters are written" test -e walk/adapter/adapter_config.json -a -e walk/adapter/adapter_model.safetensors
check "the merged folder has a tokenizer" cmp walk/base/tokenizer.json walk/merged/tokenizer.json
check "and answers with an animal and its colour, as it was taught" grep -Eq '^(dog|cat|bird) (red|green|blue)$' out.txt
finish
