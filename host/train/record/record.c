/* record.c - the record of a run: written whole, at its beginning, once it is planned, and at its end. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/record/record.h"

#include "base/duration.h"
#include "base/folders.h"
#include "base/text.h"
#include "train/checkpoint/reproduction.h"
#include "train/checkpoint/resume.h"
#include "train/context/signals.h"
#include "train/record/memory_report.h"
#include "train/record/record_start.h"
#include "train/step/trainer_state.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void add_text(text_buffer *b, const char *key, const char *text)
{
    text_add(b, ",\n \"%s\": ", key);
    if (text)
        text_add_quoted(b, text);
    else
        text_add(b, "null");
}

static void add_real(text_buffer *b, double value)
{
    char text[TEXT_REAL_SIZE];
    if (isfinite(value))
        text_add(b, "%s", text_real(value, text));
    else
        text_add(b, isnan(value) ? "\"NaN\"" : value > 0 ? "\"Infinity\"" : "\"-Infinity\"");
}

/* ---- what the run is made of ---- */

/* The plugins in use, each with the hash of its library. */
static void add_plugins(text_buffer *b, const run_context *run)
{
    const char *comma = "";
    text_add(b, ",\n \"plugins\": [");
    for (size_t k = 0; k < registry_plugin_count(run->registry); k++) {
        char hex[REGISTRY_HEX_SIZE] = "";
        plugin_info p;
        registry_plugin(run->registry, k, &p);
        if (!p.loaded)
            continue;
        text_add(b, "%s\n  {\"id\": ", comma);
        text_add_quoted(b, p.id);
        text_add(b, ", \"version\": ");
        text_add_quoted(b, p.version);
        text_add(b, ", \"folder\": ");
        text_add_quoted(b, p.folder);
        const tutti_status s = p.library ? registry_sha256(p.library, hex, NULL) : TUTTI_OK;
        if (p.library && !s)
            text_add(b, ", \"sha256\": \"%s\"", hex);
        b->failed = b->failed || s == TUTTI_E_NOMEM;
        text_add(b, "}");
        comma = ",";
    }
    text_add(b, "]");
}

static void add_data(text_buffer *b, const trainer *t)
{
    text_add(b, ",\n \"data\": [");
    for (size_t k = 0; k <= t->nevals; k++) {
        const data_source *s = k ? &t->evals[k - 1] : &t->train;
        text_add(b, "%s{\"label\": ", k ? ", " : "");
        text_add_quoted(b, k ? s->spec->label : "train");
        text_add(b, ", \"samples\": %lld}",
                 s->loader ? (long long)loader_dataset(s->loader)->samples : 0LL);
    }
    text_add(b, "]");
}

/* Machine, threads, microbatch and kernels, as checkpoints have them. */
static void add_reproduction(text_buffer *b, trainer *t)
{
    tutti_error ignored = TUTTI_ERROR_INIT;
    reproduction now = {.kernels = NULL};
    if (!t->run.net)
        return;
    const tutti_status s = reproduction_write(&t->run, &t->tensors, &now, &ignored);
    b->failed = b->failed || s == TUTTI_E_NOMEM;
    if (s)
        return;
    add_text(b, "machine", now.machine);
    add_text(b, "threads", now.threads);
    add_text(b, "microbatch", now.microbatch);
    if (t->record->planned)
        add_text(b, "kernels", now.kernels);
    reproduction_fini(&now);
}

/* ---- what came of it ---- */

/* Of rank 0: what its last step took of the other ranks. */
static void add_ranks(text_buffer *b, const distributed *d)
{
    const world_counts *c = &d->last_step;
    if (!d->world)
        return;
    text_add(b, ",\n \"ranks\": {\"count\": %d, \"machines\": %d, \"last_step\": {",
             world_size(d->world), world_machine_count(d->world));
    text_add(b, "\"blocking\": %llu, \"sums\": %llu, \"overlapped\": %llu, ",
             (unsigned long long)c->blocking, (unsigned long long)c->sums,
             (unsigned long long)c->overlapped);
    text_add(b, "\"gathers\": %llu, \"records\": %llu, ", (unsigned long long)c->gathers,
             (unsigned long long)c->records);
    text_add(b, "\"bytes\": %llu, \"bytes_between_machines\": %llu}}",
             (unsigned long long)c->bytes, (unsigned long long)c->far);
}

static void add_metrics(text_buffer *b, const run_log *l)
{
    text_add(b, ",\n \"metrics\": {");
    for (uint32_t k = 0; k < l->nvalues; k++) {
        const logged_value *v = &l->values[k];
        text_add(b, "%s\n  ", k ? "," : "");
        text_add_quoted(b, v->name);
        text_add(b, ": {\"last\": ");
        add_real(b, v->value);
        text_add(b, ", \"least\": ");
        add_real(b, v->least);
        text_add(b, ", \"greatest\": ");
        add_real(b, v->most);
        text_add(b, "}");
    }
    text_add(b, "}");
}

static void add_outcome(text_buffer *b, const trainer *t, const char *status, const char *why)
{
    const tutti_timestamp *now = &t->run.clock.now;
    char limit[40];
    add_text(b, "status", status);
    if (why)
        add_text(b, "error", why);
    if (t->resume->over)
        text_add(b, ", \"nothing_left\": true");
    if (!t->run.file->engine)
        add_text(b, "limit", duration_text(t->run.clock.planned, limit, sizeof limit));
    text_add(b, ",\n \"batches\": %lld, \"samples\": %lld, \"epochs\": %lld, \"seconds\": %.3f",
             (long long)now->batch, (long long)now->sample, (long long)now->epoch,
             (double)now->total_ns * 1e-9);
    add_ranks(b, &t->distributed);
    add_metrics(b, &t->run.log);
}

