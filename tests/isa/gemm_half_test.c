/* gemm_half_test.c - products of bf16 and f16 against sums in f64 of the rounded factors, by K. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/gemm.h"
#include "common/gemm_microkernel.h"
#include "gelu/gelu.h"
#include "matmul/matmul.h"
#include "numbers.h"

#include <stdio.h>
#include <stdlib.h>

/* What every micro-kernel and division is asked for: a (m, k), b (k, n), and of each number of bias + a b its sum in f64 and
 * the sum of |a b|. */
typedef struct factors {
    numbers a, b, bias;
    double *want, *size; /* (m, n) */
} factors;

static void sum_of(const gemm *p, factors *f, int64_t i, int64_t j)
{
    double sum = 0.0, size = 0.0;
    for (int64_t k = 0; k < p->k; k++) {
        const double x = (double)f->a.rounded[i * p->a_row + k * p->a_col] *
                         (double)f->b.rounded[k * p->b_row + j * p->b_col];
        sum += x;
        size += fabs(x);
    }
    f->want[i * p->n + j] = (double)f->bias.f32[j] + sum;
    f->size[i * p->n + j] = size;
}

static factors factors_make(const gemm *p)
{
    factors f = {.a = numbers_make_as(p->m * p->k, 1, p->factor),
                 .b = numbers_make_as(p->k * p->n, 2, p->factor),
                 .bias = numbers_make(p->n, 3),
                 .want = calloc((size_t)(p->m * p->n), sizeof *f.want),
                 .size = calloc((size_t)(p->m * p->n), sizeof *f.size)};
    ck_assert(f.want && f.size);
    for (int64_t i = 0; i < p->m; i++)
        for (int64_t j = 0; j < p->n; j++)
            sum_of(p, &f, i, j);
    return f;
}

static void factors_free(factors *f)
{
    numbers_free(&f->a), numbers_free(&f->b), numbers_free(&f->bias);
    free(f->want), free(f->size);
}

typedef struct kept {
    float *y;
    int64_t row;
    int *times;
} kept;

static void keep(const void *how, const gemm_part *part)
{
    const kept *t = how;
    for (int64_t i = 0; i < part->rows; i++)
        for (int64_t j = 0; j < part->cols; j++) {
            const int64_t at = (part->row + i) * t->row + part->col + j;
            t->y[at] = part->values[i * part->values_row + j];
            t->times[at]++;
        }
}

typedef struct shape {
    int64_t m, n, k;
    int32_t threads;
} shape;

static const shape shapes[] = {{1, 1, 1, 1},      {14, 32, 16, 1},   {15, 33, 17, 1},
                               {3, 65, 800, 2},   {40, 50, 1601, 1}, {100, 300, 33, 1},
                               {48, 64, 1100, 1}, {7, 530, 769, 1},  {150, 40, 4000, 2},
                               {290, 17, 1100, 2}};
enum { SHAPES = sizeof shapes / sizeof *shapes, LAYOUTS = 4, DTYPES = 4 };

/* Those of AMX, the rest of whose code wants AVX512_BF16, for f16 AVX-512, of vdpbf16ps, which wants AVX-512, and of bfmmla
 * with models of these, for CPUs without. */
extern const gemm_microkernel gemm_microkernel_amx_model, gemm_microkernel_f16_model,
    gemm_microkernel_dpbf16_model, gemm_microkernel_bfmmla_model;

/* Whether what multiplies f16 by a model of AMX-FP16 runs here. */
static int has_f16_model(void)
{
#if defined(__x86_64__)
    return tutti_isa() >= TUTTI_ISA_v4;
#else
    return 0;
#endif
}

/* All micro-kernels for factors of `factor` that can run here, then the models, then NULL. */
static const gemm_microkernel *microkernel(int32_t factor, int k)
{
    const gemm_microkernel *all[8] = {NULL};
    const int bf16 = factor == TUTTI_BF16;
    int n = 0;
    while (gemm_microkernel_at(factor, n)) {
        all[n] = gemm_microkernel_at(factor, n);
        n++;
    }
#if defined(__x86_64__)
    if (!bf16 && has_f16_model())
        all[n++] = &gemm_microkernel_f16_model;
    if (bf16 && n)
        all[n++] = &gemm_microkernel_amx_model;
    if (bf16 && tutti_isa() >= TUTTI_ISA_v4)
        all[n++] = &gemm_microkernel_dpbf16_model;
#endif
    if (bf16)
        all[n] = &gemm_microkernel_bfmmla_model;
    return all[k];
}

