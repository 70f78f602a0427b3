/* plugin.c - mlflow: metrics and hyperparameters to a tracking server or a folder, in batches. */
/* SPDX-License-Identifier: Apache-2.0 */
#define TUTTI_USE_MINOR 1 /* tables, images */
#define TUTTI_MIN_MINOR 0 /* which an older host does not send */
#include "../common/json_line.h"
#include "../common/outbox_logger.h"
#include "mlflow.h"
#include "run_id.h"

#include <fnmatch.h>

enum { MOST_METRICS = 1000 /* that the server takes in one call */ };

static tutti_status mlflow_send(void *ctx, const outbox_record *records, uint32_t n,
                                uint32_t *ret_sent, tutti_error *err)
{
    mlflow *m = ctx;
    tutti_status s = TUTTI_OK;
    while (*ret_sent < n && !s) {
        s = m->store.root[0] ? store_send(&m->store, &records[*ret_sent], err)
                             : tracking_send(&m->tracking, &records[*ret_sent], err);
        *ret_sent += s == TUTTI_OK;
    }
    return s;
}

/* ---- opening ---- */

static void mlflow_free(mlflow *m)
{
    http_destroy(m->tracking.http);
    tracking_free(&m->tracking);
    free(m->tracking.url);
    free(m->location);
    free(m->tags.items);
    free(m->ignored_metrics.items);
    free(m->ignored_given.items);
    text_free(&m->metrics);
    text_free(&m->given);
    for (uint32_t k = 0; k < m->nsent; k++)
        free(m->sent[k].name);
    free(m->sent);
    free(m);
}

/* The setting, else the variable, else `otherwise`. */
static const char *mlflow_choose(const tutti_params *params, const char *name,
                                 const char *variable, const char *otherwise)
{
    const char *value = tutti_param_str(params, name);
    if (!value && variable)
        value = getenv(variable);
    return value && *value ? value : otherwise;
}

static tutti_status read_server(mlflow *m, const char *url, tutti_error *err)
{
    const char *token = getenv("MLFLOW_TRACKING_TOKEN");
    m->tracking.url = strdup(url);
    if (!m->tracking.url)
        return fail_memory(err);
    for (size_t n = strlen(m->tracking.url); n && m->tracking.url[n - 1] == '/';)
        m->tracking.url[--n] = '\0';
    if (token)
        (void)snprintf(m->tracking.token, sizeof m->tracking.token, "Authorization: Bearer %s",
                       token);
    return http_create("mlflow", &m->tracking.http, err);
}

static tutti_status read_address(mlflow *m, const tutti_host *host, const tutti_params *params,
                                 tutti_error *err)
{
    const char *uri = mlflow_choose(params, "tracking_uri", "MLFLOW_TRACKING_URI", "mlruns");
    if (strncmp(uri, "https://", 8) == 0 || strncmp(uri, "http://", 7) == 0)
        return read_server(m, uri, err);
    m->store.log = host->query(host->ctx, TUTTI_LOG_V1);
    memcpy(m->store.id_path, m->tracking.id_path, sizeof m->store.id_path);
    return store_open(&m->store, uri, err);
}

/* The folder, or the server's address without a user and a password. */
static tutti_status set_location(mlflow *m, tutti_error *err)
{
    if (m->store.root[0]) {
        m->location = strdup(m->store.root);
        return m->location ? TUTTI_OK : fail_memory(err);
    }
    const char *url = m->tracking.url, *host = strstr(url, "://") + 3;
    const char *user = memchr(host, '@', strcspn(host, "/"));
    const size_t room = strlen(url) + 1;
    m->location = malloc(room);
    if (!m->location)
        return fail_memory(err);
    (void)snprintf(m->location, room, "%.*s%s", (int)(host - url), url, user ? user + 1 : host);
    return TUTTI_OK;
}

static bool read_words(const tutti_params *params, const char *name, words *ret)
{
    const tutti_param *p = tutti_param_find(params, name);
    ret->items = calloc(p->count ? p->count : 1, sizeof *ret->items);
    for (uint64_t k = 0; ret->items && k < p->count; k++)
        ret->items[ret->count++] = p->items[k]->s;
    return ret->items != NULL;
}

