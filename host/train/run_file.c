/* run_file.c - reading a run file: every fault at once, each with its line. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/run_file.h"

#include "base/duration.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { RUN_LIMIT = 4 << 20, MAX_BATCH = 1 << 24, MAX_WORKERS = 256, DEFAULT_SEED = 17 };

typedef struct reader {
    registry *registry;
    const char *folder;
    faults *faults;
    run_file *run;
} reader;

static const char *const part_skip[] = {"name", "id", NULL};
static const char *const optimizer_skip[] = {"name", "id", "groups", NULL};

/* ---- values ---- */

static void check_keys(reader *r, const json_node *at, const char *const *known)
{
    for (size_t k = 0; k < json_count(at); k++) {
        const char *key = json_key(json_at(at, k));
        bool found = false;
        for (size_t w = 0; known[w] && !found; w++)
            found = strcmp(known[w], key) == 0;
        if (found || strncmp(key, "x-", 2) == 0)
            continue;
        const char *near = nearest_word(key, known);
        faults_add(r->faults, json_at(at, k), "unknown key%s%s%s",
                   near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
    }
}

static int64_t read_int(reader *r, const json_node *at, const char *key, int64_t fallback,
                        int64_t min, int64_t max)
{
    const json_node *n = json_get(at, key);
    if (!n)
        return fallback;
    if (json_type(n) != JSON_INT)
        faults_add(r->faults, n, "is %s, want a whole number", json_type_name(n));
    else if (json_int(n) < min || json_int(n) > max)
        faults_add(r->faults, n, "is %lld, want %lld to %lld", (long long)json_int(n),
                   (long long)min, (long long)max);
    else
        return json_int(n);
    return fallback;
}

static bool read_bool(reader *r, const json_node *at, const char *key, bool fallback)
{
    const json_node *n = json_get(at, key);
    if (!n)
        return fallback;
    if (json_type(n) != JSON_BOOL) {
        faults_add(r->faults, n, "is %s, want true or false", json_type_name(n));
        return fallback;
    }
    return json_bool(n);
}

static const char *read_string(reader *r, const json_node *at, const char *key,
                               const char *fallback)
{
    const json_node *n = json_get(at, key);
    if (!n)
        return fallback;
    if (json_type(n) != JSON_STRING || !*json_string(n)) {
        faults_add(r->faults, n, "is %s, want a string that is not empty", json_type_name(n));
        return fallback;
    }
    return json_string(n);
}

static const char *read_word(reader *r, const json_node *at, const char *key,
                             const char *const *words, const char *list)
{
    const char *word = read_string(r, at, key, words[0]);
    for (size_t k = 0; words[k]; k++)
        if (strcmp(words[k], word) == 0)
            return words[k];
    faults_add(r->faults, json_get(at, key), "is \"%s\", want one of %s", word, list);
    return words[0];
}

static tutti_time read_time(reader *r, const json_node *at, const char *key,
                            const char *fallback)
{
    tutti_time t = {0, 0.0, TUTTI_UNIT_NONE, 0};
    const json_node *n = json_get(at, key);
    tutti_error e = TUTTI_ERROR_INIT;
    if (n && json_type(n) == JSON_INT) /* a plain number counts epochs, as upstream */
        return (tutti_time){json_int(n), 0.0, TUTTI_UNIT_EPOCH, 0};
    if (n && json_type(n) != JSON_STRING)
        faults_add(r->faults, n, "is %s, want a time such as \"10ep\"", json_type_name(n));
    else if ((n || fallback) && duration_parse(n ? json_string(n) : fallback, &t, &e))
        faults_add(r->faults, n, "%s", e.text);
    return t;
}

/* ---- objects ---- */

static void read_part(reader *r, const json_node *n, const char *kind, const char *const *skip,
                      run_part *ret)
{
    memset(ret, 0, sizeof *ret);
    ret->at = n;
    if (json_type(n) != JSON_OBJECT) {
        faults_add(r->faults, n, "is %s, want an object with the name of a %s",
                   json_type_name(n), kind);
        return;
    }
    const json_node *name = json_get(n, "name");
    if (!name || json_type(name) != JSON_STRING) {
        faults_add(r->faults, name ? name : n, "%s, want the name of a %s",
                   name ? "the name is not a string" : "has no name", kind);
        return;
    }
    tutti_error e = TUTTI_ERROR_INIT;
    if (registry_find(r->registry, kind, json_string(name), &ret->object, &e)) {
        faults_add(r->faults, name, "%s", e.text);
        return;
    }
    ret->name = read_string(r, n, "id", object_describe(ret->object)->name);
    ret->params = params_from_json(ret->object, n, skip, r->folder, r->faults);
    if (ret->params && object_check(ret->object, ret->name, ret->params, &e))
        faults_add(r->faults, n, "%s", e.text);
}

static void read_parts(reader *r, const json_node *at, const char *key, const char *kind,
                       run_parts *ret)
{
    const json_node *list = json_get(at, key);
    memset(ret, 0, sizeof *ret);
    if (!list)
        return;
    if (json_type(list) != JSON_ARRAY) {
        faults_add(r->faults, list, "is %s, want an array of %ss", json_type_name(list), kind);
        return;
    }
    ret->items = calloc(json_count(list) + 1, sizeof *ret->items);
    if (!ret->items) {
        faults_add(r->faults, list, "out of memory");
        return;
    }
    ret->count = json_count(list);
    for (size_t k = 0; k < ret->count; k++)
        read_part(r, json_at(list, k), kind, part_skip, &ret->items[k]);
}

/* ---- algorithms, and what may stand among them ---- */

static bool has_tag(const object *o, const char *tag)
{
    const char *const *t = object_describe(o)->tags;
    while (t && *t && strcmp(*t, tag) != 0)
        t++;
    return t && *t;
}

/* Puts `part` among the training data's transforms, before those that make floats of bytes. */
static void place_transform(reader *r, const run_part *part)
{
    run_parts *all = &r->run->train.transforms;
    run_part *items = realloc(all->items, (all->count + 1) * sizeof *items);
    if (!items) {
        params_free(part->params);
        faults_add(r->faults, part->at, "out of memory");
        return;
    }
    size_t at = 0;
    while (at < all->count && !(items[at].object && has_tag(items[at].object, "floats")))
        at++;
    memmove(items + at + 1, items + at, (all->count - at) * sizeof *items);
    items[at] = *part;
    all->items = items;
    all->count++;
}

/* The transform of the same plugin that does what algorithm `o` does, to samples instead of batches, when
 * `n` says "batch": false; NULL: none. */
static const object *of_samples(reader *r, const object *o, const json_node *n)
{
    const json_node *batch = json_get(n, "batch");
    const object *t = NULL;
    char name[128];
    tutti_error e = TUTTI_ERROR_INIT;
    (void)snprintf(name, sizeof name, "%s_transform", object_describe(o)->name);
    return batch && json_type(batch) == JSON_BOOL && !json_bool(batch) &&
                   registry_find(r->registry, TUTTI_KIND_TRANSFORM, name, &t, &e) == TUTTI_OK
               ? t
               : NULL;
}

/* True where `n` is no algorithm but a transform of the training data, or a model with the tag
 * "stand_in", which takes the place of the run's. */
static bool read_stand_in(reader *r, const json_node *n)
{
    static const char *const samples_skip[] = {
        "name", "id", "batch", "input_key", "target_key", "resize_target", NULL};
    const json_node *at = json_type(n) == JSON_OBJECT ? json_get(n, "name") : NULL;
    const char *name = at && json_type(at) == JSON_STRING ? json_string(at) : NULL;
    const object *o = NULL, *t = NULL;
    tutti_error e = TUTTI_ERROR_INIT;
    run_part part;
    if (name && registry_find(r->registry, TUTTI_KIND_ALGORITHM, name, &o, &e) == TUTTI_OK) {
        if (!(t = of_samples(r, o, n)))
            return false;
        part = (run_part){t, object_describe(t)->name,
                          params_from_json(t, n, samples_skip, r->folder, r->faults), n};
        place_transform(r, &part);
        return true;
    }
    if (name && registry_find(r->registry, TUTTI_KIND_TRANSFORM, name, &o, &e) == TUTTI_OK) {
        read_part(r, n, TUTTI_KIND_TRANSFORM, part_skip, &part);
        place_transform(r, &part);
        return true;
    }
    if (!name || registry_find(r->registry, TUTTI_KIND_MODEL, name, &o, &e) ||
        !has_tag(o, "stand_in"))
        return false;
    params_free(r->run->model.params);
    read_part(r, n, TUTTI_KIND_MODEL, part_skip, &r->run->model);
    return true;
}

/* After the model and the training data. */
static void read_algorithms(reader *r, const json_node *root)
{
    run_parts *all = &r->run->algorithms;
    const json_node *list = json_get(root, "algorithms");
    if (!list || json_type(list) != JSON_ARRAY) {
        read_parts(r, root, "algorithms", TUTTI_KIND_ALGORITHM, all);
        return;
    }
    all->items = calloc(json_count(list) + 1, sizeof *all->items);
    if (!all->items) {
        faults_add(r->faults, list, "out of memory");
        return;
    }
    for (size_t k = 0; k < json_count(list); k++)
        if (!read_stand_in(r, json_at(list, k)))
            read_part(r, json_at(list, k), TUTTI_KIND_ALGORITHM, part_skip,
                      &all->items[all->count++]);
}

enum { MOST_PARTS = 512 };

typedef struct part_view {
    const run_part *list[MOST_PARTS];
    size_t count;
} part_view;

static void view_add(part_view *v, const run_part *items, size_t n)
{
    for (size_t k = 0; k < n && v->count < MOST_PARTS; k++)
        if (items[k].object)
            v->list[v->count++] = &items[k];
}

static void view_data(part_view *v, const run_data *d)
{
    view_add(v, &d->dataset, 1);
    view_add(v, d->transforms.items, d->transforms.count);
    view_add(v, d->metrics.items, d->metrics.count);
}

/* Plugins that say that they cannot be used together. */
static void check_conflicts(reader *r)
{
    const run_file *run = r->run;
    const run_parts *lists[] = {&run->schedulers, &run->loggers, &run->callbacks,
                                &run->algorithms, &run->passes};
    part_view v = {.count = 0};
    view_add(&v, &run->model, 1);
    view_data(&v, &run->train);
    for (size_t k = 0; k < run->nevals; k++)
        view_data(&v, &run->evals[k]);
    if (run->ngroups)
        view_add(&v, &run->groups[run->ngroups - 1].part, 1);
    for (size_t k = 0; k < sizeof lists / sizeof *lists; k++)
        view_add(&v, lists[k]->items, lists[k]->count);
    for (size_t k = 0; k < v.count; k++)
        for (size_t j = 0; j < k; j++)
            if (registry_conflict(v.list[k]->object, v.list[j]->object))
                faults_add(r->faults, v.list[k]->at, "conflicts with %s at line %d",
                           v.list[j]->name, json_line(v.list[j]->at));
}

static bool wraps_optimizer(const run_part *p)
{
    const char *const *trait = p->object ? object_describe(p->object)->traits : NULL;
    while (trait && *trait && strcmp(*trait, "wraps_optimizer") != 0)
        trait++;
    return trait && *trait;
}

/* One update is made by one object. */
static void check_wrappers(reader *r)
{
    const run_parts *all = &r->run->algorithms;
    const run_part *first = NULL;
    for (size_t k = 0; k < all->count; k++) {
        if (!wraps_optimizer(&all->items[k]))
            continue;
        if (first)
            faults_add(r->faults, all->items[k].at,
                       "%s and %s at line %d both wrap the optimizer, want one of them",
                       all->items[k].name, first->name, json_line(first->at));
        else
            first = &all->items[k];
    }
}

/* Two participants of one name could not be told apart in traces and checkpoints. */
static void check_names(reader *r)
{
    const run_parts *lists[] = {&r->run->loggers, &r->run->callbacks, &r->run->algorithms,
                                &r->run->passes};
    for (size_t l = 0; l < 4; l++)
        for (size_t k = 0; k < lists[l]->count; k++)
            for (size_t m = 0; m <= l; m++)
                for (size_t j = 0; j < (m == l ? k : lists[m]->count); j++) {
                    const run_part *a = &lists[l]->items[k], *b = &lists[m]->items[j];
                    if (a->name && b->name && strcmp(a->name, b->name) == 0)
                        faults_add(r->faults, a->at,
                                   "there is another %s at line %d; give one of them an \"id\"",
                                   a->name, json_line(b->at));
                }
}

static const char *const data_keys[] = {
    "dataset", "transforms", "metrics", "batch_size", "subset_num_batches",
    "workers", "prefetch",   "shuffle", "drop_last",  "resident",
    NULL};
static const char *const eval_keys[] = {
    "dataset", "transforms", "metrics", "batch_size", "subset_num_batches",
    "workers", "prefetch",   "shuffle", "drop_last",  "resident",
    "label",   "interval",   NULL};
static const char *const loop_eval_keys[] = {
    "dataset", "transforms", "metrics", "batch_size", "subset_num_batches",
    "workers", "prefetch",   "shuffle", "drop_last",  "resident",
    "label",   "on",         "every",   "once",       "before",
    "after",   "filter",     NULL};

/* Training data are shuffled and cut to full batches unless the file says otherwise; an engine file's
 * "data" are gone through in order. */
enum { DATA_TRAIN, DATA_PLAIN, DATA_EVAL };

static int read_resident(reader *r, const json_node *at)
{
    const json_node *n = json_get(at, "resident");
    const char *text = json_string(n);
    if (text && strcmp(text, "auto") == 0)
        return RUN_RESIDENT_AUTO;
    if (n && json_type(n) != JSON_BOOL)
        faults_add(r->faults, n, "is no setting, want true, false or \"auto\"");
    return n && json_type(n) == JSON_BOOL && json_bool(n) ? RUN_RESIDENT_YES : RUN_RESIDENT_NO;
}

static void read_data(reader *r, const json_node *at, int role, run_data *ret)
{
    const bool train = role == DATA_TRAIN, eval = role == DATA_EVAL;
    memset(ret, 0, sizeof *ret);
    ret->label = "train";
    if (json_type(at) != JSON_OBJECT) {
        faults_add(r->faults, at, "is %s, want an object with a dataset", json_type_name(at));
        return;
    }
    check_keys(r, at, !eval ? data_keys : r->run->engine ? loop_eval_keys : eval_keys);
    if (json_get(at, "dataset"))
        read_part(r, json_get(at, "dataset"), TUTTI_KIND_DATASET, part_skip, &ret->dataset);
    else
        faults_add(r->faults, at, "has no dataset");
    read_parts(r, at, "transforms", TUTTI_KIND_TRANSFORM, &ret->transforms);
    read_parts(r, at, "metrics", TUTTI_KIND_METRIC, &ret->metrics);
    ret->batch_size = read_int(r, at, "batch_size", eval ? 500 : 128, 1, MAX_BATCH);
    ret->subset_num_batches = read_int(r, at, "subset_num_batches", -1, -1, INT64_MAX);
    ret->workers = (uint32_t)read_int(r, at, "workers", 2, 1, MAX_WORKERS);
    ret->prefetch = (uint32_t)read_int(r, at, "prefetch", 4, 1, 1024);
    ret->shuffle = read_bool(r, at, "shuffle", train);
    ret->drop_last = read_bool(r, at, "drop_last", train);
    ret->resident = read_resident(r, at);
    if (!eval)
        return;
    ret->label = read_string(r, at, "label", "eval");
    if (r->run->engine)
        run_loop_read_on(ret, r->registry, at, r->faults);
    else
        ret->interval = read_time(r, at, "interval", "1ep");
}

static void read_evals(reader *r, const json_node *root)
{
    const json_node *list = json_get(root, "eval");
    if (!list)
        return;
    if (json_type(list) != JSON_ARRAY) {
        faults_add(r->faults, list, "is %s, want an array of evaluations",
                   json_type_name(list));
        return;
    }
    r->run->evals = calloc(json_count(list) + 1, sizeof *r->run->evals);
    if (!r->run->evals) {
        faults_add(r->faults, list, "out of memory");
        return;
    }
    r->run->nevals = json_count(list);
    for (size_t k = 0; k < r->run->nevals; k++) {
        read_data(r, json_at(list, k), DATA_EVAL, &r->run->evals[k]);
        for (size_t j = 0; j < k; j++)
            if (strcmp(r->run->evals[j].label, r->run->evals[k].label) == 0)
                faults_add(r->faults, json_at(list, k), "there is another evaluation \"%s\"",
                           r->run->evals[k].label);
    }
}

/* Group settings over the optimizer's own: one object with both, read as its own document. */
static json_doc *merged(reader *r, const json_node *optimizer, const json_node *group)
{
    json_doc *doc = NULL;
    tutti_error e = TUTTI_ERROR_INIT;
    char *text = json_text(optimizer);
    if (!text || json_parse(json_name(optimizer), text, strlen(text), &doc, &e))
        doc = NULL;
    free(text);
    for (size_t k = 0; doc && k < json_count(group); k++) {
        const json_node *n = json_at(group, k);
        if (strcmp(json_key(n), "match") == 0)
            continue;
        char *value = json_text(n);
        if (!value || json_override(doc, json_key(n), value, &e)) {
            json_free(doc);
            doc = NULL;
        }
        free(value);
    }
    if (!doc)
        faults_add(r->faults, group, "out of memory");
    return doc;
}

static void read_group(reader *r, const json_node *optimizer, const json_node *group,
                       run_group *ret)
{
    if (json_type(group) != JSON_OBJECT || !json_get(group, "match")) {
        faults_add(r->faults, group,
                   "want an object with \"match\": a pattern of weight paths");
        return;
    }
    ret->match = read_string(r, group, "match", "*");
    json_doc *doc = merged(r, optimizer, group);
    if (!doc)
        return;
    const size_t before = faults_count(r->faults);
    read_part(r, json_root(doc), TUTTI_KIND_OPTIMIZER, optimizer_skip, &ret->part);
    if (faults_count(r->faults) > before)
        faults_add(r->faults, group, "the settings above are those of this group");
    ret->part.at = group;
    ret->part.name = ret->part.object ? object_describe(ret->part.object)->name : NULL;
    json_free(doc);
}

static void read_optimizer(reader *r, const json_node *root)
{
    const json_node *n = json_get(root, "optimizer");
    if (!n) {
        faults_add(r->faults, root, "has no optimizer");
        return;
    }
    if (json_type(n) == JSON_ARRAY) {
        faults_add(
            r->faults, n,
            "is an array of %zu, want one optimizer; use its \"groups\" for weights that "
            "need other settings",
            json_count(n));
        return;
    }
    const json_node *groups = json_get(n, "groups");
    const size_t more = groups && json_type(groups) == JSON_ARRAY ? json_count(groups) : 0;
    if (groups && json_type(groups) != JSON_ARRAY)
        faults_add(r->faults, groups, "is %s, want an array of groups", json_type_name(groups));
    r->run->groups = calloc(more + 1, sizeof *r->run->groups);
    if (!r->run->groups) {
        faults_add(r->faults, n, "out of memory");
        return;
    }
    r->run->ngroups = more + 1;
    for (size_t k = 0; k < more; k++)
        read_group(r, n, json_at(groups, k), &r->run->groups[k]);
    r->run->groups[more].match = "*";
    read_part(r, n, TUTTI_KIND_OPTIMIZER, optimizer_skip, &r->run->groups[more].part);
}

/* ---- the whole ---- */

static const char *const run_keys[] = {"name",
                                       "seed",
                                       "model",
                                       "train",
                                       "eval",
                                       "optimizer",
                                       "schedulers",
                                       "algorithms",
                                       "callbacks",
                                       "loggers",
                                       "passes",
                                       "order",
                                       "handlers",
                                       "traces",
                                       "profiler",
                                       "max_duration",
                                       "precision",
                                       "recompute",
                                       "on_nonfinite",
                                       "deterministic",
                                       "device",
                                       "threads",
                                       "watchdog_s",
                                       "microbatch_size",
                                       "scale_schedule_ratio",
                                       "iteration_length",
                                       "step_schedulers_every_batch",
                                       "load_weights",
                                       NULL};

static int64_t read_microbatch(reader *r, const json_node *root)
{
    const json_node *n = json_get(root, "microbatch_size");
    if (!n || json_type(n) != JSON_STRING)
        return read_int(r, root, "microbatch_size", 0, 0, MAX_BATCH);
    if (strcmp(json_string(n), "auto") != 0)
        faults_add(r->faults, n, "is \"%s\", want a whole number or \"auto\"", json_string(n));
    return RUN_MICROBATCH_AUTO;
}

/* A path, from the run file's folder on; NULL when not given. */
static char *read_path(reader *r, const json_node *root, const char *key)
{
    const char *given = read_string(r, root, key, NULL);
    char *path = NULL;
    if (!given)
        return NULL;
    if (*given == '/')
        path = strdup(given);
    else if (asprintf(&path, "%s/%s", r->folder, given) < 0)
        path = NULL;
    if (!path)
        faults_add(r->faults, json_get(root, key), "out of memory");
    return path;
}

/* How long a training run lasts. */
static void read_durations(reader *r, const json_node *root)
{
    run_file *run = r->run;
    const json_node *max = json_get(root, "max_duration");
    const json_node *length = json_get(root, "iteration_length");
    if (max)
        run->max_duration = read_time(r, root, "max_duration", NULL);
    else
        faults_add(r->faults, root, "has no max_duration, such as \"10ep\"");
    if (run->max_duration.unit == TUTTI_UNIT_DURATION)
        faults_add(r->faults, max, "is in dur, want ep, ba, sp, tok or sec");
    else if (max && run->max_duration.unit != TUTTI_UNIT_NONE && run->max_duration.count <= 0)
        faults_add(r->faults, max, "is %lld, want at least 1",
                   (long long)run->max_duration.count);
    run->iteration_length = read_time(r, root, "iteration_length", NULL);
    if (length && run->iteration_length.unit != TUTTI_UNIT_NONE &&
        ((run->iteration_length.unit != TUTTI_UNIT_EPOCH &&
          run->iteration_length.unit != TUTTI_UNIT_TOKEN) ||
         run->iteration_length.count <= 0))
        faults_add(r->faults, length, "want at least 1ep or 1tok");
    const json_node *ratio = json_get(root, "scale_schedule_ratio");
    if (ratio && (json_type(ratio) != JSON_INT && json_type(ratio) != JSON_REAL))
        faults_add(r->faults, ratio, "is %s, want a number above 0", json_type_name(ratio));
    else if (ratio && !(json_real(ratio) > 0))
        faults_add(r->faults, ratio, "is %g, want a number above 0", json_real(ratio));
    else if (ratio)
        run->scale_schedule_ratio = json_real(ratio);
}

/* Model, data and optimizer; an engine file may do without. */
static void read_subject(reader *r, const json_node *root)
{
    run_file *run = r->run;
    const json_node *model = json_get(root, "model"), *train = json_get(root, "train");
    const json_node *data = run->engine ? json_get(root, "data") : NULL;
    if (model)
        read_part(r, model, TUTTI_KIND_MODEL, part_skip, &run->model);
    else if (!run->engine)
        faults_add(r->faults, root, "has no model");
    if (train)
        read_data(r, train, DATA_TRAIN, &run->train);
    else if (data && json_type(data) != JSON_NULL)
        read_data(r, data, DATA_PLAIN, &run->train);
    else if (!run->engine)
        faults_add(r->faults, root, "has no train data");
    read_evals(r, root);
    if (!run->engine || json_get(root, "optimizer") || model)
        read_optimizer(r, root);
    read_parts(r, root, "schedulers", TUTTI_KIND_SCHEDULER, &run->schedulers);
    read_algorithms(r, root);
    read_parts(r, root, "callbacks", TUTTI_KIND_CALLBACK, &run->callbacks);
    read_parts(r, root, "loggers", TUTTI_KIND_LOGGER, &run->loggers);
    read_parts(r, root, "passes", TUTTI_KIND_PASS, &run->passes);
    run_observers_read(run, r->registry, root, r->faults);
    check_names(r);
    check_conflicts(r);
    check_wrappers(r);
}

static void read_run(reader *r, int kind)
{
    static const char *const precisions[] = {"fp32", "amp_bf16", "amp_fp16", "fp32_fast", NULL};
    static const char *const repeats[] = {"run", "machine", NULL};
    static const char *const nonfinites[] = {"stop", "warn", "ignore", NULL};
    static const char *const recomputes[] = {"cheap", "off", "full", NULL};
    static const char *const orders[] = {"absolute", "upstream", NULL};
    run_file *run = r->run;
    const json_node *root = json_root(run->doc);
    const bool process = json_get(root, "process") != NULL;
    if (json_type(root) != JSON_OBJECT) {
        faults_add(r->faults, root, "is %s, want an object", json_type_name(root));
        return;
    }
    run->engine = kind == RUN_FILE_ENGINE || (kind == RUN_FILE_ANY && process);
    if (process && !run->engine) {
        faults_add(r->faults, json_get(root, "process"),
                   "makes this an engine file, which `tutti run` runs");
        return;
    }
    check_keys(r, root, run->engine ? run_loop_keys : run_keys);
    run->name = read_string(r, root, "name", "run");
    if (strchr(run->name, '/'))
        faults_add(r->faults, json_get(root, "name"), "has a slash; it names a folder");
    const json_node *seed = json_get(root, "seed");
    const bool unseeded = run->engine && seed && json_type(seed) == JSON_NULL;
    run->seed = unseeded ? DEFAULT_SEED
                         : (uint64_t)read_int(r, root, "seed", DEFAULT_SEED, 0, INT64_MAX);
    run->upstream_order =
        read_word(r, root, "order", orders, "absolute, upstream") == orders[1];
    run->scale_schedule_ratio = 1.0;
    read_subject(r, root);
    if (run->engine)
        run_loop_read(run, r->registry, root, r->faults);
    else
        read_durations(r, root);
    run->step_schedulers_every_batch = read_bool(r, root, "step_schedulers_every_batch", true);
    run->microbatch_size = read_microbatch(r, root);
    run->threads = (int)read_int(r, root, "threads", 0, 0, RUN_MOST_THREADS);
    run->watchdog_s = 300.0;
    const json_node *watchdog = json_get(root, "watchdog_s");
    if (watchdog && (json_type(watchdog) == JSON_INT || json_type(watchdog) == JSON_REAL) &&
        json_real(watchdog) >= 0 && json_real(watchdog) <= 1e6)
        run->watchdog_s = json_real(watchdog);
    else if (watchdog)
        faults_add(r->faults, watchdog, "want a number of seconds from 0 to 1000000");
    run->precision =
        read_word(r, root, "precision", precisions, "fp32, amp_bf16, amp_fp16, fp32_fast");
    if (!run->engine &&
        read_word(r, root, "deterministic", repeats, "run, machine") == repeats[1])
        run->deterministic = RUN_REPEATS_MACHINE;
    const char *nonfinite =
        read_word(r, root, "on_nonfinite", nonfinites, "stop, warn, ignore");
    run->on_nonfinite = nonfinite == nonfinites[0]   ? RUN_NONFINITE_STOP
                        : nonfinite == nonfinites[1] ? RUN_NONFINITE_WARN
                                                     : RUN_NONFINITE_IGNORE;
    run->recompute = read_word(r, root, "recompute", recomputes, "off, cheap, full");
    run_device_read(run, r->registry, r->folder, root, r->faults);
    run->load_weights = read_path(r, root, "load_weights");
}

static tutti_status finish(json_doc *doc, int kind, const char *folder,
                           const char *const *overrides, registry *r, run_file **ret_run,
                           faults *f)
{
    run_file *run = calloc(1, sizeof *run);
    if (!run) {
        json_free(doc);
        faults_add(f, NULL, "out of memory");
        return TUTTI_E_NOMEM;
    }
    run->doc = doc;
    for (size_t k = 0; overrides && overrides[k]; k++) {
        char path[256];
        const char *equals = strchr(overrides[k], '=');
        tutti_error e = TUTTI_ERROR_INIT;
        if (!equals || equals == overrides[k] || equals - overrides[k] >= (int)sizeof path)
            faults_add(f, NULL, "--set %s: want path=value", overrides[k]);
        else {
            (void)snprintf(path, sizeof path, "%.*s", (int)(equals - overrides[k]),
                           overrides[k]);
            if (json_override(doc, path, equals + 1, &e))
                faults_add(f, NULL, "--set %s: %s", overrides[k], e.text);
        }
    }
    reader all = {r, folder, f, run};
    read_run(&all, kind);
    run->text = json_text(json_root(doc));
    if (!run->text)
        faults_add(f, NULL, "out of memory");
    if (faults_count(f)) {
        run_file_free(run);
        return TUTTI_E_ARG;
    }
    *ret_run = run;
    return TUTTI_OK;
}

tutti_status run_file_parse(const char *name, const char *text, const char *folder,
                            const char *const *overrides, registry *r, run_file **ret_run,
                            faults *f)
{
    json_doc *doc;
    tutti_error e = TUTTI_ERROR_INIT;
    const tutti_status s = json_parse(name, text, strlen(text), &doc, &e);
    if (s) {
        faults_add(f, NULL, "%s", e.text);
        return s;
    }
    return finish(doc, RUN_FILE_TRAIN, folder, overrides, r, ret_run, f);
}

tutti_status run_file_read(const char *path, int kind, const char *const *overrides,
                           registry *r, run_file **ret_run, faults *f)
{
    json_doc *doc;
    tutti_error e = TUTTI_ERROR_INIT;
    const tutti_status s = json_read(path, RUN_LIMIT, &doc, &e);
    if (s) {
        faults_add(f, NULL, "%s", e.text);
        return s;
    }
    char folder[PATH_MAX];
    if (!realpath(path, folder))
        (void)snprintf(folder, sizeof folder, ".");
    char *slash = strrchr(folder, '/');
    if (slash)
        *slash = '\0';
    return finish(doc, kind, *folder ? folder : "/", overrides, r, ret_run, f);
}

/* ---- the end ---- */

static void part_fini(run_part *p)
{
    params_free(p->params);
    p->params = NULL;
}

static void parts_fini(run_parts *p)
{
    for (size_t k = 0; k < p->count; k++)
        part_fini(&p->items[k]);
    free(p->items);
}

static void data_fini(run_data *d)
{
    part_fini(&d->dataset);
    parts_fini(&d->transforms);
    parts_fini(&d->metrics);
    binding_free(d->on);
}

void run_file_free(run_file *run)
{
    if (!run)
        return;
    part_fini(&run->model);
    part_fini(&run->device.part);
    data_fini(&run->train);
    for (size_t k = 0; k < run->nevals; k++)
        data_fini(&run->evals[k]);
    free(run->evals);
    for (size_t k = 0; k < run->ngroups; k++)
        part_fini(&run->groups[k].part);
    free(run->groups);
    parts_fini(&run->schedulers);
    parts_fini(&run->algorithms);
    parts_fini(&run->callbacks);
    parts_fini(&run->loggers);
    parts_fini(&run->passes);
    run_observers_free(run);
    run_loop_free(run);
    free(run->load_weights);
    free(run->text);
    json_free(run->doc);
    free(run);
}
