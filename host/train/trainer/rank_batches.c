/* rank_batches.c - which rows of training batches a rank loads, and which evaluation batches it evaluates. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/trainer/rank_batches.h"

#include "train/context/signals.h"
#include "train/step/trainer_state.h"
#include "train/trainer/services.h"
#include "train/trainer/trainer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- training: the rows of a rank's own slots ---- */

/* Unless somebody reads batches whole. */
static loader_rows own_rows(const void *ctx, int64_t number, int64_t samples)
{
    const trainer *t = ctx;
    const distributed *d = &t->distributed;
    const int64_t most = t->tensors.microbatch_size;
    const int64_t size = most < samples ? most : samples;
    (void)number;
    if (__atomic_load_n(&d->batches.whole, __ATOMIC_RELAXED) || size < 1)
        return (loader_rows){0, samples, 0};
    const slot_list mine =
        gradients_slots(&d->gradients, (samples + size - 1) / size, world_rank(d->world));
    if (mine.step > 1)
        return (loader_rows){mine.first * size, mine.count ? size : 0, mine.step * size};
    if (mine.count == 0)
        return (loader_rows){0, 0, 0};
    const int64_t first = mine.first * size, end = first + mine.count * size;
    return (loader_rows){first, (end < samples ? end : samples) - first, 0};
}

/* Says once why batches are loaded whole from now on. */
static void load_whole(trainer *t)
{
    char text[200];
    const breadcrumb *b = &crash_breadcrumb;
    const char *who = b->who ? b->who->object : b->object;
    const char *event = b->at ? b->at->name : b->event;
    if (__atomic_exchange_n(&t->distributed.batches.whole, true, __ATOMIC_RELAXED))
        return;
    (void)snprintf(text, sizeof text,
                   "%.60s reads whole batches (%.40s), so every rank loads all rows of them",
                   who ? who : "a plugin", event ? event : "between events");
    if (distributed_first(&t->distributed))
        run_log_message(&t->run.log, TUTTI_LOG_INFO, "distributed", text);
}

/* ---- evaluation: whole batches, a row of neighbours each rank ---- */

/* Behind a signal of any rank none evaluates its batches any more: no metric comes of them, which the end tells all. */
static bool is_own(const rank_batches *b, int64_t number)
{
    const int64_t behind = number - b->mine.first;
    return !atomic_load(&b->stopped) && behind >= 0 && behind % b->mine.step == 0 &&
           behind / b->mine.step < b->mine.count;
}

static loader_rows own_batch(const void *ctx, int64_t number, int64_t samples)
{
    return (loader_rows){0, is_own(ctx, number) ? samples : 0, 0};
}

static uint32_t count_sums(const metric_set *m)
{
    uint32_t n = 0;
    for (size_t k = 0; k < m->count; k++)
        n += m->tables[k]->nsums;
    return n;
}

/* The most numbers of a rank. */
static uint64_t most_values(const distributed *d)
{
    const int64_t size = world_size(d->world);
    return (uint64_t)((d->batches.count + size - 1) / size) * d->batches.nsums;
}

/* Ranks tell each other of signals while each computes its part. */
static tutti_status start_watch(distributed *d, tutti_error *err)
{
    d->batches.waits = world_counted(d->world).blocking;
    return world_start_watch(d->world, &d->batches.stopped, err);
}

tutti_status rank_begin_evaluation(trainer *t, data_source *e,
                                   tutti_status (*compute)(void *ctx, tutti_error *err),
                                   tutti_error *err)
{
    distributed *d = &t->distributed;
    rank_batches *b = &d->batches;
    if (!distributed_on(d))
        return TUTTI_OK;
    distributed_tell(d, "evaluating");
    b->count = loader_batches(e->loader);
    b->mine = slots_in_row(b->count, world_size(d->world), world_rank(d->world));
    b->compute = compute;
    b->nsums = count_sums(&e->metrics);
    b->evaluation = e;
    b->at = 0;
    atomic_store(&b->stopped, 0);
    double *values = realloc(b->values, most_values(d) * sizeof *values + 1);
    b->values = values ? values : b->values;
    if (!values)
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for the sums of %lld batches",
                          (long long)b->count);
    memset(values, 0, most_values(d) * sizeof *values);
    loader_choose_rows(e->loader, own_batch, b);
    return start_watch(d, err);
}

void rank_begin_prediction(trainer *t, data_source *e,
                           tutti_status (*compute)(void *ctx, tutti_error *err))
{
    distributed *d = &t->distributed;
    rank_batches *b = &d->batches;
    if (!distributed_on(d))
        return;
    b->count = loader_batches(e->loader);
    b->mine = slots_in_turn(b->count, world_size(d->world), world_rank(d->world));
    b->evaluation = e;
    b->compute = compute;
    b->at = 0;
    atomic_store(&b->stopped, 0);
    loader_choose_rows(e->loader, own_batch, b);
}

void rank_end_prediction(trainer *t)
{
    rank_batches *b = &t->distributed.batches;
    if (!b->evaluation)
        return;
    loader_choose_rows(b->evaluation->loader, NULL, NULL);
    b->evaluation = NULL;
}

bool rank_evaluates(const trainer *t)
{
    const rank_batches *b = &t->distributed.batches;
    return !b->evaluation || is_own(b, b->at);
}

bool rank_leaves_batch(trainer *t, tutti_status status)
{
    const int number = distributed_signal(&t->distributed);
    if (status != TUTTI_E_INTERRUPTED || trainer_signal() || !number)
        return false;
    atomic_store(&t->distributed.batches.stopped, number);
    return true;
}

