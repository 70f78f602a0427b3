/* blurpool_test.c - which layers are replaced, by what, and what the new ones compute. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "layer_check.h"

#include "tutti/log.h"
#include "tutti/metrics.h"

#include <stdio.h>

static tree t;
static record r;
static subject s;
static test_settings g;
static tutti_error err;
static char told[512];

static void write_log(void *ctx, int32_t level, const char *text)
{
    const size_t used = strlen(told);
    (void)ctx;
    (void)snprintf(told + used, sizeof told - used, "[%d] %s\n", level, text);
}

static void hyperparameter(void *ctx, const char *name, const char *json)
{
    const size_t used = strlen(told);
    (void)ctx;
    (void)snprintf(told + used, sizeof told - used, "%s=%s\n", name, json);
}

static const tutti_log_v1 log_table = {.struct_size = sizeof log_table, .write = write_log};
static const tutti_metrics_v1 metrics_table = {.struct_size = sizeof metrics_table,
                                               .hyperparameter = hyperparameter};
static service services[] = {{TUTTI_MODULE_V1, &t.table},
                             {TUTTI_LOG_V1, &log_table},
                             {TUTTI_METRICS_V1, &metrics_table},
                             {NULL, NULL}};

static tutti_module add_conv(int64_t channels, int64_t stride, int bias)
{
    const tutti_attr attr[] = {tutti_attr_i("in_channels", channels),
                               tutti_attr_i("out_channels", 32),
                               tutti_attr_i("kernel_size", 3),
                               tutti_attr_i("stride", stride),
                               tutti_attr_i("padding", 1),
                               tutti_attr_i("dilation", 1),
                               tutti_attr_i("groups", 1),
                               tutti_attr_i("bias", bias)};
    tutti_module m;
    ck_assert_ok(tree_create(&t, "conv2d", attr, 8, &m, &err), err);
    ck_assert_ok(tree_add(&t, 1, "conv", m, &err), err);
    return m;
}

static tutti_module add_pool(int64_t stride)
{
    const tutti_attr attr[] = {tutti_attr_i("kernel_size", 2), tutti_attr_i("padding", 0)};
    tutti_module m;
    ck_assert_ok(tree_create(&t, "max_pool2d", attr, 2, &m, &err), err);
    if (stride)
        test_settings_int(&t.modules[m].given, "stride", stride);
    else
        test_settings_null(&t.modules[m].given, "stride");
    ck_assert_ok(tree_add(&t, 1, "pool", m, &err), err);
    return m;
}

static void settings(int convs, int pools, int first)
{
    test_settings_init(&g);
    test_settings_bool(&g, "replace_convs", convs);
    test_settings_bool(&g, "replace_maxpools", pools);
    test_settings_bool(&g, "blur_first", first);
    test_settings_int(&g, "min_channels", 16);
    memset(&err, 0, sizeof err);
    told[0] = '\0';
}

/* Runs the algorithm on init. */
static void replace(void)
{
    const tutti_timestamp time = {.struct_size = sizeof time};
    const tutti_event init = {sizeof init, TUTTI_EVENT_INIT, "init", 0, &time, &time};
    const tutti_event start = {sizeof start, TUTTI_EVENT_FIT_START, "fit_start", 0, &time,
                               &time};
    int64_t exit_code = TUTTI_EXIT_NONE;
    ck_assert_ok(
        subject_open(&s, PLUGIN_PATH, TUTTI_KIND_ALGORITHM, "blurpool", &g, services, &err),
        err);
    ck_assert_int_eq(s.calls->match(s.self, &start), 0);
    ck_assert_int_eq(s.calls->match(s.self, &init), 1);
    ck_assert_ok(s.calls->apply(s.self, &init, &exit_code, &err), err);
    subject_close(&s);
}

