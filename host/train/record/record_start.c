/* record_start.c - what the record keeps of a run from its beginning on, also that of an earlier attempt. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/record/record_start.h"

#include "base/duration.h"
#include "base/json.h"
#include "base/text.h"
#include "train/record/record.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { RECORD_LIMIT = 64 << 20 };

double record_clock(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Whether the attempt's limit was the run file's: a duration cuts a run that has more to do. */
static bool has_limit_of(const json_node *record, const run_file *file)
{
    char text[40];
    const char *limit = json_string(json_get(record, "limit"));
    return file->engine || (limit && strcmp(limit, duration_text(file->length.max_duration,
                                                                 text, sizeof text)) == 0);
}

/* Of an attempt, or the record's own: the batches of one that came to its end, else 0. */
static int64_t finished_batches(const json_node *attempt)
{
    const char *status = json_string(json_get(attempt, "status"));
    return status && strcmp(status, RECORD_FINISHED) == 0
               ? json_int(json_get(attempt, "batches"))
               : 0;
}

/* The most batches at which an attempt came to its end, whatever its settings were. */
static int64_t last_finish(const json_node *record, const json_node *attempts)
{
    int64_t last = finished_batches(record);
    for (size_t k = 0; attempts && k < json_count(attempts); k++) {
        const int64_t batches = finished_batches(json_at(attempts, k));
        last = batches > last ? batches : last;
    }
    return last;
}

/* How the run once began: `record` is of the attempt that this one goes on from.  False: no memory. */
static bool keep_start(run_record *r, const json_node *record, const run_file *file)
{
    const json_node *start = json_get(record, "start"),
                    *attempts = json_get(record, "attempts");
    const char *status = json_string(json_get(record, "status"));
    char *before = attempts ? json_text(attempts) : NULL;
    char *run = json_get(record, "run") ? json_text(json_get(record, "run")) : NULL;
    const bool same = run && r->run && strcmp(run, r->run) == 0;
    const int64_t batches = json_int(json_get(record, "batches"));
    text_buffer b = {.data = NULL};
    r->finished = status && strcmp(status, RECORD_FINISHED) == 0;
    r->unended = status && !r->finished && !json_get(record, "nothing_left");
    r->finished_at = last_finish(record, attempts);
    r->ended_at = r->finished && same && has_limit_of(record, file) ? batches : 0;
    free(r->start);
    r->start = start ? json_text(start) : NULL;
    r->started = json_real(json_get(record, "started"));
    if (before && strlen(before) > 2)
        text_add(&b, "%.*s, ", (int)strlen(before) - 1, before);
    else
        text_add(&b, "[");
    text_add(&b, "{\"status\": ");
    text_add_quoted(&b, status ? status : "?");
    text_add(&b, ", \"batches\": %lld, \"same_settings\": %s}]", (long long)batches,
             same ? "true" : "false");
    const bool whole = !b.failed && (!attempts || before) && (!start || r->start) &&
                       (run || !json_get(record, "run"));
    if (!whole)
        free(b.data);
    r->attempts = whole ? b.data : NULL;
    free(before);
    free(run);
    return whole;
}

/* What --resume takes up is the run that the folder has the record of, where it has one. */
static tutti_status read_earlier(run_record *r, const run_file *file, const char *path,
                                 tutti_error *err)
{
    tutti_error why = TUTTI_ERROR_INIT;
    json_doc *doc = NULL;
    tutti_status s = r->resumes ? json_read(path, RECORD_LIMIT, &doc, &why) : TUTTI_OK;
    if (doc && !keep_start(r, json_root(doc), file))
        s = TUTTI_E_NOMEM;
    json_free(doc);
    return s == TUTTI_E_NOMEM ? tutti_fail(err, s, "%s: no memory to read it", path) : TUTTI_OK;
}

tutti_status record_start(run_record *r, const run_file *file, const char *path,
                          tutti_error *err)
{
    json_doc *doc = NULL;
    const tutti_status s = json_parse("run", file->text, strlen(file->text), &doc, err);
    if (s)
        return s;
    r->run = json_text(json_root(doc));
    json_free(doc);
    r->started = record_clock();
    return r->run ? read_earlier(r, file, path, err)
                  : tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory for the run file", path);
}
