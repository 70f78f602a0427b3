#!/usr/bin/env bash
# trust_test.sh - the program finds its plugins whatever the umask was: beside it they are as trusted as it is.
. "$(dirname "$0")/lib.sh"
mkdir -p t/lib/tutti/plugins
cp -a "$TUTTI" t/tutti
cp -a "$(dirname "$TUTTI")/lib/tutti/plugins/"{mlp,glyphs,sgd} t/lib/tutti/plugins/
cat >run.json <<'JSON'
{
  "model": {"name": "mlp", "hidden": [4]},
  "train": {"dataset": {"name": "glyphs", "samples": 8}, "batch_size": 8},
  "optimizer": {"name": "sgd", "lr": 0.1},
  "max_duration": "1ba"
}
JSON
export TUTTI_ADD_PLUGIN_PATH= TUTTI_PLUGIN_PATH= XDG_DATA_HOME=$work/none

check "umask 022" env -C t ./tutti validate ../run.json
chmod -R g+w t
check "umask 002, whoever's group it is" env -C t ./tutti validate ../run.json
check "the same from the folder above" t/tutti validate run.json
chmod -R o+w t
check "where everyone may write the program as well" t/tutti validate run.json

# Who may write the plugins but not the program gains by it.  Each library is its own reason to refuse, and
# still there is one sentence.
chmod -R go-w t
chmod o+w t/lib/tutti/plugins/*/plugin.json
says "nothing is trusted" 2 "tutti: no plugin is trusted, the first for this: plugin t/lib/tutti/plugins/glyphs is not used: \
t/lib/tutti/plugins/glyphs/plugin.json: the file is writable by everyone (mode 0646), want only by its owner; \
make root or user $(id -u) the only one who may write there (chown -R, chmod -R go-w)" t/tutti validate run.json
check "what it says mends it" chmod -R go-w t
check "so that all is well" t/tutti validate run.json

if [ "$(id -u)" = 0 ]; then
  chown -R 12345:12345 t
  check "root runs another user's program with his plugins" t/tutti validate run.json
  chown -R 0:0 t/tutti t/lib
  chown 12345 t/lib/tutti/plugins/mlp/plugin.json
  check "the owner of the program's folder may write beside it" t/tutti validate run.json
  chown 0 t
  check "what is another user's is not used" bash -c "! t/tutti validate run.json 2>err.txt"
  check "which is said of it alone" grep -q 'mlp/plugin.json: the file belongs to user 12345, want root or user 0' err.txt
  # The group of the program's owner, in which others are.
  chown -R 0:12345 t && chmod -R g+w t
  check "a group that may write the program may write beside it" t/tutti validate run.json
  chmod g-w t t/tutti
  check "one that may not, may not" bash -c "! t/tutti validate run.json 2>err.txt"
  check "which is one sentence" test "$(wc -l <err.txt)" = 1
else
  skip "only root can give files away"
fi
finish
