#!/usr/bin/env bash
# device_algorithms_test.sh - every algorithm on a device whose memory is out of the host's reach: the
# same weights as on the CPU, and after a resume the very same again, without copies of tensors on the host.
# Runs as in algorithms_resume_test.
. "$(dirname "$0")/lib.sh"
shadow="$(dirname "$TUTTI")/tests/devices/plugins"
[ -d "$shadow" ] || { echo "skipped: the shadow device is not built"; exit 77; }
seq 1 4000 >corpus.txt

# run <folder> <what train gets>: one training of run.json there.
run() {
  mkdir "$1" && cp run.json "$1/" && (cd "$1" && "$TUTTI" train run.json --plugin-path "$shadow" "${@:2}" >out.txt 2>&1) ||
    { echo "FAILED: $what in $1"; cat "$1/out.txt"; failures=$((failures + 1)); }
}

for members in "$SOURCE"/plugins/algorithms/${ONLY:-*}/resume*.json; do
  what="$(basename "$(dirname "$members")")/$(basename "$members")"
  small_run | python3 "$e2e/small_run.py" "$members" |
    sed 's/"keep": 2/"keep": -1/; s/"interval": "1ba"/"interval": "13ba"/' >run.json
  rm -rf cpu device resumed
  run cpu
  run device --device shadow
  run resumed --device shadow --resume "$(ls device/saves/*-ba13.* | sed 's|^|../|')"
  check "$what: the device trains as the CPU" python3 "$e2e/same_weights.py" "$(latest cpu)" "$(latest device)"
  check "$what: nothing looks at copies" sh -c '! grep "looks at" device/out.txt resumed/out.txt'
  check "$what: resumed equals uninterrupted" python3 "$e2e/same_weights.py" "$(latest device)" "$(latest resumed)"
done
finish
