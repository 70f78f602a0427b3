/* live.c - marks of what has been told, and what came behind them. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "report/live.h"

#include "report/report_json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* False: no memory. */
static bool set_mark(live_mark *m, const run_folder *r)
{
    const history *h = &r->log;
    size_t *values = realloc(m->values, (h->nseries + 1) * sizeof *values);
    if (!values)
        return false;
    for (size_t k = 0; k < h->nseries; k++)
        values[k] = h->series[k].count;
    *m = (live_mark){values, h->nseries, h->nmessages, h->nmedia, ""};
    (void)snprintf(m->status, sizeof m->status, "%s", r->status);
    return true;
}

tutti_status live_init(live_runs *l, run_list *runs, tutti_error *err)
{
    *l = (live_runs){runs, calloc(runs->count + 1, sizeof *l->marks)};
    bool whole = l->marks != NULL;
    for (size_t k = 0; whole && k < runs->count; k++)
        whole = set_mark(&l->marks[k], &runs->items[k]);
    return whole ? TUTTI_OK : tutti_fail(err, TUTTI_E_NOMEM, "no memory to follow the runs");
}

void live_fini(live_runs *l)
{
    for (size_t k = 0; l->marks && k < l->runs->count; k++)
        free(l->marks[k].values);
    free(l->marks);
    *l = (live_runs){NULL, NULL};
}

/* Whether there is less than was told: another process has gone on from an earlier batch. */
static bool is_undone(const live_mark *m, const history *h)
{
    bool undone =
        h->nseries < m->nseries || h->nmedia < m->nmedia || h->nmessages < m->nmessages;
    for (size_t k = 0; !undone && k < m->nseries; k++)
        undone = h->series[k].count < m->values[k];
    return undone;
}

static size_t told(const live_mark *m, size_t k)
{
    return k < m->nseries ? m->values[k] : 0;
}

static bool is_new(const live_mark *m, const run_folder *r)
{
    const history *h = &r->log;
    bool more = h->nmessages > m->nmessages || h->nmedia > m->nmedia ||
                strcmp(r->status, m->status) != 0;
    for (size_t k = 0; !more && k < h->nseries; k++)
        more = h->series[k].count > told(m, k);
    return more;
}

static void add_points(text_buffer *b, const series *s, size_t from, double start)
{
    report_series_header(b, s);
    report_numbers(b, "x", s->step + from, NULL, s->count - from, 0);
    report_numbers(b, "t", s->time + from, NULL, s->count - from, start);
    report_numbers(b, "y", s->value + from, NULL, s->count - from, 0);
    text_add(b, "}");
}

static void add_run(text_buffer *b, const live_mark *m, const run_folder *r, size_t number)
{
    const char *comma = "";
    text_add(b, "{\"run\":%zu,", number);
    report_state(b, r);
    text_add(b, ",\"series\":[");
    for (size_t k = 0; k < r->log.nseries; k++)
        if (r->log.series[k].count > told(m, k)) {
            text_add(b, "%s", comma);
            add_points(b, &r->log.series[k], told(m, k), r->log.first);
            comma = ",";
        }
    text_add(b, "]");
    report_timeline(b, r);
    report_messages(b, r, m->nmessages);
    report_media(b, r, m->nmedia);
    text_add(b, "}");
}

/* A line: no line break stands in JSON's strings, so those between are the only ones. */
static void join_lines(text_buffer *b, size_t from)
{
    for (size_t k = from; k < b->size; k++)
        if (b->data[k] == '\n')
            b->data[k] = ' ';
}

static tutti_status tell_run(live_runs *l, size_t k, text_buffer *b, int *ret_what,
                             tutti_error *err)
{
    const run_folder *r = &l->runs->items[k];
    live_mark *m = &l->marks[k];
    if (is_undone(m, &r->log))
        *ret_what = LIVE_AGAIN;
    else if (is_new(m, r)) {
        text_add(b, *ret_what == LIVE_NOTHING ? "" : ",");
        add_run(b, m, r, k);
        *ret_what = *ret_what == LIVE_NOTHING ? LIVE_MORE : *ret_what;
    }
    return set_mark(m, r) ? TUTTI_OK
                          : tutti_fail(err, TUTTI_E_NOMEM, "no memory to follow the runs");
}

tutti_status live_look(live_runs *l, text_buffer *b, int *ret_what, tutti_error *err)
{
    const size_t from = b->size;
    tutti_status s = TUTTI_OK;
    *ret_what = LIVE_NOTHING;
    text_add(b, "{\"runs\":[");
    for (size_t k = 0; !s && k < l->runs->count; k++) {
        bool again = false;
        if (strcmp(l->runs->items[k].status, "running") != 0)
            continue;
        s = run_folder_look_again(&l->runs->items[k], &again, err);
        if (!s)
            s = tell_run(l, k, b, ret_what, err);
        if (again)
            *ret_what = LIVE_AGAIN;
    }
    text_add(b, "]}");
    join_lines(b, from);
    return s || !b->failed ? s : tutti_fail(err, TUTTI_E_NOMEM, "no memory to follow the runs");
}

bool live_goes_on(const live_runs *l)
{
    for (size_t k = 0; k < l->runs->count; k++)
        if (strcmp(l->runs->items[k].status, "running") == 0)
            return true;
    return false;
}
