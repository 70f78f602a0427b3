#!/usr/bin/env bash
# commands_test.sh - every command, its help and its exit status.
. "$(dirname "$0")/lib.sh"
small_run >run.json
for command in train validate explain plugins bench version; do
  check "$command has help" "$TUTTI" "$command" --help
done
check "help lists the commands" sh -c "$TUTTI --help | grep -q explain"
check "version" sh -c "$TUTTI version | grep -q 'plugin ABI 1.0'"
check "plugins list" sh -c "$TUTTI plugins list | grep -q 'org.tutti.sgd'"
check "plugins info" sh -c "$TUTTI plugins info mixup | grep -q 'alpha'"
check "plugins info of functions" sh -c "$TUTTI plugins info org.tutti.demo | grep -qx 'note(str metric, f64 limit): handler of org.tutti.demo'"
check "validate" sh -c "$TUTTI validate run.json | grep -q 'run.json is valid'"
check "explain" sh -c "$TUTTI explain run.json | grep -q 'checkpoint_saver'"
check "bench loader" sh -c "$TUTTI bench loader run.json --set train.subset_num_batches=2 | grep -q '^epoch 3: '"
says "unknown command" 2 "tutti: there is no command trian; did you mean train?" "$TUTTI" trian
says "unknown option" 2 "tutti: --sett is no option; did you mean --set" "$TUTTI" train --sett x=1
says "unknown object" 2 "tutti: no plugin has an object mixdown; \`tutti plugins list\` shows all" \
  "$TUTTI" plugins info mixdown
finish
