/* gradcheck_device.c - the part of op_check that runs a device's kernel, in f32 and in 16 bits. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "gradcheck_trial.h"
#include "graph/ir/attr.h"
#include "graph/ir/precision.h"
#include "graph/ir/traits.h"
#include "graph/program/program_internal.h"
#include "graph/runtime/host_memory.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GUARD 256       /* bytes behind every buffer that nobody may touch */
#define GUARD_BYTE 0xA5 /* libraries fill their workspace with 0xFF */
#define KERNELS 4.0     /* a device sums in another order, and has functions of its own */
#define TF32_ALLOWED 1  /* the attribute `fast` of products and convolutions */

const tutti_device *(*op_check_device)(tutti_error *err);

/* What is stored how in one run: F32 operands take these in turn, and result 0, where it is F32 and may have 16
 * bits instead, has `result`. */
typedef struct variant {
    const char *name;
    int32_t dtype[6];
    int32_t result; /* TUTTI_DTYPE_NONE: as it is inferred */
} variant;

#define THREE(a, b, c)                                                                         \
    {                                                                                          \
        (a), (b), (c), (a), (b), (c)                                                           \
    }
static const variant variants[] = {
    {"f32", THREE(TUTTI_F32, TUTTI_F32, TUTTI_F32), TUTTI_DTYPE_NONE},
    {"bf16", THREE(TUTTI_BF16, TUTTI_BF16, TUTTI_BF16), TUTTI_DTYPE_NONE},
    {"f16", THREE(TUTTI_F16, TUTTI_F16, TUTTI_F16), TUTTI_DTYPE_NONE},
    {"bf16, f32 and f16", THREE(TUTTI_BF16, TUTTI_F32, TUTTI_F16), TUTTI_DTYPE_NONE},
    {"f32 and bf16", THREE(TUTTI_F32, TUTTI_BF16, TUTTI_BF16), TUTTI_DTYPE_NONE},
    {"f32 into bf16", THREE(TUTTI_F32, TUTTI_F32, TUTTI_F32), TUTTI_BF16},
    {"f32 and bf16 into f16", THREE(TUTTI_F32, TUTTI_BF16, TUTTI_BF16), TUTTI_F16},
    {"bf16 among f32",
     {TUTTI_F32, TUTTI_BF16, TUTTI_F32, TUTTI_F32, TUTTI_F32, TUTTI_F32},
     TUTTI_DTYPE_NONE},
};
enum { NVARIANTS = sizeof variants / sizeof *variants };

/* A buffer of the device, and what the host put there or found there.  It is aligned as plans do it and
 * no better. */
typedef struct buffer {
    unsigned char *taken;
    void *device;
    unsigned char *host;
    uint64_t bytes; /* without the guard */
} buffer;

typedef struct device_bench {
    const tutti_device *d;
    const tutti_op *op;
    const op_case *c;
    const tutti_kernel *kernel;
    const variant *variant;
    tutti_op_call call;
    tutti_desc in_desc[TUTTI_OP_MAX_IN], out_desc[TUTTI_OP_MAX_OUT];
    buffer in[TUTTI_OP_MAX_IN], out[TUTTI_OP_MAX_OUT], scratch;
    void *state;
} device_bench;

static tutti_status no_memory(const device_bench *b, tutti_error *err)
{
    return tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory for the check", b->c->op);
}

static void poison(const buffer *x)
{
    memset(x->host, 0xFF, x->bytes);
    memset(x->host + x->bytes, GUARD_BYTE, GUARD);
}

static tutti_status buffer_make(const device_bench *b, uint64_t bytes, buffer *ret,
                                tutti_error *err)
{
    ret->bytes = bytes;
    ret->host = malloc(bytes + GUARD);
    if (!ret->host)
        return no_memory(b, err);
    poison(ret);
    void *taken = NULL;
    const tutti_status s =
        b->d->table->alloc(b->d->device, MEMORY_ALIGN + bytes + GUARD, &taken, err);
    ret->taken = taken;
    ret->device = s ? NULL : ret->taken + MEMORY_ALIGN;
    return s;
}

static void buffer_free(const tutti_device *d, buffer *b)
{
    d->table->release(d->device, b->taken);
    free(b->host);
}

