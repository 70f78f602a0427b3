/* vit_test.c - patches, encoder, blocks and attention of the vision transformer. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../model_check.h"

#include "tutti/layer.h"

static easel e;
static test_settings g;

static void settings(int64_t heads)
{
    test_settings_init(&g);
    test_settings_int(&g, "patch_size", 4);
    test_settings_int(&g, "num_layers", 2);
    test_settings_int(&g, "num_heads", heads);
    test_settings_int(&g, "hidden_dim", 24);
    test_settings_null(&g, "mlp_dim");
    test_settings_float(&g, "dropout", 0.0);
    test_settings_null(&g, "num_classes");
    test_settings_float(&g, "layer_norm_eps", 1e-6);
}

START_TEST(an_image_becomes_patches_and_a_token)
{
    settings(3);
    ck_assert_ok(easel_open(&e, "vit", &g), e.err);
    ck_assert_ok(easel_build(&e, TUTTI_F32, 8, 8, 3), e.err);
    ck_assert_str_eq(
        easel_tree(&e),
        "2<1 conv_proj conv2d in_channels=3 out_channels=24 kernel_size=4 stride=4\n"
        "3<1 encoder vit_encoder tokens=5 hidden_dim=24 num_layers=2 num_heads=3 mlp_dim=96 "
        "dropout=0 layer_norm_eps=1e-06\n"
        "4<1 heads sequential\n"
        "5<4 head linear in_features=24 out_features=10 init=2 std=0\n");
    ck_assert_str_eq(e.tree.modules[1].weights[0].name, "class_token");
    ck_assert_str_eq(easel_trace(&e),
                     "v2 = module 2(v1)\n"
                     "v3 = reshape(v2; shape=[4, -1, 24])\n"
                     "v4 = broadcast_to(class_token; shape=[4, 1, 24])\n"
                     "v5 = concat(v4, v3; axis=1)\n"
                     "v6 = module 3(v5)\n"
                     "v7 = slice(v6; begin=[0, 0, 0], end=[4, 1, 24], stride=[1, 1, 1])\n"
                     "v8 = reshape(v7; shape=[4, 24])\n"
                     "v9 = module 4(v8)\n"
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

START_TEST(what_cannot_be_cut_is_refused)
{
    settings(3);
    ck_assert_ok(easel_open(&e, "vit", &g), e.err);
    ck_assert_int_eq(easel_build(&e, TUTTI_F32, 8, 10, 3), TUTTI_E_SHAPE);
    ck_assert_error(e.err, TUTTI_E_SHAPE,
                    "vit: samples are F32 (8, 10, 3), want (H, W, C) with sides that are "
                    "multiples of patch_size 4");
    subject_close(&e.subject);
    settings(5);
    ck_assert_int_eq(easel_open(&e, "vit", &g), TUTTI_E_ARG);
    ck_assert_error(e.err, TUTTI_E_ARG, "vit: hidden_dim 24 does not divide into 5 heads");
}
END_TEST

START_TEST(images_of_another_size_are_refused)
{
    const tutti_desc shape = {{4, 16, 16, 3}, 4, TUTTI_F32};
    const tutti_value in = 1;
    tutti_value out = 0;
    settings(3);
    ck_assert_ok(easel_open(&e, "vit", &g), e.err);
    ck_assert_ok(easel_build(&e, TUTTI_F32, 8, 8, 3), e.err);
    record_init(&e.record, TUTTI_MODE_TRAIN, shape);
    ck_assert_int_eq(e.table->trace(e.subject.self, &e.record.graph, 1, &in, 1, &out, 1),
                     TUTTI_E_SHAPE);
    ck_assert_str_eq(e.record.text,
                     "failed: vit: images are 16 x 16, positions are for 8 x 8\n");
    subject_close(&e.subject);
}
END_TEST

/* A layer by itself: its tree and what it emits for (4, 5, 24). */
static void layer(const char *kind, double dropout, const char *tree_text,
                  const char *trace_text)
{
    const tutti_desc shape = {{4, 5, 24}, 3, TUTTI_F32};
    const tutti_value x = 1;
    tutti_value y = 0;
    memset(&e, 0, sizeof e);
    tree_init(&e.tree);
    e.services[0] = (service){TUTTI_MODULE_V1, &e.tree.table};
    test_settings_init(&g);
    test_settings_int(&g, "tokens", 5);
    test_settings_int(&g, "hidden_dim", 24);
    test_settings_int(&g, "num_layers", 2);
    test_settings_int(&g, "num_heads", 3);
    test_settings_int(&g, "mlp_dim", 96);
    test_settings_float(&g, "dropout", dropout);
    test_settings_float(&g, "layer_norm_eps", 1e-6);
    ck_assert_ok(
        subject_open(&e.subject, PLUGIN_PATH, TUTTI_KIND_LAYER, kind, &g, e.services, &e.err),
        e.err);
    const tutti_layer_v1 *table = subject_query(&e.subject, TUTTI_LAYER_V1);
    ck_assert_ok(table->build(e.subject.self, 1, &e.err), e.err);
    ck_assert_str_eq(easel_tree(&e), tree_text);
    record_init(&e.record, TUTTI_MODE_TRAIN, shape);
    ck_assert_int_eq(table->trace(e.subject.self, &e.record.graph, 1, &x, 1, &y, 1), TUTTI_OK);
    record_add(&e.record, "v%u\n", y);
    ck_assert_str_eq(e.record.text, trace_text);
    subject_close(&e.subject);
}

