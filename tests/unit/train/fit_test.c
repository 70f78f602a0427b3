/* fit_test.c - real fits of small models: events and clocks, fits that go on, microbatches, updates. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/counts.h"
#include "base/faults.h"
#include "op_table.h"
#include "train/checkpoint/resume.h"
#include "train/checkpoint_file/checkpoint.h"
#include "train/step/trainer_state.h"
#include "train/trainer/services.h"
#include "train/trainer/trainer.h"
#include "tutti_check.h"

#include <limits.h>
#include <stdio.h>
#include <unistd.h>

static registry *plugins;
static const char *const *changes; /* to the run file, as --set makes them */

typedef struct fitting {
    run_file *run;
    trainer *t;
    char told[8192]; /* names of the training events so far */
    int64_t counts[COMPOSER_EVENT_END];
    int32_t stop_at; /* the event at which training is stopped */
    int64_t stop_batch;
} fitting;

static void start(void)
{
    char folder[PATH_MAX];
    tutti_error err = TUTTI_ERROR_INIT;
    const char *build = getenv("TUTTI_BUILD");
    ck_assert_ptr_nonnull(build);
    (void)snprintf(folder, sizeof folder, "%s/lib/tutti/plugins", build);
    const char *const paths[] = {folder, NULL};
    const registry_options options = {.plugin_paths = paths, .trust = TRUST_NONE};
    ck_assert_ok(registry_create(&options, &plugins, &err), err);
}

static void end(void)
{
    registry_destroy(plugins);
}

static void watch(void *ctx, const tutti_event *event)
{
    fitting *f = ctx;
    if (event->id >= COMPOSER_EVENT_END)
        return;
    f->counts[event->id]++;
    const size_t used = strlen(f->told);
    (void)snprintf(f->told + used, sizeof f->told - used, "%s ", event->name);
    if (event->id == f->stop_at && f->t->run.clock.now.batch == f->stop_batch)
        f->t->services->state.stop_training(f->t, "the test stops it");
}

/* The run file with `more` members: a comma first.  Samples of glyphs, batches of 8, sgd. */
static tutti_status try_to_open(fitting *f, const char *more, tutti_error *err)
{
    char text[2048];
    (void)snprintf(
        text, sizeof text,
        "{\"name\": \"fit\", \"seed\": 3, \"model\": {\"name\": \"mlp\", \"hidden\": [6]}, "
        "\"train\": {\"dataset\": {\"name\": \"glyphs\", \"samples\": 24}, \"transforms\": "
        "[{\"name\": \"normalize\", \"mean\": [0.1], \"std\": [0.3]}], \"batch_size\": 8, "
        "\"workers\": 1}, \"optimizer\": {\"name\": \"sgd\", \"lr\": 0.1, \"momentum\": 0.9}, "
        "\"threads\": 1%s}",
        more);
    memset(f, 0, sizeof *f);
    f->stop_at = -1;
    faults *wrong = faults_create();
    const tutti_status s =
        run_file_parse("test", text, "/", RUN_FILE_TRAIN, changes, plugins, &f->run, wrong);
    ck_assert_msg(s == TUTTI_OK, "%s", faults_count(wrong) ? faults_text(wrong, 0) : "?");
    faults_destroy(wrong);
    const tutti_status made = trainer_create(f->run, plugins, tutti_op_table, &f->t, err);
    if (made == TUTTI_OK)
        engine_watch(trainer_engine(f->t), watch, f);
    return made;
}

static void opened(fitting *f, const char *more)
{
    tutti_error err = TUTTI_ERROR_INIT;
    ck_assert_ok(try_to_open(f, more, &err), err);
}

/* One whose weights are looked at before it begins. */
static void opened_with_values(fitting *f, const char *more)
{
    tutti_error err = TUTTI_ERROR_INIT;
    opened(f, more);
    ck_assert_ok(net_fill_weights(f->t->run.net, &err), err);
}

static void closed(fitting *f)
{
    trainer_destroy(f->t);
    run_file_free(f->run);
}

static void fit(fitting *f, int64_t count, int32_t unit)
{
    tutti_error err = TUTTI_ERROR_INIT;
    const fit_options o = {.duration = {count, 0.0, unit, 0}};
    ck_assert_ok(trainer_fit(f->t, &o, &err), err);
}

static void ck_assert_same_weights(const fitting *a, const fitting *b, double tolerance)
{
    ck_assert_uint_eq(net_weight_count(a->t->run.net), net_weight_count(b->t->run.net));
    for (uint32_t k = 0; k < net_weight_count(a->t->run.net); k++) {
        const tutti_weight *w = net_weight(a->t->run.net, k), *v = net_weight(b->t->run.net, k);
        for (int64_t i = 0; i < tutti_numel(&w->data.desc); i++)
            ck_assert_close(((const float *)w->data.data)[i], ((const float *)v->data.data)[i],
                            tolerance);
    }
}

