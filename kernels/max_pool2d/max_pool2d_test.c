/* max_pool2d_test.c - max pooling against definition, differences and by hand. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "max_pool2d/max_pool2d.h"

#include "common/op_refusal.h"

static const op_case cases[] = {
    {.op = "max_pool2d",
     .nin = 1,
     .in = {DESC(F32, 4, 2, 4, 6, 3)},
     .nattr = 1,
     .attr = {LIST("kernel", 2, 2)}},
    {.op = "max_pool2d",
     .nin = 1,
     .in = {DESC(F32, 4, 2, 5, 4, 2)},
     .nattr = 3,
     .attr = {LIST("kernel", 3, 2), LIST("stride", 2, 1), LIST("padding", 1, 1)}},
    {.op = "max_pool2d",
     .nin = 1,
     .in = {DESC(F32, 4, 0, 5, 4, 2)},
     .nattr = 1,
     .attr = {LIST("kernel", 3, 2)}},
    {.op = "max_pool2d",
     .nin = 1,
     .in = {DESC(F32, 4, 8, 17, 15, 37)},
     .nattr = 3,
     .attr = {LIST("kernel", 3, 3), LIST("stride", 2, 2), LIST("padding", 1, 1)},
     .no_grad = 1},
    {.op = "max_pool2d",
     .nin = 1,
     .in = {DESC(F32, 4, 3, 7, 9, 16)},
     .nattr = 3,
     .attr = {LIST("kernel", 3, 3), LIST("stride", 2, 2), LIST("padding", 1, 1)},
     .no_grad = 1},
    /* The windows cover the whole image: any index lies in its window. */
    {.op = "max_pool2d_grad",
     .nin = 2,
     .in = {DESC(F32, 4, 2, 1, 1, 3), DESC(I32, 4, 2, 1, 1, 3)},
     .nattr = 2,
     .attr = {LIST("kernel", 2, 3), LIST("input_shape", 2, 2, 3, 3)},
     .high = {0, 6}},
    {.op = "max_pool2d_grad",
     .nin = 2,
     .in = {DESC(F32, 4, 2, 2, 2, 8), DESC(I32, 4, 2, 2, 2, 8)},
     .nattr = 3,
     .attr = {LIST("kernel", 3, 3), LIST("stride", 1, 1), LIST("input_shape", 2, 4, 4, 8)},
     .low = {0, 5},
     .high = {0, 6}}, /* in the middle: every window has it */
    {.op = "max_pool2d_gather",
     .nin = 2,
     .in = {DESC(F32, 4, 2, 4, 4, 3), DESC(I32, 4, 2, 2, 2, 3)},
     .nattr = 1,
     .attr = {LIST("kernel", 2, 2)}},
};

START_TEST(max_pooling_agrees_with_definition_and_differences)
{
    op_case_holds(&cases[_i], _i);
}
END_TEST

/* Row 0: 1 5 5, row 1: NaN 2 -1; windows (2, 2), stride 1. */
START_TEST(the_first_of_equals_wins_and_nan_beats_all)
{
    const tutti_desc in = DESC(F32, 4, 1, 2, 3, 1);
    const tutti_desc out[2] = {DESC(F32, 4, 1, 1, 2, 1), DESC(I32, 4, 1, 1, 2, 1)};
    const pool_attr attr = {.kernel = {2, {2, 2}}, .stride = {2, {1, 1}}};
    const tutti_op_call c = {sizeof c, 1, 2, 1, &in, out, &attr, NULL, NULL, NULL};
    const float x[6] = {1, 5, 5, NAN, 2, -1};
    float y[2];
    int32_t index[2];
    const void *ins[1] = {x};
    void *outs[2] = {y, index};
    ck_assert_int_eq(tutti_op_max_pool2d.cpu->run(NULL, &c, ins, outs, NULL), TUTTI_OK);
    ck_assert(isnan(y[0]));
    ck_assert_int_eq(index[0], 3);
    ck_assert_close(y[1], 5, 0.0);
    ck_assert_int_eq(index[1], 1);
}
END_TEST

START_TEST(an_index_outside_the_image_is_refused)
{
    const tutti_desc in[2] = {DESC(F32, 4, 1, 1, 2, 1), DESC(I32, 4, 1, 1, 1, 1)};
    const tutti_desc out = DESC(F32, 4, 1, 1, 1, 1);
    const pool_attr attr = {.kernel = {2, {1, 2}}};
    const tutti_op_call c = {sizeof c, 2, 1, 1, in, &out, &attr, NULL, NULL, NULL};
    const float x[2] = {1, 2};
    const int32_t index = 2;
    float y;
    const void *ins[2] = {x, &index};
    void *outs[1] = {&y};
    ck_assert_int_eq(tutti_op_max_pool2d_gather.cpu->run(NULL, &c, ins, outs, NULL),
                     TUTTI_E_RANGE);
}
END_TEST

