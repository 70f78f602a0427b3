/* layer_freezing_test.c - how many layers are frozen at each time, and which. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../algorithm_check.h"
#include "layer_check.h"

enum { LAYERS = 6 };

static run r;
static tree t;
static subject s;
static tutti_error err;
static tutti_module layers[LAYERS];

/* body(conv0, act, conv1, norm), head(conv2, conv3), last: six layers, one of buffers alone. */
static void start(double begin, double level)
{
    static const char *const paths[] = {"conv0.weight",      "conv0.bias",   "conv1.weight",
                                        "norm.running_mean", "conv2.weight", "conv3.weight",
                                        "last.weight"};
    static const char *const names[] = {"conv0", "act",   "conv1", "norm",
                                        "head",  "conv2", "conv3", "last"};
    static float numbers[2], grads[2];
    test_settings g;
    test_settings_init(&g);
    test_settings_float(&g, "freeze_start", begin);
    test_settings_float(&g, "freeze_level", level);
    memset(&err, 0, sizeof err);
    run_init(&r);
    tree_init(&t);
    uint32_t n = 0;
    tutti_module head = 0;
    for (int k = 0; k < 8; k++) {
        const tutti_module m = tree_new(&t, "layer");
        ck_assert_ok(tree_add(&t, k == 5 || k == 6 ? head : 1, names[k], m, &err), err);
        head = k == 4 ? m : head;
        if (k != 1 && k != 4)
            layers[n++] = m;
    }
    for (int k = 0; k < 7; k++)
        run_weight(&r, paths[k], shape(TUTTI_F32, 2), numbers,
                   strchr(paths[k], '_') ? NULL : grads);
    run_service(&r, TUTTI_MODULE_V1, &t.table);
    ck_assert_ok(subject_open(&s, PLUGIN_PATH, TUTTI_KIND_ALGORITHM, "layer_freezing", &g,
                              r.services, &err),
                 err);
}

/* 0.5 to 1 and a level of 1: at 0.72 the share is 0.44 and of 5 layers 2 are frozen. */
START_TEST(more_and_more_layers_are_frozen_but_never_the_last)
{
    static const double elapsed[] = {0.3, 0.5, 0.55, 0.72, 0.92, 1.0, 1.0};
    static const double begin[] = {0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 1.0};
    static const int depth[] = {0, 0, 0, 2, 4, 5, 0};
    static const double share[] = {0.0, 0.0, 0.1, 0.44, 0.84, 1.0, 0.0};
    start(begin[_i], 1.0);
    r.elapsed = elapsed[_i];
    ck_assert_int_eq(run_event(&r, &s, TUTTI_EVENT_BATCH_END, &err), 0);
    ck_assert_int_eq(run_event(&r, &s, TUTTI_EVENT_EPOCH_END, &err), 1);
    ck_assert_str_eq(err.text, "");
    for (int k = 0; k < LAYERS; k++)
        ck_assert_int_eq(t.modules[layers[k]].frozen, k < depth[_i]);
    ck_assert_uint_eq(r.nlogged, 2);
    ck_assert_str_eq(r.logged[0].name, "layer_freezing/layers_frozen");
    ck_assert_close(r.logged[0].value, depth[_i], 0.0);
    ck_assert_str_eq(r.logged[1].name, "layer_freezing/percentage_frozen");
    ck_assert_close(r.logged[1].value, share[_i], 1e-12);
    subject_close(&s);
}
END_TEST

START_TEST(the_level_is_the_share_at_the_end)
{
    start(0.0, 0.5);
    r.elapsed = 1.0;
    ck_assert_int_eq(run_event(&r, &s, TUTTI_EVENT_EPOCH_END, &err), 1);
    for (int k = 0; k < LAYERS; k++)
        ck_assert_int_eq(t.modules[layers[k]].frozen, k < 2); /* of 2.5 */
    subject_close(&s);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("layer_freezing");
    TCase *c = tcase_create("all");
    tcase_add_loop_test(c, more_and_more_layers_are_frozen_but_never_the_last, 0, 7);
    tcase_add_test(c, the_level_is_the_share_at_the_end);
    suite_add_tcase(suite, c);
    return tutti_run(suite);
}
