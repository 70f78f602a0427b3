/* rand_augment_test.c - changes as torchvision 0.29.2 makes them of Pillow images, by what is drawn. */
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
    {1, 0, 1, 1, 0xcc7cdc31986d363u},    {1, 3, 0, 0, 0xbf2c329386c29d78u},
    {1, 3, 1, 0, 0xc904e2bc345fe358u},   {1, 15, 0, 0, 0x98b973bc438ca109u},
    {1, 15, 1, 0, 0x14c8ff570d9da161u},  {1, 30, 0, 1, 0x173e35097534d38u},
    {1, 30, 1, 1, 0xc753f57c0870ce32u},  {2, 0, 0, 0, 0xcc7cdc31986d363u},
    {2, 0, 1, 0, 0xcc7cdc31986d363u},    {2, 3, 0, 1, 0x3d131640a0498c08u},
    {2, 3, 1, 1, 0x5b41a8dc54744621u},   {2, 15, 0, 1, 0xcd05c37aebad4cb6u},
    {2, 15, 1, 1, 0x5c5c77f4de4e80a8u},  {2, 30, 0, 0, 0x7552e1a78c4910d5u},
    {2, 30, 1, 0, 0xd6ddced72b299971u},  {3, 0, 0, 1, 0xcc7cdc31986d363u},
    {3, 0, 1, 1, 0xcc7cdc31986d363u},    {3, 3, 0, 0, 0x98d1025b95a9d245u},
    {3, 3, 1, 0, 0x692cfcaa9239df52u},   {3, 15, 0, 0, 0xb524d5c2984e1e58u},
    {3, 15, 1, 0, 0xffaf00ef7fdced87u},  {3, 30, 0, 1, 0x26ec72b6c849e34au},
    {3, 30, 1, 1, 0xc880a43dea1b48fu},   {4, 0, 0, 0, 0xcc7cdc31986d363u},
    {4, 0, 1, 0, 0xcc7cdc31986d363u},    {4, 3, 0, 1, 0x33a5534313ed46c5u},
    {4, 3, 1, 1, 0x6ac0fc47151afb44u},   {4, 15, 0, 1, 0xbdb81af456d95b08u},
    {4, 15, 1, 1, 0xf7bcb19ae12429c2u},  {4, 30, 0, 0, 0x75470b463e621d8bu},
    {4, 30, 1, 0, 0x667e089d4986dbd7u},  {5, 0, 0, 1, 0xcc7cdc31986d363u},
    {5, 0, 1, 1, 0xcc7cdc31986d363u},    {5, 3, 0, 0, 0x7fa3839e64ecaee5u},
    {5, 3, 1, 0, 0xd587c759b1fc0a45u},   {5, 15, 0, 0, 0xf37e9f9d41d57db9u},
    {5, 15, 1, 0, 0xb8fce8656ee60814u},  {5, 30, 0, 1, 0x4cbc720633440173u},
    {5, 30, 1, 1, 0x2bdb17a2b4a7c91du},  {6, 0, 0, 0, 0xcc7cdc31986d363u},
    {6, 0, 1, 0, 0xcc7cdc31986d363u},    {6, 3, 0, 1, 0xb9ca52f0847e286au},
    {6, 3, 1, 1, 0xe8e81252ccbb2156u},   {6, 15, 0, 1, 0x812b283c8500b701u},
    {6, 15, 1, 1, 0xa9070c17d8403dcfu},  {6, 30, 0, 0, 0xf2f9d7c02b3bca38u},
    {6, 30, 1, 0, 0x539c39fc8516369fu},  {7, 0, 0, 1, 0xcc7cdc31986d363u},
    {7, 0, 1, 1, 0xcc7cdc31986d363u},    {7, 3, 0, 0, 0xdfb21e1488a3cbc0u},
    {7, 3, 1, 0, 0x48c98db9c9c37e20u},   {7, 15, 0, 0, 0xaa6e773d2f0dc1acu},
    {7, 15, 1, 0, 0xbd29abab59ac1a7eu},  {7, 30, 0, 1, 0x8ed60e6e206d3727u},
    {7, 30, 1, 1, 0xf83e76bb5c138d93u},  {8, 0, 0, 0, 0xcc7cdc31986d363u},
    {8, 0, 1, 0, 0xcc7cdc31986d363u},    {8, 3, 0, 1, 0x94b71369bd682ddfu},
    {8, 3, 1, 1, 0x3f0e4430ac227b22u},   {8, 15, 0, 1, 0xce9eae8165f49fdau},
    {8, 15, 1, 1, 0x9424b1bda91ffc0fu},  {8, 30, 0, 0, 0xa5d614b431e6a04eu},
    {8, 30, 1, 0, 0x5daf0929c29445deu},  {9, 0, 0, 1, 0xcc7cdc31986d363u},
    {9, 0, 1, 1, 0xcc7cdc31986d363u},    {9, 3, 0, 0, 0x3433f4ced1aeb1b0u},
    {9, 3, 1, 0, 0x49a7b1ab8428fe53u},   {9, 15, 0, 0, 0x58e2dcb974068d24u},
    {9, 15, 1, 0, 0x53dcd819c2aacd2u},   {9, 30, 0, 1, 0x57e0dfc587d48202u},
    {9, 30, 1, 1, 0xf8f1c5182e2cd0f2u},  {10, 0, 0, 0, 0xcc7cdc31986d363u},
    {10, 3, 0, 1, 0xcc7cdc31986d363u},   {10, 15, 0, 1, 0xf16217c419df28bdu},
    {10, 30, 0, 0, 0x2a26e65578763915u}, {11, 0, 0, 1, 0x19be59ee340d0001u},
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
    const double v = policy_magnitude(&policy_narrow, op, cases[_i].bin, 31, &x);
    ck_assert(policy_is_signed(op) || !cases[_i].minus);
    policy_change(&x, op, cases[_i].minus ? -v : v, &o, scratch);
    ck_assert_uint_eq(bench_sum(y, sizeof y), cases[_i].want);
}
END_TEST