/* The same bits as in y, which the run before has left there, of b packed as a whole. */
static void packed_gives_the_same(const gemm *p, const gemm_data *of, void *scratch, float *y)
{
    const size_t size = (size_t)(p->m * p->n) * sizeof *y;
    char layout[GEMM_LAYOUT];
    const uint64_t bytes = gemm_packed_bytes(p, layout);
    float *before = malloc(size + 1), *packed = aligned_alloc(64, (bytes + 63) / 64 * 64);
    gemm_data d = *of;
    ck_assert(before && packed);
    memcpy(before, y, size);
    memset(packed, 0xFF, bytes);
    gemm_pack_whole(p, d.b, packed);
    d.b = NULL;
    d.packed_b = packed;
    gemm_run(p, &d, scratch);
    ck_assert_mem_eq(before, y, size);
    free(before), free(packed);
}

static void check_product(gemm *p, int how, const factors *f)
{
    const int32_t of[2] = {how & 1 ? p->factor : TUTTI_F32, how & 2 ? p->factor : TUTTI_F32};
    float *y = calloc((size_t)(p->m * p->n), sizeof *y);
    int *times = calloc((size_t)(p->m * p->n), sizeof *times);
    const kept t = {y, p->n, times};
    uint64_t bytes = 0;
    ck_assert(y && times);
    p->a_dtype = of[0];
    p->b_dtype = of[1];
    ck_assert_int_eq(gemm_plan(p, &bytes), TUTTI_OK);
    float *scratch = aligned_alloc(64, (bytes + 63) / 64 * 64);
    ck_assert_ptr_nonnull(scratch);
    memset(scratch, 0xFF, bytes); /* NaNs */
    const gemm_data d = {.a = numbers_as(&f->a, of[0]),
                         .b = numbers_as(&f->b, of[1]),
                         .bias = f->bias.f32,
                         .y = p->unstored ? NULL : y,
                         .epilogue = keep,
                         .how = &t};
    gemm_run(p, &d, scratch);
    for (int64_t at = 0; at < p->m * p->n; at++) {
        if (times[at] != 1)
            ck_assert_int_eq(times[at], 1);
        number_is_close(y[at], f->want[at], bound_of(p->k, f->size[at] + 1.0));
    }
    if (of[0] == TUTTI_F32) /* b of both dtypes is enough */
        packed_gives_the_same(p, &d, scratch, y);
    free(scratch), free(y), free(times);
}

/* Every division of a product that is stored, then all but that of K of one that is not. */
enum { WAYS = GEMM_DIVISIONS + GEMM_DEPTH };

START_TEST(products_are_those_of_the_rounded_factors)
{
    const int32_t factor = _i < SHAPES * LAYOUTS ? TUTTI_BF16 : TUTTI_F16;
    const shape *s = &shapes[_i % (SHAPES * LAYOUTS) / LAYOUTS];
    const int64_t m = s->m, n = s->n, k = s->k;
    const int ta = _i & 1, tb = _i >> 1 & 1;
    const gemm layout = {.m = m,
                         .n = n,
                         .k = k,
                         .a_row = ta ? 1 : k,
                         .a_col = ta ? m : 1,
                         .b_row = tb ? 1 : n,
                         .b_col = tb ? k : 1,
                         .y_row = n,
                         .threads = s->threads,
                         .factor = factor};
    factors f = factors_make(&layout);
    for (int how = 0; microkernel(factor, how / DTYPES); how++)
        for (int32_t way = how % 3 ? GEMM_DEPTH : GEMM_ANY; way < WAYS; way++) {
            gemm p = layout;
            p.unstored = way >= GEMM_DIVISIONS;
            p.division = way % GEMM_DIVISIONS;
            p.microkernel = microkernel(factor, how / DTYPES);
            check_product(&p, how, &f);
        }
    factors_free(&f);
}
END_TEST

