/* resnet_cifar_test.c - stages and blocks of the CIFAR ResNets, and their two shortcuts. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../model_check.h"

#include "tutti/layer.h"

static easel e;
static test_settings g;

static void settings(int64_t depth, int conv)
{
    test_settings_init(&g);
    test_settings_int(&g, "depth", depth);
    test_settings_int(&g, "width", 16);
    test_settings_null(&g, "num_classes");
    test_settings_enum(&g, "shortcut", conv ? "conv" : "pad", conv);
}

START_TEST(depth_20_has_three_stages_of_three_blocks)
{
    settings(20, 0);
    ck_assert_ok(easel_open(&e, "resnet_cifar", &g), e.err);
    ck_assert_ok(easel_build(&e, TUTTI_F32, 32, 32, 3), e.err);
    ck_assert_str_eq(
        easel_tree(&e),
        "2<1 conv conv2d in_channels=3 out_channels=16 kernel_size=3 stride=1 padding=1 bias=0 "
        "init=1\n"
        "3<1 norm batch_norm2d num_features=16\n"
        "4<1 stage1 sequential\n"
        "5<4 block0 residual_block in_channels=16 out_channels=16 stride=1 shortcut=0\n"
        "6<4 block1 residual_block in_channels=16 out_channels=16 stride=1 shortcut=0\n"
        "7<4 block2 residual_block in_channels=16 out_channels=16 stride=1 shortcut=0\n"
        "8<1 stage2 sequential\n"
        "9<8 block0 residual_block in_channels=16 out_channels=32 stride=2 shortcut=0\n"
        "10<8 block1 residual_block in_channels=32 out_channels=32 stride=1 shortcut=0\n"
        "11<8 block2 residual_block in_channels=32 out_channels=32 stride=1 shortcut=0\n"
        "12<1 stage3 sequential\n"
        "13<12 block0 residual_block in_channels=32 out_channels=64 stride=2 shortcut=0\n"
        "14<12 block1 residual_block in_channels=64 out_channels=64 stride=1 shortcut=0\n"
        "15<12 block2 residual_block in_channels=64 out_channels=64 stride=1 shortcut=0\n"
        "16<1 head linear in_features=64 out_features=10\n");
    ck_assert_str_eq(easel_trace(&e), "v2 = module 2(v1)\n"
                                      "v3 = module 3(v2)\n"
                                      "v4 = relu(v3)\n"
                                      "v5 = module 4(v4)\n"
                                      "v6 = module 8(v5)\n"
                                      "v7 = module 12(v6)\n"
                                      "v8 = mean(v7; axes=[1, 2], keepdim=0)\n"
                                      "v9 = module 16(v8)\n"
                                      "v10 = softmax_cross_entropy(v9, v1)\n"
                                      "v11 = sum(v1; axes=[3], keepdim=0)\n"
                                      "v12 = sum(v11; axes=[], keepdim=0)\n"
                                      "v13 = clamp(v12; min=1e-30)\n"
                                      "v14 = sum(v10; axes=[], keepdim=0)\n"
                                      "v15 = div(v14, v13)\n"
                                      "loss v15\n");
    subject_close(&e.subject);
}
END_TEST

START_TEST(a_depth_between_is_refused)
{
    settings(21, 0);
    ck_assert_int_eq(easel_open(&e, "resnet_cifar", &g), TUTTI_E_RANGE);
    ck_assert_error(e.err, TUTTI_E_RANGE,
                    "resnet_cifar: depth is 21, want 6 n + 2, such as 20, 32, 44 or 56");
}
END_TEST

/* A residual_block by itself from `in` to `out` channels: its tree and what it emits. */
static void block(int64_t in, int64_t out, int64_t stride, int conv, const char *tree_text,
                  const char *trace_text)
{
    const tutti_desc shape = {{4, 8, 8, in}, 4, TUTTI_F32};
    const tutti_value x = 1;
    tutti_value y = 0;
    memset(&e, 0, sizeof e);
    tree_init(&e.tree);
    e.services[0] = (service){TUTTI_MODULE_V1, &e.tree.table};
    test_settings_init(&g);
    test_settings_int(&g, "in_channels", in);
    test_settings_int(&g, "out_channels", out);
    test_settings_int(&g, "stride", stride);
    test_settings_enum(&g, "shortcut", conv ? "conv" : "pad", conv);
    ck_assert_ok(subject_open(&e.subject, PLUGIN_PATH, TUTTI_KIND_LAYER, "residual_block", &g,
                              e.services, &e.err),
                 e.err);
    const tutti_layer_v1 *layer = subject_query(&e.subject, TUTTI_LAYER_V1);
    ck_assert_ok(layer->build(e.subject.self, 1, &e.err), e.err);
    ck_assert_str_eq(easel_tree(&e), tree_text);
    record_init(&e.record, TUTTI_MODE_TRAIN, shape);
    ck_assert_int_eq(layer->trace(e.subject.self, &e.record.graph, 1, &x, 1, &y, 1), TUTTI_OK);
    record_add(&e.record, "v%u\n", y);
    ck_assert_str_eq(e.record.text, trace_text);
    subject_close(&e.subject);
}

