/* save.c - saving a run: what a checkpoint holds is taken between two batches, and written at once or behind. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/checkpoint/resume.h"

#include "base/monotonic.h"
#include "plugin/crash/crash.h"
#include "train/checkpoint/checkpoint_contents.h"
#include "train/checkpoint/class_check.h"
#include "train/checkpoint/progress.h"
#include "train/checkpoint/provenance.h"
#include "train/checkpoint/reproduction.h"
#include "train/checkpoint_file/checkpoint_index.h"
#include "train/context/signals.h"
#include "train/data/class_names.h"
#include "train/step/trainer_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <xxhash.h>

/* What a checkpoint holds, as far as this rank writes it.  Written at once, its tensors are views of where they live;
 * behind, copies. */
typedef struct saved_state {
    char *path;  /* of the checkpoint */
    char *shard; /* of this rank's file, where there are several */
    char *token; /* in the names of these files, and in them */
    char *index; /* rank 0's text of which tensor is where; NULL: one file */
    const char *run;
    int wait_ms; /* for what other ranks have written to be seen here */
    bool first;
    const tutti_save_part *part; /* while it is taken */
    bool weights;                /* alone */
    contents_shards shards;
    checkpoint_contents contents;
    int64_t clock[CLOCK_SIZE];
    provenance objects;
    reproduction computed;
    char *loop;
    char *progress; /* progress.h */
    char *classes;  /* class_names_json */
    char samples[24];
} saved_state;

static void saved_free(void *what)
{
    saved_state *w = what;
    if (!w)
        return;
    contents_shards_fini(&w->shards);
    contents_fini(&w->contents);
    reproduction_fini(&w->computed);
    provenance_fini(&w->objects);
    free(w->loop);
    free(w->progress);
    free(w->classes);
    free(w->path);
    free(w->shard);
    free(w->token);
    free(w->index);
    free(w);
}

/* All that may fail on one rank alone, before the ranks bring their shards together. */
static tutti_status prepare(trainer *t, saved_state *w, tutti_error *err)
{
    tutti_status s = async_flush(&t->async, err); /* rows of batches that the checkpoint has */
    if (!s)
        s = mirrors_flush(&t->mirrors, false, err);
    if (!s && t->scaler.on && t->scalars.on)
        s = scalars_fetch(&t->scalars, NULL, err);
    if (!s && t->hooks.save)
        s = t->hooks.save(t->hooks.ctx, &w->loop, err);
    if (!s)
        s = progress_text(t, &w->progress, err);
    if (!s)
        s = class_names_json(&t->train, &w->classes, err);
    return s ? s : provenance_write(&t->run, state_owners_text(t), &w->objects, err);
}

/* A word in the names of a save's files that those of another do not have: rank 0's. */
static tutti_status make_token(trainer *t, char **ret, tutti_error *err)
{
    char mine[24];
    const uint64_t now = (uint64_t)monotonic_ns() ^ (uint64_t)getpid() << 40;
    (void)snprintf(mine, sizeof mine, "%08x", (unsigned)XXH64(&now, sizeof now, 0));
    if (distributed_on(&t->distributed))
        return world_spread(t->distributed.world, mine, ret, err);
    *ret = strdup(mine);
    return *ret ? TUTTI_OK : tutti_fail(err, TUTTI_E_NOMEM, "no memory to save");
}

/* Where this rank's shard goes, and what rank 0 tells of all shards. */
static tutti_status name_shards(trainer *t, saved_state *w, tutti_error *err)
{
    const world *all = t->distributed.world;
    const int32_t size = all ? world_size(all) : 1;
    const checkpoint_contents *v = &w->contents;
    const tutti_status s = make_token(t, &w->token, err);
    if (s)
        return s;
    w->shard = index_shard(w->path, w->token, w->shards.mine, size);
    if (w->first)
        w->index = index_text(w->path, w->token, v->list, v->ranks, v->count, size);
    return w->shard && (w->index || !w->first)
               ? TUTTI_OK
               : tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory to save it", w->path);
}