START_TEST(the_events_of_a_fit_come_in_upstreams_order)
{
    static const char one[] =
        "before_dataloader after_dataloader batch_start before_train_batch "
        "before_forward after_forward before_loss after_loss before_backward after_backward "
        "before_forward after_forward before_loss after_loss before_backward after_backward "
        "after_train_batch batch_end batch_checkpoint ";
    char want[4096];
    fitting f;
    opened(&f, ", \"max_duration\": \"1ep\", \"microbatch_size\": 4, \"eval\": [{\"label\": "
               "\"test\", \"dataset\": {\"name\": \"glyphs\", \"samples\": 8}, \"transforms\": "
               "[{\"name\": \"normalize\", \"mean\": [0.1], \"std\": [0.3]}], \"batch_size\": "
               "8, \"workers\": 1}]");
    fit(&f, 0, TUTTI_UNIT_NONE);
    (void)snprintf(want, sizeof want,
                   "init before_load after_load fit_start iteration_start epoch_start "
                   "%s%s%sbefore_dataloader epoch_end eval_before_all eval_start "
                   "eval_batch_start eval_before_forward eval_after_forward eval_batch_end "
                   "eval_end eval_after_all epoch_checkpoint fit_end ",
                   one, one, one);
    ck_assert_str_eq(f.told, want);
    ck_assert_int_eq(f.t->run.clock.now.epoch, 1);
    ck_assert_int_eq(f.t->run.clock.now.batch, 3);
    ck_assert_int_eq(f.t->run.clock.now.batch_in_epoch, 0);
    closed(&f);
}
END_TEST

START_TEST(fits_that_go_on_equal_one_that_is_longer)
{
    fitting once, twice, steps;
    opened(&once, ", \"max_duration\": \"2ep\"");
    opened(&twice, ", \"max_duration\": \"1ep\"");
    opened(&steps, ", \"max_duration\": \"2ep\"");
    fit(&once, 0, TUTTI_UNIT_NONE);
    fit(&twice, 0, TUTTI_UNIT_NONE);
    fit(&twice, 1, TUTTI_UNIT_EPOCH);
    for (int k = 0; k < 6; k++)
        fit(&steps, 1, TUTTI_UNIT_BATCH);
    ck_assert_same_weights(&once, &twice, 0.0);
    ck_assert_same_weights(&once, &steps, 0.0);
    ck_assert_int_eq(once.t->run.clock.now.sample, 48);
    ck_assert_int_eq(twice.t->run.clock.now.sample, 48);
    ck_assert_int_eq(twice.counts[TUTTI_EVENT_INIT], 1);
    ck_assert_int_eq(twice.counts[TUTTI_EVENT_FIT_START], 2);
    closed(&once);
    closed(&twice);
    closed(&steps);
}
END_TEST

START_TEST(an_epoch_in_steps_begins_and_ends_once)
{
    fitting f;
    opened(&f, ", \"max_duration\": \"1ep\"");
    for (int k = 0; k < 3; k++) {
        fit(&f, k == 1 ? 8 : 1, k == 1 ? TUTTI_UNIT_SAMPLE : TUTTI_UNIT_BATCH);
        ck_assert_int_eq(f.counts[TUTTI_EVENT_EPOCH_START], 1);
        ck_assert_int_eq(f.counts[TUTTI_EVENT_BATCH_END], k + 1);
        ck_assert_int_eq(f.counts[TUTTI_EVENT_EPOCH_END], k == 2);
    }
    closed(&f);
}
END_TEST

START_TEST(a_duration_that_is_over_is_refused_and_time_can_be_reset)
{
    fitting f;
    tutti_error err = TUTTI_ERROR_INIT;
    opened(&f, ", \"max_duration\": \"1ep\"");
    fit(&f, 0, TUTTI_UNIT_NONE);
    ck_assert_int_eq(trainer_fit(f.t, &(fit_options){.resume = NULL}, &err), TUTTI_E_STATE);
    ck_assert_error(err, TUTTI_E_STATE,
                    "nothing is left to train: max_duration is 1ep and 1ep have passed; give a "
                    "longer max_duration, a duration, or reset the time");
    ck_assert(trainer_finished(f.t));
    err = (tutti_error)TUTTI_ERROR_INIT;
    ck_assert_ok(trainer_fit(f.t, &(fit_options){.reset_time = true}, &err), err);
    ck_assert_int_eq(f.t->run.clock.now.batch, 3);
    ck_assert_int_eq(f.counts[TUTTI_EVENT_BATCH_END], 6);
    closed(&f);
}
END_TEST

START_TEST(stopping_makes_the_duration_what_has_passed)
{
    static const char *const max[] = {"5ep", "40ba", "400sp"};
    static const int32_t unit[] = {TUTTI_UNIT_BATCH, TUTTI_UNIT_BATCH, TUTTI_UNIT_SAMPLE};
    static const int64_t count[] = {4, 4, 32};
    fitting f;
    char more[64];
    (void)snprintf(more, sizeof more, ", \"max_duration\": \"%s\"", max[_i]);
    opened(&f, more);
    f.stop_at = TUTTI_EVENT_BATCH_END;
    f.stop_batch = 4;
    fit(&f, 0, TUTTI_UNIT_NONE);
    ck_assert_int_eq(f.t->run.clock.now.batch, 4);
    ck_assert_int_eq(f.t->run.clock.max_duration.unit, unit[_i]);
    ck_assert_int_eq(f.t->run.clock.max_duration.count, count[_i]);
    ck_assert_int_eq(f.counts[TUTTI_EVENT_FIT_END], 1);
    ck_assert_int_eq(f.counts[TUTTI_EVENT_EPOCH_END], 1);
    f.stop_at = -1;
    fit(&f, 2, TUTTI_UNIT_BATCH); /* and goes on when asked to */
    ck_assert_int_eq(f.t->run.clock.now.batch, 6);
    closed(&f);
}
END_TEST

