/* optimizer_step.c - the optimizer step: one update of all weights, on the host or by kernels of a device. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "dist/device_sum.h"
#include "dist/shards.h"
#include "graph/runtime/device_memory.h"
#include "train/update/updater.h"
#include "tutti_internal/scaler.h"

#include <stdlib.h>
#include <string.h>

/* Below this many elements a parallel region costs more than it saves. */
enum { SERIAL_BELOW = 16384 };

/* The arrays of an update, from the first element of a param_range on. */
typedef struct arrays {
    float *w;
    const float *g;
    float *slot[TUTTI_OPTIMIZER_MAX_SLOTS];
    uint16_t *half; /* NULL: nobody reads such copies, or the optimizer does not write them */
    int32_t half_dtype;
    int32_t reserved;
} arrays;

/* Part `k` of `n` of a group: a whole number of cache lines.  `caller` is the breadcrumb of the thread whose
 * update it is. */
static void update_part(const param_range *st, const arrays *a, double lr, int64_t step,
                        int64_t k, int64_t n, const breadcrumb *caller)
{
    const optimizer_group *g = &st->updater->groups[st->group];
    const int64_t lines = (st->count + 15) / 16;
    const int64_t from = lines * k / n * 16, end = lines * (k + 1) / n * 16;
    tutti_update one = {.struct_size = sizeof one,
                        .n = (end < st->count ? end : st->count) - from,
                        .w = a->w + from,
                        .g = a->g + from,
                        .lr = lr,
                        .lr_initial = g->table->lr,
                        .step = step,
                        .low = a->half ? a->half + from : NULL,
                        .low_dtype = a->half_dtype};
    for (uint32_t s = 0; s < g->table->nslots; s++)
        one.slot[s] = a->slot[s] + from; /* as many numbers as weights */
    if (one.n <= 0)
        return;
    const breadcrumb own = crash_breadcrumb; /* of a thread of the team */
    crash_breadcrumb = *caller;
    instance_call c = instance_enter_whole(g->optimizer, "update");
    g->table->update(instance_self(g->optimizer), &one);
    instance_leave(&c);
    crash_breadcrumb = own;
}

/* tutti_update.each: the threads do parts of the call that the calling thread is in. */
static void on_team(void *ctx, int64_t count, void (*part)(void *arg, int64_t k), void *arg)
{
    const int threads = *(const int *)ctx;
    const breadcrumb caller = crash_breadcrumb;
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1 && count > 1)
    for (int64_t k = 0; k < count; k++) {
        const breadcrumb own = crash_breadcrumb; /* of a thread of the team */
        crash_breadcrumb = caller;
        part(arg, k);
        crash_breadcrumb = own;
    }
}

/* The weight of `st`, whose number is not -1. */
static void tell_weight(const param_range *st, tutti_update *ret)
{
    const tutti_weight *w = net_weight(st->updater->run->net, (uint32_t)st->weight);
    ret->desc = &w->data.desc;
    ret->path = w->path;
}

/* One whole weight, by the optimizer's code on the host. */
static void update_weight(const param_range *st, const arrays *a, double lr, int64_t step,
                          double norm, void *scratch, int threads)
{
    const optimizer_group *g = &st->updater->groups[st->group];
    tutti_update one = {.struct_size = sizeof one,
                        .n = st->count,
                        .w = a->w,
                        .g = a->g,
                        .lr = lr,
                        .lr_initial = g->table->lr,
                        .step = step,
                        .low = a->half,
                        .low_dtype = a->half_dtype,
                        .scratch = scratch,
                        .each = on_team,
                        .each_ctx = &threads,
                        .gradient_norm = norm};
    memcpy(one.slot, a->slot, g->table->nslots * sizeof *one.slot);
    tell_weight(st, &one);
    instance_call c = instance_enter_whole(g->optimizer, "update");
    g->table->update(instance_self(g->optimizer), &one);
    instance_leave(&c);
}

