/* begin.c - what comes before the first event of fit, eval or predict: INIT, weights, the checkpoint. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/trainer/begin.h"
#include "train/trainer/trainer.h"

#include "train/checkpoint/class_check.h"
#include "train/checkpoint/load.h"
#include "train/checkpoint/resume.h"
#include "train/record/own_files.h"
#include "train/record/record.h"
#include "train/record/repeat.h"
#include "train/step/trainer_events.h"
#include "train/step/trainer_state.h"
#include "train/update/updater.h"

#include <stdio.h>
#include <string.h>

tutti_status trainer_claim(trainer *t, const char *folder, tutti_error *err)
{
    tutti_error why = TUTTI_ERROR_INIT;
    const tutti_status s = folder_lock_take(&t->locks, folder, &why);
    if (s != TUTTI_E_UNSUPPORTED)
        return s ? tutti_fail(err, s, "%s", why.text) : TUTTI_OK;
    run_log_message(&t->run.log, TUTTI_LOG_WARNING, "train", why.text);
    return TUTTI_OK;
}

/* The run's folder, where any file of the run goes there. */
static tutti_status claim_folder(trainer *t, tutti_error *err)
{
    bool writes = t->run.file->observers.traces.count > 0 || t->run.file->observers.profiled;
    for (size_t k = 0; k < t->run.participants.nloggers; k++) {
        const tutti_logger_v1 *table =
            instance_query(t->run.participants.items[k], TUTTI_LOGGER_V1);
        writes =
            writes || (table && TUTTI_HAS(table, tutti_logger_v1, sync) && table->sync != NULL);
    }
    writes = writes || t->record->version;
    return writes ? trainer_claim(t, t->run.folder, err) : TUTTI_OK;
}

/* A pattern with a misspelt path changes nothing, which is told. */
static void tell_idle_groups(trainer *t)
{
    const net *n = t->run.net;
    const run_file *file = t->run.file;
    for (uint32_t g = 0; n && g + 1 < file->ngroups; g++) {
        char text[400];
        uint32_t k = 0;
        while (k < net_weight_count(n) && updater_group(file, net_weight(n, k)->path) != g)
            k++;
        if (k < net_weight_count(n) || k == 0)
            continue;
        (void)snprintf(text, sizeof text,
                       "optimizer.groups[%u] has no weight: %.120s matches none that no group "
                       "before it has; the model's first is %.120s",
                       g, file->groups[g].match, net_weight(n, 0)->path);
        run_log_message(&t->run.log, TUTTI_LOG_WARNING, "train", text);
    }
}

/* What rank 0's record of the run says of attempts before this one, which takes up what it finds or is told. */
static tutti_status look_back(trainer *t, bool finds, tutti_error *err)
{
    enum { UNENDED = 1, ENDED = 2, MIDWAY = 4 };
    const run_record *r = t->record;
    const bool ended = finds && r->ended_at && r->ended_at == t->run.clock.now.batch;
    /* An attempt that came to its end there was stopped: one with a longer limit goes on. */
    const bool midway = finds && r->finished_at < t->run.clock.now.batch;
    int32_t known = r->unended ? UNENDED | (midway ? MIDWAY : 0) : ended ? ENDED : 0;
    const tutti_status s = distributed_take_first(&t->distributed, &known, err);
    t->resume->unended = (known & UNENDED) != 0;
    t->resume->ended = known == ENDED;
    t->resume->midway = (known & MIDWAY) != 0;
    t->resume->stopped = t->resume->stopped && t->resume->midway;
    return s;
}

static tutti_status begin(trainer *t, const char *resume, tutti_error *err)
{
    run_log_own(&t->run.log);
    tutti_status s = t->run.stage.fits && distributed_first(&t->distributed)
                         ? claim_folder(t, err)
                         : TUTTI_OK;
    if (!s)
        record_begin(t);
    if (!s && t->run.stage.fits)
        own_files_begin(t->own, &t->run,
                        resume && strcmp(resume, "auto") == 0 && !t->resume->anew);
    if (!s && t->run.stage.fits) /* files of a training run are not an evaluation's */
        s = observers_start(&t->observers, &t->run, resume != NULL, err);
    if (s || (s = trainer_event(t, TUTTI_EVENT_INIT, err)))
        return s;
    t->run.log.ready = true;
    context_announce_device(&t->run);
    if (t->run.stage.fits)
        distributed_advise(&t->distributed);
    precision_announce(&t->run);
    source_announce(&t->train, &t->run.log);
    for (size_t k = 0; k < t->nevals; k++)
        source_announce(&t->evals[k], &t->run.log);
    class_check_announce(t);
    char json[64];
    (void)snprintf(json, sizeof json, "%llu", (unsigned long long)t->run.seed);
    run_log_hyperparameter(&t->run.log, "seed", json);
    for (size_t k = 0; k < t->run.participants.count; k++) {
        const object_info *o = object_describe(instance_object(t->run.participants.items[k]));
        if (strcmp(o->kind, TUTTI_KIND_ALGORITHM) == 0) {
            char name[128];
            (void)snprintf(name, sizeof name, "enabled_algorithms/%s",
                           instance_name(t->run.participants.items[k]));
            run_log_hyperparameter(&t->run.log, name, "true");
        }
    }
    if ((s = updater_refit(&t->updater, err)) || (s = updater_schedule(&t->updater, err)) ||
        (s = trainer_event(t, TUTTI_EVENT_BEFORE_LOAD, err)) ||
        (s = updater_refit(&t->updater, err)))
        return s;
    const run_checkpoints *rules = &t->run.file->checkpoints;
    t->resume->whole = resume != NULL;
    if ((rules->weights && (s = trainer_load_weights(t, rules->weights, rules, err))) ||
        (resume && (s = trainer_load(t, resume, err))) ||
        (s = run_repeat_take(t, t->resume->accept_bits, err)) ||
        (t->run.net && (s = net_fill_weights(t->run.net, err))))
        return s;
    if ((s = trainer_event(t, TUTTI_EVENT_AFTER_LOAD, err)) ||
        (s = updater_refit(&t->updater, err)))
        return s;
    t->run.stage.begun = true;
    if (t->run.stage.fits)
        tell_idle_groups(t);
    s = t->run.stage.fits && resume ? look_back(t, strcmp(resume, "auto") == 0, err) : TUTTI_OK;
    if (!s)
        s = updater_reschedule(&t->updater, err);
    if (!s)
        s = distributed_compare_start(&t->distributed, err);
    if (!s && t->hooks.begun.call && distributed_first(&t->distributed))
        t->hooks.begun.call(t->hooks.begun.ctx, t);
    return s;
}

tutti_status trainer_begin(trainer *t, const char *resume, tutti_error *err)
{
    world_forget_failure(t->distributed.world);
    distributed_await_files(&t->distributed, true);
    const tutti_status s = begin(t, resume, err);
    distributed_await_files(&t->distributed, false);
    return s;
}
