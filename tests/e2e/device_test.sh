#!/usr/bin/env bash
# device_test.sh - runs on a plugin's device, and the devices that a run refuses.
. "$(dirname "$0")/lib.sh"
shadow="$(dirname "$TUTTI")/tests/devices/plugins"
[ -d "$shadow" ] || { echo "skipped: the shadow device is not built"; exit 77; }
small_run '"device": "cpu"' >cpu.json
small_run '"device": {"name": "shadow", "index": 1, "unified": true}' >shadow.json
small_run '"device": "shadow:7"' >seven.json
small_run '"device": 3' >number.json
small_run '"device": {"name": "shadow", "unifed": true}' >typo.json

for run in cpu shadow; do
  mkdir -p $run && cp $run.json $run/
  check "a run on $run" "$TUTTI" train $run/$run.json --plugin-path "$shadow"
done
check "both end with the same weights" python3 "$e2e/same_weights.py" "$(latest cpu)" "$(latest shadow)"
check "auto is a device" "$TUTTI" validate cpu.json --set device=auto

says "a device that keeps its memory" 2 \
  'tutti: device shadow 0 keeps its memory from the host, which a run looks into; want one that shares it, such as cpu' \
  "$TUTTI" train cpu.json --device shadow --plugin-path "$shadow"
says "a number that there is not" 2 \
  'tutti: device shadow: there is no device 7, this machine has 2' \
  "$TUTTI" train seven.json --plugin-path "$shadow"
says "no such device" 2 \
  'seven.json:21: device: there is no device shadow, nor any other device on the plugin search path; auto and cpu are always there' \
  "$TUTTI" train seven.json
says "no name of a device" 2 \
  'number.json:21: device: is an integer, want auto, cpu, the name of a device, or an object with it' \
  "$TUTTI" train number.json
says "a setting that it has not" 2 \
  'typo.json:21: device.unifed: shadow has no such setting; did you mean unified?' \
  "$TUTTI" train typo.json --plugin-path "$shadow"
check "the devices of a plugin" sh -c "'$TUTTI' plugins info shadow --plugin-path '$shadow' | grep -qx '  1: shadow 1, 256.0 MiB of 256.0 MiB free, kernels cpu, memory of its own, works in steps'"
check "the host's own device" sh -c "'$TUTTI' plugins info cpu | grep -q '  0: CPU, .* kernels cpu, memory of the host'"
finish
