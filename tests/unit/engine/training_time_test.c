/* training_time_test.c - arithmetic of training time, the steps of the clocks, elapsed fractions. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/training_time.h"
#include "tutti/events.h"
#include "tutti_check.h"

static tutti_time of(const char *text)
{
    tutti_error err = TUTTI_ERROR_INIT;
    tutti_time t = {0};
    ck_assert_ok(duration_parse(text, &t, &err), err);
    return t;
}

typedef tutti_status (*operation)(tutti_time a, tutti_time b, tutti_time *ret,
                                  tutti_error *err);

static void expect(operation op, tutti_time a, tutti_time b, const char *want)
{
    tutti_error err = TUTTI_ERROR_INIT;
    tutti_time got = {0};
    char text[64];
    ck_assert_ok(op(a, b, &got, &err), err);
    ck_assert_str_eq(duration_text(got, text, sizeof text), want);
}

static void refuse(operation op, tutti_time a, tutti_time b, tutti_status status,
                   const char *want)
{
    tutti_error err = TUTTI_ERROR_INIT;
    tutti_time got = {77, 0.0, TUTTI_UNIT_BATCH, 0};
    ck_assert_int_eq(op(a, b, &got, &err), status);
    ck_assert_error(err, status, want);
    ck_assert_int_eq(got.count, 77);
}

START_TEST(times_of_one_unit_add_and_subtract)
{
    expect(duration_add, of("1ep"), of("2ep"), "3ep");
    expect(duration_sub, of("1ep"), of("2ep"), "-1ep");
    expect(duration_add, of("0.25dur"), of("0.5dur"), "0.75dur");
    expect(duration_add, of("1ep"), duration_number(2.0), "3ep");
    expect(duration_sub, duration_number(5.0), of("2ba"), "3ba");
}
END_TEST

START_TEST(products_and_quotients_are_cut_to_whole_counts)
{
    expect(duration_mul, of("5ba"), duration_number(0.5), "2ba");
    expect(duration_mul, of("7ba"), of("0.5dur"), "3ba");
    expect(duration_mul, of("0.5dur"), of("7ba"), "3ba");
    expect(duration_mul, of("0.5dur"), duration_number(2.0), "1dur");
    expect(duration_mul, of("0.5dur"), of("0.5dur"), "0.25dur");
    expect(duration_div, of("7ba"), duration_number(2.0), "3ba");
    expect(duration_div, of("-7ba"), duration_number(2.0), "-3ba");
    expect(duration_div, of("1ba"), of("4ba"), "0.25dur");
    expect(duration_mul, of("9007199254740993sp"), duration_number(3.0), "27021597764222979sp");
}
END_TEST

START_TEST(a_remainder_has_the_sign_of_the_divisor)
{
    expect(duration_mod, of("3ep"), of("2ep"), "1ep");
    expect(duration_mod, of("-3ep"), of("2ep"), "1ep");
    expect(duration_mod, of("3ep"), of("-2ep"), "-1ep");
    expect(duration_mod, of("0.75dur"), of("0.5dur"), "0.25dur");
}
END_TEST

START_TEST(units_that_do_not_agree_are_refused)
{
    refuse(duration_add, of("1ep"), of("1ba"), TUTTI_E_ARG, "1ep + 1ba: units do not agree");
    refuse(duration_mul, of("1ep"), of("2ep"), TUTTI_E_ARG, "1ep * 2ep: units do not agree");
    refuse(duration_div, of("1ep"), of("2ba"), TUTTI_E_ARG, "1ep / 2ba: units do not agree");
    refuse(duration_add, of("1ep"), duration_number(0.5), TUTTI_E_ARG,
           "1ep + 0.5: units do not agree");
    refuse(duration_div, of("1ep"), duration_number(0.0), TUTTI_E_RANGE,
           "1ep / 0: division by zero");
    refuse(duration_mod, of("1ep"), of("0ep"), TUTTI_E_RANGE, "1ep % 0: division by zero");
    const tutti_time most = {INT64_MAX, 0.0, TUTTI_UNIT_BATCH, 0};
    refuse(duration_add, most, of("1ba"), TUTTI_E_RANGE,
           "9223372036854775807ba + so much: the result does not fit 64 bits");
}
END_TEST

START_TEST(times_compare_within_a_unit)
{
    tutti_error err = TUTTI_ERROR_INIT;
    int order = 7;
    ck_assert_ok(duration_compare(of("3ba"), of("4ba"), &order, &err), err);
    ck_assert_int_eq(order, -1);
    ck_assert_ok(duration_compare(of("0.5dur"), duration_number(0.25), &order, &err), err);
    ck_assert_int_eq(order, 1);
    ck_assert_int_eq(duration_compare(of("3ba"), of("3ep"), &order, &err), TUTTI_E_ARG);
    ck_assert_error(err, TUTTI_E_ARG, "3ba against 3ep: units do not agree");
}
END_TEST

/* The walk of Composer's test_time.py: samples, tokens and seconds step by step. */
START_TEST(clocks_step_as_upstream)
{
    const int64_t s = 1000000000;
    tutti_timestamp t = {.struct_size = (uint32_t)sizeof t};
    timestamp_next_batch(&t, 10, 20, 5 * s);
    ck_assert_int_eq(t.batch, 1);
    ck_assert_int_eq(t.token_in_iteration, 20);
    ck_assert_int_eq(t.batch_ns, 5 * s);
    timestamp_next_epoch(&t, 5 * s);
    ck_assert_int_eq(t.epoch, 1);
    ck_assert_int_eq(t.total_ns, 10 * s);
    ck_assert_int_eq(t.iteration_ns, 10 * s);
    ck_assert_int_eq(t.epoch_ns + t.batch_ns + t.batch_in_epoch + t.token_in_epoch, 0);
    timestamp_next_batch(&t, 5, 0, 10 * s);
    timestamp_next_batch(&t, 5, 1, 10 * s);
    ck_assert_int_eq(t.sample, 20);
    ck_assert_int_eq(t.sample_in_epoch, 10);
    ck_assert_int_eq(t.token, 21);
    ck_assert_int_eq(t.token_in_epoch, 1);
    ck_assert_int_eq(t.token_in_iteration, 21);
    ck_assert_int_eq(t.total_ns, 30 * s);
    ck_assert_int_eq(t.epoch_ns, 20 * s);
    ck_assert_int_eq(t.batch_ns, 10 * s);
    timestamp_next_epoch(&t, 0);
    ck_assert_int_eq(t.epoch_in_iteration, 2);
    timestamp_next_batch(&t, 5, 1, 10 * s);
    timestamp_next_iteration(&t);
    ck_assert_int_eq(t.iteration, 1);
    ck_assert_int_eq(t.total_ns, 40 * s);
    ck_assert_int_eq(t.batch, 4);
    ck_assert_int_eq(t.sample, 25);
    ck_assert_int_eq(t.token, 22);
    ck_assert_int_eq(t.epoch_in_iteration + t.token_in_iteration + t.batch_in_epoch +
                         t.sample_in_epoch + t.token_in_epoch + t.iteration_ns,
                     0);
}
END_TEST

