/* penalty_test.c - terms of the loss made of its gradients, against differences of the loss. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "op_table.h"
#include "toy_model.h"

enum { B = 6, IN = 5, HIDDEN = 8 };

static tutti_value sum_of_squares(tutti_graph *g, const tutti_value *d, uint32_t n)
{
    tutti_value sum = 0;
    for (uint32_t k = 0; k < n; k++) {
        if (!d[k])
            continue;
        const tutti_value one = tutti_reduce(g, "sum", tutti_mul(g, d[k], d[k]), NULL, 0, 0);
        sum = sum ? tutti_add(g, sum, one) : one;
    }
    return tutti_affine(g, sum, 3.0, 0.0);
}

static tutti_value of_inputs(void *self, tutti_graph *g, const tutti_penalty_input *in)
{
    return sum_of_squares(g, in->dinputs, in->ninputs);
}

static tutti_value of_weights(void *self, tutti_graph *g, const tutti_penalty_input *in)
{
    return sum_of_squares(g, in->dweights, in->nweights);
}

static tutti_value not_a_number(void *self, tutti_graph *g, const tutti_penalty_input *in)
{
    return in->dinputs[0];
}

static const tutti_penalty_v1 tables[] = {
    {.struct_size = sizeof tables[0], .term = of_inputs},
    {.struct_size = sizeof tables[0], .term = of_weights},
    {.struct_size = sizeof tables[0], .term = not_a_number}};

/* Batch norm is there to be decomposed. */
static tutti_value trace(tutti_graph *g, tutti_module m, const tutti_value *x)
{
    const tutti_value h = tutti_matmul(g, x[0], g->weight(g, m, "w0"), 0, 0, 1);
    const tutti_value mean = g->weight(g, m, "mean"), var = g->weight(g, m, "var");
    const tutti_value in[5] = {h, g->weight(g, m, "gamma"), g->weight(g, m, "beta"), mean, var};
    tutti_value out[5];
    g->emit(g, "batch_norm", in, 5, NULL, 0, out, 5);
    g->assign(g, mean, out[3]);
    g->assign(g, var, out[4]);
    return tutti_matmul(g, tutti_op1(g, "tanh", out[0]), g->weight(g, m, "w1"), 0, 0, 1);
}

static toy_model model;

static net *make(const tutti_penalty_v1 *table)
{
    static toy_weight w[7];
    tutti_error err = TUTTI_ERROR_INIT;
    const tutti_init draw = {TUTTI_INIT_NORMAL, 0, 0.0, 0.5, 0.0, NULL};
    const tutti_init one = {TUTTI_INIT_CONSTANT, 0, 1.0, 0.0, 0.0, NULL};
    const tutti_desc channels = toy_desc(TUTTI_F32, 1, HIDDEN, 0, 0, 0);
    w[0] = (toy_weight){"w0", toy_desc(TUTTI_F32, 2, HIDDEN, IN, 0, 0), draw,
                        TUTTI_WEIGHT_TRAINABLE};
    w[1] = (toy_weight){"gamma", channels, one, TUTTI_WEIGHT_TRAINABLE};
    w[2] = (toy_weight){"beta", channels, draw, TUTTI_WEIGHT_TRAINABLE};
    w[3] = (toy_weight){"w1", toy_desc(TUTTI_F32, 2, 3, HIDDEN, 0, 0), draw,
                        TUTTI_WEIGHT_TRAINABLE};
    w[4] = (toy_weight){"mean", channels, one, 0};
    w[5] = (toy_weight){"var", channels, one, 0};
    model = (toy_model){.weights = w, .trace = trace, .loss = tutti_softmax_cross_entropy};
    net *n = toy_net(tutti_op_table, &model);
    if (table)
        ck_assert_ok(net_add_penalty(n, table, NULL, NULL, &err), err);
    return n;
}

