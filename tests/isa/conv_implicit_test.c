/* conv_implicit_test.c - convolutions by implicit GEMM with every micro-kernel against sums in f64. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/gemm_microkernel.h"
#include "conv_sums.h"

/* Borders on every side and beyond the filter; strides that leave pixels of dx without a tap; dilations that share a
 * factor with the stride, and that do not; rows of patches longer than what is cut at a time, and than a part of K;
 * panels that lie in several taps. */
static const conv2d_geometry shapes[] = {
    {.b = 3, .h = 9, .w = 12, .c = 32, .o = 32, .kh = 3, .kw = 3, .ph = 1, .pw = 1},
    {.b = 2, .h = 7, .w = 6, .c = 5, .o = 7, .kh = 3, .kw = 3, .ph = 1, .pw = 1},
    {.b = 1, .h = 2, .w = 1, .c = 3, .o = 33, .kh = 3, .kw = 3, .ph = 2, .pw = 4},
    {.b = 2,
     .h = 21,
     .w = 20,
     .c = 3,
     .o = 24,
     .kh = 7,
     .kw = 7,
     .sh = 2,
     .sw = 2,
     .ph = 3,
     .pw = 3},
    {.b = 2,
     .h = 10,
     .w = 11,
     .c = 16,
     .o = 9,
     .kh = 2,
     .kw = 3,
     .sh = 3,
     .sw = 4,
     .ph = 0,
     .pw = 1},
    {.b = 2,
     .h = 9,
     .w = 7,
     .c = 6,
     .o = 17,
     .kh = 1,
     .kw = 1,
     .sh = 2,
     .sw = 3,
     .ph = 1,
     .pw = 2},
    {.b = 2,
     .h = 12,
     .w = 13,
     .c = 8,
     .o = 12,
     .kh = 5,
     .kw = 2,
     .sh = 2,
     .sw = 3,
     .ph = 4,
     .dh = 2},
    {.b = 1,
     .h = 14,
     .w = 15,
     .c = 4,
     .o = 6,
     .kh = 3,
     .kw = 4,
     .sh = 4,
     .sw = 2,
     .ph = 3,
     .pw = 2,
     .dh = 2,
     .dw = 3},
    {.b = 2,
     .h = 9,
     .w = 12,
     .c = 20,
     .o = 10,
     .kh = 3,
     .kw = 3,
     .ph = 3,
     .pw = 2,
     .dh = 3,
     .dw = 2},
    {.b = 1, .h = 5, .w = 6, .c = 190, .o = 150, .kh = 3, .kw = 3, .ph = 1, .pw = 1},
    {.b = 3,
     .h = 31,
     .w = 29,
     .c = 3,
     .o = 8,
     .kh = 3,
     .kw = 3,
     .sh = 1,
     .sw = 1,
     .ph = 1,
     .pw = 1}};
enum { SHAPES = sizeof shapes / sizeof *shapes, MICROKERNELS = 16 };

extern const gemm_microkernel gemm_microkernel_bfmmla_model;

/* Those for f32 (0) or for bf16 that can run here, and the model of bfmmla. */
static int microkernels(int32_t factor, const gemm_microkernel **ret)
{
    int n = 0;
    for (; gemm_microkernel_at(factor, n); n++)
        ret[n] = gemm_microkernel_at(factor, n);
    if (factor == TUTTI_BF16)
        ret[n++] = &gemm_microkernel_bfmmla_model;
    return n;
}

/* Operand k of `in` is what is made. */
static void run(int k, const conv2d_geometry *g, const conv2d_dtypes *t,
                const gemm_microkernel *u, const void *const *in, const float *bias,
                int32_t threads, void *out)
{
    conv2d_implicit *s = NULL;
    tutti_error err = TUTTI_ERROR_INIT;
    uint64_t bytes = 0;
    ck_assert_int_eq(conv2d_implicit_create(conv_kinds[k], g, t, threads, u, &s, &bytes, &err),
                     TUTTI_OK);
    void *scratch = conv_scratch(bytes);
    conv2d_implicit_run(s, in[k == 1 ? 2 : 0], in[k == 2 ? 2 : 1], bias, out, scratch);
    conv2d_implicit_destroy(s);
    free(scratch);
}