static bool writes_low(const updater *u)
{
    bool all = true;
    for (size_t k = 0; k < u->ngroups; k++)
        all = all && TUTTI_HAS(u->groups[k].table, tutti_optimizer_v1, writes_low) &&
              u->groups[k].table->writes_low;
    return all;
}

static arrays arrays_at(const updater *u, const param_range *st, float *weights,
                        const float *grads)
{
    arrays a = {.w = weights + st->first, .g = grads + st->first};
    if (u->half) {
        a.half = u->half + st->first;
        a.half_dtype = u->half_dtype;
    }
    for (uint32_t s = 0; s < u->nslots; s++)
        if (tutti_numel(&st->state[s].shape))
            a.slot[s] = u->slots[s] + st->state[s].at;
    return a;
}

static void update_here(const updater *u, float *weights, const float *grads, int threads)
{
    /* The calling thread waits for its team: a hang anywhere in it is one of the optimizer. */
    const breadcrumb caller = instance_breadcrumb(u->groups[0].optimizer, "update", true);
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
    for (int part = 0; part < threads; part++)
        for (size_t k = 0; k < u->layout.nranges; k++) {
            const param_range *st = &u->layout.ranges[k];
            const arrays a = arrays_at(u, st, weights, grads);
            if (st->weight < 0)
                update_part(st, &a, u->groups[st->group].lr, u->step + 1, part, threads,
                            &caller);
        }
    for (size_t k = 0; k < u->layout.nranges; k++) {
        const param_range *st = &u->layout.ranges[k];
        const arrays a = arrays_at(u, st, weights, grads);
        if (st->weight >= 0)
            update_weight(st, &a, u->groups[st->group].lr, u->step + 1, u->norm.now,
                          u->memory.staged ? u->memory.staged_scratch : u->memory.scratch,
                          threads);
    }
    crash_breadcrumb = caller;
}

/* in: gradients, numbers; out: weights, slots, if u->half copies in 16 bits.  Runs where a device runs
 * code of the host's. */
static tutti_status run_update(void *state, const tutti_op_call *c, const void *const *in,
                               void *const *out, void *scratch)
{
    const param_range *st = state;
    const double *now = (const double *)in[1] + st->group * TUTTI_UPDATE_NUMBERS;
    const updater *u = st->updater;
    const int threads = st->count < SERIAL_BELOW ? 1 : st->threads;
    if (now[TUTTI_UPDATE_SKIP] != 0.0)
        return TUTTI_OK;
    arrays a = {.w = out[0], .g = in[0], .half_dtype = u->half_dtype};
    for (uint32_t k = 0; k < u->nslots; k++)
        a.slot[k] = out[k + 1];
    a.half = u->half ? out[u->nslots + 1] : NULL;
    const breadcrumb caller =
        instance_breadcrumb(u->groups[st->group].optimizer, "update", true);
    if (st->weight >= 0) {
        update_weight(st, &a, now[TUTTI_UPDATE_LR], (int64_t)now[TUTTI_UPDATE_STEP],
                      now[TUTTI_UPDATE_NORM], u->memory.scratch, threads);
        crash_breadcrumb = caller;
        return TUTTI_OK;
    }
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
    for (int part = 0; part < threads; part++)
        update_part(st, &a, now[TUTTI_UPDATE_LR], (int64_t)now[TUTTI_UPDATE_STEP], part,
                    threads, &caller);
    crash_breadcrumb = caller;
    return TUTTI_OK;
}

