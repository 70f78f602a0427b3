/* plugin.c - checkpoint_saver: writes checkpoints, keeps the newest, links the latest. */
/* SPDX-License-Identifier: Apache-2.0 */
#define TUTTI_USE_MINOR 2
#define TUTTI_MIN_MINOR 0
#include "../callback.h"
#include "../interval.h"
#include "latest_link.h"
#include "leftovers.h"
#include "names.h"
#include "newest.h"
#include "remote_copy.h"
#include "saved_names.h"
#include "shared_folder.h"
#include "tutti/checkpoint.h"
#include "tutti/log.h"
#include "tutti/state.h"
#include "tutti/stateful.h"
#include "tutti/world.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { IGNORED_ROOM = 65 };

typedef struct saver {
    const tutti_state_v1 *state;
    const tutti_checkpoint_v1 *checkpoint;
    const tutti_log_v1 *log;
    const tutti_ranks_v1 *ranks;
    const char *filename;
    const char *latest_name;
    remote_copy copy;                  /* what goes elsewhere */
    uint32_t part;                     /* TUTTI_SAVE_WEIGHTS, or 0 */
    const char *ignored[IGNORED_ROOM]; /* names that are left out; a NULL ends them */
    int writes;                        /* of several processes the first */
    interval interval;
    int64_t keep;
    bool overwrite;
    bool behind;  /* files are written while training goes on */
    bool waits;   /* for one of these: */
    bool told;    /* that training waits for the disk */
    bool looked;  /* for a checkpoint to go on from */
    bool claimed; /* the folder */
    char pending[SAVED_NAME];
    tutti_timestamp time_saved; /* of the save that is counted next */
    char folder[512];
    char latest[768];
    char newest[768];
    /* In checkpoints: the batch of the latest save, -1 for none, -2 less the batch of one that was asked for; files,
     * oldest first. */
    int64_t last_batch;
    saved_name saved[SAVED_ROOM];
} saver;

static tutti_status find_folder(saver *v, const tutti_params *params, tutti_error *err)
{
    static const tutti_timestamp start;
    const char *folder = tutti_param_str(params, "folder");
    const char *run = v->checkpoint->run_name(v->checkpoint->ctx);
    tutti_status s = TUTTI_OK;
    if (folder)
        s = name_expand(folder, run, &start, v->folder, sizeof v->folder, err);
    else
        (void)snprintf(v->folder, sizeof v->folder, "%s/checkpoints",
                       v->checkpoint->run_folder(v->checkpoint->ctx));
    char probe[SAVED_NAME];
    if (s == TUTTI_OK) /* an unknown variable is told now, not at the first save */
        s = name_expand(v->filename, run, &start, probe, sizeof probe, err);
    if (s == TUTTI_OK && strchr(probe, '/'))
        s = tutti_fail(err, TUTTI_E_ARG,
                       "checkpoint_saver: filename is %s, want a name without / (the setting "
                       "folder says where)",
                       v->filename);
    if (s == TUTTI_OK && name_is_odd_index(v->filename))
        s = tutti_fail(err, TUTTI_E_ARG,
                       "checkpoint_saver: filename is %s, want one that ends in "
                       ".safetensors.index.json",
                       v->filename);
    (void)snprintf(v->latest, sizeof v->latest, "%s/%s", v->folder, v->latest_name);
    return s;
}

/* What is left out of files. */
static tutti_status read_part(saver *v, const tutti_params *params, tutti_error *err)
{
    const tutti_param *keys = tutti_param_find(params, "ignore_keys");
    v->part = tutti_param_i64(params, "weights_only") ? TUTTI_SAVE_WEIGHTS : 0;
    for (uint64_t k = 0; k < keys->count && k + 1 < IGNORED_ROOM; k++)
        v->ignored[k] = keys->items[k]->s;
    if (!v->part && !v->ignored[0])
        return TUTTI_OK;
    return TUTTI_HAS(v->checkpoint, tutti_checkpoint_v1, save_part) && v->checkpoint->save_part
               ? TUTTI_OK
               : tutti_fail(err, TUTTI_E_UNSUPPORTED,
                            "checkpoint_saver: this host has no save_part of %s, which "
                            "weights_only and ignore_keys want",
                            TUTTI_CHECKPOINT_V1);
}

