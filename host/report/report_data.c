/* report_data.c - the data of a report: runs, curves, time lines, step times, messages, settings. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "report/report.h"

#include "report/decimate.h"
#include "report/profile.h"
#include "report/report_json.h"
#include "report/settings.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { PARTS = 1000, BINS = 400, MOST_PARTS = 30 };

/* ---- curves ---- */

/* Room for one series. */
typedef struct workspace {
    size_t kept[2 * PARTS + 2];
    double step[PARTS], time[PARTS], value[PARTS];
} workspace;

void report_series_header(text_buffer *b, const series *s)
{
    double step;
    text_add(b, "{\"name\":");
    report_string(b, s->name);
    text_add(b, ",\"n\":%zu,\"least\":", s->count);
    report_known(b, series_best(s, true, &step));
    text_add(b, ",\"greatest\":");
    report_known(b, series_best(s, false, &step));
}

static void add_series(text_buffer *b, const series *s, double start, workspace *w)
{
    const size_t n = decimate(s, PARTS, w->kept);
    report_series_header(b, s);
    report_numbers(b, "x", s->step, w->kept, n, 0);
    report_numbers(b, "t", s->time, w->kept, n, start);
    report_numbers(b, "y", s->value, w->kept, n, 0);
    if (n < s->count) {
        const size_t m = decimate_means(s, PARTS, w->step, w->time, w->value);
        report_numbers(b, "mx", w->step, NULL, m, 0);
        report_numbers(b, "mt", w->time, NULL, m, start);
        report_numbers(b, "m", w->value, NULL, m, 0);
    }
    text_add(b, "}");
}

static void add_curves(text_buffer *b, const run_folder *r, workspace *w)
{
    const char *comma = "";
    text_add(b, ",\n\"series\":[");
    for (size_t k = 0; k < r->log.nseries; k++) {
        if (!r->log.series[k].count)
            continue;
        text_add(b, "%s\n", comma);
        add_series(b, &r->log.series[k], r->log.first, w);
        comma = ",";
    }
    text_add(b, "]");
}

/* ---- what algorithms did ---- */

/* No more than batches, or those between would be empty. */
static int bins_of(int64_t last)
{
    return last + 1 < BINS ? (int)last + 1 : BINS;
}

static void add_row(text_buffer *b, const call_row *row, int64_t last)
{
    uint32_t asked[BINS] = {0}, ran[BINS] = {0};
    size_t all = 0;
    double us = 0;
    for (size_t k = 0; k < row->count; k++) {
        const log_call *c = &row->calls[k];
        const int64_t bin = last > 0 ? c->batch * bins_of(last) / (last + 1) : 0;
        if (bin < 0 || bin >= BINS)
            continue;
        asked[bin]++;
        ran[bin] += c->ran;
        all += c->ran;
        us += c->ran ? (double)c->us : 0;
    }
    text_add(b, "{\"algorithm\":");
    report_string(b, row->algorithm);
    text_add(b, ",\"event\":");
    report_string(b, row->event);
    text_add(b, ",\"asked\":%zu,\"ran\":%zu,\"us\":%.3f,\"cells\":[", row->count, all, us);
    const char *comma = "";
    for (int k = 0; k < BINS; k++) {
        if (asked[k])
            text_add(b, "%s[%d,%u,%u]", comma, k, ran[k], asked[k]);
        comma = asked[k] ? "," : comma;
    }
    text_add(b, "]}");
}

void report_timeline(text_buffer *b, const run_folder *r)
{
    int64_t last = 0;
    for (size_t k = 0; k < r->log.nrows; k++)
        for (size_t i = 0; i < r->log.rows[k].count; i++)
            last = r->log.rows[k].calls[i].batch > last ? r->log.rows[k].calls[i].batch : last;
    text_add(b, ",\n\"timeline\":{\"bins\":%d,\"last\":%lld,\"rows\":[", bins_of(last),
             (long long)last);
    const char *comma = "";
    for (size_t k = 0; k < r->log.nrows; k++) {
        if (!r->log.rows[k].count)
            continue;
        text_add(b, "%s\n", comma);
        add_row(b, &r->log.rows[k], last);
        comma = ",";
    }
    text_add(b, "]}");
}

/* ---- messages, step times ---- */

/* Warnings and errors, and the texts of callbacks that write some. */
static bool is_told(const log_message *m)
{
    return strcmp(m->level, "info") != 0 ? strcmp(m->level, "debug") != 0
                                         : strcmp(m->component, "generate") == 0;
}

void report_messages(text_buffer *b, const run_folder *r, size_t from)
{
    const char *comma = "";
    text_add(b, ",\n\"messages\":[");
    for (size_t k = from; k < r->log.nmessages; k++) {
        const log_message *m = &r->log.messages[k];
        if (!is_told(m))
            continue;
        text_add(b, "%s\n{\"level\":", comma);
        report_string(b, m->level);
        text_add(b, ",\"component\":");
        report_string(b, m->component);
        text_add(b, ",\"batch\":%lld,\"text\":", (long long)m->batch);
        report_string(b, m->text);
        text_add(b, "}");
        comma = ",";
    }
    text_add(b, "]");
}