START_TEST(microbatches_add_up_to_the_batch)
{
    fitting whole, parts;
    opened(&whole, ", \"max_duration\": \"3ba\"");
    opened(&parts, ", \"max_duration\": \"3ba\", \"microbatch_size\": 3");
    fit(&whole, 0, TUTTI_UNIT_NONE);
    fit(&parts, 0, TUTTI_UNIT_NONE);
    ck_assert_int_eq(parts.counts[TUTTI_EVENT_BEFORE_FORWARD], 9); /* of 3, 3 and 2 samples */
    ck_assert_same_weights(&whole, &parts, 1e-6);
    ck_assert_close(*trainer_metric(whole.t, "loss/train/total"),
                    *trainer_metric(parts.t, "loss/train/total"), 1e-5);
    closed(&whole);
    closed(&parts);
}
END_TEST

#define TEST_DATA                                                                              \
    ", \"max_duration\": \"1ep\", \"eval\": [{\"label\": \"test\", \"dataset\": {\"name\": "   \
    "\"glyphs\", "                                                                             \
    "\"samples\": 8}, \"transforms\": [{\"name\": \"normalize\", \"mean\": [0.1], \"std\": "   \
    "[0.3]}], "                                                                                \
    "\"metrics\": [{\"name\": \"cross_entropy\"}], \"batch_size\": 8, \"workers\": 1"

START_TEST(an_evaluations_batch_goes_in_parts)
{
    fitting whole, parts;
    opened(&whole, TEST_DATA "}]");
    opened(&parts, TEST_DATA ", \"microbatch_size\": 3}]");
    fit(&whole, 0, TUTTI_UNIT_NONE);
    fit(&parts, 0, TUTTI_UNIT_NONE);
    ck_assert_int_eq(whole.counts[TUTTI_EVENT_EVAL_BEFORE_FORWARD], 1);
    ck_assert_int_eq(parts.counts[TUTTI_EVENT_EVAL_BEFORE_FORWARD],
                     3); /* of 3, 3 and 2 samples */
    ck_assert_int_eq(parts.counts[TUTTI_EVENT_EVAL_AFTER_FORWARD], 3);
    ck_assert_int_eq(parts.counts[TUTTI_EVENT_EVAL_BATCH_END], 1);
    ck_assert_int_eq(parts.t->run.clock.eval.sample, 8);
    ck_assert_close(*trainer_metric(whole.t, "metrics/test/cross_entropy"),
                    *trainer_metric(parts.t, "metrics/test/cross_entropy"), 1e-6);
    closed(&whole);
    closed(&parts);
}
END_TEST

START_TEST(each_group_has_its_own_settings)
{
    fitting f, zero;
    const char *const groups[] = {"optimizer.groups=[{\"match\": \"*.bias\", \"lr\": 0.0}]",
                                  NULL};
    const char *more = ", \"max_duration\": \"2ba\"";
    changes = groups;
    opened_with_values(&zero, more);
    opened(&f, more);
    changes = NULL;
    fit(&f, 0, TUTTI_UNIT_NONE);
    for (uint32_t k = 0; k < net_weight_count(f.t->run.net); k++) {
        const tutti_weight *w = net_weight(f.t->run.net, k),
                           *v = net_weight(zero.t->run.net, k);
        const bool bias = strstr(w->path, "bias") != NULL;
        const bool same = memcmp(w->data.data, v->data.data, tutti_nbytes(&w->data.desc)) == 0;
        ck_assert_msg(same == bias, "%s: %s", w->path, same ? "stayed" : "moved");
    }
    ck_assert_uint_eq(f.t->updater.ngroups, 2);
    ck_assert_close(f.t->updater.groups[0].lr, 0.0, 0.0);
    ck_assert_close(f.t->updater.groups[1].lr, 0.1, 0.0);
    closed(&f);
    closed(&zero);
}
END_TEST

/* A step of sgd adds weight_decay times the weight to its gradient, which is the same in both runs. */
START_TEST(a_group_has_a_decay_of_its_own)
{
    fitting start, plain, decays;
    const char *const none[] = {
        "optimizer.groups=[{\"match\": \"*.weight\", \"weight_decay\": 0.0}]", NULL};
    const char *const half[] = {
        "optimizer.groups=[{\"match\": \"*.weight\", \"weight_decay\": 0.5}]", NULL};
    const char *more = ", \"max_duration\": \"1ba\"";
    changes = none;
    opened_with_values(&start, more);
    opened(&plain, more);
    changes = half;
    opened(&decays, more);
    changes = NULL;
    fit(&plain, 0, TUTTI_UNIT_NONE);
    fit(&decays, 0, TUTTI_UNIT_NONE);
    for (uint32_t k = 0; k < net_weight_count(plain.t->run.net); k++) {
        const tutti_weight *w = net_weight(plain.t->run.net, k);
        const float *was = net_weight(start.t->run.net, k)->data.data, *without = w->data.data;
        const float *with = net_weight(decays.t->run.net, k)->data.data;
        const double decay = strstr(w->path, "bias") ? 0.0 : 0.5;
        for (int64_t i = 0; i < tutti_numel(&w->data.desc); i++)
            ck_assert_close(with[i], (double)without[i] - 0.1 * decay * (double)was[i], 1e-7);
    }
    closed(&start);
    closed(&plain);
    closed(&decays);
}
END_TEST

