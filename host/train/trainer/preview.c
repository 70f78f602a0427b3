/* preview.c - the plan of a run's training steps, before any of them. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/trainer/preview.h"

#include "graph/runtime/device_memory.h"
#include "graph/runtime/host_memory.h"
#include "train/step/device_report.h"
#include "train/step/plan_step.h"
#include "train/step/train_step.h"
#include "train/step/trainer_state.h"
#include "train/trainer/trainer.h"
#include "train/update/optimizer_state.h"
#include "tutti/penalty.h"

#include <stdio.h>
#include <string.h>

/* Columns of the batch that the model names -> their descriptions for `rows` samples. */
static tutti_status describe(const tutti_column *columns, uint32_t n, const char *const *names,
                             int64_t rows, tutti_desc *descs, uint32_t *ret_count,
                             tutti_error *err)
{
    uint32_t count = 0;
    for (; names && names[count] && count < TUTTI_MAX_COLUMNS; count++) {
        const tutti_column *c = NULL;
        for (uint32_t k = 0; k < n && !c; k++)
            c = strcmp(columns[k].name, names[count]) == 0 ? &columns[k] : NULL;
        if (!c)
            return tutti_fail(
                err, TUTTI_E_NOTFOUND,
                "the model needs the batch column %s, which the data does not have",
                names[count]);
        if (c->desc.rank >= TUTTI_MAX_RANK)
            return tutti_fail(err, TUTTI_E_SHAPE, "column %s has too many axes for a batch",
                              names[count]);
        tutti_desc *d = &descs[count];
        *d = (tutti_desc){{rows}, c->desc.rank + 1, c->desc.dtype};
        for (int32_t k = 0; k < c->desc.rank; k++) {
            d->dim[k + 1] = c->desc.dim[k];
            if (c->desc.dim[k] < 0)
                return tutti_fail(
                    err, TUTTI_E_SHAPE,
                    "column %s has no fixed shape: its plan is made batch by batch",
                    names[count]);
        }
    }
    *ret_count = count;
    return TUTTI_OK;
}

/* What a step takes of a device with memory of its own. */
static tutti_status report_memory(const trainer *t, const plan *p, FILE *file, tutti_error *err)
{
    const tutti_device *d = context_device(&t->run);
    char a[32], b[32], c[32];
    float *weights, *grads;
    int64_t count;
    uint64_t unused = 0, total = 0, buffers = 0;
    if (device_is_host(d))
        return TUTTI_OK;
    const tutti_status s = d->table->memory(d->device, &unused, &total, err);
    if (s)
        return s;
    net_arena(t->run.net, &weights, &grads, &count);
    for (uint32_t k = 0; k < net_weight_count(t->run.net); k++)
        if (net_offset(t->run.net, k) < 0)
            buffers += tutti_nbytes(&net_weight(t->run.net, k)->data.desc);
    (void)fprintf(file, "device %s:%u, %s: %s of %s are free beside\n",
                  t->run.file->device.part.name, t->run.file->device.index, d->info.name,
                  bytes_text(unused, a, sizeof a), bytes_text(total, b, sizeof b));
    (void)fprintf(file, "  weights and their gradients %s, optimizer state %s, buffers %s\n",
                  bytes_text(2 * sizeof(float) * (uint64_t)count, a, sizeof a),
                  bytes_text(state_bytes(&t->updater), c, sizeof c),
                  bytes_text(buffers, b, sizeof b));
    const net_half_counts low = net_count_half(t->run.net);
    if (low.bytes)
        (void)fprintf(file, "  copies in %s of %u trained and %u frozen weights %s\n",
                      tutti_dtype_name(low.dtype), low.trained, low.frozen,
                      bytes_text(low.bytes, a, sizeof a));
    (void)fprintf(file, "  the plan of a step %s\n", bytes_text(plan_bytes(p), a, sizeof a));
    char libraries[DEVICE_REPORT_TEXT];
    device_report_libraries(t, p, libraries);
    if (*libraries)
        (void)fprintf(file, "  %s\n", libraries);
    return TUTTI_OK;
}

enum { MOST_PLACES = 256 };

