/* cuda_half_outputs_test.c - outputs that stay in 16 bits give the same bits, and can be looked at all the same. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda_check.h"
#include "op_table.h"
#include "toy_model.h"

enum { B = 128, IN = 256 };
/* Classes: no multiple of eight, so that rows get zeros behind them; and one that is. */
static const int64_t class_counts[] = {2051, 2056};

static tutti_value trace(tutti_graph *g, tutti_module m, const tutti_value *x)
{
    const tutti_value h = tutti_op1(g, "tanh", x[0]);
    return tutti_matmul(g, h, g->weight(g, m, "w"), 0, 0, 1);
}

/* A loss that knows nothing of columns. */
static tutti_value squares(tutti_graph *g, tutti_value y, tutti_value target)
{
    const int64_t axes[2] = {0, 1};
    (void)target;
    return tutti_reduce(g, "mean", tutti_mul(g, y, y), axes, 2, 0);
}

typedef struct rig {
    tutti_device device;
    net *net;
    toy_model model;
    toy_weight weights[2];
    int64_t classes;
} rig;

static void open_rig(rig *r, int64_t classes, bool plain_loss)
{
    const tutti_init some = {TUTTI_INIT_NORMAL, 0, 0.0, 0.5, 0.0, NULL};
    tutti_error err = TUTTI_ERROR_INIT;
    *r = (rig){.device = open_cuda("leaks=1"), .classes = classes};
    r->weights[0] = (toy_weight){"w", toy_desc(TUTTI_F32, 2, classes, IN, 0, 0), some,
                                 TUTTI_WEIGHT_TRAINABLE};
    r->model = (toy_model){.weights = r->weights,
                           .trace = trace,
                           .loss = plain_loss ? squares : tutti_softmax_cross_entropy};
    const net_options options = {.ops = tutti_op_table,
                                 .seed = 17,
                                 .threads = 2,
                                 .precision = NET_AMP_BF16,
                                 .device = &r->device};
    ck_assert_ok(net_create(&options, &r->net, &err), err);
    r->model.service = net_modules(r->net);
    const model_impl impl = {&toy_table, &r->model, NULL, "toy", NULL};
    ck_assert_ok(net_build_model(r->net, &impl, NULL, 0, &err), err);
    ck_assert_ok(net_commit(r->net, &err), err);
}

static void close_rig(rig *r)
{
    net_destroy(r->net);
    wait_for(&r->device);
    close_cuda(&r->device);
}

static void put(const rig *r, const tutti_tensor t)
{
    tutti_tensor host = t;
    tutti_error err = TUTTI_ERROR_INIT;
    host.data = malloc(tutti_nbytes(&t.desc));
    toy_fill(host, 5);
    ck_assert_ok(device_copy(&r->device, t.data, host.data, tutti_nbytes(&t.desc),
                             TUTTI_COPY_TO_DEVICE, &err),
                 err);
    free(host.data);
}

static float *fetch(const rig *r, const void *from, int64_t n)
{
    float *to = malloc((size_t)n * sizeof *to);
    tutti_error err = TUTTI_ERROR_INIT;
    ck_assert_ptr_nonnull(from);
    ck_assert_ok(device_copy(&r->device, to, from, (uint64_t)n * sizeof *to,
                             TUTTI_COPY_FROM_DEVICE, &err),
                 err);
    return to;
}

/* What came out of a step. */
typedef struct results {
    float *outputs, *loss, *gradient;
} results;

