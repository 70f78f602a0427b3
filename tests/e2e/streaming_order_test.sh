#!/usr/bin/env bash
# streaming_order_test.sh - runs in a data set's own order: the same bits after a resume within an epoch, for any number of
# workers, and with data kept in memory.
. "$(dirname "$0")/lib.sh"

# A set of MDS shards, 40 samples each but for the last: 8 x 8 floats and a class.
python3 - <<'PY'
import json, os, random, struct
random.seed(3)
os.makedirs("set")
shards = []
for number, count in enumerate([40] * 9 + [17]):
    rows = []
    for _ in range(count):
        label = random.randrange(10)
        pixels = [random.gauss(label / 10, 1) for _ in range(64)]
        rows.append(struct.pack("<q64f", label, *pixels))
    ends = [4 + 4 * (count + 1)]
    for row in rows:
        ends.append(ends[-1] + len(row))
    name = "shard.%05d.mds" % number
    data = struct.pack("<%dI" % (count + 2), count, *ends) + b"".join(rows)
    open("set/" + name, "wb").write(data)
    shards.append({"format": "mds", "version": 2, "column_names": ["label", "x"], "samples": count, "hashes": [],
                   "column_encodings": ["int", "ndarray:float32:1,8,8"], "column_sizes": [8, 256], "compression": None,
                   "raw_data": {"basename": name, "bytes": len(data), "hashes": {}}, "zip_data": None})
json.dump({"version": 2, "shards": shards}, open("set/index.json", "w"))
PY

# ordered <more settings of the data set> <more members of "train">
ordered() {
  small_run | python3 -c '
import json, sys
run = json.load(sys.stdin)
data = {"name": "mds", "path": sys.argv[1], "classes": 10, **json.loads("{%s}" % sys.argv[2])}
run["train"] = {"dataset": data, "batch_size": 32, "workers": 2, **json.loads("{%s}" % sys.argv[3])}
run["eval"] = []
json.dump(run, sys.stdout, indent=1)' "$work/set" "$1" "${2:-}"
}
# compared <run file>: runs it; succeeds where it ends with the bytes of run a.
compared() {
  rm -rf c && mkdir c && sed 's/"interval": "1ba"/"interval": "13ba"/; s/"keep": 2/"keep": -1/' "$1" >c/run.json
  (cd c && "$TUTTI" train run.json >out.txt 2>&1) || { cat c/out.txt; return 2; }
  python3 "$e2e/same_weights.py" "$(latest a)" "$(latest c)"
}
differs() {
  compared "$1"
  [ $? = 1 ]
}

ordered '"shuffle_algo": "py1s", "num_canonical_nodes": 3' >run.json
same "py1s, three nodes" run.json
ordered '"shuffle_algo": "py1s", "num_canonical_nodes": 3' '"workers": 4, "prefetch": 9' >more.json
check "four workers ahead by nine batches give the same" compared more.json
ordered '"shuffle_algo": "py1s", "num_canonical_nodes": 3' '"resident": true' >kept.json
check "data in memory give the same" compared kept.json
ordered '"shuffle_algo": "py1s", "num_canonical_nodes": 2' >other.json
check "two nodes give another order" differs other.json

# Two streams: half of one, and the other three times.
mkdir left right
python3 - <<'PY'
import json, os
index = json.load(open("set/index.json"))
for name, part in (("left", slice(0, 7)), ("right", slice(7, 10))):
    shards = index["shards"][part]
    for shard in shards:
        os.rename("set/" + shard["raw_data"]["basename"], name + "/" + shard["raw_data"]["basename"])
    json.dump({"version": 2, "shards": shards}, open(name + "/index.json", "w"))
PY
ordered "\"path\": null, \"streams\": [\"$work/left\", \"$work/right\"], \"repeat\": [0.5, 3]" >streams.json
same "streams" streams.json
finish
