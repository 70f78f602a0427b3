/* preview_world.c - what a run's step would take over more ranks: measured here, predicted by a model. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/monotonic.h"
#include "dist/forecast.h"
#include "graph/plan/plan_workspace.h"
#include "graph/runtime/host_memory.h"
#include "train/step/trainer_state.h"
#include "train/trainer/preview.h"
#include "train/trainer/trainer.h"
#include "train/update/optimizer_state.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TRIES = 3, ADDED = 1 << 20 };

static double seconds_since(int64_t began)
{
    return (double)(monotonic_ns() - began) * 1e-9;
}

/* A slot of whatever the plan's inputs hold: the best of a few. */
static tutti_status time_slot(trainer *t, plan *p, double *ret_s, tutti_error *err)
{
    tutti_status s = TUTTI_OK;
    for (int k = 0; k < TRIES && !s; k++) {
        const int64_t began = monotonic_ns();
        for (int segment = SEGMENT_FORWARD; segment <= SEGMENT_BACKWARD && !s; segment++)
            s = plan_run(p, segment, &t->run.step, 1.0f, err);
        const double took = seconds_since(began);
        *ret_s = k == 0 || took < *ret_s ? took : *ret_s;
    }
    return s;
}

/* Weights change, but nobody keeps them. */
static tutti_status time_update(trainer *t, double *ret_s, tutti_error *err)
{
    tutti_status s = TUTTI_OK;
    for (int k = 0; k < TRIES && !s; k++) {
        const int64_t began = monotonic_ns();
        s = updater_step(&t->updater, err);
        const double took = seconds_since(began);
        *ret_s = k == 0 || took < *ret_s ? took : *ret_s;
    }
    return s;
}

/* The best of a few: seconds that a number takes which is added to another, and that a byte takes from one process of a
 * machine to another, through memory that both have: it is copied in and out. */
static tutti_status time_memory(double *ret_add_s, double *ret_byte_s, tutti_error *err)
{
    float *a = calloc(2 * (size_t)ADDED, sizeof *a);
    slot_stack stack = {.count = 1};
    if (!a)
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory to measure sums");
    stack.sums[0] = (slot_sum){a, {0, 1}};
    for (int k = 0; k < TRIES; k++) {
        const int64_t began = monotonic_ns();
        slot_stack_add_part(&stack, a + ADDED, 0, ADDED, 1);
        const int64_t added = monotonic_ns();
        memcpy(a, a + ADDED, ADDED * sizeof *a);
        memcpy(a + ADDED, a, ADDED * sizeof *a);
        const double add = (double)(added - began) * 1e-9 / ADDED;
        const double byte = seconds_since(added) / (ADDED * sizeof *a);
        *ret_add_s = k == 0 || add < *ret_add_s ? add : *ret_add_s;
        *ret_byte_s = k == 0 || byte < *ret_byte_s ? byte : *ret_byte_s;
    }
    free(a);
    return TUTTI_OK;
}

static int64_t count_buffers(const trainer *t, const plan *p)
{
    int64_t n = 0;
    for (uint32_t k = 0; k < net_weight_count(t->run.net); k++) {
        const tutti_weight *w = net_weight(t->run.net, k);
        if (!(w->flags & TUTTI_WEIGHT_TRAINABLE) && w->data.desc.dtype == TUTTI_F32 &&
            plan_assigns(p, k))
            n += tutti_numel(&w->data.desc);
    }
    return n;
}

/* The sums over slots that a step makes. */
static forecast_statistics count_statistics(const plan *p)
{
    forecast_statistics found = {.waits = plan_sums(p, NULL, 0)};
    int64_t *sizes = calloc(found.waits + 1, sizeof *sizes);
    for (uint32_t k = 0; sizes && k < plan_sums(p, sizes, found.waits); k++)
        found.numbers += sizes[k];
    free(sizes);
    return found;
}

static int64_t count_largest(const trainer *t)
{
    int64_t most = 0;
    for (uint32_t k = 0; k < net_weight_count(t->run.net); k++) {
        const tutti_weight *w = net_weight(t->run.net, k);
        const int64_t n = w->grad ? tutti_numel(&w->data.desc) : 0;
        most = n > most ? n : most;
    }
    return most;
}

