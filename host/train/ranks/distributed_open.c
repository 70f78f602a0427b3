/* distributed_open.c - joining the other ranks of a run, leaving them, and what they are told at its beginning. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/launcher.h"
#include "base/monotonic.h"
#include "train/context/signals.h"
#include "train/ranks/distributed.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

/* What gradients on a device cannot be yet. */
static tutti_status check_device(const distributed *d, tutti_error *err)
{
    const run_file *file = d->run->file;
    const run_distributed *r = &file->distributed;
    if (!context_is_remote(d->run))
        return TUTTI_OK;
    if (world_size(d->world) > 1 && !r->device_comm.object)
        return tutti_fail(
            err, TUTTI_E_UNSUPPORTED,
            "distributed: the run's device is %s, and nothing moves its gradients "
            "from rank to rank; want \"device_comm\": \"nccl\" of \"distributed\", "
            "or \"device\": \"cpu\"",
            file->device.part.name);
    return r->sharding > SHARDING_STATES
               ? tutti_fail(err, TUTTI_E_UNSUPPORTED,
                            "distributed: the run's device is %s, on which gradients are "
                            "summed where sharding is none or states alone; want "
                            "\"sharding\": \"states\", or \"device\": \"cpu\"",
                            file->device.part.name)
               : TUTTI_OK;
}

static tutti_status open_device_comm(distributed *d, tutti_error *err)
{
    run_part *part = &d->run->file->distributed.device_comm;
    return part->object ? context_open(d->run, part, &d->device_comm, err) : TUTTI_OK;
}

tutti_status distributed_check(distributed *d, tutti_error *err)
{
    const run_file *file = d->run->file;
    if (!d->world)
        return TUTTI_OK;
    const tutti_status s = check_device(d, err);
    if (s)
        return s;
    if (file->microbatch_size == RUN_MICROBATCH_AUTO)
        return tutti_fail(
            err, TUTTI_E_ARG,
            "distributed: microbatch_size is auto, want a number: it decides which "
            "gradients are summed, on every rank alike");
    for (size_t k = 0; k < file->nevals; k++)
        if (file->evals[k].microbatch_size == RUN_MICROBATCH_AUTO)
            return tutti_fail(err, TUTTI_E_ARG,
                              "distributed: microbatch_size of the evaluation %s is auto, want "
                              "a number: every "
                              "rank hears of the same parts",
                              file->evals[k].label);
    return open_device_comm(d, err);
}

static void end_device_round(void *ctx, bool failed)
{
    distributed *d = ctx;
    device_gradients_end_round(&d->device, failed);
}

tutti_status distributed_join_devices(distributed *d, tutti_error *err)
{
    const run_distributed *r = &d->run->file->distributed;
    const tutti_device *device = context_device(d->run);
    if (!d->world || !context_is_remote(d->run))
        return TUTTI_OK;
    d->device.half = d->gradients.rules.half;
    const tutti_status s = d->device.half ? cast_open(&d->device.cast, d->run, err) : TUTTI_OK;
    const world_device_options options = {.comm = d->device_comm,
                                          .table = device->table,
                                          .device = device->device,
                                          .convert = d->device.half ? cast_numbers : NULL,
                                          .ctx = &d->device.cast,
                                          .join_s = r->join_timeout_s,
                                          .timeout_s = r->timeout_s};
    d->device.run = d->run;
    d->device.world = d->world;
    d->device.rounds.on = d->gradients.shards.on;
    d->gradients.rules.buffers_only = true;
    d->gradients.rules.end_round = end_device_round;
    d->gradients.rules.ctx = d;
    const tutti_status all = distributed_agree(d, s, err);
    return all ? all
               : distributed_agree(
                     d, world_device_join(d->world, &options, &d->device.device, err), err);
}

void distributed_advise(const distributed *d)
{
    const run_file *file = d->run->file;
    const int64_t at_a_time =
        file->microbatch_size ? file->microbatch_size : file->train.batch_size;
    char text[240];
    if (!d->world || !distributed_first(d) || !d->run->net)
        return;
    const int32_t size = world_size(d->world);
    const int64_t slots = (file->train.batch_size + at_a_time - 1) / at_a_time;
    if (slots < size) {
        (void)snprintf(
            text, sizeof text,
            "%d ranks, but a batch of %lld has %lld microbatches of %lld: %lld of them wait; "
            "want a microbatch_size of at most %lld",
            size, (long long)file->train.batch_size, (long long)slots, (long long)at_a_time,
            (long long)(size - slots),
            (long long)(file->train.batch_size / size ? file->train.batch_size / size : 1));
        run_log_message(&d->run->log, TUTTI_LOG_WARNING, "distributed", text);
    }
    if (d->device_comm && !context_is_remote(d->run)) {
        (void)snprintf(text, sizeof text,
                       "device_comm %.60s is not used: the run computes on the CPU",
                       instance_name(d->device_comm));
        run_log_message(&d->run->log, TUTTI_LOG_INFO, "distributed", text);
    }
    if (size > 1 && file->threads == 0)
        run_log_message(
            &d->run->log, TUTTI_LOG_WARNING, "distributed",
            "threads is not set: each rank takes all CPUs that it may use, and their "
            "number decides bits");
}

static tutti_status join(const run_file *file, instance *comm, int threads, world **ret_world,
                         tutti_error *err)
{
    const world_options options = {.comm = comm,
                                   .run = XXH3_64bits(file->name, strlen(file->name)),
                                   .join_s = file->distributed.join_timeout_s,
                                   .timeout_s = file->distributed.timeout_s,
                                   .bucket =
                                       (uint64_t)ceil(file->distributed.bucket_mib * (1 << 20)),
                                   .threads = threads,
                                   .stopped = trainer_pending_signal};
    return world_join(&options, ret_world, err);
}

