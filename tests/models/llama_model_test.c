/* llama_model_test.c - llama as the host builds it: size, f32 plans against f64, and the folders and recorded logits of
 * transformers' Llama, Qwen 2 and Qwen 3. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "published_folder.h"

#include <stdio.h>

enum { B = 2, T = 7, VOCABULARY = 23, FILE_LIMIT = 1 << 20 };

static tutti_column columns[2];
static int32_t input[B * T], target[B * T];

/* Builds for sequences of `length` tokens out of `vocabulary`. */
static void build_for(made *m, const char *json, int64_t length, int64_t vocabulary)
{
    columns[0] = (tutti_column){"input", {{length}, 1, TUTTI_I32}, 0};
    columns[1] = (tutti_column){"target", {{length}, 1, TUTTI_I32}, vocabulary};
    build(m, json, columns, 2);
}

/* V C twice, and a block: two norms, q and o of C C, k and v of C C / 2, three of C I; a last norm. */
START_TEST(a_model_has_as_many_weights_as_it_should)
{
    made m;
    build_for(&m,
              "{\"name\":\"llama\",\"num_hidden_layers\":3,\"num_attention_heads\":4,"
              "\"num_key_value_heads\":2,\"hidden_size\":16,\"intermediate_size\":24}",
              16, 65);
    ck_assert_int_eq(count_trainable(&m),
                     2 * 65 * 16 + 3 * (2 * 16 + 3 * 256 + 3 * 16 * 24) + 16);
    unmake(&m);
}
END_TEST

/* ---- f32 against f64 ---- */

/* The tokens of llama.py; some targets do not count. */
static trial batch(void)
{
    static const tutti_desc tokens = {{B, T}, 2, TUTTI_I32};
    for (int k = 0; k < B * T; k++) {
        input[k] = (7 * k * k + 3 * k) % VOCABULARY;
        target[k] = k % 5 == 1 ? -100 : (5 * k + 2) % VOCABULARY;
    }
    return (trial){.inputs = {{input, tokens, TUTTI_DEVICE_CPU, 0}},
                   .target = {target, tokens, TUTTI_DEVICE_CPU, 0},
                   .ninputs = 1,
                   .least = 1e-3,
                   .outputs = 1e-5,
                   .gradient = 1e-4};
}

static const char *const kinds[] = {
    "{\"name\":\"llama\",\"num_hidden_layers\":2,\"num_attention_heads\":4,"
    "\"num_key_value_heads\":2,\"hidden_size\":16,\"intermediate_size\":24}",
    "{\"name\":\"llama\",\"num_hidden_layers\":2,\"num_attention_heads\":3,\"head_dim\":4,"
    "\"hidden_size\":8,\"intermediate_size\":12,\"qk_norm\":true,\"tie_word_embeddings\":true}",
    "{\"name\":\"llama\",\"num_hidden_layers\":1,\"num_attention_heads\":4,"
    "\"num_key_value_heads\":1,\"hidden_size\":8,\"intermediate_size\":12,\"qkv_bias\":true,"
    "\"out_bias\":true,\"mlp_bias\":true,\"rope_type\":\"linear\",\"rope_factor\":2}",
};

/* Weights are moved by up to a half, so that attention is far from even. */
START_TEST(a_plan_computes_what_the_definition_says)
{
    made m;
    const tutti_desc logits = {{B, T, VOCABULARY}, 3, TUTTI_F32};
    const trial t = batch();
    build_for(&m, kinds[_i / 2], T, VOCABULARY);
    stir(&m, 0.5);
    compare(&m, _i % 2 ? TUTTI_MODE_TRAIN : TUTTI_MODE_EVAL, &t, &logits);
    unmake(&m);
}
END_TEST

/* ---- folders of transformers: llama.json has their config.json and logits ---- */

static json_doc *recorded;
static const json_node *recorded_case(int k)
{
    ck_assert_ok(json_read(LLAMA_FILE, FILE_LIMIT, &recorded, &err), err);
    return json_at(json_get(json_root(recorded), "cases"), (size_t)k);
}

/* As llama.py: by the bytes of names, norms around 1. */
static void fill_weights(const made *m)
{
    for (uint32_t k = 0; k < net_weight_count(m->net); k++) {
        const tutti_weight *w = net_weight(m->net, k);
        fill_by_name(w->data.data, tutti_numel(&w->data.desc), w->path,
                     strstr(w->path, "norm") ? 0.5f : -0.5f);
    }
}

/* The weights as a file of the folder, under the model's own names. */
static void write_weights(const made *m)
{
    const uint32_t n = net_weight_count(m->net);
    checkpoint_item *items = calloc(n, sizeof *items);
    ck_assert_ptr_nonnull(items);
    for (uint32_t k = 0; k < n; k++)
        items[k] = (checkpoint_item){net_weight(m->net, k)->path, net_weight(m->net, k)->data};
    ck_assert_ok(checkpoint_write(in_folder("model.safetensors"), items, n, NULL, 0, &err),
                 err);
    free(items);
}

