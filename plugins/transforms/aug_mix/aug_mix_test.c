/* aug_mix_test.c - mixtures as torchvision 0.29.2 makes them of given draws, and the distribution of the draws. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../picture_change_check.h"
#include "mixture.h"

static test_settings g;
static float sum[PICTURE_BYTES];
static uint8_t made[PICTURE_BYTES], scratch[PICTURE_BYTES];

/* Shares of the picture and of the chains together, two chains, filter, fill: those of tests/peers/vision.py. */
static const struct {
    float share[2];
    mixture_change chain[2][3];
    int64_t depth;
    warp_options warp;
} mixes[] = {
    {{0.25f, 0.75f}, {{{1, 3, 0}}, {{5, 9, 1}}}, 1, {1, {0, 0, 0, 0}}},
    {{0.4f, 0.6f}, {{{2, 2, 1}, {10, 4, 0}}, {{12, 0, 0}, {9, 9, 0}}}, 2, {1, {5, 5, 5, 5}}},
    {{0.1f, 0.9f},
     {{{3, 9, 0}, {11, 5, 0}, {7, 3, 1}}, {{4, 6, 1}, {13, 0, 0}, {8, 9, 0}}},
     3,
     {0, {0, 0, 0, 0}}},
    {{0.6f, 0.4f}, {{{6, 7, 1}, {10, 9, 0}}, {{10, 0, 0}, {11, 1, 0}}}, 2, {0, {0, 0, 0, 0}}},
    {{0.1f, 0.9f}, {{{1, 3, 0}, {9, 5, 0}}, {{5, 9, 1}, {6, 4, 0}}}, 2, {1, {0, 0, 0, 0}}},
};

/* Case, and the sum of its bytes where Pillow 13.0.0 makes the changes. */
static const struct {
    int mix;
    uint64_t want;
} cases[] = {
    {0, 0xe5863d2506ced67u},
    {1, 0x788843c670e84478u},
    {2, 0x2feef712a572510eu},
    {3, 0xe517b181024fea9eu},
};

static void make(int k, const picture *x)
{
    static const float parts[2] = {0.3f, 0.7f};
    const mixture m = {sum, made, scratch};
    bench_picture(x->pixels, x->h, x->w, x->c);
    mixture_begin(&m, x, mixes[k].share[0]);
    for (int c = 0; c < 2; c++)
        mixture_add(&m, x, parts[c] * mixes[k].share[1], mixes[k].chain[c], mixes[k].depth,
                    &mixes[k].warp);
    mixture_end(&m, x);
}

START_TEST(bytes_are_those_of_torchvision)
{
    static uint8_t y[PICTURE_BYTES];
    const picture x = {y, PICTURE_H, PICTURE_W, 3};
    make(cases[_i].mix, &x);
    ck_assert_uint_eq(bench_sum(y, sizeof y), cases[_i].want);
}
END_TEST