static tutti_status collect(trainer *t, saved_state *w, bool copies, tutti_error *err)
{
    const bool shards = checkpoint_is_index(w->path);
    tutti_status s = contents_collect(t, &w->shards, w->clock, &w->contents, err);
    if (!s)
        contents_select(&w->contents, w->weights, w->part->ignore_keys);
    if (shards) /* all name theirs, or nobody does */
        s = distributed_agree(&t->distributed, s, err);
    if (!s && shards)
        s = name_shards(t, w, err);
    if (s)
        return s;
    contents_keep(&w->contents, w->shards.mine);
    s = contents_to_host(t, &w->contents, copies, err);
    return s ? s : reproduction_write(&t->run, &t->tensors, &w->computed, err);
}

/* Less than other ranks wait for this one. */
static int wait_for_disks(const trainer *t)
{
    const double limit = t->run.file->distributed.timeout_s * 0.5;
    return limit > 0.0 && limit < 10.0 ? (int)(limit * 1e3) : 10000;
}

static tutti_status take(trainer *t, saved_state *w, bool copies, tutti_error *err)
{
    const bool shards = checkpoint_is_index(w->path) && distributed_on(&t->distributed);
    const bool together = t->updater.world || shards;
    tutti_status s = prepare(t, w, err);
    if (!s && t->run.net) /* a save may come before the run has begun */
        s = net_fill_weights(t->run.net, err);
    if (!s)
        s = contents_shards_make(&t->updater, t->distributed.world, shards, &w->shards, err);
    if (together && !trainer_hurries()) /* all come, or nobody does */
        s = distributed_agree(&t->distributed, s, err);
    else if (together && !s)
        s = tutti_fail(err, TUTTI_E_INTERRUPTED,
                       "nothing is saved: the other ranks have a part of what is to be");
    if (s || (s = weights_gather_all(&t->distributed.gradients.weights, err)))
        return s;
    distributed_tell(&t->distributed, "saving a checkpoint");
    clock_write(t, w->clock);
    run_log_sync(&t->run.log);
    w->run = t->run.file->text;
    w->wait_ms = wait_for_disks(t);
    w->first = distributed_first(&t->distributed);
    (void)snprintf(w->samples, sizeof w->samples, "%lld", (long long)trainer_samples(t));
    return collect(t, w, copies, err);
}

static tutti_status saved_write(const void *what, tutti_error *err)
{
    const saved_state *w = what;
    const reproduction *r = &w->computed;
    const provenance *o = &w->objects;
    checkpoint_text texts[] = {{"samples", w->samples},
                               {"kernels", r->kernels ? r->kernels : ""},
                               {"threads", r->threads},
                               {"microbatch", r->microbatch},
                               {"machine", r->machine},
                               {"format", "pt"},
                               {"run", w->run},
                               {"plugins", o->plugins},
                               {"objects", o->objects},
                               {"surgery", o->surgery},
                               {"frozen", o->frozen},
                               {PROGRESS_KEY, w->progress},
                               {NULL, NULL},
                               {NULL, NULL},
                               {NULL, NULL}};
    const checkpoint_text own[] = {{"format", "pt"}, {INDEX_SAVE_KEY, w->token}};
    size_t n = sizeof texts / sizeof *texts - 3;
    if (w->token)
        texts[n++] = own[1];
    if (w->classes)
        texts[n++] = (checkpoint_text){CLASS_NAMES_KEY, w->classes};
    if (w->weights)
        texts[n++] = (checkpoint_text){CONTENTS_KEY, CONTENTS_WEIGHTS};
    else if (w->loop)
        texts[n++] = (checkpoint_text){"loop", w->loop};
    if (!w->first && w->contents.count == 0)
        return TUTTI_OK;
    if (!w->first) /* the run is told of once */
        return checkpoint_write(w->shard, w->contents.list, w->contents.count, own,
                                sizeof own / sizeof *own, err);
    return checkpoint_write(w->shard ? w->shard : w->path, w->contents.list, w->contents.count,
                            texts, n, err);
}