static tutti_status buffer_put(const device_bench *b, const buffer *x, tutti_error *err)
{
    return b->d->table->copy(b->d->device, NULL, x->device, x->host, x->bytes + GUARD,
                             TUTTI_COPY_TO_DEVICE, err);
}

/* What is on the device; `ret` has room for the guard too. */
static tutti_status buffer_get(const device_bench *b, const buffer *x, unsigned char *ret,
                               tutti_error *err)
{
    return b->d->table->copy(b->d->device, NULL, ret, x->device, x->bytes + GUARD,
                             TUTTI_COPY_FROM_DEVICE, err);
}

static void bench_fini(device_bench *b)
{
    if (b->state && b->kernel->destroy)
        b->kernel->destroy(b->state);
    for (uint32_t k = 0; k < TUTTI_OP_MAX_IN; k++)
        buffer_free(b->d, &b->in[k]);
    for (uint32_t k = 0; k < TUTTI_OP_MAX_OUT; k++)
        buffer_free(b->d, &b->out[k]);
    buffer_free(b->d, &b->scratch);
}

/* ---- operands ---- */

/* Results that a pass stores in 16 bits: those that say so, else result 0.  Whether there are any. */
static bool narrow_results(device_bench *b)
{
    const bool may = b->out_desc[0].dtype == TUTTI_F32 &&
                     precision_may_narrow(b->op, &b->call, b->variant->result);
    const uint32_t named = b->op->nout > 1 ? traits_of(b->op)->low_out : 0;
    for (uint32_t k = 0; k < b->op->nout && may; k++)
        if ((named ? named : 1) >> k & 1)
            b->out_desc[k].dtype = b->variant->result;
    return may;
}

/* The case's shapes in the variant's dtypes.  *ret_new is false where that is f32 once more. */
static tutti_status set_dtypes(device_bench *b, const trial *t, bool *ret_new, tutti_error *err)
{
    const graph_autocast none = {TUTTI_DTYPE_NONE, false};
    uint32_t turn = 0;
    *ret_new = b->variant == variants;
    for (uint32_t k = 0; k < b->c->nin; k++) {
        tutti_desc *d = &b->in_desc[k];
        *d = b->c->in[k];
        if (d->dtype == TUTTI_F32)
            d->dtype = b->variant->dtype[turn++ % 6];
        *ret_new = *ret_new || dtype_is_half(d->dtype);
    }
    b->call = (tutti_op_call){.struct_size = sizeof b->call,
                              .nin = b->c->nin,
                              .nout = b->op->nout,
                              .threads = 1,
                              .in = b->in_desc,
                              .attr = graph_node_at(t->g, 0)->attr,
                              .step = &check_step,
                              .cuda = program_cuda(b->d)};
    const tutti_status s = precision_infer(b->op, &b->call, &none, b->out_desc, err);
    b->call.out = b->out_desc;
    if (!s && b->variant->result)
        *ret_new = narrow_results(b);
    return s;
}

/* Draws the operands, rounds them as they are stored, and lets the reference see that. */
static tutti_status fill(device_bench *b, const trial *t, tutti_error *err)
{
    tutti_status s = TUTTI_OK;
    for (uint32_t k = 0; k < b->c->nin && !s; k++) {
        s = buffer_make(b, tutti_nbytes(&b->in_desc[k]), &b->in[k], err);
        if (s)
            return s;
        const tutti_tensor x = {b->in[k].host, b->in_desc[k], TUTTI_DEVICE_CPU, 0};
        double *seen = interpreter_value(t->it, t->in[k]);
        for (int64_t j = 0, n = tutti_numel(&x.desc); j < n; j++) {
            tensor_set(&x, j, check_draw(b->c, k, b->c->in[k].dtype, j));
            seen[j] = tensor_get(&x, j);
        }
        s = buffer_put(b, &b->in[k], err);
    }
    for (uint32_t k = 0; k < b->op->nout && !s; k++)
        s = buffer_make(b, tutti_nbytes(&b->out_desc[k]), &b->out[k], err);
    return s ? s : interpreter_run(t->it, 0, 1, &check_step, err);
}

