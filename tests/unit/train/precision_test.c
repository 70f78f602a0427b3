/* precision_test.c - the loss scale: GradScaler's growth and backoff. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/trainer_internal.h"
#include "tutti_check.h"

#include <math.h>

/* As many updates with finite gradients. */
static void clean(trainer *t, int updates)
{
    for (int k = 0; k < updates; k++)
        ck_assert_int_eq(scaler_update(t, NULL), TUTTI_OK);
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
    trainer t = {.nloggers = 0};
    for (int k = 0; k < 3; k++) {
        scaler_init(&t.scaler, others[k]);
        t.scaler.found = true;
        ck_assert_double_eq(scaler_scale(&t.scaler), 1.0);
        ck_assert(!scaler_skips(&t.scaler));
    }
    scaler_init(&t.scaler, NET_AMP_FP16);
    ck_assert_double_eq(scaler_scale(&t.scaler), 65536.0);
}
END_TEST

START_TEST(the_scale_grows_after_2000_clean_updates)
{
    trainer t = {.nloggers = 0};
    scaler_init(&t.scaler, NET_AMP_FP16);
    clean(&t, 1999);
    ck_assert_double_eq(scaler_scale(&t.scaler), 65536.0);
    clean(&t, 1);
    ck_assert_double_eq(scaler_scale(&t.scaler), 131072.0);
    clean(&t, 1999);
    ck_assert_double_eq(scaler_scale(&t.scaler), 131072.0);
}
END_TEST

START_TEST(an_overflow_halves_it_and_begins_counting_again)
{
    trainer t = {.nloggers = 0};
    scaler_init(&t.scaler, NET_AMP_FP16);
    clean(&t, 1999);
    t.scaler.found = true;
    ck_assert(scaler_skips(&t.scaler));
    ck_assert_int_eq(scaler_update(&t, NULL), TUTTI_OK);
    ck_assert_double_eq(scaler_scale(&t.scaler), 32768.0);
    ck_assert(!scaler_skips(&t.scaler));
    clean(&t, 1999);
    ck_assert_double_eq(scaler_scale(&t.scaler), 32768.0);
    clean(&t, 1);
    ck_assert_double_eq(scaler_scale(&t.scaler), 65536.0);
}
END_TEST

START_TEST(it_never_grows_beyond_f32)
{
    trainer t = {.nloggers = 0};
    scaler_init(&t.scaler, NET_AMP_FP16);
    for (int k = 0; k < 130; k++)
        clean(&t, 2000);
    ck_assert_double_eq(scaler_scale(&t.scaler), 0x1p127);
}
END_TEST

START_TEST(a_checkpoint_sees_scale_and_count)
{
    trainer t = {.nloggers = 0};
    scaler_init(&t.scaler, NET_AMP_FP16);
    clean(&t, 7);
    const tutti_tensor s = scaler_state(&t.scaler);
    ck_assert_int_eq(s.desc.dtype, TUTTI_F64);
    ck_assert_double_eq(((double *)s.data)[0], 65536.0);
    ck_assert_double_eq(((double *)s.data)[1], 7.0);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("precision");
    TCase *t = tcase_create("precision");
    tcase_add_test(t, words_have_their_numbers);
    tcase_add_test(t, only_amp_fp16_scales);
    tcase_add_test(t, the_scale_grows_after_2000_clean_updates);
    tcase_add_test(t, an_overflow_halves_it_and_begins_counting_again);
    tcase_add_test(t, it_never_grows_beyond_f32);
    tcase_add_test(t, a_checkpoint_sees_scale_and_count);
    suite_add_tcase(s, t);
    return tutti_run(s);
}