/* A frozen group stays, has no state and is known as frozen; the others move, each by its optimizer. */
START_TEST(groups_may_be_frozen_and_have_another_optimizer)
{
    fitting f, start;
    const char *const groups[] = {
        "optimizer.groups=[{\"match\": \"*.bias\", \"frozen\": true}, {\"match\": \"*head*\", "
        "\"name\": \"adamw\", \"lr\": 0.01}]",
        NULL};
    const char *more = ", \"max_duration\": \"2ba\"";
    uint32_t frozen = 0;
    changes = groups;
    opened_with_values(&start, more);
    opened(&f, more);
    changes = NULL;
    fit(&f, 0, TUTTI_UNIT_NONE);
    for (uint32_t k = 0; k < net_weight_count(f.t->run.net); k++) {
        const tutti_weight *w = net_weight(f.t->run.net, k),
                           *v = net_weight(start.t->run.net, k);
        const bool bias = strstr(w->path, "bias") != NULL;
        const bool same = memcmp(w->data.data, v->data.data, tutti_nbytes(&w->data.desc)) == 0;
        ck_assert_msg(same == bias, "%s: %s", w->path, same ? "stayed" : "moved");
        ck_assert_int_eq(net_frozen(f.t->run.net, k), bias);
        ck_assert_int_eq(f.t->updater.layout.group_of[k] < 0, bias);
        frozen += bias;
    }
    ck_assert_uint_gt(frozen, 0);
    ck_assert_uint_eq(f.t->updater.ngroups, 3);
    ck_assert_uint_eq(f.t->updater.nslots, 2);
    ck_assert_str_eq(object_describe(instance_object(f.t->updater.groups[1].optimizer))->name,
                     "adamw");
    ck_assert_close(f.t->updater.groups[1].lr, 0.01, 0.0);
    closed(&f);
    closed(&start);
}
END_TEST

static const char linear[] = ", \"max_duration\": \"4ep\", \"schedulers\": [{\"name\": "
                             "\"linear\", \"alpha_f\": 0.0, \"t_max\": \"4ep\"}]%s";

START_TEST(schedulers_step_one_batch_behind_the_clock)
{
    char more[256];
    fitting f;
    (void)snprintf(more, sizeof more, linear, "");
    opened(&f, more);
    fit(&f, 1, TUTTI_UNIT_BATCH); /* batch 0 and batch 1 both at the factor of 0 */
    ck_assert_close(f.t->updater.groups[0].lr, 0.1, 1e-12);
    closed(&f);
}
END_TEST

START_TEST(schedulers_may_step_by_epoch)
{
    char more[256];
    fitting f;
    (void)snprintf(more, sizeof more, linear, ", \"step_schedulers_every_batch\": false");
    opened(&f, more);
    f.stop_at = TUTTI_EVENT_BATCH_END;
    f.stop_batch = 2;
    fit(&f, 0, TUTTI_UNIT_NONE);
    ck_assert_close(f.t->updater.groups[0].lr, 0.1, 1e-12);
    f.stop_batch = 4; /* the first epoch's end stepped at its three batches of twelve */
    fit(&f, 4, TUTTI_UNIT_BATCH);
    ck_assert(f.t->updater.groups[0].lr < 0.1);
    closed(&f);
}
END_TEST

/* As upstream: the time before an epoch's end is behind its last batch. */
START_TEST(the_time_before_an_epochs_end_is_behind_its_last_batch)
{
    fitting f;
    opened(&f, ", \"max_duration\": \"2ep\"");
    const tutti_state_v1 *s = &f.t->services->state;
    f.stop_at = TUTTI_EVENT_EPOCH_END;
    f.stop_batch = 3;
    fit(&f, 0, TUTTI_UNIT_NONE);
    ck_assert_int_eq(s->previous(s->ctx)->batch, 3);
    ck_assert_int_eq(s->previous(s->ctx)->epoch, 0);
    ck_assert_int_eq(s->time->epoch, 1);
    closed(&f);
}
END_TEST

START_TEST(the_state_tells_of_the_run)
{
    fitting f;
    opened(&f, ", \"max_duration\": \"4ba\", \"microbatch_size\": 4, \"iteration_length\": "
               "\"2ep\"");
    const tutti_state_v1 *s = &f.t->services->state;
    ck_assert_ptr_null(s->previous(s->ctx));
    fit(&f, 0, TUTTI_UNIT_NONE);
    ck_assert_int_eq(s->previous(s->ctx)->batch, 3);
    ck_assert_int_eq(s->time->batch, 4);
    ck_assert_str_eq(s->dataloader_label(s->ctx), "train");
    ck_assert_int_eq(s->dataloader_len(s->ctx), 3);
    ck_assert_int_eq(s->microbatch_size(s->ctx), 4);
    ck_assert_str_eq(s->run_name(s->ctx), "fit");
    ck_assert_str_eq(s->precision(s->ctx), "fp32");
    ck_assert_str_eq(s->device(s->ctx), "cpu");
    tutti_data data = {.struct_size = sizeof data};
    ck_assert_int_eq(s->data(s->ctx, 0, &data), 1);
    ck_assert_str_eq(data.label, "train");
    ck_assert_int_gt(data.samples, data.batch_size);
    ck_assert_int_eq(s->data(s->ctx, 9, &data), 0);
    ck_assert_int_eq(s->iteration_length->count, 2);
    ck_assert_int_eq(s->iteration_length->unit, TUTTI_UNIT_EPOCH);
    ck_assert_int_eq(s->predict_time->batch, 0);
    ck_assert_close(s->elapsed(s->ctx), 1.0, 0.0);
    closed(&f);
}
END_TEST

