/* conv_direct_test.c - convolutions by AMX's tile registers, or by the model of them, against sums in f64. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "conv2d/conv2d_algorithms.h"
#include "conv_sums.h"

/* One block and many; several images a block, and several blocks an image; whole panels and halves; every border;
 * strides, dilations and windows that are no squares. */
static const conv2d_geometry shapes[] = {
    {.b = 3, .h = 9, .w = 12, .c = 32, .o = 32, .kh = 3, .kw = 3, .ph = 1, .pw = 1},
    {.b = 2, .h = 7, .w = 7, .c = 96, .o = 48, .kh = 3, .kw = 3, .ph = 1, .pw = 1},
    {.b = 5, .h = 4, .w = 3, .c = 32, .o = 64, .kh = 3, .kw = 3, .ph = 0, .pw = 2},
    {.b = 1, .h = 1, .w = 2, .c = 32, .o = 32, .kh = 3, .kw = 3, .ph = 2, .pw = 1},
    {.b = 2, .h = 6, .w = 5, .c = 32, .o = 32, .kh = 3, .kw = 2, .ph = 3, .pw = 3},
    {.b = 17, .h = 23, .w = 13, .c = 64, .o = 32, .kh = 3, .kw = 3, .ph = 1, .pw = 1},
    {.b = 2, .h = 70, .w = 62, .c = 64, .o = 32, .kh = 3, .kw = 3, .ph = 1, .pw = 1},
    {.b = 2, .h = 9, .w = 11, .c = 32, .o = 64, .kh = 5, .kw = 3, .ph = 2, .pw = 0},
    {.b = 2,
     .h = 9,
     .w = 12,
     .c = 32,
     .o = 32,
     .kh = 3,
     .kw = 3,
     .ph = 3,
     .pw = 2,
     .dh = 3,
     .dw = 2},
    {.b = 3,
     .h = 9,
     .w = 12,
     .c = 32,
     .o = 48,
     .kh = 3,
     .kw = 3,
     .sh = 2,
     .sw = 2,
     .ph = 1,
     .pw = 1},
    {.b = 2,
     .h = 71,
     .w = 64,
     .c = 64,
     .o = 16,
     .kh = 3,
     .kw = 3,
     .sh = 2,
     .sw = 2,
     .ph = 1,
     .pw = 1},
    {.b = 2,
     .h = 12,
     .w = 9,
     .c = 32,
     .o = 16,
     .kh = 2,
     .kw = 4,
     .sh = 3,
     .sw = 2,
     .ph = 1,
     .pw = 2,
     .dw = 2},
    {.b = 3,
     .h = 9,
     .w = 12,
     .c = 48,
     .o = 32,
     .kh = 3,
     .kw = 3,
     .sh = 2,
     .sw = 2,
     .ph = 1,
     .pw = 1},
    {.b = 2,
     .h = 66,
     .w = 65,
     .c = 32,
     .o = 128,
     .kh = 3,
     .kw = 3,
     .sh = 2,
     .sw = 2,
     .ph = 1,
     .pw = 1},
    {.b = 2,
     .h = 12,
     .w = 13,
     .c = 32,
     .o = 64,
     .kh = 5,
     .kw = 2,
     .sh = 2,
     .sw = 3,
     .ph = 4,
     .pw = 0,
     .dh = 2},
    {.b = 2,
     .h = 7,
     .w = 9,
     .c = 32,
     .o = 32,
     .kh = 2,
     .kw = 3,
     .sh = 3,
     .sw = 4,
     .ph = 0,
     .pw = 1},
    {.b = 6, .h = 8, .w = 8, .c = 160, .o = 224, .kh = 3, .kw = 3, .ph = 1, .pw = 1},
    {.b = 4, .h = 8, .w = 8, .c = 16, .o = 48, .kh = 3, .kw = 3, .ph = 1, .pw = 1}};
enum { SHAPES = sizeof shapes / sizeof *shapes };

static int fits(int k, const conv2d_geometry *g)
{
    return k == 2 ? conv2d_wgrad_direct_fits(g) : conv2d_direct_fits(conv_kinds[k], g);
}