static gemm product(int64_t m, int64_t n, int64_t k, int transposed, uint64_t *ret_bytes)
{
    gemm p = {.m = m, .n = n, .k = k, .a_row = k, .a_col = 1, .y_row = n, .threads = 1};
    p.b_row = transposed ? 1 : n;
    p.b_col = transposed ? k : 1;
    p.factor = TUTTI_BF16;
    p.unstored = 1;
    ck_assert_int_eq(gemm_plan(&p, ret_bytes), TUTTI_OK);
    return p;
}

/* Panels of b that serve few rows are packed for a block of columns at a time, or for a part of K where that is so long that
 * a does not fit the caches; panels that serve many rows for all of K.  Gradients of weights are divided by rows. */
START_TEST(b_is_packed_for_as_much_as_its_panels_serve)
{
    uint64_t bytes, deep_bytes;
    const gemm few = product(160, 50257, 768, 1, &bytes);
    ck_assert_int_eq(few.division, GEMM_COLUMNS);
    const gemm many = product(4096, 50257, 768, 1, &bytes);
    ck_assert_int_eq(many.division, GEMM_ROWS);
    ck_assert_int_eq(many.turn, many.k);
    const gemm across = product(160, 768, 768, 0, &bytes);
    ck_assert_int_eq(across.division, GEMM_COLUMNS);
    const gemm deep = product(160, 768, 50257, 0, &deep_bytes);
    ck_assert_int_eq(deep.division, GEMM_ROWS);
    ck_assert_int_eq(deep.turn, deep.depth);
    ck_assert_uint_lt(deep_bytes, 16 << 20);
    gemm gradient = {.m = 512, .n = 784, .k = 128, .a_row = 1, .a_col = 512, .b_row = 784};
    gradient.b_col = 1;
    gradient.factor = TUTTI_BF16;
    gradient.y_row = 784;
    gradient.threads = 2;
    ck_assert_int_eq(gemm_plan(&gradient, &bytes), TUTTI_OK);
    ck_assert_int_eq(gradient.division, GEMM_ROWS);
}
END_TEST

/* ---- the operation ---- */

/* Kernels with a model of AMX-FP16. */
#if defined(__x86_64__)
extern const tutti_kernel matmul_cpu_model, matmul_act_grad_cpu_model;
extern const tutti_algorithms matmul_algorithms_model, matmul_act_grad_algorithms_model;
#else
#define matmul_cpu_model matmul_cpu
#define matmul_act_grad_cpu_model matmul_act_grad_cpu
#define matmul_algorithms_model matmul_algorithms
#define matmul_act_grad_algorithms_model matmul_act_grad_algorithms
#endif

typedef struct variant {
    int32_t dtype; /* what 16 bits are */
    int32_t fast;
    const char *algorithm;
    int model;
} variant;
enum { BF16, F16_MODEL, F16, VARIANTS };
static const variant variants[VARIANTS] = {
    [BF16] = {TUTTI_BF16, MATMUL_BF16, "bf16 tiles", 0},
    [F16_MODEL] = {TUTTI_F16, MATMUL_F16, "f16 tiles", 1},
    [F16] = {TUTTI_F16, MATMUL_F16, "f16 tiles", 0}};

static int is_here(int which)
{
    return variants[which].model ? has_f16_model()
                                 : gemm_microkernel_at(variants[which].dtype, 0) != NULL;
}

static const tutti_kernel *kernel_of(const tutti_op *op, const variant *v)
{
    if (!v->model)
        return op->cpu;
    return op == &tutti_op_matmul_act_grad ? &matmul_act_grad_cpu_model : &matmul_cpu_model;
}

static const tutti_algorithms *algorithms_of(const tutti_op *op, const variant *v)
{
    if (!v->model)
        return op->cpu_algorithms;
    return op == &tutti_op_matmul_act_grad ? &matmul_act_grad_algorithms_model
                                           : &matmul_algorithms_model;
}

