/* conv_winograd_test.c - our convolutions in bf16, by Winograd and by pairs of pixels: exact where nothing is rounded. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "conv2d/conv2d_algorithms.h"
#include "numbers.h"

#include <stdbool.h>
#include <stdio.h>

/* Odd and even sizes, every padding, one block and several, for as many threads and for fewer, that threads share and that
 * have sums of their own, one row of many tiles, columns with and without a half panel. */
static const conv2d_geometry shapes[] = {
    {.b = 3, .h = 9, .w = 12, .c = 16, .o = 16, .ph = 1, .pw = 1},
    {.b = 2, .h = 7, .w = 7, .c = 48, .o = 32, .ph = 1, .pw = 1},
    {.b = 5, .h = 4, .w = 3, .c = 32, .o = 80, .ph = 0, .pw = 2},
    {.b = 1, .h = 3, .w = 3, .c = 16, .o = 48, .ph = 0, .pw = 0},
    {.b = 1, .h = 1, .w = 2, .c = 32, .o = 16, .ph = 2, .pw = 1},
    {.b = 4, .h = 23, .w = 13, .c = 64, .o = 16, .ph = 1, .pw = 1},
    {.b = 2, .h = 14, .w = 30, .c = 16, .o = 96, .ph = 2, .pw = 2},
    {.b = 16, .h = 7, .w = 7, .c = 32, .o = 144, .ph = 1, .pw = 1},
    {.b = 2, .h = 28, .w = 28, .c = 16, .o = 240, .ph = 1, .pw = 1},
    {.b = 1, .h = 2, .w = 6144, .c = 16, .o = 16, .ph = 1, .pw = 1},
    {.b = 4, .h = 56, .w = 57, .c = 16, .o = 16, .ph = 1, .pw = 1}};
enum { SHAPES = sizeof shapes / sizeof *shapes, KINDS = 3 };

static const int kinds[KINDS] = {DNN_CONV, DNN_CONV_GRAD_INPUT, DNN_CONV_GRAD_WEIGHT};
static const tutti_op *const ops[KINDS] = {&tutti_op_conv2d, &tutti_op_conv2d_grad_input,
                                           &tutti_op_conv2d_grad_weight};

/* One operation: x, w, y, and which of them are its inputs. */
typedef struct call {
    conv2d_geometry g;
    conv2d_attr attr;
    tutti_desc in[3], out;
    uint32_t nin;
    int32_t kind;
} call;

static call call_of(const conv2d_geometry *shape, int k, int half)
{
    conv2d_geometry g = *shape;
    g.kh = g.kw = 3;
    g.sh = g.sw = g.dh = g.dw = g.g = 1;
    g.oh = g.h + 2 * g.ph - 2;
    g.ow = g.w + 2 * g.pw - 2;
    const int32_t low = half ? TUTTI_BF16 : TUTTI_F32;
    const tutti_desc x = {{g.b, g.h, g.w, g.c}, 4, low}, w = {{g.o, 3, 3, g.c}, 4, TUTTI_F32};
    const tutti_desc y = {{g.b, g.oh, g.ow, g.o}, 4, low}, bias = {{g.o}, 1, TUTTI_F32};
    call c = {.g = g,
              .attr = {.stride = {2, {1, 1}}, .padding = {2, {g.ph, g.pw}}, .groups = 1},
              .in = {k == 1 ? y : x, k == 2 ? y : w, bias},
              .out = k == 0   ? y
                     : k == 1 ? x
                              : w,
              .nin = k == 0 ? 3 : 2,
              .kind = kinds[k]};
    if (k == 1)
        c.attr.shape = (tutti_list){4, {g.b, g.h, g.w, g.c}};
    if (k == 2)
        c.attr.shape = (tutti_list){2, {3, 3}};
    return c;
}