static const char *text_or(const json_node *node, const char *key, const char *other)
{
    const char *text = json_string(json_get(node, key));
    return text ? text : other;
}

static tutti_status add_profile(text_buffer *b, const run_folder *r, tutti_error *err)
{
    const json_node *profiler = json_get(json_get(r->root, "run"), "profiler");
    char path[PATH_MAX];
    profile p = {.items = NULL};
    tutti_error e = TUTTI_ERROR_INIT;
    tutti_status s = TUTTI_OK;
    if (profiler &&
        snprintf(path, sizeof path, "%s/%s/%s", r->path, text_or(profiler, "folder", "traces"),
                 text_or(profiler, "merged_trace_filename", "merged_trace.json")) <
            (int)sizeof path)
        s = profile_read(&p, path, &e);
    text_add(b, ",\n\"profile\":[");
    for (size_t k = 0; k < p.count && k < MOST_PARTS; k++) {
        text_add(b, "%s{\"name\":", k ? "," : "");
        report_string(b, p.items[k].name);
        text_add(b, ",\"count\":%zu,\"total\":%.3f,\"self\":%.3f}", p.items[k].count,
                 p.items[k].total, p.items[k].self);
    }
    text_add(b, "]");
    profile_fini(&p);
    return s == TUTTI_E_NOMEM ? tutti_fail(err, s, "%s", e.text) : TUTTI_OK;
}

/* ---- the whole ---- */

void report_state(text_buffer *b, const run_folder *r)
{
    text_add(b, "\"status\":");
    report_string(b, r->status);
    text_add(b, ",\"error\":");
    report_string(b, json_string(json_get(r->root, "error")));
    text_add(b, ",\"started\":%.3f,\"seconds\":%.3f,\"batches\":%lld,\"metric\":", r->started,
             r->seconds, (long long)r->batches);
    report_string(b, r->metric);
    text_add(b, ",\"best\":");
    report_known(b, r->best);
    text_add(b, ",\n\"memory\":");
    report_node(b, json_get(r->root, "memory"));
}

static tutti_status add_run(text_buffer *b, const run_folder *r, workspace *w, tutti_error *err)
{
    static const char *const keys[] = {"machine", "host", "version"};
    text_add(b, "{\"name\":");
    report_string(b, r->name);
    text_add(b, ",\"folder\":");
    report_string(b, r->path);
    for (size_t k = 0; k < sizeof keys / sizeof *keys; k++) {
        text_add(b, ",\"%s\":", keys[k]);
        report_string(b, json_string(json_get(r->root, keys[k])));
    }
    text_add(b, ",");
    report_state(b, r);
    add_curves(b, r, w);
    report_timeline(b, r);
    report_messages(b, r, 0);
    report_media(b, r, 0);
    const tutti_status s = add_profile(b, r, err);
    text_add(b, "}");
    return s;
}

static tutti_status add_settings(text_buffer *b, const run_list *runs, tutti_error *err)
{
    settings all, other;
    size_t next = 0;
    tutti_status s = settings_compare(runs->items, runs->count, true, &all, err);
    if (s || (s = settings_compare(runs->items, runs->count, false, &other, err))) {
        settings_fini(&all);
        return s;
    }
    text_add(b, "\n\"settings\":[");
    for (size_t k = 0; k < all.count; k++) {
        const bool differs =
            next < other.count && strcmp(other.items[next].path, all.items[k].path) == 0;
        next += differs;
        text_add(b, "%s\n{\"path\":", k ? "," : "");
        report_string(b, all.items[k].path);
        text_add(b, ",\"differs\":%s,\"values\":", differs ? "true" : "false");
        for (size_t r = 0; r < all.nruns; r++) {
            text_add(b, "%s", r ? "," : "[");
            report_string(b, all.items[k].values[r]);
        }
        text_add(b, "]}");
    }
    text_add(b, "]");
    settings_fini(&all);
    settings_fini(&other);
    return TUTTI_OK;
}

tutti_status report_data(text_buffer *b, const run_list *runs, const char *version,
                         tutti_error *err)
{
    workspace *w = malloc(sizeof *w);
    if (!w)
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for a report");
    text_add(b, "{\"generated\":%lld,\"version\":", (long long)time(NULL));
    report_string(b, version);
    text_add(b, ",");
    tutti_status s = add_settings(b, runs, err);
    text_add(b, ",\n\"runs\":[");
    for (size_t k = 0; !s && k < runs->count; k++) {
        text_add(b, "%s\n", k ? "," : "");
        s = add_run(b, &runs->items[k], w, err);
    }
    text_add(b, "]}");
    free(w);
    return s           ? s
           : b->failed ? tutti_fail(err, TUTTI_E_NOMEM, "no memory for the data of a report")
                       : TUTTI_OK;
}
