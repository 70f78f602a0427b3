/* rematerialization_test.c - rematerialized instead of kept: less memory, the same bits. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/passes/rematerialization.h"
#include "graph/program/program_internal.h"
#include "graph/surgery/surgery.h"
#include "op_table.h"
#include "toy_model.h"

enum { B = 4, SIDE = 12, C = 16, HIDDEN = 64, CLASSES = 4, BLOCKS = 3 };

static tutti_value conv(tutti_graph *g, tutti_module m, tutti_value x, const char *w)
{
    const int64_t one[2] = {1, 1};
    return tutti_conv2d(g, x, g->weight(g, m, w), 0, one, one, one, 1);
}

static tutti_value norm(tutti_graph *g, tutti_module m, tutti_value x)
{
    tutti_value in[5] = {x, g->weight(g, m, "gamma"), g->weight(g, m, "beta"),
                         g->weight(g, m, "mean"), g->weight(g, m, "var")};
    tutti_value out[5];
    (void)g->emit(g, "batch_norm", in, 5, NULL, 0, out, 5);
    g->assign(g, in[3], out[3]);
    g->assign(g, in[4], out[4]);
    return out[0];
}

/* Residual blocks as in a ResNet, then over every pixel what a transformer has: layer norm, GELU and
 * dropout between two products. */
static tutti_value trace(tutti_graph *g, tutti_module m, const tutti_value *x)
{
    const int64_t rows[2] = {B * SIDE * SIDE, C}, back[2] = {B, SIDE * SIDE * C};
    tutti_value h = conv(g, m, x[0], "first");
    for (int k = 0; k < BLOCKS; k++) {
        const tutti_value a = tutti_relu(g, norm(g, m, conv(g, m, h, "w0")));
        h = tutti_relu(g, tutti_add(g, norm(g, m, conv(g, m, a, "w1")), h));
    }
    const tutti_value ln[3] = {tutti_reshape(g, h, rows, 2), g->weight(g, m, "gamma"),
                               g->weight(g, m, "beta")};
    const tutti_value n = g->emit(g, "layer_norm", ln, 3, NULL, 0, NULL, 0);
    const tutti_value wide = tutti_matmul(g, n, g->weight(g, m, "up"), 0, 0, 1);
    const tutti_value u = tutti_op1(g, "gelu", wide);
    const tutti_attr p = tutti_attr_f("p", 0.25);
    const tutti_value d = g->emit(g, "dropout", &u, 1, &p, 1, NULL, 0);
    const tutti_value y = tutti_matmul(g, d, g->weight(g, m, "down"), 0, 0, 1);
    return tutti_matmul(g, tutti_reshape(g, y, back, 2), g->weight(g, m, "head"), 0, 0, 1);
}

static toy_model model;

static net *make(int precision, int recompute)
{
    static toy_weight w[12];
    tutti_error err = TUTTI_ERROR_INIT;
    const tutti_init some = {TUTTI_INIT_NORMAL, 0, 0.0, 0.1, 0.0, NULL};
    const tutti_init one = {TUTTI_INIT_CONSTANT, 0, 1.0, 0.0, 0.0, NULL};
    const tutti_desc c = toy_desc(TUTTI_F32, 1, C, 0, 0, 0);
    const tutti_desc kernel = toy_desc(TUTTI_F32, 4, C, 3, 3, C);
    int k = 0;
    w[k++] =
        (toy_weight){"first", toy_desc(TUTTI_F32, 4, C, 3, 3, 3), some, TUTTI_WEIGHT_TRAINABLE};
    w[k++] = (toy_weight){"w0", kernel, some, TUTTI_WEIGHT_TRAINABLE};
    w[k++] = (toy_weight){"w1", kernel, some, TUTTI_WEIGHT_TRAINABLE};
    w[k++] = (toy_weight){"gamma", c, one, TUTTI_WEIGHT_TRAINABLE};
    w[k++] = (toy_weight){"beta", c, some, TUTTI_WEIGHT_TRAINABLE};
    w[k++] = (toy_weight){"mean", c, some, 0};
    w[k++] = (toy_weight){"var", c, one, 0};
    w[k++] = (toy_weight){"up", toy_desc(TUTTI_F32, 2, HIDDEN, C, 0, 0), some,
                          TUTTI_WEIGHT_TRAINABLE};
    w[k++] = (toy_weight){"down", toy_desc(TUTTI_F32, 2, C, HIDDEN, 0, 0), some,
                          TUTTI_WEIGHT_TRAINABLE};
    w[k++] = (toy_weight){"head", toy_desc(TUTTI_F32, 2, CLASSES, SIDE * SIDE * C, 0, 0), some,
                          TUTTI_WEIGHT_TRAINABLE};
    model = (toy_model){.weights = w, .trace = trace, .loss = tutti_softmax_cross_entropy};
    net *n;
    const net_options options = {.ops = tutti_op_table,
                                 .seed = 17,
                                 .threads = 1,
                                 .precision = precision,
                                 .rematerialize = recompute};
    ck_assert_ok(net_create(&options, &n, &err), err);
    model.service = net_modules(n);
    const model_impl impl = {&toy_table, &model, NULL, "toy", NULL};
    ck_assert_ok(net_build_model(n, &impl, NULL, 0, &err), err);
    ck_assert_ok(net_commit(n, &err), err);
    return n;
}