static void run_pairs(const call *c, const conv2d_dtypes *t, const numbers *in, int32_t threads,
                      float *ret_dw)
{
    conv2d_wgrad_pairs *s = NULL;
    uint64_t bytes = 0;
    tutti_error err = TUTTI_ERROR_INIT;
    ck_assert(conv2d_wgrad_pairs_fit(&c->g));
    ck_assert_int_eq(conv2d_wgrad_pairs_create(&c->g, t, threads, &s, &bytes, &err), TUTTI_OK);
    void *scratch = aligned_alloc(64, (bytes + 63) / 64 * 64);
    ck_assert_ptr_nonnull(scratch);
    memset(scratch, 0xFF, bytes);
    conv2d_wgrad_pairs_run(s, numbers_as(&in[0], c->in[0].dtype),
                           numbers_as(&in[1], c->in[1].dtype), ret_dw, scratch);
    conv2d_wgrad_pairs_destroy(s);
    free(scratch);
}

/* By `threads`, the gradient of weights with `pairs` as sums over taps; scratch memory has NaNs first. */
static void run(const call *c, const numbers *in, int32_t threads, int pairs, void *ret_out)
{
    const conv2d_dtypes t = {.x =
                                 c->kind == DNN_CONV_GRAD_INPUT ? c->out.dtype : c->in[0].dtype,
                             .w = TUTTI_F32,
                             .y = c->kind == DNN_CONV              ? c->out.dtype
                                  : c->kind == DNN_CONV_GRAD_INPUT ? c->in[0].dtype
                                                                   : c->in[1].dtype,
                             .factor = TUTTI_BF16};
    conv2d_winograd_state *s = NULL;
    uint64_t bytes = 0;
    tutti_error err = TUTTI_ERROR_INIT;
    if (pairs) {
        run_pairs(c, &t, in, threads, ret_out);
        return;
    }
    ck_assert(conv2d_winograd_fits(&c->g));
    ck_assert_int_eq(conv2d_winograd_create(c->kind, &c->g, &t, threads, &s, &bytes, &err),
                     TUTTI_OK);
    void *scratch = aligned_alloc(64, (bytes + 63) / 64 * 64);
    ck_assert_ptr_nonnull(scratch);
    memset(scratch, 0xFF, bytes);
    conv2d_winograd_run(s, numbers_as(&in[0], c->in[0].dtype),
                        numbers_as(&in[1], c->in[1].dtype), c->nin > 2 ? in[2].f32 : NULL,
                        ret_out, scratch);
    conv2d_winograd_destroy(s);
    free(scratch);
}

/* By the definition, in f64. */
static double *wanted(const call *c, const numbers *in)
{
    double *wide[3] = {0}, *y = malloc((size_t)tutti_numel(&c->out) * sizeof *y);
    const int k = c->kind == DNN_CONV ? 0 : c->kind == DNN_CONV_GRAD_INPUT ? 1 : 2;
    const tutti_op_call o = {.struct_size = sizeof o,
                             .nin = c->nin,
                             .nout = 1,
                             .threads = 1,
                             .in = c->in,
                             .out = &c->out,
                             .attr = &c->attr};
    ck_assert_ptr_nonnull(y);
    for (uint32_t i = 0; i < c->nin; i++) {
        const int64_t n = tutti_numel(&c->in[i]);
        wide[i] = malloc((size_t)n * sizeof(double));
        ck_assert_ptr_nonnull(wide[i]);
        for (int64_t j = 0; j < n; j++)
            wide[i][j] = (double)(c->in[i].dtype == TUTTI_BF16 ? in[i].rounded : in[i].f32)[j];
    }
    ck_assert_int_eq(ops[k]->reference(&o, (const double *const *)wide, &y), TUTTI_OK);
    for (int i = 0; i < 3; i++)
        free(wide[i]);
    return y;
}

static double number_at(const call *c, const void *out, int64_t j)
{
    return c->out.dtype == TUTTI_BF16 ? (double)number_of_bf16(((const uint16_t *)out)[j])
                                      : (double)((const float *)out)[j];
}

/* Whole numbers up to `most`, times `unit`. */
static void make_whole(numbers *x, int64_t n, float most, float unit)
{
    for (int64_t j = 0; j < n; j++) {
        x->f32[j] = truncf(x->f32[j] * (most + 1.0f)) * unit;
        x->half[j] = tutti_to_bf16(x->f32[j]);
        x->rounded[j] = number_of_bf16(x->half[j]);
    }
}

