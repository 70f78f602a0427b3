/* report_test.c - logs become series, whatever their lines hold; long series become short and curves become drawings. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "report/decimate.h"
#include "report/history.h"
#include "report/plot.h"

#include "folder_check.h"
#include "tutti_check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { POINTS = 5000, PARTS = 40, WIDTH = 60, HEIGHT = 8 };

static char folder[64];
static char path[96];
static history log_read;
static tutti_error err;

static void start(void)
{
    (void)snprintf(folder, sizeof folder, "/tmp/tutti_report_XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    (void)snprintf(path, sizeof path, "%s/log.jsonl", folder);
    err = (tutti_error)TUTTI_ERROR_INIT;
    log_read = (history){.series = NULL};
}

static void stop(void)
{
    history_fini(&log_read);
    folder_remove(folder);
}

static void write_log(const char *text)
{
    FILE *f = fopen(path, "we");
    ck_assert_ptr_nonnull(f);
    ck_assert_int_ge(fputs(text, f), 0);
    ck_assert_int_eq(fclose(f), 0);
}

static const series *values_of(const char *name, size_t count)
{
    const series *s = history_find(&log_read, name);
    ck_assert_msg(s != NULL, "%s is not there", name);
    ck_assert_uint_eq(s->count, count);
    return s;
}

#define METRICS(time, batch, values)                                                           \
    "{\"time\":" time ",\"kind\":\"metrics\",\"batch\":" batch                                 \
    ",\"epoch\":0,\"values\":{" values "}}\n"

START_TEST(lines_of_every_form)
{
    write_log(
        METRICS("10.5", "1", "\"a\":1.5,\"b\":\"NaN\"")
        /* members in another order, spaces, a name with an escape */
        "{\"kind\": \"metrics\", \"time\": 11, \"batch\": 2, \"epoch\": 0, "
        "\"values\": {\"a\": -2, \"c\\u0064\": \"-Infinity\"}}\n"
        "no JSON\n"
        "{\"kind\":\"message\",\"time\":12,\"level\":\"warning\",\"component\":\"x\",\"text\":"
        "\"t\"}\n"
        "{\"kind\":\"trace\",\"time\":13,\"batch\":2,\"algorithm\":\"mixup\","
        "\"event\":\"before_loss\",\"ran\":true,\"duration_ns\":4000}\n" /**/
        METRICS("14", "3", "\"b\":\"Infinity\"") "{\"time\":15,\"kind\":\"metrics\",\"ba");
    ck_assert_int_eq(history_read(&log_read, path, &err), TUTTI_OK);
    const series *a = values_of("a", 2), *b = values_of("b", 2), *c = values_of("cd", 1);
    ck_assert_double_eq(a->value[0], 1.5);
    ck_assert_double_eq(a->value[1], -2.0);
    ck_assert_double_eq(a->time[1], 11.0);
    ck_assert(isnan(b->value[0]) && b->value[1] == (double)INFINITY);
    ck_assert(c->value[0] == -(double)INFINITY);
    ck_assert_uint_eq(log_read.nmessages, 1);
    ck_assert_int_eq(log_read.messages[0].batch, 2);
    ck_assert_uint_eq(log_read.nrows, 1);
    ck_assert_double_eq((double)log_read.rows[0].calls[0].us, 4.0);
    ck_assert_double_eq(log_read.first, 10.5);
    ck_assert_double_eq(log_read.last, 14.0);
    ck_assert_int_eq(log_read.batch, 3);
}
END_TEST

START_TEST(what_an_earlier_process_undid_is_left_out)
{
    write_log(METRICS("1", "1", "\"a\":1") METRICS("2", "2", "\"a\":2") METRICS(
        "3", "3",
        "\"a\":3") "{\"kind\":\"hyperparameters\",\"time\":4,\"batch\":1,\"values\":{}}\n" /**/
              METRICS("5", "2", "\"a\":20"));
    ck_assert_int_eq(history_read(&log_read, path, &err), TUTTI_OK);
    /* The new process goes on with batch 2, so batch 3 has not happened.  What was logged at 2 may have been an
     * evaluation behind the checkpoint, so it stays. */
    const series *a = history_find(&log_read, "a");
    ck_assert_ptr_nonnull(a);
    for (size_t k = 0; k < a->count; k++)
        ck_assert_double_ne(a->value[k], 3.0);
    ck_assert_double_eq(a->value[a->count - 1], 20.0);
    ck_assert_int_eq(log_read.batch, 2);
}
END_TEST

START_TEST(a_log_that_is_not_there)
{
    ck_assert_int_eq(history_read(&log_read, path, &err), TUTTI_E_NOTFOUND);
    ck_assert(strncmp(err.text, path, strlen(path)) == 0);
}
END_TEST

