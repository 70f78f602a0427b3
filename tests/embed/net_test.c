/* net_test.c - models of plugins in supervised loops of a program that links libtutti alone. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "tutti/rng.h"
#include "tutti_check.h"
#include "tutti_host/net.h"

#include <unistd.h>

enum { B = 64, ALL = 2 * B };

/* Points of a square; whether they lie in a circle.  `shift` floats before them spoil their alignment. */
typedef struct points {
    _Alignas(64) float at[2 * ALL + 1];
    _Alignas(64) int32_t inside[ALL];
    tutti_tensor x, y;
    const tutti_tensor *batch[2];
    uint64_t drawn;
    int shift;
} points;

static tutti_error err;

static tutti_status draw(void *ctx, void **ret_batch, tutti_error *e)
{
    points *p = ctx;
    float *at = p->at + p->shift;
    tutti_stream r = tutti_stream_at(7, TUTTI_RNG_PLUGIN, p->drawn++, 0);
    for (int k = 0; k < 2 * B; k++)
        at[k] = (float)tutti_stream_uniform(&r);
    for (int k = 0; k < B; k++)
        p->inside[k] = at[2 * k] * at[2 * k] + at[2 * k + 1] * at[2 * k + 1] < 0.6f;
    p->x = (tutti_tensor){at, {{B, 2}, 2, TUTTI_F32}, TUTTI_DEVICE_CPU, 0};
    p->y = (tutti_tensor){p->inside, {{B}, 1, TUTTI_I32}, TUTTI_DEVICE_CPU, 0};
    p->batch[0] = &p->x;
    p->batch[1] = &p->y;
    *ret_batch = p->batch;
    return TUTTI_OK;
}

static const tutti_column columns[] = {{"input", {{2}, 1, TUTTI_F32}, 0},
                                       {"target", {{0}, 0, TUTTI_I32}, 2}};

static tutti_net_options settings(const char *model, const char *optimizer)
{
    tutti_net_options o = TUTTI_NET_INIT;
    memset(&err, 0, sizeof err);
    o.model = model;
    o.optimizer = optimizer;
    o.columns = columns;
    o.ncolumns = 2;
    o.threads = 1;
    o.seed = 3;
    return o;
}

static const char mlp[] = "{\"name\": \"mlp\", \"hidden\": [32, 32]}";
static const char adamw[] = "{\"name\": \"adamw\", \"lr\": 0.01}";

static tutti_net *open_net(const tutti_net_options *o)
{
    tutti_net *n = NULL;
    ck_assert_ok(tutti_net_open(o, &n, &err), err);
    return n;
}

static void run(tutti_supervised *s, points *p, int64_t batches)
{
    const tutti_loop_data data = {.ctx = p, .next = draw};
    tutti_loop_run_args args = TUTTI_LOOP_RUN_INIT;
    args.data = &data;
    args.epoch_length = batches;
    tutti_loop_get_state(tutti_supervised_loop(s))->max_epochs = TUTTI_LOOP_NONE; /* anew */
    ck_assert_ok(tutti_loop_run(tutti_supervised_loop(s), &args, &err), err);
}

static void train(tutti_net *n, int32_t step, int shift, int64_t batches)
{
    static points p;
    tutti_supervised_options o = TUTTI_SUPERVISED_INIT;
    tutti_supervised *s = NULL;
    memset(&p, 0, sizeof p);
    p.shift = shift;
    o.step = step;
    o.precision = step == TUTTI_STEP_AMP ? TUTTI_PRECISION_BF16 : TUTTI_PRECISION_F32;
    ck_assert_ok(tutti_supervised_trainer(tutti_net_model(n), &o, &s, &err), err);
    run(s, &p, batches);
    tutti_supervised_destroy(s);
}

/* The share of new points that the net judges right, by the metric of a plugin. */
static double accuracy(tutti_net *n)
{
    static points p;
    tutti_supervised_options o = TUTTI_SUPERVISED_INIT;
    tutti_supervised_metric metric;
    tutti_supervised *s = NULL;
    memset(&p, 0, sizeof p);
    p.drawn = 1000;
    ck_assert_ok(tutti_net_metric(n, "{\"name\": \"accuracy\"}", &metric, &err), err);
    o.metrics = &metric;
    o.nmetrics = 1;
    ck_assert_ok(tutti_supervised_evaluator(tutti_net_model(n), &o, &s, &err), err);
    run(s, &p, 8);
    const double value = tutti_loop_metric(tutti_supervised_loop(s), "accuracy");
    tutti_supervised_destroy(s);
    return value;
}

