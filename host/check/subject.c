/* subject.c - small runs of the built-in objects, and where in them an object under test stands. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "check/subject.h"
#include "base/text.h"
#include "check/values.h"
#include "train/run_file/run_reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STOCK_NORMAL                                                                           \
    "\"transforms\": [{\"name\": \"normalize\", \"mean\": [0.13], \"std\": [0.31]}],"
#define STOCK_IMAGES                                                                           \
    "\"train\": {\"dataset\": {\"name\": \"glyphs\", \"samples\": 64}," STOCK_NORMAL           \
    " \"batch_size\": 16, \"workers\": 1},"                                                    \
    "\"eval\": [{\"label\": \"test\", \"dataset\": {\"name\": \"glyphs\", \"samples\": 32,"    \
    " \"split\": \"test\"}, \"batch_size\": 16," STOCK_NORMAL " \"metrics\": []}],"
#define STOCK_TEXT                                                                             \
    "\"train\": {\"dataset\": {\"name\": \"text\", \"path\": \"corpus.txt\", \"length\": 32}," \
    " \"transforms\": [], \"batch_size\": 8, \"workers\": 1},"                                 \
    "\"eval\": [{\"label\": \"test\", \"dataset\": {\"name\": \"text\", \"path\":"             \
    " \"corpus.txt\", \"length\": 32}, \"subset_num_batches\": 2, \"batch_size\": 8,"          \
    " \"metrics\": []}],"
#define STOCK_REST                                                                             \
    "\"optimizer\": {\"name\": \"sgd\", \"lr\": 0.05, \"momentum\": 0.9}, \"schedulers\": []," \
    "\"algorithms\": [], \"loggers\": [], \"passes\": [], \"device\": \"cpu\", \"seed\": 5, "  \
    "\"threads\": 1,"                                                                          \
    "\"max_duration\": \"8ba\", \"callbacks\": []}"
/* What the check of state compares. */
#define STOCK_SAVER                                                                            \
    "{\"name\": \"checkpoint_saver\", \"id\": \"check_saver\", \"folder\": \"saves\","         \
    " \"filename\": \"ba{batch}.safetensors\", \"interval\": \"4ba\", \"keep\": -1}"

static const char *const stock[STOCK_RUNS] = {
    "{\"name\": \"check\", \"model\": {\"name\": \"cnn\", \"channels\": [4, 8]}," STOCK_IMAGES
        STOCK_REST,
    "{\"name\": \"check\", \"model\": {\"name\": \"mlp\", \"hidden\": [8]}," STOCK_IMAGES
        STOCK_REST,
    "{\"name\": \"check\", \"model\": {\"name\": \"gpt2\", \"n_layer\": 1, \"n_head\": 2,"
    " \"n_embd\": 16}," STOCK_TEXT STOCK_REST,
    "{\"name\": \"check\", \"model\": {\"name\": \"resnet_cifar\"}," STOCK_IMAGES STOCK_REST,
};

/* Where a run file names objects of a kind: the one, or a list of any number. */
static const struct {
    const char *kind, *place;
    bool list;
} places[] = {
    {TUTTI_KIND_ALGORITHM, "algorithms", true},
    {TUTTI_KIND_CALLBACK, "callbacks", true},
    {TUTTI_KIND_LOGGER, "loggers", true},
    {TUTTI_KIND_PASS, "passes", true},
    {TUTTI_KIND_SCHEDULER, "schedulers", true},
    {TUTTI_KIND_TRANSFORM, "train.transforms", true},
    {TUTTI_KIND_METRIC, "eval.0.metrics", true},
    {TUTTI_KIND_MODEL, "model", false},
    {TUTTI_KIND_LOSS, "loss", false},
    {TUTTI_KIND_OPTIMIZER, "optimizer", false},
    {TUTTI_KIND_DATASET, "train.dataset", false},
    {TUTTI_KIND_DEVICE, "device", false},
    {TUTTI_KIND_COMM, "distributed.comm", false},
};

static bool names(const subject *s, const json_node *at)
{
    const char *name =
        json_type(at) == JSON_STRING ? json_string(at) : json_string(json_get(at, "name"));
    return name && (strcmp(name, s->name) == 0 || strcmp(name, s->info->name) == 0);
}

