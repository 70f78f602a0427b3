/* duration_test.c - the grammar of durations, by our cases and by the conformance cases. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/counts.h"
#include "base/duration.h"
#include "base/json.h"
#include "tutti_check.h"

#include <stdio.h>

#define REST                                                                                   \
    " is not a duration: want a number with a unit (iter, ep, ba, sp, tok, dur or sec) "       \
    "such as \"10ep\", or hours, minutes and seconds such as \"1h20m40s\""

static const struct {
    const char *text, *written;
} good[] = {
    {"10ep", "10ep"},        {" 5ep", "5ep"},
    {"5 EP", "5ep"},         {"3_0e10sp", "300000000000sp"},
    {"030.0sp", "30sp"},     {"-3ba", "-3ba"},
    {"0.5dur", "0.5dur"},    {"0.1dur", "0.1dur"},
    {"1h20m40s", "4840sec"}, {"30m", "1800sec"},
    {"59s", "59sec"},        {"23h59m", "86340sec"},
    {"20sec", "20sec"},      {"9007199254740993ba", "9007199254740993ba"},
    {".5dur", "0.5dur"},     {"1.dur", "1dur"},
};

START_TEST(good_texts_are_read_and_written)
{
    tutti_error err = TUTTI_ERROR_INIT;
    tutti_time t;
    char text[48];
    ck_assert_ok(duration_parse(good[_i].text, &t, &err), err);
    ck_assert_str_eq(duration_text(t, text, sizeof text), good[_i].written);
}
END_TEST

static const struct {
    const char *text;
    tutti_status status;
    const char *sentence;
} bad[] = {
    {"1.5ep", TUTTI_E_ARG, "1.5ep is not a whole number of epochs"},
    {"0.1sec", TUTTI_E_ARG, "0.1sec is not a whole number of seconds of wall-clock time"},
    {"5", TUTTI_E_FORMAT, "\"5\"" REST},
    {"", TUTTI_E_FORMAT, "\"\"" REST},
    {"3m5", TUTTI_E_FORMAT, "\"3m5\"" REST},
    {"24h", TUTTI_E_FORMAT, "\"24h\"" REST},
    {"90s", TUTTI_E_FORMAT, "\"90s\"" REST},
    {"5hr", TUTTI_E_FORMAT, "\"5hr\"" REST},
    {"40s1h", TUTTI_E_FORMAT, "\"40s1h\"" REST},
    {"infdur", TUTTI_E_FORMAT, "\"infdur\"" REST},
    {"nandur", TUTTI_E_FORMAT, "\"nandur\"" REST},
    {"0x5ba", TUTTI_E_FORMAT, "\"0x5ba\"" REST},
    {"4__0ba", TUTTI_E_FORMAT, "\"4__0ba\"" REST},
    {"_4ba", TUTTI_E_FORMAT, "\"_4ba\"" REST},
    {"1e999dur", TUTTI_E_FORMAT, "\"1e999dur\"" REST},
    {"1e19ba", TUTTI_E_FORMAT, "\"1e19ba\"" REST},
    {"99999999999999999999ba", TUTTI_E_FORMAT, "\"99999999999999999999ba\"" REST},
    {"ep", TUTTI_E_FORMAT, "\"ep\"" REST},
    {".ep", TUTTI_E_FORMAT, "\".ep\"" REST},
    {"1eep", TUTTI_E_FORMAT, "\"1eep\"" REST},
};

START_TEST(bad_texts_are_refused)
{
    tutti_error err = TUTTI_ERROR_INIT;
    tutti_time t = {7, 7.0, 7, 7};
    ck_assert_int_eq(duration_parse(bad[_i].text, &t, &err), bad[_i].status);
    ck_assert_error(err, bad[_i].status, bad[_i].sentence);
    ck_assert_int_eq(t.count, 7);
}
END_TEST

START_TEST(no_unit_is_written_as_none)
{
    const tutti_time t = {0, 0.0, TUTTI_UNIT_NONE, 0};
    char text[16];
    ck_assert_str_eq(duration_text(t, text, sizeof text), "none");
    ck_assert_ptr_null(duration_unit(UNIT_END));
}
END_TEST

static void check_case(const json_node *c)
{
    const json_node *expect = json_get(c, "expect");
    const char *parse = json_string(json_get(c, "parse"));
    tutti_error err = TUTTI_ERROR_INIT;
    tutti_time t;
    const tutti_status status = duration_parse(parse, &t, &err);
    const json_node *error = json_get(expect, "error");
    if (error) {
        const bool whole = strcmp(json_string(error), "not_integral") == 0;
        ck_assert_msg(status == (whole ? TUTTI_E_ARG : TUTTI_E_FORMAT), "\"%s\": %d", parse,
                      status);
        return;
    }
    ck_assert_msg(status == TUTTI_OK, "\"%s\": %s", parse, err.text);
    ck_assert_str_eq(duration_unit(t.unit), json_string(json_get(expect, "unit")));
    if (t.unit == TUTTI_UNIT_DURATION)
        ck_assert_double_eq(t.fraction, json_real(json_get(expect, "value")));
    else
        ck_assert_int_eq(t.count, json_int(json_get(expect, "value")));
}

START_TEST(the_conformance_cases_pass)
{
    char path[1024];
    const char *source = getenv("TUTTI_SOURCE");
    tutti_error err = TUTTI_ERROR_INIT;
    json_doc *doc = NULL;
    size_t checked = 0;
    snprintf(path, sizeof path, "%s/tests/conformance/cases/time.json", source ? source : ".");
    ck_assert_ok(json_read(path, 1 << 20, &doc, &err), err);
    for (size_t k = 0; k < json_count(json_root(doc)); k++) {
        const json_node *c = json_at(json_root(doc), k);
        if (json_get(c, "parse")) {
            check_case(c);
            checked++;
        }
    }
    ck_assert_uint_gt(checked, 0);
    json_free(doc);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("duration");
    TCase *t = tcase_create("duration");
    tcase_add_loop_test(t, good_texts_are_read_and_written, 0, sizeof good / sizeof *good);
    tcase_add_loop_test(t, bad_texts_are_refused, 0, sizeof bad / sizeof *bad);
    tcase_add_test(t, no_unit_is_written_as_none);
    tcase_add_test(t, the_conformance_cases_pass);
    suite_add_tcase(suite, t);
    return tutti_run(suite);
}