static void same(const tutti_net *a, const tutti_net *b)
{
    uint32_t k = 0;
    const tutti_weight *x, *y;
    for (; (x = tutti_net_weight(a, k)) && (y = tutti_net_weight(b, k)); k++) {
        ck_assert_str_eq(x->path, y->path);
        ck_assert_mem_eq(x->data.data, y->data.data, tutti_nbytes(&x->data.desc));
    }
    ck_assert_int_eq(k, 6);
    ck_assert_ptr_null(tutti_net_weight(b, k));
}

START_TEST(a_model_of_a_plugin_learns)
{
    tutti_net_options o = settings(mlp, adamw);
    tutti_net *n = open_net(&o);
    ck_assert_double_lt(accuracy(n), 0.8);
    train(n, TUTTI_STEP_PLAIN, 0, 200);
    ck_assert_double_gt(accuracy(n), 0.95);
    tutti_net_close(n);
}
END_TEST

START_TEST(so_it_does_in_sixteen_bits)
{
    tutti_net_options o = settings(mlp, adamw);
    o.precision = TUTTI_PRECISION_BF16;
    tutti_net *n = open_net(&o);
    train(n, TUTTI_STEP_AMP, 0, 200);
    ck_assert_double_gt(accuracy(n), 0.95);
    tutti_net_close(n);
}
END_TEST

/* An evaluation in bf16 keeps weights packed where the CPU has units for it. */
START_TEST(weights_that_the_program_writes_are_those_of_the_next_evaluation)
{
    tutti_net_options o = settings("{\"name\": \"mlp\", \"hidden\": [128, 128]}", adamw);
    o.precision = TUTTI_PRECISION_BF16;
    tutti_net *n = open_net(&o);
    uint32_t written = 0;
    train(n, TUTTI_STEP_AMP, 0, 200);
    const double before = accuracy(n);
    ck_assert_double_gt(before, 0.95);
    const tutti_weight *w;
    for (uint32_t k = 0; (w = tutti_net_weight(n, k)); k++)
        if (tutti_numel(&w->data.desc) == 128 * 128) {
            memset(w->data.data, 0, tutti_nbytes(&w->data.desc));
            written++;
        }
    ck_assert_uint_eq(written, 1);
    ck_assert_double_lt(accuracy(n), 0.8); /* one answer for all points */
    tutti_net_close(n);
}
END_TEST

START_TEST(what_is_saved_is_loaded_by_its_names)
{
    char path[] = "/tmp/embed_net_XXXXXX";
    tutti_net_options o = settings(mlp, adamw);
    tutti_net *a = open_net(&o);
    o.seed = 4;
    o.optimizer = NULL;
    tutti_net *b = open_net(&o);
    const int file = mkstemp(path);
    ck_assert_int_ge(file, 0);
    (void)close(file);
    train(a, TUTTI_STEP_PLAIN, 0, 100);
    ck_assert_double_ne(accuracy(a), accuracy(b));
    ck_assert_ok(tutti_net_save(a, path, &err), err);
    ck_assert_ok(tutti_net_load(b, path, &err), err);
    same(a, b);
    ck_assert_double_eq(accuracy(a), accuracy(b));
    (void)unlink(path);
    ck_assert_int_eq(tutti_net_load(b, path, &err), TUTTI_E_IO);
    tutti_net_close(a);
    tutti_net_close(b);
}
END_TEST

START_TEST(batches_may_lie_anywhere)
{
    tutti_net_options o = settings(mlp, adamw);
    tutti_net *a = open_net(&o), *b = open_net(&o);
    train(a, TUTTI_STEP_PLAIN, 0, 10);
    train(b, TUTTI_STEP_PLAIN, 1, 10);
    same(a, b);
    tutti_net_close(a);
    tutti_net_close(b);
}
END_TEST

