/* save.c - saving a run: what a checkpoint holds is taken between two batches, and written at once or behind. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/checkpoint/resume.h"

#include "plugin/crash/crash.h"
#include "train/checkpoint/checkpoint_contents.h"
#include "train/checkpoint/provenance.h"
#include "train/checkpoint/reproduction.h"
#include "train/context/signals.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What a checkpoint holds.  Written at once, its tensors are views of where they live; behind, copies. */
typedef struct saved_state {
    char *path;
    const char *run;
    checkpoint_contents contents;
    int64_t clock[CLOCK_SIZE];
    provenance objects;
    reproduction computed;
    char *loop;
    char samples[24];
} saved_state;

static void saved_free(void *what)
{
    saved_state *w = what;
    if (!w)
        return;
    contents_fini(&w->contents);
    reproduction_fini(&w->computed);
    provenance_fini(&w->objects);
    free(w->loop);
    free(w->path);
    free(w);
}

/* All that may fail on one rank alone, before the ranks bring their parts together. */
static tutti_status prepare(trainer *t, saved_state *w, tutti_error *err)
{
    tutti_status s = async_flush(&t->async, err); /* rows of batches that the checkpoint has */
    if (!s)
        s = mirrors_flush(&t->mirrors, false, err);
    if (!s && t->scaler.on && t->scalars.on)
        s = scalars_fetch(&t->scalars, NULL, err);
    if (!s && t->hooks.save)
        s = t->hooks.save(t->hooks.ctx, &w->loop, err);
    return s ? s : provenance_write(&t->run, state_owners_text(t), &w->objects, err);
}

static tutti_status take(trainer *t, saved_state *w, bool copies, tutti_error *err)
{
    tutti_status s = prepare(t, w, err);
    if (t->updater.world && !trainer_hurries()) /* all come, or nobody does */
        s = distributed_agree(&t->distributed, s, err);
    else if (t->updater.world && !s)
        s = tutti_fail(err, TUTTI_E_INTERRUPTED,
                       "nothing is saved: the other ranks have a part of the optimizer state");
    if (s)
        return s;
    clock_write(t, w->clock);
    run_log_sync(&t->run.log);
    w->run = t->run.file->text;
    (void)snprintf(w->samples, sizeof w->samples, "%lld", (long long)trainer_samples(t));
    if ((s = contents_collect(t, true, w->clock, &w->contents, err)) ||
        (s = contents_to_host(t, &w->contents, copies, err)))
        return s;
    return reproduction_write(&t->run, &t->tensors, &w->computed, err);
}

static tutti_status saved_write(const void *what, tutti_error *err)
{
    const saved_state *w = what;
    const reproduction *r = &w->computed;
    const provenance *o = &w->objects;
    const checkpoint_text texts[] = {
        {"samples", w->samples}, {"kernels", r->kernels ? r->kernels : ""},
        {"threads", r->threads}, {"microbatch", r->microbatch},
        {"machine", r->machine}, {"format", "pt"},
        {"run", w->run},         {"plugins", o->plugins},
        {"objects", o->objects}, {"surgery", o->surgery},
        {"frozen", o->frozen},   {"loop", w->loop}};
    const size_t n = sizeof texts / sizeof *texts;
    return checkpoint_write(w->path, w->contents.list, w->contents.count, texts,
                            w->loop ? n : n - 1, err);
}

static tutti_status saved_new(const char *path, saved_state **ret, tutti_error *err)
{
    saved_state *w = calloc(1, sizeof *w);
    if (w)
        w->path = strdup(path);
    if (w && w->path) {
        *ret = w;
        return TUTTI_OK;
    }
    free(w);
    return tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory to save it", path);
}

/* ---- tutti.checkpoint/1 ---- */

tutti_status trainer_save(trainer *t, const char *path, tutti_error *err)
{
    saved_state *w = NULL;
    tutti_status s = write_behind_join(&t->files.behind, err);
    if (!s)
        s = saved_new(path, &w, err);
    if (!s)
        s = take(t, w, false, err);
    if (!s && distributed_first(&t->distributed))
        s = saved_write(w, err);
    saved_free(w);
    return trainer_hurries() ? s : distributed_agree(&t->distributed, s, err);
}

/* A signal does not leave it half made. */
tutti_status trainer_save_behind(trainer *t, const char *path, tutti_error *err)
{
    const bool writes = distributed_first(&t->distributed), whole = crash_breadcrumb.whole;
    saved_state *w = NULL;
    crash_breadcrumb.whole = true;
    tutti_status s = write_behind_join(&t->files.behind, err);
    if (!s)
        s = saved_new(path, &w, err);
    if (!s)
        s = take(t, w, writes, err);
    if (!s && writes && write_behind_start(&t->files.behind, saved_write, saved_free, w))
        w = NULL;
    else if (!s && writes)
        s = saved_write(w, err);
    saved_free(w);
    crash_breadcrumb.whole = whole;
    return distributed_agree(&t->distributed, s, err);
}

tutti_status trainer_settle(trainer *t, bool wait, bool *ret_whole, tutti_error *err)
{
    *ret_whole = write_behind_is_whole(&t->files.behind);
    if (!wait)
        return TUTTI_OK;
    const tutti_status s = write_behind_join(&t->files.behind, err);
    *ret_whole = write_behind_is_whole(&t->files.behind);
    return trainer_hurries() ? s : distributed_agree(&t->distributed, s, err);
}

void trainer_end_saving(trainer *t)
{
    tutti_error e = TUTTI_ERROR_INIT;
    if (write_behind_join(&t->files.behind, &e))
        run_log_message(&t->run.log, TUTTI_LOG_ERROR, "train", e.text);
}
