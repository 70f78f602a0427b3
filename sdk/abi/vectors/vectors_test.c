/* vectors_test.c - the numbers that rng.h, half.h and float8.h promise, against published and recorded values. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "tutti/float8.h"
#include "tutti/half.h"
#include "tutti/rng.h"
#include "tutti/tensor.h"
#include "tutti_check.h"

#include <math.h>
#include <string.h>

/* Known answers of Philox4x32-10, as its authors publish them. */
static const struct {
    uint32_t counter[4], key[2], want[4];
} philox[] = {
    {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
    {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
     {0xffffffff, 0xffffffff},
     {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
    {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
     {0xa4093822, 0x299f31d0},
     {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
};

START_TEST(philox_gives_the_published_words)
{
    const uint32_t *c = philox[_i].counter, *k = philox[_i].key;
    const tutti_rng4 got = tutti_philox(c[0], c[1], c[2], c[3], k[0], k[1]);
    for (int w = 0; w < 4; w++)
        ck_assert_uint_eq(got.v[w], philox[_i].want[w]);
}
END_TEST

START_TEST(keys_and_streams_give_the_recorded_words)
{
    static const uint32_t want[] = {0x1c0efdd7, 0xbe9b7200, 0xb0c016a8,
                                    0x4bc92a42, 0x04350402, 0x90d7fa83};
    const tutti_rng4 r = tutti_rng(0x0123456789abcdefu, 3, 1234567890123u, 42);
    ck_assert_uint_eq(r.v[0], 0x33e0bd20);
    ck_assert_uint_eq(r.v[1], 0x6b526425);
    ck_assert_uint_eq(r.v[2], 0x65d8c501);
    ck_assert_uint_eq(r.v[3], 0x24ca24db);
    tutti_stream s = tutti_stream_at(7, TUTTI_RNG_PLUGIN, 5, 9);
    for (int k = 0; k < 6; k++)
        ck_assert_uint_eq(tutti_stream_u32(&s), want[k]);
    s = tutti_stream_at(7, TUTTI_RNG_PLUGIN, 5, 9);
    ck_assert_double_eq(tutti_stream_uniform(&s), 0.10960375325394778);
    ck_assert_uint_eq(tutti_stream_below(&s, 10), 6);
    ck_assert_uint_eq(tutti_stream_below(&s, 1000000007), 296038287);
    ck_assert_uint_eq(tutti_stream_below(&s, 3), 0);
}
END_TEST

START_TEST(uniform_numbers_stay_below_one)
{
    ck_assert(tutti_uniform_f32(0) == 0.0f);
    ck_assert(tutti_uniform_f32(0x100) == 0x1p-24f);
    ck_assert(tutti_uniform_f32(0xffffffff) == 1.0f - 0x1p-24f);
    ck_assert(tutti_uniform_f64(0xffffffff, 0xffffffff) == 1.0 - 0x1p-53);
}
END_TEST

/* log, sin and cos are the C library's, which may differ in the last bit. */
START_TEST(normal_numbers_are_box_mullers)
{
    double a, b;
    tutti_normal_f64(tutti_rng(0x0123456789abcdefu, 3, 1234567890123u, 42), &a, &b);
    ck_assert_close(a, -0.53904046456963983, 1e-15);
    ck_assert_close(b, 0.40293106034630072, 1e-15);
}
END_TEST

/* 64-bit FNV-1a: the basis and known answers that RFC 9923 publishes, and a name of ours. */
static const struct {
    const char *text;
    uint64_t want;
} hashes[] = {
    {"", 0xcbf29ce484222325u},
    {"a", 0xaf63dc4c8601ec8cu},
    {"foobar", 0x85944171f73967e8u},
    {"layer1.conv.weight", 0xd55629e3a1bb5cabu},
};

START_TEST(names_have_the_published_hashes)
{
    ck_assert_uint_eq(tutti_hash(hashes[_i].text), hashes[_i].want);
}
END_TEST

/* f32 bits, their BF16, their F16: IEEE 754's round to nearest, ties to even. */
static const struct {
    uint32_t bits;
    uint16_t bf16, f16;
} halves[] = {
    {0x00000000, 0x0000, 0x0000}, /* 0 */
    {0x80000000, 0x8000, 0x8000}, /* -0 */
    {0x3f800000, 0x3f80, 0x3c00}, /* 1 */
    {0xc0000000, 0xc000, 0xc000}, /* -2 */
    {0x3f808000, 0x3f80, 0x3c04}, /* a tie of BF16 that goes down to even */
    {0x3f818000, 0x3f82, 0x3c0c}, /* and one that goes up */
    {0x3f801000, 0x3f80, 0x3c00}, /* a tie of F16 that goes down to even */
    {0x3f803000, 0x3f80, 0x3c02}, /* and one that goes up */
    {0x477fe000, 0x4780, 0x7bff}, /* 65504, F16's largest */
    {0x477fefff, 0x4780, 0x7bff}, /* just below 65520 */
    {0x477ff000, 0x4780, 0x7c00}, /* 65520: infinity in F16 */
    {0x38800000, 0x3880, 0x0400}, /* 2^-14, F16's smallest normal number */
    {0x33800000, 0x3380, 0x0001}, /* 2^-24, its smallest */
    {0x33000000, 0x3300, 0x0000}, /* 2^-25: a tie with 0 */
    {0x33000001, 0x3300, 0x0001}, /* just above */
    {0x7f7fffff, 0x7f80, 0x7c00}, /* f32's largest */
    {0x7f800000, 0x7f80, 0x7c00}, /* infinity */
    {0xff800000, 0xff80, 0xfc00}, {0x7fc00000, 0x7fc0, 0x7e00}, /* NaN */
};

START_TEST(halves_are_rounded_to_nearest_even)
{
    float x;
    memcpy(&x, &halves[_i].bits, sizeof x);
    ck_assert_uint_eq(tutti_to_half(x, TUTTI_BF16), halves[_i].bf16);
    ck_assert_uint_eq(tutti_to_half(x, TUTTI_F16), halves[_i].f16);
}
END_TEST

START_TEST(a_description_of_an_unknown_dtype_is_refused)
{
    tutti_error err = TUTTI_ERROR_INIT;
    tutti_desc d = {{2, 3}, 2, TUTTI_F32};
    ck_assert_int_eq(tutti_desc_check(&d, 0, &err), TUTTI_OK);
    d.dtype = 99;
    ck_assert_int_eq(tutti_desc_check(&d, 0, &err), TUTTI_E_ARG);
    ck_assert_error(err, TUTTI_E_ARG, "dtype 99 is none of this ABI");
    err.status = TUTTI_OK;
    d = (tutti_desc){{2, -1}, 2, TUTTI_F32};
    ck_assert_int_eq(tutti_desc_check(&d, -1, NULL), TUTTI_OK);
    ck_assert_int_eq(tutti_desc_check(&d, 0, &err), TUTTI_E_SHAPE);
    ck_assert_error(err, TUTTI_E_SHAPE, "dimension 1 is -1, want at least 0");
    err.status = TUTTI_OK;
    d.rank = 7;
    ck_assert_int_eq(tutti_desc_check(&d, 0, &err), TUTTI_E_ARG);
    ck_assert_error(err, TUTTI_E_ARG, "rank 7, want 0 to 6");
    err.status = TUTTI_OK;
    d = (tutti_desc){{INT64_MAX / 4, 1}, 2, TUTTI_F32};
    ck_assert_int_eq(tutti_desc_check(&d, 0, &err), TUTTI_OK);
    d.dim[1] = 2;
    ck_assert_int_eq(tutti_desc_check(&d, 0, &err), TUTTI_E_RANGE);
    ck_assert_error(err, TUTTI_E_RANGE, "more than 2^63 bytes");
    d.dim[0] = 0;
    ck_assert_int_eq(tutti_desc_check(&d, 0, NULL), TUTTI_OK);
}
END_TEST

START_TEST(nothing_has_room_for_a_number_of_unknown_size)
{
    tutti_desc d = {{2, 3}, 2, TUTTI_F32};
    ck_assert_uint_eq(tutti_nbytes(&d), 24);
    d.dtype = 99;
    ck_assert_uint_eq(tutti_nbytes(&d), UINT64_MAX);
    d.dtype = TUTTI_DTYPE_NONE;
    ck_assert_uint_eq(tutti_nbytes(&d), 0);
}
END_TEST

/* ---- 8-bit floats, against their definition ---- */

static const struct {
    int32_t dtype;
    int fraction, bias; /* bits of the fraction; of the exponent */
    double most;        /* the largest */
    int has_infinity;
} f8_formats[] = {
    {TUTTI_F8_E4M3, 3, 7, 448.0, 0},
    {TUTTI_F8_E5M2, 2, 15, 57344.0, 1},
};

/* A byte without its sign, in f64: infinity above `most` where there is one, NaN for the rest. */
static double f8_value(int f, uint32_t b)
{
    const int fraction = f8_formats[f].fraction, bias = f8_formats[f].bias;
    const int exponent = (int)(b >> fraction), low = (int)(b & ((1u << fraction) - 1u));
    const double value = exponent ? ldexp(1.0 + ldexp(low, -fraction), exponent - bias)
                                  : ldexp(low, 1 - bias - fraction);
    if (value <= f8_formats[f].most)
        return value;
    return f8_formats[f].has_infinity && low == 0 ? (double)INFINITY : (double)NAN;
}

/* The nearest byte of |x|, ties to even; beyond the largest infinity, if there is one, as if numbers went on. */
static uint32_t f8_nearest(int f, double x)
{
    const uint32_t last = f8_formats[f].has_infinity ? 0x7Bu : 0x7Eu;
    const double most = f8_value(f, last), step = most - f8_value(f, last - 1);
    if (x != x)
        return 0x7Fu;
    if (x >= most + step / 2.0)
        return f8_formats[f].has_infinity ? 0x7Cu : last;
    uint32_t best = 0;
    for (uint32_t b = 1; b <= last; b++) {
        const double nearer = fabs(f8_value(f, best) - x) - fabs(f8_value(f, b) - x);
        best = nearer > 0.0 || (nearer == 0.0 && b % 2 == 0) ? b : best;
    }
    return best;
}

START_TEST(bytes_are_the_numbers_of_their_format)
{
    const int32_t dtype = f8_formats[_i].dtype;
    for (uint32_t b = 0; b < 256; b++) {
        const double want = f8_value(_i, b & 0x7Fu);
        const float got = tutti_from_f8((uint8_t)b, dtype);
        if (isnan(want))
            ck_assert(isnan(got));
        else
            ck_assert_double_eq((double)got, b & 0x80u ? -want : want);
        ck_assert_int_eq(signbit(got) != 0, b >> 7);
        if (!isnan(want))
            ck_assert_uint_eq(tutti_to_f8(got, dtype), b);
    }
}
END_TEST

static void f8_try(int f, float x)
{
    const uint32_t want = f8_nearest(f, fabs((double)x)) | (signbit(x) ? 0x80u : 0u);
    const uint32_t got = tutti_to_f8(x, f8_formats[f].dtype);
    ck_assert_msg(got == want, "%a is %02x, want %02x", (double)x, got, want);
}

/* Each number, each middle between two, what lies beside them, and any other bits. */
START_TEST(numbers_go_to_the_nearest_byte)
{
    for (uint32_t b = 0; b < 0x7F; b++) {
        const double here = f8_value(_i, b), next = f8_value(_i, b + 1);
        const double middle = (here + next) / 2.0;
        const float at[] = {(float)here, isfinite(middle) ? (float)middle : 0.0f};
        for (int k = 0; k < 2 && isfinite(here); k++)
            for (int sign = -1; sign <= 1; sign += 2) {
                f8_try(_i, (float)sign * at[k]);
                f8_try(_i, (float)sign * nextafterf(at[k], INFINITY));
                f8_try(_i, (float)sign * nextafterf(at[k], 0.0f));
            }
    }
    const float edges[] = {464.0f,   479.0f, 480.0f,   61439.99f, 61440.0f,
                           65536.0f, 3e38f,  1e-40f,   INFINITY,  -INFINITY,
                           NAN,      -0.0f,  0x1p-10f, 0x1p-17f};
    for (size_t k = 0; k < sizeof edges / sizeof *edges; k++)
        f8_try(_i, edges[k]);
    for (uint32_t k = 0; k < 20000; k++) {
        const uint32_t bits = tutti_rng(11, TUTTI_RNG_PLUGIN, 0, k).v[0];
        float x;
        memcpy(&x, &bits, sizeof x);
        f8_try(_i, x);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("vectors");
    TCase *t = tcase_create("vectors");
    tcase_add_loop_test(t, philox_gives_the_published_words, 0, sizeof philox / sizeof *philox);
    tcase_add_test(t, keys_and_streams_give_the_recorded_words);
    tcase_add_test(t, uniform_numbers_stay_below_one);
    tcase_add_test(t, normal_numbers_are_box_mullers);
    tcase_add_loop_test(t, names_have_the_published_hashes, 0, sizeof hashes / sizeof *hashes);
    tcase_add_loop_test(t, halves_are_rounded_to_nearest_even, 0,
                        sizeof halves / sizeof *halves);
    tcase_add_loop_test(t, bytes_are_the_numbers_of_their_format, 0, 2);
    tcase_add_loop_test(t, numbers_go_to_the_nearest_byte, 0, 2);
    tcase_add_test(t, a_description_of_an_unknown_dtype_is_refused);
    tcase_add_test(t, nothing_has_room_for_a_number_of_unknown_size);
    suite_add_tcase(suite, t);
    return tutti_run(suite);
}
