/* real_ops_test.c - plans out of the real operations, kernels against the f64 interpreter. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "op_table.h"
#include "toy_model.h"

#define TRAIN TUTTI_WEIGHT_TRAINABLE

static tutti_init normal(double fan)
{
    return (tutti_init){TUTTI_INIT_KAIMING_NORMAL, 0, 1.0, 0.0, fan, NULL};
}

static tutti_init constant(double a)
{
    return (tutti_init){TUTTI_INIT_CONSTANT, 0, a, 0.0, 0.0, NULL};
}

static tutti_value trace_mlp(tutti_graph *g, tutti_module m, const tutti_value *x)
{
    tutti_value h = tutti_matmul(g, x[0], g->weight(g, m, "w0"), g->weight(g, m, "b0"), 0, 1);
    h = tutti_op1(g, "tanh", h);
    h = tutti_add(g, h,
                  tutti_op1(g, "gelu", tutti_matmul(g, h, g->weight(g, m, "w1"), 0, 0, 1)));
    return tutti_matmul(g, h, g->weight(g, m, "w2"), g->weight(g, m, "b2"), 0, 1);
}

static net *mlp_net(toy_model *model)
{
    static toy_weight weights[6];
    weights[0] = (toy_weight){"w0", toy_desc(TUTTI_F32, 2, 16, 10, 0, 0), normal(10), TRAIN};
    weights[1] = (toy_weight){"b0", toy_desc(TUTTI_F32, 1, 16, 0, 0, 0), normal(4), TRAIN};
    weights[2] = (toy_weight){"w1", toy_desc(TUTTI_F32, 2, 16, 16, 0, 0), normal(16), TRAIN};
    weights[3] = (toy_weight){"w2", toy_desc(TUTTI_F32, 2, 3, 16, 0, 0), normal(16), TRAIN};
    weights[4] = (toy_weight){"b2", toy_desc(TUTTI_F32, 1, 3, 0, 0, 0), normal(4), TRAIN};
    *model = (toy_model){
        .weights = weights, .trace = trace_mlp, .loss = tutti_softmax_cross_entropy};
    return toy_net(tutti_op_table, model);
}

static tutti_value norm(tutti_graph *g, tutti_module m, tutti_value x)
{
    const tutti_value mean = g->weight(g, m, "running_mean");
    const tutti_value var = g->weight(g, m, "running_var");
    const tutti_value in[5] = {x, g->weight(g, m, "gamma"), g->weight(g, m, "beta"), mean, var};
    tutti_value out[5];
    if (g->mode == TUTTI_MODE_EVAL)
        return g->emit(g, "batch_norm_eval", in, 5, NULL, 0, NULL, 0);
    g->emit(g, "batch_norm", in, 5, NULL, 0, out, 5);
    g->assign(g, mean, out[3]);
    g->assign(g, var, out[4]);
    return out[0];
}

/* conv, batch norm, relu, a residual convolution, max pool, mean, linear */
static tutti_value trace_conv(tutti_graph *g, tutti_module m, const tutti_value *x)
{
    const int64_t one[2] = {1, 1}, two[2] = {2, 2}, zero[2] = {0, 0}, axes[2] = {1, 2};
    tutti_value h = tutti_conv2d(g, x[0], g->weight(g, m, "c0"), 0, one, one, one, 1);
    h = tutti_relu(g, norm(g, m, h));
    const tutti_value r =
        tutti_conv2d(g, h, g->weight(g, m, "c1"), g->weight(g, m, "cb"), one, one, one, 1);
    h = tutti_relu(g, tutti_add(g, h, r));
    const tutti_attr pool[3] = {tutti_attr_list("kernel", two, 2),
                                tutti_attr_list("stride", two, 2),
                                tutti_attr_list("padding", zero, 2)};
    h = g->emit(g, "max_pool2d", &h, 1, pool, 3, NULL, 0);
    h = tutti_reduce(g, "mean", h, axes, 2, 0);
    return tutti_matmul(g, h, g->weight(g, m, "w"), 0, 0, 1);
}