/* Once all shards are written, which other machines' disks may show later. */
static tutti_status saved_finish(const void *what, tutti_error *err)
{
    const saved_state *w = what;
    return w->index ? index_write(w->path, w->index, w->wait_ms, err) : TUTTI_OK;
}

static tutti_status saved_new(const char *path, const tutti_save_part *part, saved_state **ret,
                              tutti_error *err)
{
    saved_state *w = calloc(1, sizeof *w);
    if (w) {
        w->path = strdup(path);
        w->part = part;
        w->weights = part->flags & TUTTI_SAVE_WEIGHTS;
    }
    if (w && w->path) {
        *ret = w;
        return TUTTI_OK;
    }
    free(w);
    return tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory to save it", path);
}

/* ---- tutti.checkpoint/1 ---- */

/* Any rank's failure, unless the others are not waited for. */
static tutti_status agree(trainer *t, tutti_status s, tutti_error *err)
{
    if (trainer_hurries())
        return s;
    distributed_await_files(&t->distributed, true);
    s = distributed_agree(&t->distributed, s, err);
    distributed_await_files(&t->distributed, false);
    return s;
}

/* What is written behind comes to its end; what all ranks write does so together. */
static tutti_status settle(trainer *t, tutti_error *err)
{
    write_behind *b = &t->behind;
    tutti_status s = write_behind_join(b, err);
    if (!b->together)
        return s;
    if (!(s = agree(t, s, err)))
        s = write_behind_finish(b, err);
    write_behind_drop(b);
    return agree(t, s, err);
}

static tutti_status save_now(trainer *t, const char *path, const tutti_save_part *part,
                             tutti_error *err)
{
    saved_state *w = NULL;
    tutti_status s = settle(t, err);
    if (!s)
        s = saved_new(path, part, &w, err);
    if (!s)
        s = take(t, w, false, err);
    const bool shards = checkpoint_is_index(path);
    if (!s && (shards || w->first))
        s = saved_write(w, err);
    if (shards)
        s = agree(t, s, err);
    if (!s && shards)
        s = saved_finish(w, err);
    saved_free(w);
    return agree(t, s, err);
}

/* A signal does not leave it half made. */
static tutti_status save_behind(trainer *t, const char *path, const tutti_save_part *part,
                                tutti_error *err)
{
    const bool whole = crash_breadcrumb.whole, shards = checkpoint_is_index(path);
    const bool writes = shards || distributed_first(&t->distributed);
    saved_state *w = NULL;
    crash_breadcrumb.whole = true;
    tutti_status s = settle(t, err);
    if (!s)
        s = saved_new(path, part, &w, err);
    if (!s)
        s = take(t, w, writes, err);
    if (!s && writes) {
        s = write_behind_start(
            &t->behind,
            &(write_behind_job){
                .write = saved_write, .finish = saved_finish, .drop = saved_free, .what = w},
            shards && distributed_on(&t->distributed), err);
        w = s ? w : NULL;
    }
    saved_free(w);
    crash_breadcrumb.whole = whole;
    return agree(t, s, err);
}

tutti_status trainer_save(trainer *t, const char *path, const tutti_save_part *part,
                          tutti_error *err)
{
    return part->flags & TUTTI_SAVE_BEHIND ? save_behind(t, path, part, err)
                                           : save_now(t, path, part, err);
}

tutti_status trainer_settle(trainer *t, bool wait, bool *ret_whole, tutti_error *err)
{
    tutti_status s = TUTTI_OK;
    if (wait)
        s = agree(t, settle(t, err), err);
    *ret_whole = write_behind_is_whole(&t->behind);
    return s;
}

void trainer_end_saving(trainer *t)
{
    tutti_error e = TUTTI_ERROR_INIT;
    if (write_behind_join(&t->behind, &e))
        run_log_message(&t->run.log, TUTTI_LOG_ERROR, "train", e.text);
    write_behind_drop(&t->behind);
}