/* ---- runs ---- */

/* Results and scratch are poison again; with `replay` by way of a graph that was gathered in another
 * step.  *in_place is the input where result 0 goes, CHECK_UPDATES, or UINT32_MAX. */
static tutti_status run(device_bench *b, uint32_t in_place, bool replay, tutti_error *err)
{
    const tutti_device_v1 *table = b->d->table;
    tutti_step other = check_step;
    const void *in[TUTTI_OP_MAX_IN];
    void *out[TUTTI_OP_MAX_OUT], *gathered = NULL;
    tutti_status s = TUTTI_OK;
    for (uint32_t k = 0; k < b->c->nin; k++)
        in[k] = b->in[k].device;
    for (uint32_t k = 0; k < b->op->nout && !s; k++) {
        const uint32_t under = check_operand_under(b->op, k, in_place);
        out[k] = under < b->c->nin ? b->in[under].device : b->out[k].device;
        poison(&b->out[k]);
        s = buffer_put(b, &b->out[k], err);
    }
    if (!s && b->scratch.host) {
        poison(&b->scratch);
        s = buffer_put(b, &b->scratch, err);
    }
    other.step += 5;
    other.first_sample += 3;
    b->call.step = replay ? &other : &check_step;
    const tutti_launch l = {.struct_size = sizeof l,
                            .name = b->op->name,
                            .run = b->kernel->run,
                            .state = b->state,
                            .call = &b->call,
                            .in = in,
                            .out = out,
                            .scratch = b->scratch.device};
    if (!s && replay)
        s = table->capture_begin(b->d->device, NULL, err);
    if (!s) {
        s = table->launch(b->d->device, NULL, &l, err);
        if (replay) {
            const tutti_status ended =
                table->capture_end(b->d->device, NULL, s ? NULL : &gathered, s ? NULL : err);
            s = s ? s : ended;
        }
    }
    if (!s && replay)
        s = table->replay(b->d->device, NULL, gathered, &check_step, err);
    const tutti_status done = table->synchronise(b->d->device, NULL, s ? NULL : err);
    if (gathered)
        table->graph_destroy(b->d->device, gathered);
    b->call.step = &check_step; /* `other` ends here */
    return s ? s : done;
}

static bool guard_intact(const unsigned char *p, uint64_t bytes)
{
    for (int k = 0; k < GUARD; k++)
        if (p[bytes + (uint64_t)k] != GUARD_BYTE)
            return false;
    return true;
}

static tutti_status check_guard(const device_bench *b, const buffer *x, bool same,
                                const char *what, uint32_t k, tutti_error *err)
{
    unsigned char *now = malloc(x->bytes + GUARD);
    if (!now)
        return no_memory(b, err);
    tutti_status s = buffer_get(b, x, now, err);
    if (!s && (!guard_intact(now, x->bytes) || (same && memcmp(now, x->host, x->bytes) != 0)))
        s = tutti_fail(err, TUTTI_E_FAIL, "%s (%s): the kernel wrote %s %u", b->c->op,
                       b->variant->name, what, k);
    free(now);
    return s;
}

static tutti_status check_guards(const device_bench *b, uint32_t in_place, tutti_error *err)
{
    tutti_status s = TUTTI_OK;
    for (uint32_t k = 0; k < b->c->nin && !s; k++)
        s = check_guard(b, &b->in[k], !check_is_under(b->op, k, in_place), "to input", k, err);
    for (uint32_t k = 0; k < b->op->nout && !s; k++)
        s = check_guard(b, &b->out[k], false, "past the end of result", k, err);
    return s || !b->scratch.host
               ? s
               : check_guard(b, &b->scratch, false, "past the end of its scratch", 0, err);
}

/* ---- results ---- */

static double rounding(int32_t dtype)
{
    return dtype == TUTTI_BF16 ? 0x1p-7 : dtype == TUTTI_F16 ? 0x1p-10 : 0.0;
}

/* Where a GPU may round F32 factors to TF32, which has 10 explicit bits.  A factor is off by at most 2^-11 of itself, a
 * product by 2^-10, and so is a sum of products of one sign.  Where signs are mixed, errors cancel as products do: an
 * H100's largest error was half of this, in parts of the largest result; bits that are cut off, not rounded, have 0.7
 * of it.  Factors that are rounded to bf16 are off by 8 times as much as those of TF32, and go beyond it. */
