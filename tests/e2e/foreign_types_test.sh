#!/usr/bin/env bash
# foreign_types_test.sh - structs, arrays, pointers and callbacks of functions that a manifest declares.
. "$(dirname "$0")/lib.sh"
umask 022

# manifest <folder> <library> <types> <handlers>
manifest() {
  mkdir -p "$1"
  echo "{\"format\": \"1.0\", \"id\": \"org.example.$(basename "$1")\", \"version\": \"1.0.0\", \"license\": \"MIT\",
 \"abi\": {\"min\": \"1.0\"}, \"library\": {$2, \"foreign\": true}, \"objects\": [], \"types\": [$3], \"handlers\": [$4]}" >"$1/plugin.json"
}
# function_ <name> <arguments> <result> [members], struct <name> <members>, callback <name> <arguments> <result>
function_() { echo "{\"name\": \"$1\", \"symbol\": \"$1\", \"args\": [$2], \"returns\": \"$3\"${4:+, $4}}"; }
struct() { echo "{\"name\": \"$1\", \"members\": [$2]}"; }
callback() { echo "{\"name\": \"$1\", \"args\": [$2], \"returns\": \"$3\"}"; }

tm=$(struct tm '["tm_sec", "i32"], ["tm_min", "i32"], ["tm_hour", "i32"], ["tm_mday", "i32"], ["tm_mon", "i32"], ["tm_year", "i32"],
  ["tm_wday", "i32"], ["tm_yday", "i32"], ["tm_isdst", "i32"], ["tm_gmtoff", "i64"], ["tm_zone", "str"]')
manifest plugins/c '"soname": "libc.so.6"' \
  "$(struct div_t '["quot", "i32"], ["rem", "i32"]'), $tm, $(callback order '["a", "i32*"], ["b", "i32*"]' i32)" \
  "$(function_ div '["n", "i32"], ["by", "i32"]' div_t '"value": "returns.rem"'), $(function_ timegm '["date", "tm*"]' i64),
  {\"name\": \"weekday\", \"symbol\": \"timegm\", \"args\": [[\"date\", \"tm*\"]], \"returns\": \"i64\", \"value\": \"date.tm_wday\"},
  $(function_ gmtime '["since_1970", "i64*"]' 'tm*' '"value": "returns.tm_year"'), $(function_ getenv '["name", "str"]' ptr),
  $(function_ chdir '["folder", "str"]' posix), $(function_ qsort '["of", "i32[5]"], ["n", "u64"], ["size", "u64"], ["by", "order"]' void '"value": "of[1]"')"
manifest plugins/math '"soname": "libm.so.6"' '' "$(function_ pow '["x", "f64"], ["y", "f64"]' f64),
  $(function_ frexp '["x", "f64"], ["exponent", "i32*"]' f64 '"value": "exponent"')"
cat >own.c <<'C'
#include <pthread.h>
#include <string.h>
typedef struct { int a; char b; } inner;
typedef struct { inner in; char c; } tail;   /* c lies behind the padding of inner */
typedef struct { float x, y; } pair;         /* one register */
typedef struct { double x; int n; } mixed;   /* two registers of different sorts */
typedef struct { inner in[2]; unsigned char name[8]; float w[2][3]; const char *text; pair *at; } big; /* memory */
mixed weigh(pair p, tail t, mixed m, big b)
{
    double w = 0;
    for (int k = 0; k < 6; k++)
        w = 10 * w + b.w[k / 3][k % 3];
    return (mixed){p.x + 10 * p.y + 100 * m.x, t.in.a + 10 * t.in.b + 100 * t.c + 1000 * m.n + 10000 * b.in[1].b + 100000 * (int)strlen((char *)b.name)
                   + 1000000 * (int)strlen(b.text) + 10000000 * (int)b.at->y + (w == 123456 ? 100000000 : 0)};
}
int more(mixed *m) { return m ? ++m->n : -7; }
int less(const int *a, const int *b) { return (*a > *b) - (*a < *b); }
double each(double (*f)(double x, int n), int n)
{
    double sum = 0;
    for (int k = 1; f && k <= n; k++)
        sum += f(k / 2.0, k);
    return sum;
}
double scale(double x, int by) { return x * by; }
int narrow(signed char (*f)(float x, pair p, void *data), float x, void *data) { return f(x, (pair){1, 2}, data); }
signed char take(float x, pair p) { return (signed char)-(x + 10 * p.x + 20 * p.y); }
static void (*kept)(void);
void keep(void (*f)(void)) { kept = f; }
void call_kept(void) { kept(); }
static void *other(void *ctx) { kept(); return ctx; }
void call_elsewhere(void)
{
    pthread_t t;
    if (pthread_create(&t, 0, other, 0) == 0)
        pthread_join(t, 0);
}
static int calls;
void tick(void) { calls++; }
int calls_so_far(void) { return calls; }
static int slots[3] = {7, 8, 9};
int *slot(int k) { return k < 3 ? slots + k : 0; }
void *even(long count) { return count % 2 ? 0 : slots; }
C
manifest plugins/own '"path": "libown.so"' \
  "$(struct inner '["a", "i32"], ["b", "i8"]'), $(struct tail '["in", "inner"], ["c", "i8"]'), $(struct pair '["x", "f32"], ["y", "f32"]'),
  $(struct mixed '["x", "f64"], ["n", "i32"]'), $(struct big '["in", "inner[2]"], ["name", "u8[8]"], ["w", "f32[2][3]"], ["text", "str"], ["at", "pair*"]'),
  $(callback step '["x", "f64"], ["n", "i32"]' f64), $(callback short '["x", "f32"], ["p", "pair"], ["data", "ptr"]' i8), $(callback plain '' void)" \
  "$(function_ weigh '["p", "pair"], ["t", "tail"], ["m", "mixed"], ["b", "big"]' mixed '"value": "returns.n"'),
  {\"name\": \"weight\", \"symbol\": \"weigh\", \"args\": [[\"p\", \"pair\"], [\"t\", \"tail\"], [\"m\", \"mixed\"], [\"b\", \"big\"]], \"returns\": \"mixed\", \"value\": \"returns.x\"},
  $(function_ more '["m", "mixed*"]' i32), $(function_ less '["a", "i32*"], ["b", "i32*"]' i32), $(function_ each '["f", "step"], ["n", "i32"]' f64),
  $(function_ scale '["x", "f64"], ["by", "i32"]' f64), $(function_ narrow '["f", "short"], ["x", "f32"], ["data", "ptr"]' i32),
  $(function_ take '["x", "f32"], ["p", "pair"]' i8), $(function_ keep '["f", "plain"]' void), $(function_ call_kept '' void),
  $(function_ call_elsewhere '' void), $(function_ tick '' void), $(function_ slot '["k", "i32"]' 'i32*' '"value": "returns"'),
  $(function_ even '' ptr '"filter": true'), $(function_ calls_so_far '' i32)"
check "structs and callbacks of C" "${COMPILER:-cc}" -shared -fPIC -pthread own.c -o plugins/own/libown.so
chmod -R go-w plugins

on() { echo "{\"on\": \"$1\", \"call\": \"$2\", \"args\": [${3:-}]${4:+, $4}}"; }
note() { on completed demo.note "\"$1\", -1e18"; }
engine() { echo "{\"epoch_length\": 3, \"process\": {\"call\": \"math.pow\", \"args\": [2, 10]}, \"handlers\": [$1]}" >run.json; }
run() { "$TUTTI" run run.json --plugin-path plugins "$@"; }
all='{"x": 1, "y": 2}, {"in": [3, 4], "c": 5}, [6, 7], {"in": [[0, 0], {"b": 8}], "name": "ninety", "w": [[1, 2, 3], [4, 5, 6]], "text": "four", "at": [0, 3]}'
engine "$(on started c.div '-17, 5'), $(on started c.timegm '{"tm_year": 100, "tm_mday": 1, "tm_mon": 1}'), $(on started c.weekday '{"tm_year": 100, "tm_mday": 29, "tm_mon": 1}'),
  $(on started c.qsort '[5, 3, 9, 1, 7], 5, 4, "own.less"'), $(on started math.frexp '40, 0'), $(on started own.weigh "$all"), $(on started own.weight "$all"),
  $(on iteration_completed own.more '{"n": 40}'), $(on started own.each '"own.scale", 4'), $(on started own.each '{"call": "math.pow", "args": {"y": 2}}, 3' '"id": "squares"'),
  $(on started own.each 'null, 3' '"id": "none"'), $(on started own.narrow '"own.take", 3, null'), $(on started own.keep '"own.tick"'),
  $(on iteration_completed own.call_kept), $(on completed own.calls_so_far), $(for name in c.div c.timegm c.weekday c.qsort math.frexp own.weigh own.weight own.more own.each squares none own.narrow; do
    echo "$(note $name), "; done) $(note own.calls_so_far)"
run >out.txt 2>&1
check "values of structs, places in them, callbacks" diff <(sed 's/, [0-9.]* s.*//; s/completed at step 3: //' out.txt) - <<'TEXT'
c.div is -2
c.timegm is 9.49363e+08
c.weekday is 2
c.qsort is 3
math.frexp is 6
own.weigh is 1.34688e+08
own.weight is 621
own.more is 43
own.each is 15
squares is 3.5
none is 0
own.narrow is -53
own.calls_so_far is 3
ran 3 iterations, 1 epochs
TEXT
engine "$(on started c.gmtime 951782400), $(on started c.getenv '"HOME"'), $(on started own.slot 2), $(on started own.slot 3 '"id": "nowhere"'),
  $(on iteration_completed own.tick '' '"filter": "own.even"'), $(on completed own.calls_so_far), $(for name in c.gmtime own.slot; do
    echo "$(note $name), "; done) $(note own.calls_so_far)"
run >out.txt 2>&1
check "what lies behind an address that is returned" diff <(sed 's/, [0-9.]* s.*//; s/completed at step 3: //' out.txt) - <<'TEXT'
c.gmtime is 100
own.slot is 9
own.calls_so_far is 1
ran 3 iterations, 1 epochs
TEXT
engine "$(on started own.keep '{"call": "c.div", "args": [1, 1]}'), $(on started own.call_elsewhere)"
says "a callback on another thread is told" 1 \
  'tutti: own.call_elsewhere on started: the callback c.div was called on a thread of its caller'"'"'s or between calls, want calls during a function of the run file, on its thread' run
engine "$(on started own.keep '{"call": "c.chdir", "args": ["/no/such/folder"]}'), $(on started own.call_kept)"
says "a callback that fails fails its caller" 1 'tutti: own.call_kept on started: callback c.chdir: returned -1: No such file or directory' run
engine "$(on started own.keep '{"call": "demo.note", "args": ["nothing", 0]}'), $(on started own.call_kept)"
says "a callback knows the engine" 1 'tutti: own.call_kept on started: callback demo.note: nothing has been logged as nothing' run

# wrong <what> <sentence> <handler>: in a run file.
wrong() {
  engine "$3"
  says "$1" 2 "run.json:1: handlers[0].$2" run
}
wrong "members are known" 'args[0].tm_day: is no member of "tm"' "$(on started c.timegm '{"tm_day": 1}')"
wrong "and held to their types" 'args[0].tm_year: is 3000000000, want an i32 (-2147483648 to 2147483647) for "tm_year"' "$(on started c.timegm '{"tm_year": 3000000000}')"
wrong "a struct is no number" 'args[0]: is 3, want an object of members of "tm", or a list of at most 11 for "date"' "$(on started c.timegm 3)"
wrong "an array has its length" 'args[0]: is [1,2,3,4,5,6], want a list of at most 5 for "of"' "$(on started c.qsort '[1, 2, 3, 4, 5, 6], 6, 4, "own.less"')"
wrong "a text fits" 'args[3].name: is "too long a name", want a text shorter than 8 bytes, or as many numbers at most for "name"' \
  "$(on started own.weigh '[], [], [], {"name": "too long a name"}')"
wrong "an opaque pointer is null" 'args[2]: is 5, want null for "data"' "$(on started own.narrow '"own.take", 3, 5')"
wrong "a callback is a function" 'args[0]: is an integer, want a function such as "demo.note" for "f"' "$(on started own.each '1, 2')"
wrong "that there is" 'args[0]: no plugin declares a handler own.scal; did you mean scale?' "$(on started own.each '"own.scal", 2')"
wrong "takes what it is given" 'args[0]: own.take wants f32 "x", where the callback "step" gives f64 "x"' "$(on started own.each '"own.take", 2')"
wrong "wants no more" 'args[0]: own.scale wants f64 "x" as well, where the callback "plain" has 0 arguments to give' "$(on started own.keep '{"call": "own.scale", "args": {"by": 1}}')"
wrong "and gives what is wanted" 'args[0]: own.calls_so_far gives i32, want f64 for the callback "step"' "$(on started own.each '"own.calls_so_far", 2')"

# refused <what> <sentence> <types> <handlers>: one listing tells of all.
bad=()
refused() {
  manifest "bad/b${#bad[@]}" '"soname": "libm.so.6"' "$3" "$4"
  bad+=("$1" "$2")
}
pow=$(function_ pow '["x", "f64"], ["y", "f64"]' f64)
refused "types of members are known" 'types[0].members[0]: "double" is no type of a member' "$(struct s '["x", "double"]')" "$pow"
refused "and declared before" 'types[0].members[1]: "s*" is no type of a member' "$(struct s '["x", "i32"], ["next", "s*"]')" "$pow"
refused "a struct has members" 'types[0].members: has 0 entries, want 1 to 256' "$(struct s '')" "$pow"
refused "once each" 'types[0].members[1]: there are two called "x"' "$(struct s '["x", "i32"], ["x", "i32"]')" "$pow"
refused "and a size" 'types[0].members[1]: "y" ends behind byte 65536, want a struct of at most so many' "$(struct s '["x", "u8[65536]"], ["y", "u8"]')" "$pow"
refused "a name is one of C, and new" 'types[0].name: is "i32", want an identifier of C that no other type has' "$(struct i32 '["x", "i32"]')" "$pow"
refused "a type is one or the other" 'types[0]: want "members" of a struct, or "args" and "returns" of a callback' '{"name": "s"}' "$pow"
refused "a callback gives a number" 'types[0].returns: is "status", want void, bool or a number of a callback' "$(callback f '' status)" "$pow"
refused "arguments have known types" 'handlers[0].args[0]: "s" is no type that a run file can give a handler' '' "$(function_ pow '["x", "s"]' f64)"
refused "a struct that is returned says its number" 'handlers[0].returns: is a struct: want "value" with the number of it that the handler gives, such as "returns.x"' \
  "$(struct s '["x", "i32"]')" "$(function_ pow '["x", "f64"]' s)"
refused "which is there" 'handlers[0].value: is "returns.y", want the place of a number in a struct that the function returns' \
  "$(struct s '["x", "i32"]')" "$(function_ pow '["x", "f64"]' s '"value": "returns.y"')"
refused "and returned at all" 'handlers[0].returns: "s" has 2048 bytes, want at most 1024 of a struct that is returned' \
  "$(struct s '["x", "f64[256]"]')" "$(function_ pow '["x", "f64"]' s '"value": "returns.x[0]"')"
refused "an address is of something" 'handlers[0].returns: "pow*" is nothing that a handler can return' '' "$(function_ pow '["x", "f64"]' 'pow*')"
refused "nobody calls back for an address" 'types[0].returns: is "ptr", want void, bool or a number of a callback' "$(callback f '' ptr)" "$pow"
"$TUTTI" plugins list --plugin-path bad >list.txt 2>&1
for ((k = 0; k < ${#bad[@]}; k += 2)); do
  check "${bad[k]}" grep -qF "bad/b$k/plugin.json:2: ${bad[k + 1]}" list.txt || grep "bad/b$k/" list.txt
done
check "a listing has places" sh -c "$TUTTI plugins info org.example.c --plugin-path plugins | grep -qx 'div(i32 n, i32 by) gives returns.rem of div_t: handler of org.example.c'"
if [ -n "$SANITIZE" ]; then
  skip "plugins check, whose limit of memory the address sanitizer exceeds"
else
  check "the check of plugins takes them" "$TUTTI" plugins check plugins/own
fi
finish
