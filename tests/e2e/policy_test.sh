#!/usr/bin/env bash
# policy_test.sh - policy files: what the host takes, the schema takes, and the other way round.
. "$(dirname "$0")/lib.sh"
umask 022
mkdir config plugins cases
export TUTTI_CONFIG_PATH=$work/config TUTTI_ADD_PLUGIN_PATH= TUTTI_PLUGIN_PATH=$work/plugins
: >empty.lock
number=0
# policy <good|bad> <members>
policy() {
  number=$((number + 1))
  printf '%s\n' "$2" >"cases/$number.$1.json"
  if "$TUTTI" plugins path --plugin-policy "cases/$number.$1.json" >out.txt 2>err.txt; then host=good; else host=bad; fi
  check "the host finds it $1: $2" test $host = "$1"
}
policy good '{"format": "1.0", "trust": "any"}'
policy good '{"format": "1.0", "trust": "owner", "x-note": [1]}'
policy good '{"format": "1.0", "trust": "signed", "folders": []}'
policy good '{"format": "1.0", "trust": "pinned", "lock": "../empty.lock"}'
policy good '{"format": "1.0", "trust": "owner", "folders": [{"path": "/usr/lib/tutti/plugins", "trust": "any"}, {"path": "/", "trust": "signed"}]}'
policy good '{"format": "1.0", "trust": "any", "lock": "../empty.lock", "folders": [{"path": "/x", "trust": "pinned"}]}'
policy bad '{}'
policy bad '[]'
policy bad '{"format": "1.0"}'
policy bad '{"trust": "any"}'
policy bad '{"format": "2.0", "trust": "any"}'
policy bad '{"format": "1.0", "trust": "none"}'
policy bad '{"format": "1.0", "trust": 1}'
policy bad '{"format": "1.0", "trust": "any", "keys": []}'
policy bad '{"format": "1.0", "trust": "pinned", "lock": ""}'
policy bad '{"format": "1.0", "trust": "owner", "folders": {}}'
policy bad '{"format": "1.0", "trust": "owner", "folders": [{"path": "/x"}]}'
policy bad '{"format": "1.0", "trust": "owner", "folders": [{"path": "x", "trust": "any"}]}'
policy bad '{"format": "1.0", "trust": "owner", "folders": [{"path": "/x/", "trust": "any"}]}'
policy bad '{"format": "1.0", "trust": "owner", "folders": [{"path": "/x", "trust": "any", "key": 1}]}'
policy bad '{"format": "1.0", "trust": "owner", "folders": ["/x"]}'

says "a lock file that nothing wants" 2 'tutti: lone.json:1: lock: is of no use, since nothing is to be pinned' \
  sh -c "echo '{\"format\": \"1.0\", \"trust\": \"owner\", \"lock\": \"empty.lock\"}' >lone.json; '$TUTTI' plugins path --plugin-policy lone.json"
says "a policy that is not there" 2 "tutti: none.json: No such file or directory" "$TUTTI" plugins path --plugin-policy none.json
mkdir writable && chmod 0777 writable
check "a folder of policies that others may write" sh -c "! TUTTI_CONFIG_PATH='$work/writable' '$TUTTI' plugins path 2>err.txt && grep -q 'writable: the folder is writable by everyone (mode 0777)' err.txt"

python3 -c 'from jsonschema import Draft202012Validator' 2>/dev/null || { skip "python3 has no jsonschema 4"; finish; }
check "the schema agrees" python3 - "$SOURCE/sdk/schema/policy.schema.json" cases/*.json <<'PYTHON'
import json, sys
from jsonschema import Draft202012Validator
schema = json.load(open(sys.argv[1]))
Draft202012Validator.check_schema(schema)
wrong = [p for p in sys.argv[2:]
         if Draft202012Validator(schema).is_valid(json.load(open(p))) != p.endswith(".good.json")]
sys.exit(f"the schema finds otherwise: {wrong}" if wrong else 0)
PYTHON
finish
