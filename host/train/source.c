/* source.c - a run's data: the objects that it names, and batches from wherever they are made. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/memory.h"
#include "train/resident.h"
#include "train/samples.h"
#include "train/trainer_internal.h"

#include <stdlib.h>
#include <string.h>

/* ---- data that is kept ---- */

/* How much of the memory that is free there samples may take where nobody has asked for it. */
enum { AUTO_SHARE = 2 };

static tutti_status check_room(const trainer *t, const source *s, tutti_error *err)
{
    char want[32], have[32];
    const bool asked = s->spec->resident == RUN_RESIDENT_YES;
    const tutti_device *d = trainer_is_remote(t) ? trainer_device(t) : NULL;
    const uint64_t there = place_available(d), room = asked ? there : there / AUTO_SHARE;
    uint64_t bytes = 0;
    const tutti_status status = samples_bytes(loader_dataset(s->loader), &bytes, err);
    if (status || bytes <= room)
        return status;
    return tutti_fail(
        err, TUTTI_E_NOMEM, "its samples take %s, %s%s free %s%s",
        memory_text(bytes, want, sizeof want), memory_text(there, have, sizeof have),
        asked ? " are" : ", twice as much, is", d ? "on " : "in memory", d ? d->info.name : "");
}

static const tutti_op *find_op(const tutti_op *const *ops, const char *name)
{
    while (*ops && strcmp((*ops)->name, name) != 0)
        ops++;
    return *ops;
}

/* Samples in the host's memory, or on the device with the batches made there. */
static tutti_status keep(trainer *t, source *s, tutti_error *err)
{
    tutti_status status = check_room(t, s, err);
    if (status || !trainer_is_remote(t)) {
        if (!status)
            loader_keep(s->loader);
        return status;
    }
    const resident_options options = {.loader = s->loader,
                                      .device = trainer_device(t),
                                      .gather = find_op(t->ops, "gather"),
                                      .step = &t->step};
    return options.gather ? resident_create(&options, &s->resident, err)
                          : tutti_fail(err, TUTTI_E_UNSUPPORTED,
                                       "the operation gather is not in this program");
}

/* Where it cannot be, the run file has asked for it or has left it open. */
static tutti_status keep_or_tell(trainer *t, source *s, tutti_error *err)
{
    tutti_error why = TUTTI_ERROR_INIT;
    const tutti_status status = keep(t, s, &why);
    if (!status)
        return TUTTI_OK;
    if (s->spec->resident == RUN_RESIDENT_YES)
        return tutti_fail(err, status, "%s: resident is true, but %s", s->spec->label,
                          why.text);
    (void)snprintf(s->elsewhere, sizeof s->elsewhere,
                   "%.60s: samples are read batch by batch: %s", s->spec->label, why.text);
    return TUTTI_OK;
}

void source_announce(trainer *t, const source *s)
{
    if (s->elsewhere[0])
        trainer_message(t, TUTTI_LOG_INFO, "data", s->elsewhere);
}

/* In the host's memory only on request: data sets may keep what they have decoded themselves. */
static bool is_kept(const trainer *t, const run_data *spec)
{
    return spec->resident == RUN_RESIDENT_YES ||
           (spec->resident == RUN_RESIDENT_AUTO && trainer_is_remote(t));
}

/* ---- opening ---- */

tutti_status source_open(trainer *t, source *s, run_data *spec, tutti_error *err)
{
    s->spec = spec;
    tutti_status status = trainer_open(t, &spec->dataset, &s->dataset, err);
    if (status)
        return status;
    s->transforms = calloc(spec->transforms.count + 1, sizeof *s->transforms);
    if (!s->transforms)
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for transforms");
    for (size_t k = 0; k < spec->transforms.count; k++)
        if ((status = trainer_open(t, &spec->transforms.items[k], &s->transforms[k], err)))
            return status;
    const loader_options options = {.dataset = s->dataset,
                                    .transforms = s->transforms,
                                    .ntransforms = (uint32_t)spec->transforms.count,
                                    .workers = spec->workers,
                                    .prefetch = spec->prefetch,
                                    .shuffle = spec->shuffle,
                                    .drop_last = spec->drop_last,
                                    .batch_size = spec->batch_size,
                                    .subset_num_batches = spec->subset_num_batches,
                                    .seed = t->seed};
    if ((status = loader_create(&options, &s->loader, err)) ||
        (is_kept(t, spec) && (status = keep_or_tell(t, s, err))))
        return status;
    s->due = (tutti_interval){spec->interval, 1, 0, -1};
    return metric_set_open(t, &s->metrics, &spec->metrics, err);
}

void source_close(source *s)
{
    resident_destroy(s->resident);
    loader_destroy(s->loader);
    metric_set_close(&s->metrics);
    for (size_t k = 0; s->transforms && s->transforms[k]; k++)
        instance_free(s->transforms[k]);
    free(s->transforms);
    instance_free(s->dataset);
}

/* ---- batches ---- */

tutti_status source_seek(source *s, int64_t epoch, int64_t number, tutti_error *err)
{
    return s->resident ? resident_seek(s->resident, epoch, number, err)
                       : loader_seek(s->loader, epoch, number, err);
}

tutti_status source_next(trainer *t, source *s, batch *b, int64_t *ret_samples,
                         tutti_error *err)
{
    uint32_t n;
    const tutti_column *names = loader_columns(s->loader, &n);
    tutti_tensor columns[TUTTI_MAX_COLUMNS];
    int64_t samples = 0;
    const tutti_status status = s->resident
                                    ? resident_next(s->resident, columns, &n, &samples, err)
                                    : loader_next(s->loader, columns, &n, &samples, err);
    if (status)
        return status;
    if (s->resident)
        views_age(t, 1u << VIEW_RESULTS); /* other numbers in the same places */
    if (samples)
        batch_load(b, names, columns, n);
    *ret_samples = samples;
    return TUTTI_OK;
}
