/* optimizer_monitor_test.c - what the callback logs of real updates against what Composer's logs, in
 * tests/peers/optimizer_monitor.json. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/counts.h"
#include "base/faults.h"
#include "base/json.h"
#include "op_table.h"
#include "train/step/trainer_state.h"
#include "train/trainer/services.h"
#include "train/trainer/trainer.h"
#include "tutti/history.h"
#include "tutti_check.h"

#include <limits.h>
#include <stdio.h>

enum { FILE_LIMIT = 1 << 20, BATCHES = 3 };

static trainer *t;
static const json_node *order; /* the weights as the recorder counts them */

/* number() of tests/peers/optimizer_monitor.py. */
static float number(uint32_t a, uint32_t b)
{
    uint32_t x = a * 2654435761u + b * 40503u + 12345u;
    x ^= x >> 13;
    x *= 1597334677u;
    x ^= x >> 16;
    return (float)(x >> 8) / 8388608.0f - 1.0f;
}

static uint32_t number_of(const char *path)
{
    for (uint32_t k = 0; k < json_count(order); k++)
        if (strcmp(json_string(json_at(order, k)), path) == 0)
            return k;
    ck_abort_msg("the recorder has no %s", path);
}

static void fill(int gradients, uint32_t seed)
{
    for (uint32_t k = 0; k < net_weight_count(t->run.net); k++) {
        const tutti_weight *w = net_weight(t->run.net, k);
        float *const to = gradients ? w->grad : w->data.data;
        for (int64_t i = 0; i < tutti_numel(&w->data.desc); i++)
            to[i] = number((uint32_t)i, seed + number_of(w->path));
    }
}

static void give_numbers(void *ctx, const tutti_event *event)
{
    (void)ctx;
    if (event->id == TUTTI_EVENT_FIT_START)
        fill(0, 1000);
    if (event->id == TUTTI_EVENT_AFTER_BACKWARD)
        fill(1, 100 * (uint32_t)(t->run.clock.now.batch + 1));
}

static double logged(const tutti_history_v1 *h, const char *name, int at)
{
    double all[BATCHES] = {0.0};
    tutti_error err = TUTTI_ERROR_INIT;
    ck_assert_ok(h->timeseries(h->ctx, name, NULL, all, BATCHES, &err), err);
    return all[at];
}

/* A sum of squares in f32 upstream, of f32 numbers that differ in their last bit: 1e-5 of the length.  Upstream's
 * update, of the state after the step, has its decay with the other sign; ours is how far the weight went. */
static void check_batch(const tutti_history_v1 *h, const json_node *one, int at, bool decays)
{
    const json_node *want = json_get(one, "logged"), *moved = json_get(one, "moved");
    char name[256];
    for (size_t k = 0; k < json_count(want); k++) {
        const json_node *value = json_at(want, k);
        if (!decays || strncmp(json_key(value), "l2_norm/update/", 15) != 0)
            ck_assert_close(logged(h, json_key(value), at), json_real(value),
                            1e-5 * json_real(value));
    }
    for (size_t k = 0; k < json_count(moved); k++) {
        const json_node *value = json_at(moved, k);
        (void)snprintf(name, sizeof name, "l2_norm/update/%s", json_key(value));
        ck_assert_close(logged(h, name, at), json_real(value), 1e-5 * json_real(value));
    }
}

static void run(const json_node *one, registry *plugins)
{
    char text[1024];
    char *optimizer = json_text(json_get(one, "optimizer"));
    tutti_error err = TUTTI_ERROR_INIT;
    const fit_options all = {.duration = {0, 0.0, TUTTI_UNIT_NONE, 0}};
    run_file *file;
    faults *wrong = faults_create();
    (void)snprintf(
        text, sizeof text,
        "{\"name\": \"fit\", \"model\": {\"name\": \"mlp\", \"hidden\": [6]}, \"train\": "
        "{\"dataset\": {\"name\": \"glyphs\", \"samples\": 24}, \"transforms\": [{\"name\": "
        "\"normalize\", "
        "\"mean\": [0.1], \"std\": [0.3]}], \"batch_size\": 8, "
        "\"workers\": 1}, \"optimizer\": %s, \"max_duration\": \"%dba\", \"threads\": 1, "
        "\"callbacks\": [{\"name\": \"optimizer_monitor\", \"batch_log_interval\": 1}], "
        "\"loggers\": [{\"name\": \"in_memory\"}]}",
        optimizer, BATCHES);
    free(optimizer);
    const tutti_status s =
        run_file_parse("test", text, "/", RUN_FILE_TRAIN, NULL, plugins, &file, wrong);
    ck_assert_msg(s == TUTTI_OK, "%s", faults_count(wrong) ? faults_text(wrong, 0) : "?");
    faults_destroy(wrong);
    ck_assert_ok(trainer_create(file, plugins, tutti_op_table, &t, &err), err);
    engine_watch(trainer_engine(t), give_numbers, NULL);
    ck_assert_ok(trainer_fit(t, &all, &err), err);
    const tutti_history_v1 *h = trainer_service(t, NULL, TUTTI_HISTORY_V1);
    const double decay = json_real(json_get(json_get(one, "optimizer"), "weight_decay"));
    for (int k = 0; k < BATCHES; k++)
        check_batch(h, json_at(json_get(one, "batches"), (size_t)k), k, decay != 0.0);
    trainer_destroy(t);
    run_file_free(file);
}

START_TEST(lengths_are_those_of_composer)
{
    char folder[PATH_MAX], path[PATH_MAX];
    tutti_error err = TUTTI_ERROR_INIT;
    json_doc *doc;
    registry *plugins;
    (void)snprintf(folder, sizeof folder, "%s/lib/tutti/plugins", getenv("TUTTI_BUILD"));
    (void)snprintf(path, sizeof path, "%s/tests/peers/optimizer_monitor.json",
                   getenv("TUTTI_SOURCE"));
    const char *const paths[] = {folder, NULL};
    const registry_options options = {.plugin_paths = paths, .trust = TRUST_NONE};
    ck_assert_ok(registry_create(&options, &plugins, &err), err);
    ck_assert_ok(json_read(path, FILE_LIMIT, &doc, &err), err);
    order = json_get(json_root(doc), "weights");
    const json_node *cases = json_get(json_root(doc), "cases");
    ck_assert_uint_eq(json_count(cases), 3);
    run(json_at(cases, (size_t)_i), plugins);
    json_free(doc);
    registry_destroy(plugins);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("optimizer_monitor");
    TCase *tc = tcase_create("all");
    suite_add_tcase(suite, tc);
    tcase_add_loop_test(tc, lengths_are_those_of_composer, 0, 3);
    return tutti_run(suite);
}
