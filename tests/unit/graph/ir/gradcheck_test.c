/* gradcheck_test.c - op_check accepts a right operation and finds each way of being wrong. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "gradcheck_trial.h"
#include "graph/ir/attr.h"
#include "op_table.h"
#include "tutti/ops.h"
#include "tutti_check.h"

#include <math.h>
#include <string.h>

static tutti_status infer(const tutti_op_call *c, tutti_desc *out, tutti_error *err)
{
    out[0] = c->in[0];
    return TUTTI_OK;
}

/* y = x^3 / 3 */
static tutti_status reference(const tutti_op_call *c, const double *const *in,
                              double *const *out)
{
    for (int64_t k = 0; k < tutti_numel(&c->in[0]); k++)
        out[0][k] = in[0][k] * in[0][k] * in[0][k] / 3.0;
    return TUTTI_OK;
}

static tutti_status run(void *state, const tutti_op_call *c, const void *const *in,
                        void *const *out, void *scratch)
{
    const float *x = in[0];
    float *y = out[0];
    for (int64_t k = 0; k < tutti_numel(&c->in[0]); k++)
        y[k] = x[k] * x[k] * x[k] / 3.0f;
    return TUTTI_OK;
}

static tutti_status vjp(tutti_graph *g, const tutti_node *n, const tutti_value *dy,
                        tutti_value *dx)
{
    dx[0] = tutti_mul(g, dy[0], tutti_mul(g, n->in[0], n->in[0]));
    return TUTTI_OK;
}

static tutti_status wrong_vjp(tutti_graph *g, const tutti_node *n, const tutti_value *dy,
                              tutti_value *dx)
{
    dx[0] = tutti_mul(g, dy[0], n->in[0]);
    return TUTTI_OK;
}

static tutti_status wrong_run(void *state, const tutti_op_call *c, const void *const *in,
                              void *const *out, void *scratch)
{
    (void)run(state, c, in, out, scratch);
    ((float *)out[0])[4] += 0.5f;
    return TUTTI_OK;
}

static tutti_status lazy_run(void *state, const tutti_op_call *c, const void *const *in,
                             void *const *out, void *scratch)
{
    const float kept = ((float *)out[0])[2];
    (void)run(state, c, in, out, scratch);
    ((float *)out[0])[2] = kept;
    return TUTTI_OK;
}

static tutti_status wide_run(void *state, const tutti_op_call *c, const void *const *in,
                             void *const *out, void *scratch)
{
    (void)run(state, c, in, out, scratch);
    ((float *)out[0])[tutti_numel(&c->in[0])] = 0.0f;
    return TUTTI_OK;
}

static tutti_status greedy_run(void *state, const tutti_op_call *c, const void *const *in,
                               void *const *out, void *scratch)
{
    ((float *)(uintptr_t)in[0])[0] = 0.0f;
    return run(state, c, in, out, scratch);
}

/* Right only when out and in are different memory. */
static tutti_status twopass_run(void *state, const tutti_op_call *c, const void *const *in,
                                void *const *out, void *scratch)
{
    const float *x = in[0];
    float *y = out[0];
    const int64_t n = tutti_numel(&c->in[0]);
    for (int64_t k = 0; k < n; k++)
        y[k] = x[k] * x[k];
    for (int64_t k = 0; k < n; k++)
        y[k] *= x[k] / 3.0f;
    return TUTTI_OK;
}

