/* bench_loader.c - how fast a run's training data come, without a model. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/monotonic.h"
#include "cli/cli.h"
#include "train/data/loader.h"
#include "train/data/samples.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { ROUNDS = 3 };

/* A run's training data, opened without a trainer. */
typedef struct data {
    instance *dataset;
    instance **transforms; /* the run's count of them */
    size_t ntransforms;
    loader *loader;
} data;

static double cpu_s(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static const void *no_services(void *ctx, instance *i, const char *interface_id)
{
    return NULL;
}

static tutti_status open_part(run_part *part, instance **ret, tutti_error *err)
{
    const tutti_status s =
        instance_open(part->object, part->name, part->params, no_services, NULL, ret, err);
    if (s == TUTTI_OK)
        part->params = NULL; /* the instance has them */
    return s;
}

static void data_close(data *d)
{
    loader_destroy(d->loader);
    for (size_t k = 0; d->transforms && k < d->ntransforms; k++)
        instance_free(d->transforms[k]);
    free((void *)d->transforms);
    instance_free(d->dataset);
}

/* `d` is for data_close even after an error. */
static tutti_status data_open(data *d, run_file *run, tutti_error *err)
{
    run_data *spec = &run->train;
    uint64_t unused;
    *d = (data){.ntransforms = spec->transforms.count};
    d->transforms = calloc(d->ntransforms + 1, sizeof *d->transforms);
    if (!d->transforms)
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for transforms");
    tutti_status s = open_part(&spec->dataset, &d->dataset, err);
    for (size_t k = 0; s == TUTTI_OK && k < d->ntransforms; k++)
        s = open_part(&spec->transforms.items[k], &d->transforms[k], err);
    const loader_options options = {.dataset = d->dataset,
                                    .transforms = d->transforms,
                                    .ntransforms = (uint32_t)d->ntransforms,
                                    .workers = spec->workers,
                                    .prefetch = spec->prefetch,
                                    .shuffle = spec->shuffle,
                                    .drop_last = spec->drop_last,
                                    .batch_size = spec->batch_size,
                                    .subset_num_batches = spec->subset_num_batches,
                                    .seed = run->seed,
                                    .lanes = spec->lanes,
                                    .slot_size = run_slot_size(run)};
    if (s || (s = loader_create(&options, &d->loader, err)) ||
        spec->resident != RUN_RESIDENT_YES)
        return s;
    s = samples_bytes(loader_dataset(d->loader), &unused, err);
    if (!s)
        loader_make_resident(d->loader); /* the first epoch includes the reading */
    return s;
}

/* One epoch; what it took goes to stdout. */
static tutti_status measure(data *d, int round, tutti_error *err)
{
    const double wall = monotonic_s(), cpu = cpu_s();
    int64_t samples = 0, more;
    double bytes = 0.0;
    do {
        tutti_tensor columns[TUTTI_MAX_COLUMNS];
        uint32_t n;
        const tutti_status s = loader_next(d->loader, columns, &n, &more, err);
        if (s)
            return s;
        samples += more;
        for (uint32_t k = 0; more > 0 && k < n; k++)
            bytes += (double)tutti_nbytes(&columns[k].desc);
    } while (more > 0);
    const double took = monotonic_s() - wall;
    const double used = cpu_s() - cpu;
    (void)printf("epoch %d: %lld samples in %.2f s, %.0f a second, %.0f a second of CPU time, "
                 "%.1f MB/s\n",
                 round, (long long)samples, took, (double)samples / took,
                 (double)samples / used, bytes / took * 1e-6);
    return TUTTI_OK;
}

int bench_loader(const cli_options *o, const tutti_op *const *ops)
{
    data d = {NULL, NULL, 0, NULL};
    tutti_error err = TUTTI_ERROR_INIT;
    int status = CLI_USAGE;
    run_file *run = NULL;
    registry *r = cli_registry(o);
    cli_options own = *o;
    own.run = o->nwords == 2 ? o->words[1] : NULL;
    if (!r || !(run = cli_run_file(&own, RUN_FILE_TRAIN, r)))
        goto end;
    tutti_status s = data_open(&d, run, &err);
    for (int round = 1; s == TUTTI_OK && round <= ROUNDS; round++)
        s = measure(&d, round, &err);
    if (s)
        (void)fprintf(stderr, "tutti: %s\n", err.text);
    status = s ? CLI_FAILED : CLI_OK;

end:
    data_close(&d);
    run_file_free(run);
    registry_destroy(r);
    return status;
}