/* What a plugin gets that asks the host for it. */
START_TEST(a_logger_in_memory_is_read_through_the_host)
{
    static const char loss[] = "loss/train/total";
    double value = 0.0, batches[3] = {0.0};
    tutti_error err = TUTTI_ERROR_INIT;
    fitting f;
    opened(&f, ", \"max_duration\": \"3ba\"");
    ck_assert_ptr_null(trainer_service(f.t, NULL, TUTTI_HISTORY_V1)); /* the run has none */
    closed(&f);
    opened(&f, ", \"max_duration\": \"3ba\", \"loggers\": [{\"name\": \"in_memory\"}]");
    const tutti_history_v1 *h = trainer_service(f.t, NULL, TUTTI_HISTORY_V1);
    ck_assert_ptr_nonnull(h);
    fit(&f, 0, TUTTI_UNIT_NONE);
    ck_assert_uint_eq(h->count(h->ctx, loss), 3);
    ck_assert_ok(h->timeseries(h->ctx, loss, "batch", batches, 3, &err), err);
    ck_assert_close(batches[2], 2.0, 0.0);
    ck_assert_ok(h->latest(h->ctx, loss, &value, &err), err);
    ck_assert_close(value, *trainer_metric(f.t, loss), 0.0);
    closed(&f);
}
END_TEST

/* Nobody computes a microbatch outside of a step. */
START_TEST(activations_are_there_during_a_step_alone)
{
    tutti_error err = TUTTI_ERROR_INIT;
    fitting f;
    opened(&f, ", \"max_duration\": \"1ba\"");
    const tutti_activations_v1 *a = trainer_service(f.t, NULL, TUTTI_ACTIVATIONS_V1);
    (void)a->observe(a->ctx, NULL, NULL, &err);
    ck_assert_error(err, TUTTI_E_STATE,
                    "activations can be had between after_forward and before_backward only");
    closed(&f);
}
END_TEST

/* What tutti.plan/1 says of one value: its kind, name, module and shape, as "weight body.linear0.weight 6x784". */
static const char *value_text(const tutti_planned_value *v)
{
    static const char *const kinds[] = {"other", "input", "weight", "constant", "result"};
    static char text[256];
    size_t n = (size_t)snprintf(text, sizeof text, "%s %s", kinds[v->kind], v->name);
    for (int32_t k = 0; k < v->desc.rank; k++)
        n += (size_t)snprintf(text + n, sizeof text - n, "%c%lld", k ? 'x' : ' ',
                              (long long)v->desc.dim[k]);
    return text;
}

/* The values by number, each operand below the result that it is of; past either end there is none. */
static void ck_assert_values(const tutti_plan_v1 *p)
{
    static const char *const want[] = {
        "input input 8x28x28x1", "weight body.linear0.weight 6x784",
        "weight body.linear0.bias 6", "weight body.head.weight 10x6",
        "weight body.head.bias 10"};
    tutti_plan_facts facts = {.struct_size = sizeof facts};
    tutti_planned_value v = {.struct_size = sizeof v};
    tutti_planned place = {.struct_size = sizeof place};
    tutti_error err = TUTTI_ERROR_INIT;
    char past[96];
    ck_assert_ok(p->describe(p->ctx, &facts, &err), err);
    ck_assert_uint_gt(facts.values, 5);
    uint32_t found[5] = {0};
    for (uint32_t k = 1; k <= facts.values; k++) {
        ck_assert_ok(p->value(p->ctx, k, &v, &err), err);
        ck_assert(v.kind >= TUTTI_PLANNED_OTHER && v.kind <= TUTTI_PLANNED_RESULT);
        for (uint32_t i = 0; v.kind == TUTTI_PLANNED_RESULT && i < v.noperands; i++)
            ck_assert_uint_lt(v.operands[i], k);
        for (int i = 0; v.kind != TUTTI_PLANNED_OTHER && i < 5; i++)
            found[i] += strcmp(value_text(&v), want[i]) == 0;
    }
    for (int i = 0; i < 5; i++)
        ck_assert_msg(found[i] == 1, "%u times %s", found[i], want[i]);
    const uint32_t none[] = {0, facts.values + 1, UINT32_MAX};
    for (int i = 0; i < 3; i++) {
        (void)snprintf(past, sizeof past, "there is no value %u, the graph has %u", none[i],
                       facts.values);
        (void)p->value(p->ctx, none[i], &v, &err);
        ck_assert_error(err, TUTTI_E_RANGE, past);
        err = (tutti_error)TUTTI_ERROR_INIT;
    }
    (void)snprintf(past, sizeof past, "there is no place %u, the arena has %u", facts.results,
                   facts.results);
    (void)p->result(p->ctx, facts.results, &place, &err);
    ck_assert_error(err, TUTTI_E_RANGE, past);
}

static void ck_assert_nothing_described(const tutti_plan_v1 *p)
{
    tutti_planned_value v = {.struct_size = sizeof v};
    tutti_planned place = {.struct_size = sizeof place};
    tutti_error err = TUTTI_ERROR_INIT;
    (void)p->value(p->ctx, 1, &v, &err);
    ck_assert_error(err, TUTTI_E_STATE, "no plan was described in this batch");
    err = (tutti_error)TUTTI_ERROR_INIT;
    (void)p->result(p->ctx, 0, &place, &err);
    ck_assert_error(err, TUTTI_E_STATE, "no plan was described in this batch");
}

