/* store.c - records of the outbox as files of the run's folder. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "store.h"

#include "run_id.h"
#include "store_file.h"
#include "store_find.h"
#include "store_meta.h"
#include "tables.h"
#include "tracking.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static tutti_status no_memory(tutti_error *err)
{
    return tutti_fail(err, TUTTI_E_NOMEM, "mlflow: no memory");
}

/* ---- the address ---- */

/* %20 and the like. */
static void store_unescape(char *text)
{
    char *to = text;
    for (const char *at = text; *at; at++) {
        unsigned code;
        const bool escaped = at[0] == '%' && sscanf(at + 1, "%2x", &code) == 1 && at[1] != '-';
        *to++ = escaped ? (char)code : *at;
        at += escaped ? 2 : 0;
    }
    *to = '\0';
}

/* The path of file:PATH, file:///PATH, or of what is no address; NULL: it is another address. */
static const char *path_of(const char *uri)
{
    static const char scheme[] = "file:", local[] = "//localhost/";
    if (strncmp(uri, scheme, sizeof scheme - 1) != 0)
        return strstr(uri, "://") || strcmp(uri, "databricks") == 0 ? NULL : uri;
    uri += sizeof scheme - 1;
    if (strncmp(uri, local, sizeof local - 1) == 0)
        return uri + sizeof local - 2;
    if (strncmp(uri, "///", 3) == 0)
        return uri + 2;
    return strncmp(uri, "//", 2) == 0 || !*uri ? NULL : uri;
}

tutti_status store_open(store *s, const char *uri, tutti_error *err)
{
    char folder[sizeof s->root] = "";
    const char *given = path_of(uri);
    if (!given)
        return tutti_fail(err, TUTTI_E_ARG,
                          "mlflow: tracking_uri is %.300s, want the address of a tracking "
                          "server, as http://localhost:5000, or a folder, as mlruns or "
                          "file:///data/mlruns",
                          uri);
    char *path = strdup(given);
    if (!path)
        return no_memory(err);
    if (given != uri)
        store_unescape(path);
    if (path[0] != '/' && !getcwd(folder, sizeof folder))
        folder[0] = '\0';
    const int n = snprintf(s->root, sizeof s->root, "%s%s%s", folder, path[0] == '/' ? "" : "/",
                           strncmp(path, "./", 2) ? path : path + 2);
    free(path);
    if (n < 0 || (size_t)n >= sizeof s->root)
        return tutti_fail(err, TUTTI_E_RANGE,
                          "mlflow: the folder of tracking_uri has a path of more than %zu "
                          "characters",
                          sizeof s->root - 1);
    for (size_t k = (size_t)n; k > 1 && s->root[k - 1] == '/';)
        s->root[--k] = '\0';
    return TUTTI_OK;
}

/* ---- records ---- */

static tutti_status begin_run(store *s, const json_t *record, tutti_error *err)
{
    const json_t *run = json_object_get(record, "run");
    const store_begin b = {.experiment =
                               json_string_value(json_object_get(record, "experiment")),
                           .name = json_string_value(json_object_get(run, "run_name")),
                           .start_ms = json_integer_value(json_object_get(run, "start_time")),
                           .tags = json_object_get(run, "tags"),
                           .resume = json_is_true(json_object_get(record, "resume"))};
    if (!b.experiment || !b.name)
        return tutti_fail(err, TUTTI_E_ARG, "mlflow: a record of a run's begin has no name");
    tutti_status st = store_take_run(s, &b, err);
    if (!st)
        st = run_id_write(s->id_path, s->run_id, err);
    if (st) {
        s->run_id[0] = s->run[0] = '\0';
        return TUTTI_E_IO; /* what follows goes nowhere until there is a run */
    }
    s->is_under_way = false;
    return TUTTI_OK;
}

