/* seq_length_warmup_test.c - the length at each time, and what is left of a batch. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../algorithm_check.h"

enum { B = 3, T = 20 };

static run r;
static subject s;
static tutti_error err;
static int32_t input[B * T], target[B * T], mask[B * T];

static void settings(test_settings *g, int64_t min, int64_t max, int64_t step)
{
    test_settings_init(g);
    test_settings_float(g, "duration", 0.5);
    test_settings_int(g, "min_seq_length", min);
    test_settings_int(g, "max_seq_length", max);
    test_settings_int(g, "step_size", step);
    test_settings_bool(g, "truncate", 1);
    test_settings_bool(g, "preserve_end_of_sequence", 0);
}

static void start(const test_settings *g)
{
    memset(&err, 0, sizeof err);
    run_init(&r);
    run_kernels(&r);
    for (int k = 0; k < B * T; k++) {
        input[k] = k;
        target[k] = k + 1;
        mask[k] = k % T < 5 + 7 * (k / T); /* 5, 12 and 19 tokens */
    }
    run_column(&r, "input", shape(TUTTI_I32, B, T), input);
    run_column(&r, "target", shape(TUTTI_I32, B, T), target);
    r.max_duration = (tutti_time){40, 0.0, TUTTI_UNIT_BATCH, 0};
    ck_assert_ok(subject_open(&s, PLUGIN_PATH, TUTTI_KIND_ALGORITHM, "seq_length_warmup", g,
                              r.services, &err),
                 err);
}

/* The length of the batch after the event at this batch. */
static int64_t length_at(int64_t batch)
{
    r.columns[0] = (tutti_tensor){input, shape(TUTTI_I32, B, T), TUTTI_DEVICE_CPU, 0};
    r.columns[1] = (tutti_tensor){target, shape(TUTTI_I32, B, T), TUTTI_DEVICE_CPU, 0};
    r.nlogged = 0;
    r.time.batch = batch;
    ck_assert_int_eq(run_event(&r, &s, TUTTI_EVENT_AFTER_DATALOADER, &err), 1);
    ck_assert_str_eq(err.text, "");
    ck_assert(tutti_same_shape(&r.columns[0].desc, &r.columns[1].desc));
    ck_assert_str_eq(r.logged[0].name, "seq_length_warmup/curr_seq_len");
    ck_assert_close(r.logged[0].value, (double)r.columns[0].desc.dim[1], 0.0);
    ck_assert_str_eq(r.logged[1].name, "seq_length_warmup/curr_bs");
    ck_assert_close(r.logged[1].value, (double)r.columns[0].desc.dim[0], 0.0);
    return r.columns[0].desc.dim[1];
}

/* 20 batches of warm-up, from 4 to 16 by 4: a step every 6 batches, and 16 from batch 18 on. */
START_TEST(lengths_grow_in_steps)
{
    static const int64_t batch[] = {0, 5, 6, 12, 17, 18, 39};
    static const int64_t want[] = {4, 4, 8, 12, 12, 16, 16};
    test_settings g;
    settings(&g, 4, 16, 4);
    start(&g);
    ck_assert_int_eq(length_at(batch[_i]), want[_i]);
    subject_close(&s);
    start(&g);
    r.max_duration = (tutti_time){2, 0.0, TUTTI_UNIT_EPOCH, 0};
    r.epoch_batches = 20;
    ck_assert_int_eq(length_at(batch[_i]), want[_i]);
    subject_close(&s);
}
END_TEST

START_TEST(extremes_have_a_length_too)
{
    test_settings g;
    settings(&g, 8, 8, 4); /* nothing to grow */
    start(&g);
    ck_assert_int_eq(length_at(0), 8);
    ck_assert_int_eq(length_at(30), 8);
    subject_close(&s);
    settings(&g, 1, 17, 1); /* 16 steps in 8 batches */
    test_settings_float(&g, "duration", 0.2);
    start(&g);
    ck_assert_int_eq(length_at(0), 1);
    ck_assert_int_eq(length_at(4), 9);
    ck_assert_int_eq(length_at(8), 17);
    subject_close(&s);
    test_settings_float(&g, "duration", 0.0);
    start(&g);
    ck_assert_int_eq(length_at(0), 17);
    subject_close(&s);
    settings(&g, 4, 64, 4); /* longer than the data */
    start(&g);
    ck_assert_int_eq(length_at(39), T);
    ck_assert_ptr_eq(r.columns[0].data, input);
    subject_close(&s);
}
END_TEST

