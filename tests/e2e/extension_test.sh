#!/usr/bin/env bash
# extension_test.sh - what CONTRIBUTING.md says of additions, by doing it: in a copy of the tree each row of its table is made
# as its text says, needs as many files as the row counts, and passes the tests that the text names.
. "$(dirname "$0")/lib.sh"
[ -z "$SANITIZE" ] || skip_all "a sanitizer build; the release is built here whatever the build under test is"
for tool in git cmake ninja pkg-config clang-format; do
  command -v $tool >/dev/null || skip_all "no $tool"
done
pkg-config --exists check || skip_all "no Check (Debian's package check)"
git -C "$SOURCE" rev-parse --git-dir >/dev/null 2>&1 || skip_all "$SOURCE is no checkout: what belongs to the project is not known"
umask 022
unset TUTTI_PLUGIN_PATH TUTTI_ADD_PLUGIN_PATH GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1 XDG_DATA_HOME=$work/none
additions=$e2e/additions.py
if command -v ccache >/dev/null; then # what the last time compiled in another folder
  export CMAKE_C_COMPILER_LAUNCHER=ccache CMAKE_CXX_COMPILER_LAUNCHER=ccache CCACHE_BASEDIR=$work/tree
fi

mkdir tree
(cd "$SOURCE" && git ls-files -coz --exclude-standard | tar --null -T - --ignore-failed-read -cf - 2>/dev/null) | tar -xf - -C tree
cd tree || exit 1
build=$PWD/build/release
tutti=$build/tutti
git init -q .
printf '%s\n' check.out check.new says.out says.err >>.git/info/exclude

# keep <subject>: what has been added belongs to the tree from now on.
keep() { git add -A && git -c user.name=test -c user.email=test@localhost -c commit.gpgsign=false commit -qm "$1"; }

# counted <row> <what> [<files that cannot be edited here>]: the files of an addition are as many as the row of CONTRIBUTING.md
# that begins so has.
counted() {
  local made edited
  made=$(git status --porcelain --untracked-files=all | grep -c '^?? ')
  edited=$(git status --porcelain --untracked-files=all | grep -cv '^?? ')
  git status --porcelain --untracked-files=all
  check "the files of $2" python3 "$additions" count "$1" "$made" $((edited + ${3:-0}))
  keep "$2"
}

# edit <file> <pattern> <text>
edit() { check "an edit of $1" python3 "$additions" edit "$@"; }

# copy <folder> <name>: under that name beside the folder, formatted.
copy() {
  check "a copy of $1" python3 "$additions" copy "$1" "$2"
  find "$(dirname "$1")/$2" -name '*.[ch]' -exec clang-format -i {} +
}

check "the copy is a checkout" keep "the tree"

