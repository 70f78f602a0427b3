/* elastic_transform_test.c - bytes as torchvision 0.29.2 makes them of given draws, displacements, and what is refused. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../picture_change_check.h"
#include "elastic.h"

static test_settings g;

/* Alpha, sigma, filter, fill, and bytes of tests/peers/vision.py: torchvision 0.29.2, torch 2.15.0. */
static const struct {
    double alpha[2], sigma[2];
    int32_t filter;
    uint8_t fill;
    uint8_t want[360];
} cases[] = {
    {{10.0, 10.0},
     {1.0, 1.0},
     1,
     0,
     {0,   0,   0,   0,   1,   2,   5,   15,  25,  51,  104, 157, 133, 186, 188, 179, 232, 74,
      183, 159, 107, 160, 165, 212, 128, 181, 191, 117, 170, 151, 0,   0,   0,   0,   11,  21,
      8,   33,  58,  45,  98,  151, 121, 174, 162, 185, 203, 35,  188, 105, 82,  111, 43,  96,
      194, 32,  85,  29,  4,   10,  0,   0,   0,   20,  52,  83,  26,  79,  132, 35,  88,  141,
      65,  118, 171, 120, 173, 193, 208, 132, 58,  81,  61,  114, 6,   25,  44,  0,   0,   0,
      138, 191, 192, 144, 197, 159, 130, 183, 136, 112, 165, 195, 100, 153, 206, 110, 163, 216,
      152, 205, 93,  223, 92,  73,  114, 58,  111, 1,   2,   3,   218, 31,  84,  118, 53,  106,
      37,  59,  112, 101, 49,  102, 232, 34,  82,  205, 159, 60,  199, 108, 57,  213, 51,  63,
      226, 50,  103, 80,  62,  115, 215, 24,  65,  152, 51,  104, 50,  103, 156, 96,  149, 202,
      41,  94,  147, 57,  91,  144, 196, 67,  120, 125, 71,  124, 51,  98,  151, 169, 65,  118,
      4,   6,   4,   177, 223, 86,  202, 35,  88,  83,  136, 189, 91,  144, 197, 156, 209, 97,
      165, 218, 147, 163, 216, 67,  136, 189, 158, 134, 187, 240, 0,   0,   0,   37,  19,  10,
      216, 84,  66,  94,  68,  121, 101, 154, 207, 127, 180, 150, 184, 237, 100, 166, 219, 117,
      48,  47,  11,  0,   0,   0,   42,  88,  134, 60,  113, 166, 54,  107, 160, 58,  107, 160,
      79,  132, 185, 128, 181, 234, 102, 155, 198, 162, 215, 130, 191, 188, 63,  12,  6,   4,
      195, 194, 45,  209, 167, 59,  168, 221, 18,  178, 231, 28,  157, 210, 155, 102, 155, 206,
      105, 158, 211, 127, 180, 144, 170, 223, 125, 163, 216, 161, 25,  21,  7,   10,  6,   3,
      0,   0,   0,   5,   2,   4,   46,  54,  93,  162, 58,  97,  206, 127, 56,  208, 64,  61,
      186, 157, 36,  191, 242, 41,  0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,
      0,   0,   0,   0,   0,   0,   123, 19,  47,  194, 118, 74,  205, 124, 55,  179, 101, 58}},
    {{20.0, 60.0},
     {1.25, 0.6},
     1,
     77,
     {25,  50,  76,  108, 161, 200, 30,  83,  136, 158, 83,  66,  83,  56,  85,  80,  56,
      84,  173, 137, 164, 143, 63,  116, 61,  82,  103, 77,  77,  77,  77,  77,  77,  77,
      77,  77,  77,  77,  77,  77,  77,  77,  124, 77,  130, 54,  58,  76,  77,  77,  77,
      63,  65,  67,  69,  70,  64,  77,  77,  77,  77,  77,  77,  77,  77,  77,  77,  77,
      77,  77,  77,  77,  77,  77,  77,  77,  77,  77,  133, 186, 239, 77,  77,  77,  77,
      77,  77,  77,  77,  77,  78,  61,  114, 216, 16,  66,  55,  108, 161, 77,  77,  77,
      77,  77,  77,  77,  77,  77,  77,  77,  77,  57,  64,  71,  144, 36,  65,  77,  77,
      77,  77,  77,  77,  77,  77,  77,  77,  77,  77,  130, 183, 225, 219, 47,  69,  72,
      72,  72,  77,  77,  77,  77,  77,  77,  77,  77,  77,  77,  77,  77,  136, 189, 186,
      116, 52,  87,  77,  77,  77,  77,  77,  77,  77,  77,  77,  87,  51,  72,  81,  134,
      187, 152, 205, 66,  77,  77,  77,  77,  77,  77,  77,  77,  77,  77,  77,  77,  33,
      86,  139, 204, 39,  84,  77,  77,  77,  77,  77,  77,  77,  77,  77,  77,  77,  77,
      183, 29,  82,  114, 84,  53,  77,  77,  77,  77,  77,  77,  77,  77,  77,  77,  77,
      77,  181, 189, 31,  77,  77,  77,  77,  77,  77,  77,  77,  77,  77,  77,  77,  77,
      77,  77,  56,  69,  82,  10,  62,  114, 92,  125, 158, 61,  63,  66,  77,  77,  77,
      77,  77,  77,  77,  77,  77,  170, 38,  91,  77,  77,  77,  77,  77,  77,  77,  77,
      77,  77,  77,  77,  77,  77,  77,  186, 231, 36,  43,  86,  139, 72,  125, 178, 77,
      77,  77,  77,  77,  77,  77,  77,  77,  77,  77,  77,  77,  77,  77,  77,  77,  77,
      77,  77,  77,  77,  77,  77,  77,  77,  77,  77,  77,  77,  151, 204, 138, 168, 80,
      83,  44,  77,  109, 77,  77,  77,  65,  68,  70,  77,  77,  77,  77,  77,  77,  77,
      77,  77,  77,  77,  77,  77,  77,  77,  77,  77,  77,  77,  77,  77,  185, 212, 35,
      121, 174, 216}},
    {{20.0, 60.0},
     {1.25, 0.6},
     0,
     77,
     {0,   53,  106, 108, 161, 214, 24,  77,  130, 169, 222, 19,  30,  83,  136, 30,  83,
      136, 146, 199, 252, 245, 42,  95,  77,  130, 183, 77,  77,  77,  77,  77,  77,  77,
      77,  77,  77,  77,  77,  77,  77,  77,  245, 42,  95,  30,  83,  136, 77,  77,  77,
      77,  77,  77,  77,  77,  77,  77,  77,  77,  77,  77,  77,  77,  77,  77,  77,  77,
      77,  77,  77,  77,  77,  77,  77,  77,  77,  77,  140, 193, 246, 77,  77,  77,  77,
      77,  77,  77,  77,  77,  3,   56,  109, 211, 8,   61,  51,  104, 157, 77,  77,  77,
      77,  77,  77,  77,  77,  77,  77,  77,  77,  77,  77,  77,  222, 19,  72,  77,  77,
      77,  77,  77,  77,  77,  77,  77,  77,  77,  77,  142, 195, 248, 217, 14,  67,  77,
      77,  77,  77,  77,  77,  77,  77,  77,  77,  77,  77,  77,  77,  77,  128, 181, 234,
      241, 38,  91,  77,  77,  77,  77,  77,  77,  77,  77,  77,  241, 38,  91,  108, 161,
      214, 159, 212, 9,   77,  77,  77,  77,  77,  77,  77,  77,  77,  77,  77,  77,  37,
      90,  143, 240, 37,  90,  77,  77,  77,  77,  77,  77,  77,  77,  77,  77,  77,  77,
      222, 19,  72,  181, 234, 31,  77,  77,  77,  77,  77,  77,  77,  77,  77,  77,  77,
      77,  194, 247, 44,  77,  77,  77,  77,  77,  77,  77,  77,  77,  77,  77,  77,  77,
      77,  77,  77,  77,  77,  3,   56,  109, 111, 164, 217, 77,  77,  77,  77,  77,  77,
      77,  77,  77,  77,  77,  77,  227, 24,  77,  77,  77,  77,  77,  77,  77,  77,  77,
      77,  77,  77,  77,  77,  77,  77,  196, 249, 46,  24,  77,  130, 65,  118, 171, 77,
      77,  77,  77,  77,  77,  77,  77,  77,  77,  77,  77,  77,  77,  77,  77,  77,  77,
      77,  77,  77,  77,  77,  77,  77,  77,  77,  77,  77,  77,  180, 233, 30,  240, 37,
      90,  44,  97,  150, 77,  77,  77,  77,  77,  77,  77,  77,  77,  77,  77,  77,  77,
      77,  77,  77,  77,  77,  77,  77,  77,  77,  77,  77,  77,  77,  77,  198, 251, 48,
      140, 193, 246}},
    {{5.0, 3.0},
     {0.0, 0.0},
     1,
     9,
     {9,   9,   9,   103, 156, 209, 101, 154, 207, 97,  150, 203, 93,  146, 199, 87,  140,
      193, 81,  134, 187, 73,  124, 176, 47,  76,  106, 26,  40,  53,  9,   9,   9,   7,
      9,   11,  3,   23,  43,  21,  35,  50,  191, 172, 41,  188, 231, 38,  184, 201, 86,
      179, 123, 143, 173, 147, 135, 167, 202, 26,  25,  41,  57,  61,  114, 167, 61,  114,
      167, 60,  113, 166, 58,  111, 164, 55,  108, 161, 91,  61,  114, 35,  79,  132, 30,
      41,  65,  9,   9,   9,   136, 189, 191, 139, 192, 184, 141, 194, 85,  142, 195, 77,
      142, 195, 140, 142, 195, 201, 140, 193, 228, 138, 191, 125, 9,   9,   9,   9,   9,
      9,   221, 27,  71,  217, 91,  76,  151, 75,  80,  173, 31,  84,  236, 34,  86,  155,
      71,  87,  108, 35,  88,  170, 35,  88,  231, 34,  87,  235, 88,  85,  183, 180, 33,
      66,  119, 172, 73,  126, 179, 65,  118, 171, 44,  97,  150, 102, 89,  142, 234, 57,
      110, 110, 71,  124, 51,  87,  140, 145, 71,  124, 9,   9,   9,   9,   9,   9,   55,
      71,  39,  100, 153, 193, 107, 160, 188, 112, 165, 218, 117, 170, 223, 121, 174, 173,
      123, 176, 192, 126, 179, 232, 13,  10,  15,  104, 29,  72,  195, 41,  94,  230, 48,
      101, 135, 55,  108, 182, 202, 70,  163, 168, 189, 162, 215, 147, 144, 190, 73,  23,
      29,  21,  58,  111, 164, 70,  123, 176, 81,  134, 187, 91,  144, 197, 100, 153, 206,
      107, 160, 213, 115, 168, 221, 47,  64,  82,  9,   9,   9,   9,   9,   9,   156, 209,
      43,  170, 223, 42,  171, 224, 21,  187, 240, 37,  155, 208, 171, 129, 182, 207, 138,
      191, 173, 147, 189, 140, 155, 208, 45,  162, 215, 107, 91,  29,  35,  153, 145, 43,
      206, 180, 56,  221, 116, 71,  177, 101, 84,  197, 60,  85,  199, 174, 49,  200, 142,
      50,  195, 133, 45,  174, 98,  50,  9,   9,   9,   9,   9,   9,   9,   9,   9,   9,
      9,   9,   9,   9,   9,   22,  9,   13,  29,  22,  35,  50,  41,  71,  208, 44,  96,
      136, 56,  109}},
};