static tutti_status launch_update(param_range *st, float *weights, const float *grads,
                                  tutti_error *err)
{
    const updater *u = st->updater;
    const arrays a = arrays_at(u, st, weights, grads);
    const void *in[2] = {a.g, u->scalars->on ? u->scalars->numbers : u->numbers};
    void *out[TUTTI_OPTIMIZER_MAX_SLOTS + 2] = {a.w};
    memcpy(out + 1, a.slot, sizeof a.slot);
    out[u->nslots + 1] = a.half;
    for (uint32_t k = 0; k < sizeof st->desc / sizeof *st->desc; k++)
        st->desc[k] = (tutti_desc){{st->count}, 1, TUTTI_F32};
    for (uint32_t k = 0; k < u->nslots; k++)
        st->desc[k + 3] = st->state[k].shape;
    st->desc[u->nslots + 3].dtype = u->half_dtype;
    st->desc[1] = (tutti_desc){{(int64_t)u->ngroups, TUTTI_UPDATE_NUMBERS}, 2, TUTTI_F64};
    st->call = (tutti_op_call){.struct_size = sizeof st->call,
                               .nin = 2,
                               .nout = u->nslots + 1 + (u->half != NULL),
                               .threads = st->threads,
                               .in = st->desc,
                               .out = st->desc + 2,
                               .step = &u->run->step};
    return u->device->table->launch(u->device->device, NULL,
                                    &(tutti_launch){.struct_size = sizeof(tutti_launch),
                                                    .name = "update",
                                                    .run = run_update,
                                                    .state = st,
                                                    .call = &st->call,
                                                    .in = in,
                                                    .out = out},
                                    err);
}

static tutti_status send_numbers(updater *u, tutti_error *err)
{
    const uint64_t bytes = u->ngroups * TUTTI_UPDATE_NUMBERS * sizeof(double);
    if (!u->numbers)
        u->numbers = device_alloc(u->device, bytes);
    double *numbers = calloc(u->ngroups, TUTTI_UPDATE_NUMBERS * sizeof *numbers);
    if (!u->numbers || !numbers) {
        free(numbers);
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for the rates of optimizer groups");
    }
    for (size_t k = 0; k < u->ngroups; k++) {
        double *now = numbers + k * TUTTI_UPDATE_NUMBERS;
        now[TUTTI_UPDATE_LR] = u->groups[k].lr;
        now[TUTTI_UPDATE_STEP] = (double)(u->step + 1);
        now[TUTTI_UPDATE_FACTOR] = 1.0;
    }
    const tutti_status s =
        device_copy(u->device, u->numbers, numbers, bytes, TUTTI_COPY_TO_DEVICE, err);
    free(numbers);
    return s;
}

/* Whether the device alone knows how many updates there were: it may have left out some. */
static bool counts_there(const updater *u)
{
    return u->scaler->on && u->scalars->on;
}

/* An array of the device's and its copy on the host. */
typedef struct staged_array {
    float *there, *here;
    int64_t count;
} staged_array;

enum { STAGED_GRADS, STAGED_WEIGHTS, STAGED_SLOTS };

/* Gradients, weights and slots, with memory on the host for all of them. */
static tutti_status stage(updater *u, float *weights, float *grads, staged_array *ret,
                          tutti_error *err)
{
    int64_t all = 2 * u->count;
    ret[STAGED_GRADS] = (staged_array){grads, NULL, u->count};
    ret[STAGED_WEIGHTS] = (staged_array){weights, NULL, u->count};
    for (uint32_t k = 0; k < u->nslots; k++) {
        ret[STAGED_SLOTS + k] = (staged_array){u->slots[k], NULL, u->layout.counts[k]};
        all += u->layout.counts[k];
    }
    if (!u->memory.staged)
        u->memory.staged = malloc((uint64_t)all * sizeof(float) + 1);
    if (u->memory.bytes && !u->memory.staged_scratch)
        u->memory.staged_scratch = device_alloc(NULL, u->memory.bytes);
    if (!u->memory.staged || (u->memory.bytes && !u->memory.staged_scratch))
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for %llu bytes of optimizer state",
                          (unsigned long long)all * sizeof(float));
    float *here = u->memory.staged;
    for (uint32_t k = 0; k < STAGED_SLOTS + u->nslots; here += ret[k++].count)
        ret[k].here = here;
    return TUTTI_OK;
}

