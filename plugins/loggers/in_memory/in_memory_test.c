/* in_memory_test.c - the logger through its entry function, beside what Composer's InMemoryLogger answered. */
/* SPDX-License-Identifier: Apache-2.0 */
#define TUTTI_USE_MINOR 1 /* tables */
#include "run_check.h"
#include "tutti/history.h"

enum { NUMBERS = 6 };

static stage run;
static subject it;
static const tutti_logger_v1 *logger;
static const tutti_history_v1 *history;

static void open_it(void)
{
    test_settings none;
    tutti_error err = TUTTI_ERROR_INIT;
    stage_init(&run);
    test_settings_init(&none);
    ck_assert_ok(subject_open(&it, PLUGIN_PATH, TUTTI_KIND_LOGGER, "in_memory", &none,
                              run.services, &err),
                 err);
    logger = subject_query(&it, TUTTI_LOGGER_V1);
    history = subject_query(&it, TUTTI_HISTORY_V1);
    ck_assert_ptr_nonnull(history);
}

static void close_it(void)
{
    subject_close(&it);
    stage_fini(&run);
}

static void add(const char *name, double value, uint64_t step)
{
    tutti_error err = TUTTI_ERROR_INIT;
    const tutti_named_value v = {name, value};
    ck_assert_ok(logger->metrics(it.self, &v, 1, step, &err), err);
}

static void add_now(const char *name, double value)
{
    add(name, value, (uint64_t)run.time.batch);
}

/* A batch of 10 samples, 3 tokens and a quarter of a second. */
static void next_batch(void)
{
    tutti_timestamp *t = &run.time;
    int64_t *const batches[] = {&t->batch, &t->batch_in_epoch};
    int64_t *const samples[] = {&t->sample, &t->sample_in_epoch};
    int64_t *const tokens[] = {&t->token, &t->token_in_epoch, &t->token_in_iteration};
    for (int k = 0; k < 2; k++) {
        *batches[k] += 1;
        *samples[k] += 10;
    }
    for (int k = 0; k < 3; k++)
        *tokens[k] += 3;
    t->batch_ns = 250000000;
    t->total_ns += t->batch_ns;
    t->iteration_ns += t->batch_ns;
    t->epoch_ns += t->batch_ns;
}

static void next_epoch(void)
{
    tutti_timestamp *t = &run.time;
    t->epoch++;
    t->epoch_in_iteration++;
    t->batch_in_epoch = t->sample_in_epoch = t->token_in_epoch = t->epoch_ns = t->batch_ns = 0;
}

static void ck_series(const char *name, const char *field, const double *want, uint64_t n)
{
    double got[NUMBERS] = {0};
    tutti_error err = TUTTI_ERROR_INIT;
    ck_assert_uint_eq(history->count(history->ctx, name), n);
    ck_assert_ok(history->timeseries(history->ctx, name, field, got, n, &err), err);
    for (uint64_t k = 0; k < n; k++)
        ck_assert_msg(got[k] == want[k], "%s, %s, number %d: %.17g, want %.17g", name,
                      field ? field : "values", (int)k, got[k], want[k]);
}

/* get_timeseries of composer 0.32.1 after the same calls. */
START_TEST(time_series_are_as_upstream)
{
    static const struct {
        const char *field;
        double loss[6], accuracy[3];
    } upstream[] = {
        {"iteration", {0, 0, 0, 0, 0, 0}, {0, 0, 0}},
        {"epoch", {0, 0, 0, 1, 1, 1}, {0, 0, 1}},
        {"batch", {0, 1, 2, 3, 4, 5}, {0, 2, 4}},
        {"sample", {0, 10, 20, 30, 40, 50}, {0, 20, 40}},
        {"token", {0, 3, 6, 9, 12, 15}, {0, 6, 12}},
        {"epoch_in_iteration", {0, 0, 0, 1, 1, 1}, {0, 0, 1}},
        {"token_in_iteration", {0, 3, 6, 9, 12, 15}, {0, 6, 12}},
        {"batch_in_epoch", {0, 1, 2, 0, 1, 2}, {0, 2, 1}},
        {"sample_in_epoch", {0, 10, 20, 0, 10, 20}, {0, 20, 10}},
        {"token_in_epoch", {0, 3, 6, 0, 3, 6}, {0, 6, 3}},
        {"total_wct", {0.0, 0.25, 0.5, 0.75, 1.0, 1.25}, {0.0, 0.5, 1.0}},
        {"iteration_wct", {0.0, 0.25, 0.5, 0.75, 1.0, 1.25}, {0.0, 0.5, 1.0}},
        {"epoch_wct", {0.0, 0.25, 0.5, 0.0, 0.25, 0.5}, {0.0, 0.5, 0.25}},
        {"batch_wct", {0.0, 0.25, 0.25, 0.0, 0.25, 0.25}, {0.0, 0.25, 0.25}},
    };
    static const char loss[] = "loss/train/total", accuracy[] = "metrics/eval/accuracy";
    double latest = 0.0;
    tutti_error err = TUTTI_ERROR_INIT;
    open_it();
    for (int k = 0; k < 5; k++) {
        add_now(loss, 1.0 / (k + 1));
        if (k % 2 == 0)
            add_now(accuracy, k / 8.0);
        next_batch();
        if (k % 3 == 2)
            next_epoch();
    }
    add_now(loss, 7.0);
    for (size_t k = 0; k < sizeof upstream / sizeof *upstream; k++) {
        ck_series(loss, upstream[k].field, upstream[k].loss, 6);
        ck_series(accuracy, upstream[k].field, upstream[k].accuracy, 3);
    }
    ck_series(loss, loss, (const double[]){1.0, 0.5, 1.0 / 3.0, 0.25, 0.2, 7.0}, 6);
    ck_series(accuracy, NULL, (const double[]){0.0, 0.25, 0.5}, 3);
    ck_assert_ok(history->latest(history->ctx, loss, &latest, &err), err);
    ck_assert_double_eq(latest, 7.0);
    ck_assert_str_eq(history->name_at(history->ctx, 0), loss);
    ck_assert_str_eq(history->name_at(history->ctx, 1), accuracy);
    ck_assert_ptr_null(history->name_at(history->ctx, 2));
    close_it();
}
END_TEST