/* BF16 stands for what a variant has in 16 bits. */
typedef struct call {
    const tutti_op *op;
    int32_t y_dtype, third_dtype;
    int64_t act;
} call;

static const call calls[] = {
    {&tutti_op_matmul, TUTTI_BF16, TUTTI_F32, MATMUL_NONE},
    {&tutti_op_matmul, TUTTI_F32, TUTTI_F32, MATMUL_GELU},
    {&tutti_op_matmul, TUTTI_BF16, TUTTI_F32, MATMUL_RELU},
    {&tutti_op_matmul, TUTTI_BF16, TUTTI_F32, MATMUL_GELU_TANH},
    {&tutti_op_matmul, TUTTI_BF16, TUTTI_BF16, MATMUL_NONE},
    {&tutti_op_matmul, TUTTI_F32, TUTTI_BF16, MATMUL_GELU},
    {&tutti_op_matmul_act, TUTTI_BF16, TUTTI_BF16, MATMUL_GELU_TANH},
    {&tutti_op_matmul_act, TUTTI_BF16, TUTTI_F32, MATMUL_GELU},
    {&tutti_op_matmul_act, TUTTI_BF16, TUTTI_F32, MATMUL_GELU_TANH},
    {&tutti_op_matmul_act_grad, TUTTI_BF16, TUTTI_BF16, MATMUL_GELU_TANH},
    {&tutti_op_matmul_act_grad, TUTTI_BF16, TUTTI_BF16, MATMUL_GELU},
    {&tutti_op_matmul_act_grad, TUTTI_F32, TUTTI_BF16, MATMUL_RELU},
};

/* Results of the operation against f64, from factors that are rounded. */
static void check_call(const call *q, const tutti_op_call *c, const numbers in[3],
                       void *const *out)
{
    const int32_t dtype = c->out[0].dtype;
    const double steps[2] = {dtype == TUTTI_F16 ? 0x1p-11 : 0x1p-8,
                             dtype == TUTTI_F16 ? 0x1p-25 : 0.0}; /* of subnormal numbers */
    const int64_t n = tutti_numel(&c->out[0]), k = c->in[0].dim[1];
    double *wide[3], *want[2];
    for (int i = 0; i < 3; i++) {
        const int64_t count = tutti_numel(&c->in[i]);
        const int exact = i == 2 && q->third_dtype == TUTTI_F32;
        wide[i] = malloc((size_t)count * sizeof(double));
        for (int64_t j = 0; j < count; j++)
            wide[i][j] = (double)(exact ? in[i].f32[j] : in[i].rounded[j]);
    }
    for (uint32_t i = 0; i < c->nout; i++)
        want[i] = malloc((size_t)n * sizeof(double));
    ck_assert_int_eq(q->op->reference(c, (const double *const *)wide, want), TUTTI_OK);
    for (uint32_t i = 0; i < c->nout; i++)
        for (int64_t j = 0; j < n; j++) {
            const int half = dtype != TUTTI_F32;
            const double got =
                half ? (double)number_of_half(((const uint16_t *)out[i])[j], dtype)
                     : (double)((const float *)out[i])[j];
            const double step = half ? steps[0] : 0x1p-21;
            number_is_close(got, want[i][j],
                            fabs(want[i][j]) * step + steps[1] + 4.0 * bound_of(k, (double)k));
        }
    for (int i = 0; i < 3; i++)
        free(wide[i]);
    for (uint32_t i = 0; i < c->nout; i++)
        free(want[i]);
}

enum { CALLS = sizeof calls / sizeof *calls };
static const int64_t sizes[][3] = {{70, 300, 65}, {1, 33, 17}, {15, 1, 800}, {130, 769, 33}};
enum { SIZES = sizeof sizes / sizeof *sizes };

static int32_t dtype_of(int32_t dtype, const variant *v)
{
    return dtype == TUTTI_BF16 ? v->dtype : dtype;
}