START_TEST(the_best_is_a_number)
{
    double values[] = {(double)NAN, 3, 1, (double)INFINITY, 2}, steps[] = {0, 1, 2, 3, 4},
           step = -1;
    const series s = {
        .name = "loss", .step = steps, .time = steps, .value = values, .count = 5};
    ck_assert_double_eq(series_best(&s, history_less_is_better("loss/train/total"), &step),
                        1.0);
    ck_assert_double_eq(step, 2.0);
    ck_assert_double_eq(series_best(&s, history_less_is_better("metrics/test/accuracy"), &step),
                        3.0);
    ck_assert(history_less_is_better("metrics/x/language_perplexity"));
    const series none = {
        .name = "loss", .step = steps, .time = steps, .value = values, .count = 1};
    ck_assert(isnan(series_best(&none, true, &step)));
}
END_TEST

/* A wave with one peak upwards, one downwards and a gap. */
static series wave(double *steps, double *values)
{
    for (size_t k = 0; k < POINTS; k++) {
        steps[k] = (double)k;
        values[k] = sin((double)k * 0.01);
    }
    values[1234] = 99;
    values[4321] = -99;
    for (size_t k = 2000; k < 2600; k++)
        values[k] = (double)NAN;
    return (series){
        .name = "w", .step = steps, .time = steps, .value = values, .count = POINTS};
}

START_TEST(peaks_and_gaps_stay)
{
    static double steps[POINTS], values[POINTS];
    size_t kept[2 * PARTS + 2];
    const series s = wave(steps, values);
    const size_t n = decimate(&s, PARTS, kept);
    bool up = false, down = false, gap = false;
    ck_assert_uint_le(n, 2 * PARTS + 2);
    ck_assert_uint_eq(kept[0], 0);
    ck_assert_uint_eq(kept[n - 1], POINTS - 1);
    for (size_t k = 0; k < n; k++) {
        ck_assert(k == 0 || kept[k] > kept[k - 1]);
        up = up || kept[k] == 1234;
        down = down || kept[k] == 4321;
        gap = gap || isnan(values[kept[k]]);
    }
    ck_assert(up && down && gap);
    const series few = {
        .name = "w", .step = steps, .time = steps, .value = values, .count = 2 * PARTS};
    ck_assert_uint_eq(decimate(&few, PARTS, kept), 2 * PARTS);
}
END_TEST

START_TEST(means_are_of_numbers)
{
    static double steps[POINTS], values[POINTS];
    double step[PARTS], time[PARTS], value[PARTS], sum = 0;
    const series s = wave(steps, values);
    const size_t n = decimate_means(&s, PARTS, step, time, value);
    /* 600 of 5000 points have no number: four of the parts of 125 points lie whole among them. */
    ck_assert_uint_eq(n, PARTS - 4);
    for (size_t k = 0; k < POINTS / PARTS; k++)
        sum += values[k];
    ck_assert_double_eq_tol(value[0], sum / (POINTS / PARTS), 1e-12);
    ck_assert_double_eq_tol(step[0], (POINTS / PARTS - 1) / 2.0, 1e-9);
}
END_TEST

static size_t lines(const char *text)
{
    size_t n = 0;
    for (; *text; text++)
        n += *text == '\n';
    return n;
}

START_TEST(a_drawing_fits)
{
    static double steps[POINTS], values[POINTS];
    const series s = wave(steps, values);
    const series *curves[] = {NULL, &s};
    text_buffer b = {.data = NULL};
    plot_draw(&b, curves, 2, &(plot_options){.width = WIDTH, .height = HEIGHT});
    ck_assert(!b.failed);
    ck_assert_uint_eq(lines(b.data), HEIGHT + 2);
    size_t marks = 0;
    for (char *line = strtok(b.data, "\n"); line; line = strtok(NULL, "\n")) {
        ck_assert_uint_le(strlen(line), WIDTH);
        for (const char *c = line; *c; c++)
            marks += *c == '*';
    }
    ck_assert_uint_gt(marks, HEIGHT); /* the peaks are lines from below to above */
    free(b.data);
}
END_TEST

START_TEST(a_drawing_without_numbers_says_so)
{
    double steps[] = {1, 2}, values[] = {(double)NAN, (double)INFINITY};
    const series s = {.name = "w", .step = steps, .time = steps, .value = values, .count = 2};
    const series *curves[] = {&s};
    text_buffer b = {.data = NULL};
    plot_draw(&b, curves, 1,
              &(plot_options){.width = WIDTH, .height = HEIGHT, .braille = true});
    ck_assert_str_eq(b.data, "no numbers\n");
    free(b.data);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("report");
    TCase *c = tcase_create("report");
    tcase_add_checked_fixture(c, start, stop);
    tcase_add_test(c, lines_of_every_form);
    tcase_add_test(c, what_an_earlier_process_undid_is_left_out);
    tcase_add_test(c, a_log_that_is_not_there);
    tcase_add_test(c, the_best_is_a_number);
    tcase_add_test(c, peaks_and_gaps_stay);
    tcase_add_test(c, means_are_of_numbers);
    tcase_add_test(c, a_drawing_fits);
    tcase_add_test(c, a_drawing_without_numbers_says_so);
    suite_add_tcase(suite, c);
    return tutti_run(suite);
}
