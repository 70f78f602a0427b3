/* restore.c - putting what a checkpoint holds into the run, and telling what it does not hold. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/checkpoint/restore.h"

#include "graph/runtime/device_memory.h"
#include "train/checkpoint/checkpoint_contents.h"
#include "train/checkpoint/provenance.h"
#include "train/pretrained/load_report.h"
#include "train/pretrained/load_rules.h"
#include "train/step/trainer_state.h"
#include "tutti/stateful.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One checkpoint on its way into a run. */
typedef struct restoring {
    trainer *t;
    const char *path;
    const checkpoint *c;
    const checkpoint_contents *v;
    const run_checkpoints *rules;
    bool weights;       /* alone */
    load_report report; /* of weights */
    bool *taken;        /* one an item */
    bool weight_taken;  /* that the optimizer state which follows belongs to */
    size_t states;      /* of the optimizer */
    size_t new_states;  /* of these, begun anew */
} restoring;

static bool has_prefix(const char *name, const char *prefix)
{
    return strncmp(name, prefix, strlen(prefix)) == 0;
}

static bool is_same(const tutti_desc *a, const tutti_desc *b)
{
    return tutti_same_shape(a, b) && a->dtype == b->dtype;
}

/* Weights and their optimizer state that this run does not have are left out, but not silently. */
static void tell_unused(const restoring *r)
{
    const char *first = NULL;
    size_t unused = 0;
    for (size_t k = 0; k < checkpoint_count(r->c); k++) {
        checkpoint_item item;
        checkpoint_at(r->c, k, &item);
        bool known = !has_prefix(item.name, "model.") &&
                     !(r->t->run.stage.fits && has_prefix(item.name, "optimizer."));
        known = known || run_ignores(r->rules, item.name);
        for (size_t j = 0; j < r->v->count && !known; j++)
            known = strcmp(r->v->list[j].name, item.name) == 0;
        if (known)
            continue;
        first = first ? first : item.name;
        unused++;
    }
    if (unused == 0)
        return;
    char text[600];
    (void)snprintf(text, sizeof text,
                   "%s: %zu of its tensors are not in this run's model or optimizer and are "
                   "left out, such as %s",
                   r->path, unused, first);
    run_log_message(&r->t->run.log, TUTTI_LOG_WARNING, "train", text);
}

/* Item k, of an object, is not in the file: whether the run may go on without it. */
static tutti_status check_missing(const restoring *r, size_t k, tutti_error *err)
{
    const char *name = r->v->list[k].name;
    const state_owner *o = &r->v->owners[k];
    if (o->instance && !provenance_has(r->c, o->label)) {
        if (k > 0 && r->v->owners[k - 1].instance == o->instance)
            return TUTTI_OK; /* told */
        char text[600];
        (void)snprintf(text, sizeof text, "%s: knows no %s; its state begins anew", r->path,
                       o->label + strcspn(o->label, ".") + 1);
        run_log_message(&r->t->run.log, TUTTI_LOG_INFO, "train", text);
        return TUTTI_OK;
    }
    if (o->instance) {
        const tutti_stateful_v1 *table = instance_query(o->instance, TUTTI_STATEFUL_V1);
        return TUTTI_HAS(table, tutti_stateful_v1, flags) &&
                       table->flags & TUTTI_STATEFUL_MAY_BE_NEW
                   ? TUTTI_OK
                   : tutti_fail(err, TUTTI_E_NOTFOUND,
                                "%s: has no %s, though it has the state of %s; it was written "
                                "by another version or other settings of it",
                                r->path, name, instance_name(o->instance));
    }
    if (has_prefix(name, "evaluation.") || strcmp(name, "run.loss_scale") == 0 ||
        has_prefix(name, RATE_PREFIX) || strcmp(name, SKIPS_ITEM) == 0)
        return TUTTI_OK; /* the run that wrote it had no such evaluation, precision or rate */
    return tutti_fail(err, TUTTI_E_NOTFOUND,
                      "%s: has no %s; it was written by another model or optimizer", r->path,
                      name);
}

static bool is_excluded(const restoring *r, size_t k)
{
    const instance *i = r->v->owners[k].instance;
    const object_info *o = i ? object_describe(instance_object(i)) : NULL;
    return o && strcmp(o->kind, TUTTI_KIND_ALGORITHM) == 0 && run_excludes(r->rules, o->name);
}

static tutti_status check_shape(const restoring *r, size_t k, const tutti_desc *there,
                                tutti_error *err)
{
    char have[96], want[96];
    const tutti_desc *here = &r->v->list[k].tensor.desc;
    if (is_same(there, here))
        return TUTTI_OK;
    return tutti_fail(err, TUTTI_E_SHAPE, "%s: %s is %s, this run's is %s", r->path,
                      r->v->list[k].name, tutti_desc_text(there, have, sizeof have),
                      tutti_desc_text(here, want, sizeof want));
}

/* A weight is told of in the report, which judges it. */
static tutti_status judge_weight(restoring *r, size_t k, const tutti_tensor *there,
                                 tutti_error *err)
{
    const checkpoint_item *item = &r->v->list[k];
    const int verdict = run_ignores(r->rules, item->name)           ? LOAD_IGNORED
                        : !there->data                              ? LOAD_MISSING
                        : is_same(&there->desc, &item->tensor.desc) ? LOAD_TAKEN
                                                                    : LOAD_SHAPE;
    r->taken[k] = r->weight_taken = verdict == LOAD_TAKEN;
    return load_report_add(&r->report, item->name, &item->tensor.desc,
                           there->data ? there : NULL, verdict, err);
}

/* Optimizer state goes with its weight, which stands before it.  An evaluation updates nothing and needs none, of
 * whichever optimizer the file is. */
