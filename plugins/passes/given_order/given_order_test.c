/* given_order_test.c - the order that a run file gives. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "plugin_check.h"
#include "tutti/events.h"
#include "tutti/pass.h"

static const char *const present[] = {"mixup", "ema", "cutout", "smooth"};

static void opened(subject *s, const char *const *names, uint32_t n, const char *event,
                   int drop)
{
    test_settings g;
    tutti_error err = TUTTI_ERROR_INIT;
    test_settings_init(&g);
    test_settings_strings(&g, "names", names, n);
    if (event)
        test_settings_strings(&g, "events", &event, 1);
    else
        test_settings_null(&g, "events");
    test_settings_bool(&g, "drop_others", drop);
    ck_assert_ok(subject_open(s, PLUGIN_PATH, TUTTI_KIND_PASS, "given_order", &g, NULL, &err),
                 err);
}

/* The order at `event` as digits. */
static const char *asked(subject *s, int32_t event)
{
    static char text[8];
    uint32_t order[4], n = 0;
    tutti_error err = TUTTI_ERROR_INIT;
    const tutti_pass_v1 *pass = subject_query(s, TUTTI_PASS_V1);
    ck_assert_ok(pass->order(s->self, event, present, 4, order, &n, &err), err);
    for (uint32_t k = 0; k < n; k++)
        text[k] = (char)('0' + order[k]);
    text[n] = '\0';
    return text;
}

START_TEST(those_named_come_first_and_the_others_as_they_were)
{
    subject s;
    opened(&s, (const char *const[]){"smooth", "absent", "ema"}, 3, NULL, 0);
    ck_assert_str_eq(asked(&s, TUTTI_EVENT_BEFORE_LOSS), "3102");
    ck_assert_str_eq(asked(&s, TUTTI_EVENT_AFTER_LOSS), "3102");
    subject_close(&s);
}
END_TEST

START_TEST(other_events_are_left_alone)
{
    subject s;
    opened(&s, (const char *const[]){"smooth"}, 1, "after_loss", 1);
    ck_assert_str_eq(asked(&s, TUTTI_EVENT_AFTER_LOSS), "3");
    ck_assert_str_eq(asked(&s, TUTTI_EVENT_BEFORE_LOSS), "0123");
    subject_close(&s);
}
END_TEST

START_TEST(an_event_that_is_none_is_refused)
{
    subject s;
    test_settings g;
    tutti_error err = TUTTI_ERROR_INIT;
    const char *name = "mixup", *event = "before_los";
    test_settings_init(&g);
    test_settings_strings(&g, "names", &name, 1);
    test_settings_strings(&g, "events", &event, 1);
    test_settings_bool(&g, "drop_others", 0);
    ck_assert_int_eq(
        subject_open(&s, PLUGIN_PATH, TUTTI_KIND_PASS, "given_order", &g, NULL, &err),
        TUTTI_E_ARG);
    ck_assert_error(
        err, TUTTI_E_ARG,
        "given_order: before_los is no event of training, want names such as before_loss");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("given_order");
    TCase *tc = tcase_create("all");
    suite_add_tcase(suite, tc);
    tcase_add_test(tc, those_named_come_first_and_the_others_as_they_were);
    tcase_add_test(tc, other_events_are_left_alone);
    tcase_add_test(tc, an_event_that_is_none_is_refused);
    return tutti_run(suite);
}
