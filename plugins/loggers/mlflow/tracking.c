/* tracking.c - REST calls under /api/2.0/mlflow, and the file that knows the run. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "tracking.h"

#include "run_id.h"
#include "tables.h"

#include <ctype.h>
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- calls ---- */

/* One call; *ret_answer is its JSON, the caller's to free, or NULL for an answer of status `absent`. */
static tutti_status tracking_call(tracking *t, const char *method, const char *path,
                                  const char *body, long absent, json_t **ret_answer,
                                  tutti_error *err)
{
    char url[2048], what[64];
    http_answer answer;
    (void)snprintf(url, sizeof url, "%s/api/2.0/mlflow/%s", t->url, path);
    (void)snprintf(what, sizeof what, "%.*s", (int)strcspn(path, "?"), path);
    *ret_answer = NULL;
    tutti_status s = http_send(t->http, t->outbox,
                               &(http_request){.method = method,
                                               .url = url,
                                               .headers = {"Content-Type: application/json",
                                                           t->token[0] ? t->token : NULL},
                                               .body = body,
                                               .size = body ? strlen(body) : 0},
                               &answer, err);
    if (s || (absent && answer.status == absent))
        return s;
    s = http_judge(t->http, t->outbox, &answer, what, err);
    if (s)
        return s;
    const unsigned long before = json_memory_watch();
    *ret_answer = json_loadb(answer.body, answer.size, 0, NULL);
    s = json_memory_told(before, ret_answer, "mlflow", err);
    if (s)
        return s;
    return *ret_answer ? TUTTI_OK
                       : tutti_fail(err, TUTTI_E_IO, "mlflow: %s answers %s with no JSON",
                                    http_host(t->http), what);
}

/* As call, of a body that is freed here. */
static tutti_status tracking_post(tracking *t, const char *path, json_t *body,
                                  json_t **ret_answer, tutti_error *err)
{
    char *text = body ? json_dumps(body, JSON_COMPACT) : NULL;
    *ret_answer = NULL;
    json_decref(body);
    if (!text)
        return tutti_fail(err, TUTTI_E_NOMEM, "mlflow: no memory");
    const tutti_status s = tracking_call(t, "POST", path, text, 0, ret_answer, err);
    free(text);
    return s;
}

static tutti_status tracking_lacks(const tracking *t, const char *path, const char *key,
                                   tutti_error *err)
{
    return tutti_fail(err, TUTTI_E_IO, "mlflow: %s answers %s without %s", http_host(t->http),
                      path, key);
}

/* ---- finding and making ---- */

/* As a part of an address; `kept` stay as they are, as letters and digits do. */
static void tracking_escape(const char *text, const char *kept, char *to, size_t room)
{
    size_t n = 0;
    for (; *text && n + 4 < room; text++) {
        const unsigned char c = (unsigned char)*text;
        if (isalnum(c) || strchr(kept, c))
            to[n++] = (char)c;
        else
            n += (size_t)snprintf(to + n, room - n, "%%%02X", c);
    }
    to[n] = '\0';
}

/* The experiment of that name, which is made when there is none. */
static tutti_status get_experiment(tracking *t, const char *name, char *ret_id, size_t room,
                                   tutti_error *err)
{
    char escaped[1024], path[1200];
    json_t *answer;
    tracking_escape(name, "-_.~", escaped, sizeof escaped);
    (void)snprintf(path, sizeof path, "experiments/get-by-name?experiment_name=%s", escaped);
    tutti_status s = tracking_call(t, "GET", path, NULL, 404, &answer, err);
    const char *id = json_string_value(
        json_object_get(json_object_get(answer, "experiment"), "experiment_id"));
    if (!s && !answer) {
        s = tracking_post(t, "experiments/create", json_pack("{ss}", "name", name), &answer,
                          err);
        id = json_string_value(json_object_get(answer, "experiment_id"));
    }
    if (!s && !id)
        s = tracking_lacks(t, "experiments", "an experiment_id", err);
    if (!s)
        (void)snprintf(ret_id, room, "%s", id);
    json_decref(answer);
    return s;
}

static const char *run_id_of(const json_t *run)
{
    return json_string_value(json_object_get(json_object_get(run, "info"), "run_id"));
}