/* Operand k of `in` is what is made. */
static void run(int k, const conv2d_geometry *g, const conv2d_dtypes *t, const numbers *in,
                const float *bias, int32_t threads, void *out)
{
    const void *x = numbers_as(&in[0], t->x), *w = numbers_as(&in[1], t->w);
    const void *y = numbers_as(&in[2], t->y);
    tutti_error err = TUTTI_ERROR_INIT;
    uint64_t bytes = 0;
    if (k == 2) {
        conv2d_wgrad_direct *s = NULL;
        ck_assert_int_eq(conv2d_wgrad_direct_create(g, t, threads, &s, &bytes, &err), TUTTI_OK);
        void *scratch = conv_scratch(bytes);
        conv2d_wgrad_direct_run(s, x, y, out, scratch);
        conv2d_wgrad_direct_destroy(s);
        free(scratch);
        return;
    }
    conv2d_direct_state *s = NULL;
    ck_assert_int_eq(conv2d_direct_create(conv_kinds[k], g, t, threads, &s, &bytes, &err),
                     TUTTI_OK);
    void *scratch = conv_scratch(bytes);
    conv2d_direct_run(s, k ? y : x, w, bias, out, scratch);
    conv2d_direct_destroy(s);
    free(scratch);
}

/* With factors of F32 or BF16; results of 16 bits are rounded once more. */
static void check(int k, const conv2d_geometry *g, int32_t low, const numbers *in,
                  const float *bias, const double *want, const double *size)
{
    const conv2d_dtypes t = {low, TUTTI_F32, low, TUTTI_BF16};
    const int64_t n = conv_sizes(g).n[conv_made(k)];
    const int64_t terms = conv_terms(k, g);
    const int half = k < 2 && low == TUTTI_BF16;
    void *out = malloc((size_t)n * 4), *again = malloc((size_t)n * 4);
    ck_assert(out && again);
    memset(out, 0xFF, (size_t)n * 4);
    run(k, g, &t, in, bias, 1, out);
    run(k, g, &t, in, bias, 3, again);
    ck_assert_mem_eq(out, again, (size_t)n * (half ? 2 : 4));
    for (int64_t j = 0; j < n; j++) {
        const double got =
            half ? (double)number_of_bf16(((uint16_t *)out)[j]) : (double)((float *)out)[j];
        number_is_close(got, want[j],
                        bound_of(terms, size[j] + 1.0) + (half ? fabs(want[j]) * 0x1p-8 : 0.0));
    }
    free(out), free(again);
}

START_TEST(sums_are_those_of_the_rounded_factors)
{
    const conv2d_geometry g = conv_geometry(&shapes[_i]);
    const conv_size s = conv_sizes(&g);
    numbers in[3] = {numbers_make(s.n[0], 1), numbers_make(s.n[1], 4), numbers_make(s.n[2], 7)};
    numbers bias = numbers_make(g.o, 9);
    int tried = 0;
    for (int k = 0; k < CONV_KINDS; k++) {
        if (!fits(k, &g))
            continue;
        const float *with = k == 0 && _i % 2 ? bias.f32 : NULL;
        double *want = conv_wanted(k, &g, in, with, 0), *size = conv_wanted(k, &g, in, with, 1);
        check(k, &g, TUTTI_BF16, in, with, want, size);
        check(k, &g, TUTTI_F32, in, with, want, size);
        free(want), free(size);
        tried++;
    }
    ck_assert_int_eq(tried, 1 + (g.c % 32 == 0) + (g.o % 32 == 0));
    for (int i = 0; i < 3; i++)
        numbers_free(&in[i]);
    numbers_free(&bias);
}
END_TEST

/* Groups, channels that fill no line, single pixels. */
START_TEST(what_does_not_fit_is_left_to_others)
{
    conv2d_geometry g = conv_geometry(&shapes[0]), other = g;
    ck_assert(fits(0, &g) && fits(1, &g) && fits(2, &g));
    other.g = 2;
    ck_assert(!fits(0, &other) && !fits(1, &other) && !fits(2, &other));
    other = g;
    other.c = 24;
    ck_assert(!fits(0, &other) && !fits(1, &other) && !fits(2, &other));
    other = g;
    other.kh = other.kw = 1;
    ck_assert(!fits(0, &other) && !fits(1, &other) && !fits(2, &other));
}
END_TEST

int main(void)
{
    Suite *s = suite_create("conv_direct");
    TCase *t = tcase_create("convolutions");
    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, sums_are_those_of_the_rounded_factors, 0, SHAPES);
    tcase_add_test(t, what_does_not_fit_is_left_to_others);
    suite_add_tcase(s, t);
    return tutti_run(s);
}
