/* losses_test.c - the losses of plugins in plans: against torch's recorded numbers and gradients, against f64, for
 * batches, samples and evaluations; which outputs and targets they refuse. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "toy_model.h" /* before made.h, whose `err` its own would hide */

#include "base/json.h"
#include "made.h"
#include "made_plans.h"

#include <stdlib.h>

enum { FILE_LIMIT = 1 << 20, MOST_NUMBERS = 256 };

/* The output is the weight "x" itself, so that its gradient is the loss's for the output. */
typedef struct bench {
    made made;
    toy_weight weights[2];
    toy_model model;
    instance *loss;
} bench;

static tutti_value trace_x(tutti_graph *g, tutti_module m, const tutti_value *inputs)
{
    return tutti_affine(g, g->weight(g, m, "x"), 1.0, 0.0);
}

static tutti_value no_loss(tutti_graph *g, tutti_value y, tutti_value target)
{
    (void)y, (void)target;
    (void)(g->fail)(g, TUTTI_E_STATE,
                    "the model's own loss was asked for"); /* Check has a macro fail */
    return 0;
}

static void bench_open(bench *b, const char *json, tutti_desc x)
{
    char path[512];
    const tutti_init zeros = {TUTTI_INIT_CONSTANT, 0, 0.0, 0.0, 0.0, NULL};
    memset(b, 0, sizeof *b);
    memset(&err, 0, sizeof err);
    (void)snprintf(path, sizeof path, "%s/lib/tutti/plugins", getenv("TUTTI_BUILD"));
    ck_assert_int_eq(setenv("TUTTI_PLUGIN_PATH", path, 1), 0);
    const registry_options where = {.trust = TRUST_NONE};
    ck_assert_ok(registry_create(&where, &b->made.plugins, &err), err);
    b->weights[0] = (toy_weight){"x", x, zeros, TUTTI_WEIGHT_TRAINABLE};
    b->model = (toy_model){.weights = b->weights, .trace = trace_x, .loss = no_loss};
    b->made.net = toy_net(tutti_op_table, &b->model);
    b->loss = open_object(&b->made, TUTTI_KIND_LOSS, json);
    ck_assert_msg(b->loss != NULL, "%s", err.text);
    const tutti_loss_v1 *table = instance_query(b->loss, TUTTI_LOSS_V1);
    ck_assert_ok(net_set_loss(b->made.net, table, instance_self(b->loss),
                              instance_name(b->loss), b->loss, &err),
                 err);
}

static void bench_close(bench *b)
{
    net_destroy(b->made.net);
    instance_free(b->loss);
    registry_destroy(b->made.plugins);
}

/* ---- recorded cases ---- */

static tutti_desc desc_of(const json_node *at)
{
    const json_node *shape = json_get(at, "shape");
    const char *dtype = json_string(json_get(at, "dtype"));
    tutti_desc d = {{0},
                    (int32_t)json_count(shape),
                    dtype && strcmp(dtype, "i32") == 0 ? TUTTI_I32 : TUTTI_F32};
    for (size_t k = 0; k < json_count(shape); k++)
        d.dim[k] = json_int(json_at(shape, k));
    return d;
}

static void fill(tutti_tensor t, const json_node *data)
{
    ck_assert_int_eq(tutti_numel(&t.desc), (int64_t)json_count(data));
    for (size_t k = 0; k < json_count(data); k++) {
        const double value = json_real(json_at(data, k));
        if (t.desc.dtype == TUTTI_I32)
            ((int32_t *)t.data)[k] = (int32_t)value;
        else
            ((float *)t.data)[k] = (float)value;
    }
}

/* f32 sums of some dozen numbers are right to 1e-6 of the largest. */
static void check_numbers(const char *what, const float *got, const json_node *want)
{
    double numbers[MOST_NUMBERS] = {0};
    const size_t n = json_count(want);
    ck_assert_uint_le(n, MOST_NUMBERS);
    for (size_t k = 0; k < n; k++)
        numbers[k] = json_real(json_at(want, k));
    ck_close_all(what, got, numbers, (int64_t)n, 0.05, 2e-6);
}

static plan *run_case(bench *b, const json_node *c, int kind)
{
    const tutti_desc x = desc_of(json_get(c, "x"));
    plan *p = toy_plan(b->made.net, kind, toy_desc(TUTTI_F32, 1, x.dim[0], 0, 0, 0),
                       desc_of(json_get(c, "y")));
    toy_fill(plan_input(p, 0), 1);
    fill(plan_target(p, 0), json_get(json_get(c, "y"), "data"));
    toy_run(p, 1.0f);
    return p;
}

static void check_case(const json_node *c)
{
    static bench b;
    char *json = json_text(json_get(c, "loss"));
    char what[256];
    bench_open(&b, json, desc_of(json_get(c, "x")));
    fill(net_weight(b.made.net, 0)->data, json_get(json_get(c, "x"), "data"));
    const float want = (float)json_real(json_get(c, "want"));

    plan *p = run_case(&b, c, PLAN_TRAIN);
    (void)snprintf(what, sizeof what, "the loss of %s", json);
    const double loss = (double)want;
    ck_close_all(what, plan_loss(p).data, &loss, 1, 0.05, 2e-6);
    (void)snprintf(what, sizeof what, "the gradient of %s", json);
    check_numbers(what, net_weight(b.made.net, 0)->grad, json_get(c, "gradient"));
    toy_compare(p, 1.0f, 2e-6);

    (void)snprintf(what, sizeof what, "the losses of samples of %s", json);
    check_numbers(what, plan_loss(run_case(&b, c, PLAN_LOSSES)).data, json_get(c, "each"));
    (void)snprintf(what, sizeof what, "the evaluation of %s", json);
    ck_close_all(what, plan_loss(run_case(&b, c, PLAN_EVAL)).data, &loss, 1, 0.05, 2e-6);
    bench_close(&b);
    free(json);
}