/* As MLflow writes it; numbers read back exactly. */
static void put_value(const json_t *value, char *to, size_t room)
{
    const char *text = json_string_value(value);
    const double v = json_number_value(value);
    if (text) {
        (void)snprintf(to, room, "%s",
                       text[0] == 'N'   ? "nan"
                       : text[0] == '-' ? "-inf"
                                        : "inf");
        return;
    }
    for (int digits = 6; digits <= 17; digits++) {
        (void)snprintf(to, room, "%.*g", digits, v);
        if (strtod(to, NULL) == v)
            return;
    }
}

/* A line TIMESTAMP VALUE STEP of the metric's file. */
static tutti_status put_metric(store *s, const json_t *metric, tutti_error *err)
{
    char path[STORE_PATH], line[128], value[40];
    const char *name = json_string_value(json_object_get(metric, "key"));
    if (!name || !store_is_name(name))
        return tutti_fail(err, TUTTI_E_ARG, "mlflow: the metric %s is no name for a file of %s",
                          name ? name : "without a name", s->root);
    put_value(json_object_get(metric, "value"), value, sizeof value);
    const int n =
        snprintf(line, sizeof line, "%lld %s %lld\n",
                 (long long)json_integer_value(json_object_get(metric, "timestamp")), value,
                 (long long)json_integer_value(json_object_get(metric, "step")));
    store_path(path, "%s/metrics/%s", s->run, name);
    return store_append(path, line, (size_t)n, err);
}

/* Says once what has no file; the metrics beside it have theirs. */
static void tell_refused(store *s, const tutti_error *why)
{
    char text[sizeof why->text + 32];
    (void)snprintf(text, sizeof text, "%s; it is left out", why->text);
    if (!s->refused++ && s->log)
        s->log->write(s->log->ctx, TUTTI_LOG_WARNING, text);
}

/* Goes on, when it is tried again, behind what is in the files. */
static tutti_status put_metrics(store *s, const json_t *metrics, tutti_error *err)
{
    for (; s->done < json_array_size(metrics); s->done++) {
        tutti_error why = TUTTI_ERROR_INIT;
        const tutti_status st = put_metric(s, json_array_get(metrics, s->done), &why);
        if (st == TUTTI_E_ARG)
            tell_refused(s, &why);
        else if (st) {
            *err = why;
            return st;
        }
    }
    s->done = 0;
    return TUTTI_OK;
}

/* A parameter keeps the value that it has. */
static tutti_status put_params(const store *s, const json_t *params, tutti_error *err)
{
    const json_t *param = json_array_get(params, 0);
    const char *name = json_string_value(json_object_get(param, "key"));
    const char *value = json_string_value(json_object_get(param, "value"));
    char path[STORE_PATH];
    if (!name || !value || !store_is_name(name))
        return tutti_fail(err, TUTTI_E_ARG,
                          "mlflow: the parameter %s is no name for a file of %s",
                          name ? name : "without a name", s->root);
    store_path(path, "%s/params/%s", s->run, name);
    char *known = store_read(path);
    const bool differs = known && strcmp(known, value) != 0, is_there = known != NULL;
    tutti_status st = TUTTI_OK;
    if (differs)
        st = tutti_fail(err, TUTTI_E_ARG,
                        "mlflow: %s of the run %s is %.100s, and MLflow lets no parameter "
                        "become another (%.100s)",
                        name, s->run_id, known, value);
    free(known);
    return is_there ? st : store_write(path, value, strlen(value), err);
}

static tutti_status end_run(const store *s, const json_t *record, tutti_error *err)
{
    char path[STORE_PATH], when[32], text[96];
    const char *status = json_string_value(json_object_get(record, "status"));
    const json_int_t end_ms = json_integer_value(json_object_get(record, "end_time"));
    (void)snprintf(when, sizeof when, "%lld", (long long)end_ms);
    store_path(path, "%s/meta.yaml", s->run);
    (void)snprintf(text, sizeof text, "mlflow: %llu values of metrics were left out",
                   (unsigned long long)s->refused);
    if (s->refused > 1 && s->log)
        s->log->write(s->log->ctx, TUTTI_LOG_WARNING, text);
    const bool finished = status && strcmp(status, "FINISHED") == 0;
    const meta_entry entries[] = {{"status", finished ? "3" : "5" /* killed */, META_BARE},
                                  {"end_time", when, META_BARE}};
    return meta_set(path, entries, 2, err);
}