static tutti_status checkpoint_saver_open(const tutti_host *host, const tutti_params *params,
                                          void **ret_self, tutti_error *err)
{
    saver *v = calloc(1, sizeof *v);
    if (!v)
        return tutti_fail(err, TUTTI_E_NOMEM, "checkpoint_saver: no memory");
    tutti_status s = TUTTI_E_UNSUPPORTED;
    v->state = callback_service(host, "checkpoint_saver", TUTTI_STATE_V1, err);
    v->checkpoint = callback_service(host, "checkpoint_saver", TUTTI_CHECKPOINT_V1, err);
    if (!v->state || !v->checkpoint)
        goto fail;
    v->log = host->query(host->ctx, TUTTI_LOG_V1); /* may be missing */
    const tutti_world_v1 *world = host->query(host->ctx, TUTTI_WORLD_V1);
    v->writes = !world || world->rank(world->ctx) == 0;
    v->ranks = host->query(host->ctx, TUTTI_RANKS_V1); /* may be missing */
    v->filename = tutti_param_str(params, "filename");
    v->latest_name = tutti_param_str(params, "latest_filename");
    v->copy =
        (remote_copy){.files = host->query(host->ctx, TUTTI_FILES_V1), /* may be missing */
                      .name = tutti_param_str(params, "remote_file_name"),
                      .latest = tutti_param_str(params, "latest_remote_file_name"),
                      .run = v->checkpoint->run_name(v->checkpoint->ctx),
                      .overwrite = tutti_param_i64(params, "overwrite") != 0};
    v->interval = (interval){.state = v->state, .every = tutti_param_time(params, "interval")};
    v->keep = tutti_param_i64(params, "keep");
    v->overwrite = tutti_param_i64(params, "overwrite") != 0;
    v->behind = tutti_param_i64(params, "async") != 0 &&
                TUTTI_HAS(v->checkpoint, tutti_checkpoint_v1, settle) && v->checkpoint->settle;
    v->last_batch = -1;
    if ((s = find_folder(v, params, err)) || (s = remote_copy_check(&v->copy, err)) ||
        (s = read_part(v, params, err)))
        goto fail;
    *ret_self = v;
    return TUTTI_OK;

fail:
    free(v);
    return s;
}

static void checkpoint_saver_note(const saver *v, int32_t level, const char *text)
{
    if (v->log)
        v->log->write(v->log->ctx, level, text);
}

/* ---- when ---- */

/* `last_batch` of a file that somebody asked for: what comes at its batch later, such as the end of an epoch, is not in
 * it. */
static int64_t asked_batch(int64_t batch)
{
    return -2 - batch;
}

static int32_t checkpoint_saver_due(void *self, int32_t event)
{
    const saver *v = self;
    if (interval_off(&v->interval) || v->state->time->batch == v->last_batch)
        return 0;
    if (event == TUTTI_EVENT_FIT_END) /* what stopped training came after the last save */
        return 1;
    return interval_due(&v->interval, event);
}

/* ---- what ---- */

static void checkpoint_saver_rotate(saver *v)
{
    while (v->keep >= 0 && (int64_t)saved_count(v->saved) > v->keep) {
        char path[768], text[1024];
        (void)snprintf(path, sizeof path, "%s/%s", v->folder, v->saved[0]);
        if (unlink(path) != 0 && errno != ENOENT) {
            (void)snprintf(text, sizeof text, "cannot remove %s: %s", path, strerror(errno));
            checkpoint_saver_note(v, TUTTI_LOG_WARNING, text);
        } else {
            leftovers_remove_shards(v->folder, v->saved[0]);
        }
        saved_drop(v->saved, 0);
    }
}