static tutti_status read_settings(mlflow *m, const tutti_host *host, const tutti_params *params,
                                  tutti_error *err)
{
    const tutti_checkpoint_v1 *checkpoint =
        logger_service(host, "mlflow", TUTTI_CHECKPOINT_V1, err);
    if (!checkpoint)
        return TUTTI_E_UNSUPPORTED;
    (void)snprintf(m->host_run_name, sizeof m->host_run_name, "%s",
                   checkpoint->run_name(checkpoint->ctx));
    (void)snprintf(m->tracking.id_path, sizeof m->tracking.id_path, "%s/mlflow.run",
                   checkpoint->run_folder(checkpoint->ctx));
    m->experiment = mlflow_choose(params, "experiment_name", "MLFLOW_EXPERIMENT_NAME",
                                  "my-mlflow-experiment");
    m->run_name = mlflow_choose(params, "run_name", NULL, m->host_run_name);
    m->run_group = tutti_param_str(params, "run_group");
    m->resume = tutti_param_i64(params, "resume") != 0;
    m->flush_interval = tutti_param_i64(params, "flush_interval");
    m->every = (uint64_t)tutti_param_i64(params, "log_duplicated_metric_every_n_steps");
    if (!read_words(params, "tags", &m->tags) ||
        !read_words(params, "ignore_metrics", &m->ignored_metrics) ||
        !read_words(params, "ignore_hyperparameters", &m->ignored_given))
        return fail_memory(err);
    for (uint64_t k = 0; k < m->tags.count; k++)
        if (!strchr(m->tags.items[k], '='))
            return tutti_fail(err, TUTTI_E_ARG,
                              "mlflow: the tag %s has no value, want NAME=VALUE",
                              m->tags.items[k]);
    return TUTTI_OK;
}

static tutti_status mlflow_open(const tutti_host *host, const tutti_params *params,
                                void **ret_self, tutti_error *err)
{
    mlflow *m = calloc(1, sizeof *m);
    if (!m)
        return fail_memory(err);
    tutti_status s = read_settings(m, host, params, err);
    if (!s)
        s = read_address(m, host, params, err);
    if (!s)
        s = set_location(m, err);
    if (!s)
        s = outbox_logger_open((outbox_config){.who = "mlflow", .ctx = m, .send = mlflow_send},
                               host, params, &m->outbox, err);
    m->tracking.outbox = m->outbox;
    if (s) {
        mlflow_free(m);
        return s;
    }
    *ret_self = m;
    return TUTTI_OK;
}

/* ---- records ---- */

static tutti_status mlflow_flush(mlflow *m, tutti_error *err)
{
    if (!m->nmetrics || !m->has_begun)
        return TUTTI_OK;
    (void)fputs("]}", m->metrics.out);
    m->nmetrics = 0;
    return text_put(&m->metrics, m->outbox, err);
}

static tutti_status mlflow_event(void *self, const tutti_event *event, tutti_error *err)
{
    mlflow *m = self;
    tutti_status s = TUTTI_OK;
    const bool fits = event->id == TUTTI_EVENT_FIT_START;
    if (event->id != TUTTI_EVENT_INIT)
        s = mlflow_begin(m, fits && (event->time->batch > 0 || m->again), err);
    m->trains = m->trains || fits;
    m->has_ended = m->has_ended || event->id == TUTTI_EVENT_FIT_END;
    if (!s &&
        (event->id != TUTTI_EVENT_BATCH_END || event->time->batch % m->flush_interval == 0))
        s = mlflow_flush(m, err);
    const tutti_status sent = outbox_event(m->outbox, event, err);
    return s ? s : sent;
}

static tutti_status put_end(mlflow *m, tutti_error *err)
{
    text t = {0};
    if (!text_begin(&t))
        return fail_memory(err);
    (void)fprintf(t.out, "%c\"status\":\"%s\",\"end_time\":%lld}", TRACKING_END,
                  m->trains && !m->has_ended ? "KILLED" : "FINISHED", (long long)now_ms());
    return text_put(&t, m->outbox, err);
}

static tutti_status mlflow_close(void *self, tutti_error *err)
{
    mlflow *m = self;
    tutti_status s = TUTTI_OK;
    char id[64];
    run_id_read(m->tracking.id_path, id, sizeof id);
    /* A process that has no more than settings to tell, as nothing is left to train, is none of MLflow's runs where the folder
     * has one. */
    if (m->nmetrics || (m->given.out && (m->has_begun || !id[0])))
        s = mlflow_begin(m, false, err);
    if (!s)
        s = mlflow_flush(m, err);
    if (!s && m->has_begun)
        s = put_end(m, err);
    outbox_destroy(m->outbox);
    mlflow_free(m);
    return s;
}

/* ---- the calls of a logger ---- */

static bool mlflow_ignored(const words *patterns, const char *name)
{
    for (uint64_t k = 0; k < patterns->count; k++)
        if (fnmatch(patterns->items[k], name, 0) == 0)
            return true;
    return false;
}

/* The metric's last value, made when there is none; NULL: no memory. */
static sent_value *find_sent(mlflow *m, const char *name, bool *ret_is_new)
{
    *ret_is_new = false;
    for (uint32_t k = 0; k < m->nsent; k++)
        if (strcmp(m->sent[k].name, name) == 0)
            return &m->sent[k];
    if (m->nsent == m->capacity) {
        const uint32_t capacity = 2 * m->capacity + 32;
        sent_value *grown = realloc(m->sent, capacity * sizeof *grown);
        if (!grown)
            return NULL;
        m->sent = grown;
        m->capacity = capacity;
    }
    sent_value *v = &m->sent[m->nsent];
    *v = (sent_value){.name = strdup(name)};
    m->nsent += v->name != NULL;
    *ret_is_new = true;
    return v->name ? v : NULL;
}