/* Of a run over several ranks: which rows a rank loads. */
static tutti_status tell_rows(const trainer *t, FILE *file, tutti_error *err)
{
    static const int32_t whole[] = {TUTTI_EVENT_AFTER_DATALOADER, TUTTI_EVENT_BATCH_START,
                                    TUTTI_EVENT_BEFORE_TRAIN_BATCH};
    const char *before = "; all rows once a callback or one of these reads a batch: ";
    if (t->train.on_device) {
        (void)fprintf(file, "rows of a batch: each rank has the data set on its device\n");
        return TUTTI_OK;
    }
    (void)fprintf(file, "rows of a batch: each rank loads those of its own slots");
    for (size_t e = 0; e < sizeof whole / sizeof *whole; e++) {
        engine_place places[MOST_PLACES];
        size_t n;
        const tutti_status s =
            engine_order(t->run.engine, whole[e], places, MOST_PLACES, &n, err);
        if (s)
            return s;
        for (size_t k = 0; k < n && k < MOST_PLACES; k++) {
            if (strcmp(places[k].kind, TUTTI_KIND_ALGORITHM) != 0)
                continue;
            (void)fprintf(file, "%s%s (%s)", before, places[k].name, event_name(whole[e]));
            before = ", ";
        }
    }
    (void)fprintf(file, "\n");
    return TUTTI_OK;
}

/* When gradients are summed, and who prevents that it is while the backward pass runs. */
static tutti_status tell_overlap(const trainer *t, FILE *file, tutti_error *err)
{
    static const char after_backward[] = "when the last backward pass is over: ";
    engine_place places[MOST_PLACES];
    const participants *p = &t->run.participants;
    const char *before = after_backward;
    size_t n;
    const tutti_status s =
        engine_order(t->run.engine, TUTTI_EVENT_AFTER_BACKWARD, places, MOST_PLACES, &n, err);
    if (s)
        return s;
    (void)fprintf(file, "gradients: summed over the ranks ");
    for (size_t k = 0; k < n && k < MOST_PLACES; k++, before = ", ")
        (void)fprintf(file, "%s%s hears after_backward", before, places[k].name);
    for (size_t k = 0; k < p->count; k++)
        if (instance_query(p->items[k], TUTTI_PENALTY_V1)) {
            (void)fprintf(file, "%s%s adds to them", before, instance_name(p->items[k]));
            before = ", ";
        }
    if (t->run.file->distributed.sync == SYNC_FORCED) {
        (void)fprintf(file, "%ssync is forced_sync", before);
        before = ", ";
    }
    if (t->run.file->distributed.batch_norm == BATCH_NORM_WORLD) {
        (void)fprintf(file, "%sbatch_norm is world, whose statistics wait for all ranks",
                      before);
        before = ", ";
    }
    (void)fprintf(file, "%s\n",
                  before != after_backward ? ""
                  : t->run.file->distributed.sync == SYNC_MULTI
                      ? "while each backward pass runs"
                      : "while the last backward pass runs");
    return TUTTI_OK;
}

/* How much of the gradients a rank keeps, and who prevents that it is a shard. */
static void tell_sharding(const trainer *t, FILE *file)
{
    const distributed *d = &t->distributed;
    const int32_t sharding = t->run.file->distributed.sharding;
    char who[128];
    if (sharding == SHARDING_STATES || sharding == SHARDING_GRADIENTS) {
        const bool late = distributed_gathers_late(d, who, sizeof who);
        (void)fprintf(file, "weights: gathered over the ranks %s%s\n",
                      late ? "when the update is over: " : "while the next forward pass runs",
                      late ? who : "");
    }
    if (sharding < SHARDING_GRADIENTS)
        return;
    (void)fprintf(file, "%s on a rank: %s%s%s\n",
                  d->gradients.weights.wanted ? "weights and gradients" : "gradients",
                  d->reads ? "all of them, which " : "its shard of them",
                  d->reads ? d->reader : "", d->reads ? " may read" : "");
}

/* Which runs compute the same bits. */
static void tell_bits(const trainer *t, FILE *file)
{
    static const char *const meanings[] = {
        [RUN_REPEATS_RUN] = "run: the same bits in every resume and repeat of this run, by the "
                            "fastest kernels, which are measured once and kept with it",
        [RUN_REPEATS_MACHINE] = "machine: the same bits in every run with this seed on this "
                                "model of CPU by as many threads; no kernel is measured",
        [RUN_REPEATS_ANYWHERE] =
            "anywhere: the same bits in every run with this seed on x86-64 CPUs with AVX2 and "
            "FMA by any number of threads; kernels that promise that, none is measured"};
    (void)fprintf(file, "deterministic: %s\n", meanings[t->run.file->numerics.deterministic]);
}

