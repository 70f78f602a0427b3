/* low_norms_test.c - norms of 16 bits as the host trains them against those of Composer, in low_norms.json. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "made.h"
#include "made_plans.h"

#include "base/json.h"
#include "graph/surgery/surgery.h"
#include "tutti/ops.h"

enum { B = 4, P = 5, C = 8, N = B * P * C, GROUPS = 2, FILE_LIMIT = 1 << 20 };

static const tutti_desc shape = {{B, P, C}, 3, TUTTI_F32};
static made m;
static tutti_module norm;

static void fill(float *x, int64_t n, int seed)
{
    for (int64_t k = 0; k < n; k++)
        x[k] = (float)((double)((k * 37 + seed * 11) % 101) / 101.0 - 0.5);
}

/* ---- a model of the norm alone, whose input is moved by a weight of zeros that gets the input's gradient ---- */

static const char *layer; /* its kind */

static tutti_status build_norm(void *self, tutti_module root, const tutti_column *columns,
                               uint32_t ncolumns, tutti_error *e)
{
    const tutti_module_v1 *s = net_modules(m.net);
    const int groups = strcmp(layer, "low_precision_group_norm") == 0;
    const tutti_attr attr[3] = {tutti_attr_i(groups ? "num_channels" : "num_features", C),
                                tutti_attr_f("eps", 1e-3), tutti_attr_i("num_groups", GROUPS)};
    const tutti_init zero = {.kind = TUTTI_INIT_CONSTANT};
    (void)self, (void)columns, (void)ncolumns, (void)e;
    ck_assert_ok(s->weight(s->ctx, root, "x", &shape, &zero, TUTTI_WEIGHT_TRAINABLE, &err),
                 err);
    ck_assert_ok(s->create(s->ctx, layer, attr, groups ? 3 : 2, &norm, &err), err);
    return s->add(s->ctx, root, "norm", norm, &err);
}

static tutti_status trace_norm(void *self, tutti_graph *g, tutti_module root,
                               const tutti_value *in, uint32_t nin, tutti_value *out,
                               uint32_t nout)
{
    const tutti_value x = tutti_add(g, in[0], g->weight(g, root, "x"));
    (void)self, (void)nin;
    return g->call(g, norm, &x, 1, out, nout);
}

/* Its gradient for the output is the target. */
static tutti_value loss_of_norm(void *self, tutti_graph *g, const tutti_value *outputs,
                                uint32_t noutputs, const tutti_value *targets,
                                uint32_t ntargets, int32_t reduction)
{
    (void)self, (void)noutputs, (void)ntargets, (void)reduction;
    return tutti_reduce(g, "sum", tutti_mul(g, outputs[0], targets[0]), NULL, 0, 0);
}

static const char *const inputs[] = {"input", NULL}, *const targets[] = {"target", NULL};
static const tutti_model_v1 table = {.struct_size = sizeof table,
                                     .noutputs = 1,
                                     .inputs = inputs,
                                     .targets = targets,
                                     .build = build_norm,
                                     .trace = trace_norm,
                                     .loss = loss_of_norm};

/* ---- the run's precision ---- */

static const char *precision;

static const char *tell_precision(void *ctx)
{
    (void)ctx;
    return precision;
}

static const tutti_state_v1 state = {.struct_size = sizeof state, .precision = tell_precision};

/* ---- recorded numbers ---- */

static const weight *found(const char *path)
{
    for (uint32_t k = 0; k < m.net->tree.nweights; k++)
        if (strcmp(m.net->tree.weights[k]->path, path) == 0)
            return m.net->tree.weights[k];
    ck_abort_msg("there is no weight %s", path);
    return NULL;
}

/* Nowhere further than `tolerance` of the largest; returns how many are not the same number. */
static int count_apart(const char *what, const float *got, const json_node *want,
                       double tolerance)
{
    double numbers[N] = {0};
    const int n = (int)json_count(want);
    int apart = 0;
    ck_assert_int_le(n, N);
    for (int k = 0; k < n; k++) {
        numbers[k] = json_real(json_at(want, (size_t)k));
        apart += got[k] != (float)numbers[k];
    }
    ck_close_all(what, got, numbers, n, 0.0, tolerance);
    return apart;
}

static plan *train(void)
{
    const model_impl model = {&table, NULL, NULL, "norm", NULL};
    const plan_request request = {
        .kind = PLAN_TRAIN, .ninputs = 1, .ntargets = 1, .inputs = {shape}, .targets = {shape}};
    const tutti_step step = {sizeof step, 0, 5, 0, 0};
    plan *p;
    ck_assert_ok(net_build_model(m.net, &model, NULL, 0, &err), err);
    ck_assert_ok(net_commit(m.net, &err), err);
    fill(found("norm.weight")->data, C, 2);
    fill(found("norm.bias")->data, C, 3);
    ck_assert_ok(net_plan(m.net, &request, &p, &err), err);
    fill(plan_input(p, 0).data, N, 1);
    fill(plan_target(p, 0).data, N, 4);
    for (int segment = 0; segment < 3; segment++)
        ck_assert_ok(plan_run(p, segment, &step, 1.0f, &err), err);
    return p;
}

/* Outputs are the same numbers but where a sum in another order falls on the other side of a half.  Upstream rounds
 * gradients of weights, and the mean and deviation that the input's gradient is made of, to 16 bits too. */
static void check_case(const json_node *c)
{
    layer = json_string(json_get(c, "layer"));
    precision = json_string(json_get(c, "precision"));
    const int bf16 = strcmp(precision, "amp_bf16") == 0;
    const double half = bf16 ? 0x1p-8 : 0x1p-11; /* of a unit in the last place, at most */
    make(&m, "{\"name\":\"mlp\"}", NULL, 0);     /* for its registry and net */
    m.state = &state;
    m.net->options.precision = bf16 ? NET_AMP_BF16 : NET_AMP_FP16;
    plan *p = train();
    ck_assert_int_le(count_apart("y", plan_output(p, 0).data, json_get(c, "y"), 2.0 * half), 2);
    (void)count_apart("dx", found("x")->grad, json_get(c, "dx"), 2.0 * half);
    (void)count_apart("dweight", found("norm.weight")->grad, json_get(c, "dweight"),
                      4.0 * half);
    (void)count_apart("dbias", found("norm.bias")->grad, json_get(c, "dbias"), 4.0 * half);
    unmake(&m);
}

START_TEST(outputs_and_gradients_are_those_of_composer)
{
    json_doc *doc;
    memset(&err, 0, sizeof err);
    ck_assert_ok(json_read(LOW_NORMS_FILE, FILE_LIMIT, &doc, &err), err);
    const json_node *cases = json_get(json_root(doc), "cases");
    ck_assert_uint_eq(json_count(cases), 4);
    check_case(json_at(cases, (size_t)_i));
    json_free(doc);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("low_norms");
    TCase *t = tcase_create("all");
    tcase_add_loop_test(t, outputs_and_gradients_are_those_of_composer, 0, 4);
    suite_add_tcase(suite, t);
    return tutti_run(suite);
}