/* The node at a path of keys and numbers with dots; NULL: there is none. */
static json_node *node_at(const subject *s, const char *path)
{
    json_node *at = json_root(s->run);
    char key[64];
    while (at && *path) {
        const size_t n = strcspn(path, ".");
        (void)snprintf(key, sizeof key, "%.*s", (int)n, path);
        at = json_type(at) == JSON_ARRAY ? json_at(at, strtoul(key, NULL, 10))
                                         : json_get(at, key);
        path += n + (path[n] == '.');
    }
    return at;
}

/* The object where `place` names it already. */
static json_node *find(const subject *s, const char *place, bool list)
{
    json_node *at = node_at(s, place);
    if (!list)
        return at && names(s, at) ? at : NULL;
    for (size_t k = 0; k < json_count(at); k++)
        if (names(s, json_at(at, k)))
            return json_at(at, k);
    return NULL;
}

/* Before all others of the list. */
static tutti_status prepend(subject *s, const char *list, const char *value, tutti_error *err)
{
    text_buffer b = {0};
    text_add(&b, "[%s", value);
    for (size_t k = 0; k < json_count(node_at(s, list)); k++) {
        char *one = json_text(json_at(node_at(s, list), k));
        text_add(&b, ", %s", one ? one : "null");
        free(one);
    }
    text_add(&b, "]");
    const tutti_status status = b.failed
                                    ? tutti_fail(err, TUTTI_E_NOMEM, "no memory for the run")
                                    : json_override(s->run, list, b.data, err);
    free(b.data);
    return status;
}

static tutti_status append(subject *s, const char *list, const char *value, tutti_error *err)
{
    char at[96];
    (void)snprintf(at, sizeof at, "%s.%zu", list, json_count(node_at(s, list)));
    return json_override(s->run, at, value, err);
}

/* Puts the object where the run does not have it yet, and its whole name where it does. */
static tutti_status put(subject *s, const char *place, bool list, tutti_error *err)
{
    char value[256], at[128];
    const json_node *have = find(s, place, list);
    tutti_status status;
    if (have && json_type(have) == JSON_OBJECT) {
        (void)snprintf(at, sizeof at, "%s.name", json_path(have));
        (void)snprintf(value, sizeof value, "\"%s\"", s->name);
        status = json_override(s->run, at, value, err);
    } else {
        (void)snprintf(value, sizeof value, "{\"name\": \"%s\"}", s->name);
        /* Transforms of pictures want to come first, others last. */
        const bool first = s->stock == 0 && strcmp(s->info->kind, TUTTI_KIND_TRANSFORM) == 0;
        status = !list   ? json_override(s->run, place, value, err)
                 : first ? prepend(s, place, value, err)
                         : append(s, place, value, err);
    }
    s->given = status ? NULL : find(s, place, list);
    return status;
}

static tutti_status merge(subject *s, tutti_error *err)
{
    const json_node *root = s->members ? json_root(s->members) : NULL;
    tutti_status status = TUTTI_OK;
    for (size_t k = 0; root && k < json_count(root) && !status; k++) {
        char *text = json_text(json_at(root, k));
        status = text ? json_override(s->run, json_key(json_at(root, k)), text, err)
                      : tutti_fail(err, TUTTI_E_NOMEM, "no memory for the run");
        free(text);
    }
    return status;
}

/* Settings that must be there and that nobody has given. */
static tutti_status fill(subject *s, tutti_error *err)
{
    tutti_status status = TUTTI_OK;
    for (size_t k = 0; s->given && k < json_count(s->info->params) && !status; k++) {
        const json_node *spec = json_at(s->info->params, k);
        char at[256], value[SETTING_VALUE_SIZE];
        if (!json_bool(json_get(spec, "required")) || json_get(s->given, json_key(spec)) ||
            !setting_some_value(spec, value))
            continue;
        (void)snprintf(at, sizeof at, "%s.%s", json_path(s->given), json_key(spec));
        status = json_override(s->run, at, value, err);
    }
    return status;
}

/* A comm of devices stands beside that of the processes, where the members of its run have it. */
static const char *place_of(const subject *s, const char *place)
{
    static const char devices[] = "distributed.device_comm";
    return strcmp(s->info->kind, TUTTI_KIND_COMM) == 0 && find(s, devices, false) ? devices
                                                                                  : place;
}

