/* auto_augment_test.c - changes as torchvision 0.29.2 makes them of Pillow images, by what is drawn. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../common/policy.h"
#include "../picture_change_check.h"

static test_settings g;

/* Operation, bin of 10, sign and filter of tests/peers/vision.py, with Pillow 13.0.0. */
static const struct {
    int op, bin, minus, filter;
    uint64_t want;
} cases[] = {
    {1, 0, 0, 1, 0xcc7cdc31986d363u},   {1, 0, 1, 1, 0xcc7cdc31986d363u},
    {1, 3, 0, 0, 0xdf0de7f2878e49a6u},  {1, 3, 1, 0, 0xccba29ae13a7cd26u},
    {1, 5, 0, 0, 0x1e9a6f42a19494e5u},  {1, 5, 1, 0, 0x17b28dc75edf61c2u},
    {1, 9, 0, 0, 0x7bd5e6dc02b0cb37u},  {1, 9, 1, 0, 0xadf43fa6f89eba70u},
    {2, 0, 0, 0, 0xcc7cdc31986d363u},   {2, 0, 1, 0, 0xcc7cdc31986d363u},
    {2, 3, 0, 1, 0xc71fbdef9d8df4d2u},  {2, 3, 1, 1, 0xe5defe177cfe1da3u},
    {2, 5, 0, 1, 0x5eba4c2a2a19d0afu},  {2, 5, 1, 1, 0xa69527b8152e5ecau},
    {2, 9, 0, 1, 0xf22993ba7c109cecu},  {2, 9, 1, 1, 0x8092cc5fdcbd9a0eu},
    {3, 0, 0, 1, 0xcc7cdc31986d363u},   {3, 0, 1, 1, 0xcc7cdc31986d363u},
    {3, 3, 0, 0, 0xe0c19b89f872151fu},  {3, 3, 1, 0, 0x96aca9c50bc8ab68u},
    {3, 5, 0, 0, 0xa10790319703c85fu},  {3, 5, 1, 0, 0xef4c1d66705d906cu},
    {3, 9, 0, 0, 0x26ec72b6c849e34au},  {3, 9, 1, 0, 0xc880a43dea1b48fu},
    {4, 0, 0, 0, 0xcc7cdc31986d363u},   {4, 0, 1, 0, 0xcc7cdc31986d363u},
    {4, 3, 0, 1, 0x86d0f758c716ee1cu},  {4, 3, 1, 1, 0x725c016e1f1cc03u},
    {4, 5, 0, 1, 0xa196fe58c4e2cae7u},  {4, 5, 1, 1, 0xb5bfb36c6eb358c8u},
    {4, 9, 0, 1, 0x75470b463e621d8bu},  {4, 9, 1, 1, 0x667e089d4986dbd7u},
    {5, 0, 0, 1, 0xcc7cdc31986d363u},   {5, 0, 1, 1, 0xcc7cdc31986d363u},
    {5, 3, 0, 0, 0x9f2d83731dd50ffau},  {5, 3, 1, 0, 0x23081b89e25ba901u},
    {5, 5, 0, 0, 0xa7cbdaf2e9628625u},  {5, 5, 1, 0, 0xdf0b836c541b5664u},
    {5, 9, 0, 0, 0x89f5bf2f164fb71du},  {5, 9, 1, 0, 0x7ab5e458fc088906u},
    {6, 0, 0, 0, 0xcc7cdc31986d363u},   {6, 0, 1, 0, 0xcc7cdc31986d363u},
    {6, 3, 0, 1, 0x418c1891977e48eu},   {6, 3, 1, 1, 0xc1d3c03250ccb57bu},
    {6, 5, 0, 1, 0xe7c9ac8b6f19ce9du},  {6, 5, 1, 1, 0x9ed8b7c5fcb8c06cu},
    {6, 9, 0, 1, 0xf2f9d7c02b3bca38u},  {6, 9, 1, 1, 0x539c39fc8516369fu},
    {7, 0, 0, 1, 0xcc7cdc31986d363u},   {7, 0, 1, 1, 0xcc7cdc31986d363u},
    {7, 3, 0, 0, 0xc88941a098c996a0u},  {7, 3, 1, 0, 0x3a9cec2c469ff08fu},
    {7, 5, 0, 0, 0xef07405881aa400au},  {7, 5, 1, 0, 0x5b8339f5b7f9fd10u},
    {7, 9, 0, 0, 0x8ed60e6e206d3727u},  {7, 9, 1, 0, 0xf83e76bb5c138d93u},
    {8, 0, 0, 0, 0xcc7cdc31986d363u},   {8, 0, 1, 0, 0xcc7cdc31986d363u},
    {8, 3, 0, 1, 0x4193059dbbf3ddceu},  {8, 3, 1, 1, 0x2b65a4926b86df00u},
    {8, 5, 0, 1, 0xd36560b1f1b4f041u},  {8, 5, 1, 1, 0xcd490ef0b602140eu},
    {8, 9, 0, 1, 0xa5d614b431e6a04eu},  {8, 9, 1, 1, 0x5daf0929c29445deu},
    {9, 0, 0, 1, 0xcc7cdc31986d363u},   {9, 0, 1, 1, 0xcc7cdc31986d363u},
    {9, 3, 0, 0, 0x744e30ab08986fb9u},  {9, 3, 1, 0, 0x72fd86991ec2e77bu},
    {9, 5, 0, 0, 0x6da5bb5e0ab66869u},  {9, 5, 1, 0, 0x99ce807697890cddu},
    {9, 9, 0, 0, 0x57e0dfc587d48202u},  {9, 9, 1, 0, 0xf8f1c5182e2cd0f2u},
    {10, 0, 0, 0, 0xcc7cdc31986d363u},  {10, 3, 0, 1, 0x859ad7c21137611fu},
    {10, 5, 0, 1, 0xf16217c419df28bdu}, {10, 9, 0, 1, 0x2a26e65578763915u},
    {11, 0, 0, 1, 0x19be59ee340d0001u}, {11, 3, 0, 0, 0xf41f835007a6dc73u},
    {11, 5, 0, 0, 0xc741d136f1435b3eu}, {11, 9, 0, 0, 0x789f9dbbebd74353u},
    {12, 0, 0, 0, 0xcc7cdc31986d363u},  {13, 0, 0, 1, 0x5f9a957b3c9ee145u},
    {14, 0, 0, 0, 0x789f9dbbebd74353u},
};

