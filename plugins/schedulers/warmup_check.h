/* warmup_check.h - the tests of every schedule with a warm-up, from its settings and a few numbers. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WARMUP_CHECK_H
#define WARMUP_CHECK_H

#include "schedule_check.h"
#include "warning_check.h"

#include <stdio.h>

typedef struct warmup_point {
    int64_t batch;
    double factor;
} warmup_point;

/* In runs of 1000 batches with a warm-up of 100. */
typedef struct warmup_case {
    const char *name;
    void (*settings)(test_settings *g); /* beside t_warmup, t_max and scale_warmup */
    warmup_point points[8];
    uint32_t npoints;
    uint32_t has_end; /* 1: t_max is one of its parameters */
    /* At scale_ratio 0.5 with scale_warmup: the warm-up takes 50ba, the run 500ba. */
    warmup_point scaled[3];
    double unscaled; /* the same without scale_warmup, at batch 75 */
    double bare;     /* at batch 0 without a warm-up */
} warmup_case;

static inline void warmup_open(const warmup_case *w, course *c, test_settings *g,
                               int64_t t_warmup, int scale_warmup, const service *services)
{
    test_settings_init(g);
    test_settings_time(g, "t_warmup", t_warmup, TUTTI_UNIT_BATCH);
    test_settings_dur(g, "t_max", 1.0);
    test_settings_bool(g, "scale_warmup", scale_warmup);
    w->settings(g);
    course_open(c, PLUGIN_PATH, w->name, g, services);
}

static inline void warmup_leads_in(const warmup_case *w)
{
    test_settings g;
    course c;
    warmup_open(w, &c, &g, 100, 0, NULL);
    for (uint32_t k = 0; k < w->npoints; k++)
        ck_assert_factor(&c, w->points[k].batch, w->points[k].factor);
    subject_close(&c.subject);
}

/* Between the scaled and the unscaled end of the warm-up, where one of the two alone would differ. */
static inline void warmup_scales(const warmup_case *w)
{
    test_settings g;
    course c;
    warmup_open(w, &c, &g, 100, 1, NULL);
    c.scale_ratio = 0.5;
    for (uint32_t k = 0; k < 3; k++)
        ck_assert_factor(&c, w->scaled[k].batch, w->scaled[k].factor);
    subject_close(&c.subject);
    warmup_open(w, &c, &g, 100, 0, NULL);
    c.scale_ratio = 0.5;
    ck_assert_factor(&c, 75, w->unscaled);
    subject_close(&c.subject);
}

static inline void warmup_wants_one_unit(const warmup_case *w)
{
    test_settings g;
    course c;
    char text[160];
    warmup_open(w, &c, &g, 100, 0, NULL);
    c.max_duration = course_time(1000, TUTTI_UNIT_SAMPLE);
    (void)snprintf(text, sizeof text, "%s: t_warmup comes to ba and t_max to sp, want one unit",
                   w->name);
    ck_assert_refuses(&c, TUTTI_E_ARG, text);
    subject_close(&c.subject);
}

static inline void warmup_wants_the_whole_run(const warmup_case *w)
{
    test_settings g;
    course c;
    char text[192];
    warmup_open(w, &c, &g, 100, 0, NULL);
    subject_close(&c.subject);
    test_settings_dur(&g, "t_max", 0.75);
    course_open(&c, PLUGIN_PATH, w->name, &g, NULL);
    (void)snprintf(text, sizeof text,
                   "%s: t_max comes to 750ba, less than the 1000ba of training: the schedule "
                   "would not be defined to its end",
                   w->name);
    ck_assert_refuses(&c, TUTTI_E_ARG, text);
    subject_close(&c.subject);
}

static inline void warmup_warns_when_empty(const warmup_case *w)
{
    test_settings g;
    course c;
    char text[160];
    warning_forget();
    warmup_open(w, &c, &g, 0, 0, warning_services);
    (void)snprintf(text, sizeof text, "2 t_warmup is 0: %s runs without a warm-up", w->name);
    ck_assert_str_eq(warning_last, text);
    ck_assert_factor(&c, 0, w->bare);
    subject_close(&c.subject);
}

/* The folder's test defines `schedule`, a warmup_case, and calls this. */
#define WARMUP_TEST_MAIN                                                                       \
    START_TEST(a_ramp_leads_into_the_schedule)                                                 \
    {                                                                                          \
        warmup_leads_in(&schedule);                                                            \
    }                                                                                          \
    END_TEST                                                                                   \
    START_TEST(scale_warmup_scales_the_ramp_and_its_end)                                       \
    {                                                                                          \
        warmup_scales(&schedule);                                                              \
    }                                                                                          \
    END_TEST                                                                                   \
    START_TEST(units_that_differ_are_refused)                                                  \
    {                                                                                          \
        warmup_wants_one_unit(&schedule);                                                      \
    }                                                                                          \
    END_TEST                                                                                   \
    START_TEST(a_t_max_before_the_end_of_training_is_refused)                                  \
    {                                                                                          \
        warmup_wants_the_whole_run(&schedule);                                                 \
    }                                                                                          \
    END_TEST                                                                                   \
    START_TEST(an_empty_warm_up_is_warned_about)                                               \
    {                                                                                          \
        warmup_warns_when_empty(&schedule);                                                    \
    }                                                                                          \
    END_TEST                                                                                   \
    int main(void)                                                                             \
    {                                                                                          \
        Suite *suite = suite_create(schedule.name);                                            \
        TCase *tc = tcase_create("all");                                                       \
        suite_add_tcase(suite, tc);                                                            \
        tcase_add_test(tc, a_ramp_leads_into_the_schedule);                                    \
        tcase_add_test(tc, scale_warmup_scales_the_ramp_and_its_end);                          \
        if (schedule.has_end)                                                                  \
            tcase_add_test(tc, units_that_differ_are_refused);                                 \
        if (schedule.has_end)                                                                  \
            tcase_add_test(tc, a_t_max_before_the_end_of_training_is_refused);                 \
        tcase_add_test(tc, an_empty_warm_up_is_warned_about);                                  \
        return tutti_run(suite);                                                               \
    }

#endif