static void try_operation(const call *q, const int64_t size[3], const variant *v)
{
    const int64_t m = size[0], n = size[1], k = size[2];
    const int grad = q->op == &tutti_op_matmul_act_grad;
    const int32_t third = dtype_of(q->third_dtype, v), y = dtype_of(q->y_dtype, v);
    const tutti_kernel *kernel = kernel_of(q->op, v);
    const matmul_attr attr = {.fast = v->fast, .act = q->act};
    const tutti_desc descs[5] = {{{m, k}, 2, v->dtype},
                                 {{k, n}, 2, TUTTI_F32},
                                 {{grad ? m : n, grad ? n : 0}, grad ? 2 : 1, third},
                                 {{m, n}, 2, y},
                                 {{m, n}, 2, y}};
    const tutti_step step = {.struct_size = sizeof step};
    tutti_op_call c = {sizeof c, 3, q->op->nout, 2, descs, descs + 3, &attr, &step, NULL, NULL};
    numbers in[3] = {numbers_make_as(m * k, 4, v->dtype), numbers_make_as(k * n, 5, v->dtype),
                     numbers_make_as(m * n, 6, v->dtype)};
    const void *const data[3] = {in[0].half, in[1].f32, numbers_as(&in[2], third)};
    void *const out[2] = {calloc((size_t)(m * n), 4), calloc((size_t)(m * n), 4)};
    void *state = NULL;
    uint64_t bytes = 0;
    tutti_error err = TUTTI_ERROR_INIT;
    ck_assert_str_eq(algorithms_of(q->op, v)->name(&c, 0), v->algorithm);
    ck_assert_ptr_null(algorithms_of(q->op, v)->name(&c, 1));
    ck_assert_int_eq(kernel->prepare(&c, &state, &bytes, &err), TUTTI_OK);
    void *scratch = aligned_alloc(64, (bytes + 63) / 64 * 64);
    ck_assert_int_eq(kernel->run(state, &c, data, out, scratch), TUTTI_OK);
    check_call(q, &c, in, out);
    kernel->destroy(state);
    free(scratch), free(out[0]), free(out[1]);
    for (int i = 0; i < 3; i++)
        numbers_free(&in[i]);
}

START_TEST(the_operation_reads_and_writes_bf16)
{
    try_operation(&calls[_i % CALLS], sizes[_i / CALLS], &variants[BF16]);
}
END_TEST

#if defined(__x86_64__)
START_TEST(the_operation_reads_and_writes_f16_by_a_model)
{
    try_operation(&calls[_i % CALLS], sizes[_i / CALLS], &variants[F16_MODEL]);
}
END_TEST

START_TEST(the_operation_reads_and_writes_f16)
{
    try_operation(&calls[_i % CALLS], sizes[_i / CALLS], &variants[F16]);
}
END_TEST
#endif

/* Into y: a batch of products with a bias in `dtype`. */
static void biased(const variant *v, const int64_t size[4], int32_t dtype, const numbers in[3],
                   uint16_t *y)
{
    const int64_t count = size[3], m = size[0], n = size[1], k = size[2];
    const tutti_kernel *kernel = kernel_of(&tutti_op_matmul, v);
    const matmul_attr attr = {.fast = v->fast};
    const tutti_desc descs[4] = {{{count, m, k}, 3, v->dtype},
                                 {{count, k, n}, 3, v->dtype},
                                 {{n}, 1, dtype},
                                 {{count, m, n}, 3, v->dtype}};
    const tutti_step step = {.struct_size = sizeof step};
    const tutti_op_call c = {sizeof c, 3, 1, 3, descs, descs + 3, &attr, &step, NULL, NULL};
    const void *const data[3] = {in[0].half, in[1].half,
                                 dtype == v->dtype ? (const void *)in[2].half : in[2].rounded};
    void *const out[1] = {y};
    void *state = NULL;
    uint64_t bytes = 0;
    ck_assert_int_eq(kernel->prepare(&c, &state, &bytes, NULL), TUTTI_OK);
    void *scratch = aligned_alloc(64, (bytes + 63) / 64 * 64);
    ck_assert_ptr_nonnull(scratch);
    memset(scratch, 0xFF, bytes); /* NaNs */
    ck_assert_int_eq(kernel->run(state, &c, data, out, scratch), TUTTI_OK);
    kernel->destroy(state);
    free(scratch);
}

