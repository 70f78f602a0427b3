#!/usr/bin/env bash
# remote.sh [FOLDER] - training on shards behind an address whose server fails, then is gone: the run ends with one sentence,
# goes on when the server is back, and has the losses of a run on the files themselves.
# Needs tutti in PATH, or its path in TUTTI.
set -euo pipefail
tutti=${TUTTI:-tutti}
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "${1:-.}" && cd "${1:-.}"

# Pictures of noise in which red, green or blue is brighter, as twelve shards of some 0.3 MB.
[ -d images ] || PYTHONPATH=$here python3 - <<'PY'
import pathlib
import random
from draw_images import png
draw, side = random.Random(3), 48
for channel, name in enumerate(("red", "green", "blue")):
    folder = pathlib.Path("images") / name
    folder.mkdir(parents=True)
    for k in range(200):
        pixels = bytearray(v // 2 for v in draw.randbytes(3 * side * side))
        pixels[channel::3] = bytes(v + 20 for v in pixels[channel::3])
        rows = [pixels[3 * side * r:3 * side * (r + 1)] for r in range(side)]
        (folder / f"{k:03}.png").write_bytes(png(side, side, rows))
PY
"$tutti" data convert images served/set --shard-samples 50

# A server that fails twice for each file, and is gone after some requests.
serve() {
  rm -f port
  python3 "$here/failing_server.py" served port "$@" &
  server=$!
  while [ ! -e port ]; do
    kill -0 $server || exit 1
    sleep 0.1
  done
}
trap 'kill $server 2>/dev/null || true' EXIT
serve 0 20
address=http://127.0.0.1:$(cat port)/set

# Shards are kept in `path`, at most 2 MiB of them, two are fetched ahead, and each failure is tried again three times.
cat >run.json <<JSON
{
  "name": "remote",
  "model": {"name": "cnn", "channels": [8, 16]},
  "train": {
    "dataset": {
      "name": "mds", "path": "kept", "remote": "$address", "classes": 3, "disk_mib": 2, "predownload": 2, "download_retry": 3,
      "shuffle_algo": "py1s", "num_canonical_nodes": 3, "shuffle_seed": 7
    },
    "transforms": [{"name": "normalize", "mean": [0.25, 0.25, 0.25], "std": [0.15, 0.15, 0.15]}],
    "batch_size": 50, "metrics": [{"name": "accuracy"}]
  },
  "optimizer": {"name": "adamw", "lr": 0.01},
  "callbacks": [{"name": "checkpoint_saver", "interval": "1ba", "keep": 1}],
  "loggers": [{"name": "jsonl"}],
  "max_duration": "3ep",
  "threads": 1
}
JSON
"$tutti" train run.json --quiet || echo "the run ended with status $?"

# The server is back, as unreliable as before; the run goes on behind its last batch.
wait $server
serve "$(cat port)"
"$tutti" train run.json --quiet --resume auto
echo "kept: $(du -bc kept/*.mds | tail -1 | cut -f1) bytes of $(du -bc served/set/*.mds | tail -1 | cut -f1)"

# The same run on the files themselves.
"$tutti" train run.json --quiet --set name=local --set train.dataset.path=served/set --set train.dataset.remote=null
losses() { grep -o '"loss/train/total":[^,}]*' "runs/$1/log.jsonl"; }
cmp <(losses remote) <(losses local) && echo "both runs have the same losses"