/* What a GPU computes is logged batches later, as of its own. */
START_TEST(a_number_that_comes_late_has_the_time_of_its_batch)
{
    open_it();
    for (int k = 0; k < 3; k++) {
        ck_assert_hears(&run, &it, TUTTI_EVENT_BATCH_START);
        next_batch();
    }
    add("loss/train/total", 0.5, 1);
    ck_series("loss/train/total", "batch", (const double[]){1}, 1);
    ck_series("loss/train/total", "sample", (const double[]){10}, 1);
    ck_series("loss/train/total", "total_wct", (const double[]){0.25}, 1);
    close_it();
}
END_TEST

START_TEST(settings_are_kept_and_the_last_one_counts)
{
    tutti_error err = TUTTI_ERROR_INIT;
    const tutti_named_text first[] = {{"seed", "17"}, {"model", "\"mlp\""}};
    const tutti_named_text second = {"seed", "18"};
    open_it();
    ck_assert_ok(logger->hyperparameters(it.self, first, 2, &err), err);
    ck_assert_ok(logger->hyperparameters(it.self, &second, 1, &err), err);
    ck_assert_str_eq(history->hyperparameter(history->ctx, "seed"), "18");
    ck_assert_str_eq(history->hyperparameter(history->ctx, "model"), "\"mlp\"");
    ck_assert_ptr_null(history->hyperparameter(history->ctx, "lr"));
    ck_assert_str_eq(history->hyperparameter_at(history->ctx, 1), "model");
    ck_assert_ptr_null(history->hyperparameter_at(history->ctx, 2));
    close_it();
}
END_TEST

/* As InMemoryLogger.tables: the last of each name, in pandas' split form. */
START_TEST(tables_are_kept_by_name)
{
    tutti_error err = TUTTI_ERROR_INIT;
    open_it();
    ck_assert_ptr_null(history->table_at(history->ctx, 0));
    ck_assert_ptr_null(history->table(history->ctx, "answers"));
    tutti_table t = stage_a_table("answers");
    ck_assert_ok(logger->table(it.self, &t, 3, &err), err);
    ck_assert_str_eq(
        history->table(history->ctx, "answers"),
        "{\"columns\":[\"sample\",\"said\"],\"data\":[[0,\"a \\\"b\\\"\"],[1,[1,2.5]]]}");
    t.nrows = 0;
    ck_assert_ok(logger->table(it.self, &t, 4, &err), err);
    t = stage_a_table("others");
    ck_assert_ok(logger->table(it.self, &t, 4, &err), err);
    ck_assert_str_eq(history->table(history->ctx, "answers"),
                     "{\"columns\":[\"sample\",\"said\"],\"data\":[]}");
    ck_assert_str_eq(history->table_at(history->ctx, 0), "answers");
    ck_assert_str_eq(history->table_at(history->ctx, 1), "others");
    ck_assert_ptr_null(history->table_at(history->ctx, 2));
    close_it();
}
END_TEST

START_TEST(thousands_of_names_are_told_apart)
{
    enum { NAMES = 3000 };
    char name[32];
    open_it();
    for (int round = 0; round < 2; round++) {
        for (int k = 0; k < NAMES; k++) {
            (void)snprintf(name, sizeof name, "layer%d", k);
            add_now(name, k + 0.5 * round);
        }
        next_batch();
    }
    for (int k = 0; k < NAMES; k++) {
        (void)snprintf(name, sizeof name, "layer%d", k);
        ck_series(name, NULL, (const double[]){k, k + 0.5}, 2);
        ck_assert_str_eq(history->name_at(history->ctx, (uint32_t)k), name);
    }
    close_it();
}
END_TEST

START_TEST(what_was_never_logged_has_no_series)
{
    double value = 3.0;
    tutti_error err = TUTTI_ERROR_INIT;
    open_it();
    add_now("a", 1.0);
    ck_assert_uint_eq(history->count(history->ctx, "b"), 0);
    (void)history->latest(history->ctx, "b", &value, &err);
    ck_assert_error(err, TUTTI_E_NOTFOUND, "in_memory: nothing has been logged as \"b\"");
    err = (tutti_error)TUTTI_ERROR_INIT;
    (void)history->timeseries(history->ctx, "a", "bach", &value, 1, &err);
    ck_assert_error(err, TUTTI_E_ARG,
                    "in_memory: a time has no \"bach\"; want a counter such as \"batch\", "
                    "\"epoch\" or \"total_wct\"");
    ck_assert_double_eq(value, 3.0);
    close_it();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("in_memory");
    TCase *tc = tcase_create("all");
    suite_add_tcase(suite, tc);
    tcase_add_test(tc, time_series_are_as_upstream);
    tcase_add_test(tc, a_number_that_comes_late_has_the_time_of_its_batch);
    tcase_add_test(tc, settings_are_kept_and_the_last_one_counts);
    tcase_add_test(tc, tables_are_kept_by_name);
    tcase_add_test(tc, thousands_of_names_are_told_apart);
    tcase_add_test(tc, what_was_never_logged_has_no_series);
    return tutti_run(suite);
}
