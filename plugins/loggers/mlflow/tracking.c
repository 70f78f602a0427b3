/* tracking.c - REST calls under /api/2.0/mlflow, and the file that knows the run. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "tracking.h"

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
    *ret_answer = json_loadb(answer.body, answer.size, 0, NULL);
    return *ret_answer ? TUTTI_OK
                       : tutti_fail(err, TUTTI_E_IO, "mlflow: %s answers %s with no JSON",
                                    http_host(t->http), what);
}

/* As call, of a body that is freed here. */
static tutti_status tracking_post(tracking *t, const char *path, json_t *body,
                                  json_t **ret_answer, tutti_error *err)
{
    char *text = body ? json_dumps(body, JSON_COMPACT) : NULL;
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

/* ---- the file ---- */

static void read_id(tracking *t)
{
    FILE *in = fopen(t->id_path, "re");
    if (!in)
        return;
    if (!fgets(t->run_id, sizeof t->run_id, in))
        t->run_id[0] = '\0';
    t->run_id[strcspn(t->run_id, "\r\n")] = '\0';
    (void)fclose(in);
}

static tutti_status write_id(const tracking *t, tutti_error *err)
{
    char next[sizeof t->id_path + 8];
    (void)snprintf(next, sizeof next, "%s.tmp", t->id_path);
    FILE *out = fopen(next, "we");
    bool whole = out && fprintf(out, "%s\n", t->run_id) > 0;
    if (out && fclose(out) != 0)
        whole = false;
    if (!whole || rename(next, t->id_path) != 0)
        return tutti_fail(err, TUTTI_E_IO, "mlflow: cannot write %s: %s", t->id_path,
                          strerror(errno));
    return TUTTI_OK;
}

/* ---- finding and making ---- */

/* As a part of an address. */
static void tracking_escape(const char *text, char *to, size_t room)
{
    size_t n = 0;
    for (; *text && n + 4 < room; text++) {
        const unsigned char c = (unsigned char)*text;
        if (isalnum(c) || strchr("-_.~", c))
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
    tracking_escape(name, escaped, sizeof escaped);
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

static tutti_status find_run(tracking *t, json_t *begin, tutti_error *err)
{
    char experiment[64] = "";
    json_t *run = json_object_get(begin, "run");
    const char *name = json_string_value(json_object_get(run, "run_name"));
    const char *in = json_string_value(json_object_get(begin, "experiment"));
    const bool resume = json_is_true(json_object_get(begin, "resume"));
    t->run_id[0] = '\0';
    if (!name || !in)
        return tutti_fail(err, TUTTI_E_ARG, "mlflow: a record of a run's begin has no name");
    if (resume)
        read_id(t);
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
        json_t *begin = json_loadb(rest, size, 0, NULL);
        tutti_status s = find_run(t, begin, err);
        json_decref(begin);
        if (s) /* what follows goes nowhere until there is a run */
            return s == TUTTI_E_ARG ? TUTTI_E_IO : s;
        return write_id(t, err);
    }
    if (!t->run_id[0])
        read_id(t); /* of an earlier process, which has left this record */
    if (!t->run_id[0])
        return tutti_fail(err, TUTTI_E_ARG,
                          "mlflow: %s does not say to which run what waits belongs",
                          t->id_path);
    return call_run(t, record->data[0] == TRACKING_END ? "runs/update" : "runs/log-batch", rest,
                    size, err);
}
