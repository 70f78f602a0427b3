/* gradcheck_kernel.c - the part of op_check that runs the kernel, on poisoned and guarded memory. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "gradcheck_trial.h"
#include "graph/runtime/autotune.h"
#include "graph/runtime/autotune_measure.h"
#include "tutti/isa.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GUARD 64                /* bytes behind every buffer that nobody may touch */
#define REPRODUCIBLE UINT32_MAX /* the algorithm of runs with equal bits anywhere */

/* Fills with 0xFF: NaN for floats, -1 for integers; the guard too. */
static void *poisoned(uint64_t bytes)
{
    const size_t room = (bytes + GUARD + 63) / 64 * 64;
    void *p = aligned_alloc(64, room);
    return p ? memset(p, 0xFF, room) : NULL;
}

static bool guard_intact(const void *p, uint64_t bytes)
{
    const unsigned char *guard = (const unsigned char *)p + bytes;
    for (int k = 0; k < GUARD; k++)
        if (guard[k] != 0xFF)
            return false;
    return true;
}

typedef struct bench {
    const tutti_op *op;
    const op_case *c;
    const void *attr;
    tutti_desc in_desc[TUTTI_OP_MAX_IN], out_desc[TUTTI_OP_MAX_OUT];
    void *in[TUTTI_OP_MAX_IN], *kept[TUTTI_OP_MAX_IN];
    void *out[TUTTI_OP_MAX_OUT];
    void *state, *scratch;
    uint64_t scratch_bytes;
    uint32_t algorithm;
    uint32_t reserved;
} bench;

static void bench_fini(bench *b)
{
    if (b->state && b->op->cpu->destroy)
        b->op->cpu->destroy(b->state);
    for (uint32_t k = 0; k < TUTTI_OP_MAX_IN; k++) {
        free(b->in[k]);
        free(b->kept[k]);
    }
    for (uint32_t k = 0; k < TUTTI_OP_MAX_OUT; k++)
        free(b->out[k]);
    free(b->scratch);
}

static tutti_status bench_fill(bench *b, tutti_error *err)
{
    for (uint32_t k = 0; k < b->c->nin; k++) {
        const uint64_t bytes = tutti_nbytes(&b->in_desc[k]);
        b->in[k] = poisoned(bytes);
        b->kept[k] = poisoned(bytes);
        if (!b->in[k] || !b->kept[k])
            return tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory for the check", b->c->op);
        const tutti_tensor t = {b->in[k], b->in_desc[k], TUTTI_DEVICE_CPU, 0};
        for (int64_t j = 0, n = tutti_numel(&t.desc); j < n; j++)
            tensor_set(&t, j, check_draw(b->c, k, t.desc.dtype, j));
        memcpy(b->kept[k], b->in[k], bytes);
    }
    for (uint32_t k = 0; k < b->op->nout; k++) {
        b->out[k] = poisoned(tutti_nbytes(&b->out_desc[k]));
        if (!b->out[k])
            return tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory for the check", b->c->op);
    }
    return TUTTI_OK;
}

static tutti_status bench_guards(const bench *b, uint32_t in_place, tutti_error *err)
{
    for (uint32_t k = 0; k < b->c->nin; k++) {
        const uint64_t bytes = tutti_nbytes(&b->in_desc[k]);
        const bool same = bytes == 0 || memcmp(b->in[k], b->kept[k], bytes) == 0;
        if (!guard_intact(b->in[k], bytes) || (!check_is_under(b->op, k, in_place) && !same))
            return tutti_fail(err, TUTTI_E_FAIL, "%s: the kernel wrote to input %u", b->c->op,
                              k);
    }
    for (uint32_t k = 0; k < b->op->nout; k++)
        if (!guard_intact(b->out[k], tutti_nbytes(&b->out_desc[k])))
            return tutti_fail(err, TUTTI_E_FAIL,
                              "%s: the kernel wrote past the end of result %u", b->c->op, k);
    if (b->scratch && !guard_intact(b->scratch, b->scratch_bytes))
        return tutti_fail(err, TUTTI_E_FAIL, "%s: the kernel wrote past the end of its scratch",
                          b->c->op);
    return TUTTI_OK;
}

