/* conv_half_test.c - convolutions of bf16 and f16 and their gradients against sums in f64 of the rounded factors, by K. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/gemm_microkernel.h"
#include "conv2d/conv2d.h"
#include "conv2d/conv2d_algorithms.h"
#include "numbers.h"

#include <stdio.h>

typedef struct shape {
    int64_t b, h, c, o, k, s, p, groups;
} shape;

static const shape shapes[] = {
    {4, 18, 3, 16, 3, 1, 1, 1},   {4, 12, 16, 16, 3, 1, 1, 1}, {3, 16, 16, 32, 3, 2, 1, 1},
    {4, 8, 64, 64, 3, 1, 1, 1},   {3, 14, 20, 24, 5, 1, 2, 1}, {2, 12, 1, 16, 5, 1, 2, 1},
    {5, 9, 17, 33, 3, 2, 1, 1},   {3, 7, 16, 48, 3, 1, 1, 1},  {2, 6, 32, 16, 5, 2, 2, 1},
    {4, 8, 32, 64, 1, 1, 0, 1},   {3, 7, 33, 17, 1, 1, 0, 1},  {5, 16, 8, 16, 1, 2, 0, 1},
    {4, 10, 6, 12, 1, 2, 0, 1},   {2, 20, 32, 32, 1, 3, 0, 1}, {2, 9, 32, 32, 3, 1, 1, 32},
    {2, 8, 32, 32, 3, 1, 1, 2},   {1, 3, 5, 3, 3, 1, 1, 1},    {5, 20, 24, 40, 1, 2, 0, 1},
    {2, 64, 3, 32, 16, 16, 0, 1}, {3, 27, 3, 24, 8, 8, 0, 1},  {3, 11, 16, 32, 2, 2, 0, 1}};
enum { SHAPES = sizeof shapes / sizeof *shapes, KINDS = 4 };

static const tutti_op *const ops[KINDS] = {&tutti_op_conv2d, &tutti_op_conv2d_grad_input,
                                           &tutti_op_conv2d_grad_weight,
                                           &tutti_op_conv2d_grad_weight_add};

#if defined(__x86_64__)
extern const tutti_kernel conv2d_cpu_model, conv2d_grad_input_cpu_model,
    conv2d_grad_weight_cpu_model;
extern const tutti_algorithms conv2d_forward_algorithms_model, conv2d_input_algorithms_model,
    conv2d_weight_algorithms_model;
static const tutti_kernel *const model_kernels[KINDS] = {
    &conv2d_cpu_model, &conv2d_grad_input_cpu_model, &conv2d_grad_weight_cpu_model};
static const tutti_algorithms *const model_algorithms[KINDS] = {
    &conv2d_forward_algorithms_model, &conv2d_input_algorithms_model,
    &conv2d_weight_algorithms_model};
#else
static const tutti_kernel *const model_kernels[KINDS];
static const tutti_algorithms *const model_algorithms[KINDS];
#endif

/* What 16 bits are, the attribute `fast`, what names of algorithms hold, and by the kernels of this CPU or those with a
 * model of AMX-FP16, which the sum of a gradient and another is not made of. */
typedef struct variant {
    int32_t dtype, model;
    int64_t fast;
    const char *half;
    int32_t kinds, reserved;
} variant;
enum { BF16, F16_MODEL, F16, VARIANTS };
static const variant variants[VARIANTS] = {
    [BF16] = {TUTTI_BF16, 0, CONV2D_BF16, "bf16", KINDS, 0},
    [F16_MODEL] = {TUTTI_F16, 1, CONV2D_F16, "f16", KINDS - 1, 0},
    [F16] = {TUTTI_F16, 0, CONV2D_F16, "f16", KINDS, 0}};

static int is_here(int which)
{
#if defined(__x86_64__)
    return which == F16_MODEL ? tutti_isa() >= TUTTI_ISA_v4
           : which == F16     ? gemm_microkernel_at(TUTTI_F16, 0) != NULL
                              : conv2d_bf16_here();
#else
    return which == BF16 && conv2d_bf16_here();
#endif
}