/* ---- the file ---- */

static char *compose(trainer *t, const char *status, const char *why)
{
    run_record *r = t->record;
    const run_file *file = t->run.file;
    char host[256] = "?", here[PATH_MAX] = "";
    text_buffer b = {.data = NULL};
    (void)gethostname(host, sizeof host - 1);
    (void)!getcwd(here, sizeof here);
    text_add(&b, "{\"format\": \"" RECORD_FORMAT "\"");
    add_text(&b, "name", file->name);
    add_text(&b, "command", file->engine ? "run" : "train");
    add_text(&b, "version", r->version);
    text_add(&b, ",\n \"abi\": \"%u.%u\"", TUTTI_ABI >> 16, TUTTI_ABI & 0xFFFFu);
    add_text(&b, "host", host);
    text_add(&b, ",\n \"process\": %ld", (long)getpid());
    add_text(&b, "working_folder", here);
    add_text(&b, "folder", file->source.folder);
    text_add(&b, ",\n \"started\": %.3f", r->started);
    if (strcmp(status, "running") != 0)
        text_add(&b, ",\n \"ended\": %.3f", record_clock());
    text_add(&b, ",\n \"start\": %s", r->start ? r->start : "{}");
    text_add(&b, ",\n \"attempts\": %s", r->attempts ? r->attempts : "[]");
    text_add(&b, ",\n \"run\": %s", file->text);
    add_data(&b, t);
    add_plugins(&b, &t->run);
    add_reproduction(&b, t);
    if (r->memory)
        text_add(&b, ",\n \"memory\": %s", r->memory);
    add_outcome(&b, t, status, why);
    text_add(&b, "}\n");
    if (b.failed)
        free(b.data);
    return b.failed ? NULL : b.data;
}

/* The whole file or, where anything fails, the one that was there. */
static tutti_status replace(const char *path, const char *text, tutti_error *err)
{
    char part[PATH_MAX];
    if (snprintf(part, sizeof part, "%s.part", path) >= (int)sizeof part)
        return tutti_fail(err, TUTTI_E_RANGE, "%.80s...: the path is too long", path);
    (void)!folders_make(path, NULL); /* what is wrong shows when the file is opened */
    FILE *file = fopen(part, "we");
    bool good = file && fputs(text, file) >= 0 && fflush(file) == 0 && fsync(fileno(file)) == 0;
    int cause = good ? 0 : errno;
    if (file && fclose(file) != 0 && good) {
        good = false;
        cause = errno;
    }
    if (good && rename(part, path) != 0) {
        good = false;
        cause = errno;
    }
    if (good)
        return folders_sync(path, err);
    if (file)
        (void)unlink(part);
    return tutti_fail(err, TUTTI_E_IO, "%s: %s", path, strerror(cause));
}

static bool keeps(const trainer *t)
{
    return t->record->version && t->run.stage.fits && distributed_first(&t->distributed) &&
           !t->record->broken;
}

static void give_up(trainer *t, const char *why)
{
    char text[640];
    t->record->broken = true;
    (void)snprintf(text, sizeof text, "%.500s; the run has no record and cannot be repeated",
                   why);
    run_log_message(&t->run.log, TUTTI_LOG_WARNING, "train", text);
}

/* The start of the record, and that of an earlier attempt, once. */
static void start_once(trainer *t, char path[PATH_MAX])
{
    tutti_error e = TUTTI_ERROR_INIT;
    (void)snprintf(path, PATH_MAX, "%s/" RECORD_FILE, t->run.folder);
    if (!t->record->run && record_start(t->record, t->run.file, path, &e))
        give_up(t, e.text);
}

static void write_record(trainer *t, const char *status, const char *why)
{
    char path[PATH_MAX];
    tutti_error e = TUTTI_ERROR_INIT;
    start_once(t, path);
    if (t->record->broken)
        return;
    char *record = compose(t, status, why);
    const tutti_status s = record ? replace(path, record, &e)
                                  : tutti_fail(&e, TUTTI_E_NOMEM, "%s: no memory", path);
    free(record);
    if (s)
        give_up(t, e.text);
}

/* What an attempt before this one finished stays in its record until there is more to do. */
static bool is_settled(const trainer *t)
{
    return t->record->finished && !t->record->planned;
}

void record_begin(trainer *t)
{
    char path[PATH_MAX];
    if (!keeps(t))
        return;
    start_once(t, path);
    if (!t->record->broken && !is_settled(t))
        write_record(t, "running", NULL);
}

void record_anew(trainer *t)
{
    t->record->finished = false;
    record_begin(t);
}

void record_plan(trainer *t, const plan *p)
{
    tutti_error e = TUTTI_ERROR_INIT;
    if (!keeps(t))
        return;
    t->record->planned = true;
    free(t->record->memory);
    t->record->memory = p ? memory_text(t, p) : NULL;
    if (p && !t->record->memory)
        give_up(t, RECORD_FILE ": no memory for what the run's memory goes to");
    else
        write_record(t, "running", NULL);
    if (!t->record->broken && reproduction_keep(&t->run, t->run.folder, &e))
        run_log_message(&t->run.log, TUTTI_LOG_WARNING, "train", e.text);
}

void record_end(trainer *t, tutti_status s, const char *why)
{
    if (!keeps(t) || !t->record->run || is_settled(t))
        return;
    run_log_sync(&t->run.log); /* nobody does again what a record says has been done */
    observers_sync(&t->observers);
    write_record(t,
                 s == TUTTI_OK              ? RECORD_FINISHED
                 : s == TUTTI_E_INTERRUPTED ? "interrupted"
                                            : "failed",
                 why);
}

void record_fini(run_record *r)
{
    free(r->start);
    free(r->attempts);
    free(r->memory);
    free(r->run);
}
