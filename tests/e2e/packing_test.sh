#!/usr/bin/env bash
# packing_test.sh - a plugin's operation whose packing (tutti_packing) is not whole is refused in one sentence.
. "$(dirname "$0")/lib.sh"
command -v "${CC:-cc}" >/dev/null || skip_all "no C compiler"

mkdir -p plugins/packer
cat >plugins/packer/plugin.json <<'JSON'
{
  "format": "1.0", "id": "test.packer", "version": "1.0.0", "license": "Apache-2.0",
  "abi": {"min": "1.2"}, "library": {"path": "packer.so"}, "consumes": ["tutti.op/1", "tutti.loss/1"],
  "objects": [
    {"name": "half", "kind": "op", "doc": "Half of x."},
    {"name": "halved", "kind": "algorithm", "doc": "Half of the loss.", "events": ["before_loss"],
     "params": {"op": {"type": "string", "default": "half"}}}
  ]
}
JSON
small_run '"algorithms": [{"name": "halved"}]' >run.json
# with <packing>: the plugin with it.
with() {
  "${CC:-cc}" -std=c11 -O1 -shared -fPIC -fvisibility=hidden -I "$SOURCE/sdk/include" -DPLUGIN_ID='"test.packer"' -DOP_NAME='"half"' "-DPACKING=$1" \
    "$e2e/halving_op.c" -o plugins/packer/packer.so -lm
}
train() { "$TUTTI" train run.json --plugin-path plugins --duration 1ba --set 'eval=[]' --quiet; }
check "it compiles against the SDK alone" with '.struct_size = sizeof packing, .bytes = bytes, .pack = pack, .use = use'
check "one that is whole trains" train
for lacks in bytes pack use; do
  whole='.struct_size = sizeof packing, .bytes = bytes, .pack = pack, .use = use'
  check "without $lacks" with "${whole/.$lacks = $lacks/.$lacks = NULL}"
  says "it is refused" 1 "tutti: halved: half: the operation's cpu_packing has no $lacks" train
done
check "too small" with '.struct_size = 8, .bytes = bytes, .pack = pack, .use = use'
says "it is refused" 1 "tutti: halved: half: the caller's tutti_packing has struct_size 8, want at least 32: set it to sizeof" train
finish
