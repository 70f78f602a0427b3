/* layers_test.c - layers as the host runs them against the numbers that record.py prints. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/surgery/surgery.h"
#include "made.h"
#include "made_plans.h"

#include "tutti/ops.h"

enum { B = 2, T = 3, C = 4, INNER = 6, N = B * T * C };

/* composer 0.32.1, torch 2.7.0, in f64: BERTGatedFFOutput(4, 6, 0, gelu, 1e-12, False, True). */
static const double want_unit[N] = {
    0.463256437, -0.596028256, 0.0399274047, 0.0122548138, 0.228371319,  -1.04966763,
    0.152723797, 0.410281033,  0.461967807,  -0.601187823, 0.0396271688, 0.0109963161,
    0.229455456, -1.04909507,  0.153037772,  0.409494696,  0.330294566,  -0.170488939,
    0.149813825, 0.698396898,  0.228996182,  -1.05243227,  0.152330903,  0.40692826};

static made m;
static tutti_module unit;

static void fill(float *x, int64_t n, int seed)
{
    for (int64_t k = 0; k < n; k++)
        x[k] = (float)((double)((k * 37 + seed * 11) % 101) / 101.0 - 0.5);
}

static void add(const char *name, const char *kind, const tutti_attr *attr, uint32_t nattr)
{
    const tutti_module_v1 *s = net_modules(m.net);
    tutti_module child;
    ck_assert_ok(s->create(s->ctx, kind, attr, nattr, &child, &err), err);
    ck_assert_ok(s->add(s->ctx, unit, name, child, &err), err);
}

static void add_linear(const char *name, int64_t in, int64_t out, int32_t bias)
{
    const tutti_attr attr[3] = {tutti_attr_i("in_features", in),
                                tutti_attr_i("out_features", out), tutti_attr_i("bias", bias)};
    add(name, "linear", attr, 3);
}

static tutti_status build_unit(void *self, tutti_module root, const tutti_column *columns,
                               uint32_t ncolumns, tutti_error *e)
{
    const tutti_module_v1 *s = net_modules(m.net);
    const tutti_attr norm[2] = {tutti_attr_i("num_features", C), tutti_attr_f("eps", 1e-12)};
    (void)self, (void)columns, (void)ncolumns, (void)e;
    ck_assert_ok(s->create(s->ctx, "bert_gated_output", NULL, 0, &unit, &err), err);
    ck_assert_ok(s->add(s->ctx, root, "unit", unit, &err), err);
    add_linear("gated_layer", C, INNER, 0);
    add_linear("non_gated_layer", C, INNER, 1);
    add_linear("wo", INNER, C, 1);
    add("layernorm", "layer_norm", norm, 2);
    add("act", "gelu", NULL, 0);
    return TUTTI_OK;
}

/* in[0] what the unit reads, in[1] the residual. */
static tutti_status trace_unit(void *self, tutti_graph *g, tutti_module root,
                               const tutti_value *in, uint32_t nin, tutti_value *out,
                               uint32_t nout)
{
    (void)self, (void)root;
    return g->call(g, unit, in, nin, out, nout);
}

static tutti_value loss_of_unit(void *self, tutti_graph *g, const tutti_value *outputs,
                                uint32_t noutputs, const tutti_value *targets,
                                uint32_t ntargets, int32_t reduction)
{
    (void)self, (void)noutputs, (void)targets, (void)ntargets, (void)reduction;
    return tutti_reduce(g, "mean", outputs[0], NULL, 0, 0);
}

static const char *const inputs[] = {"input", "residual", NULL}, *const targets[] = {NULL};
static const tutti_model_v1 table = {.struct_size = sizeof table,
                                     .noutputs = 1,
                                     .inputs = inputs,
                                     .targets = targets,
                                     .build = build_unit,
                                     .trace = trace_unit,
                                     .loss = loss_of_unit};

START_TEST(a_gated_linear_unit_gives_upstreams_numbers)
{
    static const char *const weights[] = {"unit.gated_layer.weight",
                                          "unit.non_gated_layer.weight",
                                          "unit.non_gated_layer.bias",
                                          "unit.wo.weight",
                                          "unit.wo.bias",
                                          "unit.layernorm.weight",
                                          "unit.layernorm.bias"};
    const tutti_desc shape = {{B, T, C}, 3, TUTTI_F32};
    const model_impl model = {&table, NULL, NULL, "unit", NULL};
    const plan_request request = {.kind = PLAN_EVAL, .ninputs = 2, .inputs = {shape, shape}};
    const tutti_step step = {sizeof step, 0, 5, 0, 0};
    plan *p;
    make(&m, "{\"name\":\"mlp\"}", NULL, 0); /* for its registry and net */
    ck_assert_ok(net_build_model(m.net, &model, NULL, 0, &err), err);
    ck_assert_ok(net_commit(m.net, &err), err);
    for (int k = 0; k < 7; k++)
        for (uint32_t j = 0; j < net_weight_count(m.net); j++)
            if (strcmp(net_weight(m.net, j)->path, weights[k]) == 0)
                fill(net_weight(m.net, j)->data.data,
                     tutti_numel(&net_weight(m.net, j)->data.desc), k + 1);
    ck_assert_ok(net_plan(m.net, &request, &p, &err), err);
    fill(plan_input(p, 0).data, N, 8);
    fill(plan_input(p, 1).data, N, 9);
    ck_assert_ok(plan_run(p, SEGMENT_FORWARD, &step, 1.0f, &err), err);
    ck_close_all("the unit", plan_output(p, 0).data, want_unit, N, 1e-3, 3e-6);
    unmake(&m);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("peers");
    TCase *t = tcase_create("all");
    tcase_add_test(t, a_gated_linear_unit_gives_upstreams_numbers);
    suite_add_tcase(suite, t);
    return tutti_run(suite);
}