static void ck_assert_no_plan(const tutti_plan_v1 *p)
{
    tutti_plan_facts facts = {.struct_size = sizeof facts};
    tutti_error err = TUTTI_ERROR_INIT;
    (void)p->describe(p->ctx, &facts, &err);
    ck_assert_error(err, TUTTI_E_STATE,
                    "a plan can be had between before_forward and batch_end only");
    ck_assert_nothing_described(p);
}

/* Asks at each event: of the first batch what it may, of the second before it may. */
static void ask_for_the_plan(void *ctx, const tutti_event *event)
{
    fitting *f = ctx;
    const tutti_plan_v1 *p = &f->t->services->plan;
    const int64_t done = f->t->run.clock.now.batch;
    if (event->id < COMPOSER_EVENT_END)
        f->counts[event->id]++;
    if (event->id == TUTTI_EVENT_FIT_START || event->id == TUTTI_EVENT_BATCH_START ||
        event->id == TUTTI_EVENT_FIT_END || event->id == TUTTI_EVENT_EPOCH_END)
        ck_assert_no_plan(p);
    if (event->id == TUTTI_EVENT_BEFORE_FORWARD)
        ck_assert_nothing_described(p);
    if (event->id == TUTTI_EVENT_AFTER_FORWARD && done == 0)
        ck_assert_values(p);
    if (event->id == TUTTI_EVENT_AFTER_TRAIN_BATCH && done == 1)
        ck_assert_nothing_described(p);
}

START_TEST(a_plan_is_told_in_the_batch_that_it_was_described_in)
{
    fitting f;
    opened(&f, ", \"max_duration\": \"1ep\"");
    engine_watch(trainer_engine(f.t), ask_for_the_plan, &f);
    fit(&f, 0, TUTTI_UNIT_NONE);
    ck_assert_int_eq(f.counts[TUTTI_EVENT_AFTER_FORWARD], 3);
    ck_assert_no_plan(&f.t->services->plan);
    closed(&f);
}
END_TEST

/* Of weight 0: what its momentum is by the gradients so far, m = 0.9 m + g from m = g on. */
static float momentum[4096];

static void ck_assert_momentum(const tutti_weights_v1 *w, int64_t done)
{
    tutti_weight one = {.struct_size = sizeof one};
    tutti_slot kept = {.struct_size = sizeof kept};
    tutti_error err = TUTTI_ERROR_INIT;
    ck_assert_ok(w->at(w->ctx, 0, &one, &err), err);
    ck_assert_ok(w->slot(w->ctx, 0, 0, &kept, &err), err);
    ck_assert_str_eq(kept.name, "momentum");
    ck_assert(tutti_same_shape(&kept.data.desc, &one.data.desc));
    const int64_t n = tutti_numel(&one.data.desc);
    ck_assert_int_le(n, (int64_t)(sizeof momentum / sizeof *momentum));
    float most = 0.0F;
    for (int64_t i = 0; i < n; i++) {
        const float g = ((const float *)one.grad)[i];
        momentum[i] = done == 1 ? g : 0.9F * momentum[i] + g;
        most = fmaxf(most, fabsf(momentum[i]));
        ck_assert_close(((const float *)kept.data.data)[i], momentum[i], 1e-6);
    }
    ck_assert_msg(most > 1e-4F, "the gradients are 0");
}

static void ask_for_slots(void *ctx, const tutti_event *event)
{
    fitting *f = ctx;
    const tutti_weights_v1 *w = &f->t->services->weights.table;
    if (event->id == TUTTI_EVENT_BATCH_END)
        ck_assert_momentum(w, f->t->run.clock.now.batch);
    if (event->id == TUTTI_EVENT_BATCH_END)
        f->counts[event->id]++;
}

START_TEST(slots_are_those_of_the_optimizer)
{
    tutti_slot kept = {.struct_size = sizeof kept};
    tutti_error err = TUTTI_ERROR_INIT;
    fitting f;
    opened(&f, ", \"max_duration\": \"1ep\"");
    const tutti_weights_v1 *w = &f.t->services->weights.table;
    engine_watch(trainer_engine(f.t), ask_for_slots, &f);
    fit(&f, 0, TUTTI_UNIT_NONE);
    ck_assert_int_eq(f.counts[TUTTI_EVENT_BATCH_END], 3);
    ck_assert_uint_eq(w->slots(w->ctx, 0), 1);
    ck_assert_uint_eq(w->slots(w->ctx, w->count(w->ctx)), 0);
    (void)w->slot(w->ctx, 1, 1, &kept, &err);
    ck_assert_error(err, TUTTI_E_RANGE, "weight 1 has 1 slots, 1 is past the last");
    err = (tutti_error)TUTTI_ERROR_INIT;
    kept.struct_size = sizeof kept - 1;
    (void)w->slot(w->ctx, 0, 0, &kept, &err);
    ck_assert_int_eq(err.status, TUTTI_E_ARG);
    closed(&f);
}
END_TEST