/* Where only the device's own kernels run: there and back through the host. */
static tutti_status update_staged(updater *u, float *weights, float *grads, tutti_error *err)
{
    staged_array a[STAGED_SLOTS + TUTTI_OPTIMIZER_MAX_SLOTS];
    tutti_status s = stage(u, weights, grads, a, err);
    for (uint32_t k = 0; k < STAGED_SLOTS + u->nslots && !s; k++)
        s = device_copy(u->device, a[k].here, a[k].there, (uint64_t)a[k].count * sizeof(float),
                        TUTTI_COPY_FROM_DEVICE, err);
    if (s || (s = norm_compute(&u->norm, a[STAGED_GRADS].here, err)))
        return s;
    for (uint32_t k = 0; k < u->nslots; k++)
        u->slots[k] = a[STAGED_SLOTS + k].here;
    u->step -= counts_there(u);
    update_here(u, a[STAGED_WEIGHTS].here, a[STAGED_GRADS].here,
                u->count < SERIAL_BELOW ? 1 : u->run->threads);
    u->step += counts_there(u);
    for (uint32_t k = 0; k < u->nslots; k++)
        u->slots[k] = a[STAGED_SLOTS + k].there;
    for (uint32_t k = STAGED_WEIGHTS; k < STAGED_SLOTS + u->nslots && !s; k++)
        s = device_copy(u->device, a[k].there, a[k].here, (uint64_t)a[k].count * sizeof(float),
                        TUTTI_COPY_TO_DEVICE, err);
    return s;
}

/* The optimizer's own kernel. */
static tutti_status update_by_kernel(const updater *u, const param_range *st, float *weights,
                                     const float *grads, tutti_error *err)
{
    const double *numbers = u->scalars->on ? u->scalars->numbers : u->numbers;
    const optimizer_group *g = &u->groups[st->group];
    const arrays a = arrays_at(u, st, weights, grads);
    tutti_update one = {.struct_size = sizeof one,
                        .n = st->count,
                        .w = a.w,
                        .g = a.g,
                        .lr = g->lr,
                        .lr_initial = g->table->lr,
                        .step = u->step + !counts_there(u),
                        .numbers = numbers + st->group * TUTTI_UPDATE_NUMBERS,
                        .low = a.half,
                        .low_dtype = a.half_dtype};
    memcpy(one.slot, a.slot, sizeof one.slot);
    if (st->weight >= 0) {
        one.scratch = u->memory.scratch;
        tell_weight(st, &one);
    }
    instance_call c = instance_enter_whole(g->optimizer, "update_on_device");
    const tutti_status s = g->table->update_on_device(instance_self(g->optimizer), &one, err);
    instance_leave(&c);
    return s;
}

bool updater_is_staged(const updater *u)
{
    return context_is_remote(u->run) && !u->has_kernels &&
           strcmp(u->device->info.kernels, "cpu") != 0;
}

bool updater_merges(const updater *u)
{
    return (!u->scaler->on || u->scalars->on) &&
           (!capture_is_supported(context_device(u->run)) || u->reads_numbers);
}

tutti_status updater_begin(updater *u, tutti_error *err)
{
    uint16_t *half = net_half_weights(u->run->net, &u->half_dtype);
    u->half = writes_low(u) && !updater_is_staged(u) && !u->world ? half : NULL;
    if (!context_is_remote(u->run))
        return TUTTI_OK;
    return u->scalars->on ? scalars_prepare(u->scalars, err) : send_numbers(u, err);
}

void updater_end(updater *u)
{
    u->step += !counts_there(u);
    u->scalars->counted = true;
    if (u->half) /* the optimizer has written the copies */
        net_touch_packed(u->run->net);
    else
        net_touch_trained(u->run->net);
    mirrors_invalidate(u->mirrors, 1u << MIRROR_WEIGHTS | 1u << MIRROR_SLOTS);
}

/* Whether the update is left out, which only the device knows, for code that does not read it there. */
static tutti_status fetch_skip(updater *u, bool *ret_skip, tutti_error *err)
{
    double scaler[TUTTI_SCALER_NUMBERS] = {0};
    tutti_status s = TUTTI_OK;
    if (counts_there(u))
        s = scalars_fetch(u->scalars, scaler, err);
    *ret_skip = scaler[TUTTI_SCALER_SKIPPED] != 0.0;
    return s;
}