static int64_t bucket_numbers(const run_file *file, int64_t gradients)
{
    const double mib = file->distributed.bucket_mib;
    return mib > 0.0 ? (int64_t)ceil(mib * (1 << 18))
                     : (int64_t)(world_bucket_bytes(gradients) / sizeof(float));
}

static tutti_status describe_run(trainer *t, plan *p, const preview_link *link,
                                 forecast_run *ret, tutti_error *err)
{
    const run_file *file = t->run.file;
    float *weights, *gradients;
    char who[128];
    int64_t n;
    net_arena(t->run.net, &weights, &gradients, &n);
    *ret = (forecast_run){.samples = file->train.batch_size,
                          .microbatch = t->tensors.microbatch_size,
                          .weights = n,
                          .buffers = count_buffers(t, p),
                          .state = state_bytes(&t->updater),
                          .shards_state = file->distributed.sharding != SHARDING_NONE,
                          .gathers_beside =
                              file->distributed.sharding != SHARDING_WEIGHTS &&
                              !distributed_gathers_late(&t->distributed, who, sizeof who),
                          .rounds = file->distributed.sharding >= SHARDING_GRADIENTS ||
                                    file->distributed.sync == SYNC_MULTI,
                          .whole = file->distributed.sharding < SHARDING_GRADIENTS,
                          .no_overlap = file->distributed.sync == SYNC_FORCED ||
                                        file->distributed.batch_norm == BATCH_NORM_WORLD,
                          .statistics = count_statistics(p),
                          .shards_weights = file->distributed.sharding == SHARDING_WEIGHTS,
                          .half = t->distributed.gradients.rules.half,
                          .largest = count_largest(t),
                          .waiting = GRADIENT_BUCKETS_WAITING,
                          .ahead = WEIGHT_BUCKETS_AHEAD,
                          .gathers = t->distributed.reads,
                          .bucket = bucket_numbers(file, n),
                          .plan = plan_bytes(p),
                          .link.latency_s = link->latency_us * 1e-6,
                          .link.together = link->together,
                          .link.bytes_per_s = link->gigabits * 1e9 / 8};
    double byte_s = 0.0;
    tutti_status s = time_slot(t, p, &ret->slot_s, err);
    if (!s)
        s = time_update(t, &ret->update_s, err);
    if (!s)
        s = time_memory(&ret->add_s, &byte_s, err);
    ret->link.copied_per_s = byte_s > 0.0 ? 1.0 / byte_s : 0.0;
    return s;
}

static void tell_memory(const forecast *f, const forecast_run *run, FILE *file)
{
    char total[32], weights[32], gradients[32], state[32], sums[32], results[32];
    (void)fprintf(
        file,
        "memory of a rank: %s: weights %s%s, gradients %s%s, optimizer state %s%s, sums "
        "of slots %s, the step's results %s\n",
        bytes_text(f->total, total, sizeof total),
        bytes_text(f->weights, weights, sizeof weights),
        f->weights < (uint64_t)run->weights * sizeof(float) ? " (its shard)" : "",
        bytes_text(f->gradients, gradients, sizeof gradients),
        f->gradients < (uint64_t)run->weights * sizeof(float) ? " (its shard)" : "",
        bytes_text(f->state, state, sizeof state), run->shards_state ? " (its shard)" : "",
        bytes_text(f->sums, sums, sizeof sums),
        bytes_text(f->results, results, sizeof results));
}

static void tell_better(const forecast_run *run, const forecast *f, int32_t ranks, FILE *file)
{
    const int64_t microbatch = forecast_better_microbatch(run, ranks);
    const int32_t fewer = forecast_better_ranks(run, ranks);
    if (f->blocks == 1 && f->slots % ranks == 0)
        return;
    (void)fprintf(file, "the slots do not divide evenly: better are ");
    if (microbatch)
        (void)fprintf(file, "a microbatch_size of %lld, or ", (long long)microbatch);
    (void)fprintf(file, "%d ranks\n", fewer);
}

static void tell_traffic(const forecast *f, const preview_link *link, FILE *file)
{
    char sent[32], crossing[32];
    (void)fprintf(file, "sent by a rank in a step: %s", bytes_text(f->sent, sent, sizeof sent));
    if (link->together > 1)
        (void)fprintf(file, ", %s of it to other machines",
                      bytes_text(f->crossing, crossing, sizeof crossing));
    (void)fputc('\n', file);
}