/* adafactor keeps rows and columns of a matrix, and no more than a vector's numbers of a bias. */
START_TEST(slots_have_the_shapes_that_the_optimizer_gives)
{
    const char *const adafactor[] = {"optimizer={\"name\": \"adafactor\"}", NULL};
    tutti_slot kept = {.struct_size = sizeof kept};
    tutti_error err = TUTTI_ERROR_INIT;
    fitting f;
    changes = adafactor;
    opened(&f, ", \"max_duration\": \"1ba\"");
    changes = NULL;
    fit(&f, 0, TUTTI_UNIT_NONE);
    const tutti_weights_v1 *w = &f.t->services->weights.table;
    for (uint32_t k = 0; k < w->count(w->ctx); k++) {
        const tutti_desc *shape = &net_weight(f.t->run.net, k)->data.desc;
        ck_assert_uint_eq(w->slots(w->ctx, k), 2);
        ck_assert_ok(w->slot(w->ctx, k, 0, &kept, &err), err);
        ck_assert_str_eq(kept.name, "row_var");
        ck_assert_int_eq(tutti_numel(&kept.data.desc), shape->dim[0]);
        ck_assert_ok(w->slot(w->ctx, k, 1, &kept, &err), err);
        ck_assert_str_eq(kept.name, "col_var");
        ck_assert_int_eq(tutti_numel(&kept.data.desc), shape->rank > 1 ? shape->dim[1] : 0);
        ck_assert(shape->rank > 1 ? kept.data.data != NULL : kept.data.data == NULL);
    }
    closed(&f);
}
END_TEST

START_TEST(a_wrapper_evaluates_the_batch_twice)
{
    fitting f;
    opened(&f, ", \"max_duration\": \"2ba\", \"algorithms\": [{\"name\": \"sam\"}]");
    fit(&f, 0, TUTTI_UNIT_NONE);
    ck_assert_int_eq(f.counts[TUTTI_EVENT_BATCH_START], 2);
    ck_assert_int_eq(f.counts[TUTTI_EVENT_BEFORE_TRAIN_BATCH], 4);
    ck_assert_int_eq(f.counts[TUTTI_EVENT_AFTER_BACKWARD], 4);
    ck_assert_int_eq(f.counts[TUTTI_EVENT_AFTER_TRAIN_BATCH], 4);
    ck_assert_int_eq(f.t->updater.step, 2);
    closed(&f);
}
END_TEST

/* A text of 512 bytes in blocks of 8 tokens, four a batch: 32 tokens. */
static void opened_text(fitting *f, const char *more)
{
    char path[] = "/tmp/tutti_fit.XXXXXX", data[256], block[512];
    const int file = mkstemp(path);
    for (size_t k = 0; k < sizeof block; k++)
        block[k] = (char)('a' + k * k % 7);
    ck_assert_int_eq(write(file, block, sizeof block), sizeof block);
    ck_assert_int_eq(close(file), 0);
    (void)snprintf(data, sizeof data,
                   "train={\"dataset\": {\"name\": \"text\", \"path\": \"%s\", "
                   "\"length\": 8}, \"batch_size\": 4, \"workers\": 1}",
                   path);
    const char *const text[] = {
        "model={\"name\": \"gpt2\", \"n_layer\": 1, \"n_head\": 2, \"n_embd\": 8}", data, NULL};
    changes = text;
    opened(f, more);
    changes = NULL;
    (void)unlink(path);
}

START_TEST(tokens_count_in_whole_batches)
{
    static const int64_t tokens[] = {1, 32, 60, 65}, batches[] = {1, 1, 2, 3};
    char more[64];
    fitting f;
    (void)snprintf(more, sizeof more, ", \"max_duration\": \"%dtok\"", (int)tokens[_i]);
    opened_text(&f, more);
    fit(&f, 0, TUTTI_UNIT_NONE);
    ck_assert_int_eq(f.t->run.clock.now.batch, batches[_i]);
    ck_assert_int_eq(f.t->run.clock.now.token, 32 * batches[_i]);
    ck_assert_close(*trainer_metric(f.t, "time/token"), 32.0 * (double)batches[_i], 0.0);
    closed(&f);
}
END_TEST

START_TEST(iterations_of_tokens_begin_the_data_anew)
{
    fitting f;
    opened_text(&f, ", \"max_duration\": \"5ba\", \"iteration_length\": \"64tok\"");
    fit(&f, 0, TUTTI_UNIT_NONE);
    ck_assert_int_eq(f.counts[TUTTI_EVENT_ITERATION_START], 3);
    ck_assert_int_eq(f.counts[TUTTI_EVENT_EPOCH_START], 3);
    ck_assert_int_eq(f.counts[TUTTI_EVENT_ITERATION_END], 2);
    ck_assert_int_eq(f.counts[TUTTI_EVENT_EPOCH_END], 0);
    ck_assert_int_eq(f.t->run.clock.now.iteration, 2);
    ck_assert_int_eq(f.t->run.clock.now.token_in_iteration, 32);
    ck_assert_int_eq(f.t->run.clock.now.batch_in_epoch, 1);
    closed(&f);
}
END_TEST