START_TEST(a_block_adds_its_input)
{
    block(16, 16, 1, 0,
          "2<1 conv1 conv2d in_channels=16 out_channels=16 kernel_size=3 stride=1 padding=1 "
          "bias=0 init=1\n"
          "3<1 norm1 batch_norm2d num_features=16\n"
          "4<1 conv2 conv2d in_channels=16 out_channels=16 kernel_size=3 stride=1 padding=1 "
          "bias=0 init=1\n"
          "5<1 norm2 batch_norm2d num_features=16\n",
          "v2 = module 2(v1)\n"
          "v3 = module 3(v2)\n"
          "v4 = relu(v3)\n"
          "v5 = module 4(v4)\n"
          "v6 = module 5(v5)\n"
          "v7 = add(v6, v1)\n"
          "v8 = relu(v7)\n"
          "v8\n");
}
END_TEST

START_TEST(a_wider_block_skips_pixels_and_pads_channels)
{
    block(16, 32, 2, 0,
          "2<1 conv1 conv2d in_channels=16 out_channels=32 kernel_size=3 stride=2 padding=1 "
          "bias=0 init=1\n"
          "3<1 norm1 batch_norm2d num_features=32\n"
          "4<1 conv2 conv2d in_channels=32 out_channels=32 kernel_size=3 stride=1 padding=1 "
          "bias=0 init=1\n"
          "5<1 norm2 batch_norm2d num_features=32\n",
          "v2 = module 2(v1)\n"
          "v3 = module 3(v2)\n"
          "v4 = relu(v3)\n"
          "v5 = module 4(v4)\n"
          "v6 = module 5(v5)\n"
          "v7 = slice(v1; begin=[0, 0, 0, 0], end=[4, 8, 8, 16], stride=[1, 2, 2, 1])\n"
          "v8 = pad(v7; before=[0, 0, 0, 8], after=[0, 0, 0, 8])\n"
          "v9 = add(v6, v8)\n"
          "v10 = relu(v9)\n"
          "v10\n");
}
END_TEST

START_TEST(a_wider_block_may_project_instead)
{
    block(16, 32, 2, 1,
          "2<1 conv1 conv2d in_channels=16 out_channels=32 kernel_size=3 stride=2 padding=1 "
          "bias=0 init=1\n"
          "3<1 norm1 batch_norm2d num_features=32\n"
          "4<1 conv2 conv2d in_channels=32 out_channels=32 kernel_size=3 stride=1 padding=1 "
          "bias=0 init=1\n"
          "5<1 norm2 batch_norm2d num_features=32\n"
          "6<1 shortcut_conv conv2d in_channels=16 out_channels=32 kernel_size=1 stride=2 "
          "padding=0 bias=0 init=1\n"
          "7<1 shortcut_norm batch_norm2d num_features=32\n",
          "v2 = module 2(v1)\n"
          "v3 = module 3(v2)\n"
          "v4 = relu(v3)\n"
          "v5 = module 4(v4)\n"
          "v6 = module 5(v5)\n"
          "v7 = module 6(v1)\n"
          "v8 = module 7(v7)\n"
          "v9 = add(v6, v8)\n"
          "v10 = relu(v9)\n"
          "v10\n");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("resnet_cifar");
    TCase *c = tcase_create("resnet_cifar");
    tcase_add_test(c, depth_20_has_three_stages_of_three_blocks);
    tcase_add_test(c, a_depth_between_is_refused);
    tcase_add_test(c, a_block_adds_its_input);
    tcase_add_test(c, a_wider_block_skips_pixels_and_pads_channels);
    tcase_add_test(c, a_wider_block_may_project_instead);
    suite_add_tcase(suite, c);
    return tutti_run(suite);
}
