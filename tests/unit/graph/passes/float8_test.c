/* float8_test.c - products of 8-bit floats: read exactly in a wider dtype, differentiated through their rounding. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/ir/precision.h"
#include "op_table.h"
#include "toy_model.h"
#include "tutti/float8.h"

#include <math.h>

enum { BATCH = 6, INNER = 96, COLUMNS = 40 };

static const int32_t formats[] = {TUTTI_F8_E4M3, TUTTI_F8_E5M2};
static const int precisions[] = {NET_FP32, NET_AMP_BF16, NET_AMP_FP16};

/* Input and weight of the test under way: 0: as they are. */
static int32_t x_format, w_format;

static tutti_value rounded(tutti_graph *g, tutti_value v, int32_t format)
{
    const tutti_attr dtype = tutti_attr_i("dtype", format);
    return format ? g->emit(g, "cast", &v, 1, &dtype, 1, NULL, 0) : v;
}

static tutti_value product_trace(tutti_graph *g, tutti_module m, const tutti_value *x)
{
    const tutti_value w = rounded(g, g->weight(g, m, "w"), w_format);
    return tutti_matmul(g, rounded(g, x[0], x_format), w, 0, 0, 0);
}

/* Its gradient is the target. */
static tutti_value weighed(tutti_graph *g, tutti_value y, tutti_value target)
{
    const int64_t columns = 1;
    return tutti_reduce(g, "sum", tutti_mul(g, y, target), &columns, 1, 0);
}

static const toy_weight weights[] = {
    {"w",
     {{INNER, COLUMNS}, 2, TUTTI_F32},
     {.kind = TUTTI_INIT_NORMAL, .b = 0.5},
     TUTTI_WEIGHT_TRAINABLE},
    {NULL, {{0}, 0, TUTTI_F32}, {.kind = TUTTI_INIT_CONSTANT}, 0}};

static void round_all(float *x, int64_t n, int32_t format)
{
    for (int64_t k = 0; k < n; k++)
        x[k] = tutti_from_f8(tutti_to_f8(x[k], format), format);
}

typedef struct numbers {
    net *n;
    tutti_tensor x, target, y, loss;
    float *dw;
} numbers;

/* `by_hand`: the numbers are rounded before the run and no cast is in the graph. */
static numbers trained(toy_model *model, int precision, int32_t xf, int32_t wf, bool by_hand)
{
    const tutti_desc d = {{BATCH, INNER}, 2, TUTTI_F32}, t = {{BATCH, COLUMNS}, 2, TUTTI_F32};
    numbers r;
    float *w;
    int64_t count;
    x_format = by_hand ? 0 : xf;
    w_format = by_hand ? 0 : wf;
    r.n = toy_net(tutti_op_table, model);
    r.n->options.precision = precision;
    net_drop_plans(r.n);
    net_arena(r.n, &w, &r.dw, &count);
    ck_assert_int_ge(count, INNER * COLUMNS);
    if (by_hand)
        round_all(w, INNER * COLUMNS, wf);
    plan *p = toy_plan(r.n, PLAN_TRAIN, d, t);
    toy_fill(plan_input(p, 0), 1);
    toy_fill(plan_target(p, 0), 2);
    if (by_hand)
        round_all(plan_input(p, 0).data, BATCH * INNER, xf);
    toy_run(p, 1.0f);
    r.x = plan_input(p, 0);
    r.target = plan_target(p, 0);
    r.y = plan_output(p, 0);
    r.loss = plan_loss(p);
    return r;
}

static void alike(const float *got, const float *want, int64_t n)
{
    double sum = 0.0;
    for (int64_t k = 0; k < n; k++) {
        ck_assert_float_eq(got[k], want[k]);
        sum += fabs((double)want[k]);
    }
    ck_assert_double_gt(sum, 0.0);
}

/* The gradient of the weight, the mean of x times the target over the batch.  In bf16 a pass may have rounded the target,
 * by at most 2^-9 of it, where the other graph did not: units for bf16 want both factors in it. */
static void gradients_alike(const numbers *got, const numbers *want, int precision)
{
    const double share = precision == NET_AMP_BF16 ? 1.0 / 256.0 : 0.0;
    const float *x = want->x.data, *target = want->target.data;
    for (int64_t k = 0; k < INNER * COLUMNS; k++) {
        double size = 0.0;
        for (int64_t row = 0; row < BATCH; row++)
            size += fabs((double)x[row * INNER + k / COLUMNS] *
                         (double)target[row * COLUMNS + k % COLUMNS]);
        ck_assert_double_le(fabs((double)got->dw[k] - (double)want->dw[k]),
                            share * size / BATCH);
        ck_assert_double_gt(size, 0.0);
    }
}

