/* store_find.c - ROOT/EXPERIMENT_ID/RUN_ID, each with a meta.yaml; what is deleted lies in ROOT/.trash, or says so. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "store_find.h"

#include "run_id.h"
#include "store_file.h"
#include "store_meta.h"
#include "tables.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/random.h>
#include <unistd.h>

enum { LONGEST_ID = 64 /* as MLflow's */ };

/* Each folder in one that has a meta.yaml, by its name; `take` ends the search with true. */
typedef bool take_folder(void *ctx, const char *folder, const char *name);

static bool has_meta(const char *folder, const char *name)
{
    char meta[STORE_PATH];
    if (name[0] == '.' || strlen(name) > LONGEST_ID)
        return false;
    store_path(meta, "%s/%s/meta.yaml", folder, name);
    return store_is_there(meta);
}

static bool each_folder(const char *folder, take_folder *take, void *ctx)
{
    bool taken = false;
    DIR *d = opendir(folder);
    for (const struct dirent *e; d && !taken && (e = readdir(d));)
        taken = has_meta(folder, e->d_name) && take(ctx, folder, e->d_name);
    if (d)
        (void)closedir(d);
    return taken;
}

static bool meta_is(const char *folder, const char *name, const char *key, const char *value)
{
    char path[STORE_PATH];
    store_path(path, "%s/%s/meta.yaml", folder, name);
    char *found = meta_get(path, key);
    const bool is = found && strcmp(found, value) == 0;
    free(found);
    return is;
}

/* `n` random digits of 10 or 16, the first of which is not 0. */
static void make_id(char *to, size_t n, unsigned base)
{
    unsigned char bytes[64];
    if (getrandom(bytes, n, 0) != (ssize_t)n)
        memset(bytes, 0, n); /* does not happen for so few */
    for (size_t k = 0; k < n; k++)
        to[k] = "0123456789abcdef"[k ? bytes[k] % base : 1 + bytes[k] % (base - 1)];
    to[n] = '\0';
}

/* ---- ids of what is to be made ---- */

static void next_path(const store *s, char to[STORE_PATH])
{
    store_path(to, "%s.next", s->id_path);
}

static bool is_id(const char *text, const char *digits, size_t n)
{
    return strlen(text) == n && strspn(text, digits) == n;
}

/* Keeps the ids for the next process. */
static tutti_status keep_ids(store *s, tutti_error *err)
{
    char path[STORE_PATH], both[64];
    next_path(s, path);
    (void)snprintf(both, sizeof both, "%s %s", s->next_experiment, s->next_run);
    const tutti_status st = run_id_write(path, both, err);
    if (st)
        s->next_run[0] = '\0';
    return st;
}

/* Those of a process that was killed while it made an experiment or a run, so that nothing of them is left over; else
 * new ones, which are kept before anything is made. */
static tutti_status choose_ids(store *s, tutti_error *err)
{
    char path[STORE_PATH], both[64], *run;
    if (s->next_run[0])
        return TUTTI_OK;
    next_path(s, path);
    run_id_read(path, both, sizeof both);
    run = both + strcspn(both, " ");
    if (*run)
        *run++ = '\0';
    if (is_id(both, "0123456789", 18) && is_id(run, "0123456789abcdef", 32)) {
        memcpy(s->next_experiment, both, 19);
        memcpy(s->next_run, run, 33);
        return TUTTI_OK;
    }
    make_id(s->next_experiment, 18, 10);
    make_id(s->next_run, 32, 16);
    return keep_ids(s, err);
}

/* As choose_ids; what has become whole under that id meanwhile, with another name or deleted, stays as it is. */
static tutti_status choose_experiment(store *s, tutti_error *err)
{
    char trash[STORE_PATH];
    const tutti_status st = choose_ids(s, err);
    store_path(trash, "%s/.trash", s->root);
    if (st || (!has_meta(s->root, s->next_experiment) && !has_meta(trash, s->next_experiment)))
        return st;
    make_id(s->next_experiment, 18, 10);
    return keep_ids(s, err);
}