/* ---- 16 bits: the numbers of F32, rounded at the end ---- */

enum { IMAGES = 5, ROWS = 17, COLS = 15, OUT_ROWS = 9, OUT_COLS = 8, MOST = 37 };

/* Images of `channels`, by windows of (3, 3), stride 2: in BF16, and in F32 of the same numbers.  With the most channels
 * threads share them. */
typedef struct pair {
    tutti_desc x[2], y[2], index; /* [0] F32, [1] BF16 */
    float x32[IMAGES * ROWS * COLS * MOST], y32[IMAGES * OUT_ROWS * OUT_COLS * MOST];
    uint16_t x16[IMAGES * ROWS * COLS * MOST], y16[IMAGES * OUT_ROWS * OUT_COLS * MOST];
    int32_t index32[IMAGES * OUT_ROWS * OUT_COLS * MOST],
        index16[IMAGES * OUT_ROWS * OUT_COLS * MOST];
} pair;

static const pool_attr strided = {
    .kernel = {2, {3, 3}}, .stride = {2, {2, 2}}, .padding = {2, {1, 1}}};

static void pair_begin(pair *p, int64_t channels)
{
    const tutti_desc x = DESC(F32, 4, IMAGES, ROWS, COLS, channels);
    const tutti_desc y = DESC(F32, 4, IMAGES, OUT_ROWS, OUT_COLS, channels);
    p->x[0] = p->x[1] = x;
    p->y[0] = p->y[1] = p->index = y;
    p->x[1].dtype = p->y[1].dtype = TUTTI_BF16;
    p->index.dtype = TUTTI_I32;
}

/* Few values, so that many are equal, and every bit pattern now and then. */
static void pair_fill(uint16_t *low, float *high, int64_t n, uint32_t seed)
{
    for (int64_t k = 0; k < n; k++) {
        seed = seed * 1664525u + 1013904223u;
        low[k] = seed >> 28 ? half_to_bf16((float)(seed >> 29) - 3.5f) : (uint16_t)(seed >> 8);
        high[k] = half_from_bf16(low[k]);
    }
}

static void run_pooling(const tutti_op *op, const tutti_op_call *c, const void *const *in,
                        void *const *out)
{
    void *state = NULL, *scratch;
    uint64_t bytes = 0;
    tutti_error err = TUTTI_ERROR_INIT;
    ck_assert_ok(op->cpu->prepare(c, &state, &bytes, &err), err);
    scratch = malloc(bytes + 1);
    ck_assert_int_eq(op->cpu->run(state, c, in, out, scratch), TUTTI_OK);
    free(scratch);
}

static void forward(pair *p, int low, int threads)
{
    const tutti_desc out[2] = {p->y[low], p->index};
    const tutti_op_call c = {sizeof c, 1,        2,    threads, &p->x[low],
                             out,      &strided, NULL, NULL,    NULL};
    const void *in[1] = {low ? (void *)p->x16 : p->x32};
    void *to[2] = {low ? (void *)p->y16 : p->y32, low ? p->index16 : p->index32};
    run_pooling(&tutti_op_max_pool2d, &c, in, to);
}

/* y is dy here, x is dx. */
static void backward(pair *p, int low, int threads)
{
    const tutti_desc in[2] = {p->y[low], p->index};
    const tutti_op_call c = {sizeof c,   2,        1,    threads, in,
                             &p->x[low], &strided, NULL, NULL,    NULL};
    const void *from[2] = {low ? (void *)p->y16 : p->y32, p->index32};
    void *to[1] = {low ? (void *)p->x16 : p->x32};
    run_pooling(&tutti_op_max_pool2d_grad, &c, from, to);
}

static void same_rounded(const uint16_t *low, const float *high, int64_t n)
{
    for (int64_t k = 0; k < n; k++)
        ck_assert_msg(low[k] == half_to_bf16(high[k]), "%lld: %x is not %g", (long long)k,
                      (unsigned)low[k], (double)high[k]);
}

static const int64_t channels_of[] = {1, 16, 32, 37};

START_TEST(bf16_has_the_numbers_of_f32)
{
    pair *p = malloc(sizeof *p);
    for (int threads = 1; threads < 4; threads += 2) {
        pair_begin(p, channels_of[_i]);
        pair_fill(p->x16, p->x32, tutti_numel(p->x), (uint32_t)_i + 1);
        forward(p, 0, threads);
        forward(p, 1, threads);
        same_rounded(p->y16, p->y32, tutti_numel(p->y));
        ck_assert_mem_eq(p->index16, p->index32, tutti_nbytes(&p->index));
        pair_fill(p->y16, p->y32, tutti_numel(p->y), (uint32_t)_i + 7);
        backward(p, 0, threads);
        backward(p, 1, threads);
        same_rounded(p->x16, p->x32, tutti_numel(p->x));
    }
    free(p);
}
END_TEST