START_TEST(elapsed_is_a_fraction_in_the_maximums_unit)
{
    const tutti_timestamp t = {.epoch = 1, .batch = 30};
    const tutti_time none = {0};
    ck_assert_close(duration_elapsed(&t, of("4ep")), 0.25, 0.0);
    ck_assert_close(duration_elapsed(&t, of("40ba")), 0.75, 0.0);
    ck_assert_close(duration_elapsed(&t, none), -1.0, 0.0);
    ck_assert_close(duration_elapsed(&t, of("0ba")), 1.0, 0.0);
}
END_TEST

static tutti_interval every(const char *text)
{
    const tutti_interval v = {of(text), true, true, -1};
    return v;
}

START_TEST(nothing_is_due_before_the_first_batch_or_without_an_interval)
{
    const tutti_timestamp now = {.batch = 10, .epoch = 2}, was = {.batch = 9, .epoch = 1};
    tutti_error err = TUTTI_ERROR_INIT;
    tutti_interval v = every("1ba"), zero = every("0ba");
    bool due = true;
    ck_assert_ok(
        interval_due(&v, TUTTI_EVENT_BATCH_CHECKPOINT, &now, NULL, of("2ep"), 5, &due, &err),
        err);
    ck_assert(!due);
    due = true;
    ck_assert_ok(
        interval_due(&zero, TUTTI_EVENT_BATCH_CHECKPOINT, &now, &was, of("2ep"), 5, &due, &err),
        err);
    ck_assert(!due);
}
END_TEST