static void settings(void)
{
    test_settings_init(&g);
    test_settings_int(&g, "num_ops", 1);
    test_settings_int(&g, "magnitude", 9);
    test_settings_int(&g, "num_magnitude_bins", 31);
    test_settings_enum(&g, "interpolation", "nearest", WARP_NEAREST);
    test_settings_int(&g, "fill", 0);
}

START_TEST(draws_are_keyed)
{
    settings();
    picture_draws("rand_augment", &g, 0);
    picture_probability("rand_augment", &g);
}
END_TEST

/* Each change of the bin and sign comes, and nothing else. */
START_TEST(one_change_is_drawn)
{
    enum { DRAWS = 900, MOST = POLICY_INVERT * 2 * 1 };
    static uint64_t sums[MOST];
    static int seen[MOST];
    static uint8_t y[PICTURE_BYTES], scratch[PICTURE_BYTES];
    const warp_options o = {.filter = WARP_NEAREST};
    const picture x = {y, PICTURE_H, PICTURE_W, 3};
    int n = 0;
    for (int op = 0; op < POLICY_INVERT; op++)
        for (int k = 0; k < 2; k++) {
            const double v = policy_magnitude(&policy_narrow, (policy_op)op, 9, 31, &x);
            bench_picture(y, PICTURE_H, PICTURE_W, 3);
            policy_change(&x, (policy_op)op, k % 2 && policy_is_signed((policy_op)op) ? -v : v,
                          &o, scratch);
            sums[n++] = bench_sum(y, sizeof y);
        }
    settings();
    for (uint64_t k = 0; k < DRAWS; k++) {
        int found = 0;
        ck_assert_int_eq(picture_changed("rand_augment", &g, NULL, 3, k, y), 1);
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
    Suite *suite = suite_create("rand_augment");
    TCase *c = tcase_create("rand_augment");
    tcase_add_loop_test(c, bytes_are_those_of_torchvision, 0,
                        (int)(sizeof cases / sizeof *cases));
    tcase_add_test(c, draws_are_keyed);
    tcase_add_test(c, one_change_is_drawn);
    suite_add_tcase(suite, c);
    return tutti_run(suite);
}
