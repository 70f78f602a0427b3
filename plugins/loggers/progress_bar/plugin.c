/* plugin.c - progress_bar: one line with rate and time left, or plain lines without a terminal. */
/* SPDX-License-Identifier: Apache-2.0 */
#define TUTTI_USE_MINOR 2
#define TUTTI_MIN_MINOR 0
#include "../logger.h"

#include <stdio.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

enum { BAR_WIDTH = 20, LINE_ROOM = 512 };

typedef struct progress_bar {
    const tutti_state_v1 *state;
    FILE *out;
    bool terminal;
    bool drawn; /* the cursor stands after a bar */
    double refresh;
    double line_every;
    double last;     /* when a line was last written */
    double start_at; /* progress at the start of the fit */
    tutti_timestamp start;
    latest_values values;
} progress_bar;

static double progress_bar_seconds(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static tutti_status progress_bar_open(const tutti_host *host, const tutti_params *params,
                                      void **ret_self, tutti_error *err)
{
    const tutti_state_v1 *state = logger_service(host, "progress_bar", TUTTI_STATE_V1, err);
    if (!state)
        return TUTTI_E_UNSUPPORTED;
    progress_bar *b = calloc(1, sizeof *b);
    if (!b)
        return tutti_fail(err, TUTTI_E_NOMEM, "progress_bar: no memory");
    b->state = state;
    b->out = tutti_param_i64(params, "stream") ? stdout : stderr;
    b->terminal = isatty(fileno(b->out)) == 1;
    b->refresh = tutti_param_f64(params, "refresh");
    b->line_every = tutti_param_f64(params, "line_every");
    *ret_self = b;
    return TUTTI_OK;
}

/* ---- the line ---- */

typedef struct line {
    char text[LINE_ROOM];
    size_t used;
} line;

TUTTI_PRINTF(2, 3)
static void progress_bar_add(line *l, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const int n = vsnprintf(l->text + l->used, sizeof l->text - l->used, format, args);
    va_end(args);
    if (n > 0)
        l->used +=
            (size_t)n < sizeof l->text - l->used ? (size_t)n : sizeof l->text - l->used - 1;
}

/* Fraction of the whole run; -1 when it is not known. */
static double progress_bar_progress(const progress_bar *b)
{
    const tutti_state_v1 *s = b->state;
    const int64_t len = s->eval_label(s->ctx) ? -1 : s->dataloader_len(s->ctx);
    if (s->max_duration->unit == TUTTI_UNIT_EPOCH && len > 0)
        return ((double)s->time->epoch + (double)s->time->batch_in_epoch / (double)len) /
               (double)s->max_duration->count;
    return s->elapsed(s->ctx);
}

static void add_bar(line *l, int64_t done, int64_t total)
{
    const int full = total > 0 ? (int)(BAR_WIDTH * done / total) : 0;
    progress_bar_add(l, " [");
    for (int k = 0; k < BAR_WIDTH; k++)
        progress_bar_add(l, "%c", k < full ? '=' : k == full ? '>' : ' ');
    progress_bar_add(l, "]");
}

static void add_rate(const progress_bar *b, line *l)
{
    const tutti_timestamp *t = b->state->time;
    const double spent = (double)(t->total_ns - b->start.total_ns) * 1e-9;
    const double now = progress_bar_progress(b);
    if (!(spent > 0.0))
        return;
    progress_bar_add(l, ", %.0f samples/s", (double)(t->sample - b->start.sample) / spent);
    if (now > b->start_at && now < 1.0) {
        const int64_t left = (int64_t)(spent * (1.0 - now) / (now - b->start_at) + 0.5);
        if (left >= 3600)
            progress_bar_add(l, ", eta %lld:%02d:%02d", (long long)(left / 3600),
                             (int)(left / 60 % 60), (int)(left % 60));
        else
            progress_bar_add(l, ", eta %d:%02d", (int)(left / 60), (int)(left % 60));
    }
}

/* ", loss 0.5312, accuracy 0.9712": the values under `prefix`, by the last part of their names. */
static void add_values(const progress_bar *b, line *l, const char *prefix, const char *first)
{
    char text[64];
    for (uint32_t k = 0; k < b->values.count; k++) {
        const latest_value *v = &b->values.items[k];
        if (strncmp(v->name, prefix, strlen(prefix)) != 0)
            continue;
        const char *name = v->name + strlen(prefix);
        progress_bar_add(l, "%s%s %s", first, strcmp(name, "total") == 0 ? "loss" : name,
                         number_text(v->value, text, sizeof text));
        first = ", ";
    }
}

static void make_train(const progress_bar *b, line *l, bool end)
{
    const tutti_state_v1 *s = b->state;
    const tutti_timestamp *t = s->time;
    const int64_t len = s->dataloader_len(s->ctx);
    if (s->max_duration->unit == TUTTI_UNIT_EPOCH) {
        const int64_t batch = end && len >= 0 ? len : t->batch_in_epoch;
        progress_bar_add(l, "epoch %lld/%lld", (long long)(end ? t->epoch : t->epoch + 1),
                         (long long)s->max_duration->count);
        if (b->terminal)
            add_bar(l, batch, len);
        progress_bar_add(l, b->terminal ? " %lld" : ", batch %lld", (long long)batch);
        if (len >= 0)
            progress_bar_add(l, "/%lld", (long long)len);
    } else {
        const double now = s->elapsed(s->ctx);
        progress_bar_add(l, "training");
        if (b->terminal)
            add_bar(l, (int64_t)(1000.0 * now), 1000);
        progress_bar_add(l, b->terminal ? " batch %lld" : ", batch %lld", (long long)t->batch);
        if (s->max_duration->unit == TUTTI_UNIT_BATCH)
            progress_bar_add(l, "/%lld", (long long)s->max_duration->count);
    }
    add_rate(b, l);
    add_values(b, l, "loss/train/", ", ");
    add_values(b, l, "metrics/train/", ", ");
}

static void make_eval(const progress_bar *b, line *l, bool end)
{
    const tutti_state_v1 *s = b->state;
    const char *label = s->eval_label(s->ctx);
    const int64_t len = s->dataloader_len(s->ctx);
    progress_bar_add(l, "eval %s", label ? label : "");
    if (end) {
        char prefix[128];
        (void)snprintf(prefix, sizeof prefix, "metrics/%s/", label ? label : "");
        add_values(b, l, prefix, ": ");
        return;
    }
    add_bar(l, s->eval_time->batch, len);
    progress_bar_add(l, " %lld", (long long)s->eval_time->batch);
    if (len >= 0)
        progress_bar_add(l, "/%lld", (long long)len);
}

static void progress_bar_show(progress_bar *b, line *l, bool end)
{
    if (b->terminal) {
        struct winsize w;
        if (ioctl(fileno(b->out), TIOCGWINSZ, &w) == 0 && w.ws_col > 1 && l->used >= w.ws_col)
            l->text[w.ws_col - 1] = '\0'; /* a line that wraps cannot be drawn anew */
        (void)fprintf(b->out, "\r%s\033[K%s", l->text, end ? "\n" : "");
    } else
        (void)fprintf(b->out, "%s\n", l->text);
    (void)fflush(b->out);
    b->drawn = b->terminal && !end;
    b->last = progress_bar_seconds();
}

static tutti_status progress_bar_event(void *self, const tutti_event *event, tutti_error *err)
{
    progress_bar *b = self;
    line l = {.used = 0};
    const double waited = progress_bar_seconds() - b->last;
    (void)err;
    switch (event->id) {
    case TUTTI_EVENT_FIT_START:
        b->start = *event->time;
        b->start_at = progress_bar_progress(b);
        b->last = b->terminal ? 0.0 : progress_bar_seconds();
        break;
    case TUTTI_EVENT_BATCH_END:
        if (waited >= (b->terminal ? b->refresh : b->line_every)) {
            make_train(b, &l, false);
            progress_bar_show(b, &l, false);
        }
        break;
    case TUTTI_EVENT_EPOCH_END:
        make_train(b, &l, true);
        progress_bar_show(b, &l, true);
        break;
    case TUTTI_EVENT_EVAL_BATCH_END:
        if (b->terminal && waited >= b->refresh) {
            make_eval(b, &l, false);
            progress_bar_show(b, &l, false);
        }
        break;
    case TUTTI_EVENT_EVAL_END:
        if (tutti_eval_is_cut(b->state))
            break;
        make_eval(b, &l, true);
        progress_bar_show(b, &l, true);
        break;
    case TUTTI_EVENT_FIT_END:
        if (event->time->batch_in_epoch > 0) { /* it ended inside an epoch */
            make_train(b, &l, false);
            progress_bar_show(b, &l, true);
        }
        break;
    default:
        break;
    }
    return TUTTI_OK;
}

static tutti_status progress_bar_close(void *self, tutti_error *err)
{
    progress_bar *b = self;
    (void)err;
    if (b->drawn)
        (void)fputc('\n', b->out);
    latest_free(&b->values);
    free(b);
    return TUTTI_OK;
}

static tutti_status progress_bar_metrics(void *self, const tutti_named_value *values,
                                         uint32_t n, uint64_t step, tutti_error *err)
{
    progress_bar *b = self;
    (void)step;
    for (uint32_t k = 0; k < n; k++) {
        const char *name = values[k].name;
        if (strncmp(name, "loss/", 5) != 0 && strncmp(name, "metrics/", 8) != 0)
            continue;
        if (!latest_set(&b->values, name, values[k].value))
            return tutti_fail(err, TUTTI_E_NOMEM, "progress_bar: no memory for %s", name);
    }
    return TUTTI_OK;
}

/* Warnings and errors the host prints itself; here they only get a line of their own. */
static tutti_status progress_bar_message(void *self, int32_t level, const char *component,
                                         const char *text, tutti_error *err)
{
    progress_bar *b = self;
    (void)err;
    if (level == TUTTI_LOG_INFO) {
        (void)fprintf(b->out, b->drawn ? "\r\033[K%s: %s\n" : "%s: %s\n", component, text);
        b->drawn = false;
    }
    return TUTTI_OK;
}

static const void *progress_bar_query(void *self, const char *interface_id)
{
    static const tutti_logger_v1 table = {.struct_size = sizeof table,
                                          .metrics = progress_bar_metrics,
                                          .message = progress_bar_message};
    (void)self;
    return strcmp(interface_id, TUTTI_LOGGER_V1) == 0 ? &table : NULL;
}

LOGGER_PLUGIN("progress_bar", .open = progress_bar_open, .run_event = progress_bar_event,
              .close = progress_bar_close, .query = progress_bar_query);
