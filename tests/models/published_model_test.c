/* published_model_test.c - folders of transformers' GPT-2, BERT, RoBERTa, ViT, ResNet and ConvNeXt: their settings, names and logits. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "published_folder.h"

#include "train/run_file/run_file.h"

enum { B = 2, T = 7, VOCABULARY = 23, CLASSES = 3, SIDE = 8, FILE_LIMIT = 1 << 20 };
enum { MOST_TENSORS = 128, PIXELS = B * SIDE * SIDE * 3 };

static json_doc *recorded;
static tutti_column columns[2];
static float pixels[PIXELS];
static int32_t tokens[B * T], classes[B * T];

static const json_node *recorded_case(const char *name)
{
    ck_assert_ok(json_read(PUBLISHED_FILE, FILE_LIMIT, &recorded, &err), err);
    const json_node *cases = json_get(json_root(recorded), "cases");
    for (size_t k = 0; k < json_count(cases); k++)
        if (strcmp(json_string(json_get(json_at(cases, k), "name")), name) == 0)
            return json_at(cases, k);
    ck_abort_msg("no case %s", name);
    return NULL;
}

/* The file of weights, as published.py fills it, but for tensors whose name ends in `without`. */
static void write_weights(const json_node *tensors, const char *without)
{
    static checkpoint_item items[MOST_TENSORS];
    size_t n = 0;
    for (size_t k = 0; k < json_count(tensors); k++) {
        const json_node *shape = json_at(tensors, k);
        const char *name = json_key(shape);
        const size_t length = strlen(name), tail = strlen(without);
        ck_assert_uint_lt(n, MOST_TENSORS);
        if (tail && length > tail && strcmp(name + length - tail, without) == 0)
            continue;
        tutti_desc d = {{0}, (int32_t)json_count(shape), TUTTI_F32};
        for (int32_t i = 0; i < d.rank; i++)
            d.dim[i] = json_int(json_at(shape, (size_t)i));
        const bool one = (length > 11 && strcmp(name + length - 11, "running_var") == 0) ||
                         (d.rank == 1 && strcmp(name + length - 7, ".weight") == 0);
        float *data = malloc(tutti_nbytes(&d));
        ck_assert_ptr_nonnull(data);
        fill_by_name(data, tutti_numel(&d), name, one ? 0.5f : -0.5f);
        items[n++] = (checkpoint_item){name, {data, d, TUTTI_DEVICE_CPU, 0}};
    }
    ck_assert_ok(checkpoint_write(in_folder("model.safetensors"), items, n, NULL, 0, &err),
                 err);
    for (size_t k = 0; k < n; k++)
        free(items[k].tensor.data);
}

/* Columns and a batch of the case's kind: "image", or tokens with one of them, "tokens", or one "label" as target. */
static trial batch(const char *kind)
{
    const bool image = strcmp(kind, "image") == 0, label = strcmp(kind, "tokens") != 0;
    const tutti_desc one = {{B}, 1, TUTTI_I32}, all = {{B, T}, 2, TUTTI_I32};
    const tutti_desc images = {{B, SIDE, SIDE, 3}, 4, TUTTI_F32};
    fill_by_name(pixels, PIXELS, "image", -0.5f);
    for (int k = 0; k < PIXELS; k++)
        pixels[k] *= 4.0f;
    for (int k = 0; k < B * T; k++) {
        tokens[k] = (7 * k * k + 3 * k) % VOCABULARY;
        classes[k] = k % CLASSES;
    }
    columns[0] = image ? (tutti_column){"input", {{SIDE, SIDE, 3}, 3, TUTTI_F32}, 0}
                       : (tutti_column){"input", {{T}, 1, TUTTI_I32}, 0};
    columns[1] = label ? (tutti_column){"target", {{0}, 0, TUTTI_I32}, CLASSES}
                       : (tutti_column){"target", {{T}, 1, TUTTI_I32}, VOCABULARY};
    return (trial){.inputs = {image ? (tutti_tensor){pixels, images, TUTTI_DEVICE_CPU, 0}
                                    : (tutti_tensor){tokens, all, TUTTI_DEVICE_CPU, 0}},
                   .target = {classes, label ? one : all, TUTTI_DEVICE_CPU, 0},
                   .ninputs = 1};
}

/* What the run does with the folder's file; the names are those of the model's plugin. */
static tutti_status load(made *m, const char *model, size_t *ret_tensors)
{
    checkpoint *c;
    const object *o;
    json_doc *doc = NULL;
    load_report report = {.rows = NULL};
    faults *f = faults_create();
    char *file = published_weights(folder, NULL, f);
    ck_assert_ok(registry_find(m->plugins, TUTTI_KIND_MODEL, model, &o, &err), err);
    const run_checkpoints rules = {.strict = true, .names = published_names(o, &doc, f)};
    ck_assert_ok(checkpoint_open(file, &c, &err), err);
    const tutti_status s = pretrained_take(m->net, file, c, &rules, &report, &err);
    *ret_tensors = report.tensors;
    ck_assert_uint_eq(faults_count(f), 0);
    load_report_fini(&report);
    checkpoint_close(c);
    json_free(doc);
    faults_destroy(f);
    free(file);
    return s;
}

