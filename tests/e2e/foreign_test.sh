#!/usr/bin/env bash
# foreign_test.sh - functions of libraries that know nothing of Tutti, by their declarations in a manifest alone.
. "$(dirname "$0")/lib.sh"
umask 022

# manifest <folder> <library> <handlers> [members]: a plugin without code of ours.
manifest() {
  mkdir -p "$1"
  echo "{\"format\": \"1.0\", \"id\": \"org.example.$(basename "$1")\", \"version\": \"1.0.0\", \"license\": \"MIT\",
 \"abi\": {\"min\": \"1.0\"}, \"library\": {$2}, \"objects\": [],
 \"handlers\": [$3]${4:+, $4}}" >"$1/plugin.json"
}
# function <name> <arguments> <result> [members]
function_() { echo "{\"name\": \"$1\", \"symbol\": \"$1\", \"args\": [$2], \"returns\": \"$3\"${4:+, $4}}"; }
manifest plugins/math '"soname": "libm.so.6", "foreign": true' "$(function_ pow '["x", "f64"], ["y", "f64"]' f64),
  $(function_ hypotf '["x", "f32"], ["y", "f32"]' f32), $(function_ ilogb '["x", "f64"]' i32)"
manifest plugins/c '"soname": "libc.so.6", "foreign": true' "$(function_ labs '["n", "i64"]' i64), $(function_ strlen '["text", "str"]' u64),
  $(function_ putenv '["setting", "str"]' posix), $(function_ chdir '["folder", "str"]' posix), $(function_ srand '["seed", "u32"]' void)"
cat >own.c <<'C'
static int calls;
double scale(double x, int by) { return x * by; }
int odd(long count) { return (int)(count & 1); }
int tally(void) { return ++calls; }
C
manifest plugins/own '"path": "libown.so", "foreign": true' "$(function_ scale '["x", "f64"], ["by", "i32"]' f64),
  $(function_ odd '' bool '"filter": true'), $(function_ tally '' i32)"
check "a library without an entry function" "${COMPILER:-cc}" -shared -fPIC own.c -o plugins/own/libown.so
chmod -R go-w plugins

on() { echo "{\"on\": \"$1\", \"call\": \"$2\", \"args\": [${3:-}]${4:+, $4}}"; }
note() { on completed demo.note "\"$1\", -1e9"; }
engine() { echo "{\"epoch_length\": 4, \"process\": {\"call\": \"$1\", \"args\": [$2]}, \"handlers\": [$3]}" >run.json; }
engine math.pow '2, 10' "$(on started math.hypotf '3, 4'), $(on started math.ilogb 1000), $(on started c.labs -7),
  $(on started c.strlen '"eleven runes"'), $(on started c.srand 3), $(on iteration_completed own.tally '' '"filter": "own.odd"'),
  $(on started own.scale '1.5, -4'), $(note output), $(note math.hypotf), $(note math.ilogb), $(note c.labs), $(note c.strlen),
  $(note own.scale), $(note own.tally)"
"$TUTTI" run run.json --plugin-path plugins >out.txt 2>&1
check "functions of libm, of libc and of a library of one's own" diff <(sed 's/, [0-9.]* s.*//' out.txt) - <<'TEXT'
completed at step 4: output is 1024
completed at step 4: math.hypotf is 5
completed at step 4: math.ilogb is 9
completed at step 4: c.labs is 7
completed at step 4: c.strlen is 12
completed at step 4: own.scale is -6
completed at step 4: own.tally is 2
ran 4 iterations, 1 epochs
TEXT
engine math.pow '2, 10' "$(on started c.chdir '"/no/such/folder"')"
says "what fails says why" 1 'tutti: c.chdir on started: returned -1: No such file or directory' \
  "$TUTTI" run run.json --plugin-path plugins
engine math.pow '2, "x"' ''
says "arguments are held to the declaration" 2 'run.json:1: process.args[1]: is "x", want an f64 for "y"' \
  "$TUTTI" run run.json --plugin-path plugins
check "a listing has them" sh -c "$TUTTI plugins info org.example.math --plugin-path plugins | grep -qx 'pow(f64 x, f64 y) gives f64: handler of org.example.math'"
if [ -n "$SANITIZE" ]; then
  skip "plugins check, whose limit of memory the address sanitizer exceeds"
else
  check "the check of plugins takes one" "$TUTTI" plugins check plugins/own
  check "and one of the system's" "$TUTTI" plugins check plugins/math
fi

# refused <what> <sentence> <library> <handlers> [members]: `plugins list` tells.
refused() {
  rm -rf bad
  manifest bad/bad "$3" "$4" "${5:-}"
  [ "$3" = '"soname": "libm.so.6", "foreign": true' ] || cp plugins/own/libown.so bad/bad/
  "$TUTTI" plugins list --plugin-path bad >list.txt 2>&1
  check "$1" grep -qF "$2" list.txt || cat list.txt
}
m='"soname": "libm.so.6", "foreign": true'
pow=$(function_ pow '["x", "f64"], ["y", "f64"]' f64)
refused "a result has a type" 'handlers[0]: a function of a foreign library gives no status: want "returns" with what it gives, such as "f64", "posix" or "void"' \
  "$m" '{"name": "pow", "symbol": "pow", "args": []}'
refused "no engine" 'handlers[0].engine: a function of a foreign library knows no engine' "$m" "$(function_ sin '["x", "f64"]' f64 '"engine": true')"
refused "nothing but handlers" 'kernels: a foreign library has handlers alone: it knows nothing of Tutti' "$m" "$pow" \
  '"kernels": [{"name": "k", "args": [["n", "i64"]], "cpu": {"symbol": "k"}}]'
refused "a soname is of a foreign library" 'library.soname: is of a library that is no plugin, want "foreign": true beside it' '"soname": "libm.so.6"' "$pow"
refused "it has no folder" 'library.soname: is "lib/libm.so.6", want a name without a folder' '"soname": "lib/libm.so.6", "foreign": true' "$pow"
refused "nor a path" 'library.path: is of a file beside the manifest, which a library with a soname is not' "$m, \"path\": \"libown.so\"" "$pow"
refused "a library that is not there" 'libnowhere.so.1: cannot open shared object file' '"soname": "libnowhere.so.1", "foreign": true' "$pow"
refused "a function that it lacks" 'libm.so.6: does not export "powder"' "$m" "$(function_ powder '["x", "f64"]' f64)"
refused "in a file too" 'libown.so: does not export "powder", which the manifest declares' '"path": "libown.so", "foreign": true' "$(function_ powder '["x", "f64"]' f64)"
refused "without foreign a library is a plugin" 'which the manifest does not declare; want tutti_plugin_v1' '"path": "libown.so"' "$(function_ scale '["x", "f64"], ["by", "i32"]' f64)"
refused "types are known ones" '"double" is no type that a run file can give a handler' "$m" "$(function_ sin '["x", "double"]' f64)"
"$TUTTI" plugins lock --plugin-path plugins >lock.txt 2>/dev/null
check "a pinned run takes no library of the system's" sh -c "$TUTTI plugins list --plugin-path plugins --plugin-lock lock.txt 2>&1 | grep -q 'libm.so.6 is the system.s and cannot be pinned'"
finish
