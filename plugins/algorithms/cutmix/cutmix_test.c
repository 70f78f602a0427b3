/* cutmix_test.c - boxes, targets and losses taken from the same permutation in the same share. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../algorithm_check.h"

enum { B = 6, H = 8, W = 10, C = 2, CLASSES = 3, IMAGE = H * W * C };

static run r;
static subject s;
static tutti_error err;
static float x[B * IMAGE], outputs[B * CLASSES];
static int32_t labels[B], dense[B * H * W];

/* Image b holds b everywhere, so a pixel tells whose it is. */
static void start(double alpha, int interpolate, int uniform)
{
    test_settings g;
    test_settings_init(&g);
    test_settings_float(&g, "alpha", alpha);
    test_settings_bool(&g, "interpolate_loss", interpolate);
    test_settings_bool(&g, "uniform_sampling", uniform);
    memset(&err, 0, sizeof err);
    run_init(&r);
    run_kernels(&r);
    for (int k = 0; k < B * IMAGE; k++)
        x[k] = (float)(k / IMAGE);
    for (int k = 0; k < B * H * W; k++)
        dense[k] = k / (H * W);
    for (int k = 0; k < B; k++)
        labels[k] = k % CLASSES;
    run_column(&r, "input", shape(TUTTI_F32, B, H, W, C), x);
    run_column(&r, "target", shape(TUTTI_I32, B), labels);
    run_column(&r, "outputs", shape(TUTTI_F32, B, CLASSES), outputs);
    ck_assert_ok(
        subject_open(&s, PLUGIN_PATH, TUTTI_KIND_ALGORITHM, "cutmix", &g, r.services, &err),
        err);
}

/* The input as it is now. */
static const float *input(void)
{
    return r.columns[0].data;
}

static void event(int32_t id, int32_t matches)
{
    ck_assert_int_eq(run_event(&r, &s, id, &err), matches);
    ck_assert_str_eq(err.text, "");
}

/* Whose box image b has (itself: none to be seen), and how many pixels it has. */
static int mixed_with(int b, int *ret_pixels)
{
    int whose = b, pixels = 0;
    for (int k = 0; k < H * W; k++) {
        const int is = (int)input()[b * IMAGE + k * C];
        ck_assert_int_eq((int)input()[b * IMAGE + k * C + 1], is);
        if (is != b) {
            ck_assert(whose == b || whose == is);
            whose = is;
            pixels++;
        }
    }
    *ret_pixels = pixels;
    return whose;
}

/* The same box for all images, its pixels those of the sample that it is mixed with. */
static double box_share(int *perm)
{
    int pixels = 0;
    for (int b = 0; b < B; b++) {
        int n;
        perm[b] = mixed_with(b, &n);
        ck_assert(perm[b] == b || pixels == 0 || n == pixels);
        pixels = n ? n : pixels;
    }
    return (double)pixels / (H * W);
}

START_TEST(inputs_and_targets_have_the_same_permutation_and_share)
{
    int perm[B];
    start(1.0, 0, _i % 2);
    r.time.batch = _i;
    event(TUTTI_EVENT_BEFORE_FORWARD, 1);
    event(TUTTI_EVENT_BEFORE_LOSS, 1);
    event(TUTTI_EVENT_BEFORE_BACKWARD, 0);
    const double m = box_share(perm);
    const tutti_tensor *y = &r.columns[1];
    if (m > 0.0) {
        ck_assert(tutti_same_shape(&y->desc, &r.columns[RUN_COLUMNS].desc));
        for (int k = 0; k < B * CLASSES; k++) {
            const int b = k / CLASSES, c = k % CLASSES;
            ck_assert_close(((const float *)y->data)[k],
                            (1.0 - m) * (labels[b] == c) + m * (labels[perm[b]] == c), 1e-6);
        }
    }
    subject_close(&s);
}
END_TEST

START_TEST(losses_are_blended_instead_when_asked)
{
    int perm[B];
    start(1.0, 1, 0);
    r.time.batch = 3;
    event(TUTTI_EVENT_BEFORE_FORWARD, 1);
    event(TUTTI_EVENT_BEFORE_LOSS, 0);
    event(TUTTI_EVENT_BEFORE_BACKWARD, 1);
    const double m = box_share(perm);
    ck_assert(m > 0.0);
    ck_assert_close(r.mixed.weight, m, 1e-12);
    ck_assert_ptr_eq(r.columns[1].data, labels);
    for (int b = 0; b < B; b++)
        ck_assert_int_eq(r.mixed.data[b], labels[perm[b]]);
    subject_close(&s);
}
END_TEST

START_TEST(targets_for_every_pixel_are_cut_like_the_images)
{
    start(1.0, 0, 0);
    r.columns[1] = (tutti_tensor){dense, shape(TUTTI_I32, B, H, W), TUTTI_DEVICE_CPU, 0};
    r.time.batch = 3;
    event(TUTTI_EVENT_BEFORE_FORWARD, 1);
    event(TUTTI_EVENT_BEFORE_LOSS, 1);
    for (int k = 0; k < B * H * W; k++)
        ck_assert_int_eq(((const int32_t *)r.columns[1].data)[k], (int)input()[k * C]);
    subject_close(&s);
    start(1.0, 1, 0);
    r.columns[1] = (tutti_tensor){dense, shape(TUTTI_I32, B, H, W), TUTTI_DEVICE_CPU, 0};
    r.time.batch = 3;
    event(TUTTI_EVENT_BEFORE_FORWARD, 1);
    (void)run_event(&r, &s, TUTTI_EVENT_BEFORE_BACKWARD, &err);
    ck_assert_error(err, TUTTI_E_UNSUPPORTED,
                    "cutmix: targets for every pixel cannot go with interpolate_loss");
    subject_close(&s);
}
END_TEST

/* With alpha 0 the box is as large as the image, its centre in it: at least a quarter is replaced. */
START_TEST(alpha_0_takes_the_largest_box)
{
    int perm[B];
    start(0.0, 0, 0);
    event(TUTTI_EVENT_BEFORE_FORWARD, 1);
    ck_assert_double_ge(box_share(perm), 0.25);
    subject_close(&s);
}
END_TEST

START_TEST(draws_depend_on_seed_batch_and_microbatch_alone)
{
    static float got[5][B * IMAGE];
    for (int k = 0; k < 5; k++) {
        start(1.0, 0, 0);
        r.seed = k == 1 ? 18 : 17;
        r.time.batch = k == 2 ? 5 : 4;
        r.microbatch = k == 3;
        event(TUTTI_EVENT_BEFORE_FORWARD, 1);
        memcpy(got[k], input(), sizeof x);
        subject_close(&s);
    }
    for (int k = 1; k < 4; k++)
        ck_assert_mem_ne(got[k], got[0], sizeof x);
    ck_assert_mem_eq(got[4], got[0], sizeof x);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cutmix");
    TCase *t = tcase_create("all");
    tcase_add_loop_test(t, inputs_and_targets_have_the_same_permutation_and_share, 0, 12);
    tcase_add_test(t, losses_are_blended_instead_when_asked);
    tcase_add_test(t, targets_for_every_pixel_are_cut_like_the_images);
    tcase_add_test(t, alpha_0_takes_the_largest_box);
    tcase_add_test(t, draws_depend_on_seed_batch_and_microbatch_alone);
    suite_add_tcase(suite, t);
    return tutti_run(suite);
}