/* One product, fewer than threads, and a product or more for each thread. */
START_TEST(a_bias_of_16_bits_has_the_bits_of_its_numbers_in_f32)
{
    const int64_t count[] = {1, 2, 3, 7};
    const int64_t *of = sizes[_i / 4 % SIZES], size[4] = {of[0], of[1], of[2], count[_i % 4]};
    const variant *v = &variants[_i / (4 * SIZES)];
    if (!is_here(_i / (4 * SIZES)))
        return;
    numbers in[3] = {numbers_make_as(size[3] * size[0] * size[2], 7, v->dtype),
                     numbers_make_as(size[3] * size[2] * size[1], 8, v->dtype),
                     numbers_make_as(size[1], 9, v->dtype)};
    const size_t bytes = (size_t)(size[3] * size[0] * size[1]) * sizeof(uint16_t);
    uint16_t *wide = malloc(bytes), *narrow = malloc(bytes);
    ck_assert(wide && narrow);
    biased(v, size, TUTTI_F32, in, wide);
    biased(v, size, v->dtype, in, narrow);
    ck_assert_mem_eq(narrow, wide, bytes);
    free(wide), free(narrow);
    for (int i = 0; i < 3; i++)
        numbers_free(&in[i]);
}
END_TEST

/* ---- the epilogue, which may use shorter polynomials where it stores bf16 ---- */

enum { SWEEP = 250, BEHIND = 6, FORMS = 6 };

/* What the definition gives of s and x; *ret_bound: rounding to bf16, and a part of it for the polynomials. */
static double wanted(int64_t act, int grad, float s, float x, double *ret_bound)
{
    const gelu_attr form = {act == MATMUL_GELU_TANH};
    const double y =
        grad ? gelu_grad_f64((double)s, (double)x, &form) : gelu_f64((double)s, &form);
    *ret_bound = fabs(y) * (0x1p-8 + 0x1p-13) + (grad ? fabs((double)s) * 0x1p-14 : 1e-7);
    return y;
}

/* Numbers [-18.75, 18.6], in rows that end within a register. */
static void sweep(int64_t act, int grad, int keeps, int part)
{
    float s[MATMUL_STORE], from[MATMUL_STORE];
    uint16_t x[MATMUL_STORE], y[MATMUL_STORE], z[MATMUL_STORE];
    for (int i = 0; i < MATMUL_STORE; i++) {
        from[i] = (float)(i * 3 + part - 375) * 0.05f;
        x[i] = tutti_to_bf16(from[i]);
        s[i] = from[i] = grad ? (float)(i % 7 - 3) : from[i];
        y[i] = z[i] = 0xABCD;
    }
    const matmul_store to = {act,        y,          keeps ? z : NULL, grad ? x : NULL,
                             TUTTI_BF16, TUTTI_BF16, TUTTI_BF16,       0};
    TUTTI_ISA_PICK(matmul_store_row)(&to, s, 0, SWEEP);
    for (int i = 0; i < SWEEP; i++) {
        double bound;
        const double want = wanted(act, grad, from[i], number_of_bf16(x[i]), &bound);
        number_is_close((double)number_of_bf16(y[i]), want, bound);
        ck_assert_uint_eq(z[i], keeps ? tutti_to_bf16(from[i]) : 0xABCD);
    }
    for (int i = SWEEP; i < SWEEP + BEHIND; i++)
        ck_assert(y[i] == 0xABCD && z[i] == 0xABCD);
}

START_TEST(gelu_is_within_rounding_where_it_is_stored_as_bf16)
{
    for (int part = 0; part < 3; part++)
        sweep(_i % 2 ? MATMUL_GELU_TANH : MATMUL_GELU, _i / 2 == 2, _i / 2 == 1, part);
}
END_TEST

