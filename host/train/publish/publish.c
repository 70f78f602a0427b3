/* publish.c - a model as a folder of Hugging Face's libraries. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/publish/publish.h"
#include "base/input_file.h"

#include "base/text.h"
#include "graph/surgery/surgery.h"
#include "train/checkpoint_file/checkpoint_format.h"
#include "train/publish/publish_parts.h"
#include "train/run_file/run_published.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATH_SIZE = 4096, CONFIG_LIMIT = 1 << 20, COPY_LIMIT = 256 << 20 };

/* ---- files that are copied ---- */

/* A file of text, which the caller frees. */
static tutti_status read_file(const char *path, char **ret_text, tutti_error *err)
{
    FILE *f;
    const tutti_status s = input_file_open(path, &f, err);
    if (s)
        return s;
    text_buffer b = {0};
    char some[65536];
    size_t n;
    while ((n = fread(some, 1, sizeof some, f)) > 0 && b.size < COPY_LIMIT)
        text_add_bytes(&b, some, n);
    const bool bad = ferror(f) || b.failed || b.size >= COPY_LIMIT;
    (void)fclose(f);
    if (!bad && b.data) {
        *ret_text = b.data;
        return TUTTI_OK;
    }
    free(b.data);
    return tutti_fail(err, TUTTI_E_IO, "%s: cannot be read, or is empty", path);
}

static tutti_status copy_file(const char *from, const char *folder, const char *name,
                              publish_report *report, tutti_error *err)
{
    char to[PATH_SIZE], *text = NULL;
    (void)snprintf(to, sizeof to, "%s/%s", folder, name);
    tutti_status s = read_file(from, &text, err);
    if (!s)
        s = checkpoint_write_text(to, text, err);
    report->copied += s == TUTTI_OK;
    free(text);
    return s;
}

/* What stands beside the weights that the model began with, and the run's own tokenizer. */
static tutti_status copy_files(const publish_model *m, const char *folder,
                               publish_report *report, tutti_error *err)
{
    static const char *const names[] = {"tokenizer.json",
                                        "tokenizer_config.json",
                                        "special_tokens_map.json",
                                        "vocab.json",
                                        "vocab.txt",
                                        "merges.txt",
                                        "chat_template.jinja",
                                        "generation_config.json",
                                        "preprocessor_config.json"};
    tutti_status s = TUTTI_OK;
    for (size_t k = 0; m->began && k < sizeof names / sizeof *names && !s; k++) {
        char from[PATH_SIZE];
        (void)snprintf(from, sizeof from, "%s/%s", m->began, names[k]);
        if ((k || !m->tokenizer) && access(from, F_OK) == 0)
            s = copy_file(from, folder, names[k], report, err);
    }
    return s || !m->tokenizer ? s : copy_file(m->tokenizer, folder, names[0], report, err);
}

/* ---- the folder ---- */

/* A member a line, as people read it. */
static tutti_status write_config(const json_doc *config, const char *folder, tutti_error *err)
{
    char path[PATH_SIZE];
    text_buffer b = {0};
    const json_node *root = json_root(config);
    text_add(&b, "{");
    for (size_t k = 0; k < json_count(root); k++) {
        char *value = json_text(json_at(root, k));
        text_add(&b, "%s\n  ", k ? "," : "");
        text_add_quoted(&b, json_key(json_at(root, k)));
        text_add(&b, ": %s", value ? value : "");
        b.failed = b.failed || !value;
        free(value);
    }
    text_add(&b, "\n}\n");
    (void)snprintf(path, sizeof path, "%s/config.json", folder);
    const tutti_status s =
        b.failed ? tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory for its text", path)
                 : checkpoint_write_text(path, b.data, err);
    free(b.data);
    return s;
}

static tutti_status publish_by(const form_source *source, const char *folder,
                               uint64_t shard_bytes, publish_report *report, tutti_error *err)
{
    const json_node *form = NULL;
    json_doc *config = NULL;
    tutti_status s = publish_config(source, &form, &config, err);
    const char *name =
        s ? NULL : json_string(json_at(json_get(json_get(form, "config"), "architectures"), 0));
    (void)snprintf(report->architecture, sizeof report->architecture, "%s", name ? name : "");
    if (!s)
        s = publish_weights(source->model, source->says, form, folder, shard_bytes, report,
                            err);
    if (!s)
        s = copy_files(source->model, folder, report, err);
    if (!s)
        s = write_config(config, folder, err);
    json_free(config);
    return s;
}

/* The config.json that the weights came with; NULL where there is none that can be read. */
static json_doc *config_of(const char *began)
{
    char path[PATH_SIZE];
    json_doc *config = NULL;
    tutti_error none = TUTTI_ERROR_INIT;
    (void)snprintf(path, sizeof path, "%s/config.json", began ? began : "");
    return began && !json_read(path, CONFIG_LIMIT, &config, &none) ? config : NULL;
}

static tutti_status no_table(const publish_model *m, const faults *f, tutti_error *err)
{
    return tutti_fail(err, TUTTI_E_UNSUPPORTED,
                      "%s: no published.json beside its plugin says how a folder of Hugging "
                      "Face's has it%s%s",
                      object_describe(instance_object(m->model))->name,
                      f && faults_count(f) ? ": " : "",
                      f && faults_count(f) ? faults_text(f, 0) : "");
}

tutti_status publish_folder(const publish_model *m, const char *folder, uint64_t shard_bytes,
                            publish_report *ret_report, tutti_error *err)
{
    json_doc *table = NULL, *settings = NULL, *began = config_of(m->began);
    faults *f = faults_create();
    *ret_report = (publish_report){.bytes = 0};
    char *text = params_text(instance_params(m->model));
    const json_node *says = f ? published_table(instance_object(m->model), &table, f) : NULL;
    tutti_status s =
        f && text ? TUTTI_OK : tutti_fail(err, TUTTI_E_NOMEM, "no memory for %s", folder);
    if (!s && !json_get(says, "writes"))
        s = no_table(m, f, err);
    if (!s)
        s = net_check_unchanged(m->net, err);
    if (!s)
        s = json_parse("settings", text, strlen(text), &settings, err);
    if (!s) {
        const form_source source = {m, says, json_root(settings),
                                    began ? json_root(began) : NULL};
        s = publish_by(&source, folder, shard_bytes, ret_report, err);
    }
    free(text);
    json_free(settings);
    json_free(began);
    json_free(table);
    faults_destroy(f);
    return s;
}
