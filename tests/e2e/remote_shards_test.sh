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
"$TUTTI" export "$there/models/none" --onnx none.onnx 2>&1 | grep 'without libcurl' && skip_all "this build is without libcurl"
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
says "no folder to keep them in" 2 "tutti: dataset webdataset cannot be opened: webdataset: path is s3://models/deep/s-0.tar, want cache_folder too, where shards are kept" \
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
finish
