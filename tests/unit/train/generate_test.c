/* generate_test.c - bytes in pieces become whole characters; stop texts; tokens that are drawn. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/generate/sampler.h"
#include "train/generate/text_stream.h"
#include "tutti_check.h"

#include <math.h>
#include <stdlib.h>

static text_stream s;

static void add(const char *bytes)
{
    tutti_error err = TUTTI_ERROR_INIT;
    ck_assert_ok(text_stream_add(&s, bytes, strlen(bytes), &err), err);
}

/* What can be taken now is `want`. */
static void takes(const char *want, bool end)
{
    char *got = text_stream_take(&s, end);
    ck_assert_ptr_nonnull(got);
    ck_assert_str_eq(got, want);
    free(got);
}

START_TEST(a_character_comes_whole)
{
    add("a\xe2");
    takes("a", false);
    add("\x82");
    takes("", false);
    add("\xac"
        "b");
    takes("\xe2\x82\xac"
          "b",
          false);
    add("\xf0\x9f\x98");
    takes("", false);
    add("\x80");
    takes("\xf0\x9f\x98\x80", false);
}
END_TEST

START_TEST(what_is_no_character_is_marked)
{
    add("\x80"
        "a\xc3"
        "b\xed\xa0\x80\xc0\xaf");
    takes("\xef\xbf\xbd"
          "a\xef\xbf\xbd"
          "b\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd",
          false);
    add("\xe2\x82");
    takes("", false);
    takes("\xef\xbf\xbd\xef\xbf\xbd", true);
}
END_TEST

START_TEST(a_stop_text_ends_it_wherever_it_is_cut)
{
    static const char *const stops[] = {"END", "\n\n", NULL};
    s.stops = stops;
    add("abE");
    takes("ab", false);
    add("X\n");
    takes("EX", false);
    add("yEN");
    takes("\ny", false);
    ck_assert(!s.stopped);
    add("Dzzz");
    ck_assert(s.stopped);
    takes("", true);
}
END_TEST

START_TEST(the_first_of_several_stop_texts_counts)
{
    static const char *const stops[] = {"cd", "bc", "", NULL};
    s.stops = stops;
    add("abcd");
    ck_assert(s.stopped);
    takes("a", false);
}
END_TEST

/* ---- tokens ---- */

static const float logits[5] = {0.0f, 2.0f, 1.0f, 2.0f, -INFINITY};

static int64_t drawn(double temperature, int64_t top_k, double top_p, double uniform)
{
    sampler_entry scratch[5];
    const sampler_options o = {temperature, top_k, top_p};
    return sampler_draw(logits, 5, &o, uniform, scratch);
}

START_TEST(a_draw_follows_the_probabilities)
{
    /* e^0, e^2, e^1, e^2 of 18.496: the shares end at 0.0541, 0.4536, 0.6005, 1 */
    ck_assert_int_eq(drawn(0.0, 0, 1.0, 0.99), 1);
    ck_assert_int_eq(drawn(1.0, 0, 1.0, 0.05), 0);
    ck_assert_int_eq(drawn(1.0, 0, 1.0, 0.06), 1);
    ck_assert_int_eq(drawn(1.0, 0, 1.0, 0.46), 2);
    ck_assert_int_eq(drawn(1.0, 0, 1.0, 0.61), 3);
    ck_assert_int_eq(drawn(1.0, 0, 1.0, 0.9999999999999999), 3);
    /* at half the temperature e^0, e^4, e^2, e^4 of 117.6: 0.0085, 0.4728, 0.5356, 1 */
    ck_assert_int_eq(drawn(0.5, 0, 1.0, 0.009), 1);
    ck_assert_int_eq(drawn(0.5, 0, 1.0, 0.53), 2);
}
END_TEST

START_TEST(top_k_and_top_p_leave_the_likeliest)
{
    ck_assert_int_eq(drawn(1.0, 1, 1.0, 0.0), 1); /* its equal stays */
    ck_assert_int_eq(drawn(1.0, 1, 1.0, 0.51), 3);
    ck_assert_int_eq(drawn(1.0, 3, 1.0, 0.95), 2);
    ck_assert_int_eq(drawn(1.0, 0, 0.3, 0.99), 1);  /* 0.3995 is enough */
    ck_assert_int_eq(drawn(1.0, 0, 0.5, 0.99), 3);  /* 0.799 */
    ck_assert_int_eq(drawn(1.0, 0, 0.9, 0.99), 2);  /* 0.9459 */
    ck_assert_int_eq(drawn(1.0, 0, 0.95, 0.99), 0); /* 1 */
    ck_assert_int_eq(drawn(1.0, 2, 0.6, 0.99), 3);  /* of what top-k leaves */
}
END_TEST

START_TEST(logits_that_are_no_numbers_give_no_token)
{
    const float bad[2] = {1.0f, NAN}, huge[2] = {1.0f, INFINITY};
    sampler_entry scratch[2];
    const sampler_options o = {1.0, 0, 1.0};
    ck_assert_int_eq(sampler_draw(bad, 2, &o, 0.5, scratch), -1);
    ck_assert_int_eq(sampler_draw(huge, 2, &o, 0.5, scratch), -1);
}
END_TEST

static void begin(void)
{
    s = (text_stream){.stops = NULL};
}

static void end(void)
{
    text_stream_fini(&s);
}

int main(void)
{
    Suite *suite = suite_create("generate");
    TCase *t = tcase_create("all");
    tcase_add_checked_fixture(t, begin, end);
    tcase_add_test(t, a_character_comes_whole);
    tcase_add_test(t, what_is_no_character_is_marked);
    tcase_add_test(t, a_stop_text_ends_it_wherever_it_is_cut);
    tcase_add_test(t, the_first_of_several_stop_texts_counts);
    tcase_add_test(t, a_draw_follows_the_probabilities);
    tcase_add_test(t, top_k_and_top_p_leave_the_likeliest);
    tcase_add_test(t, logits_that_are_no_numbers_give_no_token);
    suite_add_tcase(suite, t);
    return tutti_run(suite);
}
