/* rank_code_test.c - which plugin of a rank differs from rank 0's, and how. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/ranks/rank_code.h"
#include "tutti_check.h"

#include <stdlib.h>
#include <string.h>

/* Lines are id, version, whether rank 0 may have it alone, hash, file. */
static void want(const char *mine, const char *first, const char *text)
{
    char *a = strdup(mine), *b = strdup(first);
    tutti_error e = TUTTI_ERROR_INIT;
    const tutti_status s = rank_code_compare(a, b, &e);
    ck_assert_str_eq(e.text, text);
    ck_assert_int_eq(s, *text ? TUTTI_E_ARG : TUTTI_OK);
    free(a);
    free(b);
}

START_TEST(the_same_in_another_order_is_the_same)
{
    want("", "", "");
    want("a\t1.0\t0\taa\tplugin.json\nb\t1.0\t0\tbb\tb.so\n",
         "b\t1.0\t0\tbb\tb.so\na\t1.0\t0\taa\tplugin.json\n", "");
}
END_TEST

START_TEST(a_difference_is_named)
{
    want("a\t1.1\t0\taa\ta.so\n", "a\t1.0\t0\taa\ta.so\n",
         "plugin a is version 1.1 here, that of rank 0 is 1.0");
    want("a\t1.0\t0\tab\tmy lib.so\n", "a\t1.0\t0\taa\tmy lib.so\n",
         "my lib.so of plugin a 1.0 is another file than that of rank 0: its SHA-256 is ab, "
         "want aa");
    want("a\t1.0\t0\taa\ta.so\na\t1.0\t0\tcc\tc.so\n", "a\t1.0\t0\taa\ta.so\n",
         "plugin a 1.0 has a file c.so here, that of rank 0 has none");
    want("a\t1.0\t0\taa\ta.so\n", "a\t1.0\t0\taa\ta.so\na\t1.0\t0\tcc\tc.so\n",
         "plugin a 1.0 has no file c.so here, that of rank 0 has one");
}
END_TEST

START_TEST(a_plugin_of_one_rank_is_named_unless_it_logs)
{
    want("a\t1.0\t0\taa\ta.so\n", "", "plugin a 1.0 is in use here, rank 0 does not use it");
    want("", "a\t1.0\t0\taa\ta.so\n", "plugin a 1.0 is not in use here, rank 0 uses it");
    want("", "a\t1.0\t1\taa\ta.so\n", "");
}
END_TEST

START_TEST(the_program_has_a_version_and_a_hash)
{
    char text[160] = "", again[160] = "";
    rank_code_program(text, sizeof text);
    rank_code_program(again, sizeof again);
    ck_assert_ptr_nonnull(strstr(text, " of XXH128 "));
    ck_assert_str_eq(text, again);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("rank_code");
    TCase *c = tcase_create("all");
    tcase_add_test(c, the_same_in_another_order_is_the_same);
    tcase_add_test(c, a_difference_is_named);
    tcase_add_test(c, a_plugin_of_one_rank_is_named_unless_it_logs);
    tcase_add_test(c, the_program_has_a_version_and_a_hash);
    suite_add_tcase(suite, c);
    return tutti_run(suite);
}
