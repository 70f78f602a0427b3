/* loss_scaler_test.c - the loss scale: GradScaler's growth and backoff. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/update/loss_scaler.h"
#include "tutti_check.h"

#include <math.h>

static run_context run;
static host_mirrors mirrors;
static device_scalars scalars;

/* On the host, with nobody to log to. */
static void scaler_of(loss_scaler *s, int precision)
{
    scaler_init(s, &run, &mirrors, &scalars, precision);
}

/* As many updates with finite gradients. */
static void clean(loss_scaler *s, int updates)
{
    for (int k = 0; k < updates; k++)
        ck_assert_int_eq(scaler_update(s, NULL), TUTTI_OK);
}

START_TEST(words_have_their_numbers)
{
    ck_assert_int_eq(precision_of("fp32"), NET_FP32);
    ck_assert_int_eq(precision_of("amp_bf16"), NET_AMP_BF16);
    ck_assert_int_eq(precision_of("amp_fp16"), NET_AMP_FP16);
    ck_assert_int_eq(precision_of("fp32_fast"), NET_FP32_FAST);
}
END_TEST

START_TEST(only_amp_fp16_scales)
{
    const int others[] = {NET_FP32, NET_AMP_BF16, NET_FP32_FAST};
    loss_scaler s;
    for (int k = 0; k < 3; k++) {
        scaler_of(&s, others[k]);
        s.found = true;
        ck_assert_double_eq(scaler_scale(&s), 1.0);
        ck_assert(!scaler_skips(&s));
    }
    scaler_of(&s, NET_AMP_FP16);
    ck_assert_double_eq(scaler_scale(&s), 65536.0);
}
END_TEST

START_TEST(the_scale_grows_after_2000_clean_updates)
{
    loss_scaler s;
    scaler_of(&s, NET_AMP_FP16);
    clean(&s, 1999);
    ck_assert_double_eq(scaler_scale(&s), 65536.0);
    clean(&s, 1);
    ck_assert_double_eq(scaler_scale(&s), 131072.0);
    clean(&s, 1999);
    ck_assert_double_eq(scaler_scale(&s), 131072.0);
}
END_TEST

START_TEST(an_overflow_halves_it_and_begins_counting_again)
{
    loss_scaler s;
    scaler_of(&s, NET_AMP_FP16);
    clean(&s, 1999);
    s.found = true;
    ck_assert(scaler_skips(&s));
    ck_assert_int_eq(scaler_update(&s, NULL), TUTTI_OK);
    ck_assert_double_eq(scaler_scale(&s), 32768.0);
    ck_assert(!scaler_skips(&s));
    clean(&s, 1999);
    ck_assert_double_eq(scaler_scale(&s), 32768.0);
    clean(&s, 1);
    ck_assert_double_eq(scaler_scale(&s), 65536.0);
}
END_TEST

START_TEST(updates_left_out_in_a_row_are_counted)
{
    loss_scaler s;
    scaler_of(&s, NET_AMP_FP16);
    for (int k = 5; k < 8; k++) {
        run.clock.now.batch = k;
        s.found = true;
        clean(&s, 1);
    }
    ck_assert_uint_eq(s.skipped, 3);
    ck_assert_uint_eq(s.first_skipped, 5);
    ck_assert_double_eq(s.told_scale, 8192.0);
    clean(&s, 1);
    ck_assert_uint_eq(s.skipped, 0);
}
END_TEST

START_TEST(it_never_grows_beyond_f32)
{
    loss_scaler s;
    scaler_of(&s, NET_AMP_FP16);
    for (int k = 0; k < 130; k++)
        clean(&s, 2000);
    ck_assert_double_eq(scaler_scale(&s), 0x1p127);
}
END_TEST

START_TEST(a_checkpoint_sees_scale_and_count)
{
    loss_scaler s;
    scaler_of(&s, NET_AMP_FP16);
    clean(&s, 7);
    const tutti_tensor state = scaler_state(&s);
    ck_assert_int_eq(state.desc.dtype, TUTTI_F64);
    ck_assert_double_eq(((double *)state.data)[0], 65536.0);
    ck_assert_double_eq(((double *)state.data)[1], 7.0);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("loss_scaler");
    TCase *t = tcase_create("loss_scaler");
    tcase_add_test(t, words_have_their_numbers);
    tcase_add_test(t, only_amp_fp16_scales);
    tcase_add_test(t, the_scale_grows_after_2000_clean_updates);
    tcase_add_test(t, an_overflow_halves_it_and_begins_counting_again);
    tcase_add_test(t, updates_left_out_in_a_row_are_counted);
    tcase_add_test(t, it_never_grows_beyond_f32);
    tcase_add_test(t, a_checkpoint_sees_scale_and_count);
    suite_add_tcase(s, t);
    return tutti_run(s);
}
