/* text_test.c - pieces of sentences. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/text.h"
#include "tutti_check.h"

START_TEST(a_name_that_a_sentence_has_already_is_left_out)
{
    ck_assert_str_eq(text_after_name("sgd: no memory", "sgd"), "no memory");
    ck_assert_str_eq(text_after_name("sgd: sgd: no memory", "sgd"), "sgd: no memory");
    ck_assert_str_eq(text_after_name("sgdw: no memory", "sgd"), "sgdw: no memory");
    ck_assert_str_eq(text_after_name("sgd:no memory", "sgd"), "sgd:no memory");
    ck_assert_str_eq(text_after_name("no memory", "sgd"), "no memory");
    ck_assert_str_eq(text_after_name(": no memory", ""), ": no memory");
    ck_assert_str_eq(text_after_name("sgd: ", "sgd"), "");
    ck_assert_str_eq(text_after_name("sgd", "sgd"), "sgd");
    ck_assert_str_eq(text_after_name("", "sgd"), "");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("text");
    TCase *tc = tcase_create("all");
    suite_add_tcase(suite, tc);
    tcase_add_test(tc, a_name_that_a_sentence_has_already_is_left_out);
    return tutti_run(suite);
}
