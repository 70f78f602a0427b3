/* sdpa_half_test.c - attention of bf16 and f16 and its gradient against the definition in f64 of the same numbers. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/gemm_microkernel.h"
#include "numbers.h"
#include "sdpa/sdpa.h"

#include <stdio.h>

extern const tutti_op tutti_op_sdpa, tutti_op_sdpa_grad, tutti_op_sdpa_packed,
    tutti_op_sdpa_packed_grad;

/* A bias of any numbers, or one that leaves out the first half of the keys: a tile of 64 and some more. */
enum { NO_BIAS, ANY, LEFT_OUT };

typedef struct shape {
    int64_t b, h, tq, tk, d, causal, bias;
    double dropout;
} shape;

static const shape shapes[] = {
    {2, 2, 64, 64, 32, 0, 0, 0.0},   {1, 2, 65, 65, 64, 1, 0, 0.0},
    {1, 1, 7, 131, 16, 0, 0, 0.0},   {2, 1, 33, 100, 18, 1, 0, 0.0},
    {1, 3, 1, 1, 2, 0, 0, 0.0},      {1, 2, 197, 197, 48, 0, 1, 0.0},
    {1, 1, 129, 130, 80, 1, 1, 0.0}, {2, 2, 70, 70, 64, 0, 0, 0.3},
    {1, 2, 90, 90, 34, 1, 1, 0.1},   {1, 2, 130, 130, 32, 0, LEFT_OUT, 0.0}};
enum { SHAPES = sizeof shapes / sizeof *shapes, KINDS = 4, MAX_IN = 7, MAX_OUT = 3 };

static const tutti_op *const ops[KINDS] = {&tutti_op_sdpa, &tutti_op_sdpa_grad,
                                           &tutti_op_sdpa_packed, &tutti_op_sdpa_packed_grad};

/* What operations compute with: bf16 and f16 where this CPU has units for them, and f16 by a model of AMX-FP16. */
#if defined(__x86_64__)
extern const tutti_op tutti_op_sdpa_model, tutti_op_sdpa_grad_model, tutti_op_sdpa_packed_model,
    tutti_op_sdpa_packed_grad_model;
static const tutti_op *const ops_by_model[KINDS] = {
    &tutti_op_sdpa_model, &tutti_op_sdpa_grad_model, &tutti_op_sdpa_packed_model,
    &tutti_op_sdpa_packed_grad_model};
static int has_model(void)
{
    return tutti_isa() >= TUTTI_ISA_v4;
}
#else
static const tutti_op *const *const ops_by_model = ops;
static int has_model(void)
{
    return 0;
}
#endif
enum { BF16, F16, F16_MODEL, WAYS };

/* A call of one of the operations: what it reads is made here, the forward pass's results by the definition. */
typedef struct job {
    sdpa_attr attr;
    tutti_desc descs[MAX_IN + MAX_OUT];
    numbers in[MAX_IN];
    double *wide[MAX_IN], *want[MAX_OUT];
    void *out[MAX_OUT];
    tutti_step step;
    tutti_op_call c;
} job;

static void *zeros(int64_t n)
{
    void *x = calloc((size_t)n, sizeof(double));
    ck_assert_ptr_nonnull(x);
    return x;
}

static void put_number(numbers *x, int64_t k, double v)
{
    x->f32[k] = (float)v;
    x->half[k] = tutti_to_half((float)v, x->dtype);
    x->rounded[k] = number_of_half(x->half[k], x->dtype);
}

static int is_half(const tutti_desc *d)
{
    return d->dtype != TUTTI_F32;
}

/* The numbers of input k as the kernel has them, in f64. */
static void upcast(job *j, uint32_t k)
{
    const int64_t n = tutti_numel(&j->descs[k]);
    const int half = is_half(&j->descs[k]);
    for (int64_t i = 0; i < n; i++)
        j->wide[k][i] = (double)(half ? j->in[k].rounded[i] : j->in[k].f32[i]);
}