/* Case `name` in a folder, but for those tensors, and the model that a run builds of it. */
static trial build_case(made *m, const char *name, const char *model, const char *without)
{
    char fault[512], text[64];
    const json_node *one = recorded_case(name);
    open_folder();
    char *config = json_text(json_get(one, "config"));
    write_config(config);
    write_weights(json_get(one, "tensors"), without);
    (void)snprintf(text, sizeof text, "{\"name\": \"%s\"}", model);
    char *settings = settings_of(text, fault);
    ck_assert_str_eq(fault, "");
    const trial t = batch(json_string(json_get(one, "kind")));
    build(m, settings, columns, 2);
    free(settings);
    free(config);
    return t;
}

/* Every setting that the one has the other has. */
static void ck_assert_same_settings(const char *want, const char *got)
{
    json_doc *a, *b;
    ck_assert_ok(json_parse("want", want, strlen(want), &a, &err), err);
    ck_assert_ok(json_parse("got", got, strlen(got), &b, &err), err);
    for (size_t k = 0; k < json_count(json_root(a)); k++) {
        const json_node *one = json_at(json_root(a), k);
        char *x = json_text(one), *y = json_text(json_get(json_root(b), json_key(one)));
        ck_assert_msg(y && strcmp(x, y) == 0, "%s: %s, want %s", json_key(one), y ? y : "-", x);
        free(x);
        free(y);
    }
    json_free(a);
    json_free(b);
}

static void end_case(made *m)
{
    unmake(m);
    close_folder();
    json_free(recorded);
}

static const struct {
    const char *name, *model;
} cases[] = {{"gpt2", "gpt2"},
             {"bert_masked_lm", "bert"},
             {"bert_classes", "bert"},
             {"roberta_masked_lm", "bert"},
             {"roberta_classes", "bert"},
             {"vit", "vit"},
             {"resnet", "resnet"},
             {"convnext", "convnext"}};

START_TEST(a_folder_gives_the_logits_of_transformers)
{
    made m;
    size_t tensors;
    const trial t = build_case(&m, cases[_i].name, cases[_i].model, "");
    const json_node *one = json_at(json_get(json_root(recorded), "cases"), (size_t)_i);
    ck_assert_ok(load(&m, cases[_i].model, &tensors), err);
    ck_assert_uint_eq(tensors, json_count(json_get(one, "tensors")));
    check_logits(&m, &t, json_get(one, "logits"));
    end_case(&m);
}
END_TEST

/* Out again, the files are as they came: every name, shape and bit, and a config that says the same. */
START_TEST(a_model_goes_out_as_it_came_in)
{
    made m;
    size_t tensors;
    char fault[512], text[64];
    checkpoint *before, *after;
    json_doc *config;
    (void)build_case(&m, cases[_i].name, cases[_i].model, "");
    ck_assert_ok(load(&m, cases[_i].model, &tensors), err);
    const publish_report report = publish_made(&m, &after);
    ck_assert_ok(checkpoint_open(in_folder("model.safetensors"), &before, &err), err);
    ck_same_tensors(before, after);
    ck_assert_str_eq(checkpoint_value(after, "format"), "pt");
    ck_assert_uint_eq(report.tensors, tensors);
    checkpoint_close(before);
    checkpoint_close(after);
    (void)snprintf(text, sizeof text, "{\"name\": \"%s\"}", cases[_i].model);
    char *settings = settings_of(text, fault);
    ck_assert_ok(json_read(in_folder("out/config.json"), FILE_LIMIT, &config, &err), err);
    const json_node *name = json_at(json_get(json_root(config), "architectures"), 0);
    ck_assert_str_eq(json_string(name), report.architecture);
    char *written = json_text(json_root(config));
    write_config(written);
    char *again = settings_of(text, fault);
    ck_assert_str_eq(fault, "");
    ck_assert_same_settings(settings, again);
    free(settings);
    free(again);
    free(written);
    json_free(config);
    end_case(&m);
}
END_TEST

/* Queries, keys and values are one weight here: without the keys there is none. */
START_TEST(a_weight_that_lacks_a_part_is_told)
{
    made m;
    size_t tensors;
    (void)build_case(&m, "vit", "vit", "attention.key.weight");
    ck_assert_int_eq(load(&m, "vit", &tensors), TUTTI_E_NOTFOUND);
    ck_assert_ptr_nonnull(
        strstr(err.text, ".self_attention.in_proj_weight, which the model needs"));
    end_case(&m);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("published_model");
    TCase *t = tcase_create("folders");
    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, a_folder_gives_the_logits_of_transformers, 0,
                        (int)(sizeof cases / sizeof *cases));
    tcase_add_loop_test(t, a_model_goes_out_as_it_came_in, 0,
                        (int)(sizeof cases / sizeof *cases));
    tcase_add_test(t, a_weight_that_lacks_a_part_is_told);
    suite_add_tcase(s, t);
    return tutti_run(s);
}