/* The file `name` is in place. */
static void saver_count(saver *v, const char *name)
{
    char text[800];
    tutti_error why = TUTTI_ERROR_INIT;
    if (!v->writes)
        return;
    (void)snprintf(text, sizeof text, "saved %s/%s", v->folder, name);
    checkpoint_saver_note(v, TUTTI_LOG_INFO, text);
    if (v->keep != 0 && latest_link_put(v->latest, name, &why))
        checkpoint_saver_note(v, TUTTI_LOG_WARNING,
                              why.text); /* the checkpoint counts without it */
    why = (tutti_error)TUTTI_ERROR_INIT;
    if (remote_copy_send(&v->copy, v->folder, name, v->latest, &v->time_saved, &why))
        checkpoint_saver_note(v, TUTTI_LOG_WARNING, why.text);
    checkpoint_saver_rotate(v);
}

/* A file that is written behind counts once it is whole. */
static tutti_status saver_settle(saver *v, bool wait, tutti_error *err)
{
    int32_t whole = 0;
    if (!v->behind || (!wait && !v->waits))
        return TUTTI_OK;
    const tutti_status s = v->checkpoint->settle(v->checkpoint->ctx, wait, &whole, err);
    if (!s && whole && v->waits) {
        v->waits = false;
        saver_count(v, v->pending);
    }
    return s;
}

static void tell_slow(saver *v)
{
    if (v->waits && !v->told && v->writes)
        checkpoint_saver_note(
            v, TUTTI_LOG_WARNING,
            "a checkpoint is due while the one before is still written: training waits for "
            "the disk; want a longer interval");
    v->told = v->told || v->waits;
}

static tutti_status write_file(const saver *v, const char *path, bool behind, tutti_error *err)
{
    const tutti_checkpoint_v1 *c = v->checkpoint;
    if (!v->part && !v->ignored[0])
        return behind ? c->save_behind(c->ctx, path, err) : c->save(c->ctx, path, err);
    return c->save_part(c->ctx, path,
                        &(tutti_save_part){.struct_size = sizeof(tutti_save_part),
                                           .flags = v->part | (behind ? TUTTI_SAVE_BEHIND : 0),
                                           .ignore_keys = v->ignored},
                        err);
}

/* The file notes itself, so that a resumed run knows all there are. */
static tutti_status save_as(saver *v, const char *name, int64_t last_batch, bool behind,
                            tutti_error *err)
{
    const int64_t before = v->last_batch;
    char path[768];
    (void)snprintf(path, sizeof path, "%s/%s", v->folder, name);
    saved_name *saved = malloc(sizeof v->saved);
    if (!saved)
        return tutti_fail(err, TUTTI_E_NOMEM, "checkpoint_saver: no memory to save %s", path);
    memcpy(saved, v->saved, sizeof v->saved);
    v->last_batch = last_batch;
    saved_add(v->saved, name);
    const tutti_status s = write_file(v, path, behind, err);
    if (s) {
        v->last_batch = before;
        memcpy(v->saved, saved, sizeof v->saved);
    }
    free(saved);
    return s;
}

static tutti_status save_now(saver *v, int64_t last_batch, bool behind, tutti_error *err)
{
    const bool again = v->last_batch == asked_batch(v->state->time->batch);
    char name[SAVED_NAME];
    tutti_status s;
    if (behind && !saver_settle(v, false, err))
        tell_slow(v);
    if ((s = saver_settle(v, true, err)) ||
        (s = name_expand(v->filename, v->checkpoint->run_name(v->checkpoint->ctx),
                         v->state->time, name, sizeof name, err)) ||
        (s = save_as(v, name, last_batch, behind, err)))
        return s;
    v->copy.overwrite = v->overwrite || again; /* names without an epoch */
    v->time_saved = *v->state->time;
    if (behind) {
        v->waits = true;
        (void)snprintf(v->pending, sizeof v->pending, "%s", name);
    } else {
        saver_count(v, name);
    }
    return TUTTI_OK;
}

/* Whoever asks for it wants a file. */
static tutti_status checkpoint_saver_save(void *self, tutti_error *err)
{
    saver *v = self;
    const int64_t batch = v->state->time->batch, asked = asked_batch(batch);
    return v->last_batch == batch || v->last_batch == asked ? saver_settle(v, true, err)
                                                            : save_now(v, asked, false, err);
}

