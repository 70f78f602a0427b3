#!/usr/bin/env bash
# signed_test.sh - plugins that are signed, by this program or by minisign, and policies that want them so.
. "$(dirname "$0")/lib.sh"
umask 022
# Neither this machine's policies and keys nor its plugins.
mkdir -p config/trusted.d own
export TUTTI_CONFIG_PATH=$work/config TUTTI_ADD_PLUGIN_PATH= TUTTI_PLUGIN_PATH=$work/own
here=$(cd "$(dirname "$TUTTI")" && pwd)
cp -r "$here/lib/tutti/plugins/"{mlp,glyphs,nn,normalize,sgd} own/ && chmod -R go-w own
cat >run.json <<'JSON'
{
  "model": {"name": "mlp", "hidden": [4]},
  "train": {"dataset": {"name": "glyphs", "samples": 8}, "batch_size": 8,
            "transforms": [{"name": "normalize", "mean": [0.13], "std": [0.31]}]},
  "optimizer": {"name": "sgd", "lr": 0.1},
  "max_duration": "1ba"
}
JSON

# ---- policies that need no signature ----
policy() { printf '{"format": "1.0", %s}\n' "$1" >config/policy.json; }
chmod o+w own/sgd/sgd.so
check "without a policy owners are looked at" sh -c '! "$TUTTI" validate run.json 2>err.txt && grep -q "sgd.so: the file is writable by everyone" err.txt'
policy '"trust": "any"'
check "any: nobody's files are looked at" "$TUTTI" train run.json
printf '{"format": "1.0", "trust": "owner"}\n' >mine.json
check "of several policies each is kept to" sh -c '! "$TUTTI" validate run.json --plugin-policy mine.json 2>err.txt && grep -q "sgd.so: the file is writable by everyone" err.txt'
policy '"trust": "owner", "folders": [{"path": "'"$work"'/own/sgd", "trust": "any"}]'
check "a folder may have a word of its own" "$TUTTI" validate run.json
chmod o-w own/sgd/sgd.so
policy '"trust": "pinned"'
says "pins without a lock file" 2 "tutti: config/policy.json: wants pinned plugins and names no lock file, want \"lock\" in it or --plugin-lock" \
  "$TUTTI" validate run.json
policy '"trust": "any"'
"$TUTTI" plugins lock >config/plugins.lock
policy '"trust": "pinned", "lock": "plugins.lock"'
check "the lock file lies beside the policy" "$TUTTI" train run.json
echo >>own/mlp/plugin.json
for command in "validate run.json" "explain run.json" "train run.json"; do
  check "$command: what is not as it was pinned is refused" sh -c '! "$TUTTI" '"$command"' 2>err.txt >out.txt && grep -q "mlp/plugin.json: has SHA-256 .*, but $TUTTI_CONFIG_PATH/plugins.lock pins " err.txt'
done
check "plugins trust names the policy" sh -c '"$TUTTI" plugins trust 2>/dev/null | grep -qx "policy $TUTTI_CONFIG_PATH/policy.json: pinned"'
check "and what holds for each plugin" sh -c '"$TUTTI" plugins trust 2>/dev/null | grep -q "^org.tutti.sgd [0-9.]*: pinned$"'
check "and what the loader listens to" sh -c 'LD_LIBRARY_PATH=/nowhere "$TUTTI" plugins trust 2>/dev/null | grep -q "^LD_LIBRARY_PATH=/nowhere: acts before"'
check "which a pinned run says by itself" sh -c 'LD_LIBRARY_PATH=/nowhere "$TUTTI" plugins list 2>&1 | grep -q "LD_LIBRARY_PATH is set, so code runs in this program that is neither pinned nor signed"'
chmod o+w config/policy.json
says "a policy that others may write" 2 "tutti: the policy config/policy.json is not used: config/policy.json: the file is writable by everyone (mode 0646), want only by its owner" \
  "$TUTTI" validate run.json
rm config/policy.json
printf '{"format": "1.0", "trust": "sined", "lock": 3}\n' >mine.json
says "a policy with faults" 2 "tutti: mine.json:1: trust: is \"sined\", want \"any\", \"owner\", \"pinned\" or \"signed\"; did you mean signed?
mine.json:1: lock: is 3, want a string that is not empty" "$TUTTI" validate run.json --plugin-policy mine.json

# ---- signatures ----
if ! "$TUTTI" plugins keygen probe --no-password >probe.txt 2>&1; then
  check "a build without libsodium says so" grep -q "this build has no libsodium" probe.txt
  skip "this build has no libsodium"
  finish
