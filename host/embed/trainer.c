/* trainer.c - tutti_host/trainer.h: a registry, a run file, a trainer. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "tutti_host/trainer.h"
#include "base/duration.h"
#include "embed/plugins.h"
#include "op_table.h"
#include "train/ranks/distributed.h"
#include "train/trainer/trainer.h"
#include "tutti/logger.h"

#include <math.h>
#include <stdlib.h>

struct tutti_trainer {
    registry *registry;
    run_file *run;
    trainer *trainer;
    listener told;
};

static void message(void *ctx, int level, const char *component, const char *text)
{
    tutti_trainer *t = ctx;
    char line[2048];
    (void)snprintf(line, sizeof line, "%s: %s", component, text);
    listener_report(&t->told, level, line);
}

/* The other ranks of a run wait for this one, or hear of its fault. */
static void tell_ranks(tutti_trainer *t, const tutti_trainer_options *o, const char *why)
{
    char line[640];
    tutti_error e = TUTTI_ERROR_INIT;
    const tutti_status s = distributed_refuse(o->run_file, NULL, o->sets, t->registry, why, &e);
    if (!s || s == TUTTI_E_NOTFOUND) /* it has no ranks, or none that it could tell */
        return;
    (void)snprintf(line, sizeof line, "the other ranks do not hear of it: %s", e.text);
    listener_report(&t->told, TUTTI_LOG_ERROR, line);
}

/* Every fault is reported, the first is the error. */
static tutti_status read_run(tutti_trainer *t, const tutti_trainer_options *o, tutti_error *err)
{
    faults *f = faults_create();
    if (!f)
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory to read the run file");
    tutti_status s =
        run_file_read(o->run_file, NULL, RUN_FILE_TRAIN, o->sets, t->registry, &t->run, f);
    for (size_t k = 0; k < faults_count(f); k++)
        listener_report(&t->told, TUTTI_LOG_ERROR, faults_text(f, k));
    if (s)
        s = tutti_fail(err, s, "%s",
                       faults_count(f) ? faults_text(f, 0) : "no memory for the run file");
    if (s && faults_count(f))
        tell_ranks(t, o, faults_text(f, 0));
    faults_destroy(f);
    return s;
}

static tutti_status open_all(tutti_trainer *t, const tutti_trainer_options *o, tutti_error *err)
{
    tutti_status s = tutti_op_table_check(err);
    s = s ? s : plugins_open(o->plugin_paths, &t->told, &t->registry, err);
    if (s || (s = read_run(t, o, err)))
        return s;
    if ((s = trainer_create(t->run, t->registry, tutti_op_table, &t->trainer, err))) {
        if (t->run->distributed.comm.object) /* which may end the process */
            listener_report(&t->told, TUTTI_LOG_ERROR, err->text);
        return s;
    }
    trainer_on_message(t->trainer, message, t, false);
    return TUTTI_OK;
}

tutti_status tutti_trainer_open(const tutti_trainer_options *options,
                                tutti_trainer **ret_trainer, tutti_error *err)
{
    if (options->struct_size < sizeof *options)
        return tutti_fail(err, TUTTI_E_ARG,
                          "the options have %u bytes, want %zu: begin with TUTTI_TRAINER_INIT",
                          options->struct_size, sizeof *options);
    if (!options->run_file)
        return tutti_fail(err, TUTTI_E_ARG, "the options name no run file");
    tutti_trainer *t = calloc(1, sizeof *t);
    if (!t)
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for a trainer");
    t->told = (listener){options->report, options->report_ctx};
    const tutti_status s = open_all(t, options, err);
    if (s)
        tutti_trainer_close(t);
    else
        *ret_trainer = t;
    return s;
}

void tutti_trainer_close(tutti_trainer *t)
{
    if (!t)
        return;
    trainer_destroy(t->trainer);
    run_file_free(t->run);
    registry_destroy(t->registry);
    free(t);
}

tutti_status tutti_trainer_fit(tutti_trainer *t, const char *duration, tutti_error *err)
{
    fit_options options = {.resume = NULL};
    if (duration && duration_parse(duration, &options.duration, err))
        return err->status;
    return trainer_fit(t->trainer, &options, err);
}

const tutti_timestamp *tutti_trainer_time(const tutti_trainer *t)
{
    return trainer_time(t->trainer);
}

double tutti_trainer_metric(const tutti_trainer *t, const char *name)
{
    const double *value = trainer_metric(t->trainer, name);
    return value ? *value : NAN;
}

const tutti_history_v1 *tutti_trainer_history(const tutti_trainer *t)
{
    return trainer_history(t->trainer);
}