static void tell_measured(const forecast_run *run, const preview_link *link, FILE *file)
{
    char sums[32], copies[32];
    (void)fprintf(file, "measured here: a slot %.3g ms, the update %.3g ms, sums %s a second",
                  run->slot_s * 1e3, run->update_s * 1e3,
                  bytes_text((uint64_t)(sizeof(float) / run->add_s), sums, sizeof sums));
    if (link->together > 1)
        (void)fprintf(file, ", copies between processes %s a second",
                      bytes_text((uint64_t)run->link.copied_per_s, copies, sizeof copies));
    (void)fprintf(file, "; assumed: links of %g Gbit/s%s, %g us (--link)\n", link->gigabits,
                  link->together > 1 ? " a machine" : "", link->latency_us);
}

static void tell(const forecast_run *run, int32_t ranks, const preview_link *link, FILE *file)
{
    forecast f;
    forecast_step(run, ranks, &f);
    (void)fprintf(file, "%d ranks", ranks);
    if (link->together > 1)
        (void)fprintf(file, ", %d a machine", link->together);
    (void)fprintf(file, ": %lld slots of at most %lld samples, %lld on a rank at most\n",
                  (long long)f.slots, (long long)run->microbatch, (long long)f.most_slots);
    tell_memory(&f, run, file);
    if (run->statistics.waits)
        (void)fprintf(file,
                      "batch norm: statistics of whole batches: a step waits %u times for all "
                      "ranks, and a rank's slots are in memory at once\n",
                      run->statistics.waits);
    tell_traffic(&f, link, file);
    (void)fprintf(file,
                  "predicted: a step of %.3g ms, %.3g ms of it waiting for other ranks; "
                  "efficiency %.2f\n",
                  f.step_s * 1e3, f.exposed_s * 1e3, f.efficiency);
    tell_better(run, &f, ranks, file);
    tell_measured(run, link, file);
}

/* How many lanes the slots of a rank read. */
static int64_t count_lanes(slot_list mine, int64_t lanes, int32_t mark, int32_t *marks)
{
    int64_t n = 0;
    for (int64_t k = 0; k < mine.count; k++) {
        int32_t *at = &marks[(mine.first + k * mine.step) % lanes];
        n += *at != mark;
        *at = mark;
    }
    return n;
}

static tutti_status tell_lanes(const run_lanes *settings, const forecast_run *run,
                               int32_t ranks, FILE *file, tutti_error *err)
{
    const int64_t slots = (run->samples + run->microbatch - 1) / run->microbatch;
    int64_t most = 0;
    if (!settings->lanes)
        return TUTTI_OK;
    int32_t *marks = calloc((size_t)settings->lanes, sizeof *marks);
    if (!marks)
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for %lld lanes",
                          (long long)settings->lanes);
    for (int32_t rank = 0; rank < ranks; rank++) {
        const slot_list mine =
            run->rounds ? slots_in_turn(slots, ranks, rank) : slots_in_row(slots, ranks, rank);
        const int64_t n = count_lanes(mine, settings->lanes, rank + 1, marks);
        most = n > most ? n : most;
    }
    free(marks);
    (void)fprintf(file, "lanes: a rank reads %lld of %lld at most\n", (long long)most,
                  (long long)settings->lanes);
    return TUTTI_OK;
}

tutti_status trainer_preview_world(trainer *t, FILE *file, int32_t ranks,
                                   const preview_link *link, tutti_error *err)
{
    forecast_run run;
    plan *p = NULL;
    if (context_is_remote(&t->run))
        return tutti_fail(err, TUTTI_E_UNSUPPORTED,
                          "--world: the forecast is of ranks on CPUs, the run's device is %s",
                          t->run.file->device.part.name);
    context_announce_device(&t->run);
    tutti_status s = net_fill_weights(t->run.net, err);
    if (!s)
        s = trainer_preview_plan(t, &p, err);
    if (!s)
        s = describe_run(t, p, link, &run, err);
    if (s)
        return s;
    tell(&run, ranks, link, file);
    return tell_lanes(&t->run.file->train.lanes, &run, ranks, file, err);
}