START_TEST(strided_wide_convolutions_and_max_pools_are_replaced)
{
    settings(1, 1, 0);
    tree_init(&t);
    const tutti_module wide = add_conv(16, 2, 1), plain = add_conv(16, 1, 1);
    const tutti_module narrow = add_conv(15, 2, 1), pool = add_pool(0), stepped = add_pool(1);
    const tutti_module bare = add_conv(64, 4, 0);
    replace();
    ck_assert_str_eq(told, "blurpool/num_blurpool_layers=2\nblurpool/num_blurconv_layers=2\n"
                           "[1] blurpool replaced 2 convolutions and 2 max poolings\n");
    ck_assert_uint_eq(t.modules[plain].parent, 1);
    ck_assert_uint_eq(t.modules[narrow].parent, 1);
    const tutti_module around = t.modules[wide].parent;
    ck_assert_str_eq(t.modules[around].kind, "blur_conv2d");
    ck_assert_uint_eq(t.modules[around].parent, 1);
    ck_assert_int_eq(tutti_param_i64(&t.modules[around].given.params, "stride"), 2);
    ck_assert_int_eq(tutti_param_i64(&t.modules[around].given.params, "first"), 0);
    ck_assert_str_eq(t.modules[wide].name, "conv");
    ck_assert_uint_eq(t.modules[wide].rebuilt, 1); /* at every pixel: the blur skips them */
    ck_assert_int_eq(tutti_param_i64(&t.modules[wide].given.params, "stride"), 1);
    ck_assert_int_eq(tutti_param_i64(&t.modules[bare].given.params, "stride"), 1);
    const tree_module *pooled = &t.modules[t.modules[pool].parent];
    ck_assert_str_eq(pooled->kind, "blur_max_pool2d");
    ck_assert_int_eq(tutti_param_i64(&pooled->given.params, "stride"), 2); /* its window */
    ck_assert_int_eq(tutti_param_i64(&t.modules[pool].given.params, "stride"), 1);
    pooled = &t.modules[t.modules[stepped].parent];
    ck_assert_int_eq(tutti_param_i64(&pooled->given.params, "stride"), 1);

    told[0] = '\0'; /* twice is once */
    replace();
    ck_assert_str_eq(told, "blurpool/num_blurpool_layers=0\nblurpool/num_blurconv_layers=0\n"
                           "[2] blurpool has no effect: the model has no layer that it "
                           "replaces\n");
}
END_TEST

START_TEST(each_sort_can_be_left_alone)
{
    settings(_i == 0, _i == 1, 1);
    tree_init(&t);
    const tutti_module conv = add_conv(16, 2, 1), pool = add_pool(2);
    replace();
    ck_assert_int_eq(t.modules[conv].parent != 1, _i == 0);
    ck_assert_int_eq(t.modules[pool].parent != 1, _i == 1);
    ck_assert_uint_eq(t.modules[conv].rebuilt, 0); /* the blur comes first */
}
END_TEST

START_TEST(nothing_to_replace_is_refused)
{
    settings(0, 0, 1);
    ck_assert_open_refused(PLUGIN_PATH, TUTTI_KIND_ALGORITHM, "blurpool", &g, TUTTI_E_ARG,
                           "blurpool: replace_convs and replace_maxpools are both false, want "
                           "one of them true");
}
END_TEST

static void emits(const char *kind, const char *want)
{
    const tutti_desc shape = {{2, 8, 8, 16}, 4, TUTTI_F32};
    const tutti_value in = 1;
    tutti_value out = 0;
    memset(&err, 0, sizeof err);
    ck_assert_ok(subject_open(&s, PLUGIN_PATH, TUTTI_KIND_LAYER, kind, &g, services, &err),
                 err);
    const tutti_layer_v1 *layer = subject_query(&s, TUTTI_LAYER_V1);
    tree_init(&t);
    const tutti_module m = tree_new(&t, kind), inner = tree_new(&t, "inner");
    ck_assert_ok(tree_add(&t, m, "inner", inner, &err), err);
    ck_assert_ok(layer->build(s.self, m, &err), err);
    record_init(&r, TUTTI_MODE_TRAIN, shape);
    ck_assert_int_eq(layer->trace(s.self, &r.graph, m, &in, 1, &out, 1), TUTTI_OK);
    record_add(&r, "v%u\n", out);
    ck_assert_str_eq(r.text, want);
    subject_close(&s);

    const tutti_desc filter = {{16, 3, 3, 1}, 4, TUTTI_F32};
    ck_assert(tutti_same_shape(&r.constant_desc, &filter));
    static const double k[9] = {1, 2, 1, 2, 4, 2, 1, 2, 1};
    for (int i = 0; i < 9 * 16; i++)
        ck_assert_close(r.constant[i], k[i % 9] / 16.0, 0);
}

START_TEST(a_blur_comes_before_or_behind_its_child)
{
    test_settings_init(&g);
    test_settings_bool(&g, "first", _i);
    test_settings_int(&g, "stride", _i ? 1 : 2);
    emits("blur_conv2d",
          _i ? "v2 = conv2d(v1, constant; stride=[1, 1], padding=[1, 1], dilation=[1, 1], "
               "groups=16)\n"
               "v3 = module 3(v2)\nv3\n"
             : "v2 = module 3(v1)\n"
               "v3 = conv2d(v2, constant; stride=[2, 2], padding=[1, 1], dilation=[1, 1], "
               "groups=16)\nv3\n");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("blurpool");
    TCase *c = tcase_create("all");
    tcase_add_test(c, strided_wide_convolutions_and_max_pools_are_replaced);
    tcase_add_loop_test(c, each_sort_can_be_left_alone, 0, 2);
    tcase_add_test(c, nothing_to_replace_is_refused);
    tcase_add_loop_test(c, a_blur_comes_before_or_behind_its_child, 0, 2);
    suite_add_tcase(suite, c);
    return tutti_run(suite);
}