/* One run of the kernel; `in_place` is the input where out[0] goes, CHECK_UPDATES, or UINT32_MAX. */
static tutti_status bench_run(bench *b, int32_t threads, uint32_t in_place, tutti_error *err)
{
    const tutti_kernel *kernel = b->op->cpu;
    const void *in[TUTTI_OP_MAX_IN];
    void *out[TUTTI_OP_MAX_OUT];
    tutti_op_call call = {sizeof call, b->c->nin, b->op->nout, threads, b->in_desc,
                          b->out_desc, b->attr,   NULL,        NULL,    NULL};
    tutti_status s = bench_fill(b, err);
    const tutti_algorithms *algorithms = b->op->cpu_algorithms;
    if (!s && b->algorithm == REPRODUCIBLE && algorithms && algorithms->prepare_reproducible)
        s = algorithms->prepare_reproducible(&call, &b->state, &b->scratch_bytes, err);
    else if (!s && b->algorithm && b->algorithm != REPRODUCIBLE)
        s = algorithms->prepare(&call, b->algorithm, &b->state, &b->scratch_bytes, err);
    else if (!s && kernel->prepare)
        s = kernel->prepare(&call, &b->state, &b->scratch_bytes, err);
    if (s)
        return tutti_fail(err, s, "%s: the kernel's prepare failed without a reason", b->c->op);
    b->scratch = b->scratch_bytes ? poisoned(b->scratch_bytes) : NULL;
    for (uint32_t k = 0; k < b->c->nin; k++)
        in[k] = b->in[k];
    for (uint32_t k = 0; k < b->op->nout; k++) {
        const uint32_t under = check_operand_under(b->op, k, in_place);
        out[k] = under < b->c->nin ? b->in[under] : b->out[k];
    }
    call.step = &check_step;
    s = kernel->run(b->state, &call, in, out, b->scratch);
    if (s)
        return tutti_fail(err, s, "%s: the kernel refused its input (%s)", b->c->op,
                          tutti_status_name(s));
    return bench_guards(b, in_place, err);
}

static double default_tolerance(const op_case *c)
{
    int64_t most = 1;
    for (uint32_t k = 0; k < c->nin; k++)
        most = tutti_numel(&c->in[k]) > most ? tutti_numel(&c->in[k]) : most;
    return fmin(1e-6 * sqrt((double)most), 1e-4);
}

/* FNV-1a, from a hash so far. */
static uint64_t hash_of(uint64_t hash, const void *data, uint64_t bytes)
{
    for (uint64_t k = 0; k < bytes; k++)
        hash = (hash ^ ((const unsigned char *)data)[k]) * 1099511628211u;
    return hash;
}

/* Runs the kernel and compares every result with what the interpreter has in `t`.  *ret_bits, unless NULL, tells
 * results apart that differ in a bit. */
static tutti_status kernel_once(const trial *t, int32_t threads, uint32_t in_place,
                                uint32_t algorithm, uint64_t *ret_bits, tutti_error *err)
{
    const op_case *c = t->c;
    bench b = {.op = t->op, .c = c, .algorithm = algorithm};
    char what[96];
    const graph_node *n = graph_node_at(t->g, 0);
    const double own = c->tolerance > 0.0 ? c->tolerance : default_tolerance(c);
    const double tolerance = algorithm ? fmax(own, AUTOTUNE_TOLERANCE) : own;
    b.attr = n->attr;
    memcpy(b.in_desc, c->in, sizeof *c->in * c->nin);
    for (uint32_t k = 0; k < t->op->nout; k++)
        b.out_desc[k] = graph_value_at(t->g, n->out + k)->desc;
    tutti_status s = bench_run(&b, threads, in_place, err);
    for (uint32_t k = 0; k < t->op->nout && !s; k++) {
        const uint32_t under = check_operand_under(t->op, k, in_place);
        const bool moved = under < c->nin;
        const tutti_tensor got = {moved ? b.in[under] : b.out[k], b.out_desc[k],
                                  TUTTI_DEVICE_CPU, 0};
        const int64_t count = tutti_numel(&got.desc);
        double *numbers = malloc(sizeof *numbers * (size_t)(count + 1));
        for (int64_t j = 0; j < count && numbers; j++)
            numbers[j] = tensor_get(&got, j);
        if (moved)
            (void)snprintf(what, sizeof what,
                           "kernel in place of input %u against reference, result %u", under,
                           k);
        else
            (void)snprintf(what, sizeof what,
                           "kernel on %d thread%s against reference, result %u", threads,
                           threads == 1 ? "" : "s", k);
        s = numbers ? check_compare(c, what, &got.desc, numbers,
                                    interpreter_value(t->it, n->out + k), tolerance, err)
                    : tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory for the check", c->op);
        free(numbers);
        if (ret_bits)
            *ret_bits = hash_of(k ? *ret_bits : 14695981039346656037u, got.data,
                                tutti_nbytes(&got.desc));
    }
    bench_fini(&b);
    return s;
}