typedef struct sums {
    const double *want, *size;
} sums;

static void check(int k, const conv2d_geometry *g, const conv2d_dtypes *t,
                  const gemm_microkernel *u, const numbers *in, const float *bias, sums of)
{
    const int32_t dtypes[3] = {t->x, t->w, t->y};
    const int64_t n = conv_sizes(g).n[conv_made(k)], terms = conv_terms(k, g);
    const int half = dtypes[conv_made(k)] == TUTTI_BF16;
    const void *data[3];
    for (int i = 0; i < 3; i++)
        data[i] = t->factor ? numbers_as(&in[i], dtypes[i]) : in[i].rounded;
    for (int32_t threads = 1; threads <= 3; threads += 2) {
        void *out = malloc((size_t)n * 4);
        ck_assert_ptr_nonnull(out);
        memset(out, 0xFF, (size_t)n * 4);
        run(k, g, t, u, data, bias, threads, out);
        for (int64_t j = 0; j < n; j++) {
            const double got =
                half ? (double)number_of_bf16(((uint16_t *)out)[j]) : (double)((float *)out)[j];
            number_is_close(got, of.want[j],
                            bound_of(terms, of.size[j] + 1.0) +
                                (half ? fabs(of.want[j]) * 0x1p-8 : 0.0));
        }
        free(out);
    }
}

static void check_all(int k, const conv2d_geometry *g, const numbers *in, const float *bias)
{
    enum { DTYPES = 4 };
    static const conv2d_dtypes dtypes[DTYPES] = {
        {TUTTI_F32, TUTTI_F32, TUTTI_F32, 0},
        {TUTTI_BF16, TUTTI_F32, TUTTI_BF16, TUTTI_BF16},
        {TUTTI_F32, TUTTI_BF16, TUTTI_BF16, TUTTI_BF16},
        {TUTTI_BF16, TUTTI_BF16, TUTTI_F32, TUTTI_BF16}};
    double *want = conv_wanted(k, g, in, bias, 0), *size = conv_wanted(k, g, in, bias, 1);
    for (int d = 0; d < DTYPES; d++) {
        const gemm_microkernel *all[MICROKERNELS];
        const int n = microkernels(dtypes[d].factor, all);
        for (int u = 0; u < n; u++)
            check(k, g, &dtypes[d], all[u], in, bias, (sums){want, size});
    }
    free(want), free(size);
}

START_TEST(sums_are_those_of_the_rounded_factors)
{
    const conv2d_geometry g = conv_geometry(&shapes[_i]);
    const conv_size s = conv_sizes(&g);
    numbers in[3] = {numbers_make(s.n[0], 1), numbers_make(s.n[1], 4), numbers_make(s.n[2], 7)};
    numbers bias = numbers_make(g.o, 9);
    ck_assert(conv2d_implicit_fits(&g));
    for (int k = 0; k < CONV_KINDS; k++)
        check_all(k, &g, in, k == 0 && _i % 2 ? bias.f32 : NULL);
    for (int i = 0; i < 3; i++)
        numbers_free(&in[i]);
    numbers_free(&bias);
}
END_TEST

START_TEST(groups_are_left_to_others)
{
    conv2d_geometry g = conv_geometry(&shapes[0]);
    ck_assert(conv2d_implicit_fits(&g));
    g.g = 2;
    ck_assert(!conv2d_implicit_fits(&g));
}
END_TEST

int main(void)
{
    Suite *s = suite_create("conv_implicit");
    TCase *t = tcase_create("convolutions");
    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, sums_are_those_of_the_rounded_factors, 0, SHAPES);
    tcase_add_test(t, groups_are_left_to_others);
    suite_add_tcase(s, t);
    return tutti_run(s);
}
