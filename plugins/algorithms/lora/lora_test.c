/* lora_test.c - which layers get adapters, what is trained, what a layer computes; files that are refused. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../surgery_check.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static theatre o;
static test_settings g;

static void settings(const char *target, const char *also, const char *adapter)
{
    static const char *targets[1], *alsos[1];
    targets[0] = target;
    alsos[0] = also;
    test_settings_init(&g);
    test_settings_strings(&g, "target", targets, 1);
    test_settings_int(&g, "rank", 2);
    test_settings_float(&g, "alpha", 3.0);
    test_settings_float(&g, "dropout", 0.0);
    test_settings_strings(&g, "also_train", alsos, also ? 1 : 0);
    if (adapter)
        test_settings_string(&g, "adapter", adapter);
    else
        test_settings_null(&g, "adapter");
    test_settings_null(&g, "save_adapter");
    test_settings_string(&g, "prefix", "base_model.model.");
    test_settings_bool(&g, "merge", 0);
}

START_TEST(layers_by_path_get_adapters)
{
    static const char *const targets[] = {"linear", "lin*", "other"};
    static const char *const told[] = {
        "lora/num_linear_replacements=1\n", "lora/num_linear_replacements=1\n",
        ("lora/num_linear_replacements=0\n[2] lora changes nothing: no linear layer has a path "
         "that target matches\n")};
    theatre_init(&o);
    const tutti_module m = theatre_add(&o, "linear", "in_features", 4.0, "out_features", 6.0,
                                       "bias", 1.0, "transposed", 1.0, NULL);
    settings(targets[_i], NULL, NULL);
    ck_assert_ok(theatre_operate(&o, "lora", &g), o.err);
    ck_assert_str_eq(o.r.told, told[_i]);
    ck_assert_str_eq(o.t.modules[m].kind, _i < 2 ? "lora_linear" : "linear");
    if (_i < 2) {
        const tutti_params *p = &o.t.modules[m].given.params;
        ck_assert_int_eq(tutti_param_i64(p, "in_features"), 4);
        ck_assert_int_eq(tutti_param_i64(p, "transposed"), 1);
        ck_assert_int_eq(tutti_param_i64(p, "rank"), 2);
        ck_assert(tutti_param_f64(p, "alpha") == 3.0);
    }
}
END_TEST

static void layer_settings(double dropout)
{
    test_settings_init(&g);
    test_settings_int(&g, "in_features", 4);
    test_settings_int(&g, "out_features", 6);
    test_settings_bool(&g, "bias", 1);
    test_settings_bool(&g, "transposed", 1);
    test_settings_int(&g, "rank", 2);
    test_settings_float(&g, "alpha", 3.0);
    test_settings_float(&g, "dropout", dropout);
}

START_TEST(a_layer_adds_the_product_to_its_own)
{
    theatre_init(&o);
    const tutti_module m = tree_new(&o.t, "lora_linear");
    layer_settings(_i ? 0.1 : 0.0);
    const tutti_layer_v1 *layer = theatre_layer(&o, "lora_linear", &g, m);
    const tutti_module a = tree_child(&o.t, m, "lora_A"), b = tree_child(&o.t, m, "lora_B");
    ck_assert_int_eq(tutti_param_i64(&o.t.modules[a].given.params, "out_features"), 2);
    ck_assert_int_eq(tutti_param_i64(&o.t.modules[b].given.params, "in_features"), 2);
    ck_assert_int_eq(tutti_param_i64(&o.t.modules[b].given.params, "out_features"), 6);
    ck_assert(tutti_param_f64(&o.t.modules[b].given.params, "std") == 0.0);
    ck_assert_int_eq(tree_child(&o.t, m, "lora_dropout") != 0, _i);
    const char *text = theatre_trace(&o, layer, m, TUTTI_MODE_TRAIN, shape(TUTTI_F32, 3, 4));
    char want[256];
    (void)snprintf(want, sizeof want, "= module %u(", a);
    ck_assert_msg(strstr(text, want) != NULL, "%s", text);
    ck_assert_msg(strstr(text, "transpose_a=0, transpose_b=0") != NULL, "%s", text);
    subject_close(&o.s);
}
END_TEST

static void put(const char *folder, const char *name, const char *bytes, size_t size)
{
    char path[512];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "wb");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(bytes, 1, size, file), size);
    ck_assert_int_eq(fclose(file), 0);
}

/* A folder's files, and the sentence behind "lora: FOLDER/" that refuses them. */
static const struct bad {
    const char *config, *weights;
    size_t size;
    tutti_status status;
    const char *text;
} bads[] = {
    {"{", "", 0, TUTTI_E_FORMAT, "adapter_config.json: line 1: "},
    {"{\"peft_type\": \"IA3\"}", "", 0, TUTTI_E_ARG,
     "adapter_config.json: peft_type is IA3, want LORA"},
    {"{\"peft_type\": \"LORA\", \"r\": 2, \"lora_alpha\": 3, \"use_dora\": true}", "", 0,
     TUTTI_E_UNSUPPORTED, "adapter_config.json: has use_dora, which is not known here"},
    {"{\"peft_type\": \"LORA\", \"r\": 4, \"lora_alpha\": 3}", "", 0, TUTTI_E_ARG,
     "adapter_config.json: has r 4 and lora_alpha 3, this run's rank is 2 and alpha 3"},
    {"{\"peft_type\": \"LORA\", \"r\": 2, \"lora_alpha\": 3}", "\1\0\0", 3, TUTTI_E_FORMAT,
     "adapter_model.safetensors: is no .safetensors file"},
    {"{\"peft_type\": \"LORA\", \"r\": 2, \"lora_alpha\": 3}", "\4\0\0\0\0\0\0\0{}  ", 12,
     TUTTI_E_NOTFOUND, "adapter_model.safetensors: has no lora_A of lora_linear"},
    {"{\"peft_type\": \"LORA\", \"r\": 2, \"lora_alpha\": 3}",
     "\70\0\0\0\0\0\0\0{\"x\":{\"dtype\":\"F32\",\"shape\":[1,1],\"data_offsets\":[0,8]}}   ",
     64, TUTTI_E_FORMAT,
     "adapter_model.safetensors: the bytes of x are not there or are not its shape's"},
};

