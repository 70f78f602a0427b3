/* plugin.c - jsonl: everything that is logged, as JSON lines that read back exactly. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../log_file.h"

#include <stdio.h>
#include <time.h>

typedef struct jsonl {
    log_file file; /* first: the shared calls take it */
    const tutti_state_v1 *state;
} jsonl;

static tutti_status jsonl_open(const tutti_host *host, const tutti_params *params,
                               void **ret_self, tutti_error *err)
{
    jsonl *j = calloc(1, sizeof *j);
    if (!j)
        return tutti_fail(err, TUTTI_E_NOMEM, "jsonl: no memory");
    tutti_status s = log_file_init(&j->file, "jsonl", "log.jsonl", host, params, err);
    if (s == TUTTI_OK) {
        j->state = logger_service(host, "jsonl", TUTTI_STATE_V1, err);
        s = j->state ? TUTTI_OK : TUTTI_E_UNSUPPORTED;
    }
    if (s) {
        free(j);
        return s;
    }
    *ret_self = j;
    return TUTTI_OK;
}

static tutti_status jsonl_event(void *self, const tutti_event *event, tutti_error *err)
{
    return log_file_event(&((jsonl *)self)->file, event, err);
}

static tutti_status jsonl_close(void *self, tutti_error *err)
{
    const tutti_status s = log_file_close(&((jsonl *)self)->file, err);
    free(self);
    return s;
}

static void put_string(FILE *out, const char *text)
{
    (void)fputc('"', out);
    for (; *text; text++) {
        const unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\')
            (void)fprintf(out, "\\%c", c);
        else if (c < 0x20)
            (void)fprintf(out, "\\u%04x", c);
        else
            (void)fputc(c, out);
    }
    (void)fputc('"', out);
}

/* The shortest text that reads back as the same number. */
static void put_number(FILE *out, double v)
{
    char text[40];
    if (isnan(v)) {
        (void)fputs("\"NaN\"", out);
        return;
    }
    if (isinf(v)) {
        (void)fputs(v > 0 ? "\"Infinity\"" : "\"-Infinity\"", out);
        return;
    }
    for (int digits = 6; digits <= 17; digits++) {
        (void)snprintf(text, sizeof text, "%.*g", digits, v);
        if (strtod(text, NULL) == v)
            break;
    }
    (void)fputs(text, out);
}

static void begin(FILE *out, const char *kind)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    (void)fprintf(out, "{\"time\":%lld.%03ld,\"kind\":\"%s\"", (long long)now.tv_sec,
                  now.tv_nsec / 1000000, kind);
}

static tutti_status jsonl_metrics(void *self, const tutti_named_value *values, uint32_t n,
                                  uint64_t step, tutti_error *err)
{
    jsonl *j = self;
    FILE *out = j->file.out;
    if (!out)
        return TUTTI_OK;
    begin(out, "metrics");
    (void)fprintf(out, ",\"batch\":%llu,\"epoch\":%lld,\"values\":{", (unsigned long long)step,
                  (long long)j->state->time->epoch);
    for (uint32_t k = 0; k < n; k++) {
        (void)fputs(k ? "," : "", out);
        put_string(out, values[k].name);
        (void)fputc(':', out);
        put_number(out, values[k].value);
    }
    (void)fputs("}}\n", out);
    return log_file_check(&j->file, err);
}

static tutti_status jsonl_hyperparameters(void *self, const tutti_named_text *values,
                                          uint32_t n, tutti_error *err)
{
    jsonl *j = self;
    FILE *out = j->file.out;
    if (!out)
        return TUTTI_OK;
    begin(out, "hyperparameters");
    (void)fputs(",\"values\":{", out);
    for (uint32_t k = 0; k < n; k++) {
        (void)fputs(k ? "," : "", out);
        put_string(out, values[k].name);
        (void)fprintf(out, ":%s", values[k].text);
    }
    (void)fputs("}}\n", out);
    return log_file_check(&j->file, err);
}

static tutti_status jsonl_trace(void *self, const tutti_trace *trace, tutti_error *err)
{
    jsonl *j = self;
    FILE *out = j->file.out;
    char key[256];
    if (!out || !j->file.log_traces)
        return TUTTI_OK;
    begin(out, "trace");
    (void)fputs(",\"key\":", out);
    put_string(out, trace_key(trace, key, sizeof key));
    (void)fprintf(out, ",\"batch\":%llu,\"algorithm\":", (unsigned long long)trace->step);
    put_string(out, trace->name);
    (void)fputs(",\"event\":", out);
    put_string(out, trace->event_name);
    (void)fprintf(out, ",\"ran\":%s,\"order\":%d,\"exit_code\":", trace->ran ? "true" : "false",
                  (int)trace->order);
    if (trace->exit_code == TUTTI_EXIT_NONE)
        (void)fputs("null", out);
    else
        (void)fprintf(out, "%lld", (long long)trace->exit_code);
    (void)fprintf(out, ",\"duration_ns\":%llu}\n", (unsigned long long)trace->duration_ns);
    return log_file_check(&j->file, err);
}

static tutti_status jsonl_message(void *self, int32_t level, const char *component,
                                  const char *text, tutti_error *err)
{
    static const char *const levels[] = {"debug", "info", "warning", "error"};
    jsonl *j = self;
    FILE *out = j->file.out;
    if (!out)
        return TUTTI_OK;
    begin(out, "message");
    (void)fprintf(out, ",\"level\":\"%s\",\"component\":", levels[level & 3]);
    put_string(out, component);
    (void)fputs(",\"text\":", out);
    put_string(out, text);
    (void)fputs("}\n", out);
    return log_file_check(&j->file, err);
}

static tutti_status jsonl_sync(void *self, tutti_error *err)
{
    return log_file_sync(&((jsonl *)self)->file, err);
}

static tutti_status jsonl_begin_again(void *self, tutti_error *err)
{
    (void)err;
    return log_file_begin_again(&((jsonl *)self)->file);
}

static tutti_status jsonl_items(void *self, tutti_state_item *items, uint32_t capacity,
                                uint32_t *ret_count, tutti_error *err)
{
    return log_file_items(&((jsonl *)self)->file, items, capacity, ret_count, err);
}

static tutti_status jsonl_restored(void *self, tutti_error *err)
{
    (void)err;
    return log_file_restored(&((jsonl *)self)->file);
}

static const void *jsonl_query(void *self, const char *interface_id)
{
    static const tutti_logger_v1 table = {.struct_size = sizeof table,
                                          .metrics = jsonl_metrics,
                                          .hyperparameters = jsonl_hyperparameters,
                                          .trace = jsonl_trace,
                                          .message = jsonl_message,
                                          .sync = jsonl_sync,
                                          .begin_again = jsonl_begin_again};
    static const tutti_stateful_v1 stateful = {.struct_size = sizeof stateful,
                                               .items = jsonl_items,
                                               .restored = jsonl_restored,
                                               .flags = TUTTI_STATEFUL_MAY_BE_NEW};
    (void)self;
    if (strcmp(interface_id, TUTTI_LOGGER_V1) == 0)
        return &table;
    return strcmp(interface_id, TUTTI_STATEFUL_V1) == 0 ? &stateful : NULL;
}

static const tutti_calls calls = {.struct_size = sizeof calls,
                                  .open = jsonl_open,
                                  .run_event = jsonl_event,
                                  .close = jsonl_close,
                                  .query = jsonl_query};

LOGGER_PLUGIN("jsonl", calls)