static double rounding_of_factors(const tutti_op *op, const tutti_op_call *call)
{
    if (!call->cuda || attr_get(op, call->attr, "fast") != TF32_ALLOWED)
        return 0.0;
    for (uint32_t k = 0; k < call->nin; k++)
        if (call->in[k].dtype == TUTTI_F32)
            return 0x1p-10;
    return 0.0;
}

double check_device_tolerance(const op_case *c, const tutti_op *op, const tutti_op_call *call,
                              int32_t dtype)
{
    int64_t most = 1;
    for (uint32_t k = 0; k < c->nin; k++)
        most = tutti_numel(&c->in[k]) > most ? tutti_numel(&c->in[k]) : most;
    const double own =
        c->tolerance > 0.0 ? c->tolerance : fmin(1e-6 * sqrt((double)most), 1e-4);
    double rounded = rounding(dtype);
    for (uint32_t k = 0; k < c->nin && (c->rounds & 1); k++)
        rounded = fmax(rounded, rounding(call->in[k].dtype));
    /* Half a unit where it is stored, times x g'(x) / g(x), which is below 1.6 for GELU above 0; half in the result and
     * half in what is wanted. */
    if (c->rounds & 2)
        rounded *= 2.0;
    return KERNELS * own + fmax(rounded, rounding_of_factors(op, call));
}

/* Result k, which the host has at `bytes`, against the reference's, rounded alike. */
static tutti_status compare(const device_bench *b, const trial *t, uint32_t k,
                            unsigned char *bytes, const char *how, tutti_error *err)
{
    char what[128];
    const tutti_tensor got = {bytes, b->out_desc[k], TUTTI_DEVICE_CPU, 0};
    const int64_t n = tutti_numel(&got.desc);
    const double *exact = interpreter_value(t->it, graph_node_at(t->g, 0)->out + k);
    double *numbers = malloc(sizeof *numbers * (size_t)(2 * n + 1)), *want = numbers + n;
    if (!numbers)
        return no_memory(b, err);
    for (int64_t j = 0; j < n; j++)
        numbers[j] = tensor_get(&got, j);
    for (int64_t j = 0; j < n; j++) {
        tensor_set(&got, j, exact[j]);
        want[j] = graph_is_floating(got.desc.dtype) ? tensor_get(&got, j) : exact[j];
    }
    (void)snprintf(what, sizeof what, "kernel of %s in %s%s against reference, result %u",
                   b->d->info.name, b->variant->name, how, k);
    const tutti_status s =
        check_compare(b->c, what, &got.desc, numbers, want,
                      check_device_tolerance(b->c, b->op, &b->call, got.desc.dtype), err);
    free(numbers);
    return s;
}

static tutti_status check_results(const device_bench *b, const trial *t, uint32_t in_place,
                                  tutti_error *err)
{
    char how[48] = "";
    tutti_status s = check_guards(b, in_place, err);
    if (in_place < b->c->nin || in_place == CHECK_UPDATES)
        (void)snprintf(how, sizeof how, " in place of %s",
                       in_place == CHECK_UPDATES ? "what it updates" : "an input");
    for (uint32_t k = 0; k < b->op->nout && !s; k++) {
        const uint32_t under = check_operand_under(b->op, k, in_place);
        const buffer *from = under < b->c->nin ? &b->in[under] : &b->out[k];
        unsigned char *now = malloc(from->bytes + GUARD);
        s = now ? buffer_get(b, from, now, err) : no_memory(b, err);
        if (!s)
            s = compare(b, t, k, now, how, err);
        free(now);
    }
    return s;
}