void distributed_fit_buckets(const distributed *d)
{
    float *weights, *gradients;
    int64_t n;
    net_arena(d->run->net, &weights, &gradients, &n);
    world_fit_bucket(d->world, n);
}

void distributed_await_files(const distributed *d, bool awaits)
{
    const double slowest = 10e6; /* bytes a second of a disk or server that many share */
    const double bytes = 3.0 * sizeof(float); /* a weight with the state of Adam */
    float *weights, *gradients;
    int64_t n = 0;
    if (!d->world)
        return;
    if (awaits && d->run->net)
        net_arena(d->run->net, &weights, &gradients, &n);
    world_extend(d->world, floor((double)n * bytes / slowest));
}

void distributed_tell(const distributed *d, const char *phase)
{
    if (!d->world)
        return;
    world_drain(d->world);
    world_tell(d->world, (uint64_t)d->run->clock.now.batch, phase);
}

tutti_status distributed_open(distributed *d, tutti_error *err)
{
    run_file *file = d->run->file;
    if (!file->distributed.comm.object)
        return TUTTI_OK;
    tutti_status s = context_open(d->run, &file->distributed.comm, &d->comm, err);
    if (s || (s = join(file, d->comm, d->run->threads, &d->world, err)))
        return s;
    if (world_size(d->world) > 1)
        trainer_defer_signals();
    file->distributed.rank = world_rank(d->world);
    if (file->distributed.device_comm.object)
        d->run->device_place = (uint32_t)world_local_rank(d->world);
    d->gradients.run = d->run;
    d->gradients.world = d->world;
    d->gradients.shards.on = /* a rank alone has all shards */
        (file->distributed.sharding >= SHARDING_GRADIENTS ||
         file->distributed.sync == SYNC_MULTI) &&
        world_size(d->world) > 1;
    d->gradients.rules.half = file->distributed.reduce_dtype == REDUCE_BF16;
    d->gradients.rules.first_buffers = file->distributed.buffers == BUFFERS_FIRST;
    d->sums.world = d->world;
    d->sums.on = file->distributed.batch_norm == BATCH_NORM_WORLD;
    d->gradients.weights.run = d->run;
    d->gradients.weights.world = d->world;
    d->gradients.weights.wanted =
        file->distributed.sharding == SHARDING_WEIGHTS && d->gradients.shards.on;
    d->gradients.weights.keeps = (file->distributed.sharding == SHARDING_STATES ||
                                  file->distributed.sharding == SHARDING_GRADIENTS) &&
                                 world_size(d->world) > 1 &&
                                 !d->sums.on; /* which wait while passes run */
    d->began_ns = monotonic_ns();
    return distributed_agree(d, TUTTI_OK, err); /* with ranks that come to refuse */
}

static const void *no_service(void *ctx, instance *i, const char *interface_id)
{
    (void)ctx;
    (void)i;
    (void)interface_id;
    return NULL;
}

/* A comm that is closed may have its launcher end all, where this rank has not joined too (world_leave). */
static void leave(world *w, instance *comm, bool failed)
{
    if (failed && comm && !w)
        launcher_be_heard();
    world_leave(w, failed);
    instance_free(comm);
}

static tutti_status refuse(run_file *file, const char *why, tutti_error *err)
{
    run_part *part = &file->distributed.comm;
    instance *comm = NULL;
    world *w = NULL;
    tutti_error all = TUTTI_ERROR_INIT;
    if (instance_open(part->object, part->name, part->params, no_service, NULL, &comm, err))
        return TUTTI_E_NOTFOUND;
    part->params = NULL; /* the instance has them */
    const tutti_status s = join(file, comm, 1, &w, err);
    if (!s) {
        (void)tutti_fail(&all, TUTTI_E_ARG, "%.480s", why);
        (void)!world_agree(w, TUTTI_E_ARG, &all); /* is not TUTTI_OK, whoever else refuses */
    }
    leave(w, comm, true);
    return s;
}

tutti_status distributed_refuse(const char *path, const char *text,
                                const char *const *overrides, registry *r, const char *why,
                                tutti_error *err)
{
    run_file *file = NULL;
    if (run_file_ranks(path, text, overrides, r, &file))
        return tutti_fail(err, TUTTI_E_NOTFOUND, "%s: has no comm that can be opened", path);
    const tutti_status s = refuse(file, why, err);
    run_file_free(file);
    return s;
}

void distributed_close(distributed *d, bool failed)
{
    free(d->values);
    free(d->all_values);
    free(d->batches.values);
    device_gradients_close(&d->device, failed);
    sums_close(&d->sums);
    world_rest(d->world);
    gradients_close(&d->gradients); /* sums under way have used it */
    instance_free(d->device_comm);
    *d = (distributed){.run = d->run, .comm = d->comm, .world = d->world};
}

void distributed_leave(distributed *d, bool failed)
{
    leave(d->world, d->comm, failed);
    memset(d, 0, sizeof *d);
}

tutti_status distributed_share_choices(distributed *d, tutti_status status, tutti_error *err)
{
    tutti_status s = distributed_agree(d, status, err);
    char *mine = s ? NULL : net_choices(d->run->net), *first = NULL;
    if (!s && !mine)
        s = tutti_fail(err, TUTTI_E_NOMEM, "no memory for the choices of kernels");
    if (!s)
        s = world_spread(d->world, mine, &first, err);
    if (!s && !distributed_first(d))
        s = net_fix_choices(d->run->net, first, d->run->threads, err);
    net_stop_autotune(d->run->net);
    free(mine);
    free(first);
    return s;
}