/* With torchvision's own changes, those of tensors: they leave out what lies at the edge of a sheared or rotated picture. */
static const uint8_t of_tensors[360] = {
    0,   19,  39,  4,   23,  43,  46,  92,  140, 66,  133, 199, 65,  131, 197, 60,  126, 192,
    53,  119, 185, 47,  89,  132, 32,  52,  72,  35,  54,  73,  14,  33,  53,  42,  73,  102,
    118, 185, 224, 121, 187, 230, 121, 188, 238, 119, 185, 245, 115, 182, 252, 108, 177, 244,
    100, 165, 215, 74,  109, 57,  28,  48,  67,  133, 186, 207, 173, 221, 217, 178, 228, 187,
    181, 237, 139, 181, 246, 161, 180, 251, 163, 178, 229, 160, 176, 138, 179, 144, 129, 184,
    107, 96,  99,  211, 224, 105, 218, 169, 41,  226, 251, 43,  236, 181, 50,  247, 161, 56,
    251, 138, 101, 222, 176, 58,  140, 188, 150, 134, 184, 199, 150, 103, 132, 227, 127, 84,
    235, 100, 100, 210, 45,  112, 175, 48,  120, 161, 67,  126, 111, 63,  130, 206, 63,  118,
    229, 151, 94,  163, 101, 85,  94,  123, 132, 149, 78,  148, 86,  93,  164, 40,  109, 177,
    50,  122, 189, 108, 113, 180, 121, 84,  151, 74,  102, 169, 162, 101, 168, 64,  81,  139,
    154, 126, 192, 127, 145, 203, 91,  162, 213, 111, 178, 225, 81,  148, 214, 53,  109, 175,
    182, 97,  167, 75,  129, 198, 203, 127, 193, 91,  94,  151, 122, 187, 168, 140, 199, 152,
    157, 212, 231, 143, 209, 245, 114, 180, 238, 98,  164, 235, 109, 176, 247, 119, 185, 190,
    107, 175, 199, 54,  103, 152, 183, 203, 97,  188, 216, 100, 189, 230, 237, 153, 219, 244,
    160, 223, 234, 176, 238, 149, 191, 251, 167, 177, 244, 199, 179, 248, 201, 56,  81,  69,
    198, 179, 133, 204, 233, 41,  230, 250, 78,  217, 234, 118, 223, 165, 81,  239, 183, 51,
    214, 226, 140, 208, 182, 120, 167, 119, 177, 27,  4,   10,  116, 140, 39,  230, 161, 68,
    190, 153, 90,  229, 190, 68,  246, 149, 68,  232, 212, 45,  242, 91,  133, 183, 180, 90,
    99,  50,  49,  22,  1,   7,   69,  78,  14,  82,  43,  26,  97,  95,  78,  236, 72,  111,
    164, 84,  130, 130, 65,  132, 195, 52,  118, 185, 41,  88,  30,  23,  40,  3,   8,   13};

START_TEST(the_inside_is_that_of_tensors_too)
{
    uint8_t y[360];
    const picture x = {y, 12, 10, 3};
    int near = 0, count = 0;
    make(4, &x);
    for (int i = 0; i < 360; i++) {
        const int row = i / 30, column = i / 3 % 10;
        const double dx = column - 4.5, dy = row - 5.5;
        if (dx * dx + dy * dy >
            16.0) /* what 30 degrees and shears of a tenth move from within */
            continue;
        near += abs(y[i] - of_tensors[i]) <= 2;
        count++;
    }
    ck_assert_int_eq(near, count);
}
END_TEST

static void settings(int severity, int width, int depth, double alpha, int all)
{
    test_settings_init(&g);
    test_settings_int(&g, "severity", severity);
    test_settings_int(&g, "mixture_width", width);
    test_settings_int(&g, "chain_depth", depth);
    test_settings_float(&g, "alpha", alpha);
    test_settings_bool(&g, "all_ops", all);
    test_settings_enum(&g, "interpolation", "bilinear", WARP_BILINEAR);
    test_settings_int(&g, "fill", 0);
}

/* Whether y is x and `changed` in some shares, rounded down, and between which shares of `changed`; a thousandth for sums of
 * f32. */
static int explains(const uint8_t *x, const uint8_t *y, const uint8_t *changed, double ret[2])
{
    double low = 0.0, high = 1.0;
    for (int i = 0; i < PICTURE_BYTES; i++) {
        const double by = changed[i] - x[i], least = y[i] - x[i] - 1e-3, most = least + 1.002;
        if (changed[i] == x[i] && (least > 0.0 || most < 0.0))
            return 0;
        if (changed[i] == x[i])
            continue;
        low = fmax(low, by > 0.0 ? least / by : most / by);
        high = fmin(high, by > 0.0 ? most / by : least / by);
    }
    ret[0] = low;
    ret[1] = high;
    return low <= high;
}

