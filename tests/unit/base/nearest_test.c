/* nearest_test.c - the word that was meant, and how a sentence asks for it. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/nearest.h"
#include "tutti_check.h"

#include <stdio.h>

static const char *const words[] = {"lr",        "momentum", "weight_decay", "nesterov", "path",
                                    "max_count", NULL};

static const struct {
    const char *word, *want;
} cases[] = {
    {"momentun", "momentum"},
    {"Momentum", "momentum"},
    {"weigth_decay", "weight_decay"},
    {"weight", "weight_decay"},
    {"l", NULL},
    {"rl", "lr"},
    {"lt", "lr"},
    {"zzz", NULL},
    {"", NULL},
    {"maxcount", "max_count"},
    {"paths", "path"},
};

START_TEST(the_nearest_word_is_the_one_that_was_meant)
{
    const char *got = nearest_word(cases[_i].word, words);
    ck_assert_pstr_eq(got, cases[_i].want);
}
END_TEST

START_TEST(a_suggestion_ends_a_sentence)
{
    ck_assert_str_eq(suggest_word("momentun", words).text, "; did you mean momentum?");
    ck_assert_str_eq(suggest_word("momentun", words).word, "momentum");
    ck_assert_str_eq(suggest_word("zzz", words).text, "");
    ck_assert_ptr_null(suggest_word("zzz", words).word);
    ck_assert_str_eq(suggest_word(NULL, words).text, "");
    ck_assert_str_eq(suggest_word("lr", NULL).text, "");
}
END_TEST

/* A word of as many bytes as one may have is told whole. */
START_TEST(a_suggestion_has_room_for_the_longest_word)
{
    char longest[NEAREST_WORD_MAX + 1], longer[NEAREST_WORD_MAX + 2], want[128];
    memset(longest, 'w', sizeof longest - 1);
    memset(longer, 'w', sizeof longer - 1);
    longest[sizeof longest - 1] = longer[sizeof longer - 1] = '\0';
    const char *const one[] = {longest, NULL}, *const other[] = {longer, NULL};
    (void)snprintf(want, sizeof want, "; did you mean %s?", longest);
    ck_assert_str_eq(suggest_word("www", one).text, want);
    ck_assert_str_eq(suggest_word(longer, one).text, "");
    ck_assert_str_eq(suggest_word(longest, other).text, "");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("nearest");
    TCase *t = tcase_create("nearest");
    tcase_add_loop_test(t, the_nearest_word_is_the_one_that_was_meant, 0,
                        sizeof cases / sizeof *cases);
    tcase_add_test(t, a_suggestion_ends_a_sentence);
    tcase_add_test(t, a_suggestion_has_room_for_the_longest_word);
    suite_add_tcase(suite, t);
    return tutti_run(suite);
}
