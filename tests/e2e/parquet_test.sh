#!/usr/bin/env bash
# parquet_test.sh - tools/convert_parquet: rows become shards and JSON lines.  A package of the test stands in for pyarrow, which
# tests do not need: its files are JSON.
. "$(dirname "$0")/lib.sh"
convert=$SOURCE/tools/convert_parquet
mkdir -p fake/pyarrow
cat >fake/pyarrow/__init__.py <<'PY'
PY
cat >fake/pyarrow/parquet.py <<'PY'
import json

class Field:
    def __init__(self, name, kind):
        self.name, self.type = name, kind

class Batch:
    def __init__(self, rows):
        self.rows = rows

    def to_pylist(self):
        return self.rows

class List(str):
    value_type = "int32"

class ParquetFile:
    def __init__(self, path):
        self.doc = json.load(open(path))
        self.schema_arrow = [Field(n, List(t) if t == "list" else t) for n, t in self.doc["schema"].items()]

    def iter_batches(self, batch_size, columns):
        rows = [{k: v for k, v in row.items() if not columns or k in columns} for row in self.doc["rows"]]
        for k in range(0, len(rows), 7):
            yield Batch(rows[k:k + 7])
PY
cat >fake/pyarrow/types.py <<'PY'
def kind_is(*names):
    return lambda kind: kind in names

is_boolean, is_integer, is_floating, is_string = kind_is("bool"), kind_is("int64"), kind_is("double"), kind_is("string")
is_large_string = is_binary = is_large_binary = is_struct = is_large_list = kind_is()
is_list = kind_is("list")
PY
python3 - <<'PY'
import json
rows = [{"label": k % 2, "value": k / 2, "name": "n%d" % k, "x": [k, -k, 5]} for k in range(20)]
schema = {"label": "int64", "value": "double", "name": "string", "x": "list"}
json.dump({"schema": schema, "rows": rows}, open("a.parquet", "w"))
json.dump({"schema": schema, "rows": rows[:3]}, open("b.parquet", "w"))
json.dump({"schema": {"label": "string"}, "rows": []}, open("c.parquet", "w"))
PY
run() { PYTHONPATH=$work/fake python3 "$convert" "$@"; }
check "two files become a set" run a.parquet b.parquet set
check "which mds reads" eval '"$TUTTI" data inspect set --set target_column=label --json >out.json && python3 - <<PY
import json
out = json.load(open("out.json"))
assert out["samples"] == 23 and out["classes"] == [12, 11], out
assert [s["input"]["first"] for s in out["first"]] == [[0, 0, 5], [1, -1, 5], [2, -2, 5]], out
PY'
check "or lines" eval 'run --columns name,value a.parquet lines.jsonl && [ "$(sed -n 4p lines.jsonl)" = "{\"value\": 1.5, \"name\": \"n3\"}" ] && [ "$(wc -l <lines.jsonl)" = 20 ]'
says "a set that is there" 1 'convert_parquet: set: is there already' run a.parquet set
says "no such column" 1 'convert_parquet: a.parquet: there is no column y' run --columns y a.parquet other
says "other columns" 1 'convert_parquet: c.parquet: has other columns than a.parquet' run a.parquet c.parquet other
python3 -c 'import pyarrow' 2>/dev/null ||
  says "without pyarrow" 1 'convert_parquet: needs the Python package pyarrow (pip install pyarrow)' python3 "$convert" a.parquet other
finish