/* The newest run with the tag run_name; none is no error. */
static tutti_status search_run(tracking *t, const char *experiment, const char *run_name,
                               tutti_error *err)
{
    json_t *answer;
    json_t *filter = json_sprintf("tags.run_name = \"%s\"", run_name);
    const tutti_status s = tracking_post(t, "runs/search",
                                         json_pack("{s[s]sosi}", "experiment_ids", experiment,
                                                   "filter", filter, "max_results", 1),
                                         &answer, err);
    const char *id = run_id_of(json_array_get(json_object_get(answer, "runs"), 0));
    (void)snprintf(t->run_id, sizeof t->run_id, "%s", id ? id : "");
    json_decref(answer);
    return s;
}

static tutti_status create_run(tracking *t, const char *experiment, json_t *run,
                               tutti_error *err)
{
    json_t *answer;
    (void)json_object_set_new(run, "experiment_id", json_string(experiment));
    const tutti_status s = tracking_post(t, "runs/create", json_incref(run), &answer, err);
    const char *id = run_id_of(json_object_get(answer, "run"));
    if (id)
        (void)snprintf(t->run_id, sizeof t->run_id, "%s", id);
    json_decref(answer);
    return s || id ? s : tracking_lacks(t, "runs/create", "a run_id", err);
}

/* ---- records ---- */

/* A call about the run: `rest` follows the run's id. */
static tutti_status call_run(tracking *t, const char *path, const char *rest, size_t size,
                             tutti_error *err)
{
    json_t *answer;
    char *body = malloc(size + 128);
    if (!body)
        return tutti_fail(err, TUTTI_E_NOMEM, "mlflow: no memory");
    (void)snprintf(body, size + 128, "{\"run_id\":\"%s\",%.*s", t->run_id, (int)size, rest);
    const tutti_status s = tracking_call(t, "POST", path, body, 0, &answer, err);
    json_decref(answer);
    free(body);
    return s;
}

/* ---- files ---- */

/* The value of a tag; NULL: the run has none. */
static const char *tag_of(const json_t *run, const char *key)
{
    const json_t *tags = json_object_get(json_object_get(run, "data"), "tags"), *tag;
    size_t k;
    json_array_foreach((json_t *)(uintptr_t)tags, k, tag)
    {
        const char *name = json_string_value(json_object_get(tag, "key"));
        if (name && strcmp(name, key) == 0)
            return json_string_value(json_object_get(tag, "value"));
    }
    return NULL;
}

/* The server passes files on where the run's artifacts are at mlflow-artifacts:/PATH or //HOST/PATH. */
static tutti_status set_files(tracking *t, const char *uri, tutti_error *err)
{
    static const char proxied[] = "mlflow-artifacts:";
    const char *path = uri + sizeof proxied - 1;
    if (strncmp(uri, "http://", 7) == 0 || strncmp(uri, "https://", 8) == 0) {
        (void)snprintf(t->files, sizeof t->files, "%s", uri);
        return TUTTI_OK;
    }
    if (strncmp(uri, proxied, sizeof proxied - 1) != 0)
        return tutti_fail(
            err, TUTTI_E_ARG,
            "mlflow: the run's files are kept at %.200s, which no server passes on "
            "(mlflow server --serve-artifacts does)",
            uri);
    if (strncmp(path, "//", 2) == 0)
        path += 2 + strcspn(path + 2, "/");
    (void)snprintf(t->files, sizeof t->files, "%s/api/2.0/mlflow-artifacts/artifacts%s", t->url,
                   path);
    return TUTTI_OK;
}

/* Where the run's files go, and which tables it has: once a run. */
static tutti_status ask_files(tracking *t, tutti_error *err)
{
    char path[128];
    json_t *answer;
    if (t->files[0])
        return TUTTI_OK;
    (void)snprintf(path, sizeof path, "runs/get?run_id=%s", t->run_id);
    tutti_status s = tracking_call(t, "GET", path, NULL, 0, &answer, err);
    const json_t *run = json_object_get(answer, "run");
    const char *uri =
        json_string_value(json_object_get(json_object_get(run, "info"), "artifact_uri"));
    if (!s)
        s = uri ? set_files(t, uri, err)
                : tracking_lacks(t, "runs/get", "an artifact_uri", err);
    if (!s) {
        json_decref(t->tables);
        t->tables = tables_read(tag_of(run, TABLES_TAG));
        if (!t->tables) {
            t->files[0] = '\0'; /* to be asked again */
            s = tutti_fail(err, TUTTI_E_NOMEM, "mlflow: no memory for the run's tables");
        }
    }
    json_decref(answer);
    return s;
}

