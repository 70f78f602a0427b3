/* data_source.c - the data of a run: the objects that it names, and batches from wherever they are made. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/data/data_source.h"

#include "graph/runtime/host_memory.h"
#include "train/data/samples.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- data that is kept ---- */

/* How much of the memory that is free there samples may take where nobody has asked for it. */
enum { AUTO_FRACTION = 2 };

static tutti_status check_memory(const run_context *run, const data_source *s, tutti_error *err)
{
    char want[32], have[32];
    const bool asked = s->spec->resident == RUN_RESIDENT_YES;
    const tutti_device *d = context_is_remote(run) ? context_device(run) : NULL;
    const uint64_t there = device_memory_available(d),
                   capacity = asked ? there : there / AUTO_FRACTION;
    uint64_t bytes = 0;
    const tutti_status status = samples_bytes(loader_dataset(s->loader), &bytes, err);
    if (status || bytes <= capacity)
        return status;
    return tutti_fail(
        err, TUTTI_E_NOMEM, "its samples take %s, %s%s free %s%s",
        bytes_text(bytes, want, sizeof want), bytes_text(there, have, sizeof have),
        asked ? " are" : ", twice as much, is", d ? "on " : "in memory", d ? d->info.name : "");
}

static const tutti_op *find_op(const tutti_op *const *ops, const char *name)
{
    while (*ops && strcmp((*ops)->name, name) != 0)
        ops++;
    return *ops;
}

/* Samples in the host's memory, or on the device with the batches made there. */
static tutti_status make_resident(run_context *run, data_source *s, tutti_error *err)
{
    tutti_status status = check_memory(run, s, err);
    if (status || !context_is_remote(run)) {
        if (!status)
            loader_make_resident(s->loader);
        return status;
    }
    const device_dataset_options options = {.loader = s->loader,
                                            .device = context_device(run),
                                            .gather = find_op(run->ops, "gather"),
                                            .step = &run->step};
    return options.gather ? device_dataset_create(&options, &s->on_device, err)
                          : tutti_fail(err, TUTTI_E_UNSUPPORTED,
                                       "the operation gather is not in this program");
}

/* Where it cannot be, the run file has asked for it or has left it open. */
static tutti_status make_resident_or_tell(run_context *run, data_source *s, tutti_error *err)
{
    tutti_error why = TUTTI_ERROR_INIT;
    const tutti_status status = make_resident(run, s, &why);
    if (!status)
        return TUTTI_OK;
    if (s->spec->resident == RUN_RESIDENT_YES)
        return tutti_fail(err, status, "%s: resident is true, but %s", s->spec->label,
                          why.text);
    (void)snprintf(s->not_resident, sizeof s->not_resident,
                   "%.60s: samples are read batch by batch: %s", s->spec->label, why.text);
    return TUTTI_OK;
}

void source_announce(const data_source *s, run_log *l)
{
    if (s->not_resident[0])
        run_log_message(l, TUTTI_LOG_INFO, "data", s->not_resident);
}

/* In the host's memory only on request: data sets may keep what they have decoded themselves. */
static bool is_resident(const run_context *run, const run_data *spec)
{
    return spec->resident == RUN_RESIDENT_YES ||
           (spec->resident == RUN_RESIDENT_AUTO && context_is_remote(run));
}

/* ---- opening ---- */

tutti_status source_open(data_source *s, run_context *run, run_data *spec, tutti_error *err)
{
    s->spec = spec;
    tutti_status status = context_open(run, &spec->dataset, &s->dataset, err);
    if (status)
        return status;
    s->transforms = calloc(spec->transforms.count + 1, sizeof *s->transforms);
    if (!s->transforms)
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for transforms");
    for (size_t k = 0; k < spec->transforms.count; k++)
        if ((status = context_open(run, &spec->transforms.items[k], &s->transforms[k], err)))
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
                                    .seed = run->seed,
                                    .lanes = spec->lanes,
                                    .slot_size = run_slot_size(run->file),
                                    .sampler = &spec->sampler};
    if ((status = loader_create(&options, &s->loader, err)) ||
        (is_resident(run, spec) && (status = make_resident_or_tell(run, s, err))))
        return status;
    s->due = (tutti_interval){spec->interval, 1, 0, -1};
    return metric_set_open(run, &s->metrics, &spec->metrics, err);
}

void source_close(data_source *s)
{
    device_dataset_destroy(s->on_device);
    loader_destroy(s->loader);
    metric_set_close(&s->metrics);
    for (size_t k = 0; s->transforms && s->transforms[k]; k++)
        instance_free(s->transforms[k]);
    free(s->transforms);
    instance_free(s->dataset);
}

int64_t source_batches(const data_source *s)
{
    return s->loader ? loader_batches(s->loader) : -1;
}

int64_t source_tokens(const data_source *s)
{
    uint32_t n = 0;
    const tutti_column *columns = s->loader ? loader_columns(s->loader, &n) : NULL;
    for (uint32_t k = 0; k < n; k++) {
        const tutti_desc *d = &columns[k].desc;
        if (strcmp(columns[k].name, "input") == 0)
            return d->rank == 1 && (d->dtype == TUTTI_I32 || d->dtype == TUTTI_I64) ? d->dim[0]
                                                                                    : 0;
    }
    return 0;
}

bool source_has_tokens(const data_source *s)
{
    return source_tokens(s) > 0;
}

int64_t source_samples(const data_source *s)
{
    return s->loader ? loader_dataset(s->loader)->samples : 0;
}

tutti_status source_check_epochs(const data_source *s, const run_context *run, tutti_error *err)
{
    const tutti_time length = run->file->length.iteration_length, planned = run->clock.planned;
    if (planned.unit != TUTTI_UNIT_EPOCH || length.unit != TUTTI_UNIT_TOKEN)
        return TUTTI_OK;
    const int64_t batches = run->clock.batches_per_epoch;
    const int64_t tokens = source_tokens(s) * s->spec->batch_size;
    if (tokens <= 0 || (length.count - 1) / tokens + 1 > batches)
        return TUTTI_OK;
    return tutti_fail(
        err, TUTTI_E_ARG,
        "max_duration is %lldep, but iteration_length %lldtok begins the data anew "
        "before an epoch of %lld batches with %lld tokens each ends; give "
        "max_duration in tok, ba or iter",
        (long long)planned.count, (long long)length.count, (long long)batches,
        (long long)tokens);
}

/* ---- batches ---- */

tutti_status source_seek(data_source *s, int64_t epoch, int64_t number, tutti_error *err)
{
    return s->on_device ? device_dataset_seek(s->on_device, epoch, number, err)
                        : loader_seek(s->loader, epoch, number, err);
}

tutti_status source_next(data_source *s, host_mirrors *mirrors, batch *b, int64_t *ret_samples,
                         tutti_error *err)
{
    uint32_t n;
    const tutti_column *names = loader_columns(s->loader, &n);
    tutti_tensor columns[TUTTI_MAX_COLUMNS];
    int64_t samples = 0;
    crash_beat();
    crash_refuse_child();
    const tutti_status status =
        s->on_device ? device_dataset_next(s->on_device, columns, &n, &samples, err)
                     : loader_next(s->loader, columns, &n, &samples, err);
    if (status)
        return status;
    if (s->on_device)
        mirrors_invalidate(mirrors,
                           1u << MIRROR_RESULTS); /* other numbers in the same places */
    if (samples)
        batch_load(b, names, columns, n);
    *ret_samples = samples;
    return TUTTI_OK;
}