/* Bits 0 and 1: the formats; behind them the precision. */
START_TEST(products_read_8_bits_exactly)
{
    const int32_t xf = formats[_i & 1], wf = formats[_i >> 1 & 1];
    toy_model a = {.weights = weights, .trace = product_trace, .loss = weighed}, b = a;
    const numbers got = trained(&a, precisions[_i >> 2], xf, wf, false);
    const numbers want = trained(&b, precisions[_i >> 2], xf, wf, true);
    ck_assert_int_eq(got.y.desc.dtype, TUTTI_F32);
    alike(got.y.data, want.y.data, BATCH * COLUMNS);
    alike(got.loss.data, want.loss.data, tutti_numel(&got.loss.desc));
    gradients_alike(&got, &want, precisions[_i >> 2]);
    net_destroy(got.n);
    net_destroy(want.n);
}
END_TEST

static tutti_value f8_input(graph *g, int32_t format)
{
    const tutti_desc d = {{8, 8}, 2, TUTTI_F32};
    return rounded(graph_builder(g), graph_input(g, &d), format);
}

static int32_t dtype_at(const graph *g, tutti_value v)
{
    return graph_value_at(g, v)->desc.dtype;
}

/* In a graph without a precision of its own F32, else its low dtype: of factors and of the result. */
START_TEST(factors_of_8_bits_become_what_products_read)
{
    static const int32_t lows[] = {0, TUTTI_BF16, TUTTI_F16};
    tutti_error err = TUTTI_ERROR_INIT;
    graph *g = graph_create(tutti_op_table, TUTTI_MODE_TRAIN, NULL);
    const graph_autocast low = {lows[_i], true};
    if (low.dtype)
        graph_set_autocast(g, &low);
    const tutti_value a = f8_input(g, TUTTI_F8_E4M3), b = f8_input(g, TUTTI_F8_E5M2);
    const tutti_value y = tutti_matmul(graph_builder(g), a, b, 0, 0, 0);
    ck_assert_ok(graph_error(g, &err), err);
    const graph_node *n = graph_node_at(g, graph_value_at(g, y)->index);
    const int32_t wide = low.dtype ? low.dtype : TUTTI_F32;
    ck_assert_int_eq(dtype_at(g, n->in[0]), wide);
    ck_assert_int_eq(dtype_at(g, n->in[1]), wide);
    ck_assert_int_eq(dtype_at(g, y), wide);
    graph_destroy(g);
}
END_TEST

/* What computes with single numbers is told to cast. */
START_TEST(other_operations_refuse_8_bits)
{
    tutti_error err = TUTTI_ERROR_INIT;
    graph *g = graph_create(tutti_op_table, TUTTI_MODE_TRAIN, NULL);
    (void)tutti_relu(graph_builder(g), f8_input(g, TUTTI_F8_E4M3));
    ck_assert_int_eq(graph_error(g, &err), TUTTI_E_ARG);
    ck_assert_ptr_nonnull(strstr(err.text, "relu: x is F8_E4M3 (8, 8), want F32"));
    graph_destroy(g);
}
END_TEST

static tutti_value f8_trace(tutti_graph *g, tutti_module m, const tutti_value *x)
{
    return rounded(g, product_trace(g, m, x), TUTTI_F8_E5M2);
}

static tutti_value f8_loss(tutti_graph *g, tutti_value y, tutti_value target)
{
    return weighed(g, rounded(g, y, TUTTI_F32), target);
}

START_TEST(outputs_of_8_bits_are_not_trained)
{
    tutti_error err = TUTTI_ERROR_INIT;
    toy_model model = {.weights = weights, .trace = f8_trace, .loss = f8_loss};
    net *n = toy_net(tutti_op_table, &model);
    plan *p = NULL;
    const plan_request r = {.kind = PLAN_TRAIN,
                            .ninputs = 1,
                            .ntargets = 1,
                            .inputs = {{{BATCH, INNER}, 2, TUTTI_F32}},
                            .targets = {{{BATCH, COLUMNS}, 2, TUTTI_F32}}};
    ck_assert_int_eq(net_plan(n, &r, &p, &err), TUTTI_E_UNSUPPORTED);
    ck_assert_str_eq(err.text,
                     "the model's output 0 has 8 bits, of which no gradient is taken; want "
                     "a cast to F32 behind it");
    net_destroy(n);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("float8");
    TCase *t = tcase_create("products");
    tcase_add_loop_test(t, products_read_8_bits_exactly, 0, 12);
    tcase_add_loop_test(t, factors_of_8_bits_become_what_products_read, 0, 3);
    tcase_add_test(t, other_operations_refuse_8_bits);
    tcase_add_test(t, outputs_of_8_bits_are_not_trained);
    suite_add_tcase(s, t);
    return tutti_run(s);
}