static plan *begin(net *n)
{
    plan *p = toy_plan(n, PLAN_TRAIN, toy_desc(TUTTI_F32, 2, B, IN, 0, 0),
                       toy_desc(TUTTI_I32, 1, B, 0, 0, 0));
    toy_fill(plan_input(p, 0), 1);
    toy_fill(plan_target(p, 0), 2);
    return p;
}

static double loss_of(plan *p)
{
    toy_run(p, 1.0f);
    return (double)*(float *)plan_loss(p).data;
}

/* _i: of inputs, of weights */
START_TEST(gradients_match_differences_of_the_loss_with_its_penalty)
{
    net *plain = make(NULL), *n = make(&tables[_i]);
    plan *p = begin(n);
    ck_assert(loss_of(p) > loss_of(begin(plain)) + 1e-4);
    float *weights, *grads;
    int64_t count;
    net_arena(n, &weights, &grads, &count);
    toy_run(p, 1.0f);
    float *kept_grads =
        memcpy(calloc((size_t)count, sizeof(float)), grads, sizeof(float) * (size_t)count);
    for (uint32_t k = 0; k < 4; k++) {
        float *w = net_weight(n, k)->data.data;
        const float kept = w[1], h = 1e-2f;
        w[1] = kept + h;
        const double up = loss_of(p);
        w[1] = kept - h;
        const double down = loss_of(p);
        w[1] = kept;
        ck_assert_close((double)kept_grads[net_offset(n, k) + 1],
                        (up - down) / (2.0 * (double)h), 2e-3);
    }
    free(kept_grads);
    net_destroy(n);
    net_destroy(plain);
}
END_TEST

START_TEST(the_loss_scale_scales_its_gradient_too)
{
    net *n = make(&tables[0]);
    plan *p = begin(n);
    float *weights, *grads;
    int64_t count;
    net_arena(n, &weights, &grads, &count);
    const double loss = loss_of(p);
    const float one = grads[3];
    toy_run(p, 4.0f);
    ck_assert_close((double)*(float *)plan_loss(p).data, loss, 0.0);
    ck_assert_close((double)grads[3], 4.0 * (double)one, 1e-5);
    net_destroy(n);
}
END_TEST

START_TEST(a_term_is_one_number)
{
    tutti_error err = TUTTI_ERROR_INIT;
    net *n = make(&tables[2]);
    plan *p;
    const plan_request r = {.kind = PLAN_TRAIN,
                            .ninputs = 1,
                            .ntargets = 1,
                            .inputs = {toy_desc(TUTTI_F32, 2, B, IN, 0, 0)},
                            .targets = {toy_desc(TUTTI_I32, 1, B, 0, 0, 0)}};
    ck_assert_int_eq(net_plan(n, &r, &p, &err), TUTTI_E_SHAPE);
    ck_assert_error(err, TUTTI_E_SHAPE, "penalty: the term is F32 (6, 5), want one F32");
    net_destroy(n);
}
END_TEST

START_TEST(a_loss_with_a_penalty_cannot_be_mixed)
{
    tutti_error err = TUTTI_ERROR_INIT;
    net *n = make(&tables[0]);
    plan *p = begin(n);
    int32_t other[B] = {0};
    (void)loss_of(p);
    const tutti_tensor second = {other, toy_desc(TUTTI_I32, 1, B, 0, 0, 0), TUTTI_DEVICE_CPU,
                                 0};
    ck_assert_int_eq(plan_blend_loss(p, &second, 0.5, &toy_step, 1.0f, &err),
                     TUTTI_E_UNSUPPORTED);
    ck_assert_error(err, TUTTI_E_UNSUPPORTED,
                    "a loss with a penalty on its gradients cannot be mixed");
    net_destroy(n);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("penalty");
    TCase *all = tcase_create("all");
    tcase_add_loop_test(all, gradients_match_differences_of_the_loss_with_its_penalty, 0, 2);
    tcase_add_test(all, the_loss_scale_scales_its_gradient_too);
    tcase_add_test(all, a_term_is_one_number);
    tcase_add_test(all, a_loss_with_a_penalty_cannot_be_mixed);
    suite_add_tcase(suite, all);
    return tutti_run(suite);
}