# ---- an operation: the nearest is exp, which a copy also calls where it means libm's ----
op=kernels/gaussian
copy kernels/exp gaussian
sed -i 's/e to the power x/e to the power -x^2/' $op/*.h $op/*.c $op/*.cu
edit $op/gaussian.h 'return fast_exp\(x\);' 'return fast_exp(-x * x);'
edit $op/gaussian.h 'return gaussian\(x\);' 'return exp(-x * x);'
edit $op/gaussian_op.c '#include "common/elementwise.h"' '\g<0>\n#include "common/onnx.h"'
edit $op/gaussian_op.c 'tutti_mul\(g, dy\[0\], n->out\[0\]\)' \
  'tutti_mul(g, \g<0>, tutti_affine(g, n->in[0], -2.0, 0.0))'
edit $op/gaussian_op.c '^OP_POINTWISE\(gaussian, F32, .*\);$' 'static tutti_value gaussian_onnx(const tutti_onnx *o)
{
    const tutti_value square = onnx_op2(o, "Mul", o->in[0], o->in[0]);
    return onnx_op1(o, "Exp", onnx_op1(o, "Neg", square));
}

OP_POINTWISE(gaussian, F32, .onnx = gaussian_onnx);'
edit $op/gaussian_op.c 'OP_UNARY\(gaussian, 6,' 'OP_UNARY(gaussian, 8,'
edit $op/gaussian_test.c '\.data = \{F32S\(.*\)\}' \
  '.data = {F32S(0, 1, -1, 2, -INFINITY, NAN, 0.5f, -9)}'
edit $op/gaussian_test.c '\.want = F32S\(.*\)' \
  '.want = F32S(1, 0.367879441f, 0.367879441f, 0.0183156389f, 0, NAN, 0.778800783f, 6.63967720e-36f)'
clang-format -i $op/*.c $op/*.h
counted "an operation with a gradient and a CUDA kernel" "the operation gaussian"

# ---- an algorithm, and a plugin of each other kind ----
copy plugins/algorithms/layer_freezing early_freezing
counted "an algorithm without device code" "the algorithm early_freezing"
plugins=(algorithm:early_freezing)
for one in callback:lr_monitor:rate_monitor metric:top_k_accuracy:top_accuracy optimizer:adagrad:adasum \
  scheduler:cosine_annealing:half_cosine transform:random_autocontrast:random_stretch; do
  IFS=: read -r kind from to <<<"$one"
  copy "plugins/${kind}s/$from" "$to"
  counted "a callback, a metric, an optimizer, a scheduler, a transform" "the $kind $to"
  plugins+=("$kind:$to")
done

# ---- an event at the end of a fit, which Composer does not have ----
edit sdk/include/tutti/events.h '^(#define TUTTI_COMPOSER_EVENTS\(X\)(?:.*\\\n)+.*X\(.*\))$' \
  '\g<1> \\\n    X(FIT_CLOSED, "fit_closed", "fit_closed", N)'
edit host/train/trainer/fit.c '^( *s = )(trainer_evaluate_due\(t, TUTTI_EVENT_FIT_END, err\));$' '\g<0>
\g<1>s ? s : distributed_agree(&t->distributed, trainer_event(t, TUTTI_EVENT_FIT_CLOSED, err), err);'
edit tests/unit/train/fit_test.c 'epoch_checkpoint fit_end ",' 'epoch_checkpoint fit_end fit_closed ",'
edit tests/conformance/event_counts_case.c 'if \(event->id >= COMPOSER_EVENT_END\)' \
  'if (event->id >= COMPOSER_EVENT_END || event->id == TUTTI_EVENT_FIT_CLOSED)'
clang-format -i sdk/include/tutti/events.h host/train/trainer/fit.c tests/unit/train/fit_test.c tests/conformance/event_counts_case.c
wanted=$(sed -n 's/^\/\/ bindgen //p' sdk/rust/src/sys.rs)
if [ "$(bindgen --version 2>/dev/null | awk '{print $2}')" = "$wanted" ]; then
  check "the bindings of Rust" sdk/rust/generate
  unbound=0
else
  skip "no bindgen $wanted (Debian's package bindgen): the bindings of Rust lack the event"
  unbound=1
fi
counted "an event of the training loop" "the event fit_closed" $unbound

# ---- a service with one function, and the fixture that calls it ----
cat >sdk/include/tutti/progress.h <<'C'
/* progress.h - tutti.progress/1: how far the run has come. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TUTTI_PROGRESS_H
#define TUTTI_PROGRESS_H

#include "base.h"

#if TUTTI_USE_MINOR >= 2
TUTTI_C_BEGIN

#define TUTTI_PROGRESS_V1 "tutti.progress/1" /* since 1.2 */

/* Every run of `tutti train` has it.  since 1.2 */
typedef struct tutti_progress_v1 {
    uint32_t struct_size;
    uint32_t reserved; /* 0 */
    void *ctx;         /* the host's; pass it back */
    int64_t (*batches)(void *ctx); /* that are trained.  [step] */
} tutti_progress_v1;

TUTTI_C_END
#endif
#endif
C
fixture=tests/fixtures/progress_reader
mkdir $fixture
cat >$fixture/plugin.json <<'JSON'
{
  "format": "1.0",
  "id": "org.fixture.progress_reader",
  "version": "1.0.0",
  "license": "Apache-2.0",
  "abi": {"min": "1.2"},
  "library": {"path": "progress_reader.so"},
  "requires": ["tutti.metrics/1", "tutti.progress/1"],
  "objects": [
    {"name": "progress_reader", "kind": "callback", "doc": "Logs how far the run has come.",
     "events": ["batch_end", "fit_closed"], "params": {}}
  ]
}
JSON
cat >$fixture/plugin.c <<'C'
/* plugin.c - progress_reader: a callback that logs what tutti.progress/1 says, and the end of a fit. */
/* SPDX-License-Identifier: Apache-2.0 */
#define TUTTI_USE_MINOR 2
#include "tutti/metrics.h"
#include "tutti/progress.h"
#include "tutti/tutti.h"

static tutti_status progress_reader_open(const tutti_host *host, const tutti_params *params,
                                         void **ret_self, tutti_error *err)
{
    (void)params, (void)err;
    *ret_self = (void *)(uintptr_t)host;
    return TUTTI_OK;
}

static tutti_status progress_reader_event(void *self, const tutti_event *event,
                                          tutti_error *err)
{
    const tutti_host *host = self;
    const tutti_progress_v1 *progress = host->query(host->ctx, TUTTI_PROGRESS_V1);
    const tutti_metrics_v1 *metrics = host->query(host->ctx, TUTTI_METRICS_V1);
    if (!progress || !metrics)
        return tutti_fail(err, TUTTI_E_UNSUPPORTED, "progress_reader: no services");
    const int closed = event->id == TUTTI_EVENT_FIT_CLOSED;
    const tutti_named_value v = {closed ? "progress/closed" : "progress/batches",
                                 (double)progress->batches(progress->ctx)};
    metrics->log(metrics->ctx, &v, 1);
    return TUTTI_OK;
}