static void numbers_of(const call *c, int whole, numbers *ret)
{
    for (uint32_t i = 0; i < 3; i++) {
        const int64_t n = i < c->nin ? tutti_numel(&c->in[i]) : 1;
        ret[i] = numbers_make(n, 3 * i + 1);
        if (whole && i == 1 && c->kind != DNN_CONV_GRAD_WEIGHT)
            make_whole(&ret[i], n, 3.0f, 4.0f); /* the halves of filters are whole, too */
        else if (whole)
            make_whole(&ret[i], n, 7.0f, 1.0f);
    }
}

/* All transformed numbers are whole and below 256, and all sums below 2^24: nothing but y is rounded. */
START_TEST(whole_numbers_are_exact)
{
    for (int variant = 0; variant < 2 * KINDS + 2; variant++) { /* the last two by pairs */
        const int pairs = variant / 2 == KINDS;
        const call c = call_of(&shapes[_i], variant / 2 - pairs, variant % 2);
        const int64_t n = tutti_numel(&c.out);
        const size_t bytes = (size_t)tutti_nbytes(&c.out);
        numbers in[3];
        numbers_of(&c, 1, in);
        double *want = wanted(&c, in);
        void *y = malloc(bytes);
        for (int32_t threads = 1; threads < 4; threads += 2) {
            memset(y, 0xFF, bytes);
            run(&c, in, threads, pairs, y);
            for (int64_t j = 0; j < n; j++) {
                const double exact = c.out.dtype == TUTTI_BF16
                                         ? (double)number_of_bf16(tutti_to_bf16((float)want[j]))
                                         : want[j];
                number_is_close(number_at(&c, y, j), exact, 0.0);
            }
        }
        free(want), free(y);
        for (int i = 0; i < 3; i++)
            numbers_free(&in[i]);
    }
}
END_TEST

/* Few channels and many rows of many tiles: threads have sums of their own, so that their number counts. */
static bool has_own_sums(const call *c)
{
    return c->kind == DNN_CONV_GRAD_WEIGHT && c->g.oh > 2 && c->g.b * c->g.oh * c->g.ow > 10000;
}

/* Rounding transformed factors to 8 bits: each is off by 2^-8 / sqrt(3) / 1.44 of itself in the mean square, and the
 * transforms make 5 / 3 of errors a dimension: 0.0038 of the results' mean square, whatever K is. */
START_TEST(other_numbers_are_close)
{
    for (int variant = 0; variant < 2 * KINDS; variant++) {
        const call c = call_of(&shapes[_i], variant / 2, variant % 2);
        const int64_t n = tutti_numel(&c.out);
        const size_t bytes = (size_t)tutti_nbytes(&c.out);
        double size = 0.0, error = 0.0, worst = 0.0;
        numbers in[3];
        numbers_of(&c, 0, in);
        double *want = wanted(&c, in);
        void *y = malloc(bytes), *again = malloc(bytes);
        run(&c, in, 1, 0, y);
        run(&c, in, 3, 0, again);
        ck_assert_int_eq(memcmp(y, again, bytes) != 0, has_own_sums(&c));
        run(&c, in, 3, 0, y);
        ck_assert_mem_eq(y, again, bytes);
        for (int64_t j = 0; j < n; j++) {
            const double off = fabs(number_at(&c, y, j) - want[j]);
            size += want[j] * want[j];
            error += off * off;
            worst = fmax(worst, off);
        }
        ck_assert_double_le(sqrt(error / size), 0.005);
        ck_assert_double_le(worst, 0.05 * sqrt(size / (double)n));
        free(want), free(y), free(again);
        for (int i = 0; i < 3; i++)
            numbers_free(&in[i]);
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("conv_winograd");
    TCase *t = tcase_create("convolutions");
    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, whole_numbers_are_exact, 0, SHAPES);
    tcase_add_loop_test(t, other_numbers_are_close, 0, SHAPES);
    suite_add_tcase(s, t);
    return tutti_run(s);
}
