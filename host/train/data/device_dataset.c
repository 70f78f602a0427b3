/* device_dataset.c - rows picked by number on a device, then changed there by the transforms' kernels. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/data/device_dataset.h"

#include "graph/ir/attr.h"
#include "graph/program/program.h"
#include "train/data/samples.h"
#include "train/data/upload.h"

#include <stdlib.h>
#include <string.h>

enum { CHUNK = 32 << 20, ATTR_WORDS = 16 }; /* bytes that travel at a time */

/* A batch of one size out of all rows: the operation "gather", made ready. */
typedef struct pick {
    tutti_op_call call;
    tutti_desc in[2]; /* all rows, numbers */
    tutti_desc out;
    const tutti_kernel *kernel;
    void *state;
    void *scratch;
    bool ready;
} pick;

/* A column: all rows -> side 0 -> the first transform's side 1 -> the next one's side 0 ... */
typedef struct lane {
    void *all;
    void *side[2];
    bool *changed; /* by each of the transforms */
    uint32_t nstages;
    uint64_t bytes; /* of the largest batch */
    pick full;
    pick last; /* of an epoch that ends with fewer */
} lane;

struct device_dataset {
    device_dataset_options options;
    const tutti_dataset_info *info;
    const loader_options *settings;
    lane lanes[TUTTI_MAX_COLUMNS];
    uint64_t attr[ATTR_WORDS]; /* gather's */
    uploads uploads;
    int64_t *order; /* on the host */
    void *index;    /* on the device */
    bool filled;
    bool ended; /* the end of an epoch was reported */
    int64_t epoch;
    int64_t batch;
};

/* (rows, ...) of a column's samples */
static tutti_desc rows_of(const tutti_desc *one, int64_t rows)
{
    tutti_desc d = {{rows}, one->rank + 1, one->dtype};
    memcpy(d.dim + 1, one->dim, (size_t)one->rank * sizeof *one->dim);
    return d;
}

static const tutti_transform_v1 *table_of(const device_dataset *r, uint32_t transform)
{
    return instance_query(r->settings->transforms[transform], TUTTI_TRANSFORM_V1);
}

/* ---- making ---- */

static tutti_status no_memory(const device_dataset *r, uint64_t bytes, tutti_error *err)
{
    return tutti_fail(err, TUTTI_E_NOMEM, "no memory for %llu bytes on %s",
                      (unsigned long long)bytes, r->options.device->info.name);
}

/* Which columns transform `t` changes, from `columns` without data, which it makes those after it. */
static tutti_status plan_stage(device_dataset *r, uint32_t t, tutti_tensor *columns,
                               tutti_error *err)
{
    instance *i = r->settings->transforms[t];
    const tutti_transform_v1 *table = table_of(r, t);
    tutti_tensor before[TUTTI_MAX_COLUMNS];
    const tutti_samples none = {
        .struct_size = sizeof none, .ncolumns = r->info->ncolumns, .columns = before};
    if (!TUTTI_HAS(table, tutti_transform_v1, apply_batch) || !table->apply_batch)
        return tutti_fail(err, TUTTI_E_UNSUPPORTED, "transform %s has no kernels",
                          instance_name(i));
    memcpy(before, columns, r->info->ncolumns * sizeof *columns);
    for (uint32_t k = 0; k < r->info->ncolumns; k++) {
        lane *l = &r->lanes[k];
        const int32_t made =
            table->apply_batch(instance_self(i), &none, k, &before[k], &columns[k], err);
        if (made < 0)
            return made;
        if (made == 0)
            continue;
        l->changed[t] = true;
        l->nstages++;
        if (tutti_nbytes(&columns[k].desc) > l->bytes)
            l->bytes = tutti_nbytes(&columns[k].desc);
    }
    return TUTTI_OK;
}

static tutti_status plan_lanes(device_dataset *r, tutti_error *err)
{
    const loader_options *o = r->settings;
    tutti_tensor columns[TUTTI_MAX_COLUMNS];
    tutti_status s = TUTTI_OK;
    for (uint32_t k = 0; k < r->info->ncolumns; k++) {
        lane *l = &r->lanes[k];
        columns[k] = (tutti_tensor){NULL, rows_of(&r->info->columns[k].desc, o->batch_size),
                                    device_number(r->options.device), 0};
        l->bytes = tutti_nbytes(&columns[k].desc);
        if (!(l->changed = calloc(o->ntransforms + 1, sizeof *l->changed)))
            return tutti_fail(err, TUTTI_E_NOMEM, "no memory for transforms");
    }
    for (uint32_t t = 0; t < o->ntransforms && !s; t++)
        s = plan_stage(r, t, columns, err);
    return s;
}

static tutti_status make_lane(device_dataset *r, uint32_t k, tutti_error *err)
{
    const tutti_device *d = r->options.device;
    lane *l = &r->lanes[k];
    const uint64_t all = (uint64_t)r->info->samples * tutti_nbytes(&r->info->columns[k].desc);
    if (!(l->all = device_alloc(d, all)))
        return no_memory(r, all, err);
    for (uint32_t side = 0; side < 2 && side <= l->nstages; side++)
        if (!(l->side[side] = device_alloc(d, l->bytes)))
            return no_memory(r, l->bytes, err);
    return TUTTI_OK;
}