void store_forget_ids(store *s)
{
    char path[STORE_PATH];
    next_path(s, path);
    (void)unlink(path);
    s->next_run[0] = s->next_experiment[0] = '\0';
}

/* ---- experiments ---- */

typedef struct by_name {
    const char *name;
    char id[LONGEST_ID + 1];
} by_name;

static bool take_named(void *ctx, const char *folder, const char *name)
{
    by_name *b = ctx;
    if (!meta_is(folder, name, "name", b->name))
        return false;
    memcpy(b->id, name, strlen(name) + 1); /* no longer than an id */
    return true;
}

static tutti_status make_experiment(const store *s, const char *id, const char *name,
                                    json_int_t now_ms, tutti_error *err)
{
    char path[STORE_PATH], at[STORE_PATH], now[32];
    store_path(at, "%s/%s", s->root, id);
    store_path(path, "%s/meta.yaml", at);
    (void)snprintf(now, sizeof now, "%lld", (long long)now_ms);
    const meta_entry entries[] = {
        {"artifact_location", at, META_TEXT},     {"creation_time", now, META_BARE},
        {"experiment_id", id, META_TEXT},         {"last_update_time", now, META_BARE},
        {"lifecycle_stage", "active", META_TEXT}, {"name", name, META_TEXT},
    };
    return meta_write(path, entries, sizeof entries / sizeof *entries, err);
}

static bool take_any(void *ctx, const char *folder, const char *name)
{
    (void)ctx, (void)folder, (void)name;
    return true;
}

/* A new store has an experiment 0, and a folder for what is deleted.  One whose maker was killed is new still. */
static tutti_status fill_root(const store *s, json_int_t now_ms, tutti_error *err)
{
    char trash[STORE_PATH];
    store_path(trash, "%s/.trash", s->root);
    const bool is_new = !each_folder(s->root, take_any, NULL) && !store_is_there(trash);
    const tutti_status made =
        is_new ? make_experiment(s, "0", "Default", now_ms, err) : TUTTI_OK;
    return made ? made : store_make_folder(trash, err);
}

static tutti_status take_experiment(store *s, const store_begin *b, by_name *ret,
                                    tutti_error *err)
{
    char trash[STORE_PATH];
    *ret = (by_name){.name = b->experiment};
    store_path(trash, "%s/.trash", s->root);
    if (each_folder(s->root, take_named, ret))
        return TUTTI_OK;
    if (each_folder(trash, take_named, ret))
        return tutti_fail(
            err, TUTTI_E_EXISTS,
            "mlflow: the experiment %s of %s is deleted, want it restored, or its "
            "folder %s removed from .trash",
            b->experiment, s->root, ret->id);
    const tutti_status st = choose_experiment(s, err);
    if (st)
        return st;
    (void)snprintf(ret->id, sizeof ret->id, "%s", s->next_experiment);
    return make_experiment(s, ret->id, b->experiment, b->start_ms, err);
}

/* ---- runs ---- */

static bool take_run_of(void *ctx, const char *folder, const char *name)
{
    store *s = ctx;
    char meta[STORE_PATH];
    store_path(meta, "%s/%s/%s/meta.yaml", folder, name, s->run_id);
    if (!store_is_there(meta))
        return false;
    (void)snprintf(s->run, sizeof s->run, "%.639s/%.64s/%.64s", folder, name, s->run_id);
    return true;
}

bool store_find_run(store *s)
{
    const size_t n = strspn(s->run_id, "0123456789abcdefghijklmnopqrstuvwxyz");
    return n > 0 && n <= LONGEST_ID && !s->run_id[n] && each_folder(s->root, take_run_of, s);
}

typedef struct newest_run {
    const char *name;
    long long start_ms;
    char id[LONGEST_ID + 1];
} newest_run;

