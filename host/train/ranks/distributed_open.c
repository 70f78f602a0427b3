/* distributed_open.c - joining the other ranks of a run, and that all of them run the same. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/context/signals.h"
#include "train/ranks/distributed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

/* What cannot be done over several ranks yet, or never. */
static tutti_status check(const distributed *d, tutti_error *err)
{
    const run_file *file = d->run->file;
    if (context_is_remote(d->run))
        return tutti_fail(err, TUTTI_E_UNSUPPORTED,
                          "distributed: ranks compute on CPUs, the run's device is %s",
                          file->device.part.name);
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
    return TUTTI_OK;
}

static void advise(const distributed *d)
{
    const run_file *file = d->run->file;
    const int32_t size = world_size(d->world);
    const int64_t at_a_time =
        file->microbatch_size ? file->microbatch_size : file->train.batch_size;
    const int64_t slots = (file->train.batch_size + at_a_time - 1) / at_a_time;
    char text[240];
    if (!distributed_first(d))
        return;
    if (slots < size) {
        (void)snprintf(
            text, sizeof text,
            "%d ranks, but a batch of %lld has %lld microbatches of %lld: %lld ranks wait; "
            "want a microbatch_size of at most %lld",
            size, (long long)file->train.batch_size, (long long)slots, (long long)at_a_time,
            (long long)(size - slots),
            (long long)(file->train.batch_size / size ? file->train.batch_size / size : 1));
        run_log_message(&d->run->log, TUTTI_LOG_WARNING, "distributed", text);
    }
    if (size > 1 && file->threads == 0)
        run_log_message(
            &d->run->log, TUTTI_LOG_WARNING, "distributed",
            "threads is not set: each rank takes all CPUs that it may use, and their "
            "number decides bits");
}

tutti_status distributed_open(distributed *d, tutti_error *err)
{
    run_file *file = d->run->file;
    if (!file->distributed.comm.object)
        return TUTTI_OK;
    tutti_status s = check(d, err);
    if (s || (s = context_open(d->run, &file->distributed.comm, &d->comm, err)))
        return s;
    const world_options options = {.comm = d->comm,
                                   .run = XXH3_64bits(file->name, strlen(file->name)),
                                   .join_s = file->distributed.join_timeout_s,
                                   .timeout_s = file->distributed.timeout_s,
                                   .bucket =
                                       (uint64_t)(file->distributed.bucket_mib * (1 << 20)),
                                   .threads = d->run->threads};
    if ((s = world_join(&options, &d->world, err)))
        return s;
    trainer_defer_signals();
    file->distributed.rank = world_rank(d->world);
    d->gradients.run = d->run;
    d->gradients.world = d->world;
    d->gradients.rounds.on = /* a rank alone has all shares */
        file->distributed.sharding >= SHARDING_GRADIENTS && world_size(d->world) > 1;
    d->gradients.weights.run = d->run;
    d->gradients.weights.world = d->world;
    d->gradients.weights.wanted =
        file->distributed.sharding == SHARDING_WEIGHTS && d->gradients.rounds.on;
    d->began_ns = now_ns();
    advise(d);
    return TUTTI_OK;
}

void distributed_close(distributed *d, bool failed)
{
    free(d->values);
    free(d->all_values);
    free(d->batches.values);
    world_leave(d->world, failed);
    gradients_close(&d->gradients); /* sums under way have used it */
    instance_free(d->comm);
    memset(d, 0, sizeof *d);
}

/* Where two texts begin to differ, from the start of the member on. */
static size_t first_difference(const char *a, const char *b)
{
    size_t at = 0, member = 0;
    for (; a[at] && a[at] == b[at]; at++)
        if (a[at] == ',' || a[at] == '{')
            member = at + 1;
    return member;
}

static tutti_status compare_file(distributed *d, tutti_error *err)
{
    const char *mine = d->run->file->text;
    char *first = NULL;
    tutti_status s = world_spread(d->world, mine, &first, err);
    if (!s && strcmp(first, mine) != 0) {
        const size_t at = first_difference(first, mine);
        s = tutti_fail(err, TUTTI_E_ARG,
                       "the run file has %.120s..., that of rank 0 has %.120s...", mine + at,
                       first + at);
    }
    free(first);
    return distributed_agree(d, s, err);
}

tutti_status distributed_compare(distributed *d, int64_t samples, tutti_error *err)
{
    char threads[16], count[24];
    if (!d->world)
        return TUTTI_OK;
    (void)snprintf(threads, sizeof threads, "%d", d->run->threads);
    (void)snprintf(count, sizeof count, "%lld", (long long)samples);
    const tutti_status s = compare_file(d, err);
    if (s)
        return s;
    const world_item items[] = {{"number of training samples", count},
                                {"number of threads", threads},
                                {"CPU", net_cpu(d->run->net)}};
    const uint32_t same = /* CPUs and threads may differ where they change no bits */
        d->run->file->numerics.deterministic == RUN_REPEATS_ANYWHERE
            ? 1
            : sizeof items / sizeof *items;
    return distributed_equal(d, items, same, err);
}

tutti_status distributed_compare_start(distributed *d, tutti_error *err)
{
    char batch[24], hash[24];
    float *weights, *gradients;
    int64_t n;
    if (!d->world)
        return TUTTI_OK;
    net_arena(d->run->net, &weights, &gradients, &n);
    (void)snprintf(batch, sizeof batch, "%lld", (long long)d->run->clock.now.batch);
    (void)snprintf(hash, sizeof hash, "%016llx",
                   (unsigned long long)XXH3_64bits(weights, (size_t)n * sizeof *weights));
    const world_item items[] = {{"batch to go on from", batch}, {"hash of the weights", hash}};
    return distributed_equal(d, items, sizeof items / sizeof *items, err);
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
