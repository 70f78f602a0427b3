/* plugin.c - slack: the latest values, posted as messages of a section each. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../common/http.h"
#include "../common/json_line.h"
#include "../common/outbox_logger.h"

#include <regex.h>

typedef struct entry {
    char *key;
    char *text; /* as it is shown */
} entry;

typedef struct slack {
    outbox *outbox;
    http *http; /* the outbox's thread has it */
    char *url;
    regex_t include;
    bool includes_all;
    tutti_time interval;
    uint32_t most;  /* entries in a message */
    uint32_t count; /* entries that wait for the next one */
    entry *entries; /* (most) */
} slack;

static tutti_status slack_send(void *ctx, const outbox_record *records, uint32_t n,
                               uint32_t *ret_sent, tutti_error *err)
{
    slack *k = ctx;
    tutti_status s = TUTTI_OK;
    while (*ret_sent < n && !s) {
        const outbox_record *r = &records[*ret_sent];
        http_answer answer;
        s = http_send(k->http, k->outbox,
                      &(http_request){.method = "POST",
                                      .url = k->url,
                                      .headers = {"Content-Type: application/json"},
                                      .body = r->data,
                                      .size = r->size},
                      &answer, err);
        if (!s)
            s = http_judge(k->http, k->outbox, &answer, "a message", err);
        *ret_sent += s == TUTTI_OK;
    }
    return s;
}

static void slack_clear(slack *k)
{
    for (uint32_t j = 0; j < k->count; j++) {
        free(k->entries[j].key);
        free(k->entries[j].text);
    }
    k->count = 0;
}

static void slack_free(slack *k)
{
    slack_clear(k);
    if (!k->includes_all)
        regfree(&k->include);
    http_destroy(k->http);
    free(k->entries);
    free(k->url);
    free(k);
}

/* One expression of all: ^(one)|^(other). */
static tutti_status compile_keys(slack *k, const tutti_params *params, tutti_error *err)
{
    const tutti_param *keys = tutti_param_find(params, "include_keys");
    char *text = NULL, why[128];
    size_t size = 0;
    FILE *out = keys->count ? open_memstream(&text, &size) : NULL;
    k->includes_all = true;
    if (!keys->count)
        return TUTTI_OK;
    for (uint64_t j = 0; out && j < keys->count; j++)
        (void)fprintf(out, "%s^(%s)", j ? "|" : "", keys->items[j]->s);
    if (!out || fclose(out) != 0) {
        free(text);
        return tutti_fail(err, TUTTI_E_NOMEM, "slack: no memory");
    }
    const int bad = regcomp(&k->include, text, REG_EXTENDED | REG_NOSUB);
    free(text);
    k->includes_all = bad != 0; /* there is nothing to free then */
    if (!bad)
        return TUTTI_OK;
    (void)regerror(bad, &k->include, why, sizeof why);
    return tutti_fail(err, TUTTI_E_ARG, "slack: include_keys has no regular expressions: %s",
                      why);
}

static tutti_status read_settings(slack *k, const tutti_params *params, tutti_error *err)
{
    const char *url = tutti_param_str(params, "webhook_url");
    if (!url)
        url = getenv("SLACK_WEBHOOK_URL");
    if (!url || (strncmp(url, "https://", 8) != 0 && strncmp(url, "http://", 7) != 0))
        return tutti_fail(
            err, TUTTI_E_ARG, "slack: %s, want the https address of a webhook",
            url ? "webhook_url begins with neither https:// nor http://"
                : "there is no webhook_url, nor SLACK_WEBHOOK_URL in the environment");
    k->url = strdup(url);
    k->interval = tutti_param_time(params, "log_interval");
    k->most = (uint32_t)tutti_param_i64(params, "max_logs_per_message");
    k->entries = calloc(k->most ? k->most : 1, sizeof *k->entries);
    return k->url && k->entries ? TUTTI_OK : tutti_fail(err, TUTTI_E_NOMEM, "slack: no memory");
}

static tutti_status slack_open(const tutti_host *host, const tutti_params *params,
                               void **ret_self, tutti_error *err)
{
    slack *k = calloc(1, sizeof *k);
    if (!k)
        return tutti_fail(err, TUTTI_E_NOMEM, "slack: no memory");
    tutti_status s = compile_keys(k, params, err);
    if (!s)
        s = read_settings(k, params, err);
    if (!s)
        s = http_create("slack", &k->http, err);
    if (!s)
        s = outbox_logger_open((outbox_config){.who = "slack", .ctx = k, .send = slack_send},
                               host, params, &k->outbox, err);
    if (s) {
        slack_free(k);
        return s;
    }
    *ret_self = k;
    return TUTTI_OK;
}

/* ---- messages ---- */

static tutti_status fail_memory(tutti_error *err)
{
    return tutti_fail(err, TUTTI_E_NOMEM, "slack: no memory for a message");
}

