/* history.c - time series and calls, as they grow while a log is read. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "report/history_internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool grow(void *list, size_t count, size_t *capacity, size_t size)
{
    void **items = list;
    if (count < *capacity)
        return true;
    const size_t wanted = *capacity ? 2 * *capacity : 64;
    void *more = realloc(*items, wanted * size);
    if (!more)
        return false;
    *items = more;
    *capacity = wanted;
    return true;
}

/* The three lists of a series have one capacity. */
static bool grow_series(series *s)
{
    size_t a = s->capacity, b = s->capacity;
    return grow(&s->step, s->count, &a, sizeof *s->step) &&
           grow(&s->time, s->count, &b, sizeof *s->time) &&
           grow(&s->value, s->count, &s->capacity, sizeof *s->value);
}

static series *find_or_add(history *h, const char *name)
{
    for (size_t k = 0; k < h->nseries; k++) { /* lines of one kind have one order */
        const size_t at = (h->next + k) % h->nseries;
        if (strcmp(h->series[at].name, name) == 0) {
            h->next = at + 1;
            return &h->series[at];
        }
    }
    series *all = realloc(h->series, (h->nseries + 1) * sizeof *all);
    if (!all)
        return NULL;
    h->series = all;
    all[h->nseries] = (series){.name = strdup(name)};
    if (!all[h->nseries].name)
        return NULL;
    h->next = 0;
    return &all[h->nseries++];
}

/* What an earlier process has logged of later batches has not happened for this one. */
static void forget_after(history *h, double batch)
{
    for (size_t k = 0; k < h->nseries; k++) {
        series *s = &h->series[k];
        while (s->count && (s->step[s->count - 1] > batch || batch <= 0))
            s->count--;
    }
    for (size_t k = 0; k < h->nrows; k++) {
        call_row *r = &h->rows[k];
        while (r->count && ((double)r->calls[r->count - 1].batch > batch || batch <= 0))
            r->count--;
    }
    while (h->nmedia && ((double)h->media[h->nmedia - 1].batch > batch || batch <= 0))
        free(h->media[--h->nmedia].name);
    h->batch = h->batch > (int64_t)batch ? (int64_t)batch : h->batch;
}

void history_add(history *h, const char *name, double step, double time, double value)
{
    if (h->begins)
        forget_after(h, step);
    h->begins = false;
    series *s = find_or_add(h, name);
    if (!s || !grow_series(s)) {
        h->nomem = true;
        return;
    }
    s->step[s->count] = step;
    s->time[s->count] = time;
    s->value[s->count++] = value;
    h->batch = step > (double)h->batch ? (int64_t)step : h->batch;
}

void history_add_message(history *h, const log_message *from)
{
    log_message *all = realloc(h->messages, (h->nmessages + 1) * sizeof *all);
    if (!all) {
        h->nomem = true;
        return;
    }
    h->messages = all;
    log_message *m = &all[h->nmessages++];
    *m = (log_message){.time = from->time,
                       .level = strdup(from->level),
                       .component = strdup(from->component),
                       .text = strdup(from->text),
                       .batch = h->batch};
    h->nomem = h->nomem || !m->level || !m->component || !m->text;
}

/* The length of the name without the "_step_BATCH" that tables of evaluations have. */
static size_t bare_length(const char *name, int64_t batch)
{
    char end[40];
    const size_t n = strlen(name);
    const int m = snprintf(end, sizeof end, "_step_%lld", (long long)batch);
    return m > 0 && n > (size_t)m && strcmp(name + n - (size_t)m, end) == 0 ? n - (size_t)m : n;
}

void history_add_media(history *h, const char *name, int64_t batch, bool images)
{
    if (h->begins)
        forget_after(h, (double)batch);
    h->begins = false;
    if (!grow(&h->media, h->nmedia, &h->media_capacity, sizeof *h->media)) {
        h->nomem = true;
        return;
    }
    const log_media m = {batch, strndup(name, bare_length(name, batch)), h->offset, images};
    if (m.name)
        h->media[h->nmedia++] = m;
    h->nomem = h->nomem || !m.name;
}

static call_row *find_row(history *h, const char *algorithm, const char *event)
{
    for (size_t k = 0; k < h->nrows; k++)
        if (strcmp(h->rows[k].event, event) == 0 &&
            strcmp(h->rows[k].algorithm, algorithm) == 0)
            return &h->rows[k];
    call_row *all = realloc(h->rows, (h->nrows + 1) * sizeof *all);
    if (!all)
        return NULL;
    h->rows = all;
    all[h->nrows] = (call_row){.algorithm = strdup(algorithm), .event = strdup(event)};
    if (!all[h->nrows].algorithm || !all[h->nrows].event) {
        free(all[h->nrows].algorithm);
        free(all[h->nrows].event);
        return NULL;
    }
    return &all[h->nrows++];
}

void history_add_call(history *h, const char *algorithm, const char *event,
                      const log_call *call)
{
    call_row *row = find_row(h, algorithm, event);
    if (!row || !grow(&row->calls, row->count, &row->capacity, sizeof *row->calls)) {
        h->nomem = true;
        return;
    }
    row->calls[row->count++] = *call;
    h->batch = call->batch > h->batch ? call->batch : h->batch;
}

void history_fini(history *h)
{
    for (size_t k = 0; k < h->nseries; k++) {
        free(h->series[k].name);
        free(h->series[k].step);
        free(h->series[k].time);
        free(h->series[k].value);
    }
    for (size_t k = 0; k < h->nmessages; k++) {
        free(h->messages[k].level);
        free(h->messages[k].component);
        free(h->messages[k].text);
    }
    for (size_t k = 0; k < h->nrows; k++) {
        free(h->rows[k].algorithm);
        free(h->rows[k].event);
        free(h->rows[k].calls);
    }
    for (size_t k = 0; k < h->nmedia; k++)
        free(h->media[k].name);
    free(h->media);
    free(h->series);
    free(h->messages);
    free(h->rows);
    *h = (history){.series = NULL};
}

const series *history_find(const history *h, const char *name)
{
    for (size_t k = 0; k < h->nseries; k++)
        if (strcmp(h->series[k].name, name) == 0)
            return &h->series[k];
    return NULL;
}

bool history_less_is_better(const char *name)
{
    static const char *const words[] = {"loss", "error", "perplexity", "entropy"};
    for (size_t k = 0; k < sizeof words / sizeof *words; k++)
        if (strstr(name, words[k]))
            return true;
    return false;
}

double series_best(const series *s, bool less, double *ret_step)
{
    double best = (double)NAN;
    for (size_t k = 0; k < s->count; k++) {
        const double v = s->value[k];
        if (!isfinite(v) || (!isnan(best) && (less ? v >= best : v <= best)))
            continue;
        best = v;
        *ret_step = s->step[k];
    }
    return best;
}