tutti_status device_dataset_create(const device_dataset_options *options,
                                   device_dataset **ret_dataset, tutti_error *err)
{
    device_dataset *r = calloc(1, sizeof *r);
    if (!r)
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for data kept on the device");
    r->options = *options;
    r->info = loader_dataset(options->loader);
    r->settings = loader_settings(options->loader);
    r->ended = true;
    const uint64_t bytes = (uint64_t)r->settings->batch_size * sizeof *r->order;
    tutti_status s = plan_lanes(r, err);
    for (uint32_t k = 0; k < r->info->ncolumns && !s; k++)
        s = make_lane(r, k, err);
    if (s)
        goto fail;
    r->order = malloc(bytes);
    r->index = device_alloc(options->device, bytes);
    if (!r->order || !r->index) {
        s = no_memory(r, bytes, err);
        goto fail;
    }
    if (options->gather->attr_size > sizeof r->attr) {
        s = tutti_fail(err, TUTTI_E_RANGE, "gather has attributes of %u bytes",
                       options->gather->attr_size);
        goto fail;
    }
    if ((s = attr_decode(options->gather, NULL, 0, r->attr, err)))
        goto fail;
    *ret_dataset = r;
    return TUTTI_OK;

fail:
    device_dataset_destroy(r);
    return s;
}

static void pick_fini(const tutti_device *d, pick *p)
{
    if (p->ready && p->kernel->destroy)
        p->kernel->destroy(p->state);
    device_free(d, p->scratch);
}

void device_dataset_destroy(device_dataset *r)
{
    if (!r)
        return;
    const tutti_device *d = r->options.device;
    (void)d->table->synchronise(d->device, NULL, NULL); /* work under way uses all of it */
    uploads_fini(&r->uploads, d);
    for (uint32_t k = 0; k < TUTTI_MAX_COLUMNS; k++) {
        lane *l = &r->lanes[k];
        pick_fini(d, &l->full);
        pick_fini(d, &l->last);
        device_free(d, l->all);
        device_free(d, l->side[0]);
        device_free(d, l->side[1]);
        free(l->changed);
    }
    device_free(d, r->index);
    free(r->order);
    free(r);
}

/* ---- reading ---- */

/* Rows [first, first + count) to the device, by way of `host`. */
static tutti_status fill_chunk(device_dataset *r, void *host, int64_t first, int64_t count,
                               tutti_error *err)
{
    void *to[TUTTI_MAX_COLUMNS];
    unsigned char *next = host;
    for (uint32_t k = 0; k < r->info->ncolumns; k++) {
        to[k] = next;
        next += ((uint64_t)count * tutti_nbytes(&r->info->columns[k].desc) + 63) / 64 * 64;
    }
    tutti_status s = samples_read(r->settings->dataset, r->info, first, count,
                                  r->settings->workers, to, err);
    for (uint32_t k = 0; k < r->info->ncolumns && !s; k++) {
        const uint64_t row = tutti_nbytes(&r->info->columns[k].desc);
        s = device_copy(r->options.device, (char *)r->lanes[k].all + (uint64_t)first * row,
                        to[k], (uint64_t)count * row, TUTTI_COPY_TO_DEVICE, err);
    }
    return s;
}

static tutti_status fill(device_dataset *r, tutti_error *err)
{
    uint64_t row = 0;
    for (uint32_t k = 0; k < r->info->ncolumns; k++)
        row += tutti_nbytes(&r->info->columns[k].desc);
    const int64_t n = r->info->samples, fit = row < CHUNK ? CHUNK / ((int64_t)row + 1) + 1 : 1;
    const int64_t rows = fit < n ? fit : n;
    void *host = malloc((uint64_t)rows * row + 64 * TUTTI_MAX_COLUMNS);
    tutti_status s =
        host ? TUTTI_OK : tutti_fail(err, TUTTI_E_NOMEM, "no memory to read samples");
    for (int64_t first = 0; first < n && !s; first += rows)
        s = fill_chunk(r, host, first, rows < n - first ? rows : n - first, err);
    free(host);
    r->filled = !s;
    return s;
}

tutti_status device_dataset_seek(device_dataset *r, int64_t epoch, int64_t number,
                                 tutti_error *err)
{
    const int64_t batches = loader_batches(r->options.loader);
    const tutti_status s = r->filled ? TUTTI_OK : fill(r, err);
    if (s)
        return s;
    r->ended = !(number > 0 && number % batches == 0);
    r->epoch = epoch + number / batches;
    r->batch = number % batches;
    return TUTTI_OK;
}

/* ---- batches ---- */

