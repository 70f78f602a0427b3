/* plugin.c - console: blocks of metrics as lines, in Composer's form. */
/* SPDX-License-Identifier: Apache-2.0 */
#define TUTTI_USE_MINOR 2
#define TUTTI_MIN_MINOR 0
#include "../logger.h"

#include <stdio.h>

enum { EVAL_LINES = 10 }; /* of progress, about, in one evaluation */

typedef struct console {
    const tutti_state_v1 *state;
    FILE *out;
    tutti_time interval;
    bool log_traces;
    bool shown;   /* a block of training metrics has been printed */
    bool started; /* the settings have been printed */
    latest_values values;
    char *settings; /* "seed: 17\n...", until the fit starts */
    size_t settings_size;
} console;

static tutti_status console_open(const tutti_host *host, const tutti_params *params,
                                 void **ret_self, tutti_error *err)
{
    const tutti_state_v1 *state = logger_service(host, "console", TUTTI_STATE_V1, err);
    if (!state)
        return TUTTI_E_UNSUPPORTED;
    const tutti_time interval = tutti_param_time(params, "log_interval");
    if (interval.count < 1)
        return tutti_fail(err, TUTTI_E_RANGE, "console: log_interval is %lld, want 1 or more",
                          (long long)interval.count);
    console *c = calloc(1, sizeof *c);
    if (!c)
        return tutti_fail(err, TUTTI_E_NOMEM, "console: no memory");
    c->state = state;
    c->out = tutti_param_i64(params, "stream") ? stdout : stderr;
    c->interval = interval;
    c->log_traces = tutti_param_i64(params, "log_traces") != 0;
    *ret_self = c;
    return TUTTI_OK;
}

static tutti_status console_close(void *self, tutti_error *err)
{
    console *c = self;
    (void)err;
    (void)fflush(c->out);
    latest_free(&c->values);
    free(c->settings);
    free(c);
    return TUTTI_OK;
}

/* "[epoch=1][batch=10/157]"; the end of an epoch still belongs to it. */
static void print_progress(const console *c)
{
    const tutti_timestamp *t = c->state->time;
    const tutti_time *max = c->state->max_duration;
    const int64_t len = c->state->dataloader_len(c->state->ctx);
    static const char *const units[] = {"",
#define TUTTI_X(name, suffix, text) suffix,
                                        TUTTI_TIME_UNITS(TUTTI_X)
#undef TUTTI_X
    };
    if (max->unit != TUTTI_UNIT_EPOCH) {
        if (max->unit > TUTTI_UNIT_NONE && max->unit < (int32_t)(sizeof units / sizeof *units))
            (void)fprintf(c->out, "[%s=%lld/%lld]", units[max->unit],
                          (long long)tutti_timestamp_get(t, max->unit), (long long)max->count);
        return;
    }
    const bool end = t->batch_in_epoch == 0 && t->epoch > 0;
    const int64_t epoch = end ? t->epoch : t->epoch + 1;
    const int64_t batch = end && len >= 0 ? len : t->batch_in_epoch;
    (void)fprintf(c->out, "[epoch=%lld][batch=%lld", (long long)epoch, (long long)batch);
    if (len >= 0)
        (void)fprintf(c->out, "/%lld", (long long)len);
    (void)fputc(']', c->out);
}

/* The values whose name starts with `prefix`, under the line that is there; they are gone then. */
static void print_values(console *c, const char *head, const char *prefix)
{
    char text[64];
    bool any = false;
    for (uint32_t k = 0; k < c->values.count; k++) {
        const latest_value *v = &c->values.items[k];
        if (strncmp(v->name, prefix, strlen(prefix)) != 0)
            continue;
        (void)fprintf(c->out, "%s\n\t %s %s: %s", any ? "" : ":", head, v->name,
                      number_text(v->value, text, sizeof text));
        any = true;
    }
    (void)fputc('\n', c->out);
    latest_drop(&c->values, prefix);
}

static void print_train(console *c)
{
    print_progress(c);
    print_values(c, "Train", "");
    c->shown = true;
}

static void print_eval_header(const console *c)
{
    const tutti_state_v1 *s = c->state;
    const int64_t len = s->dataloader_len(s->ctx);
    const char *label = s->eval_label(s->ctx);
    (void)fprintf(c->out, "[Eval batch=%lld", (long long)s->eval_time->batch);
    if (len >= 0)
        (void)fprintf(c->out, "/%lld", (long long)len);
    (void)fprintf(c->out, "] Eval on %s data", label ? label : "?");
}