/* Checks an op made of these parts. */
static tutti_status check(tutti_status (*run_)(void *, const tutti_op_call *,
                                               const void *const *, void *const *, void *),
                          tutti_status (*vjp_)(tutti_graph *, const tutti_node *,
                                               const tutti_value *, tutti_value *),
                          tutti_error *err)
{
    static const tutti_op *table[256];
    uint32_t n = 0;
    const tutti_kernel kernel = {sizeof kernel, 1, NULL, run_, NULL};
    const tutti_op op = {.struct_size = sizeof op,
                         .name = "cubic",
                         .nin_min = 1,
                         .nin_max = 1,
                         .nout = 1,
                         .infer = infer,
                         .vjp = vjp_,
                         .reference = reference,
                         .cpu = &kernel};
    for (; tutti_op_table[n]; n++)
        table[n] = tutti_op_table[n];
    table[n++] = &op;
    table[n] = NULL;
    const op_case c = {.op = "cubic", .nin = 1, .in = {op_desc(TUTTI_F32, 2, 3)}, .seed = 7};
    return op_check(table, &c, err);
}

START_TEST(a_right_operation_passes)
{
    tutti_error err = TUTTI_ERROR_INIT;
    ck_assert_ok(check(run, vjp, &err), err);
}
END_TEST

/* The numbers in the sentence depend on libm; what must stand there does not. */
static void expect(tutti_error err, tutti_status status, const char *start)
{
    ck_assert_int_eq(err.status, status);
    err.text[strlen(start) < sizeof err.text ? strlen(start) : 0] = '\0';
    ck_assert_str_eq(err.text, start);
}

START_TEST(a_wrong_kernel_is_found)
{
    tutti_error err = TUTTI_ERROR_INIT;
    ck_assert_int_ne(check(wrong_run, vjp, &err), TUTTI_OK);
    expect(err, TUTTI_E_NUMERIC,
           "cubic: kernel on 1 thread against reference, result 0: element (1, 1) is ");
}
END_TEST

START_TEST(an_element_left_unwritten_is_found)
{
    tutti_error err = TUTTI_ERROR_INIT;
    ck_assert_int_ne(check(lazy_run, vjp, &err), TUTTI_OK);
    expect(err, TUTTI_E_NUMERIC,
           "cubic: kernel on 1 thread against reference, result 0: element (0, 2) is ");
}
END_TEST

START_TEST(a_write_past_the_end_is_found)
{
    tutti_error err = TUTTI_ERROR_INIT;
    ck_assert_int_ne(check(wide_run, vjp, &err), TUTTI_OK);
    ck_assert_error(err, TUTTI_E_FAIL, "cubic: the kernel wrote past the end of result 0");
}
END_TEST

START_TEST(a_write_to_an_input_is_found)
{
    tutti_error err = TUTTI_ERROR_INIT;
    ck_assert_int_ne(check(greedy_run, vjp, &err), TUTTI_OK);
    ck_assert_error(err, TUTTI_E_FAIL, "cubic: the kernel wrote to input 0");
}
END_TEST

START_TEST(a_kernel_that_cannot_run_in_place_is_found)
{
    tutti_error err = TUTTI_ERROR_INIT;
    ck_assert_int_ne(check(twopass_run, vjp, &err), TUTTI_OK);
    expect(err, TUTTI_E_NUMERIC,
           "cubic: kernel in place of input 0 against reference, result 0: element (");
}
END_TEST

START_TEST(a_wrong_gradient_is_found)
{
    tutti_error err = TUTTI_ERROR_INIT;
    ck_assert_int_ne(check(run, wrong_vjp, &err), TUTTI_OK);
    expect(err, TUTTI_E_NUMERIC, "cubic: gradient of input 0 against differences: element (");
}
END_TEST

START_TEST(a_missing_gradient_is_found)
{
    tutti_error err = TUTTI_ERROR_INIT;
    ck_assert_int_ne(check(run, NULL, &err), TUTTI_OK);
    ck_assert_error(err, TUTTI_E_UNSUPPORTED,
                    "cubic: it has no gradient, but the case asks for one");
}
END_TEST

static const tutti_op *find_op(const char *name)
{
    uint32_t k = 0;
    while (strcmp(tutti_op_table[k]->name, name) != 0)
        k++;
    return tutti_op_table[k];
}

enum { M = 131, K = 97, N = 75 };
static const op_case product = {
    .op = "matmul", .nin = 2, .in = {{{M, K}, 2, TUTTI_F32}, {{K, N}, 2, TUTTI_F32}}};

