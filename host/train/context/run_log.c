/* run_log.c - the last value of each metric, and sending everything to the loggers. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/context/run_log.h"

#include "base/text.h"
#include "train/context/run_log_each.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void keep(run_log *l, const char *of, const logged_value *from)
{
    for (uint32_t k = 0; k < l->nvalues; k++)
        if (strcmp(l->values[k].name, of) == 0) {
            l->values[k].value = from->value;
            l->values[k].least = fmin(l->values[k].least, from->least);
            l->values[k].most = fmax(l->values[k].most, from->most);
            l->values[k].restored = from->restored;
            return;
        }
    if (l->nvalues == l->capacity) {
        const uint32_t capacity = l->capacity ? 2 * l->capacity : 32;
        logged_value *values = realloc(l->values, capacity * sizeof *values);
        if (!values) {
            l->lacks_memory = true;
            return;
        }
        l->values = values;
        l->capacity = capacity;
    }
    char *name = strdup(of);
    if (!name) {
        l->lacks_memory = true;
        return;
    }
    l->values[l->nvalues] = *from;
    l->values[l->nvalues++].name = name;
}

void run_log_restore(run_log *l, const char *name, const logged_value *value)
{
    logged_value v = *value;
    v.restored = true;
    keep(l, name, &v);
}

bool run_log_has(const run_log *l, const char *name, double value)
{
    for (uint32_t k = 0; k < l->nvalues; k++)
        if (strcmp(l->values[k].name, name) == 0)
            return l->values[k].restored && l->values[k].value == value;
    return false;
}

void run_log_forget_restored(run_log *l)
{
    for (uint32_t k = 0; k < l->nvalues; k++)
        l->values[k].restored = false;
}

void run_log_metrics(run_log *l, const tutti_named_value *values, uint32_t n)
{
    run_log_metrics_at(l, values, n, (uint64_t)l->now->batch);
}

static void give_metrics(run_log *l, const tutti_named_value *values, uint32_t n, uint64_t step)
{
    FOR_EACH_LOGGER(l, i, table, "metrics")
    {
        tutti_error e = TUTTI_ERROR_INIT;
        if (table->metrics && table->metrics(instance_self(i), values, n, step, &e))
            run_log_failed(l, i, &e);
    }
}

/* Those that loggers do not have of an attempt before this one. */
static void give_fresh(run_log *l, const tutti_named_value *values, uint32_t n, uint64_t step)
{
    tutti_named_value *fresh = malloc((n + 1) * sizeof *fresh);
    uint32_t nfresh = 0;
    for (uint32_t k = 0; k < n; k++) {
        if (log_units_take(&l->units, &(log_row){LOG_METRIC, 0, values[k].name, step}))
            continue;
        if (fresh)
            fresh[nfresh++] = values[k];
        else /* a row each */
            give_metrics(l, &values[k], 1, step);
    }
    if (nfresh > 0)
        give_metrics(l, fresh, nfresh, step);
    free(fresh);
}

void run_log_metrics_at(run_log *l, const tutti_named_value *values, uint32_t n, uint64_t step)
{
    for (uint32_t k = 0; k < n; k++)
        keep(l, values[k].name,
             &(logged_value){
                 .value = values[k].value, .least = values[k].value, .most = values[k].value});
    run_log_hand_over(l);
    if (log_units_repeats(&l->units)) {
        give_fresh(l, values, n, step);
        return;
    }
    for (uint32_t k = 0; k < n; k++)
        (void)log_units_take(&l->units, &(log_row){LOG_METRIC, 0, values[k].name, step});
    give_metrics(l, values, n, step);
}

void run_log_hyperparameter(run_log *l, const char *name, const char *json)
{
    const tutti_named_text text = {name, json};
    FOR_EACH_LOGGER(l, i, table, "hyperparameters")
    {
        tutti_error e = TUTTI_ERROR_INIT;
        if (table->hyperparameters && table->hyperparameters(instance_self(i), &text, 1, &e))
            run_log_failed(l, i, &e);
    }
}

void run_log_sync(run_log *l)
{
    run_log_hand_over(l);
    FOR_EACH_LOGGER(l, i, table, "sync")
    {
        tutti_error e = TUTTI_ERROR_INIT;
        if (TUTTI_HAS(table, tutti_logger_v1, sync) && table->sync &&
            table->sync(instance_self(i), &e))
            run_log_failed(l, i, &e);
    }
}

void run_log_begin_again(run_log *l)
{
    FOR_EACH_LOGGER(l, i, table, "begin_again")
    {
        tutti_error e = TUTTI_ERROR_INIT;
        if (TUTTI_HAS(table, tutti_logger_v1, begin_again) && table->begin_again &&
            table->begin_again(instance_self(i), &e))
            run_log_failed(l, i, &e);
    }
}

void run_log_trace(run_log *l, const tutti_trace *trace)
{
    if (log_units_take(&l->units,
                       &(log_row){LOG_TRACE, trace->event, trace->name, trace->step}))
        return;
    FOR_EACH_LOGGER(l, i, table, "trace")
    {
        tutti_error e = TUTTI_ERROR_INIT;
        if (table->trace && table->trace(instance_self(i), trace, &e))
            run_log_failed(l, i, &e);
    }
}

void run_log_locations(const run_log *l,
                       void (*tell)(void *ctx, const char *logger, const char *location),
                       void *ctx)
{
    FOR_EACH_LOGGER(l, i, table, "location")
    {
        const bool has = TUTTI_HAS(table, tutti_logger_v1, location) && table->location;
        const char *location = has ? table->location(instance_self(i)) : NULL;
        if (location && *location)
            tell(ctx, instance_name(i), location);
    }
}

const double *run_log_value(const run_log *l, const char *name)
{
    for (uint32_t k = 0; k < l->nvalues; k++)
        if (strcmp(l->values[k].name, name) == 0)
            return &l->values[k].value;
    return NULL;
}

const tutti_history_v1 *run_log_history(const run_log *l)
{
    const tutti_history_v1 *table = NULL;
    for (size_t k = 0; k < l->nloggers && !table; k++)
        table = instance_query(l->loggers[k], TUTTI_HISTORY_V1);
    return table;
}

/* ---- tutti.log/1 ---- */

struct log_service {
    tutti_log_v1 table;
    run_log *log;
    instance *instance;
    log_service *next;
};

static void log_write(void *ctx, int32_t level, const char *text)
{
    const log_service *s = ctx;
    const char *name = s->instance ? instance_name(s->instance) : RUN_LOG_FUNCTIONS;
    run_log_message(s->log, level, name, text_after_name(text, name));
}

const tutti_log_v1 *run_log_service(run_log *l, instance *i)
{
    for (log_service *s = l->services; s; s = s->next)
        if (s->instance == i)
            return &s->table;
    log_service *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    s->table = (tutti_log_v1){.struct_size = sizeof s->table, .ctx = s, .write = log_write};
    s->log = l;
    s->instance = i;
    s->next = l->services;
    l->services = s;
    return &s->table;
}

void run_log_fini(run_log *l)
{
    for (uint32_t k = 0; k < l->nvalues; k++)
        free(l->values[k].name);
    free(l->values);
    while (l->services) {
        log_service *next = l->services->next;
        free(l->services);
        l->services = next;
    }
    l->nloggers = 0;
    run_log_hand_over(l); /* to nobody */
    log_units_fini(&l->units);
    memset(l, 0, sizeof *l);
}