tutti_status trainer_tell_step(const trainer *t, FILE *file, tutti_error *err)
{
    static const char *const names[] = {"forward", "loss", "backward", "update"};
    static const int32_t between[][3] = {
        {TUTTI_EVENT_AFTER_FORWARD, TUTTI_EVENT_BEFORE_LOSS, -1},
        {TUTTI_EVENT_AFTER_LOSS, TUTTI_EVENT_BEFORE_BACKWARD, -1},
        {TUTTI_EVENT_AFTER_BACKWARD, TUTTI_EVENT_AFTER_TRAIN_BATCH, -1},
    };
    if (!t->run.net) /* a loop of functions */
        return TUTTI_OK;
    int end = trainer_merges(t, SEGMENT_FORWARD, true);
    (void)fprintf(file, "segments of a step: %s", names[SEGMENT_FORWARD]);
    for (int k = SEGMENT_LOSS; k <= SEGMENT_UPDATE; k++) {
        (void)fprintf(file, " %s %s", k <= end ? "+" : "|", names[k]);
        if (k > end)
            end = trainer_merges(t, k, true);
    }
    const char *before = "; heard in between: ";
    for (int k = 0; k < SEGMENT_UPDATE; k++)
        for (const int32_t *event = between[k]; *event >= 0; event++)
            if (engine_hears(t->run.engine, *event)) {
                (void)fprintf(file, "%s%s", before, event_name(*event));
                before = ", ";
            }
    (void)fprintf(file, "\n");
    tell_bits(t, file);
    if (!distributed_on(&t->distributed))
        return TUTTI_OK;
    tutti_status s = tell_rows(t, file, err);
    if (!s)
        s = tell_overlap(t, file, err);
    if (!s)
        tell_sharding(t, file);
    return s;
}

/* What algorithms change of the model before training.  They alone hear of it: loggers would begin their files. */
static tutti_status operate(trainer *t, tutti_error *err)
{
    static const int32_t events[] = {TUTTI_EVENT_INIT, TUTTI_EVENT_BEFORE_LOAD,
                                     TUTTI_EVENT_AFTER_LOAD};
    tutti_status s = TUTTI_OK;
    for (size_t k = 0; k < sizeof events / sizeof *events && !s; k++)
        if (!(s = engine_run_algorithms(t->run.engine, events[k], err)) &&
            !(s = mirrors_flush(&t->mirrors, true, err)))
            s = updater_refit(&t->updater, err);
    return s;
}

tutti_status trainer_preview_plan(trainer *t, plan **ret_plan, tutti_error *err)
{
    uint32_t n;
    const tutti_column *columns = loader_columns(t->train.loader, &n);
    const run_file *run = t->run.file;
    int64_t rows = run->train.batch_size;
    if (run->microbatch_size > 0 && run->microbatch_size < rows)
        rows = run->microbatch_size;
    net_repeat_training(t->run.net, trainer_weights_stay(t, run->train.batch_size, rows));
    plan_request r;
    memset(&r, 0, sizeof r);
    r.kind = PLAN_TRAIN;
    tutti_status s =
        describe(columns, n, t->run.model_table->inputs, rows, r.inputs, &r.ninputs, err);
    if (!s)
        s = describe(columns, n, t->run.model_table->targets, rows, r.targets, &r.ntargets,
                     err);
    if (!s)
        s = operate(t, err);
    r.half_outputs = !s && trainer_hides_outputs(t);
    r.spends_outputs = !s && trainer_spends_outputs(t, NULL);
    if (!s)
        s = net_plan(t->run.net, &r, ret_plan, err);
    context_tune_message(&t->run);
    return s;
}

/* What a step launches on a device that gathers launches into graphs: how many nodes these have is known when a run has
 * gathered them. */
static void tell_launches(const trainer *t, const plan *p, FILE *file)
{
    if (capture_is_supported(context_device(&t->run)))
        (void)fprintf(
            file,
            "launches expected: forward %u, loss %u, backward %u, one a step; kernels "
            "of several launches and the update add to them; a run tells how many "
            "nodes its graphs have\n",
            plan_nsteps(p, SEGMENT_FORWARD), plan_nsteps(p, SEGMENT_LOSS),
            plan_nsteps(p, SEGMENT_BACKWARD));
}

/* Which outputs' gradients lie where the outputs lay, or who prevents it. */
static void tell_outputs(const trainer *t, const plan *p, FILE *file)
{
    const char *reader;
    (void)trainer_spends_outputs(t, &reader);
    for (uint32_t k = 0; k < plan_noutputs(p); k++)
        if (plan_output_is_spent(p, k))
            (void)fprintf(file, "output %u: its gradient lies where it lay\n", k);
    if (reader)
        (void)fprintf(file, "outputs: kept beside their gradients, since %s may read them\n",
                      reader);
}

tutti_status trainer_preview(trainer *t, FILE *file, int how, tutti_error *err)
{
    plan *p = NULL;
    context_announce_device(&t->run);
    tutti_status s = trainer_preview_plan(t, &p, err);
    if (s)
        return s;
    if (how == PREVIEW_DRAWING)
        plan_draw(p, file);
    else if (how == PREVIEW_TRAFFIC)
        s = plan_write_traffic(p, file, err);
    else if (!(s = report_memory(t, p, file, err))) {
        plan_dump(p, file);
        tell_launches(t, p, file);
        tell_outputs(t, p, file);
        s = trainer_tell_step(t, file, err);
    }
    return s;
}
