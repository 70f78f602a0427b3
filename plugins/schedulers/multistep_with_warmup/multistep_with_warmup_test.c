/* multistep_with_warmup_test.c - the schedule through its entry function. */
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
    const tutti_time milestones[] = {{50, 0.0, TUTTI_UNIT_BATCH, 0},
                                     {200, 0.0, TUTTI_UNIT_BATCH, 0}};
    given_times(g, "milestones", milestones, 2);
    given_float(g, "gamma", 0.5);
    course_open(c, PLUGIN_PATH, "multistep_with_warmup", g, services);
}

START_TEST(a_ramp_leads_into_the_schedule)
{
    given g;
    course c;
    open_with(&c, &g, 100, 0, NULL);
    ck_assert_factor(&c, 0, 0.0);
    ck_assert_factor(&c, 50, 0.5);
    ck_assert_factor(&c, 99, 0.99);
    ck_assert_factor(&c, 100, 0.5);
    ck_assert_factor(&c, 200, 0.25);
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
    ck_assert_factor(&c, 50, 0.5);
    ck_assert_factor(&c, 75, 0.5);
    subject_close(&c.subject);
    open_with(&c, &g, 100, 0, NULL);
    c.scale_ratio = 0.5; /* warm-up still 100ba */
    ck_assert_factor(&c, 75, 0.75);
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
    ck_assert_str_eq(warned, "2 t_warmup is 0: multistep_with_warmup runs without a warm-up");
    ck_assert_factor(&c, 0, 1.0);
    subject_close(&c.subject);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("multistep_with_warmup");
    TCase *tc = tcase_create("all");
    suite_add_tcase(suite, tc);
    tcase_add_test(tc, a_ramp_leads_into_the_schedule);
    tcase_add_test(tc, scale_warmup_scales_the_ramp_and_its_end);
    tcase_add_test(tc, an_empty_warm_up_is_warned_about);
    return tutti_run(suite);
}