/* torch sums in f32: one step where a value lies between two bytes. */
START_TEST(bytes_are_those_of_torchvision)
{
    enum { SMALL_H = 12, SMALL_W = 10, SMALL = SMALL_H * SMALL_W };
    elastic t = {.alpha = {cases[_i].alpha[0], cases[_i].alpha[1]},
                 .sigma = {cases[_i].sigma[0], cases[_i].sigma[1]}};
    uint8_t y[360], copy[360];
    float field[2][SMALL], scratch[SMALL];
    const picture x = {y, SMALL_H, SMALL_W, 3};
    int differ = 0;
    t.warp.filter = cases[_i].filter;
    memset(t.warp.fill, cases[_i].fill, sizeof t.warp.fill);
    bench_picture(y, SMALL_H, SMALL_W, 3);
    for (int axis = 0; axis < 2; axis++) {
        for (int i = 0; i < SMALL; i++)
            field[axis][i] = (float)((i * 7919 + 31 * (axis + 1)) % 1000 / 1000.0);
        elastic_smooth(&t, axis, SMALL_H, SMALL_W, field[axis], scratch);
    }
    elastic_move(&x, field[0], field[1], &t.warp, copy);
    for (int k = 0; k < 360; k++) {
        ck_assert_int_le(abs(y[k] - cases[_i].want[k]), 1);
        differ += y[k] != cases[_i].want[k];
    }
    ck_assert_int_le(differ, 4);
}
END_TEST

