/* convnext_test.c - stages and blocks of ConvNeXt. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../model_check.h"

#include "tutti/layer.h"

static easel e;
static test_settings g;

static void settings(void)
{
    static const int64_t depths[4] = {2, 1, 1, 1}, widths[4] = {4, 8, 12, 16};
    test_settings_init(&g);
    test_settings_int(&g, "patch_size", 1);
    test_settings_ints(&g, "depths", depths, 4);
    test_settings_ints(&g, "hidden_sizes", widths, 4);
    test_settings_float(&g, "layer_scale_init_value", 0.5);
    test_settings_float(&g, "drop_path_rate", 0.2);
    test_settings_float(&g, "layer_norm_eps", 1e-12);
    test_settings_null(&g, "num_classes");
}

START_TEST(stages_halve_the_image_and_blocks_drop_more_and_more)
{
    settings();
    ck_assert_ok(easel_open(&e, "convnext", &g), e.err);
    ck_assert_ok(easel_build(&e, TUTTI_F32, 8, 8, 3), e.err);
    const char *text = easel_tree(&e);
    ck_assert_ptr_nonnull(strstr(
        text, "patch_embeddings conv2d in_channels=3 out_channels=4 kernel_size=1 stride=1\n"));
    ck_assert_ptr_nonnull(
        strstr(text, "1 conv2d in_channels=12 out_channels=16 kernel_size=2 stride=2\n"));
    ck_assert_ptr_nonnull(
        strstr(text, "1 convnext_block width=4 layer_scale_init_value=0.5 drop_path=0.05\n"));
    ck_assert_ptr_nonnull(
        strstr(text, "0 convnext_block width=16 layer_scale_init_value=0.5 drop_path=0.2\n"));
    ck_assert_ptr_nonnull(strstr(text, "<2 layernorm layer_norm num_features=16 eps=1e-12\n"));
    ck_assert_ptr_nonnull(
        strstr(text, "<1 classifier linear in_features=16 out_features=10 init=2 std=0.02\n"));
    subject_close(&e.subject);
}
END_TEST

START_TEST(an_image_that_cannot_be_halved_is_refused)
{
    settings();
    ck_assert_ok(easel_open(&e, "convnext", &g), e.err);
    ck_assert_int_eq(easel_build(&e, TUTTI_F32, 8, 7, 3), TUTTI_E_SHAPE);
    ck_assert_error(
        e.err, TUTTI_E_SHAPE,
        "convnext: samples are F32 (8, 7, 3), want (H, W, C) with sides of at least "
        "8 times patch_size, 8");
    subject_close(&e.subject);
}
END_TEST

/* A block by itself: what it emits for (4, 5, 5, 8), and its scales. */
static void block(double scale, double drop, int32_t mode, const char *want)
{
    const tutti_desc shape = {{4, 5, 5, 8}, 4, TUTTI_F32};
    const tutti_value x = 1;
    tutti_value y = 0;
    memset(&e, 0, sizeof e);
    tree_init(&e.tree);
    e.services[0] = (service){TUTTI_MODULE_V1, &e.tree.table};
    test_settings_init(&g);
    test_settings_int(&g, "width", 8);
    test_settings_float(&g, "layer_scale_init_value", scale);
    test_settings_float(&g, "drop_path", drop);
    ck_assert_ok(subject_open(&e.subject, PLUGIN_PATH, TUTTI_KIND_LAYER, "convnext_block", &g,
                              e.services, &e.err),
                 e.err);
    const tutti_layer_v1 *table = subject_query(&e.subject, TUTTI_LAYER_V1);
    ck_assert_ok(table->build(e.subject.self, 1, &e.err), e.err);
    ck_assert_str_eq(easel_tree(&e),
                     "2<1 dwconv conv2d in_channels=8 out_channels=8 kernel_size=7 padding=3 "
                     "groups=8\n"
                     "3<1 layernorm layer_norm num_features=8 eps=1e-06\n"
                     "4<1 pwconv1 linear in_features=8 out_features=32 init=2 std=0.02\n"
                     "5<1 pwconv2 linear in_features=32 out_features=8 init=2 std=0.02\n");
    record_init(&e.record, mode, shape);
    ck_assert_int_eq(table->trace(e.subject.self, &e.record.graph, 1, &x, 1, &y, 1), TUTTI_OK);
    record_add(&e.record, "v%u\n", y);
    ck_assert_str_eq(e.record.text, want);
    subject_close(&e.subject);
}

#define PATH                                                                                   \
    "v2 = module 2(v1)\n"                                                                      \
    "v3 = module 3(v2)\n"                                                                      \
    "v4 = module 4(v3)\n"                                                                      \
    "v5 = gelu(v4)\n"                                                                          \
    "v6 = module 5(v5)\n"

START_TEST(a_block_adds_what_it_scales)
{
    block(0.5, 0.25, TUTTI_MODE_EVAL,
          PATH "v7 = mul(v6, layer_scale_parameter)\nv8 = add(v1, v7)\nv8\n");
    block(0.0, 0.0, TUTTI_MODE_TRAIN, PATH "v7 = add(v1, v6)\nv7\n");
    block(0.0, 0.25, TUTTI_MODE_TRAIN,
          PATH
          "v7 = dropout(constant; p=0.25, stream=1)\nv8 = mul(v6, v7)\nv9 = add(v1, v8)\nv9\n");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("convnext");
    TCase *c = tcase_create("all");
    tcase_add_test(c, stages_halve_the_image_and_blocks_drop_more_and_more);
    tcase_add_test(c, an_image_that_cannot_be_halved_is_refused);
    tcase_add_test(c, a_block_adds_what_it_scales);
    suite_add_tcase(suite, c);
    return tutti_run(suite);
}
