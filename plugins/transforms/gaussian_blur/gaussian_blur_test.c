/* gaussian_blur_test.c - bytes as torchvision 0.29.2 makes them, and what is refused. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../picture_change_check.h"

static test_settings g;

/* Width, height, sigma, and bytes of tests/peers/vision.py: torchvision 0.29.2, torch 2.15.0. */
static const struct {
    int64_t size[2];
    double sigma;
    uint8_t want[360];
} cases[] = {
    {{3, 3},
     0.5,
     {10,  63,  116, 20,  73,  126, 31,  84,  137, 43,  96,  149, 54,  107, 160, 66,  119,
      172, 78,  131, 184, 89,  142, 195, 101, 154, 201, 110, 163, 173, 40,  93,  146, 51,
      104, 157, 65,  118, 171, 79,  132, 185, 93,  146, 196, 107, 160, 189, 121, 174, 200,
      135, 185, 214, 149, 178, 206, 160, 186, 80,  78,  131, 184, 91,  144, 194, 108, 161,
      190, 125, 178, 204, 142, 192, 199, 159, 188, 58,  176, 202, 53,  190, 197, 70,  186,
      56,  84,  196, 48,  79,  115, 168, 215, 131, 184, 191, 151, 201, 50,  171, 200, 48,
      188, 195, 65,  187, 57,  64,  204, 55,  81,  204, 71,  100, 77,  63,  113, 55,  74,
      127, 153, 200, 189, 171, 200, 67,  191, 198, 47,  193, 63,  67,  191, 61,  90,  58,
      62,  112, 70,  75,  128, 85,  89,  142, 167, 59,  112, 59,  69,  122, 191, 173, 62,
      208, 57,  64,  191, 58,  87,  56,  63,  113, 56,  85,  138, 68,  96,  149, 173, 68,
      121, 57,  85,  138, 72,  104, 157, 76,  123, 176, 201, 47,  78,  202, 51,  101, 70,
      77,  130, 56,  106, 159, 74,  127, 180, 43,  94,  147, 75,  107, 160, 85,  135, 185,
      110, 163, 195, 127, 180, 227, 37,  63,  116, 59,  88,  141, 70,  120, 173, 98,  151,
      204, 114, 167, 220, 84,  137, 187, 108, 161, 190, 139, 192, 199, 156, 209, 98,  134,
      187, 176, 47,  100, 153, 75,  128, 178, 110, 163, 192, 137, 190, 218, 110, 163, 210,
      129, 179, 189, 162, 194, 61,  182, 230, 78,  162, 190, 176, 176, 201, 90,  85,  138,
      185, 115, 168, 175, 152, 205, 51,  174, 227, 73,  150, 200, 186, 179, 189, 75,  202,
      91,  55,  182, 170, 37,  186, 53,  78,  224, 54,  85,  123, 176, 159, 155, 205, 51,
      188, 219, 41,  167, 214, 19,  189, 199, 63,  202, 88,  77,  197, 164, 53,  184, 67,
      77,  88,  52,  102, 173, 34,  87,  152, 205, 45,  186, 218, 42,  221, 115, 71,  195,
      206, 45,  208, 97,  80,  105, 72,  114, 196, 78,  89,  101, 68,  115, 167, 50,  103,
      97,  64,  117}},
    {{5, 9},
     1.7,
     {63,  116, 156, 67,  119, 157, 77,  128, 161, 91,  137, 160, 104, 144, 158, 117, 151, 156,
      128, 152, 157, 136, 149, 149, 140, 142, 150, 142, 140, 149, 72,  122, 156, 76,  125, 156,
      86,  133, 157, 99,  140, 154, 111, 144, 151, 123, 149, 149, 132, 147, 149, 138, 142, 142,
      140, 135, 144, 141, 133, 144, 96,  137, 151, 99,  137, 150, 108, 142, 146, 117, 142, 139,
      125, 140, 134, 132, 139, 132, 137, 133, 132, 138, 125, 129, 138, 117, 132, 136, 115, 133,
      125, 147, 138, 125, 144, 135, 129, 144, 129, 131, 137, 121, 132, 129, 118, 133, 122, 121,
      135, 115, 122, 130, 108, 123, 129, 103, 128, 125, 102, 130, 146, 140, 121, 143, 136, 120,
      139, 134, 117, 131, 124, 114, 126, 116, 117, 122, 109, 122, 123, 105, 125, 118, 102, 129,
      119, 102, 134, 114, 103, 137, 150, 122, 112, 144, 120, 114, 135, 121, 119, 121, 115, 124,
      112, 112, 130, 108, 109, 136, 112, 109, 137, 111, 113, 140, 115, 117, 144, 111, 121, 148,
      137, 109, 116, 132, 110, 120, 123, 117, 130, 111, 120, 141, 105, 122, 146, 105, 123, 148,
      112, 126, 145, 116, 131, 145, 123, 138, 147, 121, 142, 151, 119, 112, 126, 118, 117, 130,
      116, 129, 140, 112, 137, 151, 112, 140, 153, 116, 141, 150, 124, 142, 142, 131, 145, 137,
      138, 149, 138, 137, 153, 142, 112, 131, 129, 115, 137, 130, 121, 150, 137, 126, 158, 143,
      131, 157, 142, 137, 154, 135, 142, 147, 126, 149, 144, 118, 152, 140, 121, 152, 141, 124,
      122, 154, 121, 126, 161, 118, 136, 170, 118, 146, 174, 118, 153, 165, 117, 157, 155, 112,
      158, 138, 107, 161, 127, 100, 159, 117, 104, 156, 114, 108, 137, 173, 106, 141, 180, 100,
      153, 184, 96,  163, 180, 93,  169, 165, 94,  170, 148, 94,  167, 125, 93,  164, 107, 89,
      159, 94,  94,  153, 88,  99,  143, 180, 98,  147, 186, 92,  160, 188, 87,  169, 181, 83,
      175, 164, 85,  174, 144, 87,  169, 118, 88,  165, 99,  86,  157, 84,  91,  151, 77,  96}},
};

