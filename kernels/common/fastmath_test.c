/* fastmath_test.c - the vectorisable functions against libm's in f64, over all magnitudes. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/fastmath.h"
#include "common/half.h"
#include "tutti_check.h"

static float sigmoid_f32(float x)
{
    return fast_sigmoid(x);
}

static double sigmoid_f64(double x)
{
    return 1.0 / (1.0 + exp(-x));
}

static float exp_f32(float x)
{
    return fast_exp(x);
}

static float exp_down_f32(float x)
{
    return x > 0.0f ? 1.0f : fast_exp_down(x);
}

static double exp_down_f64(double x)
{
    return x > 0.0 ? 1.0 : exp(x);
}

static float log_f32(float x)
{
    return fast_log(x);
}

static float tanh_f32(float x)
{
    return fast_tanh(x);
}

static float erf_f32(float x)
{
    return fast_erf(x);
}

/* |got - want| in units of the last place of `want` as f32; subnormals share the smallest unit. */
static double ulps(float got, double want)
{
    const float nearest = (float)want;
    int exponent;
    if (isnan(want) || isinf(nearest))
        return isnan(want) == isnan(got) && (isnan(got) || got == nearest) ? 0.0 : INFINITY;
    (void)frexp(want, &exponent);
    return fabs((double)got - want) / ldexp(1.0, (exponent < -125 ? -125 : exponent) - 24);
}

static const struct {
    const char *name;
    float (*f32)(float);
    double (*f64)(double);
    double limit;
    double low; /* the limit holds from here on; below it, values under 1e-38 may be 0 */
} functions[] = {
    {"exp", exp_f32, exp, 1.1, -INFINITY},
    {"exp_down", exp_down_f32, exp_down_f64, 1.1, -87.33},
    {"log", log_f32, log, 0.9, -INFINITY},
    {"tanh", tanh_f32, tanh, 1.7, -INFINITY},
    {"erf", erf_f32, erf, 1.4, -INFINITY},
    {"sigmoid", sigmoid_f32, sigmoid_f64, 2.8, -87.0},
};

static double relative(double got, double want)
{
    return got == want ? 0.0 : fabs(got - want) / fabs(want);
}

START_TEST(those_in_f64_stay_within_what_the_header_says)
{
    double x = 1e-300;
    for (int k = 0; k < 50000; k++) {
        const double below = -689.0 + 0.01378 * k, near = 0.5 + 0.00003 * k;
        ck_assert_double_le(relative(fast_exp_down_f64(below), exp(below)), 3e-16);
        ck_assert_double_le(relative(fast_log_f64(x), log(x)), 4.5e-16);
        ck_assert_double_le(fabs(fast_log_f64(near) - log(near)),
                            4.5e-16 * fmax(fabs(log(near)), 0.01));
        x *= 1.028; /* to 1e300 */
    }
    ck_assert_double_gt(x, 1e298);
    ck_assert_double_lt(x, 1e306);
    ck_assert_double_eq(fast_exp_down_f64(0.0), 1.0);
    ck_assert_double_eq(fast_exp_down_f64(-1000.0), 0.0);
    ck_assert_double_eq(fast_exp_down_f64(-INFINITY), 0.0);
    ck_assert(isnan(fast_exp_down_f64(NAN)));
    ck_assert_double_eq(fast_log_f64(1.0), 0.0);
    ck_assert_double_eq(fast_log_f64(0.0), -INFINITY);
    ck_assert_double_eq(fast_log_f64(INFINITY), INFINITY);
    ck_assert(isnan(fast_log_f64(NAN)) && isnan(fast_log_f64(-1.0)));
}
END_TEST

START_TEST(errors_stay_within_what_the_header_says)
{
    double worst = 0.0;
    float at = 0.0f;
    for (uint64_t bits = 0; bits <= UINT32_MAX; bits += 1021) {
        const float x = fast_from_bits((uint32_t)bits), y = functions[_i].f32(x);
        const double want = functions[_i].f64((double)x);
        const double error = (double)x < functions[_i].low
                                 ? (fabs((double)y - want) < 1.2e-38 ? 0.0 : INFINITY)
                                 : ulps(y, want);
        if (error > worst) {
            worst = error;
            at = x;
        }
    }
    ck_assert_msg(worst <= functions[_i].limit, "%s is off by %g ulp at %.9g, want %g at most",
                  functions[_i].name, worst, (double)at, functions[_i].limit);
}
END_TEST

START_TEST(every_f16_and_bf16_survives_the_way_to_f32_and_back)
{
    for (uint32_t h = 0; h <= 0xFFFF; h++) {
        const float a = half_from_f16((uint16_t)h), b = half_from_bf16((uint16_t)h);
        ck_assert(isnan(a) ? isnan(half_from_f16(half_to_f16(a))) : half_to_f16(a) == h);
        ck_assert(isnan(b) ? isnan(half_from_bf16(half_to_bf16(b))) : half_to_bf16(b) == h);
    }
}
END_TEST

/* Between two neighbours: the nearer one, in the middle the even one. */
START_TEST(f16_rounds_to_the_nearest_and_ties_to_even)
{
    for (uint32_t h = 0; h < 0x7BFF; h++) {
        const float low = half_from_f16((uint16_t)h), high = half_from_f16((uint16_t)(h + 1));
        const float middle = 0.5f * (low + high);
        ck_assert_uint_eq(half_to_f16(middle), h % 2 ? h + 1 : h);
        ck_assert_uint_eq(half_to_f16(nextafterf(middle, INFINITY)), h + 1);
        ck_assert_uint_eq(half_to_f16(nextafterf(middle, 0.0f)), h);
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("fastmath");
    TCase *t = tcase_create("functions");
    tcase_set_timeout(t, 100);
    tcase_add_test(t, those_in_f64_stay_within_what_the_header_says);
    tcase_add_loop_test(t, errors_stay_within_what_the_header_says, 0,
                        (int)(sizeof functions / sizeof *functions));
    tcase_add_test(t, every_f16_and_bf16_survives_the_way_to_f32_and_back);
    tcase_add_test(t, f16_rounds_to_the_nearest_and_ties_to_even);
    suite_add_tcase(s, t);
    return tutti_run(s);
}