START_TEST(an_encoder_adds_positions_and_runs_blocks)
{
    layer("vit_encoder", 0.5,
          "2<1 dropout dropout p=0.5\n"
          "3<1 layers sequential\n"
          "4<3 encoder_layer_0 vit_block hidden_dim=24 num_heads=3 mlp_dim=96 dropout=0.5 "
          "layer_norm_eps=1e-06\n"
          "5<3 encoder_layer_1 vit_block hidden_dim=24 num_heads=3 mlp_dim=96 dropout=0.5 "
          "layer_norm_eps=1e-06\n"
          "6<1 ln layer_norm num_features=24 eps=1e-06\n",
          "v2 = add(v1, pos_embedding)\n"
          "v3 = module 2(v2)\n"
          "v4 = module 3(v3)\n"
          "v5 = module 6(v4)\n"
          "v5\n");
}
END_TEST

START_TEST(a_block_normalises_first)
{
    layer("vit_block", 0.0,
          "2<1 ln_1 layer_norm num_features=24 eps=1e-06\n"
          "3<1 self_attention in_proj_attention hidden_dim=24 num_heads=3\n"
          "4<1 ln_2 layer_norm num_features=24 eps=1e-06\n"
          "5<1 mlp sequential\n"
          "6<5 0 linear in_features=24 out_features=96 init=2 std=0.129099\n"
          "7<5 1 gelu\n"
          "8<5 3 linear in_features=96 out_features=24 init=2 std=0.129099\n",
          "v2 = module 2(v1)\n"
          "v3 = module 3(v2)\n"
          "v4 = add(v1, v3)\n"
          "v5 = module 4(v4)\n"
          "v6 = module 5(v5)\n"
          "v7 = add(v4, v6)\n"
          "v7\n");
}
END_TEST

START_TEST(dropout_follows_attention_and_both_products)
{
    layer("vit_block", 0.25,
          "2<1 ln_1 layer_norm num_features=24 eps=1e-06\n"
          "3<1 self_attention in_proj_attention hidden_dim=24 num_heads=3\n"
          "4<1 dropout dropout p=0.25\n"
          "5<1 ln_2 layer_norm num_features=24 eps=1e-06\n"
          "6<1 mlp sequential\n"
          "7<6 0 linear in_features=24 out_features=96 init=2 std=0.129099\n"
          "8<6 1 gelu\n"
          "9<6 2 dropout p=0.25\n"
          "10<6 3 linear in_features=96 out_features=24 init=2 std=0.129099\n"
          "11<6 4 dropout p=0.25\n",
          "v2 = module 2(v1)\n"
          "v3 = module 3(v2)\n"
          "v4 = module 4(v3)\n"
          "v5 = add(v1, v4)\n"
          "v6 = module 5(v5)\n"
          "v7 = module 6(v6)\n"
          "v8 = add(v5, v7)\n"
          "v8\n");
}
END_TEST

START_TEST(attention_has_the_weights_of_pytorchs)
{
    layer("in_proj_attention", 0.0, "2<1 out_proj linear in_features=24 out_features=24\n",
          "v2 = matmul(v1, in_proj_weight, in_proj_bias; transpose_a=0, transpose_b=1)\n"
          "v3 = reshape(v2; shape=[4, 5, 3, 3, 8])\n"
          "v4 = sdpa_packed(v3; causal=0)\n"
          "v5 = reshape(v4; shape=[4, 5, 24])\n"
          "v6 = module 2(v5)\n"
          "v6\n");
    const tree_weight *w = e.tree.modules[1].weights;
    const tutti_desc want = {{72, 24}, 2, TUTTI_F32};
    ck_assert(tutti_same_shape(&w[0].desc, &want));
    ck_assert_close(w[0].init.b, 0.25, 1e-12); /* sqrt(6 / (24 + 72)) */
    ck_assert_close(w[1].init.a, 0, 0);
}
END_TEST

START_TEST(a_class_for_each_pixel_has_a_head_at_each_place)
{
    settings(3);
    ck_assert_ok(easel_open(&e, "vit", &g), e.err);
    ck_assert_ok(easel_build_map(&e, 8, 12, 8, 12), e.err);
    const char *text = easel_tree(&e);
    ck_assert_ptr_nonnull(strstr(text, "head linear in_features=24 out_features=4"));
    ck_assert_ptr_nonnull(strstr(text, "<1 up upsample2d scale_factor=4 mode=1\n"));
    ck_assert_ptr_null(strstr(text, "global_avg_pool"));
    subject_close(&e.subject);
    ck_assert_ok(easel_open(&e, "vit", &g), e.err);
    ck_assert_int_eq(easel_build_map(&e, 8, 8, 4, 4), TUTTI_E_SHAPE);
    ck_assert_str_eq(
        e.err.text,
        "vit: samples are F32 (8, 8, 3) and targets I32 (4, 4), want a class for each pixel");
    subject_close(&e.subject);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("vit");
    TCase *c = tcase_create("vit");
    tcase_add_test(c, an_image_becomes_patches_and_a_token);
    tcase_add_test(c, what_cannot_be_cut_is_refused);
    tcase_add_test(c, images_of_another_size_are_refused);
    tcase_add_test(c, a_class_for_each_pixel_has_a_head_at_each_place);
    tcase_add_test(c, an_encoder_adds_positions_and_runs_blocks);
    tcase_add_test(c, a_block_normalises_first);
    tcase_add_test(c, dropout_follows_attention_and_both_products);
    tcase_add_test(c, attention_has_the_weights_of_pytorchs);
    suite_add_tcase(suite, c);
    return tutti_run(suite);
}
