/* resume.c - taking up a run from its checkpoint. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/checkpoint/resume.h"

#include "train/checkpoint/open_file.h"

#include "train/checkpoint/checkpoint_contents.h"
#include "train/checkpoint/class_check.h"
#include "train/checkpoint/progress.h"
#include "train/checkpoint/provenance.h"
#include "train/checkpoint/reproduction.h"
#include "train/checkpoint/restore.h"
#include "train/checkpoint/saver.h"
#include "train/checkpoint/settings_check.h"
#include "train/context/signals.h"
#include "train/pretrained/load_rules.h"
#include "train/pretrained/pretrained.h"
#include "train/step/trainer_state.h"

#include <errno.h>
#include <stdio.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Freezes what was frozen when `c` was written: it has no optimizer state there. */
static tutti_status freeze(trainer *t, const checkpoint *c, tutti_error *err)
{
    const char *line = checkpoint_value(c, "frozen");
    while (line && *line) {
        const size_t n = strcspn(line, "\n");
        for (uint32_t k = 0; t->run.net && k < net_weight_count(t->run.net); k++) {
            const char *path = net_weight(t->run.net, k)->path;
            if (strlen(path) == n && memcmp(path, line, n) == 0)
                net_freeze(t->run.net, k);
        }
        line += n + (line[n] == '\n');
    }
    return updater_refit(&t->updater, err);
}

int64_t trainer_samples(const trainer *t)
{
    return source_samples(&t->train);
}

static tutti_status check_settings(trainer *t, const char *path, const checkpoint *c,
                                   tutti_error *err)
{
    return settings_check(&t->run, trainer_samples(t), path, c, t->resume->strict, err);
}

/* A checkpoint that the run itself has written is taken whole: what its file leaves out is of the one that it began
 * with. */
static const run_checkpoints *rules_for(trainer *t, const char *path, bool own)
{
    static const run_checkpoints all = {.strict = true};
    const run_checkpoints *rules = &t->run.file->checkpoints;
    char text[640];
    if (!own)
        return rules;
    if ((rules->ignored && *rules->ignored) || (rules->excluded && *rules->excluded)) {
        (void)snprintf(text, sizeof text,
                       "%.400s is of this run and taken whole: load_ignore_keys and "
                       "load_exclude_algorithms are for other files",
                       path);
        run_log_message(&t->run.log, TUTTI_LOG_INFO, "train", text);
    }
    return &all;
}

static bool has_weights_alone(const checkpoint *c)
{
    const char *contents = checkpoint_value(c, CONTENTS_KEY);
    return contents && strcmp(contents, CONTENTS_WEIGHTS) == 0;
}

/* `own`: the run wrote it. */
static tutti_status load_checkpoint(trainer *t, const char *path, const checkpoint *c, bool own,
                                    tutti_error *err)
{
    checkpoint_contents v = {.list = NULL};
    int64_t clock[CLOCK_SIZE] = {0};
    char text[640];
    bool same = false;
    const bool weights = has_weights_alone(c);
    if (weights && t->run.stage.fits)
        return tutti_fail(err, TUTTI_E_FORMAT,
                          "%s: has weights alone, which no run goes on from; \"load_weights\" "
                          "starts a run from it",
                          path);
    tutti_status s = provenance_check(&t->run, path, c, err);
    if (!s)
        s = class_check(t, path, c, t->run.file->checkpoints.strict, err);
    if (!s && t->run.stage.fits && t->resume->strict)
        s = check_settings(t, path, c, err);
    if (!s && t->run.stage.fits)
        s = reproduction_restore(&t->run, &t->tensors, path, c, t->resume->accept_bits, &same,
                                 err);
    t->resume->same = !s && same;
    if (s || (s = freeze(t, c, err)) || (s = contents_collect(t, NULL, clock, &v, err)) ||
        (s = contents_restore(t, path, c, &v, rules_for(t, path, own), weights, err)))
        goto fail;
    if (t->hooks.load && !weights &&
        (s = t->hooks.load(t->hooks.ctx, path, checkpoint_value(c, "loop"), err)))
        goto fail;
    if ((s = contents_spread(t, &v, err)))
        goto fail;
    const char *progress = t->resume->whole ? checkpoint_value(c, PROGRESS_KEY) : NULL;
    if (t->run.stage.fits && progress && (s = progress_take(t, path, progress, own, err)))
        goto fail;
    if (t->run.stage.fits && !t->resume->strict && (s = check_settings(t, path, c, err)))
        goto fail;
    clock_read(t, clock);
    t->resume->stopped =
        t->resume->stopped && own; /* what stopped another run is not this one's */
    if (!checkpoint_is_sealed(c)) {
        (void)snprintf(text, sizeof text,
                       "%s: is of an older format, whose checksum does not cover names and "
                       "settings; damage to these would not be noticed",
                       path);
        run_log_message(&t->run.log, TUTTI_LOG_WARNING, "train", text);
    }
    (void)snprintf(text, sizeof text, "resumed from %s at batch %lld", path,
                   (long long)t->run.clock.now.batch);
    run_log_message(&t->run.log, TUTTI_LOG_INFO, "train", text);

fail:
    contents_fini(&v);
    return s;
}

