/* bench_kernels.c - kernels as a share of what memory can do, or a large product's arithmetic. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/cpus.h"
#include "cli/cli.h"
#include "cli/machine_bound.h"
#include "graph/program/program.h"
#include "graph/runtime/host_memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MAX_IN = 6, MAX_OUT = 5, ROUNDS = 9, TRIAD = 1 << 24 };

/* One operation on tensors of noise. */
typedef struct trial {
    const char *op;
    const char *what; /* after the operation's name */
    tutti_desc in[MAX_IN];
    uint32_t nout;
    uint32_t nattr;
    tutti_attr attr[2];
    double flops; /* 0: it is memory that bounds it */
} trial;

typedef struct bench {
    graph *g;
    program *p;
    void *arena;
    float *in[MAX_IN];
    double bytes; /* each operand once, written ones twice */
    double best;  /* seconds */
} bench;

#define F32_1(a)                                                                               \
    {                                                                                          \
        {(a)}, 1, TUTTI_F32                                                                    \
    }
#define F32_2(a, b)                                                                            \
    {                                                                                          \
        {(a), (b)}, 2, TUTTI_F32                                                               \
    }
#define F32_4(a, b, c, d)                                                                      \
    {                                                                                          \
        {(a), (b), (c), (d)}, 4, TUTTI_F32                                                     \
    }
#define I32_1(a)                                                                               \
    {                                                                                          \
        {(a)}, 1, TUTTI_I32                                                                    \
    }
#define INT(n, v)                                                                              \
    {                                                                                          \
        .name = (n), .type = TUTTI_ATTR_I64, .i = (v)                                          \
    }
#define REAL(n, v)                                                                             \
    {                                                                                          \
        .name = (n), .type = TUTTI_ATTR_F64, .f = (v)                                          \
    }
#define MANY F32_1(1 << 24)
#define IMAGES F32_4(64, 64, 64, 64) /* 64 MiB */
#define C64 F32_1(64)
#define ROWS 21845
#define TOKENS F32_2(ROWS, 768)
#define C768 F32_1(768)
#define MEAN F32_1(ROWS)
#define LOGITS F32_2(1024, 16384)
#define HEADS F32_4(8, 12, 512, 64)
#define SDPA_FLOPS (4.0 * 8 * 12 * 512 * 512 * 64 / 2) /* of what the mask leaves */

static const trial trials[] = {
    {"matmul",
     "1536 x 1536 x 1536",
     {F32_2(1536, 1536), F32_2(1536, 1536)},
     1,
     0,
     {{0}},
     2.0 * 1536 * 1536 * 1536},
    {"matmul",
     "2048 x 384 x 1536",
     {F32_2(2048, 384), F32_2(384, 1536)},
     1,
     0,
     {{0}},
     2.0 * 2048 * 384 * 1536},
    {"matmul",
     "384 x 2048 x 1536, a transposed",
     {F32_2(2048, 384), F32_2(2048, 1536)},
     1,
     1,
     {INT("transpose_a", 1)},
     2.0 * 2048 * 384 * 1536},
    {"matmul",
     "256 x 768 x 50257, b transposed",
     {F32_2(256, 768), F32_2(50257, 768)},
     1,
     1,
     {INT("transpose_b", 1)},
     2.0 * 256 * 768 * 50257},
    {"sdpa",
     "causal, 8 x 12 x 512 x 64",
     {HEADS, HEADS, HEADS},
     2,
     1,
     {INT("causal", 1)},
     SDPA_FLOPS},
    {"sdpa_grad",
     "causal, 8 x 12 x 512 x 64",
     {HEADS, HEADS, HEADS, HEADS, {{8, 12, 512}, 3, TUTTI_F32}, HEADS},
     3,
     1,
     {INT("causal", 1)},
     2.5 * SDPA_FLOPS},
    {"copy", "", {MANY}, 1, 0, {{0}}, 0.0},
    {"relu", "", {MANY}, 1, 0, {{0}}, 0.0},
    {"add", "", {MANY, MANY}, 1, 0, {{0}}, 0.0},
    {"axpby",
     "as in an average of weights",
     {MANY, MANY},
     1,
     2,
     {REAL("a", 0.99), REAL("b", 0.01)},
     0.0},
    {"sum", "", {MANY}, 1, 0, {{0}}, 0.0},
    {"gelu", "tanh form", {MANY}, 1, 1, {INT("approximate", 1)}, 0.0},
    {"gelu_grad", "tanh form", {MANY, MANY}, 1, 1, {INT("approximate", 1)}, 0.0},
    {"batch_norm", "64 x 64 x 64 x 64", {IMAGES, C64, C64, C64, C64}, 5, 0, {{0}}, 0.0},
    {"batch_norm", "with ReLU", {IMAGES, C64, C64, C64, C64}, 5, 1, {INT("act", 1)}, 0.0},
    {"batch_norm_grad", "64 x 64 x 64 x 64", {IMAGES, IMAGES, C64, C64, C64}, 3, 0, {{0}}, 0.0},
    {"layer_norm", "21845 x 768", {TOKENS, C768, C768}, 3, 0, {{0}}, 0.0},
    {"layer_norm_grad", "21845 x 768", {TOKENS, TOKENS, C768, MEAN, MEAN}, 3, 0, {{0}}, 0.0},
    {"softmax", "1024 x 16384", {LOGITS}, 1, 1, {INT("axis", 1)}, 0.0},
    {"softmax_cross_entropy", "1024 x 16384", {LOGITS, I32_1(1024)}, 1, 0, {{0}}, 0.0},
    {"softmax_cross_entropy_grad",
     "1024 x 16384",
     {LOGITS, I32_1(1024), F32_1(1024)},
     1,
     0,
     {{0}},
     0.0},
};
enum { TRIALS = sizeof trials / sizeof *trials };