tutti_status subject_place(subject *s, int number, tutti_error *err)
{
    json_free(s->run);
    s->run = NULL;
    s->given = NULL;
    s->stock = number;
    tutti_status status =
        json_parse("stock run", stock[number], strlen(stock[number]), &s->run, err);
    if (!status)
        status = merge(s, err);
    for (size_t k = 0; k < sizeof places / sizeof *places && !status; k++)
        if (strcmp(places[k].kind, s->info->kind) == 0)
            status = put(s, place_of(s, places[k].place), places[k].list, err);
    if (!status)
        status = fill(s, err);
    return status ? status : append(s, "callbacks", STOCK_SAVER, err);
}

void subject_fini(subject *s)
{
    json_free(s->run);
    json_free(s->members);
}

tutti_params *subject_params(const subject *s, const char *more, char *text, size_t size)
{
    text_buffer b = {0};
    json_doc *doc = NULL;
    tutti_error e = TUTTI_ERROR_INIT;
    faults *f = faults_create();
    tutti_params *p = NULL;
    text_add(&b, "{%s", more ? more : "");
    const bool settings = s->given && json_type(s->given) == JSON_OBJECT;
    for (size_t k = 0; settings && k < json_count(s->given); k++) {
        const json_node *m = json_at(s->given, k);
        char key[96];
        (void)snprintf(key, sizeof key, "\"%s\":", json_key(m));
        if (strcmp(json_key(m), "name") == 0 || (more && strstr(more, key)))
            continue;
        char *value = json_text(m);
        text_add(&b, "%s%s%s", b.size > 1 ? ", " : "", key, value ? value : "null");
        free(value);
    }
    text_add(&b, "}");
    *text = '\0';
    if (!f || b.failed || json_parse("settings", b.data, b.size, &doc, &e))
        (void)snprintf(text, size, "%s", *e.text ? e.text : "out of memory");
    else if (!(p = params_from_json(s->object, json_root(doc), NULL, s->folder, f)))
        (void)snprintf(text, size, "%s", faults_count(f) ? faults_text(f, 0) : "out of memory");
    json_free(doc);
    faults_destroy(f);
    free(b.data);
    return p;
}

uint64_t subject_left_out(const subject *s)
{
    char text[256];
    uint64_t left = 0;
    tutti_params *p = subject_params(s, NULL, text, sizeof text);
    if (!p)
        return ~UINT64_C(0);
    for (size_t k = 0; k < s->info->nevents && k < 63; k++)
        left |= (uint64_t)!object_hears(s->object, k, p) << k;
    params_free(p);
    return left;
}

tutti_status subject_train(const subject *s, bool with, const char *folder, run_file **ret_run,
                           trainer **ret_trainer, tutti_error *err)
{
    faults *f = faults_create();
    char *text = with ? json_text(json_root(s->run)) : NULL;
    tutti_status status = TUTTI_OK;
    *ret_run = NULL;
    *ret_trainer = NULL;
    if (!f || (with && !text))
        status = tutti_fail(err, TUTTI_E_NOMEM, "no memory for the run");
    if (!status)
        status = run_file_parse("run", with ? text : stock[s->stock], folder, RUN_FILE_TRAIN,
                                NULL, s->options->registry, ret_run, f);
    if (status && f && faults_count(f))
        (void)tutti_fail(err, status, "%s", faults_text(f, 0));
    if (!status)
        status =
            trainer_create(*ret_run, s->options->registry, s->options->ops, ret_trainer, err);
    if (status) {
        subject_end(*ret_run, *ret_trainer);
        *ret_run = NULL;
        *ret_trainer = NULL;
    }
    free(text);
    faults_destroy(f);
    return status;
}

void subject_end(run_file *run, trainer *t)
{
    trainer_destroy(t);
    run_file_free(run);
}

void subject_write_files(void)
{
    FILE *file = fopen("corpus.txt", "w");
    for (int k = 1; file && k <= 400; k++)
        (void)fprintf(file, "%d\n", k);
    if (file)
        (void)fclose(file);
}

bool subject_breaks_its_word(const subject *s, tutti_status status)
{
    return status == TUTTI_E_STATE && run_has_tag(s->object, RUN_IGNORES_OUTPUTS);
}
