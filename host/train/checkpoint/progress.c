/* progress.c - last values of metrics and counts of events, as the text of a checkpoint. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/checkpoint/progress.h"

#include "base/json.h"
#include "base/json_tree.h"
#include "base/text.h"
#include "train/checkpoint/resume.h"
#include "train/step/trainer_state.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Metrics of time, speed, memory and machine begin so: no two runs log the same.  Before a name of its own a clock of the
 * run (`time/batch`) is told from a time that was measured (`time/train`). */
static const char *const measured[] = {"throughput/", "memory/",  "time/",
                                       "cpu_",        "gpu_",     "disk_memory_",
                                       "network_",    "min_gpu_", "max_gpu_"};
static const char *const clocks[] = {"time/epoch", "time/batch", "time/sample", "time/token"};

static bool has_prefix(const char *name, const char *const *list, size_t n)
{
    for (size_t k = 0; k < n; k++) {
        if (strncmp(name, list[k], strlen(list[k])) == 0)
            return true;
    }
    return false;
}

/* Whether the same run logs the same number again. */
static bool is_result(const char *name)
{
    return !has_prefix(name, measured, sizeof measured / sizeof *measured) ||
           has_prefix(name, clocks, sizeof clocks / sizeof *clocks);
}

/* JSON has no number that is not finite: such a one is a text. */
static void add_number(text_buffer *b, const char *before, double value)
{
    text_add(b, isfinite(value) ? "%s%.17g" : "%s\"%g\"", before, value);
}

static double number(const json_node *node)
{
    const char *text = json_string(node);
    return text ? strtod(text, NULL) : json_real(node);
}

static void add_values(const run_log *l, text_buffer *b)
{
    const char *comma = "";
    text_add(b, "{\"values\": {");
    for (uint32_t k = 0; k < l->nvalues; k++) {
        const logged_value *v = &l->values[k];
        if (!is_result(v->name) || !tree_utf8(v->name)) /* which JSON could not have */
            continue;
        text_add(b, "%s", comma);
        text_add_quoted(b, v->name);
        add_number(b, ": [", v->value);
        add_number(b, ", ", v->least);
        add_number(b, ", ", v->most);
        text_add(b, "]");
        comma = ", ";
    }
    text_add(b, "}");
}

/* Behind them, the event whose handlers wait for an evaluation. */
static void add_counts(engine *e, text_buffer *b)
{
    const char *comma = "";
    text_add(b, ", \"counts\": {");
    for (int32_t event = 0; event < engine_events(e); event++) {
        const int64_t *count = engine_own_count(e, event);
        if (!count || *count == 0)
            continue;
        text_add(b, "%s", comma);
        text_add_quoted(b, engine_event_name(e, event));
        text_add(b, ": %" PRId64, *count);
        comma = ", ";
    }
    text_add(b, "}");
    if (engine_held(e) >= 0) {
        text_add(b, ", \"held\": ");
        text_add_quoted(b, engine_event_name(e, engine_held(e)));
    }
}

/* How far the files of traces are on the disk, and hold. */
static void add_traces(const trainer *t, text_buffer *b)
{
    const char *before = ", \"traces\": {";
    observers_sync(&t->observers); /* also who writes to the file of another one */
    for (size_t k = 0; k < t->observers.ntraces; k++) {
        const trace_mark mark = trace_file_mark(t->observers.traces[k]);
        if (!trace_file_is_first(t->observers.traces[k]))
            continue;
        text_add(b, "%s", before);
        text_add_quoted(b, t->run.file->observers.traces.items[k].file);
        text_add(b, ": [%" PRId64 ", %" PRId64 "]", mark.bytes, (int64_t)mark.hash);
        before = ", ";
    }
    if (t->observers.ntraces > 0)
        text_add(b, "}");
}

/* Rows that loggers of this folder have of what is under way. */
static void add_rows(const trainer *t, text_buffer *b)
{
    if (!log_units_write(&t->run.log.units, b) || !tree_utf8(t->run.folder))
        return;
    text_add(b, ", \"folder\": ");
    text_add_quoted(b, t->run.folder);
}

tutti_status progress_text(const trainer *t, char **ret_text, tutti_error *err)
{
    text_buffer b = {0};
    add_values(&t->run.log, &b);
    add_counts(t->run.engine, &b);
    if (t->resume->some_evaluated)
        text_add(&b, ", \"some_evaluated\": true");
    add_traces(t, &b);
    add_rows(t, &b);
    text_add(&b, "}");
    *ret_text = b.data;
    return b.failed ? tutti_fail(err, TUTTI_E_NOMEM, "no memory for what the run has logged")
                    : TUTTI_OK;
}

static void take_traces(trainer *t, const json_node *traces)
{
    for (size_t k = 0; k < t->observers.ntraces; k++) {
        const char *name = t->run.file->observers.traces.items[k].file;
        const json_node *mark = json_get(traces, name);
        if (json_count(mark) == 2 && trace_file_is_first(t->observers.traces[k]))
            trace_file_set_mark(
                t->observers.traces[k],
                (trace_mark){json_int(json_at(mark, 0)), (uint64_t)json_int(json_at(mark, 1))});
    }
}

static void take_values(run_log *l, const json_node *values)
{
    for (size_t k = 0; k < json_count(values); k++) {
        const json_node *at = json_at(values, k);
        const logged_value v = {.value = number(json_at(at, 0)),
                                .least = number(json_at(at, 1)),
                                .most = number(json_at(at, 2))};
        run_log_restore(l, json_key(at), &v);
    }
}

static void take_counts(engine *e, const json_node *counts)
{
    for (size_t k = 0; k < json_count(counts); k++) {
        const json_node *at = json_at(counts, k);
        int64_t *count = engine_own_count(e, engine_find_event(e, json_key(at)));
        if (count)
            *count = json_int(at);
    }
}

tutti_status progress_take(trainer *t, const char *path, const char *text, bool own,
                           tutti_error *err)
{
    json_doc *doc = NULL;
    const tutti_status s = json_parse(path, text, strlen(text), &doc, err);
    if (s)
        return s;
    take_values(&t->run.log, json_get(json_root(doc), "values"));
    take_counts(t->run.engine, json_get(json_root(doc), "counts"));
    take_traces(t, json_get(json_root(doc), "traces"));
    t->resume->some_evaluated = json_bool(json_get(json_root(doc), "some_evaluated"));
    const char *folder = json_string(json_get(json_root(doc), "folder"));
    if (own ||
        (folder && strcmp(folder, t->run.folder) == 0)) /* else loggers have nothing of it */
        log_units_read(&t->run.log.units, json_get(json_root(doc), "logged"));
    const char *held = json_string(json_get(json_root(doc), "held"));
    if (held)
        engine_hold(t->run.engine, engine_find_event(t->run.engine, held));
    json_free(doc);
    return TUTTI_OK;
}