/* One thread's own time, which waiting for a busy machine does not touch; of several, the clock's. */
static double now(int threads)
{
    struct timespec t;
    (void)clock_gettime(threads > 1 ? CLOCK_MONOTONIC : CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void bench_fini(bench *b)
{
    program_destroy(b->p);
    graph_destroy(b->g);
    free(b->arena);
    for (int k = 0; k < MAX_IN; k++)
        free(b->in[k]);
}

/* Numbers between 0.1 and 1.1; classes are all 0. */
static tutti_status fill(bench *b, uint32_t k, const tutti_desc *d)
{
    uint32_t x = 12345;
    b->in[k] = host_memory_alloc(tutti_nbytes(d));
    if (!b->in[k])
        return TUTTI_E_NOMEM;
    const int64_t n = tutti_numel(d);
    for (int64_t j = 0; j < n && d->dtype == TUTTI_F32; j++) {
        x = x * 1664525u + 1013904223u;
        b->in[k][j] = (float)(x >> 8) * 0x1p-24f + 0.1f;
    }
    if (d->dtype != TUTTI_F32)
        memset(b->in[k], 0, tutti_nbytes(d));
    return TUTTI_OK;
}

static tutti_status bench_init(bench *b, const trial *t, const tutti_op *const *ops,
                               int threads, tutti_error *err)
{
    tutti_value in[MAX_IN], out[MAX_OUT];
    uint32_t nin = 0;
    tutti_status s = TUTTI_OK;
    *b = (bench){.best = 1e9, .g = graph_create(ops, TUTTI_MODE_TRAIN, NULL)};
    if (!b->g)
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for the graph of %s", t->op);
    tutti_graph *g = graph_builder(b->g);
    for (; nin < MAX_IN && t->in[nin].rank && !s; nin++) {
        in[nin] = graph_input(b->g, &t->in[nin]);
        b->bytes += (double)tutti_nbytes(&t->in[nin]);
        s = fill(b, nin, &t->in[nin]);
    }
    if (s)
        return tutti_fail(err, s, "no memory for the operands of %s", t->op);
    out[0] = g->emit(g, t->op, in, nin, t->attr, t->nattr, t->nout > 1 ? out : NULL,
                     t->nout > 1 ? t->nout : 0);
    if ((s = g->status(g)))
        return tutti_fail(
            err, s, s == TUTTI_E_NOMEM ? "no memory to build %s" : "%s cannot be built here",
            t->op);
    for (uint32_t k = 0; k < t->nout; k++)
        b->bytes += 2.0 * (double)tutti_nbytes(g->desc(g, out[k]));
    const program_spec spec = {
        .g = b->g, .keep = out, .nkeep = t->nout, .nexternal = nin, .threads = threads};
    if ((s = program_create(&spec, &b->p, err)))
        return s;
    b->arena = host_memory_alloc(program_bytes(b->p) + 64);
    if (!b->arena)
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for the results of %s", t->op);
    program_set_arena(b->p, b->arena);
    for (uint32_t k = 0; k < nin; k++)
        program_set_external(b->p, k, b->in[k]);
    return TUTTI_OK;
}

static double triad(float *a, const float *b, const float *c, int threads)
{
    const double start = now(threads);
    machine_triad(a, b, c, TRIAD, threads);
    return now(threads) - start;
}

/* The best of some rounds, each followed by the triad. */
static tutti_status measure(bench *b, float *const *abc, int threads, double *stream,
                            tutti_error *err)
{
    static const tutti_step step = {.struct_size = sizeof step};
    tutti_status s = program_run(b->p, 0, &step, err);
    for (int k = 0; k < ROUNDS && !s; k++) {
        const double start = now(threads);
        s = program_run(b->p, 0, &step, err);
        const double took = now(threads) - start,
                     other = triad(abc[0], abc[1], abc[2], threads);
        b->best = took < b->best ? took : b->best;
        *stream = other < *stream ? other : *stream;
    }
    return s;
}

static void print(const trial *t, double seconds, double bytes, double stream, double peak)
{
    char name[96];
    (void)snprintf(name, sizeof name, "%s%s%s", t->op, t->what[0] ? ", " : "", t->what);
    if (t->flops > 0.0)
        (void)printf("%-44s %9.2f ms %7.1f GFLOP/s %5.0f %% of the best\n", name, seconds * 1e3,
                     t->flops / seconds * 1e-9, 100.0 * t->flops / seconds / peak);
    else
        (void)printf("%-44s %9.2f ms %7.1f GB/s    %5.0f %% of the triad\n", name,
                     seconds * 1e3, bytes / seconds * 1e-9, 100.0 * bytes / seconds / stream);
}

int bench_kernels(const cli_options *o, const tutti_op *const *ops)
{
    const char *text = getenv("OMP_NUM_THREADS");
    int threads = text ? (int)strtol(text, NULL, 10) : 0;
    double seconds[TRIALS], bytes[TRIALS], stream = 1e9;
    float *abc[3];
    tutti_error err = TUTTI_ERROR_INIT;
    if (threads < 1)
        threads = cpus_available();
    for (int k = 0; k < 3; k++) {
        abc[k] = host_memory_alloc(sizeof(float) * TRIAD);
        if (!abc[k] && !err.status)
            (void)tutti_fail(&err, TUTTI_E_NOMEM, "no memory for the triad");
        else if (abc[k]) /* pages that nobody has written are one and the same */
            memset(abc[k], 0, sizeof(float) * TRIAD);
    }
    for (int k = 0; k < TRIALS && !err.status; k++) {
        bench b;
        if (!bench_init(&b, &trials[k], ops, threads, &err))
            (void)measure(&b, abc, threads, &stream, &err);
        seconds[k] = b.best;
        bytes[k] = b.bytes;
        bench_fini(&b);
    }
    for (int k = 0; k < 3; k++)
        free(abc[k]);
    if (err.status) {
        (void)fprintf(stderr, "tutti: %s\n", err.text);
        return CLI_FAILED;
    }
    /* Whoever writes a line reads it first. */
    const double rate = 16.0 * TRIAD / stream;
    double peak = 0.0;
    for (int k = 0; k < TRIALS; k++)
        peak = trials[k].flops / seconds[k] > peak ? trials[k].flops / seconds[k] : peak;
    (void)printf("%d threads%s, triad %.1f GB/s\n", threads,
                 threads > 1 ? "" : " (processor time)", rate * 1e-9);
    for (int k = 0; k < TRIALS; k++)
        print(&trials[k], seconds[k], bytes[k], rate, peak);
    return CLI_OK;
}