static plan *plan_of(net *n, int kind)
{
    plan *p = toy_plan(n, kind, toy_desc(TUTTI_F32, 4, B, SIDE, SIDE, 3),
                       toy_desc(TUTTI_I32, 1, B, 0, 0, 0));
    toy_fill(plan_input(p, 0), 1);
    toy_fill(plan_target(p, 0), 2);
    return p;
}

static program_rematerialization rematerialization_of(const plan *p)
{
    return program_rematerialized(p->model_graph->compiled.program);
}

static const int precisions[] = {NET_FP32, NET_AMP_BF16};

START_TEST(the_bits_are_the_same_and_the_arena_is_smaller)
{
    net *n[2];
    plan *p[2];
    float *weights, *grads[2];
    int64_t count[2];
    for (int k = 0; k < 2; k++) {
        n[k] = make(precisions[_i], k ? REMATERIALIZE_FULL : REMATERIALIZE_OFF);
        for (int add = 0; add < 2; add++) {
            p[k] = plan_of(n[k], add ? PLAN_TRAIN_ADD : PLAN_TRAIN);
            toy_check_arena(p[k]);
            toy_run(p[k], 1.0f);
        }
        net_arena(n[k], &weights, &grads[k], &count[k]);
    }
    ck_assert_int_eq(count[0], count[1]);
    ck_assert_mem_eq(grads[0], grads[1], (size_t)count[0] * sizeof *grads[0]);
    for (uint32_t k = 0; k < net_weight_count(n[0]); k++)
        ck_assert_mem_eq(net_weight(n[0], k)->data.data, net_weight(n[1], k)->data.data,
                         tutti_nbytes(&net_weight(n[0], k)->data.desc));
    ck_assert_uint_eq(rematerialization_of(p[0]).offered, 0);
    ck_assert_uint_ge(rematerialization_of(p[1]).results, BLOCKS + 1);
    ck_assert_uint_ge(rematerialization_of(p[1]).saved,
                      BLOCKS * B * SIDE * SIDE * C * (_i ? 2u : 4u));
    ck_assert_uint_lt(program_bytes(p[1]->model_graph->compiled.program),
                      program_bytes(p[0]->model_graph->compiled.program));
    for (int k = 0; k < 2; k++)
        net_destroy(n[k]);
}
END_TEST

START_TEST(the_interpreter_agrees)
{
    net *n = make(NET_FP32, REMATERIALIZE_FULL);
    toy_compare(plan_of(n, PLAN_TRAIN), 1.0f, 1e-4);
    net_destroy(n);
}
END_TEST

/* Layer norm and what a GELU and dropout give are offered, as are the norms with and without a residual;
 * every offer is one result, whatever it takes. */
START_TEST(what_is_cheap_is_offered_once_a_result)
{
    net *n = make(NET_FP32, REMATERIALIZE_FULL);
    const graph *g = plan_of(n, PLAN_TRAIN)->model_graph->compiled.g;
    uint32_t norms = 0, layer_norms = 0, dropouts = 0, gelus = 0;
    for (uint32_t k = 0; k < graph_nnodes(g); k++) {
        const graph_node *it = graph_node_at(g, k);
        ck_assert_int_eq(it->group != 0, it->recomputes != 0);
        if (!it->group)
            continue;
        ck_assert_int_eq(it->segment, 1);
        ck_assert(tutti_same_shape(&graph_value_at(g, it->out)->desc,
                                   &graph_value_at(g, it->recomputes)->desc));
        norms += strcmp(it->op->name, "batch_norm_apply") == 0;
        layer_norms += strcmp(it->op->name, "layer_norm") == 0;
        dropouts += strcmp(it->op->name, "dropout") == 0;
        gelus += strcmp(it->op->name, "gelu") == 0;
    }
    ck_assert_uint_eq(norms, 2 * BLOCKS);
    ck_assert_uint_eq(layer_norms, 1);
    ck_assert_uint_eq(dropouts, 1);
    ck_assert_uint_eq(gelus, 1);
    net_destroy(n);
}
END_TEST

