/* load.c - weights alone by names, or a whole checkpoint before the run has begun, by the asker's rules. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/checkpoint/load.h"

#include "train/checkpoint/class_check.h"
#include "train/checkpoint/open_file.h"
#include "train/checkpoint/resume.h"
#include "train/pretrained/load_rules.h"
#include "train/pretrained/pretrained.h"
#include "train/step/trainer_state.h"

#include <stdio.h>
#include <string.h>

/* Weights that are not trained on answer for the classes that they were trained with.  A head that is left out does not,
 * and what a whole checkpoint overwrites has that one's. */
static tutti_status check_classes(trainer *t, const char *path, const checkpoint *c,
                                  const run_checkpoints *rules, tutti_error *err)
{
    const bool some = rules->ignored && *rules->ignored;
    if (some || t->resume->whole)
        return TUTTI_OK;
    return class_check(t, path, c, rules->strict && !t->run.stage.fits, err);
}

tutti_status trainer_load_weights(trainer *t, const char *path, const run_checkpoints *rules,
                                  tutti_error *err)
{
    char text[640];
    checkpoint *c = NULL;
    load_report report = {.rows = NULL};
    tutti_status s = context_open_file(&t->run, &t->distributed, path, &c, err);
    if (!s)
        s = check_classes(t, path, c, rules, err);
    if (!s)
        s = mirrors_flush(&t->mirrors, true, err);
    if (!s)
        s = pretrained_take(t->run.net, path, c, rules, &report, err);
    if (!s) {
        mirrors_invalidate(&t->mirrors, MIRROR_ALL);
        (void)snprintf(text, sizeof text,
                       "weights from %.500s; %zu of its tensors are not the model's", path,
                       checkpoint_count(c) - report.tensors);
        run_log_message(&t->run.log, TUTTI_LOG_INFO, "train", text);
        load_rules_check(rules, path, c, &report, &t->run.log);
        load_report_tell(&report, path, c, &t->run.log);
    }
    load_report_fini(&report);
    checkpoint_close(c);
    return s;
}

/* As --resume, with other rules than the run file's. */
static tutti_status load_whole(trainer *t, const char *path, const run_checkpoints *rules,
                               tutti_error *err)
{
    run_checkpoints *const in_force = &t->run.file->checkpoints;
    const run_checkpoints own = *in_force;
    tutti_status s = updater_refit(&t->updater, err); /* what surgery has changed by now */
    *in_force = *rules;
    if (!s)
        s = trainer_load(t, path, err);
    *in_force = own;
    return s;
}

tutti_status trainer_load_part(trainer *t, const char *path, const tutti_load *how,
                               tutti_error *err)
{
    run_checkpoints rules = t->run.file->checkpoints;
    rules.strict = how->strict != 0;
    rules.ignored = (const char **)(uintptr_t)how->ignore_keys;
    if (!t->run.net)
        return tutti_fail(err, TUTTI_E_STATE, "%s: the run has no model to load it into", path);
    if (t->tensors.phase == PHASE_MICROBATCH)
        return tutti_fail(err, TUTTI_E_STATE,
                          "%s: nothing is loaded while a microbatch is under way", path);
    if (how->weights_only)
        return trainer_load_weights(t, path, &rules, err);
    if (t->run.stage.begun)
        return tutti_fail(err, TUTTI_E_STATE,
                          "%s: the run has begun, so that weights alone can be loaded", path);
    return load_whole(t, path, &rules, err);
}