static void descs_of(const shape *q, int kind, int32_t dtype, job *j)
{
    const tutti_desc a = {{q->b, q->h, q->tq, q->d}, 4, dtype},
                     b = {{q->b, q->h, q->tk, q->d}, 4, dtype},
                     lse = {{q->b, q->h, q->tq}, 3, TUTTI_F32},
                     bias = {{1, q->h, 1, q->tk}, 4, TUTTI_F32},
                     qkv = {{q->b, q->tq, 3, q->h, q->d}, 5, dtype},
                     y = {{q->b, q->tq, q->h, q->d}, 4, dtype};
    const tutti_desc in[KINDS][MAX_IN] = {
        {a, b, b, bias}, {a, b, b, a, lse, a, bias}, {qkv, bias}, {qkv, y, lse, y, bias}};
    const tutti_desc out[KINDS][MAX_OUT] = {{a, lse}, {a, b, b}, {y, lse}, {qkv}};
    static const uint32_t nin[KINDS] = {3, 6, 1, 4}, nout[KINDS] = {2, 3, 2, 1};
    memcpy(j->descs, in[kind], sizeof in[kind]);
    memcpy(j->descs + MAX_IN, out[kind], sizeof out[kind]);
    j->attr = (sdpa_attr){q->causal, 0.0, q->dropout, 3};
    j->step = (tutti_step){.struct_size = sizeof j->step};
    j->c = (tutti_op_call){sizeof j->c, nin[kind] + (q->bias != 0),
                           nout[kind],  2,
                           j->descs,    j->descs + MAX_IN,
                           &j->attr,    &j->step,
                           NULL,        NULL};
}

/* y and lse of a gradient's call are those of the forward pass. */
static void go_forward(int kind, job *j)
{
    const uint32_t y = kind == 1 ? 3 : 1, bias = j->c.nin - 1, first = kind == 1 ? 3 : 1;
    const double *in[4] = {j->wide[0], j->wide[1], j->wide[2], j->wide[bias]};
    tutti_op_call c = j->c;
    tutti_desc descs[4] = {j->descs[0], j->descs[1], j->descs[2], j->descs[bias]};
    double *out[2] = {j->wide[y], j->wide[y + 1]};
    c.nin -= 3; /* y, lse, dy */
    descs[first] = j->descs[bias];
    in[first] = j->wide[bias];
    c.in = descs;
    c.out = &j->descs[y];
    c.nout = 2;
    ck_assert_int_eq(ops[kind - 1]->reference(&c, in, out), TUTTI_OK);
    for (uint32_t k = y; k < y + 2; k++) {
        for (int64_t i = 0, n = tutti_numel(&j->descs[k]); i < n; i++)
            put_number(&j->in[k], i, j->wide[k][i]);
        upcast(j, k);
    }
}

static void job_init(const shape *q, int kind, int32_t dtype, job *j)
{
    memset(j, 0, sizeof *j);
    descs_of(q, kind, dtype, j);
    for (uint32_t k = 0; k < j->c.nin; k++) {
        const int64_t n = tutti_numel(&j->descs[k]);
        j->in[k] = numbers_make_as(n, 7 * k + 1, dtype);
        j->wide[k] = zeros(n);
        for (int64_t i = 0; q->bias == LEFT_OUT && k + 1 == j->c.nin && i < n; i++)
            if (i % q->tk < q->tk / 2 + 5)
                put_number(&j->in[k], i, -INFINITY);
        upcast(j, k);
    }
    for (uint32_t k = 0; k < j->c.nout; k++) {
        const int64_t n = tutti_numel(&j->c.out[k]);
        j->out[k] = zeros(n);
        j->want[k] = zeros(n);
    }
    if (kind % 2)
        go_forward(kind, j);
    ck_assert_int_eq(ops[kind]->reference(&j->c, (const double *const *)j->wide, j->want),
                     TUTTI_OK);
}

static void job_fini(job *j)
{
    for (uint32_t k = 0; k < j->c.nin; k++) {
        numbers_free(&j->in[k]);
        free(j->wide[k]);
    }
    for (uint32_t k = 0; k < j->c.nout; k++)
        free(j->out[k]), free(j->want[k]);
}

/* Probabilities and what their gradients are made of are rounded once, and so is the result: two steps of 16 bits of
 * the largest one.  lse comes from sums in f32. */
static void check_results(const job *j)
{
    for (uint32_t k = 0; k < j->c.nout; k++) {
        const int32_t dtype = j->c.out[k].dtype;
        const double step = dtype == TUTTI_F16 ? 0x1p-10 : 0x1p-7;
        const int half = is_half(&j->c.out[k]);
        const int64_t n = tutti_numel(&j->c.out[k]);
        double most = 0.0;
        for (int64_t i = 0; i < n; i++)
            most = fmax(most, fabs(j->want[k][i]));
        for (int64_t i = 0; i < n; i++)
            number_is_close(
                half ? (double)number_of_half(((const uint16_t *)j->out[k])[i], dtype)
                     : (double)((const float *)j->out[k])[i],
                j->want[k][i], most * (half ? step : 1e-5) + 1e-6);
    }
}

static void data_of(const job *j, const void **ret)
{
    for (uint32_t k = 0; k < j->c.nin; k++)
        ret[k] = numbers_as(&j->in[k], j->descs[k].dtype);
}