/* The kernel and the algorithms of one of the operations, or NULL. */
static const tutti_kernel *kernel_of(int kind, const variant *v)
{
    return v->model ? model_kernels[kind] : ops[kind]->cpu;
}

static const tutti_algorithms *algorithms_of(int kind, const variant *v)
{
    return v->model ? model_algorithms[kind] : ops[kind]->cpu_algorithms;
}

/* Those of f16 are products, of one group. */
static int is_taken(const shape *q, const variant *v)
{
    return v->dtype == TUTTI_BF16 || q->groups == 1;
}

typedef struct call {
    const variant *v;
    conv2d_attr attr;
    tutti_desc descs[4]; /* three inputs, the output */
    uint32_t nin;
    int64_t k; /* additions in a sum */
} call;

/* `f32` has bit 0 where the first factor, and bit 1 where the result of 16 bits is F32 instead. */
static call call_of(const variant *v, const shape *q, int kind, int f32)
{
    const int64_t oh = (q->h + 2 * q->p - q->k) / q->s + 1;
    const tutti_desc x = {{q->b, q->h, q->h, q->c}, 4, v->dtype};
    const tutti_desc w = {{q->o, q->k, q->k, q->c / q->groups}, 4, TUTTI_F32};
    const tutti_desc y = {{q->b, oh, oh, q->o}, 4, v->dtype};
    call r = {.v = v,
              .attr = {.stride = {2, {q->s, q->s}},
                       .padding = {2, {q->p, q->p}},
                       .groups = q->groups,
                       .fast = v->fast}};
    const tutti_desc of[KINDS][4] = {{x, w, {{q->o}, 1, TUTTI_F32}, y},
                                     {y, w, {{0}, 0, 0}, x},
                                     {x, y, {{0}, 0, 0}, w},
                                     {x, y, w, w}};
    memcpy(r.descs, of[kind], sizeof r.descs);
    r.nin = kind == 0 || kind == 3 ? 3 : 2;
    r.k = kind > 1 ? q->b * oh * oh : q->k * q->k * (kind ? q->o : q->c) / q->groups;
    if (kind == 1)
        r.attr.shape = (tutti_list){4, {x.dim[0], x.dim[1], x.dim[2], x.dim[3]}};
    if (kind > 1)
        r.attr.shape = (tutti_list){2, {q->k, q->k}};
    if (f32 & 1)
        r.descs[0].dtype = TUTTI_F32;
    if (f32 & 2)
        r.descs[3].dtype = TUTTI_F32;
    return r;
}

/* The reference over the rounded factors; over their sizes with `sizes`. */
static double *wanted(const tutti_op *op, const tutti_op_call *c, const numbers *in, int sizes)
{
    double *wide[3] = {0}, *y = malloc((size_t)tutti_numel(&c->out[0]) * sizeof *y);
    ck_assert_ptr_nonnull(y);
    for (uint32_t i = 0; i < c->nin; i++) {
        const int64_t n = tutti_numel(&c->in[i]);
        wide[i] = malloc((size_t)n * sizeof(double));
        ck_assert_ptr_nonnull(wide[i]);
        for (int64_t j = 0; j < n; j++) {
            const double v = (double)(i == 2 ? in[i].f32[j] : in[i].rounded[j]);
            wide[i][j] = sizes ? fabs(v) : v;
        }
    }
    ck_assert_int_eq(op->reference(c, (const double *const *)wide, &y), TUTTI_OK);
    for (int i = 0; i < 3; i++)
        free(wide[i]);
    return y;
}

static void check_algorithm(int kind, const variant *v, const tutti_op_call *c, uint32_t k,
                            const void *const *in, void *ret_y)
{
    const tutti_kernel *kernel = kernel_of(kind, v);
    void *state = NULL;
    uint64_t bytes = 0;
    tutti_error err = TUTTI_ERROR_INIT;
    ck_assert_int_eq(k ? algorithms_of(kind, v)->prepare(c, k, &state, &bytes, &err)
                       : kernel->prepare(c, &state, &bytes, &err),
                     TUTTI_OK);
    void *scratch = aligned_alloc(64, (bytes + 127) / 64 * 64);
    memset(scratch, 0xFF, bytes); /* NaNs */
    ck_assert_int_eq(kernel->run(state, c, in, &ret_y, scratch), TUTTI_OK);
    kernel->destroy(state);
    free(scratch);
}