static void put_section(FILE *out, const entry *e)
{
    char *line = NULL;
    size_t size = 0;
    FILE *text = open_memstream(&line, &size);
    if (text)
        (void)fprintf(text, "*%s:* %s", e->key, e->text);
    if (text && fclose(text) == 0) {
        (void)fputs("{\"type\":\"section\",\"text\":{\"type\":\"mrkdwn\",\"text\":", out);
        json_line_string(out, line);
        (void)fputs("}}", out);
    }
    free(line);
}

static tutti_status slack_post(slack *k, tutti_error *err)
{
    char *body = NULL;
    size_t size = 0;
    FILE *out = k->count ? open_memstream(&body, &size) : NULL;
    if (!k->count)
        return TUTTI_OK;
    if (!out) {
        slack_clear(k);
        return fail_memory(err);
    }
    (void)fprintf(out, "{\"text\":\"Logged %u items to Slack\",\"blocks\":[", k->count);
    for (uint32_t j = 0; j < k->count; j++) {
        (void)fputs(j ? "," : "", out);
        put_section(out, &k->entries[j]);
    }
    (void)fputs("]}", out);
    const bool whole = fclose(out) == 0;
    if (whole)
        outbox_put(k->outbox, body, size);
    free(body);
    slack_clear(k);
    return whole ? TUTTI_OK : fail_memory(err);
}

/* The place of a key: its own, or a new one at the end.  NULL: no memory. */
static entry *place_of(slack *k, const char *key)
{
    for (uint32_t j = 0; j < k->count; j++)
        if (strcmp(k->entries[j].key, key) == 0)
            return &k->entries[j];
    entry *e = &k->entries[k->count];
    *e = (entry){strdup(key), NULL};
    if (!e->key)
        return NULL;
    k->count++;
    return e;
}

static tutti_status slack_keep(slack *k, const char *key, const char *text, tutti_error *err)
{
    if (!k->includes_all && regexec(&k->include, key, 0, NULL, 0) != 0)
        return TUTTI_OK;
    char *copy = strdup(text);
    entry *e = copy ? place_of(k, key) : NULL;
    if (!e) {
        free(copy);
        return fail_memory(err);
    }
    free(e->text);
    e->text = copy;
    return k->count == k->most ? slack_post(k, err) : TUTTI_OK;
}

static tutti_status slack_event(void *self, const tutti_event *event, tutti_error *err)
{
    slack *k = self;
    tutti_status s = TUTTI_OK;
    const bool by_epoch = k->interval.unit == TUTTI_UNIT_EPOCH;
    const int64_t now = by_epoch ? event->time->epoch : event->time->batch;
    if (event->id == (by_epoch ? TUTTI_EVENT_EPOCH_END : TUTTI_EVENT_BATCH_END) &&
        (now == 1 || (k->interval.count > 0 && now % k->interval.count == 0)))
        s = slack_post(k, err);
    const tutti_status sent = outbox_event(k->outbox, event, err);
    return s ? s : sent;
}

static tutti_status slack_close(void *self, tutti_error *err)
{
    slack *k = self;
    const tutti_status s = slack_post(k, err);
    outbox_destroy(k->outbox);
    slack_free(k);
    return s;
}

/* ---- the calls of a logger ---- */

static tutti_status slack_metrics(void *self, const tutti_named_value *values, uint32_t n,
                                  uint64_t step, tutti_error *err)
{
    tutti_status s = TUTTI_OK;
    char text[64];
    (void)step;
    for (uint32_t j = 0; j < n && !s; j++)
        s = slack_keep(self, values[j].name, number_text(values[j].value, text, sizeof text),
                       err);
    return s;
}

static tutti_status slack_hyperparameters(void *self, const tutti_named_text *values,
                                          uint32_t n, tutti_error *err)
{
    tutti_status s = TUTTI_OK;
    for (uint32_t j = 0; j < n && !s; j++)
        s = slack_keep(self, values[j].name, values[j].text, err);
    return s;
}

static tutti_status slack_trace(void *self, const tutti_trace *trace, tutti_error *err)
{
    char key[256];
    return slack_keep(self, trace_key(trace, key, sizeof key), trace->ran ? "1" : "0", err);
}

static tutti_status slack_sync(void *self, tutti_error *err)
{
    (void)err;
    outbox_sync(((slack *)self)->outbox);
    return TUTTI_OK;
}

static tutti_status slack_begin_again(void *self, tutti_error *err)
{
    return outbox_begin_again(((slack *)self)->outbox, err);
}

static const void *slack_query(void *self, const char *interface_id)
{
    static const tutti_logger_v1 table = {.struct_size = sizeof table,
                                          .metrics = slack_metrics,
                                          .hyperparameters = slack_hyperparameters,
                                          .trace = slack_trace,
                                          .sync = slack_sync,
                                          .begin_again = slack_begin_again};
    (void)self;
    return strcmp(interface_id, TUTTI_LOGGER_V1) == 0 ? &table : NULL;
}

LOGGER_PLUGIN("slack", .open = slack_open, .run_event = slack_event, .close = slack_close,
              .query = slack_query);
