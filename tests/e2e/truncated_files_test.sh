#!/usr/bin/env bash
# truncated_files_test.sh - a file of a data set becomes shorter while a run reads it: an error of data that names file and
# sample, never a signal; what is saved stays, and the run goes on from it once the file is whole.
. "$(dirname "$0")/lib.sh"

# All files are of several pages, since what is left of the last page of a shorter file reads as zeros.
PYTHONPATH=$e2e python3 - <<'PY'
import io, os, random, struct, tarfile
from data_files import idx, npy, png, tokens_bin, write_shards, zip_shards
rng = random.Random(1)
os.mkdir("whole")
os.chdir("whole")

def write(name, data):
    with open(name, "wb") as f:
        f.write(data)

picture = lambda: png(32, 32, rng.randbytes(3072))
write("x.npy", npy("<f4", (2000, 64), struct.pack("<128000f", *(rng.random() for _ in range(128000)))))
write("y.npy", npy("<i8", (2000,), struct.pack("<2000q", *(k % 10 for k in range(2000)))))
write("images.idx", idx((2000, 12, 12), rng.randbytes(2000 * 144)))
write("labels.idx", idx((2000,), bytes(k % 10 for k in range(2000))))
write("cifar.bin", b"".join(bytes([k % 10]) + rng.randbytes(3072) for k in range(64)))
write("tokens.bin", tokens_bin([rng.randrange(64) for _ in range(60000)]))
write_shards("set", [1000, 1000])
write_shards("zipped", [64, 64])
zip_shards("zipped", 8 << 20)
with tarfile.open("wds.tar", "w") as out:
    for k in range(100):
        for ending, content in (("png", picture()), ("cls", str(k % 10).encode())):
            info = tarfile.TarInfo(f"{k:04}.{ending}")
            info.size = len(content)
            out.addfile(info, io.BytesIO(content))
for kind in "ab":
    os.makedirs(f"pictures/{kind}")
    for k in range(40):
        write(f"pictures/{kind}/{k}.png", picture())
# Of 16 million samples, which take a while: there is nothing in them but a header.
os.mkdir("../long")
for name, dtype, shape, size in (("../long/x.npy", "<f4", "(16777216, 1)", 4), ("../long/y.npy", "<i8", "(16777216,)", 8)):
    write(name, npy(dtype, shape, b""))
    os.truncate(name, os.path.getsize(name) + size * 16777216)
PY

# run_of <workers> <data set> <model> <more of train>: the run file of such data, which goes on for long, or for $duration.
run_of() {
  cat <<JSON
{"name": "cut", "seed": 5, "train": {"dataset": $2, "batch_size": 8, "workers": $1 $4}, $3,
 "max_duration": "${duration:-1000000ba}", "optimizer": {"name": "adamw", "lr": 0.001}, "threads": 2,
 "loggers": [{"name": "jsonl", "flush_interval": 1}],
 "callbacks": [{"name": "checkpoint_saver", "folder": "saves", "interval": "${saves:-1ba}", "keep": 2}]}
JSON
}
mlp='"model": {"name": "mlp", "hidden": [8]}'
cnn='"model": {"name": "cnn", "channels": [4, 8]}'
gpt='"model": {"name": "gpt2", "n_layer": 1, "n_head": 2, "n_embd": 8}'
colours=', "transforms": [{"name": "normalize", "mean": [0.5, 0.5, 0.5], "std": [0.25, 0.25, 0.25]}]'
grey=', "transforms": [{"name": "normalize", "mean": [0.5], "std": [0.25]}]'

# starts <folder> <that of run_of>: the run in a new folder `now`, with the files of another one, as process $run.
starts() {
  rm -rf now && cp -r "$1" now || exit 1
  run_of "${@:2}" >now/run.json
  (cd now && exec "$TUTTI" train run.json --quiet >out.txt 2>err.txt) &
  run=$!
}

# has_trained: waits for the run's first batch in its log, as long as it goes on.
has_trained() {
  while kill -0 $run 2>/dev/null; do
    if grep -qs loss/train/total now/runs/cut/log.jsonl; then return 0; fi
    sleep 0.02
  done
  return 1
}

# ends <status> <regular expression>: so does the run, soon, and that is all that it says.
ends() {
  local status text turns=0
  while kill -0 $run 2>/dev/null && [ $((turns++)) -lt 3000 ]; do sleep 0.02; done
  kill -KILL $run 2>/dev/null
  wait $run
  status=$?
  text=$(sed "s|$work/now/||" now/err.txt)
  [ $status -eq "$1" ] && [[ $text =~ ^$2$ ]] && [[ $text != *$'\n'* ]] && return
  echo "status $status, want $1 and $2; it says:"
  echo "$text"
  return 1
}