/* ---- the newest good one ---- */

/* Renames a damaged checkpoint, so that the run can write its own in its place. */
static void set_aside(trainer *t, const char *path, const char *why)
{
    char aside[4096], text[4096];
    (void)snprintf(aside, sizeof aside, "%.4000s.damaged", path);
    const bool moved = rename(path, aside) == 0;
    (void)snprintf(
        text, sizeof text, "%s; %s%.1000s", why,
        moved ? "it is kept as " : "it cannot be renamed: ", moved ? aside : strerror(errno));
    run_log_message(&t->run.log, TUTTI_LOG_WARNING, "train", text);
}

/* Opens the newest checkpoint that is not damaged, *ret_k in the saver's order, and copies its path;
 * NULL where there is none at all.  *err is the newest one's also where an older one is good. */
static tutti_status open_newest(trainer *t, checkpoint **ret_checkpoint, char *ret_path,
                                size_t size, uint32_t *ret_k, tutti_error *err)
{
    saver v;
    const char *path;
    tutti_status first = TUTTI_OK;
    if (!saver_find(&t->run, &v) || !saver_has_paths(&v))
        return tutti_fail(err, TUTTI_E_STATE,
                          "--resume auto needs a checkpoint_saver among the callbacks");
    *ret_checkpoint = NULL;
    for (uint32_t k = 0; (path = saver_path(&v, k)); k++) {
        tutti_error e = TUTTI_ERROR_INIT;
        const tutti_status s = checkpoint_open(path, ret_checkpoint, k ? &e : err);
        *ret_k = k;
        if (!s) {
            (void)snprintf(ret_path, size, "%s", path);
            return TUTTI_OK;
        }
        first = first ? first : s;
        if (s != TUTTI_E_FORMAT) /* what cannot be read now may be good */
            break;
    }
    return first;
}

/* The `count` newest are damaged. */
static void set_newest_aside(trainer *t, uint32_t count)
{
    saver v;
    if (!saver_find(&t->run, &v))
        return;
    while (count-- > 0) { /* oldest first: what is renamed leaves the order */
        tutti_error e = TUTTI_ERROR_INIT;
        checkpoint *c = NULL;
        const char *path = saver_path(&v, count);
        if (path && checkpoint_open(path, &c, &e))
            set_aside(t, path, e.text);
        checkpoint_close(c);
    }
}

/* Whether another program wrote the file: it has weights, and nothing else of a run. */
static bool is_foreign(const checkpoint *c)
{
    tutti_tensor clock;
    return !checkpoint_value(c, "plugins") && checkpoint_find(c, "run.clock", &clock, NULL);
}