/* Every algorithm that the host may choose for this shape. */
static tutti_status check_algorithms(const trial *t, tutti_error *err)
{
    const graph_node *n = graph_node_at(t->g, 0);
    tutti_desc out[TUTTI_OP_MAX_OUT];
    for (uint32_t k = 0; k < t->op->nout; k++)
        out[k] = graph_value_at(t->g, n->out + k)->desc;
    const tutti_op_call c = {sizeof c, t->c->nin, t->op->nout, 3,    t->c->in,
                             out,      n->attr,   NULL,        NULL, NULL};
    for (uint32_t k = 1; autotune_algorithm_name(t->op, &c, k); k++) {
        tutti_error why = TUTTI_ERROR_INIT;
        const tutti_status s = kernel_once(t, 3, UINT32_MAX, k, NULL, &why);
        if (s && s != TUTTI_E_UNSUPPORTED)
            return tutti_fail(err, s, "%s: %s", autotune_algorithm_name(t->op, &c, k),
                              why.text);
    }
    return TUTTI_OK;
}

/* A line of the case's bits at the end of the file that TUTTI_OP_BITS names: two CPUs, or two levels of one, write
 * the same. */
static tutti_status write_bits(const op_case *c, uint64_t bits, tutti_error *err)
{
    const char *path = getenv("TUTTI_OP_BITS");
    FILE *file = path ? fopen(path, "ae") : NULL;
    if (!path)
        return TUTTI_OK;
    const bool written =
        file && fprintf(file, "%s %llu %016llx\n", c->op, (unsigned long long)c->seed,
                        (unsigned long long)bits) > 0;
    if (!file || fclose(file) || !written)
        return tutti_fail(err, TUTTI_E_IO, "%s: cannot be written", path);
    return TUTTI_OK;
}

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
/* LLVM's OpenMP keeps no pointer to what it had for smaller teams. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:libomp.so\n";
}
#endif
#endif

/* What an operation promises by TUTTI_OP_REPRODUCIBLE, for numbers of threads. */
static tutti_status check_bits(const trial *t, tutti_error *err)
{
    static const int32_t threads[] = {2, 3, 5, 8};
    uint64_t one = 0;
    tutti_status s = kernel_once(t, 1, UINT32_MAX, REPRODUCIBLE, &one, err);
    for (size_t k = 0; k < sizeof threads / sizeof *threads && !s; k++) {
        uint64_t several = 0;
        s = kernel_once(t, threads[k], UINT32_MAX, REPRODUCIBLE, &several, err);
        if (!s && several != one)
            s = tutti_fail(err, TUTTI_E_NUMERIC,
                           "%s: %d threads compute other bits than one, and the operation says "
                           "TUTTI_OP_REPRODUCIBLE",
                           t->c->op, threads[k]);
    }
    return s ? s : write_bits(t->c, one, err);
}

/* Whether this CPU, at this level, has what the promise wants. */
static bool promises(const tutti_op *op)
{
    const int32_t least = tutti_isa_named("v3");
    return op->flags & TUTTI_OP_REPRODUCIBLE && least >= 0 && tutti_isa() >= least;
}

tutti_status check_kernel(const trial *t, tutti_error *err)
{
    const op_case *c = t->c;
    tutti_status s = kernel_once(t, 1, UINT32_MAX, 0, NULL, err);
    if (!s)
        s = kernel_once(t, 3, UINT32_MAX, 0, NULL, err);
    if (!s)
        s = check_algorithms(t, err);
    if (!s && promises(t->op))
        s = check_bits(t, err);
    const tutti_desc *y = &graph_value_at(t->g, graph_node_at(t->g, 0)->out)->desc;
    for (uint32_t k = 0; k < c->nin && !s; k++)
        if (t->op->cpu->inplace >> k & 1 && tutti_same_shape(&c->in[k], y) &&
            c->in[k].dtype == y->dtype)
            s = kernel_once(t, 1, k, 0, NULL, err);
    if (!s && traits_of(t->op)->updates)
        s = kernel_once(t, 3, CHECK_UPDATES, 0, NULL, err);
    return s;
}