/* A plugin that computes something together with other ranks has ended what these told each other, at the same batch on
 * all of them. */
tutti_status rank_next_evaluation_batch(trainer *t, tutti_error *err)
{
    distributed *d = &t->distributed;
    rank_batches *b = &d->batches;
    if (!b->evaluation)
        return TUTTI_OK;
    if (trainer_pending_signal())
        atomic_store(&b->stopped, trainer_pending_signal());
    const metric_set *m = &b->evaluation->metrics;
    const bool own = is_own(b, b->at);
    double *to = own ? b->values + (uint64_t)(b->at - b->mine.first) * b->nsums : NULL;
    for (size_t k = 0; own && k < m->count; k++)
        for (uint32_t j = 0; j < m->tables[k]->nsums; j++)
            *to++ = m->tables[k]->sums[j];
    metric_set_reset(&b->evaluation->metrics);
    b->at++;
    return b->waits == world_counted(d->world).blocking ? TUTTI_OK : start_watch(d, err);
}

/* The sums of all batches in their order. */
static void add_up(distributed *d, const double *all)
{
    const rank_batches *b = &d->batches;
    metric_set *m = &b->evaluation->metrics;
    metric_set_reset(m);
    for (int32_t r = 0; r < world_size(d->world); r++) {
        const double *at = all + (uint64_t)r * most_values(d);
        const int64_t count = slots_of_rank(b->count, world_size(d->world), r).count;
        for (int64_t n = 0; n < count; n++)
            for (size_t k = 0; k < m->count; k++)
                for (uint32_t j = 0; j < m->tables[k]->nsums; j++)
                    m->tables[k]->sums[j] += *at++;
    }
    m->updated = b->count > 0;
}

/* Signals that have come to one rank alone, so that all know whether the evaluation is one. */
static tutti_status exchange_signals(distributed *d, tutti_error *err)
{
    const int32_t size = world_size(d->world), mine = trainer_pending_signal();
    int32_t *all = calloc((size_t)size, sizeof *all);
    if (!all)
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for %d ranks", size);
    const tutti_status s = world_exchange(d->world, &mine, all, sizeof mine, err);
    for (int32_t r = 0; r < size && !s && !trainer_signal(); r++)
        if (all[r])
            trainer_accept_signal(all[r]);
    free(all);
    return s;
}

static tutti_status exchange_sums(distributed *d, tutti_error *err)
{
    const uint64_t bytes = most_values(d) * sizeof(double);
    double *all = calloc((size_t)world_size(d->world), bytes + 1);
    if (!all)
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for the sums of %lld batches",
                          (long long)d->batches.count);
    const tutti_status s =
        bytes ? world_exchange(d->world, d->batches.values, all, bytes, err) : TUTTI_OK;
    if (!s)
        add_up(d, all);
    free(all);
    return s;
}

tutti_status rank_end_evaluation(trainer *t, tutti_status status, tutti_error *err)
{
    distributed *d = &t->distributed;
    data_source *e = d->batches.evaluation;
    if (!e)
        return status;
    tutti_status s = status ? TUTTI_OK : world_finish(d->world, err);
    if (!s)
        s = distributed_agree(d, status, err);
    if (!s)
        s = exchange_signals(d, err);
    if (!s && !trainer_signal()) /* half of the sums are none */
        s = exchange_sums(d, err);
    loader_choose_rows(e->loader, NULL, NULL);
    d->batches.evaluation = NULL;
    return s;
}

/* ---- for plugins ---- */

/* What a plugin asks for is there, also of a batch that another rank evaluates. */
static tutti_status complete(void *ctx, tutti_error *err)
{
    trainer *t = ctx;
    rank_batches *b = &t->distributed.batches;
    if (t->tensors.phase == PHASE_BATCH) {
        const data_source *data = t->hooks.data ? t->hooks.data : &t->train;
        if (!data->loader || !loader_is_partial(data->loader))
            return TUTTI_OK;
        load_whole(t);
        return loader_complete(data->loader, err);
    }
    if (!b->evaluation || is_own(b, b->at))
        return TUTTI_OK;
    const tutti_status s = loader_complete(b->evaluation->loader, err);
    if (s || !b->passed || t->tensors.noutputs)
        return s;
    return b->compute(t, err);
}

void rank_batches_open(trainer *t)
{
    if (!distributed_on(&t->distributed))
        return;
    if (world_size(t->distributed.world) > 1 && t->train.loader)
        loader_choose_rows(t->train.loader, own_rows, t);
    t->tensors.complete = complete;
    t->tensors.complete_ctx = t;
}

void rank_batches_close(trainer *t)
{
    distributed_close(&t->distributed, t->run.stage.failed);
}

void rank_batches_leave(trainer *t)
{
    ranks_service_fini(&t->services->ranks);
    distributed_leave(&t->distributed, t->run.stage.failed);
}

tutti_status rank_batches_compare(trainer *t, tutti_error *err)
{
    int64_t *evaluations = calloc(t->nevals + 1, sizeof *evaluations);
    if (!evaluations) /* the others find this rank gone */
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for evaluations");
    for (size_t k = 0; k < t->nevals; k++)
        evaluations[k] = source_samples(&t->evals[k]);
    const tutti_status s =
        distributed_compare(&t->distributed, source_samples(&t->train), evaluations, err);
    free(evaluations);
    return s;
}
