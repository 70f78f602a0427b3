/* trivial_augment_wide_test.c - changes as torchvision 0.29.2 makes them of Pillow images, by what is drawn. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../common/policy.h"
#include "../picture_change_check.h"

static test_settings g;

/* Operation, bin of 31, sign and filter of tests/peers/vision.py, with Pillow 13.0.0. */
static const struct {
    int op, bin, minus, filter;
    uint64_t want;
} cases[] = {
    {0, 0, 0, 0, 0xcc7cdc31986d363u},    {1, 0, 0, 1, 0xcc7cdc31986d363u},
    {1, 0, 1, 1, 0xcc7cdc31986d363u},    {1, 3, 0, 0, 0xdf0de7f2878e49a6u},
    {1, 3, 1, 0, 0xccba29ae13a7cd26u},   {1, 15, 0, 0, 0xc14b51e64861c6c7u},
    {1, 15, 1, 0, 0xcf9d68305e7d6a57u},  {1, 30, 0, 1, 0x3029be13f0024c79u},
    {1, 30, 1, 1, 0xd5c503b0be31256bu},  {2, 0, 0, 0, 0xcc7cdc31986d363u},
    {2, 0, 1, 0, 0xcc7cdc31986d363u},    {2, 3, 0, 1, 0xcbe8dd320074b62du},
    {2, 3, 1, 1, 0x323a90b361fee7b7u},   {2, 15, 0, 1, 0x367be1389d736e43u},
    {2, 15, 1, 1, 0x7db73bb0b7cf7b5eu},  {2, 30, 0, 0, 0x467d03c88bedb96eu},
    {2, 30, 1, 0, 0x3861c5ca8952281au},  {3, 0, 0, 1, 0xcc7cdc31986d363u},
    {3, 0, 1, 1, 0xcc7cdc31986d363u},    {3, 3, 0, 0, 0xab86a01257a7074eu},
    {3, 3, 1, 0, 0xf77f3795c4e3dcf0u},   {3, 15, 0, 0, 0xdb8f23e24281d49du},
    {3, 15, 1, 0, 0xf5927a95d42d5f61u},  {3, 30, 0, 1, 0x7ef7c4dbd2c190ccu},
    {3, 30, 1, 1, 0xfa2ba08f30db54feu},  {4, 0, 0, 0, 0xcc7cdc31986d363u},
    {4, 0, 1, 0, 0xcc7cdc31986d363u},    {4, 3, 0, 1, 0x63b65fb2c040d7e8u},
    {4, 3, 1, 1, 0x5cf2bdd640de1bd8u},   {4, 15, 0, 1, 0xfe5344e8f38129afu},
    {4, 15, 1, 1, 0x2e19ed2724c1637fu},  {4, 30, 0, 0, 0x34bfe615cf7b7921u},
    {4, 30, 1, 0, 0x500f8351c6f4359du},  {5, 0, 0, 1, 0xcc7cdc31986d363u},
    {5, 0, 1, 1, 0xcc7cdc31986d363u},    {5, 3, 0, 0, 0xa7d21932a606db99u},
    {5, 3, 1, 0, 0x92213454ab09943fu},   {5, 15, 0, 0, 0xc2f47aa5a70a4c0du},
    {5, 15, 1, 0, 0x6502892b90469060u},  {5, 30, 0, 1, 0xfe780da0cb64ab19u},
    {5, 30, 1, 1, 0xb62511f3f6e257bfu},  {6, 0, 0, 0, 0xcc7cdc31986d363u},
    {6, 0, 1, 0, 0xcc7cdc31986d363u},    {6, 3, 0, 1, 0x69c9a7cca98345e4u},
    {6, 3, 1, 1, 0xa20185b4dbed13f1u},   {6, 15, 0, 1, 0xecffbb3d2d3d2a05u},
    {6, 15, 1, 1, 0x240607e33acf4e86u},  {6, 30, 0, 0, 0x9023d5cdbb0bfbb6u},
    {6, 30, 1, 0, 0x4976fae1ef161df3u},  {7, 0, 0, 1, 0xcc7cdc31986d363u},
    {7, 0, 1, 1, 0xcc7cdc31986d363u},    {7, 3, 0, 0, 0x4c6eb1df07db45c5u},
    {7, 3, 1, 0, 0x7e9446d2d2f01b65u},   {7, 15, 0, 0, 0xd236961d9b38ea0u},
    {7, 15, 1, 0, 0xe30a4fcc7182b1adu},  {7, 30, 0, 1, 0xc00f571892081ca6u},
    {7, 30, 1, 1, 0x689c1db045eb7ca5u},  {8, 0, 0, 0, 0xcc7cdc31986d363u},
    {8, 0, 1, 0, 0xcc7cdc31986d363u},    {8, 3, 0, 1, 0xf0ae48d2b4ad1f3cu},
    {8, 3, 1, 1, 0xaac7a80320ee726cu},   {8, 15, 0, 1, 0x9f190a846f77ef6cu},
    {8, 15, 1, 1, 0x761ea09052ed879eu},  {8, 30, 0, 0, 0x90872bc02aaff545u},
    {8, 30, 1, 0, 0x3d44077299545768u},  {9, 0, 0, 1, 0xcc7cdc31986d363u},
    {9, 0, 1, 1, 0xcc7cdc31986d363u},    {9, 3, 0, 0, 0xa6004815701f25d9u},
    {9, 3, 1, 0, 0xec7e63207db966dau},   {9, 15, 0, 0, 0xeaa9380f658273e6u},
    {9, 15, 1, 0, 0xd4031e3f70f23673u},  {9, 30, 0, 1, 0x9221462f474dadaeu},
    {9, 30, 1, 1, 0x68e4ffc3ff898eb8u},  {10, 0, 0, 0, 0xcc7cdc31986d363u},
    {10, 3, 0, 1, 0x859ad7c21137611fu},  {10, 15, 0, 1, 0xa1850cc54401d615u},
    {10, 30, 0, 0, 0xf16c623ff16e45e5u}, {11, 0, 0, 1, 0x19be59ee340d0001u},
    {11, 3, 0, 0, 0x1a7b69d19f241d63u},  {11, 15, 0, 0, 0x18f98a8079f950c9u},
    {11, 30, 0, 1, 0x789f9dbbebd74353u}, {12, 0, 0, 0, 0xcc7cdc31986d363u},
    {13, 0, 0, 1, 0x5f9a957b3c9ee145u},
};

