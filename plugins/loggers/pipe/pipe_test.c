/* pipe_test.c - the logger through its entry function, with programs that read, die, wait and stay. */
/* SPDX-License-Identifier: Apache-2.0 */
#define TUTTI_USE_MINOR 1 /* tables */
#include "run_check.h"

#include <signal.h>
#include <stdbool.h>
#include <unistd.h>

static stage run;
static subject it;
static char text[1 << 18];

/* /bin/sh with `script`, in which $1 is the run's folder. */
static const tutti_logger_v1 *open_it(const char *program, const char *script, int queue_size,
                                      double flush_timeout)
{
    const char *argv[] = {program, "-c", script, program, run.run_folder};
    test_settings g;
    tutti_error err = TUTTI_ERROR_INIT;
    test_settings_init(&g);
    tutti_param *items = test_settings_list(&g, "command", TUTTI_PARAM_STRING, 5);
    for (int k = 0; k < 5; k++)
        items[k].s = argv[k];
    test_settings_bool(&g, "log_traces", 1);
    test_settings_int(&g, "queue_size", queue_size);
    test_settings_float(&g, "flush_timeout", flush_timeout);
    ck_assert_ok(
        subject_open(&it, PLUGIN_PATH, TUTTI_KIND_LOGGER, "pipe", &g, run.services, &err), err);
    ck_assert_hears(&run, &it, TUTTI_EVENT_INIT);
    ck_assert_hears(&run, &it, TUTTI_EVENT_FIT_START);
    return subject_query(&it, TUTTI_LOGGER_V1);
}

static void log_batches(const tutti_logger_v1 *table, uint64_t first, uint64_t end)
{
    tutti_error err = TUTTI_ERROR_INIT;
    const tutti_named_value v = {"loss", 0.5};
    for (uint64_t k = first; k < end; k++)
        ck_assert_ok(table->metrics(it.self, &v, 1, k, &err), err);
}

/* Every line of the file has "batch":k, from 0 on. */
static void check_batches(uint64_t end)
{
    uint64_t k = 0;
    (void)stage_file(&run, "got", text, sizeof text);
    for (const char *at = text; (at = strstr(at, "\"batch\":")); at++)
        ck_assert_uint_eq(strtoull(at + 8, NULL, 10), k++);
    ck_assert_uint_eq(k, end);
}

static bool is_there(const char *name)
{
    char path[400];
    (void)snprintf(path, sizeof path, "%s/%s", run.run_folder, name);
    return access(path, F_OK) == 0;
}

#define WAIT_UNTIL(condition)                                                                  \
    while (!(condition))                                                                       \
    (void)usleep(10000)

START_TEST(the_program_gets_a_line_for_each_item)
{
    tutti_error err = TUTTI_ERROR_INIT;
    const tutti_named_value v = {"loss/train/total", 0.1};
    const tutti_named_text h = {"seed", "17"};
    const tutti_trace trace = {.struct_size = sizeof trace,
                               .name = "mixup",
                               .event_name = "before_loss",
                               .step = 3,
                               .exit_code = TUTTI_EXIT_NONE,
                               .duration_ns = 5};
    stage_init(&run);
    const tutti_logger_v1 *table = open_it("sh", "cat >$1/got; echo done", 1024, 100);
    ck_assert_ok(table->hyperparameters(it.self, &h, 1, &err), err);
    ck_assert_ok(table->metrics(it.self, &v, 1, 7, &err), err);
    ck_assert_ok(table->trace(it.self, &trace, &err), err);
    ck_assert_ok(table->message(it.self, TUTTI_LOG_INFO, "train", "hello", &err), err);
    const tutti_table answers = stage_a_table("answers");
    ck_assert_ok(table->table(it.self, &answers, 7, &err), err);
    subject_close(&it);
    (void)stage_file(&run, "got", text, sizeof text);
    static const char *const want[] = {
        "\"kind\":\"hyperparameters\",\"values\":{\"seed\":17}}\n{",
        "\"kind\":\"metrics\",\"batch\":7,\"epoch\":0,\"values\":{\"loss/train/"
        "total\":0.1}}\n{",
        "\"kind\":\"trace\",\"key\":\"algorithm_traces/mixup/Event.BEFORE_LOSS\",\"batch\":3,",
        "\"kind\":\"message\",\"level\":\"info\",\"component\":\"train\",\"text\":\"hello\"}"
        "\n",
        "\"kind\":\"table\",\"batch\":7,\"name\":\"answers\",\"columns\":[\"sample\","
        "\"said\"]"};
    const char *at = text;
    for (int k = 0; k < 5; k++) {
        at = strstr(at, want[k]);
        ck_assert_msg(at != NULL, "want %s in %s", want[k], text);
    }
    ck_assert_str_eq(run.noted, "");
    ck_assert_str_eq(stage_file(&run, "pipe.output", text, sizeof text), "done\n");
    ck_assert(!is_there("pipe.waiting"));
    stage_fini(&run);
}
END_TEST