/* The tag by which MLflow's page knows its tables.  Where it fails, the server is asked anew which it has. */
static tutti_status tag_table(tracking *t, const char *path, tutti_error *err)
{
    char *value;
    json_t *answer = NULL;
    tutti_status s = tables_add(t->tables, path, &value, err);
    if (!s && value)
        s = tracking_post(
            t, "runs/set-tag",
            json_pack("{ssssss}", "run_id", t->run_id, "key", TABLES_TAG, "value", value),
            &answer, err);
    if (s)
        t->files[0] = '\0';
    free(value);
    json_decref(answer);
    return s;
}

static tutti_status send_file(tracking *t, const char *rest, size_t size, tutti_error *err)
{
    char escaped[1024], url[2100], type[64];
    const char *path = rest, *media = path + strlen(path) + 1;
    const char *data = media + strlen(media) + 1;
    http_answer answer;
    tutti_status s = ask_files(t, err);
    if (s)
        return s;
    tracking_escape(path, "-_.~/", escaped, sizeof escaped);
    (void)snprintf(url, sizeof url, "%s/%s", t->files, escaped);
    (void)snprintf(type, sizeof type, "Content-Type: %.40s", media);
    s = http_send(t->http, t->outbox,
                  &(http_request){.method = "PUT",
                                  .url = url,
                                  .headers = {type, t->token[0] ? t->token : NULL},
                                  .body = data,
                                  .size = size - (size_t)(data - rest)},
                  &answer, err);
    if (!s)
        s = http_judge(t->http, t->outbox, &answer, path, err);
    return s || strcmp(media, "application/json") != 0 ? s : tag_table(t, path, err);
}

void tracking_free(tracking *t)
{
    json_decref(t->tables);
}

static tutti_status find_run(tracking *t, json_t *begin, tutti_error *err)
{
    char experiment[64] = "";
    json_t *run = json_object_get(begin, "run");
    const char *name = json_string_value(json_object_get(run, "run_name"));
    const char *in = json_string_value(json_object_get(begin, "experiment"));
    const bool resume = json_is_true(json_object_get(begin, "resume"));
    t->run_id[0] = t->files[0] = '\0';
    if (!name || !in)
        return tutti_fail(err, TUTTI_E_ARG, "mlflow: a record of a run's begin has no name");
    if (resume)
        run_id_read(t->id_path, t->run_id, sizeof t->run_id);
    tutti_status s =
        t->run_id[0] ? TUTTI_OK : get_experiment(t, in, experiment, sizeof experiment, err);
    if (!s && resume && !t->run_id[0])
        s = search_run(t, experiment, name, err);
    static const char running[] = "\"status\":\"RUNNING\"}";
    if (!s && t->run_id[0])
        return call_run(t, "runs/update", running, sizeof running - 1, err);
    return s ? s : create_run(t, experiment, run, err);
}

tutti_status tracking_send(tracking *t, const outbox_record *record, tutti_error *err)
{
    const char *rest = record->data + 1;
    const size_t size = record->size - 1;
    if (record->data[0] == TRACKING_BEGIN) {
        const unsigned long before = json_memory_watch();
        json_t *begin = json_loadb(rest, size, 0, NULL);
        tutti_status s = json_memory_told(before, &begin, "mlflow", err);
        s = s ? s : find_run(t, begin, err);
        json_decref(begin);
        if (s) /* what follows goes nowhere until there is a run */
            return s == TUTTI_E_ARG ? TUTTI_E_IO : s;
        return run_id_write(t->id_path, t->run_id, err);
    }
    if (!t->run_id[0])
        run_id_read(t->id_path, t->run_id,
                    sizeof t->run_id); /* of an earlier process, which has left this record */
    if (!t->run_id[0])
        return tutti_fail(err, TUTTI_E_ARG,
                          "mlflow: %s does not say to which run what waits belongs",
                          t->id_path);
    if (record->data[0] == TRACKING_FILE)
        return send_file(t, rest, size, err);
    return call_run(t, record->data[0] == TRACKING_END ? "runs/update" : "runs/log-batch", rest,
                    size, err);
}