static void settings(const double *alpha, const double *sigma, uint32_t sigmas, int filter)
{
    test_settings_init(&g);
    test_settings_floats(&g, "alpha", alpha, 2);
    test_settings_floats(&g, "sigma", sigma, sigmas);
    test_settings_enum(&g, "interpolation", filter ? "bilinear" : "nearest", filter);
    test_settings_int(&g, "fill", 0);
}

/* A picture whose values say where pixels are, with displacements along one side alone: how far they go, and which way. */
START_TEST(pixels_move_by_half_of_alpha_at_most)
{
    static const double alpha[2][2] = {{16.0, 0.0}, {0.0, 16.0}}, none = 0.0;
    static uint8_t x[PICTURE_BYTES], y[PICTURE_BYTES];
    int least = 99, most = -99, sum = 0, count = 0;
    for (int i = 0; i < PICTURE_H * PICTURE_W; i++)
        x[i] = (uint8_t)(100 + (_i ? i / PICTURE_W : i % PICTURE_W));
    settings(alpha[_i], &none, 1, WARP_NEAREST);
    ck_assert_int_eq(picture_changed("elastic_transform", &g, x, 1, 3, y), 1);
    for (int row = 8; row < PICTURE_H - 8; row++)
        for (int column = 8; column < PICTURE_W - 8; column++, count++) {
            const int i = row * PICTURE_W + column, by = y[i] - x[i];
            least = by < least ? by : least;
            most = by > most ? by : most;
            sum += by;
        }
    ck_assert_int_eq(least, -8);
    ck_assert_int_eq(most, 8);
    /* uniform from -8 to 8, five standard deviations of the mean */
    ck_assert_close((double)sum / count, 0.0, 5.0 * 16.0 / sqrt(12.0 * count));
}
END_TEST