/* The folder is this run's alone, so that nobody writes them any more. */
static void remove_unfinished(const saver *v)
{
    const char *run = v->checkpoint->run_name(v->checkpoint->ctx);
    latest_link_remove_unfinished(v->latest);
    DIR *dir = opendir(v->folder);
    for (struct dirent *e = dir ? readdir(dir) : NULL; e; e = readdir(dir)) {
        char path[1024], text[1200];
        if (!leftovers_have(v->folder, v->filename, run, e->d_name) &&
            !shared_folder_is_file(e->d_name))
            continue;
        (void)snprintf(path, sizeof path, "%s/%s", v->folder, e->d_name);
        (void)snprintf(text, sizeof text, "%s %s, which was not written to its end",
                       unlink(path) == 0 ? "removed" : "cannot remove", path);
        checkpoint_saver_note(v, TUTTI_LOG_INFO, text);
    }
    if (dir)
        (void)closedir(dir);
}

/* Makes the folder this run's alone, where the host can, and removes what a killed save left. */
static tutti_status claim_folder(saver *v, tutti_error *err)
{
    const tutti_checkpoint_v1 *c = v->checkpoint;
    if (!TUTTI_HAS(c, tutti_checkpoint_v1, claim) || !c->claim)
        return TUTTI_OK;
    const tutti_status s = c->claim(c->ctx, v->folder, err);
    v->claimed = !s;
    if (!s)
        remove_unfinished(v);
    return s;
}

/* Those that a killed run has had no time to remove: each file lists all there were, itself last. */
static void remove_overdue(saver *v)
{
    if (v->keep > 0)
        checkpoint_saver_rotate(v);
}

static tutti_status take_folder(saver *v, tutti_error *err)
{
    tutti_status s = claim_folder(v, err);
    /* A process of this run that was killed may have saved more than the checkpoint it goes on from knows of. */
    if (!s && !v->overwrite && !tutti_run_owns(v->checkpoint, v->folder))
        s = leftovers_check(v->folder, v->filename, v->copy.run, v->state->time, err);
    if (s)
        return s;
    remove_overdue(v);
    return tutti_run_own(v->checkpoint, v->folder, err);
}

static tutti_status begin_fit(saver *v, tutti_error *err)
{
    interval_begin(&v->interval);
    const tutti_status s = v->writes ? take_folder(v, err) : TUTTI_OK;
    return name_is_index(v->filename) && !interval_none(&v->interval)
               ? shared_folder_check(v->ranks, v->folder, s, err)
               : s;
}

/* A run that looked for a checkpoint and had nothing left to train cleans up too. */
static tutti_status checkpoint_saver_close(void *self, tutti_error *err)
{
    saver *v = self;
    tutti_error why = TUTTI_ERROR_INIT;
    const tutti_status s = saver_settle(v, false, err);
    if (v->writes && v->looked && !v->claimed && claim_folder(v, &why) == TUTTI_OK)
        remove_overdue(v); /* another run's folder is left as it is */
    free(v);
    return s;
}

static tutti_status checkpoint_saver_event(void *self, const tutti_event *event,
                                           tutti_error *err)
{
    saver *v = self;
    const int64_t batch = v->state->time->batch;
    switch (event->id) {
    case TUTTI_EVENT_FIT_START:
        return begin_fit(v, err);
    case TUTTI_EVENT_BATCH_START:
        interval_batch(&v->interval);
        return saver_settle(v, false, err);
    case TUTTI_EVENT_FIT_END:
        return checkpoint_saver_due(self, event->id) ? save_now(v, batch, false, err)
                                                     : saver_settle(v, true, err);
    default:
        return checkpoint_saver_due(self, event->id) ? save_now(v, batch, v->behind, err)
                                                     : TUTTI_OK;
    }
}