static void check_result(const call *q, const void *y, const double *want, const double *size)
{
    const int32_t dtype = q->descs[3].dtype;
    const int half = dtype != TUTTI_F32;
    for (int64_t j = 0, n = tutti_numel(&q->descs[3]); j < n; j++) {
        const double got = half ? (double)number_of_half(((const uint16_t *)y)[j], dtype)
                                : (double)((const float *)y)[j];
        const double step = dtype == TUTTI_F16 ? 0x1p-11 : half ? 0x1p-8 : 0x1p-23;
        const double least = dtype == TUTTI_F16 ? 0x1p-25 : 0.0; /* of subnormal numbers */
        number_is_close(got, want[j], fabs(want[j]) * step + least + bound_of(q->k, size[j]));
    }
}

/* Every algorithm that has a name, which says bf16 or f16, gives the sums; and the same bits again. */
static void check_call(int kind, const call *q, int32_t threads)
{
    const tutti_op *op = ops[kind];
    const tutti_algorithms *algorithms = algorithms_of(kind, q->v);
    const tutti_step step = {.struct_size = sizeof step};
    const tutti_op_call c = {sizeof c,     q->nin,   1,     threads, q->descs,
                             &q->descs[3], &q->attr, &step, NULL,    NULL};
    const size_t bytes = (size_t)tutti_nbytes(&q->descs[3]);
    numbers in[3];
    const void *data[3];
    for (uint32_t i = 0; i < 3; i++) {
        in[i] =
            numbers_make_as(i < q->nin ? tutti_numel(&q->descs[i]) : 1, 3 * i + 1, q->v->dtype);
        data[i] = numbers_as(&in[i], q->descs[i].dtype);
    }
    double *want = wanted(op, &c, in, 0), *size = wanted(op, &c, in, 1);
    void *y = malloc(bytes), *again = malloc(bytes);
    for (uint32_t k = 0; k == 0 || (algorithms && algorithms->name(&c, k)); k++) {
        const char *name = algorithms ? algorithms->name(&c, k) : q->v->half;
        ck_assert_ptr_nonnull(strstr(name, q->v->half));
        ck_assert(q->v->dtype == TUTTI_BF16 || !strstr(name, "bf16"));
        check_algorithm(kind, q->v, &c, k, data, y);
        if (!strstr(name, "Winograd")) /* which rounds other numbers: conv_winograd_test.c */
            check_result(q, y, want, size);
        check_algorithm(kind, q->v, &c, k, data, again);
        ck_assert_mem_eq(y, again, bytes);
    }
    free(want), free(size), free(y), free(again);
    for (int i = 0; i < 3; i++)
        numbers_free(&in[i]);
}

static void is_refused(const call *q, int kind)
{
    const tutti_op_call c = {sizeof c,     q->nin,   1,    2,    q->descs,
                             &q->descs[3], &q->attr, NULL, NULL, NULL};
    void *state = NULL;
    uint64_t bytes = 0;
    tutti_error err = TUTTI_ERROR_INIT;
    ck_assert_int_eq(kernel_of(kind, q->v)->prepare(&c, &state, &bytes, &err),
                     TUTTI_E_UNSUPPORTED);
    ck_assert_str_eq(err.text, "");
}

/* Does the host convert it?  Groups have no bf16 where oneDNN has none. */
static int is_converted(const call *q)
{
#if defined(__x86_64__)
    (void)q;
    return 0;
#else
    return q->attr.groups > 1;
#endif
}

/* Beside F16 one factor has it, too. */
static int is_half(const call *q)
{
    const int factors = q->descs[0].dtype != TUTTI_F32 || q->descs[1].dtype != TUTTI_F32;
    return factors || (q->v->dtype == TUTTI_BF16 && q->descs[3].dtype != TUTTI_F32);
}

