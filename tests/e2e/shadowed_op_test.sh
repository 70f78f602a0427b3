#!/usr/bin/env bash
# shadowed_op_test.sh - a plugin's operation with the name of one of the host's: the bare name stays the host's, the
# plugin's goes by id:name, and `tutti plugins list` says so.
. "$(dirname "$0")/lib.sh"
command -v "${CC:-cc}" >/dev/null || skip_all "no C compiler"

mkdir -p plugins/shade
cat >plugins/shade/plugin.json <<'JSON'
{
  "format": "1.0", "id": "test.shade", "version": "1.0.0", "license": "Apache-2.0",
  "abi": {"min": "1.0"}, "library": {"path": "shade.so"}, "consumes": ["tutti.op/1", "tutti.loss/1"],
  "objects": [
    {"name": "relu", "kind": "op", "doc": "Half of x, in spite of its name."},
    {"name": "halved", "kind": "algorithm", "doc": "Half of the loss.", "events": ["before_loss"],
     "params": {"op": {"type": "string", "default": "test.shade:relu"}}}
  ]
}
JSON
check "it compiles against the SDK alone" "${CC:-cc}" -std=c11 -O1 -shared -fPIC -fvisibility=hidden \
  -I "$SOURCE/sdk/include" -DPLUGIN_ID='"test.shade"' -DOP_NAME='"relu"' "$e2e/halving_op.c" -o plugins/shade/shade.so -lm
"$TUTTI" plugins list --plugin-path plugins >list.txt
check "the list says whose name it is" grep -qF "op relu (as test.shade:relu; the name alone is the host's), algorithm halved" list.txt

# first_loss <what> <algorithms>: the loss of the first batch.
first_loss() {
  small_run "\"loggers\": [{\"name\": \"jsonl\", \"filename\": \"log.jsonl\"}], \"algorithms\": [$2]" >run.json
  "$TUTTI" train run.json --plugin-path plugins --duration 1ba --set 'eval=[]' >out.txt 2>&1 ||
    { echo "FAILED: $1"; cat out.txt; failures=$((failures + 1)); }
  grep -o '"loss/train/total": *[0-9.]*' log.jsonl | head -1 | grep -o '[0-9.]*$'
  rm -rf log.jsonl saves
}
plain=$(first_loss "a run without it" '')
own=$(first_loss "one with its relu" '{"name": "halved"}')
bare=$(first_loss "one with the bare name" '{"name": "halved", "op": "relu"}')
check "id:name is the plugin's" python3 -c "import sys; sys.exit(abs($own - $plain / 2) > 1e-6 * $plain)"
check "the bare name is the host's" test "$bare" = "$plain"
check "what is not there is said" sh -c "! '$TUTTI' train run.json --plugin-path plugins --duration 1ba \
  --set 'algorithms.0.op=\"test.shade:elu\"' 2>said && grep -q 'there is no operation \"test.shade:elu\"' said"
finish