START_TEST(attention_reads_and_writes_16_bits)
{
    const shape *q = &shapes[_i / WAYS];
    const int by_model = _i % WAYS == F16_MODEL;
    const int32_t dtype = _i % WAYS == BF16 ? TUTTI_BF16 : TUTTI_F16;
    const tutti_op *const *const all = by_model ? ops_by_model : ops;
    if (by_model ? !has_model() : !gemm_microkernel_at(dtype, 0))
        return;
    for (int kind = 0; kind < KINDS; kind++) {
        const void *in[MAX_IN] = {0};
        void *state = NULL;
        uint64_t bytes = 0;
        job j;
        if (kind > 1 && q->tq != q->tk)
            continue;
        job_init(q, kind, dtype, &j);
        data_of(&j, in);
        ck_assert_int_eq(all[kind]->cpu->prepare(&j.c, &state, &bytes, NULL), TUTTI_OK);
        void *scratch = aligned_alloc(64, (bytes + 127) / 64 * 64);
        ck_assert_ptr_nonnull(scratch);
        memset(scratch, 0xFF, bytes); /* NaNs */
        ck_assert_int_eq(all[kind]->cpu->run(state, &j.c, in, j.out, scratch), TUTTI_OK);
        check_results(&j);
        free(scratch);
        job_fini(&j);
    }
}
END_TEST

typedef void pass(const sdpa_shape *s, const sdpa_tensors *t, int threads, void *scratch);
extern pass sdpa_run_f16, sdpa_grad_run_f16;

/* What computes both passes where a CPU lacks the instruction. */
typedef struct model {
    const char *name;
    int32_t dtype, level; /* the least level of tutti/isa.h */
    pass *passes[2];
} model;

#if defined(__x86_64__)
/* With a model of AMX's registers. */
extern pass sdpa_run_f16_model, sdpa_grad_run_f16_model;
#endif
static const model models[] = {
    {"bf16", TUTTI_BF16, TUTTI_ISA_base, {sdpa_run, sdpa_grad_run}},
    {"f16", TUTTI_F16, TUTTI_ISA_base, {sdpa_run_f16, sdpa_grad_run_f16}},
#if defined(__x86_64__)
    {"f16 by tiles", TUTTI_F16, TUTTI_ISA_v4, {sdpa_run_f16_model, sdpa_grad_run_f16_model}},
#endif
};
enum { MODELS = sizeof models / sizeof *models };

/* Packing, tails and what is seen, with models of the instructions. */
START_TEST(the_models_of_the_instructions_give_the_same)
{
    const shape *q = &shapes[_i / MODELS];
    const model *m = &models[_i % MODELS];
    if (tutti_isa() < m->level)
        return;
    for (int kind = 0; kind < 2; kind++) {
        const void *in[MAX_IN] = {0};
        job j;
        job_init(q, kind, m->dtype, &j);
        data_of(&j, in);
        const sdpa_shape s = sdpa_shape_known(&j.c, false, kind ? 6 : 3);
        sdpa_tensors t = {.q = in[0], .k = in[1], .v = in[2], .dtype = m->dtype};
        t.y = kind ? (void *)(uintptr_t)in[3] : j.out[0];
        t.lse = kind ? (float *)(uintptr_t)in[4] : j.out[1];
        t.dy = kind ? in[5] : NULL;
        t.dq = j.out[0];
        t.dk = j.out[1];
        t.dv = j.out[2];
        t.bias = q->bias ? in[j.c.nin - 1] : NULL;
        const uint64_t bytes = kind ? sdpa_grad_scratch(&s, 1) : sdpa_scratch(&s, 1);
        void *scratch = aligned_alloc(64, (bytes + 127) / 64 * 64);
        ck_assert_ptr_nonnull(scratch);
        memset(scratch, 0xFF, bytes);
        m->passes[kind](&s, &t, 1, scratch);
        check_results(&j);
        free(scratch);
        job_fini(&j);
    }
}
END_TEST

#if defined(__x86_64__)
/* ---- the products of tiles ---- */

/* Those of AMX with a model of its registers, for CPUs without. */
typedef void tile_product(const sdpa_gemm *p, const float *a, const float *b, float *c,
                          int add);
extern tile_product sdpa_gemm_pairs_run_amx_model, sdpa_gemm_pairs_run_f16_model;
static const struct {
    int32_t dtype, level;
    tile_product *run;
} tile_products[] = {{TUTTI_BF16, TUTTI_ISA_bf16, sdpa_gemm_pairs_run_amx_model},
                     {TUTTI_F16, TUTTI_ISA_v4, sdpa_gemm_pairs_run_f16_model}};
enum { TILE_CASES = 4 * sizeof tile_products / sizeof *tile_products };

static const struct {
    int64_t m, n, k;
} products[] = {{16, 16, 16}, {64, 64, 32}, {33, 48, 17},
                {48, 16, 40}, {15, 32, 32}, {64, 80, 15}};