static tutti_status run_there(updater *u, float *weights, float *grads, tutti_error *err)
{
    bool skip = false;
    const bool host_code = !u->has_kernels && strcmp(u->device->info.kernels, "cpu") == 0;
    tutti_status s =
        u->scalars->on ? scalars_next_update(u->scalars, u->ngroups, err) : TUTTI_OK;
    if (!s && !host_code && !u->reads_numbers)
        s = fetch_skip(u, &skip, err);
    if (s || skip)
        return s;
    if (updater_is_staged(u))
        return update_staged(u, weights, grads, err);
    s = norm_launch(&u->norm, grads, u->scalars->on ? u->scalars->numbers : u->numbers,
                    u->ngroups, err);
    for (size_t k = 0; k < u->layout.nranges && !s; k++)
        s = u->has_kernels ? update_by_kernel(u, &u->layout.ranges[k], weights, grads, err)
                           : launch_update(&u->layout.ranges[k], weights, grads, err);
    return s;
}

static tutti_status run(updater *u, tutti_error *err)
{
    float *weights, *grads;
    int64_t count;
    net_arena(u->run->net, &weights, &grads, &count);
    if (context_is_remote(u->run))
        return run_there(u, weights, grads, err);
    const tutti_status s = norm_compute(&u->norm, grads, err);
    if (s)
        return s;
    update_here(u, weights, grads, count < SERIAL_BELOW ? 1 : u->run->threads);
    return TUTTI_OK;
}

static tutti_status run_tail(void *ctx, tutti_error *err)
{
    updater *u = ctx;
    const tutti_status s = u->scaler->on ? scalars_unscale(u->scalars, err) : TUTTI_OK;
    return s ? s : run(u, err);
}

plan_tail updater_tail(updater *u)
{
    float *weights, *grads;
    int64_t count;
    net_arena(u->run->net, &weights, &grads, &count);
    plan_tail tail = {.run = run_tail, .ctx = u, .nplaces = 7};
    tail.places[0] = weights;
    tail.places[1] = grads;
    tail.places[2] = u->slots[0];
    tail.places[3] = u->numbers;
    tail.places[4] = u->half;
    tail.places[5] = u->scalars->scaler;
    tail.places[6] = u->memory.scratch;
    return tail;
}

static tutti_status run_alone(void *ctx, tutti_error *err)
{
    return run(ctx, err);
}

/* What somebody listens before is a graph of its own. */
static tutti_status run_or_relaunch(updater *u, tutti_error *err)
{
    const tutti_device *d = context_device(u->run);
    if (!capture_is_supported(d) || !u->reads_numbers)
        return run(u, err);
    const plan_tail tail = updater_tail(u);
    u->graphs.log = net_captures(u->run->net);
    return capture_run(&u->graphs, d, (const void *const *)tail.places, tail.nplaces,
                       &u->run->step, run_alone, u, err);
}

/* What the other ranks have updated. */
static tutti_status gather_weights(const updater *u, tutti_error *err)
{
    float *weights, *grads;
    int64_t count;
    net_arena(u->run->net, &weights, &grads, &count);
    if (!u->world)
        return TUTTI_OK;
    if (u->sharding.weights) {
        *u->sharding.stale = true;
        return TUTTI_OK;
    }
    if (!context_is_remote(u->run))
        return world_gather_shards(u->world, weights, count, err);
    const tutti_status s =
        world_device_gather_shards(*u->sharding.devices, weights, count, err);
    if (s) { /* nothing on the device is to wait for a rank that does not come */
        world_device_leave(*u->sharding.devices, true);
        *u->sharding.devices = NULL;
    }
    return s;
}

tutti_status updater_step(updater *u, tutti_error *err)
{
    tutti_status s = mirrors_flush(u->mirrors, false, err);
    if (s || (s = updater_begin(u, err)) || (s = run_or_relaunch(u, err)) ||
        (s = gather_weights(u, err)))
        return s;
    updater_end(u);
    return TUTTI_OK;
}
