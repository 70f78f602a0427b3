/* cosine_annealing_with_warmup_test.c - the schedule through its entry function. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../schedule_check.h"
#include "tutti/log.h"
static void open_with(course *c, given *g, int64_t t_warmup, int scale_warmup,
                      const service *services)
{
    given_init(g);
    given_time(g, "t_warmup", t_warmup, TUTTI_UNIT_BATCH);
    given_dur(g, "t_max", 1.0);
    given_bool(g, "scale_warmup", scale_warmup);
    given_float(g, "alpha_f", 0.2);
    course_open(c, PLUGIN_PATH, "cosine_annealing_with_warmup", g, services);
}

START_TEST(a_ramp_leads_into_the_schedule)
{
    given g;
    course c;
    open_with(&c, &g, 100, 0, NULL);
    ck_assert_factor(&c, 0, 0.0);
    ck_assert_factor(&c, 50, 0.5);
    ck_assert_factor(&c, 100, 1.0);
    ck_assert_factor(&c, 400, 0.8);
    ck_assert_factor(&c, 550, 0.6);
    ck_assert_factor(&c, 1000, 0.2);
    ck_assert_factor(&c, 1200, 0.2);
    subject_close(&c.subject);
}
END_TEST

/* Between the scaled and the unscaled end of the warm-up, where one of the two alone would differ. */
START_TEST(scale_warmup_scales_the_ramp_and_its_end)
{
    given g;
    course c;
    open_with(&c, &g, 100, 1, NULL);
    c.scale_ratio = 0.5; /* warm-up 50ba, end 500ba */
    ck_assert_factor(&c, 25, 0.5);
    ck_assert_factor(&c, 50, 1.0);
    ck_assert_factor(&c, 75, 0.2 + 0.8 * (1.0 + cos(M_PI * 25.0 / 450.0)) / 2.0);
    subject_close(&c.subject);
    open_with(&c, &g, 100, 0, NULL);
    c.scale_ratio = 0.5; /* warm-up still 100ba */
    ck_assert_factor(&c, 75, 0.75);
    subject_close(&c.subject);
}
END_TEST

START_TEST(units_that_differ_are_refused)
{
    given g;
    course c;
    open_with(&c, &g, 100, 0, NULL);
    c.max_duration = course_time(1000, TUTTI_UNIT_SAMPLE);
    ck_assert_refuses(
        &c, TUTTI_E_ARG,
        "cosine_annealing_with_warmup: t_warmup comes to ba and t_max to sp, want one unit");
    subject_close(&c.subject);
}
END_TEST

START_TEST(a_t_max_before_the_end_of_training_is_refused)
{
    given g;
    course c;
    open_with(&c, &g, 100, 0, NULL);
    subject_close(&c.subject);
    given_dur(&g, "t_max", 0.75);
    course_open(&c, PLUGIN_PATH, "cosine_annealing_with_warmup", &g, NULL);
    ck_assert_refuses(&c, TUTTI_E_ARG,
                      "cosine_annealing_with_warmup: t_max comes to 750ba, less than the "
                      "1000ba of training: the "
                      "schedule would not be defined to its end");
    subject_close(&c.subject);
}
END_TEST

static char warned[128];

static void keep_warning(void *ctx, int32_t level, const char *text)
{
    (void)snprintf(warned, sizeof warned, "%d %s", level, text);
}

START_TEST(an_empty_warm_up_is_warned_about)
{
    static const tutti_log_v1 log = {(uint32_t)sizeof log, 0, NULL, keep_warning};
    static const service services[] = {{TUTTI_LOG_V1, &log}, {NULL, NULL}};
    given g;
    course c;
    open_with(&c, &g, 0, 0, services);
    ck_assert_str_eq(warned,
                     "2 t_warmup is 0: cosine_annealing_with_warmup runs without a warm-up");
    ck_assert_factor(&c, 0, 1.0);
    subject_close(&c.subject);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cosine_annealing_with_warmup");
    TCase *tc = tcase_create("all");
    suite_add_tcase(suite, tc);
    tcase_add_test(tc, a_ramp_leads_into_the_schedule);
    tcase_add_test(tc, scale_warmup_scales_the_ramp_and_its_end);
    tcase_add_test(tc, units_that_differ_are_refused);
    tcase_add_test(tc, a_t_max_before_the_end_of_training_is_refused);
    tcase_add_test(tc, an_empty_warm_up_is_warned_about);
    return tutti_run(suite);
}