enum { PRODUCTS = sizeof products / sizeof *products };

/* Row i of c by words, in f64. */
static double word_product(const sdpa_gemm *p, int32_t dtype, const float *a, const float *b,
                           int64_t i, int64_t j)
{
    double sum = 0.0;
    for (int64_t w = 0; w < p->k; w++) {
        uint32_t x, y;
        memcpy(&x, a + i * p->a_row + w * p->a_col, sizeof x);
        memcpy(&y, b + w * p->b_row + j, sizeof y);
        sum += (double)number_of_half((uint16_t)x, dtype) *
               (double)number_of_half((uint16_t)y, dtype);
        sum += (double)number_of_half((uint16_t)(x >> 16), dtype) *
               (double)number_of_half((uint16_t)(y >> 16), dtype);
    }
    return sum;
}

START_TEST(products_of_tiles_by_amx_are_those_of_their_words)
{
    const int transposed = _i % 2, add = _i / 2 % 2, which = _i / 4 % (TILE_CASES / 4);
    const int64_t m = products[_i / TILE_CASES].m, n = products[_i / TILE_CASES].n,
                  k = products[_i / TILE_CASES].k;
    const int32_t dtype = tile_products[which].dtype;
    const sdpa_gemm p = {m, n, k, transposed ? 1 : k, transposed ? m + 1 : 1, n, n + 16};
    if (tutti_isa() < tile_products[which].level)
        return;
    numbers a = numbers_make_as(2 * (m + 1) * (k + 1), 1, dtype),
            b = numbers_make_as(2 * k * n, 2, dtype);
    float *c = calloc((size_t)(m * p.c_row), sizeof *c);
    for (int64_t i = 0; i < m * p.c_row; i++)
        c[i] = add ? (float)(i % 7) : NAN;
    tile_products[which].run(&p, (const float *)(const void *)a.half,
                             (const float *)(const void *)b.half, c, add);
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < p.c_row; j++) {
            const int64_t at = i * p.c_row + j;
            const double before = add ? (double)(at % 7) : 0.0;
            if (j < n)
                number_is_close((double)c[at],
                                before +
                                    word_product(&p, dtype, (const float *)(const void *)a.half,
                                                 (const float *)(const void *)b.half, i, j),
                                bound_of(2 * k, (double)(2 * k) + 7.0));
            else
                ck_assert(add ? (double)c[at] == before
                              : isnan(c[at])); /* beyond the columns */
        }
    free(c);
    numbers_free(&a);
    numbers_free(&b);
}
END_TEST
#endif

/* What it leaves to the host's conversions: F16 where nothing multiplies it, mixtures, and rows of which half a word is
 * left. */
START_TEST(other_halves_are_refused_without_a_word)
{
    static const shape odd = {1, 1, 8, 8, 7, 0, 0, 0.0}, even = {1, 1, 8, 8, 8, 0, 0, 0.0};
    for (int kind = 0; kind < KINDS; kind++) {
        job j;
        void *state = NULL;
        uint64_t bytes = 0;
        tutti_error err = TUTTI_ERROR_INIT;
        if (_i == 1 && gemm_microkernel_at(TUTTI_F16, 0))
            continue;
        descs_of(_i == 0 ? &odd : &even, kind, _i == 1 ? TUTTI_F16 : TUTTI_BF16, &j);
        if (_i == 2)
            j.descs[MAX_IN].dtype = TUTTI_F32;
        ck_assert_int_eq(ops[kind]->cpu->prepare(&j.c, &state, &bytes, &err),
                         TUTTI_E_UNSUPPORTED);
        ck_assert_str_eq(err.text, "");
    }
}
END_TEST

int main(void)
{
    if (!gemm_microkernel_at(TUTTI_BF16, 0))
        (void)puts(
            "attention_reads_and_writes_16_bits: not in bf16 here, this CPU has no units "
            "for it (AVX512_BF16)");
    if (!gemm_microkernel_at(TUTTI_F16, 0))
        (void)puts("attention_reads_and_writes_16_bits: not in f16 here, this CPU has no units "
                   "for it (AMX-FP16)");
    Suite *s = suite_create("sdpa_half");
    TCase *t = tcase_create("attention");
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, attention_reads_and_writes_16_bits, 0, SHAPES * WAYS);
    tcase_add_loop_test(t, the_models_of_the_instructions_give_the_same, 0, SHAPES * MODELS);
#if defined(__x86_64__)
    tcase_add_loop_test(t, products_of_tiles_by_amx_are_those_of_their_words, 0,
                        WAYS * PRODUCTS);
#endif
    tcase_add_loop_test(t, other_halves_are_refused_without_a_word, 0, 3);
    suite_add_tcase(s, t);
    return tutti_run(s);
}