#if defined(__x86_64__)
START_TEST(gelu_of_huge_numbers_and_nan)
{
    const int64_t act = _i % 2 ? MATMUL_GELU_TANH : MATMUL_GELU;
    const float all[6] = {1e30f, -1e30f, NAN, INFINITY, 0.0f, 3e38f};
    float s[6];
    uint16_t x[6], y[6], dy[6];
    memcpy(s, all, sizeof s);
    const matmul_store to = {act, y, NULL, NULL, TUTTI_BF16, TUTTI_BF16, TUTTI_BF16, 0};
    TUTTI_ISA_PICK(matmul_store_row)(&to, s, 0, 6);
    ck_assert_uint_eq(y[0], tutti_to_bf16(1e30f));
    number_is_close((double)number_of_bf16(y[1]), 0.0, 1e-30);
    ck_assert(isnan(number_of_bf16(y[2])));
    ck_assert_uint_eq(y[3], 0x7F80);
    number_is_close((double)number_of_bf16(y[4]), 0.0, 0.0);
    for (int i = 0; i < 6; i++) {
        s[i] = 2.0f;
        x[i] = tutti_to_bf16(all[i]);
    }
    const matmul_store grad = {act, dy, NULL, x, TUTTI_BF16, TUTTI_BF16, TUTTI_BF16, 0};
    TUTTI_ISA_PICK(matmul_store_row)(&grad, s, 0, 6);
    number_is_close((double)number_of_bf16(dy[0]), 2.0, 0.0);
    number_is_close((double)number_of_bf16(dy[1]), 0.0, 1e-30);
    ck_assert(isnan(number_of_bf16(dy[2])));
    number_is_close((double)number_of_bf16(dy[4]), 1.0, 0.0);
}
END_TEST
#endif

/* What it leaves to the host's conversions, of a, y and `fast`: both halves in one product, factors of F32 that nobody
 * allowed to round, or that were allowed for the other half, and factors that are all F32 beside F16. */
static const struct {
    int32_t a, y;
    int64_t fast;
} refused[] = {{TUTTI_F16, TUTTI_BF16, MATMUL_BF16},   {TUTTI_BF16, TUTTI_F16, MATMUL_F16},
               {TUTTI_BF16, TUTTI_BF16, MATMUL_EXACT}, {TUTTI_F16, TUTTI_F16, MATMUL_EXACT},
               {TUTTI_BF16, TUTTI_BF16, MATMUL_F16},   {TUTTI_F16, TUTTI_F16, MATMUL_BF16},
               {TUTTI_F32, TUTTI_F16, MATMUL_F16}};
enum { REFUSED = sizeof refused / sizeof *refused };

START_TEST(other_halves_are_refused_without_a_word)
{
    const tutti_desc descs[3] = {{{64, 65}, 2, refused[_i % REFUSED].a},
                                 {{65, 64}, 2, TUTTI_F32},
                                 {{64, 64}, 2, refused[_i % REFUSED].y}};
    const matmul_attr attr = {.fast = refused[_i % REFUSED].fast};
    const tutti_op_call c = {sizeof c, 2, 1, 1, descs, descs + 2, &attr, NULL, NULL, NULL};
    const variant *v = &variants[_i < REFUSED ? BF16 : F16_MODEL];
    void *state = NULL;
    uint64_t bytes = 0;
    tutti_error err = TUTTI_ERROR_INIT;
    ck_assert_int_eq(kernel_of(&tutti_op_matmul, v)->prepare(&c, &state, &bytes, &err),
                     TUTTI_E_UNSUPPORTED);
    ck_assert_str_eq(err.text, "");
}
END_TEST

/* Copies of b for products in bf16 and in f16 are not taken for each other. */
START_TEST(packed_f16_has_a_layout_of_its_own)
{
    gemm p = {.m = 1, .n = 64, .k = 64, .a_row = 64, .a_col = 1, .b_row = 64, .b_col = 1};
    char names[2][GEMM_LAYOUT];
    uint64_t bytes;
    p.y_row = 64;
    p.threads = 1;
    p.microkernel = &gemm_microkernel_bfmmla_model; /* any */
    for (int i = 0; i < 2; i++) {
        p.factor = i ? TUTTI_F16 : TUTTI_BF16;
        ck_assert_int_eq(gemm_plan(&p, &bytes), TUTTI_OK);
        ck_assert_uint_gt(gemm_packed_bytes(&p, names[i]), 0);
    }
    ck_assert_str_ne(names[0], names[1]);
}
END_TEST

