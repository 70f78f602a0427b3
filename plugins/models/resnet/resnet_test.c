/* resnet_test.c - stages, blocks and stems of the ImageNet ResNets. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../model_check.h"

#include "tutti/layer.h"

static easel e;
static test_settings g;

static void settings(int64_t depth, int small)
{
    test_settings_init(&g);
    test_settings_int(&g, "depth", depth);
    test_settings_int(&g, "width", 64);
    test_settings_null(&g, "num_classes");
    test_settings_bool(&g, "zero_init_residual", small);
    test_settings_enum(&g, "stem", small ? "cifar" : "imagenet", small);
}

START_TEST(depth_50_has_sixteen_bottlenecks)
{
    settings(50, 0);
    ck_assert_ok(easel_open(&e, "resnet", &g), e.err);
    ck_assert_ok(easel_build(&e, TUTTI_F32, 224, 224, 3), e.err);
    ck_assert_str_eq(
        easel_tree(&e),
        "2<1 conv1 conv2d in_channels=3 out_channels=64 kernel_size=7 stride=2 padding=3 "
        "bias=0 init=1\n"
        "3<1 bn1 batch_norm2d num_features=64\n"
        "4<1 maxpool max_pool2d kernel_size=3 stride=2 padding=1\n"
        "5<1 layer1 sequential\n"
        "6<5 0 bottleneck_block in_channels=64 width=64 stride=1 zero_init=0\n"
        "7<5 1 bottleneck_block in_channels=256 width=64 stride=1 zero_init=0\n"
        "8<5 2 bottleneck_block in_channels=256 width=64 stride=1 zero_init=0\n"
        "9<1 layer2 sequential\n"
        "10<9 0 bottleneck_block in_channels=256 width=128 stride=2 zero_init=0\n"
        "11<9 1 bottleneck_block in_channels=512 width=128 stride=1 zero_init=0\n"
        "12<9 2 bottleneck_block in_channels=512 width=128 stride=1 zero_init=0\n"
        "13<9 3 bottleneck_block in_channels=512 width=128 stride=1 zero_init=0\n"
        "14<1 layer3 sequential\n"
        "15<14 0 bottleneck_block in_channels=512 width=256 stride=2 zero_init=0\n"
        "16<14 1 bottleneck_block in_channels=1024 width=256 stride=1 zero_init=0\n"
        "17<14 2 bottleneck_block in_channels=1024 width=256 stride=1 zero_init=0\n"
        "18<14 3 bottleneck_block in_channels=1024 width=256 stride=1 zero_init=0\n"
        "19<14 4 bottleneck_block in_channels=1024 width=256 stride=1 zero_init=0\n"
        "20<14 5 bottleneck_block in_channels=1024 width=256 stride=1 zero_init=0\n"
        "21<1 layer4 sequential\n"
        "22<21 0 bottleneck_block in_channels=1024 width=512 stride=2 zero_init=0\n"
        "23<21 1 bottleneck_block in_channels=2048 width=512 stride=1 zero_init=0\n"
        "24<21 2 bottleneck_block in_channels=2048 width=512 stride=1 zero_init=0\n"
        "25<1 fc linear in_features=2048 out_features=10\n");
    ck_assert_str_eq(easel_trace(&e), "v2 = module 2(v1)\n"
                                      "v3 = module 3(v2)\n"
                                      "v4 = relu(v3)\n"
                                      "v5 = module 4(v4)\n"
                                      "v6 = module 5(v5)\n"
                                      "v7 = module 9(v6)\n"
                                      "v8 = module 14(v7)\n"
                                      "v9 = module 21(v8)\n"
                                      "v10 = mean(v9; axes=[1, 2], keepdim=0)\n"
                                      "v11 = module 25(v10)\n"
                                      "v12 = softmax_cross_entropy(v11, v1)\n"
                                      "v13 = sum(v1; axes=[3], keepdim=0)\n"
                                      "v14 = sum(v13; axes=[], keepdim=0)\n"
                                      "v15 = clamp(v14; min=1e-30)\n"
                                      "v16 = sum(v12; axes=[], keepdim=0)\n"
                                      "v17 = div(v16, v15)\n"
                                      "loss v17\n");
    subject_close(&e.subject);
}
END_TEST

START_TEST(depth_18_for_small_images_keeps_their_size)
{
    settings(18, 1);
    ck_assert_ok(easel_open(&e, "resnet", &g), e.err);
    ck_assert_ok(easel_build(&e, TUTTI_F32, 32, 32, 3), e.err);
    ck_assert_str_eq(
        easel_tree(&e),
        "2<1 conv1 conv2d in_channels=3 out_channels=64 kernel_size=3 stride=1 padding=1 "
        "bias=0 init=1\n"
        "3<1 bn1 batch_norm2d num_features=64\n"
        "4<1 layer1 sequential\n"
        "5<4 0 basic_block in_channels=64 width=64 stride=1 zero_init=1\n"
        "6<4 1 basic_block in_channels=64 width=64 stride=1 zero_init=1\n"
        "7<1 layer2 sequential\n"
        "8<7 0 basic_block in_channels=64 width=128 stride=2 zero_init=1\n"
        "9<7 1 basic_block in_channels=128 width=128 stride=1 zero_init=1\n"
        "10<1 layer3 sequential\n"
        "11<10 0 basic_block in_channels=128 width=256 stride=2 zero_init=1\n"
        "12<10 1 basic_block in_channels=256 width=256 stride=1 zero_init=1\n"
        "13<1 layer4 sequential\n"
        "14<13 0 basic_block in_channels=256 width=512 stride=2 zero_init=1\n"
        "15<13 1 basic_block in_channels=512 width=512 stride=1 zero_init=1\n"
        "16<1 fc linear in_features=512 out_features=10\n");
    ck_assert_ptr_nonnull(strstr(easel_trace(&e), "v4 = relu(v3)\nv5 = module 4(v4)\n"));
    subject_close(&e.subject);
}
END_TEST

START_TEST(a_depth_between_is_refused)
{
    settings(20, 0);
    ck_assert_int_eq(easel_open(&e, "resnet", &g), TUTTI_E_RANGE);
    ck_assert_error(e.err, TUTTI_E_RANGE, "resnet: depth is 20, want 18, 34, 50, 101 or 152");
}
END_TEST

/* A block by itself: its tree and what it emits. */
static void block(const char *kind, int64_t in, int64_t width, int64_t stride, int zero,
                  const char *tree_text, const char *trace_text)
{
    const tutti_desc shape = {{4, 8, 8, in}, 4, TUTTI_F32};
    const tutti_value x = 1;
    tutti_value y = 0;
    memset(&e, 0, sizeof e);
    tree_init(&e.tree);
    e.services[0] = (service){TUTTI_MODULE_V1, &e.tree.table};
    test_settings_init(&g);
    test_settings_int(&g, "in_channels", in);
    test_settings_int(&g, "width", width);
    test_settings_int(&g, "stride", stride);
    test_settings_bool(&g, "zero_init", zero);
    ck_assert_ok(
        subject_open(&e.subject, PLUGIN_PATH, TUTTI_KIND_LAYER, kind, &g, e.services, &e.err),
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

START_TEST(a_basic_block_adds_its_input)
{
    block("basic_block", 64, 64, 1, 1,
          "2<1 conv1 conv2d in_channels=64 out_channels=64 kernel_size=3 stride=1 padding=1 "
          "bias=0 init=1\n"
          "3<1 bn1 batch_norm2d num_features=64\n"
          "4<1 conv2 conv2d in_channels=64 out_channels=64 kernel_size=3 stride=1 padding=1 "
          "bias=0 init=1\n"
          "5<1 bn2 batch_norm2d num_features=64 init=1\n",
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

START_TEST(a_bottleneck_steps_in_its_middle)
{
    block("bottleneck_block", 256, 128, 2, 0,
          "2<1 conv1 conv2d in_channels=256 out_channels=128 kernel_size=1 stride=1 padding=0 "
          "bias=0 init=1\n"
          "3<1 bn1 batch_norm2d num_features=128\n"
          "4<1 conv2 conv2d in_channels=128 out_channels=128 kernel_size=3 stride=2 padding=1 "
          "bias=0 init=1\n"
          "5<1 bn2 batch_norm2d num_features=128\n"
          "6<1 conv3 conv2d in_channels=128 out_channels=512 kernel_size=1 stride=1 padding=0 "
          "bias=0 init=1\n"
          "7<1 bn3 batch_norm2d num_features=512 init=0\n"
          "8<1 downsample sequential\n"
          "9<8 0 conv2d in_channels=256 out_channels=512 kernel_size=1 stride=2 padding=0 "
          "bias=0 init=1\n"
          "10<8 1 batch_norm2d num_features=512\n",
          "v2 = module 2(v1)\n"
          "v3 = module 3(v2)\n"
          "v4 = relu(v3)\n"
          "v5 = module 4(v4)\n"
          "v6 = module 5(v5)\n"
          "v7 = relu(v6)\n"
          "v8 = module 6(v7)\n"
          "v9 = module 7(v8)\n"
          "v10 = module 8(v1)\n"
          "v11 = add(v9, v10)\n"
          "v12 = relu(v11)\n"
          "v12\n");
}
END_TEST

START_TEST(the_first_bottleneck_projects_without_a_step)
{
    block("bottleneck_block", 64, 64, 1, 0,
          "2<1 conv1 conv2d in_channels=64 out_channels=64 kernel_size=1 stride=1 padding=0 "
          "bias=0 init=1\n"
          "3<1 bn1 batch_norm2d num_features=64\n"
          "4<1 conv2 conv2d in_channels=64 out_channels=64 kernel_size=3 stride=1 padding=1 "
          "bias=0 init=1\n"
          "5<1 bn2 batch_norm2d num_features=64\n"
          "6<1 conv3 conv2d in_channels=64 out_channels=256 kernel_size=1 stride=1 padding=0 "
          "bias=0 init=1\n"
          "7<1 bn3 batch_norm2d num_features=256 init=0\n"
          "8<1 downsample sequential\n"
          "9<8 0 conv2d in_channels=64 out_channels=256 kernel_size=1 stride=1 padding=0 "
          "bias=0 init=1\n"
          "10<8 1 batch_norm2d num_features=256\n",
          "v2 = module 2(v1)\n"
          "v3 = module 3(v2)\n"
          "v4 = relu(v3)\n"
          "v5 = module 4(v4)\n"
          "v6 = module 5(v5)\n"
          "v7 = relu(v6)\n"
          "v8 = module 6(v7)\n"
          "v9 = module 7(v8)\n"
          "v10 = module 8(v1)\n"
          "v11 = add(v9, v10)\n"
          "v12 = relu(v11)\n"
          "v12\n");
}
END_TEST

START_TEST(a_class_for_each_pixel_has_a_head_at_each_place)
{
    settings(18, 1);
    ck_assert_ok(easel_open(&e, "resnet", &g), e.err);
    ck_assert_ok(easel_build_map(&e, 16, 24, 16, 24), e.err);
    const char *text = easel_tree(&e);
    ck_assert_ptr_nonnull(strstr(text, "<1 fc linear in_features=512 out_features=4\n"));
    ck_assert_ptr_nonnull(strstr(text, "<1 up upsample2d scale_factor=8 mode=1\n"));
    ck_assert_ptr_null(strstr(text, "global_avg_pool"));
    subject_close(&e.subject);
    ck_assert_ok(easel_open(&e, "resnet", &g), e.err);
    ck_assert_int_eq(easel_build_map(&e, 16, 16, 8, 16), TUTTI_E_SHAPE);
    ck_assert_str_eq(e.err.text, "resnet: samples are F32 (16, 16, 3) and targets I32 (8, 16), "
                                 "want a class for each pixel");
    subject_close(&e.subject);
    ck_assert_ok(easel_open(&e, "resnet", &g), e.err);
    ck_assert_int_eq(easel_build_map(&e, 16, 12, 16, 12), TUTTI_E_SHAPE);
    ck_assert_str_eq(e.err.text,
                     "resnet: samples are F32 (16, 12, 3), want sides that are multiples of 8: "
                     "its features are so much smaller, and there is a class for each pixel");
    subject_close(&e.subject);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("resnet");
    TCase *c = tcase_create("resnet");
    tcase_add_test(c, depth_50_has_sixteen_bottlenecks);
    tcase_add_test(c, depth_18_for_small_images_keeps_their_size);
    tcase_add_test(c, a_depth_between_is_refused);
    tcase_add_test(c, a_class_for_each_pixel_has_a_head_at_each_place);
    tcase_add_test(c, a_basic_block_adds_its_input);
    tcase_add_test(c, a_bottleneck_steps_in_its_middle);
    tcase_add_test(c, the_first_bottleneck_projects_without_a_step);
    suite_add_tcase(suite, c);
    return tutti_run(suite);
}