static tutti_status checkpoint_saver_items(void *self, tutti_state_item *items,
                                           uint32_t capacity, uint32_t *ret_count,
                                           tutti_error *err)
{
    saver *v = self;
    (void)err;
    *ret_count = 2;
    if (capacity >= 2) {
        memset(items, 0, 2 * sizeof *items);
        (void)snprintf(items[0].name, sizeof items[0].name, "last_batch");
        items[0].tensor.data = &v->last_batch;
        items[0].tensor.desc.dtype = TUTTI_I64;
        (void)snprintf(items[1].name, sizeof items[1].name, "saved");
        items[1].tensor.data = v->saved;
        items[1].tensor.desc.dtype = TUTTI_U8;
        items[1].tensor.desc.rank = 2;
        items[1].tensor.desc.dim[0] = SAVED_ROOM;
        items[1].tensor.desc.dim[1] = SAVED_NAME;
        items[0].tensor.device = items[1].tensor.device = TUTTI_DEVICE_CPU;
    }
    return TUTTI_OK;
}

static tutti_status checkpoint_saver_restored(void *self, tutti_error *err)
{
    (void)err;
    saved_mend(((saver *)self)->saved);
    return TUTTI_OK;
}

/* The newest file that is older than `before`, its path in v->newest; batch -1 without one. */
static name_time newest_before(saver *v, name_time before)
{
    char text[1024];
    const char *run = v->checkpoint->run_name(v->checkpoint->ctx);
    name_time newest;
    const int why =
        newest_find(v->folder, v->filename, run, before, &newest, v->newest, sizeof v->newest);
    v->looked = true;
    (void)snprintf(text, sizeof text, "cannot look for checkpoints in %s: %s", v->folder,
                   strerror(why));
    if (why)
        checkpoint_saver_note(v, TUTTI_LOG_WARNING, text);
    return newest;
}

/* The newest file by its name: a run that was killed between a save and its link has a newer one than
 * the link's, and every file is whole.  Without numbers in the names, the link. */
static const char *checkpoint_saver_latest(void *self)
{
    saver *v = self;
    return newest_before(v, newest_of_all).batch >= 0 ? v->newest : v->latest;
}

static const char *checkpoint_saver_older(void *self, uint32_t k)
{
    saver *v = self;
    name_time time = newest_before(v, newest_of_all);
    if (time.batch < 0)
        return k == 0 && access(v->latest, F_OK) == 0 ? v->latest : NULL;
    for (; k > 0 && time.batch >= 0; k--)
        time = newest_before(v, time);
    return time.batch >= 0 ? v->newest : NULL;
}

/* Under a name that is not the setting's, the link finds it. */
static tutti_status checkpoint_saver_fetch(void *self, uint32_t k, tutti_error *err)
{
    saver *v = self;
    name_time time;
    char name[SAVED_NAME], text[1024];
    tutti_status s = remote_copy_fetch(&v->copy, k, v->folder, name, sizeof name, err);
    if (!s && (!name_match(v->filename, v->copy.run, name, &time) || time.batch < 0))
        s = latest_link_put(v->latest, name, err);
    if (s)
        return s;
    (void)snprintf(text, sizeof text, "no checkpoint in %s: %s was fetched from elsewhere",
                   v->folder, name);
    checkpoint_saver_note(v, TUTTI_LOG_WARNING, text);
    return TUTTI_OK;
}

static const void *checkpoint_saver_query(void *self, const char *interface_id)
{
    static const tutti_stateful_v1 stateful = {.struct_size = sizeof stateful,
                                               .items = checkpoint_saver_items,
                                               .restored = checkpoint_saver_restored};
    static const tutti_saver_v1 table = {.struct_size = sizeof table,
                                         .due = checkpoint_saver_due,
                                         .save = checkpoint_saver_save,
                                         .latest = checkpoint_saver_latest,
                                         .older = checkpoint_saver_older,
                                         .fetch = checkpoint_saver_fetch};
    (void)self;
    if (strcmp(interface_id, TUTTI_SAVER_V1) == 0)
        return &table;
    return strcmp(interface_id, TUTTI_STATEFUL_V1) == 0 ? &stateful : NULL;
}

CALLBACK_PLUGIN("checkpoint_saver", .open = checkpoint_saver_open,
                .run_event = checkpoint_saver_event, .close = checkpoint_saver_close,
                .query = checkpoint_saver_query);