#if defined(__x86_64__)
/* Numbers beyond f16's range are infinite, as rounding makes them; nothing else becomes so. */
START_TEST(factors_beyond_f16_are_infinite)
{
    enum { N = 33 };
    const tutti_desc descs[3] = {
        {{1, N}, 2, TUTTI_F16}, {{N, N}, 2, TUTTI_F32}, {{1, N}, 2, TUTTI_F32}};
    const matmul_attr attr = {.fast = MATMUL_F16};
    const tutti_op_call c = {sizeof c, 2, 1, 1, descs, descs + 2, &attr, NULL, NULL, NULL};
    uint16_t a[N];
    float b[N * N] = {0.0f}, y[N];
    const void *const data[2] = {a, b};
    void *const out[1] = {y};
    void *state = NULL;
    uint64_t bytes = 0;
    for (int i = 0; i < N; i++) {
        a[i] = tutti_to_f16(1.0f);
        b[i * N + i] = i % 2 ? 65520.0f : 65519.0f;
    }
    ck_assert_int_eq(matmul_cpu_model.prepare(&c, &state, &bytes, NULL), TUTTI_OK);
    void *scratch = aligned_alloc(64, (bytes + 63) / 64 * 64);
    ck_assert_int_eq(matmul_cpu_model.run(state, &c, data, out, scratch), TUTTI_OK);
    for (int i = 0; i < N; i++)
        ck_assert(i % 2 ? isinf(y[i]) : y[i] == 65504.0f);
    matmul_cpu_model.destroy(state);
    free(scratch);
}
END_TEST
#endif

static void tell_missing(void)
{
    if (!is_here(BF16))
        (void)puts(
            "the_operation_reads_and_writes_bf16: not here, this CPU has no units for bf16 "
            "(AVX512_BF16, FEAT_BF16); models of them are tried");
    if (!is_here(F16_MODEL))
        (void)puts("the_operation_reads_and_writes_f16_by_a_model: not here, this CPU has no "
                   "AVX-512");
    if (!is_here(F16))
        (void)puts("the_operation_reads_and_writes_f16: not here, this CPU has no AMX-FP16");
}

int main(void)
{
    const int here = is_here(BF16), model = is_here(F16_MODEL);
    const int all = (int)CALLS * (int)SIZES;
    tell_missing();
    Suite *s = suite_create("gemm_half");
    TCase *t = tcase_create("products");
    tcase_add_loop_test(t, products_are_those_of_the_rounded_factors, 0,
                        (microkernel(TUTTI_F16, 0) ? 2 : 1) * SHAPES * LAYOUTS);
    tcase_add_loop_test(t, b_is_packed_for_as_much_as_its_panels_serve, 0, here);
    tcase_add_loop_test(t, the_operation_reads_and_writes_bf16, 0, here ? all : 0);
    tcase_add_loop_test(t, a_bias_of_16_bits_has_the_bits_of_its_numbers_in_f32, 0,
                        VARIANTS * 4 * (int)SIZES);
    tcase_add_loop_test(t, gelu_is_within_rounding_where_it_is_stored_as_bf16, 0, FORMS);
    tcase_add_test(t, packed_f16_has_a_layout_of_its_own);
#if defined(__x86_64__)
    tcase_add_loop_test(t, the_operation_reads_and_writes_f16_by_a_model, 0, model ? all : 0);
    tcase_add_loop_test(t, the_operation_reads_and_writes_f16, 0, is_here(F16) ? all : 0);
    tcase_add_loop_test(t, factors_beyond_f16_are_infinite, 0, model);
    /* the form in f32 has no gradient beyond the root of the largest number */
    tcase_add_loop_test(t, gelu_of_huge_numbers_and_nan, 0, here ? 2 : 0);
#endif
    tcase_add_loop_test(t, other_halves_are_refused_without_a_word, 0,
                        (model ? 2 : 1) * (int)REFUSED);
    suite_add_tcase(s, t);
    return tutti_run(s);
}
