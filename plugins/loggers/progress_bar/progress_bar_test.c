/* progress_bar_test.c - the logger through its entry function, on a file and on a terminal. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "run_check.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

static stage run;
static subject it;
static const tutti_logger_v1 *table;
static char text[4096];

static void open_it(double line_every)
{
    test_settings g;
    tutti_error err = TUTTI_ERROR_INIT;
    test_settings_init(&g);
    test_settings_enum(&g, "stream", "stderr", 0);
    test_settings_float(&g, "refresh", 0.0);
    test_settings_float(&g, "line_every", line_every);
    ck_assert_ok(subject_open(&it, PLUGIN_PATH, TUTTI_KIND_LOGGER, "progress_bar", &g,
                              run.services, &err),
                 err);
    table = subject_query(&it, TUTTI_LOGGER_V1);
    ck_assert_hears(&run, &it, TUTTI_EVENT_FIT_START);
}

static void to_file(void)
{
    char path[400];
    stage_init(&run);
    (void)snprintf(path, sizeof path, "%s/err", run.run_folder);
    const int fd = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(dup2(fd, 2), 2);
}

static void log_value(const char *name, double value)
{
    tutti_error err = TUTTI_ERROR_INIT;
    const tutti_named_value v = {name, value};
    ck_assert_ok(table->metrics(it.self, &v, 1, 0, &err), err);
}

static void batch(double loss)
{
    log_value("loss/train/total", loss);
    stage_next_batch(&run);
    ck_assert_hears(&run, &it, TUTTI_EVENT_BATCH_END);
}

START_TEST(without_a_terminal_epochs_and_evaluations_are_plain_lines)
{
    tutti_error err = TUTTI_ERROR_INIT;
    to_file();
    open_it(3600.0);
    for (int k = 0; k < 4; k++)
        batch(0.5 + k);
    stage_next_epoch(&run);
    ck_assert_hears(&run, &it, TUTTI_EVENT_EPOCH_END);
    run.label = "test";
    log_value("metrics/test/accuracy", 0.875);
    log_value("metrics/test/cross_entropy", 0.25);
    ck_assert_hears(&run, &it, TUTTI_EVENT_EVAL_BATCH_END);
    ck_assert_hears(&run, &it, TUTTI_EVENT_EVAL_END);
    run.label = NULL;
    ck_assert_ok(table->message(it.self, TUTTI_LOG_INFO, "train", "hello", &err), err);
    ck_assert_hears(&run, &it, TUTTI_EVENT_FIT_END);
    subject_close(&it);
    /* 40 samples in 80 ms, a third of the run */
    ck_assert_str_eq(stage_file(&run, "err", text, sizeof text),
                     "epoch 1/3, batch 4/4, 500 samples/s, eta 0:00, loss 3.5000\n"
                     "eval test: accuracy 0.8750, cross_entropy 0.2500\ntrain: hello\n");
    stage_fini(&run);
}
END_TEST

START_TEST(a_run_in_batches_is_told_with_its_end)
{
    to_file();
    run.max.unit = TUTTI_UNIT_BATCH;
    run.max.count = 6;
    open_it(0.0);
    run.time.total_ns += 7500000000000; /* slow: 6 x 2 h 5 min */
    batch(0.25);
    subject_close(&it);
    ck_assert_str_eq(stage_file(&run, "err", text, sizeof text),
                     "training, batch 1/6, 0 samples/s, eta 10:25:00, loss 0.2500\n");
    stage_fini(&run);
}
END_TEST

START_TEST(on_a_terminal_the_line_is_drawn_anew_and_cut_to_its_width)
{
    const struct winsize narrow = {.ws_row = 24, .ws_col = 60};
    const int terminal = posix_openpt(O_RDWR | O_NOCTTY);
    if (terminal < 0 || grantpt(terminal) || unlockpt(terminal)) {
        tutti_skip("no pseudo-terminals here");
        return;
    }
    const int fd = open(ptsname(terminal), O_RDWR | O_NOCTTY);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(ioctl(fd, TIOCSWINSZ, &narrow), 0);
    stage_init(&run);
    ck_assert_int_eq(dup2(fd, 2), 2);
    open_it(3600.0);
    batch(0.5);
    batch(0.25);
    run.time.batch_in_epoch = 0;
    run.time.epoch = 1;
    ck_assert_hears(&run, &it, TUTTI_EVENT_EPOCH_END);
    subject_close(&it);
    size_t used = 0;
    while (used < sizeof text - 1 && !memchr(text, '\n', used)) { /* it comes in pieces */
        const ssize_t n = read(terminal, text + used, sizeof text - 1 - used);
        ck_assert_int_gt(n, 0);
        used += (size_t)n;
    }
    text[used] = '\0';
    ck_assert_str_eq(text, "\repoch 1/3 [=====>              ] 1/4, 500 samples/s, eta 0:\033[K"
                           "\repoch 1/3 [==========>         ] 2/4, 500 samples/s, eta 0:\033[K"
                           "\repoch 1/3 [====================] 4/4, 500 samples/s, eta 0:\033[K"
                           "\r\n");
    stage_fini(&run);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("progress_bar");
    TCase *tc = tcase_create("all");
    suite_add_tcase(suite, tc);
    tcase_add_test(tc, without_a_terminal_epochs_and_evaluations_are_plain_lines);
    tcase_add_test(tc, a_run_in_batches_is_told_with_its_end);
    tcase_add_test(tc, on_a_terminal_the_line_is_drawn_anew_and_cut_to_its_width);
    return tutti_run(suite);
}