START_TEST(bytes_are_those_of_torchvision)
{
    uint8_t y[PICTURE_BYTES], scratch[PICTURE_BYTES];
    const policy_op op = (policy_op)cases[_i].op;
    const warp_options o = {.filter = cases[_i].filter};
    const picture x = {y, PICTURE_H, PICTURE_W, 3};
    bench_picture(y, PICTURE_H, PICTURE_W, 3);
    const double v = policy_magnitude(&policy_wide, op, cases[_i].bin, 31, &x);
    ck_assert(policy_is_signed(op) || !cases[_i].minus);
    policy_change(&x, op, cases[_i].minus ? -v : v, &o, scratch);
    ck_assert_uint_eq(bench_sum(y, sizeof y), cases[_i].want);
}
END_TEST

static void settings(void)
{
    test_settings_init(&g);
    test_settings_int(&g, "num_magnitude_bins", 4);
    test_settings_enum(&g, "interpolation", "nearest", WARP_NEAREST);
    test_settings_int(&g, "fill", 0);
}

START_TEST(draws_are_keyed)
{
    settings();
    picture_draws("trivial_augment_wide", &g, 0);
    picture_probability("trivial_augment_wide", &g);
}
END_TEST

/* Each change of each bin and sign comes, and nothing else. */
START_TEST(one_change_is_drawn)
{
    enum { DRAWS = 3000, MOST = POLICY_INVERT * 2 * 4 };
    static uint64_t sums[MOST];
    static int seen[MOST];
    static uint8_t y[PICTURE_BYTES], scratch[PICTURE_BYTES];
    const warp_options o = {.filter = WARP_NEAREST};
    const picture x = {y, PICTURE_H, PICTURE_W, 3};
    int n = 0;
    for (int op = 0; op < POLICY_INVERT; op++)
        for (int k = 0; k < 8; k++) {
            const double v = policy_magnitude(&policy_wide, (policy_op)op, k / 2, 4, &x);
            bench_picture(y, PICTURE_H, PICTURE_W, 3);
            policy_change(&x, (policy_op)op, k % 2 && policy_is_signed((policy_op)op) ? -v : v,
                          &o, scratch);
            sums[n++] = bench_sum(y, sizeof y);
        }
    settings();
    for (uint64_t k = 0; k < DRAWS; k++) {
        int found = 0;
        ck_assert_int_eq(picture_changed("trivial_augment_wide", &g, NULL, 3, k, y), 1);
        const uint64_t sum = bench_sum(y, sizeof y);
        for (int j = 0; j < n; j++)
            if (sums[j] == sum)
                found = seen[j] = 1;
        ck_assert_int_eq(found, 1);
    }
    for (int j = 0; j < n; j++)
        ck_assert_int_eq(seen[j], 1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("trivial_augment_wide");
    TCase *c = tcase_create("trivial_augment_wide");
    tcase_add_loop_test(c, bytes_are_those_of_torchvision, 0,
                        (int)(sizeof cases / sizeof *cases));
    tcase_add_test(c, draws_are_keyed);
    tcase_add_test(c, one_change_is_drawn);
    suite_add_tcase(suite, c);
    return tutti_run(suite);
}
