/* channels_last_test.c - it says that there is nothing to do. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../algorithm_check.h"

START_TEST(it_says_that_there_is_nothing_to_do)
{
    static run r;
    subject s;
    tutti_error err = TUTTI_ERROR_INIT;
    run_init(&r);
    ck_assert_ok(subject_open(&s, PLUGIN_PATH, TUTTI_KIND_ALGORITHM, "channels_last", NULL,
                              r.services, &err),
                 err);
    ck_assert_int_eq(run_event(&r, &s, TUTTI_EVENT_INIT, &err), 1);
    ck_assert_int_eq(run_event(&r, &s, TUTTI_EVENT_FIT_START, &err), 0);
    ck_assert_str_eq(err.text, "");
    ck_assert_str_eq(r.told, "[1] channels_last changes nothing: images always lie as "
                             "(B, H, W, C)\n");
    subject_close(&s);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("channels_last");
    TCase *t = tcase_create("all");
    tcase_add_test(t, it_says_that_there_is_nothing_to_do);
    suite_add_tcase(suite, t);
    return tutti_run(suite);
}