/* Eleven points spread over the evaluation; all batches of a short one. */
static bool eval_point(const console *c)
{
    const int64_t n = c->state->dataloader_len(c->state->ctx);
    const int64_t batch = c->state->eval_time->batch;
    if (n < 0 || batch >= n)
        return false;
    if (n <= EVAL_LINES)
        return true;
    for (int64_t k = 0; k < EVAL_LINES; k++)
        if (batch == 1 + (k * (n - 1) + EVAL_LINES / 2) / EVAL_LINES)
            return true;
    return false;
}

static void print_eval_end(console *c)
{
    char prefix[128];
    const char *label = c->state->eval_label(c->state->ctx);
    (void)snprintf(prefix, sizeof prefix, "metrics/%s/", label ? label : "");
    print_eval_header(c);
    print_values(c, "Eval", prefix);
}

static void print_settings(console *c)
{
    static const char line[] = "******************************";
    if (c->started)
        return;
    c->started = true;
    (void)fprintf(c->out, "%s\nConfig:\n%s%s\n", line, c->settings ? c->settings : "", line);
}

static tutti_status console_event(void *self, const tutti_event *event, tutti_error *err)
{
    console *c = self;
    (void)err;
    switch (event->id) {
    case TUTTI_EVENT_FIT_START:
    case TUTTI_EVENT_EVAL_START:
        print_settings(c);
        break;
    case TUTTI_EVENT_BATCH_END:
        if (c->interval.unit == TUTTI_UNIT_BATCH &&
            (event->time->batch % c->interval.count == 0 || !c->shown))
            print_train(c);
        break;
    case TUTTI_EVENT_EPOCH_END:
        if (c->interval.unit == TUTTI_UNIT_EPOCH &&
            (event->time->epoch % c->interval.count == 0 || !c->shown))
            print_train(c);
        break;
    case TUTTI_EVENT_EVAL_BATCH_END:
        if (eval_point(c)) {
            print_eval_header(c);
            (void)fputc('\n', c->out);
        }
        break;
    case TUTTI_EVENT_EVAL_END:
        if (!tutti_eval_is_cut(c->state))
            print_eval_end(c);
        break;
    case TUTTI_EVENT_FIT_END:
        c->values.count = 0; /* an evaluation after it starts afresh */
        break;
    default:
        break;
    }
    return TUTTI_OK;
}

static tutti_status console_metrics(void *self, const tutti_named_value *values, uint32_t n,
                                    uint64_t step, tutti_error *err)
{
    console *c = self;
    (void)step;
    for (uint32_t k = 0; k < n; k++)
        if (!latest_set(&c->values, values[k].name, values[k].value))
            return tutti_fail(err, TUTTI_E_NOMEM, "console: no memory for %s", values[k].name);
    return TUTTI_OK;
}

static tutti_status console_hyperparameters(void *self, const tutti_named_text *values,
                                            uint32_t n, tutti_error *err)
{
    console *c = self;
    for (uint32_t k = 0; k < n; k++) {
        const size_t more = strlen(values[k].name) + strlen(values[k].text) + 4;
        char *text = realloc(c->settings, c->settings_size + more);
        if (!text)
            return tutti_fail(err, TUTTI_E_NOMEM, "console: no memory for %s", values[k].name);
        c->settings = text;
        c->settings_size += (size_t)snprintf(text + c->settings_size, more, "%s: %s\n",
                                             values[k].name, values[k].text);
    }
    return TUTTI_OK;
}

static tutti_status console_trace(void *self, const tutti_trace *trace, tutti_error *err)
{
    console *c = self;
    char key[256];
    (void)err;
    if (c->log_traces)
        (void)fprintf(c->out, "[trace]: %s:%d\n", trace_key(trace, key, sizeof key),
                      trace->ran ? 1 : 0);
    return TUTTI_OK;
}

/* Warnings and errors the host prints itself. */
static tutti_status console_message(void *self, int32_t level, const char *component,
                                    const char *text, tutti_error *err)
{
    console *c = self;
    (void)err;
    if (level == TUTTI_LOG_INFO)
        (void)fprintf(c->out, "%s: %s\n", component, text);
    return TUTTI_OK;
}

static const void *console_query(void *self, const char *interface_id)
{
    static const tutti_logger_v1 table = {.struct_size = sizeof table,
                                          .metrics = console_metrics,
                                          .hyperparameters = console_hyperparameters,
                                          .trace = console_trace,
                                          .message = console_message};
    (void)self;
    return strcmp(interface_id, TUTTI_LOGGER_V1) == 0 ? &table : NULL;
}

LOGGER_PLUGIN("console", .open = console_open, .run_event = console_event,
              .close = console_close, .query = console_query);
