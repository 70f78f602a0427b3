#!/usr/bin/env bash
# algorithms_test.sh - for every folder of plugins/algorithms: a run that was stopped and resumed ends with
# the very bytes of one that was not, on the CPU and on a device whose memory is out of the host's reach, where
# it is the same again without copies of tensors on the host.  resume.json in the folder has the members of a
# run of 20 batches in which the algorithm does something; there may be more, resume_*.json.  Text for language
# models is in ../corpus.txt.
. "$(dirname "$0")/lib.sh"
shadow="$(dirname "$TUTTI")/tests/devices/plugins"
devices="cpu shadow"
[ -d "$shadow" ] || { skip "the shadow device is not built"; devices=cpu; }
seq 1 4000 >corpus.txt
for folder in "$SOURCE"/plugins/algorithms/${ONLY:-*}/; do
  check "$(basename "$folder") has a resume.json" test -s "$folder/resume.json"
done
echo '{"max_duration": "20ba", "callbacks": [{"name": "checkpoint_saver", "folder": "saves", "interval": "13ba", "keep": -1}]}' >short.json

# run <folder> <what train gets>: one training of run.json there.
run() {
  mkdir "$1" && cp run.json "$1/" && (cd "$1" && "$TUTTI" train run.json --plugin-path "$shadow" "${@:2}" >out.txt 2>&1) ||
    { echo "FAILED: $what in $1"; cat "$1/out.txt"; failures=$((failures + 1)); }
}

for members in "$SOURCE"/plugins/algorithms/${ONLY:-*}/resume*.json; do
  what="$(basename "$(dirname "$members")")/$(basename "$members")"
  small_run | python3 "$e2e/small_run.py" "$members" short.json >run.json
  saves=()
  rm -rf cpu* shadow*
  for device in $devices; do
    run $device --device $device
    run ${device}_resumed --device $device --resume "$(ls $device/saves/*-ba13.* | sed 's|^|../|')"
    saves+=("$(latest $device)" "$(latest ${device}_resumed)")
  done
  check "$what: resumed equals uninterrupted, on every device" python3 "$e2e/same_weights.py" "${saves[@]}"
  check "$what: nothing looks at copies" sh -c '! grep "looks at" */out.txt'
done
finish