static void settings(int i)
{
    test_settings_init(&g);
    test_settings_ints(&g, "kernel_size", cases[i].size, 2);
    test_settings_floats(&g, "sigma", &cases[i].sigma, 1);
}

/* torch sums in f32: one step where a mean lies between two bytes. */
START_TEST(bytes_are_those_of_torchvision)
{
    const tutti_desc d = {{12, 10, 3}, 3, TUTTI_U8};
    uint8_t x[360], y[360];
    int differ = 0;
    bench b;
    tutti_desc made;
    bench_picture(x, 12, 10, 3);
    settings(_i);
    bench_open(&b, "gaussian_blur", &g);
    ck_assert_int_eq(bench_apply(&b, &d, x, y, 0, 0, &made), 1);
    for (int k = 0; k < 360; k++) {
        ck_assert_int_le(abs(y[k] - cases[_i].want[k]), 1);
        differ += y[k] != cases[_i].want[k];
    }
    ck_assert_int_le(differ, 4);
    subject_close(&b.subject);
}
END_TEST

START_TEST(sigma_is_drawn_and_sizes_are_odd)
{
    static const int64_t even[2] = {3, 4};
    static const double fall[2] = {2.0, 1.0};
    tutti_error err = TUTTI_ERROR_INIT;
    subject s;
    settings(0);
    picture_draws("gaussian_blur", &g, 0);
    picture_probability("gaussian_blur", &g);
    test_settings_ints(&g, "kernel_size", even, 2);
    ck_assert_int_eq(
        subject_open(&s, PLUGIN_PATH, TUTTI_KIND_TRANSFORM, "gaussian_blur", &g, NULL, &err),
        TUTTI_E_ARG);
    ck_assert_error(err, TUTTI_E_ARG, "gaussian_blur: kernel_size is 3 x 4, want odd numbers");
    settings(0);
    test_settings_floats(&g, "sigma", fall, 2);
    err = (tutti_error)TUTTI_ERROR_INIT;
    ck_assert_int_eq(
        subject_open(&s, PLUGIN_PATH, TUTTI_KIND_TRANSFORM, "gaussian_blur", &g, NULL, &err),
        TUTTI_E_ARG);
    ck_assert_error(err, TUTTI_E_ARG, "sigma is [2, 1], want the smaller one first");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("gaussian_blur");
    TCase *c = tcase_create("gaussian_blur");
    tcase_add_loop_test(c, bytes_are_those_of_torchvision, 0,
                        (int)(sizeof cases / sizeof *cases));
    tcase_add_test(c, sigma_is_drawn_and_sizes_are_odd);
    suite_add_tcase(suite, c);
    return tutti_run(suite);
}