/* An epoch has 15 batches of 32 tokens. */
START_TEST(epochs_that_iterations_never_let_end_are_refused)
{
    static const char *const lengths[] = {"64tok", "480tok", "481tok"};
    const fit_options epoch = {.duration = {1, 0.0, TUTTI_UNIT_EPOCH, 0}};
    tutti_error err = TUTTI_ERROR_INIT;
    char more[96], text[300];
    fitting f;
    (void)snprintf(more, sizeof more,
                   ", \"max_duration\": \"5ba\", \"iteration_length\": \"%s\"", lengths[_i]);
    opened_text(&f, more);
    (void)snprintf(
        text, sizeof text,
        "max_duration is 1ep, but iteration_length %s begins the data anew before an "
        "epoch of 15 batches with 32 tokens each ends; give max_duration in tok, ba or "
        "iter",
        lengths[_i]);
    const tutti_status s = trainer_fit(f.t, &epoch, &err);
    if (_i == 2)
        ck_assert_ok(s, err);
    else
        ck_assert_error(err, TUTTI_E_ARG, text);
    closed(&f);
}
END_TEST

START_TEST(iterations_of_epochs_are_counted)
{
    fitting f;
    opened(&f, ", \"max_duration\": \"5ep\", \"iteration_length\": \"2ep\"");
    fit(&f, 0, TUTTI_UNIT_NONE);
    ck_assert_int_eq(f.t->run.clock.now.iteration, 2);
    ck_assert_int_eq(f.t->run.clock.now.epoch_in_iteration, 1);
    ck_assert_int_eq(f.counts[TUTTI_EVENT_ITERATION_START], 3);
    ck_assert_int_eq(f.counts[TUTTI_EVENT_ITERATION_CHECKPOINT], 2);
    closed(&f);
}
END_TEST

/* Of a run that is saved before it begins, with values drawn before that or not. */
static void save_first(const char *path, bool drawn, float *ret, size_t n)
{
    fitting f;
    checkpoint *c;
    tutti_tensor t;
    tutti_error err = TUTTI_ERROR_INIT;
    const tutti_save_part part = {.struct_size = sizeof part};
    if (drawn)
        opened_with_values(&f, ", \"max_duration\": \"1ba\"");
    else
        opened(&f, ", \"max_duration\": \"1ba\"");
    ck_assert_ok(trainer_save(f.t, path, &part, &err), err);
    char name[128];
    uint32_t k = 0;
    while (!strstr(net_weight(f.t->run.net, k)->path, "weight")) /* biases are 0 */
        k++;
    (void)snprintf(name, sizeof name, "model.%s", net_weight(f.t->run.net, k)->path);
    ck_assert_ok(checkpoint_open(path, &c, &err), err);
    ck_assert_ok(checkpoint_find(c, name, &t, &err), err);
    ck_assert_uint_ge(tutti_nbytes(&t.desc), n * sizeof *ret);
    memcpy(ret, t.data, n * sizeof *ret);
    checkpoint_close(c);
    closed(&f);
    (void)unlink(path);
}

START_TEST(a_save_before_the_run_begins_has_its_first_values)
{
    enum { SOME = 8 };
    char path[] = "/tmp/tutti_fit_XXXXXX.safetensors";
    float drawn[SOME], saved[SOME], none[SOME] = {0};
    const int fd = mkstemps(path, 12);
    ck_assert_int_ge(fd, 0);
    (void)close(fd);
    save_first(path, true, drawn, SOME);
    save_first(path, false, saved, SOME);
    ck_assert_mem_eq(saved, drawn, sizeof drawn);
    ck_assert_mem_ne(saved, none, sizeof none);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("fit");
    TCase *tc = tcase_create("all");
    tcase_add_test(tc, a_save_before_the_run_begins_has_its_first_values);
    suite_add_tcase(suite, tc);
    tcase_add_checked_fixture(tc, start, end);
    tcase_add_test(tc, the_events_of_a_fit_come_in_upstreams_order);
    tcase_add_test(tc, fits_that_go_on_equal_one_that_is_longer);
    tcase_add_test(tc, an_epoch_in_steps_begins_and_ends_once);
    tcase_add_test(tc, a_duration_that_is_over_is_refused_and_time_can_be_reset);
    tcase_add_loop_test(tc, stopping_makes_the_duration_what_has_passed, 0, 3);
    tcase_add_test(tc, microbatches_add_up_to_the_batch);
    tcase_add_test(tc, an_evaluations_batch_goes_in_parts);
    tcase_add_test(tc, each_group_has_its_own_settings);
    tcase_add_test(tc, a_group_has_a_decay_of_its_own);
    tcase_add_test(tc, groups_may_be_frozen_and_have_another_optimizer);
    tcase_add_test(tc, schedulers_step_one_batch_behind_the_clock);
    tcase_add_test(tc, schedulers_may_step_by_epoch);
    tcase_add_test(tc, the_time_before_an_epochs_end_is_behind_its_last_batch);
    tcase_add_test(tc, the_state_tells_of_the_run);
    tcase_add_test(tc, a_logger_in_memory_is_read_through_the_host);
    tcase_add_test(tc, activations_are_there_during_a_step_alone);
    tcase_add_test(tc, a_plan_is_told_in_the_batch_that_it_was_described_in);
    tcase_add_test(tc, slots_are_those_of_the_optimizer);
    tcase_add_test(tc, slots_have_the_shapes_that_the_optimizer_gives);
    tcase_add_test(tc, a_wrapper_evaluates_the_batch_twice);
    tcase_add_loop_test(tc, tokens_count_in_whole_batches, 0, 4);
    tcase_add_test(tc, iterations_of_tokens_begin_the_data_anew);
    tcase_add_loop_test(tc, epochs_that_iterations_never_let_end_are_refused, 0, 3);
    tcase_add_test(tc, iterations_of_epochs_are_counted);
    return tutti_run(suite);
}