static tutti_status progress_reader_close(void *self, tutti_error *err)
{
    (void)self, (void)err;
    return TUTTI_OK;
}

static const tutti_calls calls = {.struct_size = sizeof calls,
                                  .open = progress_reader_open,
                                  .run_event = progress_reader_event,
                                  .close = progress_reader_close};
static const tutti_object object =
    TUTTI_OBJECT_INIT("progress_reader", TUTTI_KIND_CALLBACK, &calls);
static const tutti_object *const objects[] = {&object, NULL};
static const tutti_plugin plugin =
    TUTTI_PLUGIN_INIT("org.fixture.progress_reader", "1.0.0", objects);

const tutti_plugin *tutti_plugin_v1(uint32_t host_abi)
{
    (void)host_abi;
    return &plugin;
}
C
edit host/train/trainer/services.h '^typedef struct trainer_services \{$' '\g<0>\n    tutti_progress_v1 progress;'
edit host/train/trainer/services.h '^#include "tutti/plan.h"$' '\g<0>\n#include "tutti/progress.h"'
edit host/train/trainer/services.c '^void trainer_services_init\(trainer \*t\)\n\{\n' \
  '/* ---- progress ---- */

static int64_t progress_batches(void *ctx)
{
    return ((trainer *)ctx)->run.clock.now.batch;
}

\g<0>    t->services->progress = (tutti_progress_v1){.struct_size = sizeof t->services->progress,
                                                    .ctx = t,
                                                    .batches = progress_batches};
'
edit host/train/trainer/services.c '^ *if \(strcmp\(interface_id, TUTTI_STATE_V1\) == 0\)$' \
  '    if (strcmp(interface_id, TUTTI_PROGRESS_V1) == 0)
        return &t->services->progress;
\g<0>'
edit sdk/README.md '^\| (?=(`[a-z_]+\.h` )+\| services: )' '\g<0>`progress.h` '
edit sdk/abi/README.md '^## What 1\.\d+ adds so far[^#]*?\n\|---\|---\|\n' \
  '\g<0>| how far a run has come, `tutti.progress/1` | fixture `progress_reader` |\n'
clang-format -i sdk/include/tutti/progress.h $fixture/plugin.c host/train/trainer/services.h host/train/trainer/services.c
counted "a service with one function" "the service tutti.progress/1"

# ---- all of it at once is configured and built ----
names=("${plugins[@]#*:}")
check "it is configured" cmake --preset release -DTUTTI_TEST_DATA="${TUTTI_TEST_DATA:-none}"
before=$failures # all plugins are built for the runner of conformance cases
check "and built" cmake --build --preset release --target tutti conformance train_fit_test engine_dispatch_test plugin_shipped_test \
  op_gaussian_test standin_cudart plugin_shadow fixture_progress_reader "${names[@]/%/_test}"
[ "$failures" -eq "$before" ] || finish

# passes <test>...: tests of ctest, each of which is there and can be tried.
passes() {
  local name
  for name in "$@"; do
    check "$name" ctest --test-dir "$build" -R "^$name\$" --no-tests=error --output-on-failure
    ! grep -q '\*\*\*Skipped' check.out || skip "$name is skipped here"
  done
}
passes op_gaussian_test cuda_op_gaussian "${names[@]/%/_test}" plugin_shipped_test
check "tutti ops lists the operation" sh -c "'$tutti' ops | grep -q '^gaussian:'"
for name in "${names[@]}"; do
  check "tutti plugins check finds no fault in $name" "$tutti" plugins check "$build/lib/tutti/plugins/$name"
done
export TUTTI=$tutti SOURCE=$PWD
ONLY=early_freezing passes e2e_algorithms_test
check "the algorithm goes with the others" python3 tests/pairs/pairs.py cnn early_freezing
check "ranks have the bits of one" python3 tests/dist/every_test.py "$tutti" "${plugins[@]}"
passes train_fit_test conformance engine_dispatch_test sdk_abi sdk_rust sdk_catalogue sdk_headers
passes lint_arrows lint_format lint_ops lint_readme lint_readme_tables lint_sizes lint_tables lint_terms lint_parity lint_differences

# ---- a plugin hears the event and asks the service ----
cat >"$work/members.json" <<'JSON'
{"eval": [], "callbacks": [{"name": "progress_reader"}], "loggers": [{"name": "jsonl", "filename": "log.jsonl"}]}
JSON
cd "$work" || exit 1
small_run | python3 "$e2e/small_run.py" members.json >run.json
check "it trains" "$tutti" train run.json --set max_duration=4ba --plugin-path "$build/tests/fixtures/progress_reader"
check "the service counts" grep -q '"progress/batches": *4' log.jsonl
check "and the event ends the fit" grep -q '"progress/closed": *4' log.jsonl
finish
