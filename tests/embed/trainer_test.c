/* trainer_test.c - a run file trained by a program that links libtutti alone, and what it logged. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "folder_check.h"
#include "tutti_host/trainer.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define NORMAL "\"transforms\": [{\"name\": \"normalize\", \"mean\": [0.13], \"std\": [0.31]}],"
static const char run_text[] =
    "{\"name\": \"embedded\", \"model\": {\"name\": \"mlp\", \"hidden\": [16]},"
    " \"train\": {\"dataset\": {\"name\": \"glyphs\", \"samples\": 128}," NORMAL
    " \"batch_size\": 16},"
    " \"eval\": [{\"label\": \"test\", \"dataset\": {\"name\": \"glyphs\", \"samples\": 32,"
    " \"split\": \"test\"}," NORMAL
    " \"batch_size\": 16, \"metrics\": [{\"name\": \"accuracy\"}]}],"
    " \"optimizer\": {\"name\": \"sgd\", \"lr\": 0.05}, \"callbacks\": [],"
    " \"loggers\": [{\"name\": \"in_memory\"}], \"device\": \"cpu\", \"seed\": 3,"
    " \"threads\": 1, \"max_duration\": \"2ep\"}";

static char folder[FOLDER_SIZE], path[FOLDER_SIZE + 16], told[2048];
static tutti_error err;

static void tell(void *ctx, int32_t level, const char *text)
{
    (void)ctx;
    (void)level;
    (void)snprintf(told + strlen(told), sizeof told - strlen(told), "%s\n", text);
}

static void setup(void)
{
    memset(&err, 0, sizeof err);
    told[0] = '\0';
    folder_make(folder);
    (void)snprintf(path, sizeof path, "%s/run.json", folder);
    FILE *f = fopen(path, "w");
    ck_assert_ptr_nonnull(f);
    (void)fputs(run_text, f);
    ck_assert_int_eq(fclose(f), 0);
    ck_assert_int_eq(chdir(folder), 0); /* what the run writes */
}

static void teardown(void)
{
    folder_remove(folder);
}

static tutti_status open_with(const char *const *sets, tutti_trainer **ret)
{
    tutti_trainer_options o = TUTTI_TRAINER_INIT;
    o.run_file = path;
    o.sets = sets;
    o.report = tell;
    return tutti_trainer_open(&o, ret, &err);
}

START_TEST(a_time_series_is_read_after_training)
{
    static const char loss[] = "loss/train/total";
    enum { BATCHES = 16 };
    double values[BATCHES], batches[BATCHES], epochs[2], accuracy[2];
    tutti_trainer *t = NULL;
    ck_assert_ok(open_with(NULL, &t), err);
    ck_assert_ok(tutti_trainer_fit(t, "1ep", &err), err);
    ck_assert_int_eq(tutti_trainer_time(t)->batch, BATCHES / 2);
    ck_assert_ok(tutti_trainer_fit(t, "1ep", &err), err);
    const tutti_history_v1 *h = tutti_trainer_history(t);
    ck_assert_ptr_nonnull(h);
    ck_assert_uint_eq(h->count(h->ctx, loss), BATCHES);
    ck_assert_ok(h->timeseries(h->ctx, loss, NULL, values, BATCHES, &err), err);
    ck_assert_ok(h->timeseries(h->ctx, loss, "batch", batches, BATCHES, &err), err);
    for (int k = 0; k < BATCHES; k++) {
        ck_assert_double_eq(batches[k], k);
        ck_assert(isfinite(values[k]) && values[k] > 0.0);
    }
    ck_assert_double_lt(values[BATCHES - 1], values[0]);
    ck_assert_uint_eq(h->count(h->ctx, "metrics/test/accuracy"), 2);
    ck_assert_ok(h->timeseries(h->ctx, "metrics/test/accuracy", "epoch", epochs, 2, &err), err);
    ck_assert_ok(h->timeseries(h->ctx, "metrics/test/accuracy", NULL, accuracy, 2, &err), err);
    ck_assert_double_lt(epochs[0], epochs[1]);
    ck_assert_double_eq(tutti_trainer_metric(t, "metrics/test/accuracy"), accuracy[1]);
    ck_assert(isnan(tutti_trainer_metric(t, "metrics/test/acuracy")));
    ck_assert_int_eq(tutti_trainer_fit(t, NULL, &err), TUTTI_E_STATE); /* it is over */
    tutti_trainer_close(t);
}
END_TEST

START_TEST(without_the_logger_there_is_no_history)
{
    const char *const sets[] = {"loggers=[]", "max_duration=1ba", NULL};
    tutti_trainer *t = NULL;
    ck_assert_ok(open_with(sets, &t), err);
    ck_assert_ok(tutti_trainer_fit(t, NULL, &err), err);
    ck_assert_ptr_null(tutti_trainer_history(t));
    ck_assert(isfinite(tutti_trainer_metric(t, "loss/train/total")));
    tutti_trainer_close(t);
}
END_TEST

START_TEST(a_wrong_run_file_is_told_fault_by_fault)
{
    const char *const sets[] = {"model.name=mpl", "optimizer.lrr=1", NULL};
    tutti_trainer *t = NULL;
    ck_assert_int_eq(open_with(sets, &t), TUTTI_E_ARG);
    ck_assert_ptr_null(t);
    ck_assert_ptr_nonnull(strstr(err.text, "mpl"));
    ck_assert_ptr_nonnull(strstr(told, "mpl"));
    ck_assert_ptr_nonnull(strstr(told, "lrr"));
    memset(&err, 0, sizeof err);
    tutti_trainer_options o = TUTTI_TRAINER_INIT;
    ck_assert_int_eq(tutti_trainer_open(&o, &t, &err), TUTTI_E_ARG);
    ck_assert_error(err, TUTTI_E_ARG, "the options name no run file");
}
END_TEST

/* Rank 1 cannot read its run file; rank 0 can. */
START_TEST(a_wrong_run_file_is_told_to_other_ranks)
{
    static const char comm[] =
        "distributed={\"comm\": \"shared_memory\", \"join_timeout_s\": 20}";
    const char *const good[] = {comm, "microbatch_size=8", NULL};
    const char *const bad[] = {comm, "model.name=mpl", NULL};
    tutti_trainer *t = NULL;
    ck_assert_int_eq(setenv("TUTTI_JOB", folder, 1), 0);
    ck_assert_int_eq(setenv("TUTTI_WORLD_SIZE", "2", 1), 0);
    const pid_t other = fork();
    ck_assert_int_ge(other, 0);
    ck_assert_int_eq(setenv("TUTTI_RANK", other ? "0" : "1", 1), 0);
    if (other == 0)
        _exit(open_with(bad, &t) == TUTTI_E_ARG ? 0 : 1);
    ck_assert_int_eq(open_with(good, &t), TUTTI_E_ARG);
    ck_assert_ptr_nonnull(strstr(err.text, "[rank 1] "));
    ck_assert_ptr_nonnull(strstr(err.text, "model.name: there is no model mpl"));
    int status = 1;
    ck_assert_int_eq(waitpid(other, &status, 0), other);
    ck_assert_int_eq(status, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("trainer");
    TCase *tc = tcase_create("all");
    tcase_add_checked_fixture(tc, setup, teardown);
    suite_add_tcase(suite, tc);
    tcase_add_test(tc, a_time_series_is_read_after_training);
    tcase_add_test(tc, without_the_logger_there_is_no_history);
    tcase_add_test(tc, a_wrong_run_file_is_told_fault_by_fault);
    tcase_add_test(tc, a_wrong_run_file_is_told_to_other_ranks);
    return tutti_run(suite);
}