START_TEST(numbers_and_gradients_are_those_of_torch)
{
    json_doc *doc;
    memset(&err, 0, sizeof err);
    ck_assert_ok(json_read(LOSSES_FILE, FILE_LIMIT, &doc, &err), err);
    const json_node *cases = json_get(json_root(doc), "cases");
    ck_assert_uint_gt(json_count(cases), 90);
    for (size_t k = 0; k < json_count(cases); k++)
        check_case(json_at(cases, k));
    json_free(doc);
}
END_TEST

/* ---- what does not fit ---- */

typedef struct misfit {
    const char *json;
    tutti_desc x, y;
    const char *text;
} misfit;

static const misfit misfits[] = {
    {"{\"name\":\"mse\"}",
     {{4, 3}, 2, TUTTI_F32},
     {{4}, 1, TUTTI_I32},
     "mse: the output is F32 (4, 3) and the target I32 (4), want a number for each of the "
     "output's; of classes cross_entropy, focal or multi_margin fits these"},
    {"{\"name\":\"cross_entropy\"}",
     {{4, 1}, 2, TUTTI_F32},
     {{4}, 1, TUTTI_F32},
     "cross_entropy: the output is F32 (4, 1) and the target F32 (4), want classes (B, ...) or "
     "F32 "
     "probabilities (B, ..., N); of numbers mse, l1, smooth_l1, huber or bce_with_logits fits "
     "these"},
    {"{\"name\":\"focal\",\"weight\":[1,2]}",
     {{4, 3}, 2, TUTTI_F32},
     {{4}, 1, TUTTI_I32},
     "focal: weight has 2 numbers, and the output has 3 classes"},
    {"{\"name\":\"bce_with_logits\",\"pos_weight\":[1,2]}",
     {{4, 3}, 2, TUTTI_F32},
     {{4, 3}, 2, TUTTI_F32},
     "bce_with_logits: pos_weight has 2 numbers, and the output has 3 labels"},
    {"{\"name\":\"bce_with_logits\",\"weight\":[1,2]}",
     {{4, 3}, 2, TUTTI_F32},
     {{4, 3}, 2, TUTTI_F32},
     "bce_with_logits: weight has 2 numbers, and the output has 3 labels"},
    {"{\"name\":\"huber\"}",
     {{4, 3}, 2, TUTTI_F32},
     {{4, 2}, 2, TUTTI_F32},
     "huber: the output is F32 (4, 3) and the target F32 (4, 2), want a number for each of the "
     "output's; no loss fits these: the model wants another head, or the data another target"},
    {"{\"name\":\"triplet\"}",
     {{4, 2, 3}, 3, TUTTI_F32},
     {{4}, 1, TUTTI_I32},
     "triplet: 1 output, the first of which is F32 (4, 2, 3), want F32 (B, 3, D), or 3 outputs "
     "(B, D); the model siamese with \"parts\": 3 has that"},
    {"{\"name\":\"cosine_embedding\"}",
     {{4, 2, 3}, 3, TUTTI_F32},
     {{4, 2}, 2, TUTTI_I32},
     "cosine_embedding: the target is I32 (4, 2), want a number for each pair: 1 or -1"},
    {"{\"name\":\"ctc\"}",
     {{4, 3}, 2, TUTTI_F32},
     {{4}, 1, TUTTI_I32},
     "ctc: the output is F32 (4, 3) and the target I32 (4), want F32 (B, T, N) and classes (B, "
     "S); the model cnn with \"columns\": true has a row of outputs for each step"},
};

START_TEST(a_target_that_does_not_fit_is_refused)
{
    const misfit *m = &misfits[_i];
    static bench b;
    plan *p;
    bench_open(&b, m->json, m->x);
    const plan_request request = {.kind = PLAN_TRAIN,
                                  .ninputs = 1,
                                  .ntargets = 1,
                                  .inputs = {toy_desc(TUTTI_F32, 1, m->x.dim[0], 0, 0, 0)},
                                  .targets = {m->y}};
    ck_assert_int_eq(net_plan(b.made.net, &request, &p, &err), TUTTI_E_SHAPE);
    ck_assert_error(err, TUTTI_E_SHAPE, m->text);
    bench_close(&b);
}
END_TEST

START_TEST(there_is_one_loss_in_the_models_place)
{
    static bench b;
    bench_open(&b, "{\"name\":\"mse\"}", misfits[0].x);
    const tutti_loss_v1 *table = instance_query(b.loss, TUTTI_LOSS_V1);
    ck_assert_int_eq(
        net_set_loss(b.made.net, table, instance_self(b.loss), "mse", b.loss, &err),
        TUTTI_E_STATE);
    ck_assert_error(err, TUTTI_E_STATE, "mse: there is a loss already");
    bench_close(&b);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("losses");
    TCase *t = tcase_create("all");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, numbers_and_gradients_are_those_of_torch);
    tcase_add_loop_test(t, a_target_that_does_not_fit_is_refused, 0,
                        (int)(sizeof misfits / sizeof *misfits));
    tcase_add_test(t, there_is_one_loss_in_the_models_place);
    suite_add_tcase(suite, t);
    return tutti_run(suite);
}
