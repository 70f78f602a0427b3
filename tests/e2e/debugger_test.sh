#!/usr/bin/env bash
# debugger_test.sh - gdb stops in a plugin that is loaded from sealed memory, and knows it by its file.
. "$(dirname "$0")/lib.sh"
command -v gdb >/dev/null || skip_all "there is no gdb"
[ -z "$SANITIZE" ] || skip_all "sanitizers and a debugger do not go together"
export GOMP_SPINCOUNT=1 HOME=$work # the program does not start itself anew, and gdb finds no settings
# A debugger that waits for something would wait for ever.
in_gdb() { setsid timeout -k 5 200 gdb -batch -nx -ex 'set breakpoint pending on' "$@" </dev/null >gdb.txt 2>&1; }
in_gdb -ex run --args true
grep -q 'exited normally' gdb.txt || skip_all "gdb may not trace here"
small_run | sed 's/"max_duration": "3ep"/"max_duration": "1ba"/' >run.json
check "gdb runs the program" in_gdb -ex 'break tutti_plugin_v1' -ex run -ex 'info sharedlibrary' -ex kill --args "$TUTTI" train run.json
check "a breakpoint in a plugin, set before it is loaded, is met" grep -q 'Breakpoint 1.* in tutti_plugin_v1' gdb.txt
check "the library goes by its file's name" grep -q ' /.*/lib/tutti/plugins/[a-z_]*/[a-z_]*\.so$' gdb.txt
check "and by no other" bash -c '! grep -q "memfd\|Could not load shared library symbols" gdb.txt'
[ $failures -eq 0 ] || cat gdb.txt
finish