/* Pictures with each change of each strength and sign; their operations. */
enum { SEVERITY = 2, MOST = 13 * SEVERITY * 2 };
static uint8_t of[MOST][PICTURE_BYTES];
static int ops[MOST];

static int change_all(const uint8_t *x)
{
    const warp_options o = {.filter = WARP_BILINEAR};
    int n = 0;
    for (int op = POLICY_SHEAR_X; op <= POLICY_EQUALIZE; op++)
        for (int k = 0; k < SEVERITY * 2; k++) {
            const picture p = {of[n], PICTURE_H, PICTURE_W, 3};
            const int minus = k % 2 && policy_is_signed((policy_op)op);
            const double v =
                policy_magnitude(&policy_mixed, (policy_op)op, k / 2, MIXTURE_BINS, &p);
            memcpy(of[n], x, PICTURE_BYTES);
            policy_change(&p, (policy_op)op, minus ? -v : v, &o, scratch);
            ops[n++] = op;
        }
    return n;
}

/* One chain of one change: each operation comes, without all_ops those of colours do not, nothing else does, and with alpha
 * 1 the chain's share is uniform. */
START_TEST(changes_and_shares_are_drawn)
{
    enum { DRAWS = 700 };
    static uint8_t x[PICTURE_BYTES], y[PICTURE_BYTES];
    int seen[POLICY_OPS] = {0}, told = 0;
    double mean = 0.0;
    bench_picture(x, PICTURE_H, PICTURE_W, 3);
    for (int i = 0; i < PICTURE_BYTES; i++)
        x[i] = (uint8_t)(10 + x[i] * 23 / 25); /* so that autocontrast has something to do */
    const int n = change_all(x);
    settings(SEVERITY, 1, 1, 1.0, _i);
    for (uint64_t k = 0; k < DRAWS; k++) {
        int found = 0;
        ck_assert_int_eq(picture_changed("aug_mix", &g, x, 3, k, y), 1);
        for (int j = 0; j < n; j++) {
            double share[2];
            if (!explains(x, y, of[j], share))
                continue;
            found = 1;
            if (share[0] < 0.05 || share[1] - share[0] > 0.1)
                continue; /* too little to be told, or no change: the first strength of most */
            seen[ops[j]]++;
            mean += (share[0] + share[1]) / 2.0;
            told++;
            break;
        }
        ck_assert_msg(found, "draw %d is no mixture with one change", (int)k);
    }
    for (int op = POLICY_SHEAR_X; op <= POLICY_EQUALIZE; op++) {
        const int colour = op >= POLICY_BRIGHTNESS && op <= POLICY_SHARPNESS;
        ck_assert_msg(_i || !colour ? seen[op] > 0 : seen[op] == 0, "operation %d: %d", op,
                      seen[op]);
    }
    ck_assert_int_gt(told, DRAWS / 4);
    /* uniform from 0.05 to 1, five standard deviations */
    ck_assert_close(mean / told, 0.525, 5.0 * 0.95 / sqrt(12.0 * told));
}
END_TEST

START_TEST(draws_are_keyed_and_maps_refused)
{
    bench b;
    settings(3, 3, -1, 1.0, 1);
    picture_draws("aug_mix", &g, 0);
    picture_probability("aug_mix", &g);
    bench_open(&b, "aug_mix", &g);
    bench_refuses_maps(&b, "aug_mix");
    subject_close(&b.subject);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("aug_mix");
    TCase *c = tcase_create("aug_mix");
    tcase_add_loop_test(c, bytes_are_those_of_torchvision, 0,
                        (int)(sizeof cases / sizeof *cases));
    tcase_add_test(c, the_inside_is_that_of_tensors_too);
    tcase_add_loop_test(c, changes_and_shares_are_drawn, 0, 2);
    tcase_add_test(c, draws_are_keyed_and_maps_refused);
    suite_add_tcase(suite, c);
    return tutti_run(suite);
}