START_TEST(other_dtypes_are_left_to_the_host)
{
    const int32_t pairs[][2] = {{TUTTI_F16, TUTTI_F16},
                                {TUTTI_BF16, TUTTI_F32},
                                {TUTTI_F32, TUTTI_BF16},
                                {TUTTI_F16, TUTTI_F32}};
    for (int k = 0; k < OP_COUNT(pairs); k++) {
        static pair p;
        void *state = NULL;
        uint64_t bytes = 0;
        pair_begin(&p, 2);
        p.x[0].dtype = pairs[k][0];
        tutti_desc y[2] = {p.y[0], p.index};
        y[0].dtype = pairs[k][1];
        const tutti_op_call c = {sizeof c, 1, 2, 1, p.x, y, &strided, NULL, NULL, NULL};
        const tutti_op_call back = {sizeof c, 2, 1, 1, y, p.x, &strided, NULL, NULL, NULL};
        ck_assert_int_eq(tutti_op_max_pool2d.cpu->prepare(&c, &state, &bytes, NULL),
                         TUTTI_E_UNSUPPORTED);
        ck_assert_int_eq(tutti_op_max_pool2d_grad.cpu->prepare(&back, &state, &bytes, NULL),
                         TUTTI_E_UNSUPPORTED);
    }
}
END_TEST

static const pool_attr two = {.kernel = {2, {2, 2}}}, none = {.kernel = {0}};
static const pool_attr wide = {.kernel = {2, {3, 3}}, .padding = {2, {2, 1}}};
static const pool_attr big = {.kernel = {2, {5, 2}}};
static const pool_attr grad = {.kernel = {2, {2, 2}}, .input_shape = {4, {1, 4, 4, 3}}};

static const op_refusal refusals[] = {
    {{DESC(F32, 3, 4, 4, 3)},
     1,
     &two,
     TUTTI_E_SHAPE,
     "max_pool2d: x is F32 (4, 4, 3), want rank 4"},
    {{DESC(U8, 4, 1, 4, 4, 3)},
     1,
     &two,
     TUTTI_E_ARG,
     "max_pool2d: x is U8 (1, 4, 4, 3), want F32"},
    {{DESC(F32, 4, 1, 4, 4, 3)},
     1,
     &none,
     TUTTI_E_ARG,
     "max_pool2d: kernel has 0 entries, want 2"},
    {{DESC(F32, 4, 1, 4, 4, 3)},
     1,
     &wide,
     TUTTI_E_RANGE,
     "max_pool2d: padding 2 is more than half of kernel 3"},
    {{DESC(F32, 4, 1, 4, 4, 3)},
     1,
     &big,
     TUTTI_E_SHAPE,
     "max_pool2d: no window of (5, 2) fits into x F32 (1, 4, 4, 3) with its padding"},
};
static const op_refusal grad_refusals[] = {
    {{DESC(F32, 4, 1, 3, 2, 3), DESC(I32, 4, 1, 2, 2, 3)},
     2,
     &grad,
     TUTTI_E_SHAPE,
     "max_pool2d_grad: dy is F32 (1, 3, 2, 3), want F32 (1, 2, 2, 3)"},
    {{DESC(F32, 4, 1, 2, 2, 3), DESC(I64, 4, 1, 2, 2, 3)},
     2,
     &grad,
     TUTTI_E_SHAPE,
     "max_pool2d_grad: index is I64 (1, 2, 2, 3), want I32 (1, 2, 2, 3)"},
    {{DESC(F32, 4, 1, 2, 2, 3), DESC(I32, 4, 1, 2, 2, 3)},
     2,
     &two,
     TUTTI_E_ARG,
     "max_pool2d_grad: input_shape has 0 entries, want 4"},
};

START_TEST(what_does_not_fit_is_refused_in_one_sentence)
{
    for (int k = 0; k < OP_COUNT(refusals); k++)
        op_refusal_holds(&tutti_op_max_pool2d, &refusals[k]);
    for (int k = 0; k < OP_COUNT(grad_refusals); k++)
        op_refusal_holds(&tutti_op_max_pool2d_grad, &grad_refusals[k]);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("max_pool2d");
    TCase *t = op_test_cases(s, 60);
    tcase_add_loop_test(t, max_pooling_agrees_with_definition_and_differences, 0,
                        OP_COUNT(cases));
    tcase_add_test(t, the_first_of_equals_wins_and_nan_beats_all);
    tcase_add_test(t, an_index_outside_the_image_is_refused);
    tcase_add_loop_test(t, bf16_has_the_numbers_of_f32, 0, OP_COUNT(channels_of));
    tcase_add_test(t, other_dtypes_are_left_to_the_host);
    tcase_add_test(t, what_does_not_fit_is_refused_in_one_sentence);
    return tutti_run(s);
}
