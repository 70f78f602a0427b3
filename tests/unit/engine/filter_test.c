/* filter_test.c - the counts that filters pass, as upstream's. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/handlers/filter.h"
#include "tutti_check.h"

#include <stdio.h>

/* The counts from 0 to 30 that pass: " 1 6 11". */
static const char *passed(const filter *f)
{
    static char text[256];
    text[0] = '\0';
    for (int64_t k = 0; k <= 30; k++)
        if (filter_passes(f, k, NULL) == 1) {
            const size_t used = strlen(text);
            (void)snprintf(text + used, sizeof text - used, " %lld", (long long)k);
        }
    return text;
}

START_TEST(every_passes_multiples_and_zero)
{
    const filter f = {.every = 7};
    ck_assert_str_eq(passed(&f), " 0 7 14 21 28");
}
END_TEST

START_TEST(bounds_are_exclusive_and_shift_the_phase)
{
    const filter bounds = {.has_before = true, .before = 5, .has_after = true, .after = 2};
    ck_assert_str_eq(passed(&bounds), " 3 4");
    const filter before = {.every = 5, .has_before = true, .before = 12};
    ck_assert_str_eq(passed(&before), " 1 6 11");
    const filter both = {
        .every = 5, .has_before = true, .before = 25, .has_after = true, .after = 8};
    ck_assert_str_eq(passed(&both), " 9 14 19 24");
}
END_TEST

START_TEST(once_passes_what_it_names)
{
    static const int64_t named[] = {3, 9, 3};
    const filter f = {.once = named, .nonce = 3};
    ck_assert_str_eq(passed(&f), " 3 9");
}
END_TEST

static int32_t odd_until_20(void *ctx, int64_t count, tutti_error *err)
{
    ++*(int *)ctx;
    return count > 20 ? tutti_fail(err, TUTTI_E_RANGE, "too far") : (int32_t)(count % 2);
}

START_TEST(a_function_decides_and_may_fail)
{
    int calls = 0;
    const filter f = {.test = odd_until_20, .ctx = &calls};
    tutti_error err = TUTTI_ERROR_INIT;
    ck_assert_str_eq(passed(&f), " 1 3 5 7 9 11 13 15 17 19");
    ck_assert_int_eq(calls, 31);
    ck_assert_int_eq(filter_passes(&f, 21, &err), TUTTI_E_RANGE);
    ck_assert_str_eq(err.text, "too far");
}
END_TEST

START_TEST(an_empty_filter_passes_everything)
{
    const filter f = {0};
    tutti_error err = TUTTI_ERROR_INIT;
    ck_assert_ok(filter_check(&f, &err), err);
    ck_assert_int_eq(filter_passes(&f, 0, NULL), 1);
    ck_assert_int_eq(filter_passes(&f, INT64_MAX, NULL), 1);
}
END_TEST

START_TEST(only_one_group_may_be_used)
{
    static const int64_t one[] = {1};
    static const int64_t zero[] = {0};
    static const char several[] = "a handler takes a function, once, or every with before and "
                                  "after, not several of them";
    const struct {
        filter f;
        const char *text;
    } cases[] = {{{.every = 2, .once = one, .nonce = 1}, several},
                 {{.test = odd_until_20, .has_after = true}, several},
                 {{.test = odd_until_20, .once = one, .nonce = 1}, several},
                 {{.every = -1}, "every is -1, want 1 or more"},
                 {{.has_before = true, .before = -2}, "before is -2, want 0 or more"},
                 {{.has_after = true, .after = -3}, "after is -3, want 0 or more"},
                 {{.once = zero, .nonce = 1}, "once is 0, want 1 or more"}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        tutti_error err = TUTTI_ERROR_INIT;
        ck_assert_int_eq(filter_check(&cases[k].f, &err), TUTTI_E_ARG);
        ck_assert_error(err, TUTTI_E_ARG, cases[k].text);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("filter");
    TCase *tc = tcase_create("all");
    suite_add_tcase(suite, tc);
    tcase_add_test(tc, every_passes_multiples_and_zero);
    tcase_add_test(tc, bounds_are_exclusive_and_shift_the_phase);
    tcase_add_test(tc, once_passes_what_it_names);
    tcase_add_test(tc, a_function_decides_and_may_fail);
    tcase_add_test(tc, an_empty_filter_passes_everything);
    tcase_add_test(tc, only_one_group_may_be_used);
    return tutti_run(suite);
}