START_TEST(truncating_keeps_the_first_tokens)
{
    test_settings g;
    settings(&g, 8, 16, 8);
    start(&g);
    ck_assert_int_eq(length_at(0), 8);
    for (int k = 0; k < B * 8; k++) {
        ck_assert_int_eq(((const int32_t *)r.columns[0].data)[k], k / 8 * T + k % 8);
        ck_assert_int_eq(((const int32_t *)r.columns[1].data)[k], k / 8 * T + k % 8 + 1);
    }
    subject_close(&s);
}
END_TEST

/* 60 tokens make 7 sequences of 8; 4 are left out. */
START_TEST(folding_keeps_the_tokens)
{
    test_settings g;
    settings(&g, 8, 16, 8);
    test_settings_bool(&g, "truncate", 0);
    start(&g);
    ck_assert_int_eq(length_at(0), 8);
    ck_assert_int_eq(r.columns[1].desc.dim[0], 7);
    for (int k = 0; k < 7 * 8; k++)
        ck_assert_int_eq(((const int32_t *)r.columns[1].data)[k], k + 1);
    subject_close(&s);
}
END_TEST

/* Sequences of 5, 12 and 19 tokens cut to 8: the first is whole, the others end with their last. */
START_TEST(the_end_can_be_preserved)
{
    test_settings g;
    static const int32_t last[B] = {7, T + 11, 2 * T + 18};
    settings(&g, 8, 16, 8);
    test_settings_bool(&g, "preserve_end_of_sequence", 1);
    start(&g);
    run_column(&r, "attention_mask", shape(TUTTI_I32, B, T), mask);
    ck_assert_int_eq(run_event(&r, &s, TUTTI_EVENT_AFTER_DATALOADER, &err), 1);
    ck_assert_str_eq(err.text, "");
    for (int b = 0; b < B; b++) {
        ck_assert_int_eq(((const int32_t *)r.columns[0].data)[b * 8 + 6], b * T + 6);
        ck_assert_int_eq(((const int32_t *)r.columns[0].data)[b * 8 + 7], last[b]);
    }
    ck_assert_int_eq(r.columns[2].desc.dim[1], 8);
    subject_close(&s);
    start(&g);
    (void)run_event(&r, &s, TUTTI_EVENT_AFTER_DATALOADER, &err);
    ck_assert_error(err, TUTTI_E_NOTFOUND,
                    "seq_length_warmup: preserve_end_of_sequence needs a column attention_mask "
                    "(B, T)");
    subject_close(&s);
}
END_TEST

START_TEST(what_makes_no_sense_is_refused)
{
    test_settings g;
    settings(&g, 16, 8, 8);
    ck_assert_open_refused(PLUGIN_PATH, TUTTI_KIND_ALGORITHM, "seq_length_warmup", &g,
                           TUTTI_E_ARG,
                           "seq_length_warmup: max_seq_length is 8, want min_seq_length 16 or "
                           "more");
    settings(&g, 8, 16, 8);
    start(&g);
    r.columns[1].desc = shape(TUTTI_I32, B);
    (void)run_event(&r, &s, TUTTI_EVENT_AFTER_DATALOADER, &err);
    ck_assert_error(
        err, TUTTI_E_SHAPE,
        "seq_length_warmup: column 1 is I32 (3), want sequences (B, T) of the length "
        "of the first column");
    subject_close(&s);
    start(&g);
    r.max_duration = (tutti_time){1000, 0.0, TUTTI_UNIT_TOKEN, 0};
    (void)run_event(&r, &s, TUTTI_EVENT_AFTER_DATALOADER, &err);
    ck_assert_error(
        err, TUTTI_E_UNSUPPORTED,
        "seq_length_warmup: max_duration must be in batches, or in epochs of a known "
        "length");
    subject_close(&s);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("seq_length_warmup");
    TCase *t = tcase_create("all");
    tcase_add_loop_test(t, lengths_grow_in_steps, 0, 7);
    tcase_add_test(t, extremes_have_a_length_too);
    tcase_add_test(t, truncating_keeps_the_first_tokens);
    tcase_add_test(t, folding_keeps_the_tokens);
    tcase_add_test(t, the_end_can_be_preserved);
    tcase_add_test(t, what_makes_no_sense_is_refused);
    suite_add_tcase(suite, t);
    return tutti_run(suite);
}
