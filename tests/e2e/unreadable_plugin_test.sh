#!/usr/bin/env bash
# unreadable_plugin_test.sh - a plugin that cannot be read ends the run that names it, and is a warning in others.
. "$(dirname "$0")/lib.sh"
mkdir plugins
cp -a "$(dirname "$TUTTI")/lib/tutti/plugins/"{mlp,nn,loss,glyphs,normalize,sgd,lr_monitor} plugins/
export TUTTI_ADD_PLUGIN_PATH= TUTTI_PLUGIN_PATH=plugins XDG_DATA_HOME=$work/none
cat >other.json <<'JSON'
{
  "model": {"name": "mlp", "hidden": [4]},
  "train": {"dataset": {"name": "glyphs", "samples": 8}, "transforms": [{"name": "normalize", "mean": [0.1], "std": [0.3]}], "batch_size": 8},
  "optimizer": {"name": "sgd", "lr": 0.1},
  "max_duration": "1ba"
}
JSON
sed 's/"max_duration"/"callbacks": [{"name": "lr_monitor"}],\n  &/' other.json >names.json
check "the plugin as it should be" "$TUTTI" train names.json
cp -a plugins/lr_monitor whole
it=plugins/lr_monitor

# unread <what> <why>: what is wrong with the folder; the run that names its object, and one that does not.
unread() {
  local text="tutti: plugin $it is not used: $2"
  says "$1: a run that names it" 2 "$text
names.json:5: callbacks[0].name: the callback lr_monitor cannot be used: $2" "$TUTTI" train names.json
  says "$1: one that does not" 0 "$text" "$TUTTI" train other.json
  check "$1: which trains" grep -q '^trained 1 batch' says.out
  rm -rf "$it" && cp -a whole "$it"
}

rm $it/plugin.json && mkdir $it/plugin.json
unread "a manifest that is a folder" "$it/plugin.json: not a regular file"
rm $it/plugin.json && mkfifo $it/plugin.json
unread "a manifest that is a pipe" "$it/plugin.json: not a regular file"
rm $it/plugin.json && ln -s nowhere $it/plugin.json
unread "a manifest that is a link to nothing" "$it/plugin.json: a symbolic link, want a regular file"
: >$it/plugin.json
unread "a manifest that is empty" "$it/plugin.json:1: not valid JSON: unexpected token near end of file"
echo '{"id": ' >$it/plugin.json
unread "a manifest that is no JSON" "$it/plugin.json:2: not valid JSON: unexpected token near end of file"
rm $it/lr_monitor.so
unread "a library that is missing" "$it/lr_monitor.so: No such file or directory"
rm $it/lr_monitor.so && mkdir $it/lr_monitor.so
unread "a library that is a folder" "$it/lr_monitor.so: not a regular file"
truncate -s 0 $it/lr_monitor.so
unread "a library that is empty" "$it/lr_monitor.so: not an ELF file, want a shared object"
truncate -s 1000 $it/lr_monitor.so
unread "a library that was cut short" "$it/lr_monitor.so: its ELF headers point outside of the file"
machine=$(uname -m)
printf '\x28\x00' | dd of=$it/lr_monitor.so bs=1 seek=18 conv=notrunc status=none # e_machine: 32-bit ARM
unread "a library of another architecture" "$it/lr_monitor.so: built for arm, this machine is ${machine/_/-}"
finish