/* ---- files ---- */

static tutti_status tag_table(const store *s, const char *table, tutti_error *err)
{
    char path[STORE_PATH], *text = NULL;
    store_path(path, "%s/tags/" TABLES_TAG, s->run);
    char *known = store_read(path);
    json_t *tables = tables_read(known);
    free(known);
    tutti_status st = tables ? tables_add(tables, table, &text, err) : no_memory(err);
    if (text)
        st = store_write(path, text, strlen(text), err);
    free(text);
    json_decref(tables);
    return st;
}

static tutti_status put_file(const store *s, const char *rest, size_t size, tutti_error *err)
{
    char path[STORE_PATH];
    const char *name = rest, *media = name + strlen(name) + 1;
    const char *data = media + strlen(media) + 1;
    const int n = snprintf(path, sizeof path, "%s/artifacts/%s", s->run, name);
    if (!store_is_path(name) || n < 0 || (size_t)n >= sizeof path)
        return tutti_fail(err, TUTTI_E_ARG, "mlflow: %s is no name for a file of %s", name,
                          s->root);
    const tutti_status st = store_write(path, data, size - (size_t)(data - rest), err);
    return st || strcmp(media, "application/json") != 0 ? st : tag_table(s, name, err);
}

/* ---- sending ---- */

/* Records of an earlier process belong to the run that it has left. */
static tutti_status find_run(store *s, tutti_error *err)
{
    if (s->run[0])
        return TUTTI_OK;
    run_id_read(s->id_path, s->run_id, sizeof s->run_id);
    if (store_find_run(s))
        return TUTTI_OK;
    return tutti_fail(err, TUTTI_E_ARG, "mlflow: %s has no run %s, to which what waits belongs",
                      s->root, s->run_id[0] ? s->run_id : "that is known");
}

/* A record is an object of JSON, but for the brace before it where the run's id would stand. */
static json_t *parse_record(const store *s, const outbox_record *r, tutti_error *err)
{
    const size_t size = r->size - 1;
    char *text = malloc(size + 1);
    if (!text) {
        (void)no_memory(err);
        return NULL;
    }
    text[0] = '{';
    memcpy(text + 1, r->data + 1, size);
    const bool braced = r->data[0] == TRACKING_BEGIN;
    const unsigned long before = json_memory_watch();
    json_t *record = json_loadb(braced ? text + 1 : text, braced ? size : size + 1, 0, NULL);
    const tutti_status lacks = json_memory_told(before, &record, "mlflow", err);
    free(text);
    if (!lacks && !record)
        (void)tutti_fail(err, TUTTI_E_ARG, "mlflow: what waits for %s is no JSON", s->root);
    return record;
}

/* A begin that is sent twice, as a process was killed between its sending and its removal from what waits, takes the
 * same ids; they are used up once another record comes. */
static tutti_status find_run_under_way(store *s, tutti_error *err)
{
    const tutti_status st = find_run(s, err);
    if (!st && !s->is_under_way)
        store_forget_ids(s);
    s->is_under_way = !st;
    return st;
}

tutti_status store_send(store *s, const outbox_record *r, tutti_error *err)
{
    tutti_status st = r->data[0] == TRACKING_BEGIN ? TUTTI_OK : find_run_under_way(s, err);
    if (st)
        return st;
    if (r->data[0] == TRACKING_FILE)
        return put_file(s, r->data + 1, r->size - 1, err);
    json_t *record = parse_record(s, r, err);
    if (!record)
        return err->status;
    const json_t *params = json_object_get(record, "params");
    st = r->data[0] == TRACKING_BEGIN ? begin_run(s, record, err)
         : r->data[0] == TRACKING_END ? end_run(s, record, err)
         : params                     ? put_params(s, params, err)
                                      : put_metrics(s, json_object_get(record, "metrics"), err);
    json_decref(record);
    return st;
}