/* A whole record before the run has begun. */
static tutti_status keep_metrics(mlflow *m, tutti_error *err)
{
    (void)fputs("]}", m->metrics.out);
    m->nmetrics = 0;
    const bool whole = fclose(m->metrics.out) == 0 && text_begin(&m->given);
    m->metrics.out = NULL;
    if (whole)
        (void)fprintf(m->given.out, "%s\n", m->metrics.data);
    text_free(&m->metrics);
    return whole ? TUTTI_OK : fail_memory(err);
}

static tutti_status add_metric(mlflow *m, const tutti_named_value *value, uint64_t step,
                               tutti_error *err)
{
    bool is_new;
    sent_value *last = mlflow_ignored(&m->ignored_metrics, value->name)
                           ? NULL
                           : find_sent(m, value->name, &is_new);
    if (!last)
        return mlflow_ignored(&m->ignored_metrics, value->name) ? TUTTI_OK : fail_memory(err);
    if (!is_new && last->value == value->value && step < last->step + m->every)
        return TUTTI_OK;
    last->value = value->value;
    last->step = step;
    if (!text_begin(&m->metrics))
        return fail_memory(err);
    FILE *out = m->metrics.out;
    if (m->nmetrics)
        (void)fputs(",", out);
    else
        (void)fprintf(out, "%c\"metrics\":[", TRACKING_LOG);
    m->nmetrics++;
    (void)fputs("{\"key\":", out);
    json_line_string(out, value->name);
    (void)fputs(",\"value\":", out);
    json_line_number(out, value->value);
    (void)fprintf(out, ",\"timestamp\":%lld,\"step\":%llu}", (long long)now_ms(),
                  (unsigned long long)step);
    if (m->nmetrics < MOST_METRICS)
        return TUTTI_OK;
    return m->has_begun ? mlflow_flush(m, err) : keep_metrics(m, err);
}

static tutti_status mlflow_metrics(void *self, const tutti_named_value *values, uint32_t n,
                                   uint64_t step, tutti_error *err)
{
    tutti_status s = TUTTI_OK;
    for (uint32_t k = 0; k < n && !s; k++)
        s = add_metric(self, &values[k], step, err);
    return s;
}

/* A parameter is a text; a string of JSON loses its quotes and keeps its
 * escapes. */
static void put_param(FILE *out, const tutti_named_text *given)
{
    const size_t size = strlen(given->text);
    const bool quoted = size >= 2 && given->text[0] == '"';
    (void)fprintf(out, "%c\"params\":[{\"key\":", TRACKING_LOG);
    json_line_string(out, given->name);
    (void)fputs(",\"value\":", out);
    if (quoted)
        (void)fputs(given->text, out);
    else
        json_line_string(out, given->text);
    (void)fputs("}]}", out);
}

static tutti_status mlflow_hyperparameters(void *self, const tutti_named_text *values,
                                           uint32_t n, tutti_error *err)
{
    mlflow *m = self;
    for (uint32_t k = 0; k < n; k++) {
        if (mlflow_ignored(&m->ignored_given, values[k].name))
            continue;
        if (!text_begin(&m->given))
            return fail_memory(err);
        put_param(m->given.out, &values[k]);
        (void)fputc('\n', m->given.out);
    }
    return m->has_begun ? mlflow_begin(m, false, err) : TUTTI_OK;
}

static tutti_status mlflow_sync(void *self, tutti_error *err)
{
    mlflow *m = self;
    const tutti_status s = mlflow_flush(m, err);
    outbox_sync(m->outbox);
    return s;
}

/* Whoever was killed before the first checkpoint has begun a run in MLflow, which goes on, if it had come so far. */
static tutti_status mlflow_begin_again(void *self, tutti_error *err)
{
    mlflow *m = self;
    char id[64];
    run_id_read(m->tracking.id_path, id, sizeof id);
    m->again = id[0] != '\0';
    return outbox_begin_again(m->outbox, err);
}

static const char *mlflow_location(void *self)
{
    return ((mlflow *)self)->location;
}

static const void *mlflow_query(void *self, const char *interface_id)
{
    static const tutti_logger_v1 table = {.struct_size = sizeof table,
                                          .metrics = mlflow_metrics,
                                          .hyperparameters = mlflow_hyperparameters,
                                          .sync = mlflow_sync,
                                          .begin_again = mlflow_begin_again,
                                          .table = mlflow_table,
                                          .images = mlflow_images,
                                          .location = mlflow_location};
    (void)self;
    return strcmp(interface_id, TUTTI_LOGGER_V1) == 0 ? &table : NULL;
}

LOGGER_PLUGIN("mlflow", .open = mlflow_open, .run_event = mlflow_event, .close = mlflow_close,
              .query = mlflow_query);