START_TEST(an_adapter_that_does_not_fit_is_refused)
{
    const struct bad *bad = &bads[_i];
    char folder[] = "/tmp/tutti_lora_XXXXXX", path[600], want[700];
    int64_t exit_code = TUTTI_EXIT_NONE;
    const tutti_timestamp time = {.struct_size = sizeof time};
    const tutti_event loaded = {sizeof loaded, TUTTI_EVENT_AFTER_LOAD, "after_load", 0, &time,
                                &time};
    ck_assert_ptr_nonnull(mkdtemp(folder));
    put(folder, "adapter_config.json", bad->config, strlen(bad->config));
    put(folder, "adapter_model.safetensors", bad->weights, bad->size);
    theatre_init(&o);
    const tutti_module m = theatre_add(&o, "lora_linear", NULL);
    layer_settings(0.0);
    (void)theatre_layer(&o, "lora_linear", &g, m);
    subject_close(&o.s);
    settings("*", NULL, folder);
    ck_assert_ok(
        subject_open(&o.s, PLUGIN_PATH, TUTTI_KIND_ALGORITHM, "lora", &g, o.r.services, &o.err),
        o.err);
    ck_assert_int_eq(o.s.calls->match(o.s.self, &loaded), 1);
    ck_assert_int_eq(o.s.calls->apply(o.s.self, &loaded, &exit_code, &o.err), bad->status);
    (void)snprintf(want, sizeof want, "lora: %s/%s", folder, bad->text);
    ck_assert_msg(strncmp(o.err.text, want, strlen(want)) == 0, "%s", o.err.text);
    subject_close(&o.s);
    (void)snprintf(path, sizeof path, "%s/adapter_config.json", folder);
    ck_assert_int_eq(unlink(path), 0);
    (void)snprintf(path, sizeof path, "%s/adapter_model.safetensors", folder);
    ck_assert_int_eq(unlink(path), 0);
    ck_assert_int_eq(rmdir(folder), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("lora");
    TCase *c = tcase_create("all");
    tcase_add_loop_test(c, layers_by_path_get_adapters, 0, 3);
    tcase_add_loop_test(c, a_layer_adds_the_product_to_its_own, 0, 2);
    tcase_add_loop_test(c, an_adapter_that_does_not_fit_is_refused, 0,
                        (int)(sizeof bads / sizeof *bads));
    suite_add_tcase(suite, c);
    return tutti_run(suite);
}