/* Once more, threads and blocks in another order and through a graph: the same bits. */
static tutti_status check_again(device_bench *b, tutti_error *err)
{
    const tutti_device_v1 *table = b->d->table;
    const bool replay =
        TUTTI_HAS(table, tutti_device_v1, graph_destroy) && table->capture_begin;
    unsigned char *kept[TUTTI_OP_MAX_OUT] = {NULL};
    tutti_status s = TUTTI_OK;
    for (uint32_t k = 0; k < b->op->nout && !s; k++) {
        kept[k] = malloc(b->out[k].bytes + GUARD);
        s = kept[k] ? buffer_get(b, &b->out[k], kept[k], err) : no_memory(b, err);
    }
    if (!s)
        s = run(b, UINT32_MAX, replay, err);
    for (uint32_t k = 0; k < b->op->nout && !s; k++) {
        s = buffer_get(b, &b->out[k], b->out[k].host, err);
        if (!s && memcmp(b->out[k].host, kept[k], b->out[k].bytes) != 0)
            s = tutti_fail(err, TUTTI_E_NUMERIC,
                           "%s (%s): result %u has other bits when it is computed again%s",
                           b->c->op, b->variant->name, k, replay ? ", through a graph" : "");
    }
    for (uint32_t k = 0; k < TUTTI_OP_MAX_OUT; k++)
        free(kept[k]);
    return s;
}

/* A line "matmul<tab>cuBLASLt 13.1.0<tab>algorithm 66" at the end of the file that TUTTI_TEST_CHOICES names. */
static void write_choice(const char *op, const tutti_op_choice *told)
{
    const char *path = getenv("TUTTI_TEST_CHOICES");
    FILE *file = path && (*told->library || *told->text) ? fopen(path, "ae") : NULL;
    if (!file)
        return;
    (void)fprintf(file, "%s\t%s\t%s\n", op, told->library, told->text);
    (void)fclose(file);
}

static tutti_status prepare(device_bench *b, const tutti_kernel *kernel, uint64_t *ret_scratch,
                            tutti_error *err)
{
    tutti_op_choice told = {.struct_size = sizeof told};
    b->call.choice = &told;
    const tutti_status s = kernel->prepare(&b->call, &b->state, ret_scratch, err);
    b->call.choice = NULL;
    if (!s)
        write_choice(b->op->name, &told);
    return s;
}

/* One variant: plain, again, and in place of input `in_place` where that is one. */
static tutti_status check_variant(const trial *t, const tutti_device *d,
                                  const tutti_kernel *kernel, const variant *v,
                                  uint32_t in_place, tutti_error *err)
{
    device_bench b = {.d = d, .op = t->op, .c = t->c, .kernel = kernel, .variant = v};
    uint64_t scratch = 0;
    bool new;
    tutti_status s = set_dtypes(&b, t, &new, err);
    if (s || !new)
        return s;
    if (in_place < t->c->nin && (!tutti_same_shape(&b.in_desc[in_place], b.out_desc) ||
                                 b.in_desc[in_place].dtype != b.out_desc[0].dtype))
        return TUTTI_OK;
    s = fill(&b, t, err);
    if (!s && kernel->prepare)
        s = prepare(&b, kernel, &scratch, err);
    if (!s && scratch)
        s = buffer_make(&b, scratch, &b.scratch, err);
    if (!s)
        s = run(&b, in_place, false, err);
    if (!s)
        s = check_results(&b, t, in_place, err);
    if (!s && in_place == UINT32_MAX)
        s = check_again(&b, err);
    bench_fini(&b);
    return s ? tutti_fail(err, s, "%s (%s): failed without a reason", t->c->op, v->name) : s;
}

tutti_status check_on_device(const trial *t, tutti_error *err)
{
    const tutti_device *d = op_check_device(err);
    if (!d)
        return err->status;
    const tutti_kernel *kernel = program_kernel(d, t->op);
    tutti_status s = TUTTI_OK;
    for (int k = 0; k < NVARIANTS && kernel && !s; k++)
        s = check_variant(t, d, kernel, &variants[k], UINT32_MAX, err);
    for (uint32_t k = 0; kernel && k < t->c->nin && !s; k++)
        for (int j = 0; kernel->inplace >> k & 1 && j < 2 && !s; j++)
            s = check_variant(t, d, kernel, &variants[j], k, err);
    if (!s && kernel && traits_of(t->op)->updates)
        s = check_variant(t, d, kernel, &variants[0], CHECK_UPDATES, err);
    return s;
}
