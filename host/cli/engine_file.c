/* engine_file.c - reading an engine file. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/engine_file.h"

#include <libgen.h>
#include <stdlib.h>
#include <string.h>

enum { FILE_LIMIT = 1 << 24 };

static void check_keys(const json_node *at, const char *const *known, faults *f)
{
    for (size_t k = 0; k < json_count(at); k++) {
        const json_node *n = json_at(at, k);
        size_t j = 0;
        while (known[j] && strcmp(known[j], json_key(n)) != 0)
            j++;
        if (known[j] || strncmp(json_key(n), "x-", 2) == 0)
            continue;
        const char *near = nearest_word(json_key(n), known);
        faults_add(f, n, "there is no such key%s%s", near ? "; did you mean " : "",
                   near ? near : "");
    }
}

static int64_t read_int(const json_node *at, const char *key, int64_t fallback, int64_t min,
                        int64_t max, faults *f)
{
    const json_node *n = json_get(at, key);
    if (!n || json_type(n) == JSON_NULL)
        return fallback;
    if (json_type(n) == JSON_INT && json_int(n) >= min && json_int(n) <= max)
        return json_int(n);
    faults_add(f, n, "want a whole number from %lld to %lld", (long long)min, (long long)max);
    return fallback;
}

static bool read_bool(const json_node *at, const char *key, faults *f)
{
    const json_node *n = json_get(at, key);
    if (n && json_type(n) != JSON_BOOL)
        faults_add(f, n, "is %s, want true or false", json_type_name(n));
    return json_bool(n);
}

static const object *read_part(registry *r, const json_node *n, const char *kind,
                               const char *folder, tutti_params **ret_params, faults *f)
{
    static const char *const skip[] = {"name", "id", NULL};
    tutti_error e = TUTTI_ERROR_INIT;
    const object *o;
    const char *name = json_string(json_get(n, "name"));
    if (!name) {
        faults_add(f, n, "want an object with the name of a %s", kind);
        return NULL;
    }
    if (registry_find(r, kind, name, &o, &e)) {
        faults_add(f, json_get(n, "name"), "%s", e.text);
        return NULL;
    }
    *ret_params = params_from_json(o, n, skip, folder, f);
    return o;
}

static void read_data(engine_file *e, registry *r, const json_node *at, const char *folder,
                      faults *f)
{
    static const char *const keys[] = {
        "dataset", "transforms", "batch_size", "subset_num_batches", "workers", "prefetch",
        "shuffle", "drop_last",  NULL};
    if (json_type(at) != JSON_OBJECT) {
        faults_add(f, at, "is %s, want an object with a dataset", json_type_name(at));
        return;
    }
    check_keys(at, keys, f);
    const json_node *dataset = json_get(at, "dataset"), *list = json_get(at, "transforms");
    if (dataset)
        e->dataset = read_part(r, dataset, TUTTI_KIND_DATASET, folder, &e->dataset_params, f);
    else
        faults_add(f, at, "has no dataset");
    if (list && json_type(list) != JSON_ARRAY)
        faults_add(f, list, "is %s, want an array of transforms", json_type_name(list));
    e->transforms = calloc(json_count(list) + 1, sizeof(object *));
    e->transform_params = calloc(json_count(list) + 1, sizeof(tutti_params *));
    if (!e->transforms || !e->transform_params) {
        faults_add(f, at, "out of memory");
        return;
    }
    e->ntransforms = json_count(list);
    for (size_t k = 0; k < e->ntransforms; k++)
        e->transforms[k] = read_part(r, json_at(list, k), TUTTI_KIND_TRANSFORM, folder,
                                     &e->transform_params[k], f);
    e->loading.batch_size = read_int(at, "batch_size", 128, 1, 1 << 24, f);
    e->loading.subset_num_batches = read_int(at, "subset_num_batches", -1, -1, INT64_MAX, f);
    e->loading.workers = (uint32_t)read_int(at, "workers", 1, 1, 256, f);
    e->loading.prefetch = (uint32_t)read_int(at, "prefetch", 4, 1, 1024, f);
    e->loading.shuffle = read_bool(at, "shuffle", f);
    e->loading.drop_last = read_bool(at, "drop_last", f);
}

static void read_handlers(engine_file *e, registry *r, const json_node *list, faults *f)
{
    bindings_read(r, list, &e->handlers, f);
    for (size_t k = 0; k < e->handlers.count; k++) {
        size_t n = 0;
        const int32_t *events =
            e->handlers.items[k] ? binding_events(e->handlers.items[k], &n) : NULL;
        for (size_t j = 0; j < n; j++)
            if (events[j] < TUTTI_IGNITE_FIRST)
                faults_add(f, json_at(list, k),
                           "hears an event of `tutti train`; the loop's are started, "
                           "epoch_started, iteration_completed and so on");
    }
}

static void read_all(engine_file *e, registry *r, const char *folder, faults *f)
{
    static const char *const keys[] = {"data",       "process",       "handlers",
                                       "max_epochs", "max_iters",     "epoch_length",
                                       "seed",       "deterministic", NULL};
    static const char *const process_keys[] = {"call", "args", NULL};
    const json_node *root = json_root(e->doc);
    if (json_type(root) != JSON_OBJECT) {
        faults_add(f, root, "is %s, want an object", json_type_name(root));
        return;
    }
    check_keys(root, keys, f);
    const json_node *data = json_get(root, "data"), *process = json_get(root, "process");
    if (data && json_type(data) != JSON_NULL)
        read_data(e, r, data, folder, f);
    if (!process || json_type(process) != JSON_OBJECT) {
        faults_add(f, process ? process : root, "want \"process\": {\"call\": \"demo.note\"}");
    } else {
        check_keys(process, process_keys, f);
        function_read(r, json_get(process, "call"), json_get(process, "args"), process, false,
                      &e->process, f);
    }
    read_handlers(e, r, json_get(root, "handlers"), f);
    const int64_t most = INT64_MAX;
    e->run = (tutti_loop_run_args)TUTTI_LOOP_RUN_INIT;
    e->run.max_epochs = read_int(root, "max_epochs", TUTTI_LOOP_NONE, 1, most, f);
    e->run.max_iters = read_int(root, "max_iters", TUTTI_LOOP_NONE, 1, most, f);
    e->run.epoch_length = read_int(root, "epoch_length", TUTTI_LOOP_NONE, 1, most, f);
    e->run.seed = read_int(root, "seed", TUTTI_LOOP_NONE, 0, most, f);
    e->loading.seed = e->run.seed == TUTTI_LOOP_NONE ? 0 : (uint64_t)e->run.seed;
    e->deterministic = read_bool(root, "deterministic", f);
    if (e->run.max_epochs != TUTTI_LOOP_NONE && e->run.max_iters != TUTTI_LOOP_NONE)
        faults_add(f, json_get(root, "max_iters"), "max_epochs is given as well");
    if (!e->dataset && !data && e->run.epoch_length == TUTTI_LOOP_NONE)
        faults_add(f, root, "without data epoch_length must be given");
}

engine_file *engine_file_read(const char *path, const char *const *overrides, registry *r,
                              faults *f)
{
    tutti_error err = TUTTI_ERROR_INIT;
    engine_file *e = calloc(1, sizeof *e);
    char *copy = strdup(path);
    tutti_status s = e && copy ? json_read(path, FILE_LIMIT, &e->doc, &err)
                               : tutti_fail(&err, TUTTI_E_NOMEM, "out of memory");
    for (size_t k = 0; !s && overrides[k]; k++) {
        const char *equals = strchr(overrides[k], '=');
        char *key = equals ? strndup(overrides[k], (size_t)(equals - overrides[k])) : NULL;
        s = key ? json_override(e->doc, key, equals + 1, &err)
                : tutti_fail(&err, TUTTI_E_ARG, "--set %s: want path=value", overrides[k]);
        free(key);
    }
    if (s)
        faults_add(f, NULL, "%s", err.text);
    else
        read_all(e, r, dirname(copy), f);
    free(copy);
    if (faults_count(f) == 0)
        return e;
    engine_file_free(e);
    return NULL;
}

void engine_file_free(engine_file *e)
{
    if (!e)
        return;
    params_free(e->dataset_params);
    for (size_t k = 0; k < e->ntransforms; k++)
        params_free(e->transform_params[k]);
    free(e->transforms);
    free(e->transform_params);
    function_fini(&e->process);
    bindings_free(&e->handlers);
    json_free(e->doc);
    free(e);
}