static void try_shape(const variant *v, int s)
{
    for (int kind = 0; kind < v->kinds; kind++)
        for (int f32 = s % 2; f32 < 4; f32 += 2) {
            const call q = call_of(v, &shapes[s], kind, f32);
            if (is_half(&q) && is_converted(&q))
                is_refused(&q, kind);
            else if (is_half(&q) && is_taken(&shapes[s], v))
                check_call(kind, &q, 1 + (f32 > 1));
            else if (v->dtype == TUTTI_F16 && q.descs[3].dtype != TUTTI_F32)
                is_refused(&q, kind);
        }
}

START_TEST(convolutions_are_those_of_the_rounded_factors)
{
    try_shape(&variants[BF16], _i);
}
END_TEST

/* Products of f16; of several groups nothing, which the host converts. */
START_TEST(products_of_f16_are_those_of_the_rounded_factors_by_a_model)
{
    try_shape(&variants[F16_MODEL], _i);
}
END_TEST

START_TEST(products_of_f16_are_those_of_the_rounded_factors)
{
    try_shape(&variants[F16], _i);
}
END_TEST

/* What it leaves to the host's conversions: both halves, factors of F32 that nobody allowed to round, and nothing to sum. */
START_TEST(other_halves_are_refused_without_a_word)
{
    const shape empty = {0, 8, 16, 16, 3, 1, 1, 1};
    const variant *v = &variants[_i / 3];
    const shape *s = _i % 3 == 2 ? &empty : v->dtype == TUTTI_F16 ? &shapes[9] : &shapes[3];
    for (int kind = 0; kind < v->kinds; kind++) {
        call q = call_of(v, s, kind, 0);
        if (_i % 3 == 0) /* the last of three numbers of 16 bits stays what it is */
            q.descs[0].dtype = v->dtype == TUTTI_F16 ? TUTTI_BF16 : TUTTI_F16;
        if (_i % 3 == 1) {
            q.descs[1].dtype = TUTTI_F32;
            q.attr.fast = 0;
        }
        is_refused(&q, kind);
    }
}
END_TEST

/* By name: oneDNN's gradient of weights takes several times as long as in F32. */
START_TEST(windows_that_do_not_overlap_are_products_of_patches)
{
    const shape patches = {2, 64, 3, 32, 16, 16, 0, 1};
    for (int kind = 0; kind < KINDS - 1; kind++) {
        const call q = call_of(&variants[_i], &patches, kind, 0);
        const tutti_op_call c = {sizeof c,    q.nin,   1,    1,    q.descs,
                                 &q.descs[3], &q.attr, NULL, NULL, NULL};
        ck_assert_str_eq(algorithms_of(kind, q.v)->name(&c, 0),
                         _i == BF16 ? "bf16 patches" : "f16 patches");
    }
}
END_TEST

int main(void)
{
    const int bf16 = is_here(BF16), model = is_here(F16_MODEL), f16 = is_here(F16);
    if (!bf16)
        (void)puts(
            "convolutions_are_those_of_the_rounded_factors: not here, this CPU has no units "
            "for bf16 (AVX512_BF16, FEAT_BF16)");
    if (!f16)
        (void)puts(
            "products_of_f16_are_those_of_the_rounded_factors: not here, this CPU has no "
            "AMX-FP16");
    if (!bf16 && !model) {
        (void)puts("skipped: this CPU has neither AVX-512 nor FEAT_BF16");
        return 77;
    }
    Suite *s = suite_create("conv_half");
    TCase *t = tcase_create("convolutions");
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, convolutions_are_those_of_the_rounded_factors, 0,
                        bf16 ? (int)SHAPES : 0);
    tcase_add_loop_test(t, products_of_f16_are_those_of_the_rounded_factors_by_a_model, 0,
                        model ? (int)SHAPES : 0);
    tcase_add_loop_test(t, products_of_f16_are_those_of_the_rounded_factors, 0,
                        f16 ? (int)SHAPES : 0);
    tcase_add_loop_test(t, other_halves_are_refused_without_a_word, 0, model ? 6 : 3);
    tcase_add_loop_test(t, windows_that_do_not_overlap_are_products_of_patches, bf16 ? 0 : 1,
                        model ? 2 : 1);
    suite_add_tcase(s, t);
    return tutti_run(s);
}
