#!/usr/bin/env bash
# remote_shards_test.sh - tar shards behind addresses: fetched once, whole, from servers that fail.
. "$(dirname "$0")/lib.sh"
mkdir -p root/models/deep
: >log.txt
timeout 300 python3 "$e2e/file_server.py" root port log.txt &
server=$!
trap 'kill $server 2>/dev/null; rm -rf "$work"' EXIT
while [ ! -e port ] && kill -0 $server; do sleep 0.05; done
there=http://127.0.0.1:$(cat port)
export S3_ENDPOINT_URL=$there AWS_ACCESS_KEY_ID=key AWS_SECRET_ACCESS_KEY=secret
wants_curl
python3 - <<'PY'
import io, tarfile
for shard in range(3):
    packing = "w:gz" if shard == 2 else "w"
    with tarfile.open("root/models/deep/s-%d.tar" % shard, packing) as out:
        for k in range(5):
            for ending, data in (("txt", bytes([65 + shard, 97 + k]) * 8), ("cls", b"%d" % (shard * 5 + k))):
                info = tarfile.TarInfo("%d-%d.%s" % (shard, k, ending))
                info.size = len(data)
                out.addfile(info, io.BytesIO(data))
PY
see() { "$TUTTI" data inspect "$1" --as webdataset --set 'inputs=["txt"]' --json "${@:2}"; }
same() { python3 -c 'import json; a, b = (json.load(open(p)) for p in ("want.json", "have.json")); assert {**a, "path": 0} == {**b, "path": 0} and a["samples"] == 15, (a, b)'; }
see 'root/models/deep/s-{0..2}.tar' >want.json
for address in 's3://models/deep/s-{0..2}.tar' "$there/models/deep/s-{0..2}.tar" "$there/cut/deep/s-{0..2}.tar"; do
  : >log.txt
  check "fetched from $address" eval 'see "$address" --set cache_folder=kept >have.json && same'
  check "each once, and once more what was cut" test "$(grep -c GET log.txt)" = "$(case $address in */cut/*) echo 6 ;; *) echo 3 ;; esac)"
  check "and not again" eval 'see "$address" --set cache_folder=kept >have.json && same && [ "$(grep -c GET log.txt)" -le 6 ]'
done
check "what was cut went on" grep -q 'GET /cut/.*bytes=[1-9]' log.txt
check "under their addresses" cmp kept/models/deep/s-1.tar root/models/deep/s-1.tar
: >log.txt
check "a shard that is gone is fetched alone" eval 'rm kept/models/deep/s-1.tar && see "s3://models/deep/s-{0..2}.tar" --set cache_folder=kept >have.json && same && [ "$(grep -c GET log.txt)" = 1 ]'
says "no folder to keep them in" 2 "tutti: dataset webdataset cannot be opened: path is s3://models/deep/s-0.tar, want cache_folder too, where shards are kept" \
  see 's3://models/deep/s-{0..2}.tar'
says "an address that leads out of it" 2 'tutti: dataset webdataset cannot be opened: s3://models/../s-0.tar: want the address of a file, without ".."' \
  see 's3://models/../s-0.tar' --set cache_folder=kept
says "no such shard" 2 "tutti: dataset webdataset cannot be opened: $there/models/deep/s-9.tar: the server answers with status 404: NoSuchKey" \
  see "$there/models/deep/s-9.tar" --set cache_folder=kept
says "a server that forbids it" 2 "tutti: dataset webdataset cannot be opened: $there/status-403/s-0.tar: the server answers with status 403: AccessDenied" \
  see "$there/status-403/s-0.tar" --set cache_folder=kept
see "$there/page/s-0.tar" --set cache_folder=kept --set download_retry=0 2>why.txt
check "a page is no archive" grep -q "page/s-0.tar: is no archive" why.txt
check "nothing half done stays" test -z "$(find kept -name 's-9*' -o -path '*page*' -type f -o -name '*.part*')"

# A bounded disk: five shards of 0.4 MB, one of them compressed, and room for two; every sample comes from any shard.
python3 - <<'PY'
import io, random, struct, tarfile
draw = random.Random(5)
for shard in range(5):
    with tarfile.open("root/models/deep/b-%d.tar%s" % (shard, ".gz" if shard == 3 else ""), "w:gz" if shard == 3 else "w") as out:
        for k in range(20):
            kind = draw.randrange(2)
            head = b"{'descr': '<f4', 'fortran_order': False, 'shape': (5000,), }"
            head += b" " * (117 - len(head)) + b"\n"
            values = struct.pack("<5000f", *(draw.gauss(kind, 1) for _ in range(5000)))
            for ending, data in (("npy", b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head + values), ("cls", b"%d" % kind)):
                info = tarfile.TarInfo("%d-%d.%s" % (shard, k, ending))
                info.size = len(data)
                out.addfile(info, io.BytesIO(data))
PY
names='b-{0.tar,1.tar,2.tar,3.tar.gz,4.tar}'
train() {
  "$TUTTI" train bounded.json --quiet --set "name=$1" --set "train.dataset.path=$2" "${@:3}" >train.txt 2>&1 &&
    grep -o '"loss/train/total":[^,}]*' "runs/$1/log.jsonl" >"$1.losses" && [ -s "$1.losses" ]
}
cat >bounded.json <<'JSON'
{"model": {"name": "mlp", "hidden": [8]},
 "train": {"dataset": {"name": "webdataset", "path": "", "inputs": ["npy"], "cache_folder": "bounded"}, "batch_size": 10, "workers": 2},
 "optimizer": {"name": "sgd", "lr": 0.01}, "loggers": [{"name": "jsonl"}], "max_duration": "2ep", "threads": 1}
JSON
check "a run on files" train files "root/models/deep/$names"
: >log.txt
check "and on a disk with room for two shards" train bounded "$there/models/deep/$names" --set train.dataset.disk_mib=1
check "has the same losses" cmp files.losses bounded.losses
check "within that room" eval 'test "$(du -bc bounded/*/models/deep/* | tail -1 | cut -f1)" -le 1048576'
check "which is used" test "$(find bounded -type f | wc -l)" -ge 1
check "for which shards were fetched again" test "$(grep -c GET log.txt)" -gt 5
for name in 0 1 2; do
  cp root/models/deep/b-0.tar "root/models/deep/c-$name.tar.0"
  cp root/models/deep/b-1.tar "root/models/deep/c-$name.tar.1"
done
rm -rf bounded
train replaced "$there/turns/deep/c-{0..2}.tar" --set train.dataset.disk_mib=1
check "a shard that was replaced meanwhile is told" grep -Eq "c-[0-2].tar: is another file than when the data set was opened" train.txt
cat root/models/deep/b-{0,1,2}.tar >root/models/deep/long.tar
long=$(stat -c %s root/models/deep/long.tar)
says "a limit below a shard" 2 "tutti: dataset webdataset cannot be opened: $there/models/deep/long.tar: takes $long bytes, and disk_mib allows no more than 1048576" \
  eval '"$TUTTI" data inspect "$there/models/deep/long.tar" --as webdataset --set "inputs=[\"npy\"]" --set cache_folder=bounded --set disk_mib=1'
finish