/* The folder that is written has the file's tensors, and the architecture. */
static void ck_assert_goes_out(const made *m, const json_node *architectures)
{
    checkpoint *before, *after;
    const publish_report report = publish_made(m, &after);
    ck_assert_str_eq(report.architecture, json_string(json_at(architectures, 0)));
    ck_assert_ok(checkpoint_open(in_folder("model.safetensors"), &before, &err), err);
    ck_same_tensors(before, after);
    checkpoint_close(before);
    checkpoint_close(after);
}

/* Once with weights by the rule, and once more with those of the folder. */
START_TEST(a_folder_gives_the_logits_of_transformers)
{
    made m;
    char fault[512];
    uint64_t unused = 1;
    const trial t = batch();
    open_folder();
    const json_node *one = recorded_case(_i);
    char *config = json_text(json_get(one, "config"));
    write_config(config);
    char *settings = settings_of("{\"name\": \"llama\"}", fault);
    ck_assert_str_eq(fault, "");
    build_for(&m, settings, T, VOCABULARY);
    fill_weights(&m);
    check_logits(&m, &t, json_get(one, "logits"));
    write_weights(&m);
    unmake(&m);
    faults *f = faults_create();
    char *file = published_weights(folder, NULL, f);
    ck_assert_str_eq(file, in_folder("model.safetensors"));
    build_for(&m, settings, T, VOCABULARY);
    ck_assert_ok(pretrained_load(m.net, file, &unused, &err), err);
    ck_assert_uint_eq(unused, 0);
    check_logits(&m, &t, json_get(one, "logits"));
    ck_assert_goes_out(&m, json_get(json_get(one, "config"), "architectures"));
    unmake(&m);
    faults_destroy(f);
    free(file);
    free(settings);
    free(config);
    close_folder();
    json_free(recorded);
}
END_TEST

/* Configs of older versions say rope_theta and rope_scaling. */
START_TEST(what_the_run_says_comes_first_and_older_configs_are_read)
{
    char fault[512];
    open_folder();
    write_config(
        "{\"model_type\": \"llama\", \"hidden_size\": 8, \"num_key_value_heads\": null, "
        "\"rope_theta\": 5000, \"rope_scaling\": {\"type\": \"linear\", \"factor\": 2.0}, "
        "\"max_position_embeddings\": 32, \"attention_bias\": true}");
    char *settings = settings_of("{\"name\": \"llama\", \"hidden_size\": 16}", fault);
    ck_assert_str_eq(fault, "");
    ck_assert_str_eq(
        settings, "{\"name\":\"llama\",\"hidden_size\":16,\"qkv_bias\":true,\"out_bias\":true,"
                  "\"rope_theta\":5000,\"rope_type\":\"linear\",\"rope_factor\":2.0,"
                  "\"original_max_position_embeddings\":32}");
    free(settings);
    close_folder();
}
END_TEST

START_TEST(what_a_model_does_not_know_is_refused)
{
    static const struct {
        const char *config, *why;
    } all[] = {
        {"{\"model_type\": \"opt\"}",
         "model_type is opt, the model llama reads llama, qwen2, qwen3"},
        {"{\"hidden_size\": 8}",
         "model_type is missing, the model llama reads llama, qwen2, qwen3"},
        {"{\"model_type\": \"llama\", \"hidden_act\": \"gelu\"}",
         "hidden_act is \"gelu\", of which the model llama knows only [\"silu\"]"},
        {"{\"model_type\": \"llama\", \"rope_scaling\": {\"rope_type\": \"yarn\"}}",
         "rope_scaling.rope_type is \"yarn\", of which the model llama knows only "
         "[\"default\",\"linear\",\"llama3\"]"},
        {"{\"model_type\": \"llama\", \"quantization_config\": {\"bits\": 4}}",
         "quantization_config is {\"bits\":4}, of which the model llama knows nothing"},
    };
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
        char fault[512], want[640];
        open_folder();
        write_config(all[k].config);
        char *settings = settings_of("{\"name\": \"llama\"}", fault);
        (void)snprintf(want, sizeof want, "run.json:1: load_weights: %s: %s",
                       in_folder("config.json"), all[k].why);
        ck_assert_str_eq(fault, want);
        free(settings);
        close_folder();
    }
}
END_TEST

START_TEST(a_folder_without_weights_is_refused)
{
    open_folder();
    faults *f = faults_create();
    char want[256];
    ck_assert_ptr_null(published_weights(folder, NULL, f));
    (void)snprintf(want, sizeof want,
                   "is the folder %s, which has neither model.safetensors nor "
                   "model.safetensors.index.json",
                   folder);
    ck_assert_str_eq(faults_text(f, 0), want);
    faults_destroy(f);
    close_folder();
}
END_TEST

int main(void)
{
    Suite *s = suite_create("llama_model");
    TCase *t = tcase_create("llama");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, a_model_has_as_many_weights_as_it_should);
    tcase_add_loop_test(t, a_plan_computes_what_the_definition_says, 0,
                        2 * (int)(sizeof kinds / sizeof *kinds));
    tcase_add_loop_test(t, a_folder_gives_the_logits_of_transformers, 0, 6);
    tcase_add_test(t, what_the_run_says_comes_first_and_older_configs_are_read);
    tcase_add_test(t, what_a_model_does_not_know_is_refused);
    tcase_add_test(t, a_folder_without_weights_is_refused);
    suite_add_tcase(s, t);
    return tutti_run(s);
}