/* By the tag run_name, as on a server. */
static bool take_newest(void *ctx, const char *folder, const char *name)
{
    newest_run *r = ctx;
    char path[STORE_PATH];
    store_path(path, "%s/%s/tags/run_name", folder, name);
    char *tag = store_read(path);
    store_path(path, "%s/%s/meta.yaml", folder, name);
    char *start = meta_get(path, "start_time");
    const long long start_ms = start ? strtoll(start, NULL, 10) : 0;
    if (tag && strcmp(tag, r->name) == 0 && start_ms >= r->start_ms &&
        !meta_is(folder, name, "lifecycle_stage", "deleted")) {
        r->start_ms = start_ms;
        memcpy(r->id, name, strlen(name) + 1); /* no longer than an id */
    }
    free(tag);
    free(start);
    return false;
}

static tutti_status write_tag(const store *s, const char *key, const char *value,
                              tutti_error *err)
{
    char path[STORE_PATH];
    if (!store_is_name(key))
        return tutti_fail(err, TUTTI_E_ARG, "mlflow: the tag %s is no name for a file of %s",
                          key, s->root);
    store_path(path, "%s/tags/%s", s->run, key);
    return store_write(path, value, strlen(value), err);
}

static tutti_status write_tags(const store *s, const store_begin *b, tutti_error *err)
{
    const json_t *tag;
    size_t k;
    tutti_status st = write_tag(s, "mlflow.runName", b->name, err);
    json_array_foreach((json_t *)(uintptr_t)b->tags, k, tag)
    {
        if (!st)
            st = write_tag(s, json_string_value(json_object_get(tag, "key")),
                           json_string_value(json_object_get(tag, "value")), err);
    }
    return st;
}

static tutti_status write_run(const store *s, const char *experiment, const store_begin *b,
                              tutti_error *err)
{
    char path[STORE_PATH], files[STORE_PATH], start[32];
    store_path(path, "%s/meta.yaml", s->run);
    store_path(files, "%s/artifacts", s->run);
    (void)snprintf(start, sizeof start, "%lld", (long long)b->start_ms);
    const meta_entry entries[] = {
        {"artifact_uri", files, META_TEXT},
        {"deleted_time", "null", META_BARE},
        {"end_time", "null", META_BARE},
        {"entry_point_name", "", META_TEXT},
        {"experiment_id", experiment, META_TEXT},
        {"lifecycle_stage", "active", META_TEXT},
        {"run_id", s->run_id, META_TEXT},
        {"run_name", b->name, META_TEXT},
        {"run_uuid", s->run_id, META_TEXT}, /* MLflow 2 wants both */
        {"source_name", "", META_TEXT},
        {"source_type", "4", META_BARE}, /* local */
        {"source_version", "", META_TEXT},
        {"start_time", start, META_BARE},
        {"status", "1", META_BARE}, /* running */
        {"tags", NULL, META_LIST},
        {"user_id", "", META_TEXT},
    };
    return meta_write(path, entries, sizeof entries / sizeof *entries, err);
}

/* Its meta.yaml comes last: what has none is no run. */
static tutti_status make_run(store *s, const char *experiment, const store_begin *b,
                             tutti_error *err)
{
    static const char *const folders[] = {"metrics", "params", "artifacts", "tags"};
    char path[STORE_PATH];
    tutti_status st = TUTTI_OK;
    (void)snprintf(s->run, sizeof s->run, "%s/%.64s/%.64s", s->root, experiment, s->run_id);
    for (size_t k = 0; k < sizeof folders / sizeof *folders && !st; k++) {
        store_path(path, "%s/%s", s->run, folders[k]);
        st = store_make_folder(path, err);
    }
    if (!st)
        st = write_tags(s, b, err);
    return st ? st : write_run(s, experiment, b, err);
}

/* Whether the run that is found is the one that `b` began: in its experiment, by a process that was killed before it
 * noted so, or by the same record. */