static tutti_status prepare(device_dataset *r, uint32_t k, int64_t count, pick *p,
                            tutti_error *err)
{
    const tutti_device *d = r->options.device;
    const tutti_op *op = r->options.gather;
    uint64_t scratch = 0;
    p->in[0] = rows_of(&r->info->columns[k].desc, r->info->samples);
    p->in[1] = (tutti_desc){{count}, 1, TUTTI_I64};
    p->call = (tutti_op_call){.struct_size = sizeof p->call,
                              .nin = 2,
                              .nout = 1,
                              .threads = 1,
                              .in = p->in,
                              .attr = r->attr,
                              .cuda = program_cuda(d)};
    tutti_status s = op->infer(&p->call, &p->out, err);
    p->call.out = &p->out;
    p->call.step = r->options.step;
    p->kernel = program_kernel(d, op);
    if (!s && !p->kernel)
        s = tutti_fail(err, TUTTI_E_UNSUPPORTED, "gather: device %s has no kernel for it",
                       d->info.name);
    if (!s && p->kernel->prepare)
        s = p->kernel->prepare(&p->call, &p->state, &scratch, err);
    if (s)
        return s;
    p->ready = true;
    if (scratch && !(p->scratch = device_alloc(d, scratch)))
        return no_memory(r, scratch, err);
    return TUTTI_OK;
}

/* The rows of the numbers in r->index. */
static tutti_status pick_rows(device_dataset *r, uint32_t k, int64_t count, tutti_error *err)
{
    const tutti_device *d = r->options.device;
    lane *l = &r->lanes[k];
    pick *p = count == r->settings->batch_size ? &l->full : &l->last;
    const tutti_status s = p->ready ? TUTTI_OK : prepare(r, k, count, p, err);
    const void *in[2] = {l->all, r->index};
    void *out[1] = {l->side[0]};
    const tutti_launch launch = {.struct_size = sizeof launch,
                                 .name = "gather",
                                 .run = s ? NULL : p->kernel->run,
                                 .state = p->state,
                                 .call = &p->call,
                                 .in = in,
                                 .out = out,
                                 .scratch = p->scratch,
                                 .where = r->info->columns[k].name};
    return s ? s : d->table->launch(d->device, NULL, &launch, err);
}

/* Transform `t` on `columns`, which it makes those after it; `turn` counts the changes of each. */
static tutti_status run_stage(device_dataset *r, uint32_t t, tutti_tensor *columns,
                              uint32_t *turn, tutti_error *err)
{
    instance *i = r->settings->transforms[t];
    tutti_tensor before[TUTTI_MAX_COLUMNS];
    const tutti_samples samples = {.struct_size = sizeof samples,
                                   .ncolumns = r->info->ncolumns,
                                   .seed = r->settings->seed,
                                   .epoch = (uint64_t)r->epoch,
                                   .index = r->index,
                                   .columns = before};
    memcpy(before, columns, r->info->ncolumns * sizeof *columns);
    for (uint32_t k = 0; k < r->info->ncolumns; k++) {
        if (!r->lanes[k].changed[t])
            continue;
        columns[k].data = r->lanes[k].side[++turn[k] & 1];
        const int32_t made = table_of(r, t)->apply_batch(instance_self(i), &samples, k,
                                                         &before[k], &columns[k], err);
        if (made <= 0)
            return made ? made
                        : tutti_fail(err, TUTTI_E_STATE, "transform %s left a batch as it was",
                                     instance_name(i));
    }
    return TUTTI_OK;
}

tutti_status device_dataset_next(device_dataset *r, tutti_tensor *columns,
                                 uint32_t *ret_ncolumns, int64_t *ret_samples, tutti_error *err)
{
    tutti_status s = r->filled ? TUTTI_OK : device_dataset_seek(r, 0, 0, err);
    if (s)
        return s;
    if (r->batch == 0 && !r->ended) {
        r->ended = true;
        *ret_samples = 0;
        return TUTTI_OK;
    }
    int64_t count;
    if ((s = loader_order(r->options.loader, r->epoch, r->batch, r->order, &count, err)))
        return s;
    const tutti_tensor numbers = {r->order, {{count}, 1, TUTTI_I64}, TUTTI_DEVICE_CPU, 0};
    if ((s = upload_run(&r->uploads, r->options.device, 0, r->index, &numbers, err)))
        return s;
    uint32_t turn[TUTTI_MAX_COLUMNS] = {0};
    for (uint32_t k = 0; k < r->info->ncolumns && !s; k++) {
        columns[k] =
            (tutti_tensor){r->lanes[k].side[0], rows_of(&r->info->columns[k].desc, count),
                           device_number(r->options.device), 0};
        s = pick_rows(r, k, count, err);
    }
    for (uint32_t t = 0; t < r->settings->ntransforms && !s; t++)
        s = run_stage(r, t, columns, turn, err);
    if (s)
        return s;
    r->ended = false;
    if (++r->batch == loader_batches(r->options.loader)) {
        r->batch = 0;
        r->epoch++;
    }
    *ret_ncolumns = r->info->ncolumns;
    *ret_samples = count;
    return TUTTI_OK;
}