# goes_on: with the file whole again, from the newest checkpoint, for two batches.
goes_on() {
  local newest batch
  newest=$(readlink now/saves/latest.safetensors) && batch=${newest##*-ba} && batch=${batch%%.*} && [ "$batch" -gt 0 ] &&
    cp -r whole/. now && (cd now && "$TUTTI" train run.json --resume auto --set max_duration=$((batch + 2))ba --quiet) &&
    [ "$(readlink now/saves/latest.safetensors)" != "$newest" ]
}

# cut_file <file> <regular expression> <data set> <model> [more of train]: read by one thread, and by several.
cut_file() {
  local file=$1 expected=$2 workers
  shift 2
  for workers in 1 3; do
    starts whole $workers "$1" "$2" "${3:-}"
    has_trained && truncate -s 100 "now/$file"
    check "$file becomes shorter, workers: $workers" ends 1 "$expected"
    check "$file is whole again, workers: $workers" goes_on
  done
}

lost='cannot be read: it became shorter after it was opened'
cut_file x.npy "tutti: sample [0-9]+: x\.npy $lost" \
  '{"name": "npy", "inputs": "x.npy", "targets": "y.npy", "classes": 10}' "$mlp"
cut_file y.npy "tutti: sample [0-9]+: y\.npy $lost" \
  '{"name": "npy", "inputs": "x.npy", "targets": "y.npy", "classes": 10}' "$mlp"
cut_file tokens.bin "tutti: sample [0-9]+: tokens\.bin $lost" \
  '{"name": "tokens_bin", "path": "tokens.bin", "length": 32, "vocabulary_size": 64}' "$gpt"
cut_file wds.tar "tutti: (sample [0-9]+: wds\.tar $lost|wds\.tar: input at byte [0-9]+: .*)" \
  '{"name": "webdataset", "path": "wds.tar", "classes": 10}' "$cnn" "$colours"
outside='set/shard\.00001\.mds: sample [0-9]+ lies outside the file'
cut_file set/shard.00001.mds "tutti: (sample [0-9]+: set/shard\.00001\.mds $lost|$outside)" \
  '{"name": "mds", "path": "set", "classes": 10}' "$mlp"
# These are read from their first byte on: a shard that is inflated again and again, and a picture.
zip='zipped/shard\.00001\.mds\.gz'
cut_file zipped/shard.00001.mds.gz "tutti: ($zip: has 100 bytes, the index says [0-9]+|sample [0-9]+: $zip $lost)" \
  '{"name": "mds", "path": "zipped", "classes": 10, "inflated_mib": 1}' "$mlp"
cut_file pictures/a/7.png 'tutti: pictures/a/7\.png: .*' '{"name": "image_folder", "path": "pictures"}' "$cnn" "$colours"

# held <file> <data set> <model> <more of train>: what is in memory from the start stays as it was.
held() {
  local file=$1 duration=300ba saves=300ba
  shift
  rm -rf before && starts whole 3 "$@"
  check "$file is read" ends 0 ""
  mv now before && starts whole 3 "$@"
  has_trained && truncate -s 100 "now/$file"
  check "$file becomes shorter and nothing else" ends 0 ""
  check "with the same weights" python3 "$e2e/same_weights.py" {before,now}/saves/latest.safetensors
}
held images.idx '{"name": "idx", "images": "images.idx", "labels": "labels.idx", "classes": 10}' "$cnn" "$grey"
held cifar.bin '{"name": "cifar_bin", "path": "cifar.bin"}' "$cnn" "$colours"

# cut_early <what> <file> <status> <regular expression> <more of the data set> <more of train>: before the first batch.  A run
# that has read all of it by then is tried again.
cut_early() {
  local tries=0
  while [ $((tries++)) -lt 5 ]; do
    starts long 1 "{\"name\": \"npy\", \"inputs\": \"x.npy\", \"targets\": \"y.npy\" $5}" "$mlp" "$6"
    while kill -0 $run 2>/dev/null && ! grep -qs "now/$2$" /proc/$run/maps; do :; done
    truncate -s 4096 "now/$2"
    ends "$3" "$4" >early.txt && break
  done
  check "$1" eval "cat early.txt && [ $tries -le 5 ]"
}
cut_early "while labels are counted" y.npy 2 "tutti: dataset npy cannot be opened: y\.npy $lost" '' ''
cut_early "while all samples are read to stay" x.npy 1 "tutti: sample [0-9]+: x\.npy $lost" ', "classes": 10' ', "resident": true'
finish