static results run(const rig *r, uint32_t half, uint32_t spends)
{
    plan_request request = {.kind = PLAN_TRAIN,
                            .ninputs = 1,
                            .ntargets = 1,
                            .half_outputs = half,
                            .spends_outputs = spends,
                            .inputs = {toy_desc(TUTTI_F32, 2, B, IN, 0, 0)},
                            .targets = {toy_desc(TUTTI_I32, 1, B, 0, 0, 0)}};
    tutti_error err = TUTTI_ERROR_INIT;
    tutti_tensor seen;
    plan *p = NULL;
    ck_assert_ok(net_plan(r->net, &request, &p, &err), err);
    put(r, plan_input(p, 0));
    put(r, plan_target(p, 0));
    toy_run(p, 64.0f);
    if (spends) {
        ck_assert(plan_output_is_spent(p, 0));
        ck_assert_int_eq(plan_expand_output(p, 0, &toy_step, &seen, &err), TUTTI_E_STATE);
        return (results){NULL, fetch(r, plan_loss(p).data, 1),
                         fetch(r, net_weight(r->net, 0)->grad, r->classes * IN)};
    }
    ck_assert_int_eq(plan_output(p, 0).data == NULL, half != 0);
    ck_assert_int_eq(plan_output(p, 0).desc.dim[1], r->classes);
    ck_assert_ok(plan_expand_output(p, 0, &toy_step, &seen, &err), err);
    ck_assert_int_eq(seen.desc.dtype, TUTTI_F32);
    return (results){fetch(r, seen.data, B * r->classes), fetch(r, plan_loss(p).data, 1),
                     fetch(r, net_weight(r->net, 0)->grad, r->classes * IN)};
}

static void same(const char *what, const float *a, const float *b, int64_t n)
{
    double sum = 0.0;
    for (int64_t k = 0; k < n; k++) {
        ck_assert_msg(a[k] == b[k], "%s: number %lld is %g, want %g", what, (long long)k,
                      (double)b[k], (double)a[k]);
        sum += fabs((double)a[k]);
    }
    ck_assert_msg(sum > 0, "%s: nothing but zeros", what);
}

START_TEST(a_step_has_the_same_bits_whether_outputs_are_looked_at_or_not)
{
    const bool plain_loss = _i / 2;
    rig r;
    open_rig(&r, class_counts[_i % 2], plain_loss);
    const results plain = run(&r, 0, 0), half = run(&r, 1, 0), spent = run(&r, 1, 1);
    same("the loss", plain.loss, half.loss, 1);
    same("the outputs", plain.outputs, half.outputs, B * r.classes);
    same("the gradient", plain.gradient, half.gradient, r.classes * IN);
    same("the loss over outputs that are spent", plain.loss, spent.loss, 1);
    same("its gradient", plain.gradient, spent.gradient, r.classes * IN);
    free(plain.loss), free(half.loss), free(spent.loss);
    free(plain.outputs), free(half.outputs);
    free(plain.gradient), free(half.gradient), free(spent.gradient);
    close_rig(&r);
}
END_TEST

START_TEST(a_loss_over_such_outputs_is_not_mixed)
{
    rig r;
    open_rig(&r, class_counts[0], false);
    plan_request request = {.kind = PLAN_TRAIN,
                            .ninputs = 1,
                            .ntargets = 1,
                            .half_outputs = 1,
                            .inputs = {toy_desc(TUTTI_F32, 2, B, IN, 0, 0)},
                            .targets = {toy_desc(TUTTI_I32, 1, B, 0, 0, 0)}};
    tutti_error err = TUTTI_ERROR_INIT;
    plan *p = NULL;
    ck_assert_ok(net_plan(r.net, &request, &p, &err), err);
    const tutti_tensor target = plan_target(p, 0);
    ck_assert_int_eq(plan_blend_loss(p, &target, 0.5, &toy_step, 1.0f, &err), TUTTI_E_STATE);
    ck_assert_str_eq(err.text, "a loss can be mixed where forward and backward pass run apart");
    close_rig(&r);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("half_outputs");
    TCase *t = tcase_create("all");
    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, a_step_has_the_same_bits_whether_outputs_are_looked_at_or_not, 0, 4);
    tcase_add_test(t, a_loss_over_such_outputs_is_not_mixed);
    suite_add_tcase(s, t);
    return tutti_run(s);
}