START_TEST(an_interval_in_seconds_is_due_when_its_multiple_is_crossed)
{
    const tutti_timestamp was = {.batch = 19, .total_ns = 19900000000},
                          now = {.batch = 20, .total_ns = 20100000000},
                          next = {.batch = 21, .total_ns = 21500000000};
    tutti_error err = TUTTI_ERROR_INIT;
    tutti_interval v = every("20sec");
    bool due = false;
    ck_assert_ok(
        interval_due(&v, TUTTI_EVENT_BATCH_CHECKPOINT, &now, &was, of("99ba"), 5, &due, &err),
        err);
    ck_assert(due);
    ck_assert_int_eq(v.last_batch, 20);
    ck_assert_ok(
        interval_due(&v, TUTTI_EVENT_BATCH_CHECKPOINT, &next, &now, of("99ba"), 5, &due, &err),
        err);
    ck_assert(!due);
}
END_TEST

START_TEST(a_fraction_of_epochs_needs_the_number_of_batches)
{
    const tutti_timestamp was = {.batch = 4}, now = {.batch = 5};
    tutti_error err = TUTTI_ERROR_INIT;
    tutti_interval v = every("0.5dur");
    bool due = true;
    ck_assert_int_eq(
        interval_due(&v, TUTTI_EVENT_BATCH_CHECKPOINT, &now, &was, of("2ep"), -1, &due, &err),
        TUTTI_E_ARG);
    ck_assert_error(err, TUTTI_E_ARG,
                    "an interval in dur needs to know the number of batches in an epoch, and "
                    "the data has no length");
    tutti_error other = TUTTI_ERROR_INIT;
    ck_assert_int_eq(interval_due(&v, TUTTI_EVENT_BATCH_CHECKPOINT, &now, &was, of("60sec"), 5,
                                  &due, &other),
                     TUTTI_E_ARG);
    ck_assert_error(other, TUTTI_E_ARG,
                    "an interval in dur needs a maximum duration in ep, ba, sp or tok");
}
END_TEST

START_TEST(a_fraction_of_samples_is_judged_by_crossing)
{
    const tutti_timestamp was = {.batch = 3, .sample = 6}, now = {.batch = 4, .sample = 8};
    tutti_error err = TUTTI_ERROR_INIT;
    tutti_interval v = every("0.1dur"), rarer = every("0.5dur");
    bool due = false;
    ck_assert_ok(
        interval_due(&v, TUTTI_EVENT_BATCH_CHECKPOINT, &now, &was, of("70sp"), 5, &due, &err),
        err);
    ck_assert(due); /* 7 lies between 6 and 8 */
    ck_assert_ok(interval_due(&rarer, TUTTI_EVENT_BATCH_CHECKPOINT, &now, &was, of("70sp"), 5,
                              &due, &err),
                 err);
    ck_assert(!due);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("duration");
    TCase *tc = tcase_create("all");
    suite_add_tcase(suite, tc);
    tcase_add_test(tc, times_of_one_unit_add_and_subtract);
    tcase_add_test(tc, products_and_quotients_are_cut_to_whole_counts);
    tcase_add_test(tc, a_remainder_has_the_sign_of_the_divisor);
    tcase_add_test(tc, units_that_do_not_agree_are_refused);
    tcase_add_test(tc, times_compare_within_a_unit);
    tcase_add_test(tc, clocks_step_as_upstream);
    tcase_add_test(tc, elapsed_is_a_fraction_in_the_maximums_unit);
    tcase_add_test(tc, nothing_is_due_before_the_first_batch_or_without_an_interval);
    tcase_add_test(tc, an_interval_in_seconds_is_due_when_its_multiple_is_crossed);
    tcase_add_test(tc, a_fraction_of_epochs_needs_the_number_of_batches);
    tcase_add_test(tc, a_fraction_of_samples_is_judged_by_crossing);
    return tutti_run(suite);
}