START_TEST(bytes_are_those_of_torchvision)
{
    uint8_t y[PICTURE_BYTES], scratch[PICTURE_BYTES];
    const policy_op op = (policy_op)cases[_i].op;
    const warp_options o = {.filter = cases[_i].filter};
    const picture x = {y, PICTURE_H, PICTURE_W, 3};
    bench_picture(y, PICTURE_H, PICTURE_W, 3);
    const double v = policy_magnitude(&policy_narrow, op, cases[_i].bin, 10, &x);
    ck_assert(policy_is_signed(op) || !cases[_i].minus);
    policy_change(&x, op, cases[_i].minus ? -v : v, &o, scratch);
    ck_assert_uint_eq(bench_sum(y, sizeof y), cases[_i].want);
}
END_TEST

static void settings(void)
{
    test_settings_init(&g);
    test_settings_enum(&g, "policy", "cifar10", 1);
    test_settings_enum(&g, "interpolation", "nearest", WARP_NEAREST);
    test_settings_int(&g, "fill", 0);
}

START_TEST(draws_are_keyed)
{
    settings();
    picture_draws("auto_augment", &g, 0);
    picture_probability("auto_augment", &g);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("auto_augment");
    TCase *c = tcase_create("auto_augment");
    tcase_add_loop_test(c, bytes_are_those_of_torchvision, 0,
                        (int)(sizeof cases / sizeof *cases));
    tcase_add_test(c, draws_are_keyed);
    suite_add_tcase(suite, c);
    return tutti_run(suite);
}