START_TEST(the_learning_rate_is_the_programs)
{
    tutti_net_options o = settings(mlp, "{\"name\": \"sgd\", \"lr\": 0.5, \"momentum\": 0}");
    tutti_net *a = open_net(&o), *b = open_net(&o);
    ck_assert_double_eq(tutti_net_lr(a), 0.5);
    tutti_net_set_lr(a, 0.0);
    train(a, TUTTI_STEP_PLAIN, 0, 5);
    same(a, b);
    tutti_net_set_lr(a, 0.01);
    train(a, TUTTI_STEP_PLAIN, 0, 5);
    o.optimizer = "{\"name\": \"sgd\", \"lr\": 0.01, \"momentum\": 0}";
    tutti_net_close(b);
    b = open_net(&o);
    train(b, TUTTI_STEP_PLAIN, 0, 5);
    same(a, b);
    tutti_net_close(a);
    tutti_net_close(b);
}
END_TEST

static const tutti_column masked[] = {{"input", {{16}, 1, TUTTI_I32}, 100},
                                      {"target", {{16}, 1, TUTTI_I32}, 100},
                                      {"attention_mask", {{16}, 1, TUTTI_U8}, 0}};

static const struct {
    const char *model, *optimizer;
    uint32_t ncolumns;
    tutti_status status;
    const char *want; /* in the sentence */
} wrong[] = {
    {"{\"name\": \"mpl\"}", adamw, 2, TUTTI_E_NOTFOUND, "did you mean mlp?"},
    {"{\"name\": \"mlp\", \"hiden\": []}", adamw, 2, TUTTI_E_ARG,
     "model:1: hiden: mlp has no such setting; did you mean hidden?"},
    {"{\"hidden\": []}", adamw, 2, TUTTI_E_ARG,
     "model: want an object with its name, such as {\"name\": \"...\"}"},
    {"{\"name\": ", adamw, 2, TUTTI_E_FORMAT, "model:1: "},
    {mlp, "{\"name\": \"adamw\", \"lr\": -1}", 2, TUTTI_E_ARG, "optimizer:1: lr: is -1"},
    {"{\"name\": \"mlp\", \"num_classes\": 2}", adamw, 1, TUTTI_E_NOTFOUND,
     "mlp: the data has no column \"target\", which the model needs"},
    {"{\"name\": \"bert\"}", adamw, 3, TUTTI_E_ARG,
     "model bert takes several inputs or targets, want one of each"},
    {NULL, adamw, 2, TUTTI_E_ARG, "the options name no model"},
};

START_TEST(what_is_wrong_is_a_sentence)
{
    tutti_net_options o = settings(wrong[_i].model, wrong[_i].optimizer);
    tutti_net *n = NULL;
    o.ncolumns = wrong[_i].ncolumns;
    o.columns = o.ncolumns == 3 ? masked : columns;
    const tutti_status s = tutti_net_open(&o, &n, &err);
    ck_assert_msg(strstr(err.text, wrong[_i].want) != NULL, "%s", err.text);
    ck_assert_int_eq(s, wrong[_i].status);
    ck_assert_ptr_null(n);
}
END_TEST

START_TEST(options_without_their_beginning_are_refused)
{
    tutti_net_options o = settings(mlp, adamw);
    tutti_net *n = NULL;
    o.struct_size = 8;
    ck_assert_int_eq(tutti_net_open(&o, &n, &err), TUTTI_E_ARG);
    ck_assert_msg(strstr(err.text, "begin with TUTTI_NET_INIT") != NULL, "%s", err.text);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("net");
    TCase *tc = tcase_create("all");
    suite_add_tcase(suite, tc);
    tcase_add_test(tc, a_model_of_a_plugin_learns);
    tcase_add_test(tc, so_it_does_in_sixteen_bits);
    tcase_add_test(tc, weights_that_the_program_writes_are_those_of_the_next_evaluation);
    tcase_add_test(tc, what_is_saved_is_loaded_by_its_names);
    tcase_add_test(tc, batches_may_lie_anywhere);
    tcase_add_test(tc, the_learning_rate_is_the_programs);
    tcase_add_loop_test(tc, what_is_wrong_is_a_sentence, 0, sizeof wrong / sizeof *wrong);
    tcase_add_test(tc, options_without_their_beginning_are_refused);
    return tutti_run(suite);
}