fi
policy '"trust": "signed"'
check "what is not signed is refused" sh -c '! "$TUTTI" validate run.json 2>err.txt && grep -q "own/mlp: not signed: has no plugin.sums.minisig, which .tutti plugins sign. makes" err.txt'
check "which plugins list says" sh -c '"$TUTTI" plugins list 2>/dev/null | grep -q "not usable: .*own/mlp: not signed: "'
check "and plugins check" sh -c '"$TUTTI" plugins check own/mlp 2>/dev/null | grep -q "own/mlp: not signed: "'
check "keygen" "$TUTTI" plugins keygen ours --no-password
check "the secret key is its owner's" test "$(stat -c %a ours.key)" = 600
says "keys are not written over" 1 "tutti: ours.key: File exists" "$TUTTI" plugins keygen ours --no-password
for p in mlp glyphs nn normalize sgd; do check "sign $p" "$TUTTI" plugins sign own/$p --key ours.key; done
check "the list is sha256sum's" env -C own/mlp sha256sum --quiet -c plugin.sums
id=$(sed -n '1s/.* //p' ours.pub)
check "a key that is not trusted" sh -c '! "$TUTTI" validate run.json 2>err.txt && grep -q "made by key '"$id"', which is not trusted" err.txt'
cp ours.pub config/trusted.d/
check "a key that is" "$TUTTI" train run.json
check "plugins trust names it" sh -c '"$TUTTI" plugins trust | grep -q "^org.tutti.mlp .*: signed by '"$id"' (timestamp:.*plugin:org.tutti.mlp "'
check "verify" sh -c '"$TUTTI" plugins verify own/mlp | grep -q "signed by '"$id"'"'
check "verify with one key" "$TUTTI" plugins verify own/mlp --key ours.pub
check "verify with another one" sh -c '! "$TUTTI" plugins verify own/mlp --key probe.pub 2>err.txt && grep -q "which is not trusted" err.txt'
touch own/mlp/more
says "a file that is not signed" 1 "tutti: own/mlp/more: not among the files that own/mlp/plugin.sums lists" "$TUTTI" plugins verify own/mlp
rm own/mlp/more
cp own/mlp/mlp.so mlp.so
printf x >>own/mlp/mlp.so
check "a library that has changed" sh -c '! "$TUTTI" validate run.json 2>err.txt && grep -q "own/mlp/mlp.so: has SHA-256 .*, but .*own/mlp/plugin.sums, signed by '"$id"', has " err.txt'
cp mlp.so own/mlp/mlp.so
printf '%064d  mlp.so\n' 0 >>own/mlp/plugin.sums
check "a list that has changed" sh -c '! "$TUTTI" validate run.json 2>err.txt && grep -q "own/mlp/plugin.sums.minisig: not the signature of key '"$id"' for what it is said to sign" err.txt'
check "signed anew" "$TUTTI" plugins sign own/mlp --key ours.key
chmod o+w config/trusted.d/ours.pub
check "a key that others may write is not trusted" sh -c '! "$TUTTI" validate run.json 2>err.txt && grep -q "a key is not trusted: the key .*ours.pub is not used: .*ours.pub: the file is writable by everyone" err.txt'
chmod o-w config/trusted.d/ours.pub

# ---- with minisign ----
if ! command -v minisign >/dev/null; then
  skip "there is no minisign"
  finish
fi
check "minisign verifies what is signed here" minisign -q -V -p ours.pub -m own/mlp/plugin.sums -x own/mlp/plugin.sums.minisig
check "minisign signs with a key of ours" minisign -q -S -s ours.key -m own/sgd/plugin.sums -t "a comment"
check "which is verified here" sh -c '"$TUTTI" plugins verify own/sgd | grep -qx "a comment"'
check "minisign's own keys, without a password" minisign -G -W -f -p theirs.pub -s theirs.key
check "sign with them" "$TUTTI" plugins sign own/sgd --key theirs.key
check "and verify" "$TUTTI" plugins verify own/sgd --key theirs.pub
check "minisign verifies that" minisign -q -V -p theirs.pub -m own/sgd/plugin.sums
# With little memory minisign's key costs little to open.
(ulimit -v 100000 && printf 'secret words\nsecret words\n' | minisign -G -f -p locked.pub -s locked.key >minisign.txt 2>&1)
check "minisign's keys with a password" sh -c 'printf "secret words\n" | "$TUTTI" plugins sign own/sgd --key locked.key 2>/dev/null'
check "verified" "$TUTTI" plugins verify own/sgd --key locked.pub
says "a wrong password" 2 "Password: 
tutti: locked.key: that is not its password" sh -c 'echo wrong | "$TUTTI" plugins sign own/sgd --key locked.key'
finish
