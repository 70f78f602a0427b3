/* participants.c - the engine of a run, and what takes part in its events: loggers, callbacks, algorithms, passes, handlers. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/trainer/participants.h"

#include "graph/plan/loss.h"
#include "train/step/trainer_state.h"
#include "train/trainer/evaluate.h"
#include "train/trainer/services.h"
#include "train/trainer/trainer.h"
#include "tutti/stateful.h"

#include <stdlib.h>
#include <string.h>

static void engine_message(void *ctx, int level, const char *component, const char *text)
{
    trainer *t = ctx;
    run_log *l = &t->run.log;
    /* Who asks for these lines wants to see them. */
    if (level == TUTTI_LOG_DEBUG && l->message && t->run.engine &&
        engine_is_debugged(t->run.engine))
        l->message(l->message_ctx, level, component, text);
    run_log_message(l, level, component, text);
}

static void trace(void *ctx, const tutti_trace *record)
{
    run_log_trace(&((trainer *)ctx)->run.log, record);
}

/* What functions of the run file can ask for. */
static const void *handler_service(void *ctx, const char *interface_id)
{
    return trainer_service(ctx, NULL, interface_id);
}

static void handler_of_one_rank(void *ctx)
{
    distributed_reads_weights(&((trainer *)ctx)->distributed, "a handler of one rank", true);
}

/* An algorithm may put another loss in the place of the model's, or add a term that is made of its gradients. */
static tutti_status add_loss(trainer *t, instance *i, tutti_error *err)
{
    const tutti_loss_v1 *loss = instance_query(i, TUTTI_LOSS_V1);
    const tutti_penalty_v1 *term = instance_query(i, TUTTI_PENALTY_V1);
    tutti_status s = TUTTI_OK;
    if (!loss && !term)
        return TUTTI_OK;
    if (!t->run.net)
        return tutti_fail(err, TUTTI_E_UNSUPPORTED,
                          "%s changes the model's loss, and this run has no model",
                          instance_name(i));
    if (loss)
        s = net_add_loss(t->run.net, loss, instance_self(i), instance_name(i), i, err);
    if (!s && term)
        s = net_add_penalty(t->run.net, term, instance_self(i), i, err);
    return s;
}

/* An algorithm may take the update into its own hands. */
static tutti_status add_wrapper(trainer *t, instance *i, tutti_error *err)
{
    const tutti_optimizer_wrapper_v1 *table = instance_query(i, TUTTI_OPTIMIZER_WRAPPER_V1);
    if (!table)
        return TUTTI_OK;
    if (t->run.participants.wrapper)
        return tutti_fail(err, TUTTI_E_ARG,
                          "%s and %s both wrap the optimizer, want one of them",
                          instance_name(t->run.participants.wrapper), instance_name(i));
    t->run.participants.wrapper = i;
    t->run.participants.wrapper_table = table;
    t->run.participants.wrapper_looks = !TUTTI_HAS(table, tutti_optimizer_wrapper_v1, flags) ||
                                        !(table->flags & TUTTI_WRAPPER_NO_LOSS);
    return TUTTI_OK;
}

static tutti_status bind_handlers(trainer *t, tutti_error *err)
{
    binding_list *list = &t->run.file->observers.handlers;
    for (size_t k = 0; k < list->count; k++) {
        const tutti_status s = engine_bind(t->run.engine, list->items[k], err);
        if (s)
            return s;
        list->items[k] = NULL; /* the engine has it */
    }
    return TUTTI_OK;
}

static bool logger_has_begun(void *ctx, size_t k)
{
    return engine_has_begun(((trainer *)ctx)->run.engine, k);
}

static tutti_status open_engine(trainer *t, tutti_error *err)
{
    engine_options options = {.time = &t->run.clock.now,
                              .eval_time = &t->run.clock.eval,
                              .trace = trace,
                              .log = engine_message,
                              .ctx = t,
                              .query = handler_service,
                              .one_rank = handler_of_one_rank,
                              .upstream_order = t->run.file->participants.upstream_order};
    options.nevents = registry_events(t->run.registry, &options.events);
    const tutti_status s = engine_create(&options, &t->run.engine, err);
    if (s == TUTTI_OK) {
        t->run.log.has_begun = logger_has_begun;
        t->run.log.begun_ctx = t;
        engine_accept_handlers(t->run.engine, t->run.registry);
    }
    return s;
}

static tutti_status join(trainer *t, instance *i, bool is_logger, tutti_error *err)
{
    participants *p = &t->run.participants;
    tutti_status s = engine_add(t->run.engine, i, err);
    if (s)
        return s;
    p->nloggers += is_logger; /* the engine knows which of them have begun */
    t->run.log.loggers = p->items;
    t->run.log.nloggers = p->nloggers;
    s = add_loss(t, i, err);
    return s ? s : add_wrapper(t, i, err);
}

/* What saves checkpoints comes last of its kind, the run file's first saver behind all others: a run goes on from its
 * checkpoints (saver_find), which then have what the others have done and saved. */
static void savers_last(instance **items, size_t n)
{
    for (size_t k = 0, end = n; k < end;) {
        instance *i = items[k];
        if (!instance_query(i, TUTTI_SAVER_V1)) {
            k++;
            continue;
        }
        end--;
        memmove(&items[k], &items[k + 1], (end - k) * sizeof(instance *));
        items[end] = i;
    }
}

/* Those of one kind: all are opened before the engine has the first of them. */
static tutti_status open_kind(trainer *t, run_parts *parts, bool loggers, tutti_error *err)
{
    participants *p = &t->run.participants;
    const size_t first = p->count;
    tutti_status s = TUTTI_OK;
    if (loggers && !distributed_first(&t->distributed))
        return TUTTI_OK; /* rank 0 logs */
    for (size_t k = 0; s == TUTTI_OK && k < parts->count; k++) {
        s = context_open(&t->run, &parts->items[k], &p->items[p->count], err);
        p->count += s == TUTTI_OK;
    }
    if (s == TUTTI_OK)
        savers_last(&p->items[first], p->count - first);
    for (size_t k = first; s == TUTTI_OK && k < p->count; k++)
        s = join(t, p->items[k], loggers, err);
    return s;
}

tutti_status trainer_open_participants(trainer *t, tutti_error *err)
{
    run_file *file = t->run.file;
    run_parts *lists[] = {&file->participants.loggers, &file->participants.callbacks,
                          &file->participants.algorithms, &file->participants.passes};
    size_t n = 0;
    for (size_t l = 0; l < 4; l++)
        n += lists[l]->count;
    t->run.participants.items = calloc(n + 1, sizeof(instance *));
    if (!t->run.participants.items)
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for %zu participants", n);
    tutti_status s = open_engine(t, err);
    t->observers.writes = distributed_first(&t->distributed);
    t->run.log.told_tables = t->run.log.told_images = !t->observers.writes; /* rank 0 logs */
    if (s == TUTTI_OK)
        s = observers_open(&t->observers, &t->run, err);
    for (size_t l = 0; s == TUTTI_OK && l < 4; l++)
        s = open_kind(t, lists[l], l == 0, err);
    if (s == TUTTI_OK)
        s = trainer_bind_evaluations(t, err);
    if (s == TUTTI_OK)
        s = bind_handlers(t, err);
    return s ? s : engine_seal(t->run.engine, err);
}