START_TEST(a_program_that_dies_is_started_again_and_nothing_is_lost)
{
    char want[500];
    stage_init(&run);
    const tutti_logger_v1 *table =
        open_it("sh", "IFS= read -r line && echo \"$line\" >>$1/got; exit 3", 1024, 100);
    log_batches(table, 0, 5);
    WAIT_UNTIL(is_there("got"));
    subject_close(&it);
    check_batches(5);
    (void)snprintf(want, sizeof want,
                   "pipe: sh ended with status 3; it printed to %s/pipe.output",
                   run.run_folder);
    ck_assert_int_eq(strncmp(run.noted, want, strlen(want)), 0);
    stage_fini(&run);
}
END_TEST

START_TEST(a_program_that_does_not_exist_is_named_and_lines_wait)
{
    stage_init(&run);
    const tutti_logger_v1 *table = open_it("no_such_program", "", 1024, 0);
    log_batches(table, 0, 3);
    while (!run.noted[0]) {
        ck_assert_hears(&run, &it, TUTTI_EVENT_BATCH_END);
        (void)usleep(10000);
    }
    ck_assert_str_eq(run.noted,
                     "pipe: cannot start no_such_program: No such file or directory; what is "
                     "logged is kept and sent when it can be");
    subject_close(&it);
    ck_assert(is_there("pipe.waiting"));
    table = open_it("sh", "cat >$1/got", 1024, 100);
    log_batches(table, 3, 5);
    subject_close(&it);
    check_batches(5);
    stage_fini(&run);
}
END_TEST

START_TEST(a_program_that_reads_late_holds_up_nobody)
{
    char path[400];
    stage_init(&run);
    const tutti_logger_v1 *table =
        open_it("sh", "while [ ! -e $1/go ]; do sleep 0.05; done; cat >$1/got", 1, 100);
    log_batches(table, 0, 2500); /* more than a pipe holds: into the file */
    ck_assert(is_there("pipe.waiting"));
    (void)snprintf(path, sizeof path, "%s/go", run.run_folder);
    FILE *go = fopen(path, "we");
    ck_assert_ptr_nonnull(go);
    (void)fclose(go);
    subject_close(&it);
    check_batches(2500);
    ck_assert_str_eq(run.noted, "");
    ck_assert(!is_there("pipe.waiting"));
    stage_fini(&run);
}
END_TEST

START_TEST(a_program_that_stays_is_ended)
{
    stage_init(&run);
    const tutti_logger_v1 *table =
        open_it("sh", "IFS= read -r line; echo $$ >$1/got; exec sleep 1000", 1024, 0);
    log_batches(table, 0, 1);
    WAIT_UNTIL(strchr(stage_file(&run, "got", text, sizeof text), '\n'));
    const pid_t pid = (pid_t)strtol(text, NULL, 10);
    subject_close(&it);
    ck_assert_str_eq(run.noted,
                     "pipe: sh did not end in time after its input had, and was killed");
    ck_assert_int_ne(kill(pid, 0), 0);
    stage_fini(&run);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("pipe");
    TCase *tc = tcase_create("all");
    suite_add_tcase(suite, tc);
    tcase_add_test(tc, the_program_gets_a_line_for_each_item);
    tcase_add_test(tc, a_program_that_dies_is_started_again_and_nothing_is_lost);
    tcase_add_test(tc, a_program_that_does_not_exist_is_named_and_lines_wait);
    tcase_add_test(tc, a_program_that_reads_late_holds_up_nobody);
    tcase_add_test(tc, a_program_that_stays_is_ended);
    return tutti_run(suite);
}