/* What a product may be off by, with the attribute `fast`, its factors of `dtype`. */
static double tolerance(bool on_cuda, int64_t fast, int32_t dtype)
{
    static const tutti_cuda_v1 cuda = {.struct_size = sizeof cuda};
    const tutti_op *op = find_op("matmul");
    const tutti_attr attr = {"fast", TUTTI_ATTR_I64, 0, fast, 0, NULL, NULL};
    const tutti_desc in[2] = {{{M, K}, 2, dtype}, {{K, N}, 2, dtype}};
    int64_t blob[16];
    tutti_error err = TUTTI_ERROR_INIT;
    ck_assert_uint_le(op->attr_size, sizeof blob);
    ck_assert_ok(attr_decode(op, &attr, 1, blob, &err), err);
    const tutti_op_call call = {.struct_size = sizeof call,
                                .nin = 2,
                                .nout = 1,
                                .in = in,
                                .attr = blob,
                                .cuda = on_cuda ? &cuda : NULL};
    return check_device_tolerance(&product, op, &call, TUTTI_F32);
}

static double factor(uint32_t input, int64_t k)
{
    return (double)(float)check_draw(&product, input, TUTTI_F32, k);
}

/* With `bits` explicit bits of mantissa; the others are cut off or rounded. */
static double shortened(double x, int bits, bool cut)
{
    int e;
    const double m = ldexp(frexp(x, &e), bits + 1);
    return ldexp(cut ? trunc(m) : nearbyint(m), e - bits - 1);
}

/* The largest error of a product of such factors, as a part of the largest result. */
static double error_of(int bits, bool cut)
{
    double worst = 0.0, most = 0.0;
    for (int i = 0; i < M; i++) {
        for (int j = 0; j < N; j++) {
            double exact = 0.0, sum = 0.0;
            for (int k = 0; k < K; k++) {
                const double a = factor(0, i * K + k), b = factor(1, k * N + j);
                exact += a * b;
                sum += shortened(a, bits, cut) * shortened(b, bits, cut);
            }
            worst = fmax(worst, fabs(sum - exact));
            most = fmax(most, fabs(exact));
        }
    }
    return worst / most;
}

START_TEST(a_gpu_may_round_factors_to_tf32_where_a_case_says_fast)
{
    ck_assert_double_lt(error_of(10, false), tolerance(true, 1, TUTTI_F32));
    ck_assert_double_lt(error_of(10, true), tolerance(true, 1, TUTTI_F32));
    ck_assert_double_gt(error_of(7, false), tolerance(true, 1, TUTTI_F32));
}
END_TEST

START_TEST(nothing_else_may_round_them)
{
    ck_assert_double_gt(error_of(10, true), tolerance(true, 0, TUTTI_F32));
    ck_assert_double_eq(tolerance(false, 1, TUTTI_F32), tolerance(true, 0, TUTTI_F32));
    ck_assert_double_eq(tolerance(true, 1, TUTTI_BF16), tolerance(true, 0, TUTTI_BF16));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("gradcheck");
    TCase *all = tcase_create("all");
    tcase_add_test(all, a_right_operation_passes);
    tcase_add_test(all, a_wrong_kernel_is_found);
    tcase_add_test(all, an_element_left_unwritten_is_found);
    tcase_add_test(all, a_write_past_the_end_is_found);
    tcase_add_test(all, a_write_to_an_input_is_found);
    tcase_add_test(all, a_kernel_that_cannot_run_in_place_is_found);
    tcase_add_test(all, a_wrong_gradient_is_found);
    tcase_add_test(all, a_missing_gradient_is_found);
    tcase_add_test(all, a_gpu_may_round_factors_to_tf32_where_a_case_says_fast);
    tcase_add_test(all, nothing_else_may_round_them);
    suite_add_tcase(suite, all);
    return tutti_run(suite);
}