static net *conv_net(toy_model *model)
{
    static toy_weight weights[9];
    weights[0] = (toy_weight){"c0", toy_desc(TUTTI_F32, 4, 8, 3, 3, 3), normal(27), TRAIN};
    weights[1] = (toy_weight){"gamma", toy_desc(TUTTI_F32, 1, 8, 0, 0, 0), constant(1), TRAIN};
    /* Drawn so that no ReLU gets a number within rounding of 0, where f32 and f64 may take different sides. */
    weights[2] = (toy_weight){"beta", toy_desc(TUTTI_F32, 1, 8, 0, 0, 0), normal(5), TRAIN};
    weights[3] =
        (toy_weight){"running_mean", toy_desc(TUTTI_F32, 1, 8, 0, 0, 0), constant(0), 0};
    weights[4] =
        (toy_weight){"running_var", toy_desc(TUTTI_F32, 1, 8, 0, 0, 0), constant(1), 0};
    weights[5] = (toy_weight){"c1", toy_desc(TUTTI_F32, 4, 8, 3, 3, 8), normal(72), TRAIN};
    weights[6] = (toy_weight){"cb", toy_desc(TUTTI_F32, 1, 8, 0, 0, 0), normal(4), TRAIN};
    weights[7] = (toy_weight){"w", toy_desc(TUTTI_F32, 2, 3, 8, 0, 0), normal(8), TRAIN};
    *model = (toy_model){
        .weights = weights, .trace = trace_conv, .loss = tutti_softmax_cross_entropy};
    return toy_net(tutti_op_table, model);
}

static const struct {
    bool conv;
    bool soft;
    int kind;
} variants[] = {
    {false, false, PLAN_TRAIN}, {false, true, PLAN_TRAIN}, {false, false, PLAN_LOSSES},
    {false, false, PLAN_EVAL},  {true, false, PLAN_TRAIN}, {true, true, PLAN_TRAIN},
    {true, false, PLAN_LOSSES}, {true, false, PLAN_EVAL},
};

START_TEST(kernels_agree_with_the_interpreter)
{
    toy_model model;
    net *n = variants[_i].conv ? conv_net(&model) : mlp_net(&model);
    const tutti_desc x = variants[_i].conv ? toy_desc(TUTTI_F32, 4, 4, 8, 8, 3)
                                           : toy_desc(TUTTI_F32, 2, 6, 10, 0, 0);
    const tutti_desc target = variants[_i].soft ? toy_desc(TUTTI_F32, 2, x.dim[0], 3, 0, 0)
                                                : toy_desc(TUTTI_I32, 1, x.dim[0], 0, 0, 0);
    plan *p = toy_plan(n, variants[_i].kind, x, target);
    toy_fill(plan_input(p, 0), 1);
    toy_fill(plan_target(p, 0), 2);
    for (int round = 0; round < 2; round++)
        toy_compare(p, 0.5f, 2e-5);
    toy_check_arena(p);
    net_destroy(n);
}
END_TEST

START_TEST(an_accumulating_plan_adds_to_the_gradients)
{
    toy_model model;
    net *n = conv_net(&model);
    const tutti_desc x = toy_desc(TUTTI_F32, 4, 4, 8, 8, 3);
    const tutti_desc target = toy_desc(TUTTI_I32, 1, 4, 0, 0, 0);
    plan *first = toy_plan(n, PLAN_TRAIN, x, target);
    plan *more = toy_plan(n, PLAN_TRAIN_ADD, x, target);
    float *weights, *grads, *kept;
    int64_t count;
    net_arena(n, &weights, &grads, &count);
    kept = calloc((size_t)count, sizeof *kept);
    for (int k = 0; k < 2; k++) {
        plan *p = k ? more : first;
        toy_fill(plan_input(p, 0), 3);
        toy_fill(plan_target(p, 0), 4);
        toy_run(p, 1.0f);
        if (k == 0)
            memcpy(kept, grads, sizeof *kept * (size_t)count);
    }
    for (int64_t k = 0; k < count; k++)
        ck_assert_close(grads[k], 2.0f * kept[k], 1e-6);
    free(kept);
    net_destroy(n);
}
END_TEST

START_TEST(training_plans_reach_a_small_loss)
{
    toy_model model;
    net *n = conv_net(&model);
    plan *p = toy_plan(n, PLAN_TRAIN, toy_desc(TUTTI_F32, 4, 4, 8, 8, 3),
                       toy_desc(TUTTI_I32, 1, 4, 0, 0, 0));
    float *weights, *grads;
    int64_t count;
    net_arena(n, &weights, &grads, &count);
    toy_fill(plan_input(p, 0), 5);
    for (int32_t k = 0; k < 4; k++)
        ((int32_t *)plan_target(p, 0).data)[k] = k % 3;
    for (int step = 0; step < 200; step++) {
        toy_run(p, 1.0f);
        for (int64_t k = 0; k < count; k++)
            weights[k] -= 0.3f * grads[k];
    }
    ck_assert_float_lt(*(const float *)plan_loss(p).data, 0.05f);
    net_destroy(n);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("real ops");
    TCase *all = tcase_create("all");
    tcase_set_timeout(all, 60); /* on a busy machine */
    tcase_add_loop_test(all, kernels_agree_with_the_interpreter, 0,
                        sizeof variants / sizeof *variants);
    tcase_add_test(all, an_accumulating_plan_adds_to_the_gradients);
    tcase_add_test(all, training_plans_reach_a_small_loss);
    suite_add_tcase(suite, all);
    return tutti_run(suite);
}