static bool is_begun(const store *s, const char *experiment, const store_begin *b)
{
    char path[STORE_PATH], known[sizeof s->run_id];
    store_path(path, "%s/%s/%s", s->root, experiment, s->run_id);
    if (strcmp(path, s->run) != 0 || meta_is(s->run, ".", "lifecycle_stage", "deleted"))
        return false;
    run_id_read(s->id_path, known, sizeof known);
    if (strcmp(known, s->run_id) != 0)
        return true;
    store_path(path, "%s/meta.yaml", s->run);
    char *start = meta_get(path, "start_time");
    const bool same = start && strtoll(start, NULL, 10) == (long long)b->start_ms;
    free(start);
    return same;
}

static tutti_status go_on(const store *s, tutti_error *err)
{
    static const meta_entry running[] = {{"status", "1", META_BARE},
                                         {"end_time", "null", META_BARE}};
    char path[STORE_PATH];
    store_path(path, "%s/meta.yaml", s->run);
    if (meta_is(s->run, ".", "lifecycle_stage", "deleted"))
        return tutti_fail(err, TUTTI_E_EXISTS,
                          "mlflow: the run %s is deleted, want it restored, or %s removed",
                          s->run, s->id_path);
    return meta_set(path, running, 2, err);
}

/* What has become whole under the id that is kept goes on where `b` began it; else it stays as it is. */
static tutti_status begin_or_make(store *s, const char *experiment, const store_begin *b,
                                  tutti_error *err)
{
    char trash[STORE_PATH];
    tutti_status st = choose_ids(s, err);
    if (st)
        return st;
    store_path(trash, "%s/.trash", s->root);
    (void)snprintf(s->run_id, sizeof s->run_id, "%s", s->next_run);
    const bool is_whole = store_find_run(s);
    if (is_whole && is_begun(s, experiment, b))
        return go_on(s, err);
    if (is_whole || each_folder(trash, take_run_of, s)) {
        make_id(s->next_run, 32, 16);
        st = keep_ids(s, err);
        (void)snprintf(s->run_id, sizeof s->run_id, "%s", s->next_run);
    }
    return st ? st : make_run(s, experiment, b, err);
}

/* A run of that name in the experiment, or a new one. */
static tutti_status take_or_make(store *s, const store_begin *b, tutti_error *err)
{
    by_name experiment;
    char folder[STORE_PATH];
    newest_run newest = {.name = b->name};
    tutti_status st = take_experiment(s, b, &experiment, err);
    if (st)
        return st;
    store_path(folder, "%s/%s", s->root, experiment.id);
    if (b->resume)
        (void)each_folder(folder, take_newest, &newest);
    (void)snprintf(s->run_id, sizeof s->run_id, "%s", newest.id);
    return store_find_run(s) ? go_on(s, err) : begin_or_make(s, experiment.id, b, err);
}

/* A run that the file knows and that is not here, as it was on a server or in another folder: says so, once there is
 * another. */
static tutti_status replace_run(store *s, const store_begin *b, tutti_error *err)
{
    char known[sizeof s->run_id], text[STORE_PATH];
    memcpy(known, s->run_id, sizeof known);
    const tutti_status st = take_or_make(s, b, err);
    store_path(text, "mlflow: %s has no run %s, which %s names; this one goes to the run %s",
               s->root, known, s->id_path, s->run_id);
    if (!st && known[0] && s->log)
        s->log->write(s->log->ctx, TUTTI_LOG_WARNING, text);
    return st;
}

tutti_status store_take_run(store *s, const store_begin *b, tutti_error *err)
{
    tutti_status st = store_make_folder(s->root, err);
    if (st)
        return st;
    /* Two runs that begin at once make one experiment; where folders cannot be locked, nothing is. */
    const int lock = open(s->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (lock >= 0)
        (void)flock(lock, LOCK_EX);
    s->run_id[0] = '\0';
    if (b->resume)
        run_id_read(s->id_path, s->run_id, sizeof s->run_id);
    st = fill_root(s, b->start_ms, err);
    if (!st)
        st = store_find_run(s) ? go_on(s, err) : replace_run(s, b, err);
    if (lock >= 0)
        (void)close(lock);
    return st;
}
