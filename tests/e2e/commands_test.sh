#!/usr/bin/env bash
# commands_test.sh - every command, its help and its exit status.
. "$(dirname "$0")/lib.sh"
small_run >run.json
# All commands that the program has, but `help` itself.
commands=$("$TUTTI" help | awk '/^  [a-z]/ && $1 != "help" { print $1 }')
check "the list of commands is read" sh -c "[ $(wc -w <<<"$commands") -ge 19 ]"
for command in $commands; do
  check "$command has help" "$TUTTI" "$command" --help
  check "$command tells its exit statuses" sh -c "$TUTTI $command --help | grep -q '^Exit status: 0 '"
done
check "help COMMAND is COMMAND --help" sh -c "[ \"\$($TUTTI help plan)\" = \"\$($TUTTI plan --help)\" ]"
for version in --version -V "train --version" "version --version"; do
  check "$version" sh -c "$TUTTI $version | grep -qx 'tutti [0-9.]*'"
done
check "help lists the commands" sh -c "$TUTTI --help | grep -q explain"
minor=$(awk '$2 == "TUTTI_MINOR" { print $3; exit }' "$SOURCE/sdk/include/tutti/base.h")
check "version" sh -c "$TUTTI version | grep -q 'plugin ABI 1.$minor'"
check "the lowest instruction set can be had" sh -c "TUTTI_ISA=base $TUTTI version | grep -q '^instruction set: base; this CPU'"
check "and there is no other name" sh -c "! TUTTI_ISA=v9 $TUTTI version 2>&1 | grep -v '^tutti: .*TUTTI_ISA is \"v9\", want one of base'"
check "plugins list" sh -c "$TUTTI plugins list | grep -q 'org.tutti.sgd'"
evil=$(dirname "$TUTTI")/tests/campaigns/plugins
for how in segv exit; do
  check "plugins list says which cannot be loaded: $how" sh -c "$TUTTI plugins list --plugin-path $evil/evil_load_$how |
    grep -A1 '^org.evil.evil' | grep -q 'cannot be loaded: plugin org.evil.evil \(crashed\|ended the process\): .*, call load'"
done
check "plugins info" sh -c "$TUTTI plugins info mixup | grep -q 'alpha'"
check "plugins info of functions" sh -c "$TUTTI plugins info org.tutti.demo | grep -qx 'note(str metric, f64 limit): handler of org.tutti.demo'"
check "validate" sh -c "$TUTTI validate run.json | grep -q 'run.json is valid'"
check "explain" sh -c "$TUTTI explain run.json | grep -q 'checkpoint_saver'"
check "bench loader" sh -c "$TUTTI bench loader run.json --set train.subset_num_batches=2 | grep -q '^epoch 3: .* [0-9.]* MB/s$'"
check "bench peak" sh -c "OMP_NUM_THREADS=1 $TUTTI bench peak | grep -q '^f32 .* [0-9.]* GFLOP/s$'"
check "bench peak of the lowest instruction set" sh -c "OMP_NUM_THREADS=1 TUTTI_ISA=base $TUTTI bench peak >peak.txt &&
  grep -q '^f32   multiply and add of 128 bits' peak.txt && ! grep -q '^bf16' peak.txt && grep -q '^triad .* GB/s$' peak.txt"
says "unknown command" 2 "tutti: there is no command trian; did you mean train?" "$TUTTI" trian
says "unknown option" 2 "tutti: --sett is no option; did you mean --set?" "$TUTTI" train --sett x=1
says "an option without its value" 2 "tutti: --set needs a value" "$TUTTI" train run.json --set
says "an option of other commands" 2 "tutti: --resume is no option" "$TUTTI" validate run.json --resume auto
says "too many arguments" 2 'tutti: usage: tutti validate [OPTION...] RUN.json; `tutti help validate` tells more' \
  "$TUTTI" validate run.json run.json
says "no argument" 2 'tutti: usage: tutti eval [OPTION...] RUN.json; `tutti help eval` tells more' "$TUTTI" eval
says "no checkpoint" 2 'tutti: eval needs --checkpoint, or "load_weights" in the run file' "$TUTTI" eval run.json
says "an optimizer that is not measured by ranges" 1 \
  'tutti: lamb updates whole weights, which this does not measure; want one that goes element by element' \
  "$TUTTI" bench optimizer lamb 4096
says "nothing to measure" 2 'tutti: usage: tutti bench [OPTION...] dispatch|plan|kernels|peak|optimizer [NAME COUNT]|loader [RUN.json]; `tutti help bench` tells more' \
  "$TUTTI" bench all
says "help of an unknown command" 2 "tutti: there is no command trian; did you mean train?" "$TUTTI" help trian
says "help of two commands" 2 "tutti: help takes one command, and then has run" "$TUTTI" help train run
check "no command at all" sh -c "$TUTTI 2>/dev/null; [ \$? = 2 ]"
check "--key=value, before the file and after" sh -c "$TUTTI validate --set=seed=3 run.json --set=threads=1 --device=cpu | grep -q valid"
says "a value is checked however it is given" 2 "run.json: seed: is -1, want an integer of at least 0" \
  "$TUTTI" validate run.json --set=seed=-1
check "behind -- all are arguments" sh -c "$TUTTI validate -- --run.json 2>&1 | grep -q -- '--run.json: '"
says "unknown object" 2 "tutti: no plugin has an object mixdown; \`tutti plugins list\` shows all" \
  "$TUTTI" plugins info mixdown

# Pinned trust: the plugins of the lock file, unchanged, and no other.
"$TUTTI" plugins lock >tutti.lock
check "the lock file is sha256sum's" sha256sum --quiet -c tutti.lock
check "locked plugins are used" sh -c "$TUTTI validate run.json --plugin-lock tutti.lock | grep -q 'run.json is valid'"
grep -v '/mlp/' tutti.lock >other.lock
check "one that is not locked is not" sh -c "$TUTTI plugins list --plugin-lock other.lock 2>/dev/null | grep -A1 'mlp\|? ?' | grep -q 'mlp/plugin.json: not pinned in other.lock'"
sed '/mlp\/mlp.so/s/^......../00000000/' tutti.lock >changed.lock
check "nor one that has changed" sh -c "$TUTTI validate run.json --plugin-lock changed.lock 2>&1 | grep -q 'mlp.so: has SHA-256 .*, but changed.lock pins 00000000'"
# Device code beside a manifest is locked as the library is: here a fatbin without anything in it.
mkdir -m 755 -p own && cp -r "$(dirname "$TUTTI")/lib/tutti/plugins/sgd" own/ && chmod -R go-w own
printf '\120\355\125\272\001\000\020\000\000\000\000\000\000\000\000\000' >own/sgd/sgd.fatbin
"$TUTTI" plugins lock --plugin-path own >own.lock
check "device code is in the lock file" grep -q "^$(sha256sum own/sgd/sgd.fatbin | cut -c 1-64)  $PWD/own/sgd/sgd.fatbin$" own.lock
printf '\001' >>own/sgd/sgd.fatbin
check "device code that has changed is not used" sh -c "$TUTTI plugins list --plugin-path own --plugin-lock own.lock 2>/dev/null | grep -q 'sgd.fatbin: has SHA-256 .*, but own.lock pins '"
says "a run of plugins check that is not there" 2 "tutti: missing.json: No such file or directory" \
  "$TUTTI" plugins check "$(dirname "$TUTTI")/lib/tutti/plugins/ema" --run missing.json
says "a lock file that is not there" 2 "tutti: missing.lock: No such file or directory" \
  "$TUTTI" validate run.json --plugin-lock missing.lock
finish