START_TEST(draws_are_keyed_and_maps_refused)
{
    static const double alpha[2] = {50.0, 50.0}, sigma = 1.0;
    bench b;
    settings(alpha, &sigma, 1, WARP_BILINEAR);
    picture_draws("elastic_transform", &g, 0);
    picture_probability("elastic_transform", &g);
    static const double none = 0.0;
    settings(alpha, &none, 1, WARP_BILINEAR);
    bench_open(&b, "elastic_transform", &g);
    bench_refuses_maps(&b, "elastic_transform");
    subject_close(&b.subject);
}
END_TEST

START_TEST(what_cannot_be_mirrored_is_refused)
{
    static const double alpha[2] = {50.0, 50.0}, sigma[2] = {5.0, 2.0}, half[2] = {5.0, 0.0};
    tutti_desc small = {{20, 64, 3}, 3, TUTTI_U8}, fits = {{21, 21, 3}, 3, TUTTI_U8}, made;
    tutti_desc any = {{-1, -1, 3}, 3, TUTTI_U8};
    static uint8_t x[20 * 64 * 3], y[20 * 64 * 3];
    const char *want = "elastic_transform: a picture is 20 x 64, want sides above 20 pixels, "
                       "or a smaller sigma";
    tutti_error err = TUTTI_ERROR_INIT;
    subject s;
    bench b;
    settings(alpha, sigma, 2, WARP_BILINEAR);
    bench_open(&b, "elastic_transform", &g);
    ck_assert_int_eq(bench_infer(&b, &small), TUTTI_E_SHAPE);
    ck_assert_error(b.err, TUTTI_E_SHAPE, want);
    ck_assert_ok(bench_infer(&b, &fits), b.err);
    ck_assert_ok(bench_infer(&b, &any), b.err);
    ck_assert_int_eq(bench_apply(&b, &small, x, y, 0, 0, &made), TUTTI_E_SHAPE);
    ck_assert_error(b.err, TUTTI_E_SHAPE, want);
    subject_close(&b.subject);
    settings(alpha, half, 2, WARP_BILINEAR);
    ck_assert_int_eq(subject_open(&s, PLUGIN_PATH, TUTTI_KIND_TRANSFORM, "elastic_transform",
                                  &g, NULL, &err),
                     TUTTI_E_ARG);
    ck_assert_error(err, TUTTI_E_ARG,
                    "elastic_transform: sigma is [5, 0], want both 0 or none");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("elastic_transform");
    TCase *c = tcase_create("elastic_transform");
    tcase_add_loop_test(c, bytes_are_those_of_torchvision, 0,
                        (int)(sizeof cases / sizeof *cases));
    tcase_add_loop_test(c, pixels_move_by_half_of_alpha_at_most, 0, 2);
    tcase_add_test(c, draws_are_keyed_and_maps_refused);
    tcase_add_test(c, what_cannot_be_mirrored_is_refused);
    suite_add_tcase(suite, c);
    return tutti_run(suite);
}
