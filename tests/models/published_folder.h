/* published_folder.h - a folder as Hugging Face's libraries write it, and what a run makes of it. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_MODELS_PUBLISHED_FOLDER_H
#define TESTS_MODELS_PUBLISHED_FOLDER_H

#include "made.h"
#include "made_plans.h"

#include "base/json.h"
#include "train/checkpoint_file/checkpoint.h"
#include "train/pretrained/pretrained.h"
#include "train/publish/publish.h"
#include "train/run_file/run_published.h"

#include <sys/stat.h>
#include <unistd.h>

static char folder[64];

static inline void open_folder(void)
{
    strcpy(folder, "/tmp/tutti_folder_XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
}

static inline const char *in_folder(const char *name)
{
    static char path[128];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

/* What publish_folder makes of a model, in `out` of the folder; the file that is opened is the caller's. */
static inline publish_report publish_made(const made *m, checkpoint **ret_file)
{
    publish_report report;
    const publish_model model = {m->net, m->model, m->columns, m->ncolumns, NULL, NULL};
    ck_assert_ok(publish_folder(&model, in_folder("out"), 0, &report, &err), err);
    ck_assert_ok(checkpoint_open(in_folder("out/model.safetensors"), ret_file, &err), err);
    return report;
}

/* The tensors of two files, by name: the same shapes and bits. */
static inline void ck_same_tensors(const checkpoint *a, const checkpoint *b)
{
    ck_assert_uint_eq(checkpoint_count(a), checkpoint_count(b));
    for (size_t k = 0; k < checkpoint_count(a); k++) {
        checkpoint_item one;
        tutti_tensor other;
        checkpoint_at(a, k, &one);
        ck_assert_ok(checkpoint_find(b, one.name, &other, &err), err);
        ck_assert_msg(tutti_same_shape(&one.tensor.desc, &other.desc), "%s", one.name);
        ck_assert_msg(memcmp(one.tensor.data, other.data, tutti_nbytes(&other.desc)) == 0, "%s",
                      one.name);
    }
}

static inline void close_folder(void)
{
    (void)unlink(in_folder("out/config.json"));
    (void)unlink(in_folder("out/model.safetensors"));
    (void)rmdir(in_folder("out"));
    (void)unlink(in_folder("config.json"));
    (void)unlink(in_folder("model.safetensors"));
    ck_assert_int_eq(rmdir(folder), 0);
}

static inline void write_config(const char *text)
{
    FILE *f = fopen(in_folder("config.json"), "w");
    ck_assert_ptr_nonnull(f);
    ck_assert_int_ge(fputs(text, f), 0);
    ck_assert_int_eq(fclose(f), 0);
}

/* What a run with `model`, JSON, and the folder makes of "model": JSON that the caller frees; the first fault, or "". */
static inline char *settings_of(const char *model, char fault[512])
{
    char text[512], path[512];
    json_doc *run;
    registry *plugins;
    faults *f = faults_create();
    const registry_options where = {.trust = TRUST_NONE};
    (void)snprintf(path, sizeof path, "%s/lib/tutti/plugins", getenv("TUTTI_BUILD"));
    ck_assert_int_eq(setenv("TUTTI_PLUGIN_PATH", path, 1), 0);
    ck_assert_ok(registry_create(&where, &plugins, &err), err);
    (void)snprintf(text, sizeof text, "{\"model\": %s, \"load_weights\": \"%s\"}", model,
                   strrchr(folder, '/') + 1);
    ck_assert_ok(json_parse("run.json", text, strlen(text), &run, &err), err);
    published_settings(run, plugins, "/tmp", f);
    (void)snprintf(fault, 512, "%s", faults_count(f) ? faults_text(f, 0) : "");
    char *settings = json_text(json_get(json_root(run), "model"));
    json_free(run);
    faults_destroy(f);
    registry_destroy(plugins);
    return settings;
}

/* Element k is (37 k + 11 seed) mod 101 / 101 + about, the seed the sum of the name's bytes: as the recorders fill. */
static inline void fill_by_name(float *x, int64_t n, const char *name, float about)
{
    int64_t seed = 0;
    for (const char *c = name; *c; c++)
        seed += *c;
    for (int64_t i = 0; i < n; i++)
        x[i] = (float)((double)((i * 37 + seed * 11) % 101) / 101.0) + about;
}

/* The first output of a plan that evaluates, against an array of numbers. */
static inline void check_logits(made *m, const trial *t, const json_node *want)
{
    static const tutti_step step = {.struct_size = sizeof step};
    static double logits[1024];
    const size_t n = json_count(want);
    ck_assert_uint_le(n, sizeof logits / sizeof *logits);
    for (size_t k = 0; k < n; k++)
        logits[k] = json_real(json_at(want, k));
    plan *p = planned(m, PLAN_EVAL, t);
    ck_assert_ok(plan_run(p, SEGMENT_FORWARD, &step, 1.0f, &err), err);
    const tutti_tensor got = plan_output(p, 0);
    ck_assert_int_eq(tutti_numel(&got.desc), (int64_t)n);
    ck_close_all("logits", got.data, logits, (int64_t)n, 1.0, 1e-5);
}

#endif