static tutti_status load_foreign(trainer *t, const char *path, const checkpoint *c,
                                 tutti_error *err)
{
    load_report report = {.rows = NULL};
    if (t->run.stage.fits)
        return tutti_fail(err, TUTTI_E_FORMAT,
                          "%s: is no checkpoint of a run; \"load_weights\" starts a run from "
                          "such a file",
                          path);
    const tutti_status s =
        pretrained_take(t->run.net, path, c, &t->run.file->checkpoints, &report, err);
    if (!s) {
        load_rules_check(&t->run.file->checkpoints, path, c, &report, &t->run.log);
        load_report_tell(&report, path, c, &t->run.log);
    }
    load_report_fini(&report);
    return s;
}

/* Where none is here: the newest of elsewhere that is not damaged.  None there either is no failure. */
static tutti_status fetch_newest(trainer *t, tutti_error *err)
{
    saver v;
    tutti_status s = TUTTI_E_FORMAT;
    if (!saver_find(&t->run, &v) || !saver_has_paths(&v) || saver_path(&v, 0))
        return TUTTI_OK;
    for (uint32_t k = 0; s == TUTTI_E_FORMAT; k++) {
        tutti_error why = TUTTI_ERROR_INIT;
        checkpoint *c = NULL;
        const char *path;
        s = saver_fetch(&v, k, &why);
        if (s == TUTTI_E_NOTFOUND)
            return TUTTI_OK;
        if (s || !(path = saver_path(&v, 0)))
            return tutti_fail(err, s ? s : TUTTI_E_IO, "%s", why.text);
        s = checkpoint_open(path, &c, &why);
        checkpoint_close(c);
        if (s == TUTTI_E_FORMAT)
            set_aside(t, path, why.text);
        else if (s)
            return tutti_fail(err, s, "%s", why.text);
    }
    return TUTTI_OK;
}

/* All ranks go on from the same file, and have opened it before damaged ones are renamed. */
static tutti_status agree_on_newest(trainer *t, tutti_status status, const char *path,
                                    tutti_error *err)
{
    if (!t->run.stage.fits || !distributed_on(&t->distributed))
        return status;
    const tutti_status s = distributed_agree(&t->distributed, status, err);
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path[0] ? path : "none";
    const world_item item = {"newest checkpoint", name};
    return s ? s : distributed_equal(&t->distributed, &item, 1, err);
}

static tutti_status load_newest(trainer *t, tutti_error *err)
{
    tutti_error e = TUTTI_ERROR_INIT;
    checkpoint *c = NULL;
    uint32_t k = 0;
    char path[4096] = "";
    tutti_status s = t->run.stage.fits && distributed_first(&t->distributed)
                         ? fetch_newest(t, &e)
                         : TUTTI_OK;
    if (t->run.stage.fits)
        s = distributed_agree(&t->distributed, s, &e);
    if (!s)
        s = agree_on_newest(t, open_newest(t, &c, path, sizeof path, &k, &e), path, &e);
    if (s || !c) {
        checkpoint_close(c);
        if (s)
            return tutti_fail(err, s, "%s", e.text);
        if (!t->run.stage.fits)
            return tutti_fail(err, TUTTI_E_NOTFOUND,
                              "%s: auto finds no checkpoint: the run has written none yet",
                              t->run.file->name);
        run_log_begin_again(&t->run.log);
        observers_begin_again(&t->observers);
        run_log_message(&t->run.log, TUTTI_LOG_INFO, "train",
                        "no checkpoint yet: a fresh start");
        return TUTTI_OK;
    }
    s = k && !t->run.stage.fits ? tutti_fail(err, e.status, "%s", e.text)
                                : load_checkpoint(t, path, c, true, err);
    if (!s && distributed_first(&t->distributed))
        set_newest_aside(t, k);
    checkpoint_close(c);
    return s;
}

tutti_status trainer_load(trainer *t, const char *path, tutti_error *err)
{
    checkpoint *c = NULL;
    if (strcmp(path, "auto") == 0)
        return load_newest(t, err);
    tutti_status s = context_open_file(&t->run, &t->distributed, path, &c, err);
    if (!s)
        s = is_foreign(c) ? load_foreign(t, path, c, err)
                          : load_checkpoint(t, path, c, false, err);
    checkpoint_close(c);
    return s;
}