static tutti_status judge_slot(restoring *r, size_t k, const tutti_tensor *there,
                               tutti_error *err)
{
    tutti_status s = TUTTI_OK;
    if (!r->t->run.stage.fits)
        return TUTTI_OK;
    r->states++;
    r->taken[k] = r->weight_taken && there->data && !run_ignores(r->rules, r->v->list[k].name);
    if (r->taken[k])
        s = check_shape(r, k, &there->desc, err);
    else if (r->rules->strict && r->weight_taken && !there->data)
        s = check_missing(r, k, err);
    r->new_states += !r->taken[k];
    return s;
}

static tutti_status judge(restoring *r, size_t k, tutti_error *err)
{
    const char *name = r->v->list[k].name;
    tutti_tensor there;
    memset(&there, 0, sizeof there);
    const bool known = checkpoint_find(r->c, name, &there, NULL) == TUTTI_OK;
    if (has_prefix(name, "model."))
        return judge_weight(r, k, &there, err);
    if (r->weights)
        return TUTTI_OK;
    if (has_prefix(
            name,
            METRIC_PREFIX)) { /* other metrics, or an older file: the next batch has them */
        r->taken[k] = known && is_same(&there.desc, &r->v->list[k].tensor.desc) &&
                      !run_ignores(r->rules, name);
        return TUTTI_OK;
    }
    if (has_prefix(name, "optimizer."))
        return judge_slot(r, k, &there, err);
    if (run_ignores(r->rules, name) || is_excluded(r, k))
        return TUTTI_OK;
    r->taken[k] = known;
    return known ? check_shape(r, k, &there.desc, err) : check_missing(r, k, err);
}

/* All metrics of training or none: one alone would say that the others have measured nothing. */
static void judge_metrics(restoring *r)
{
    metric_set *m = &r->t->train.metrics;
    size_t taken = 0;
    for (size_t k = 0; k < r->v->count; k++)
        taken += r->taken[k] && has_prefix(r->v->list[k].name, METRIC_PREFIX);
    for (size_t k = 0; k < r->v->count && taken < m->count; k++)
        if (has_prefix(r->v->list[k].name, METRIC_PREFIX))
            r->taken[k] = false;
    m->updated = m->updated || (taken > 0 && taken == m->count);
}

static void judge_rates(restoring *r)
{
    updater *u = &r->t->updater;
    for (size_t k = 0, group = 0; k < r->v->count; k++)
        if (has_prefix(r->v->list[k].name, RATE_PREFIX) && group < u->ngroups) {
            u->groups[group].given = r->taken[k];
            group++;
        }
}

static tutti_status judge_all(restoring *r, tutti_error *err)
{
    tutti_status s = TUTTI_OK;
    r->taken = calloc(r->v->count + 1, sizeof *r->taken);
    if (!r->taken)
        return tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory to compare it", r->path);
    for (size_t k = 0; k < r->v->count && !s; k++)
        s = judge(r, k, err);
    judge_metrics(r);
    judge_rates(r);
    return s ? s : load_report_judge(&r->report, r->path, r->c, r->rules->strict, err);
}

static tutti_status copy(restoring *r, tutti_error *err)
{
    trainer *t = r->t;
    tutti_status s = TUTTI_OK;
    mirrors_invalidate(&t->mirrors, MIRROR_ALL);
    if (t->run.net)
        net_touch_weights(t->run.net);
    for (size_t k = 0; k < r->v->count && !s; k++) {
        tutti_tensor from;
        const tutti_tensor *to = &r->v->list[k].tensor;
        if (!r->taken[k] || checkpoint_find(r->c, r->v->list[k].name, &from, NULL))
            continue;
        s = device_copy(to->device == TUTTI_DEVICE_CPU ? NULL : context_device(&t->run),
                        to->data, from.data, tutti_nbytes(&from.desc), TUTTI_COPY_TO_DEVICE,
                        err);
        if (!s && t->run.net)
            net_overwrites(t->run.net, to->data);
    }
    return s;
}

static tutti_status tell_owners(trainer *t, tutti_error *err)
{
    state_owner o;
    for (size_t k = 0; state_owner_at(t, k, &o); k++) {
        const tutti_stateful_v1 *table = instance_query(o.instance, TUTTI_STATEFUL_V1);
        if (!table || !table->restored)
            continue;
        instance_call call = instance_enter_whole(o.instance, "restored");
        const tutti_status s = table->restored(instance_self(o.instance), err);
        instance_leave(&call);
        if (s)
            return s;
    }
    return TUTTI_OK;
}

static void tell(restoring *r)
{
    char text[600];
    load_rules_check(r->rules, r->path, r->c, &r->report, &r->t->run.log);
    load_report_tell(&r->report, r->path, r->c, &r->t->run.log);
    if (r->new_states) {
        (void)snprintf(text, sizeof text,
                       "%.400s: %zu of %zu states of the optimizer begin anew", r->path,
                       r->new_states, r->states);
        run_log_message(&r->t->run.log, TUTTI_LOG_WARNING, "train", text);
    }
    tell_unused(r);
}

tutti_status contents_restore(trainer *t, const char *path, const checkpoint *c,
                              const checkpoint_contents *v, const run_checkpoints *rules,
                              bool weights, tutti_error *err)
{
    restoring r = {.t = t, .path = path, .c = c, .v = v, .rules = rules, .weights = weights};
    tutti_status s = judge_all(&r, err);
    if (!s)
        s = copy(&r, err);
    if (!s)
        s = tell_owners(t, err);
    if (!s)
        tell(&r);
    load_report_fini(&r.report);
    free(r.taken);
    return s;
}