START_TEST(cheap_stays_within_half_a_hundredth_of_the_work)
{
    net *n = make(NET_FP32, REMATERIALIZE_CHEAP);
    ck_assert(rematerialization_of(plan_of(n, PLAN_TRAIN)).work <= 0.005);
    net_destroy(n);
}
END_TEST

START_TEST(plans_without_a_backward_pass_rematerialize_nothing)
{
    net *n = make(NET_FP32, REMATERIALIZE_FULL);
    ck_assert_uint_eq(rematerialization_of(plan_of(n, PLAN_LOSSES)).offered, 0);
    ck_assert_uint_eq(rematerialization_of(plan_of(n, PLAN_EVAL)).offered, 0);
    net_destroy(n);
}
END_TEST

/* What is stored in 16 bits at once, or beside F32, has them again. */
START_TEST(dtypes_are_those_of_before)
{
    const tutti_desc x = toy_desc(TUTTI_F32, 2, 256, 64, 0, 0);
    const tutti_desc w = toy_desc(TUTTI_F32, 2, 64, 64, 0, 0);
    const tutti_desc line = toy_desc(TUTTI_F32, 1, 64, 0, 0, 0);
    graph *g = graph_create(tutti_op_table, TUTTI_MODE_TRAIN, NULL);
    tutti_graph *b = graph_builder(g);
    tutti_error err = TUTTI_ERROR_INIT;
    const tutti_attr eps = tutti_attr_f("eps", 0.25);
    tutti_value out[4];
    const tutti_value h =
        tutti_matmul(b, graph_input(g, &x), graph_weight(g, 7, &w, true), 0, 0, 0);
    const tutti_value in[3] = {h, graph_weight(g, 8, &line, true),
                               graph_weight(g, 9, &line, true)};
    (void)b->emit(b, _i ? "layer_norm_cast" : "layer_norm", in, 3, &eps, 1, out, _i ? 4 : 3);
    const tutti_value low = _i ? out[3] : out[0];
    graph_set_dtype(g, low, TUTTI_BF16);
    graph_set_segment(g, 1);
    const tutti_value dy = graph_input(g, &x);
    const tutti_value late[5] = {h, dy, in[1], out[1], out[2]};
    (void)tutti_matmul(b, low, dy, 0, 1, 0);
    (void)b->emit(b, "layer_norm_grad", late, 5, NULL, 0, NULL, 0);
    ck_assert_ok(rematerialization_offer(g, NULL, 0, false, &err), err);
    uint32_t rematerialized = 0;
    for (uint32_t k = 0; k < graph_nnodes(g); k++)
        if (graph_node_at(g, k)->recomputes) {
            const graph_node *again = graph_node_at(g, k);
            rematerialized++;
            ck_assert_uint_eq(again->recomputes, low);
            ck_assert_str_eq(again->op->name, "layer_norm");
            ck_assert(*(const double *)again->attr == 0.25); /* eps is all it has */
            ck_assert_int_eq(graph_value_at(g, graph_node_at(g, k)->out)->desc.dtype,
                             TUTTI_BF16);
        }
    ck_assert_uint_eq(rematerialized, 1);
    graph_destroy(g);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("recompute");
    TCase *t = tcase_create("recompute");
    tcase_add_loop_test(t, the_bits_are_the_same_and_the_arena_is_smaller, 0, 2);
    tcase_add_test(t, the_interpreter_agrees);
    tcase_add_test(t, what_is_cheap_is_offered_once_a_result);
    tcase_add_test(t, cheap_stays_within_half_a_hundredth_of_the_work);
    tcase_add_test(t, plans_without_a_backward_pass_rematerialize_nothing);
    tcase_add_loop_test(t, dtypes_are_those_of_before, 0, 2);
    suite_add_tcase(suite, t);
    return tutti_run(suite);
}
