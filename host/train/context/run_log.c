/* run_log.c - the last value of each metric, and sending everything to the loggers. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/context/run_log.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Loggers begin to work at INIT; before that only the operator's terminal hears messages. */
static const tutti_logger_v1 *at_work(const run_log *l, size_t k)
{
    if (!l->ready && !(l->has_begun && l->has_begun(l->begun_ctx, k)))
        return NULL;
    return instance_query(l->loggers[k], TUTTI_LOGGER_V1);
}

#define FOR_EACH_LOGGER(l, i, table, call)                                                     \
    for (size_t k_ = 0; k_ < (l)->nloggers; k_++)                                              \
        for (const tutti_logger_v1 *table = at_work(l, k_); table; table = NULL)               \
            for (instance *i = (l)->loggers[k_]; i; i = NULL)                                  \
                for (instance_call call_ = instance_enter(i, call); call_.instance;            \
                     instance_leave(&call_))

static void keep(run_log *l, const tutti_named_value *from)
{
    for (uint32_t k = 0; k < l->nvalues; k++)
        if (strcmp(l->values[k].name, from->name) == 0) {
            l->values[k].value = from->value;
            l->values[k].least = fmin(l->values[k].least, from->value);
            l->values[k].most = fmax(l->values[k].most, from->value);
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
    char *name = strdup(from->name);
    if (!name) {
        l->lacks_memory = true;
        return;
    }
    l->values[l->nvalues++] = (logged_value){name, from->value, from->value, from->value};
}

/* A logger that fails is reported once and does not stop the training. */
static void failed(run_log *l, instance *i, const tutti_error *e)
{
    if (l->message)
        l->message(l->message_ctx, TUTTI_LOG_WARNING, instance_name(i), e->text);
}

void run_log_metrics(run_log *l, const tutti_named_value *values, uint32_t n)
{
    run_log_metrics_at(l, values, n, (uint64_t)l->now->batch);
}

void run_log_metrics_at(run_log *l, const tutti_named_value *values, uint32_t n, uint64_t step)
{
    for (uint32_t k = 0; k < n; k++)
        keep(l, &values[k]);
    FOR_EACH_LOGGER(l, i, table, "metrics")
    {
        tutti_error e = TUTTI_ERROR_INIT;
        if (table->metrics && table->metrics(instance_self(i), values, n, step, &e))
            failed(l, i, &e);
    }
}

void run_log_message(run_log *l, int level, const char *component, const char *text)
{
    if (l->message && (level >= (l->tells_all ? TUTTI_LOG_INFO : TUTTI_LOG_WARNING)))
        l->message(l->message_ctx, level, component, text);
    FOR_EACH_LOGGER(l, i, table, "message")
    {
        tutti_error e = TUTTI_ERROR_INIT;
        if (table->message && table->message(instance_self(i), level, component, text, &e))
            failed(l, i, &e);
    }
}

void run_log_hyperparameter(run_log *l, const char *name, const char *json)
{
    const tutti_named_text text = {name, json};
    FOR_EACH_LOGGER(l, i, table, "hyperparameters")
    {
        tutti_error e = TUTTI_ERROR_INIT;
        if (table->hyperparameters && table->hyperparameters(instance_self(i), &text, 1, &e))
            failed(l, i, &e);
    }
}

void run_log_sync(run_log *l)
{
    FOR_EACH_LOGGER(l, i, table, "sync")
    {
        tutti_error e = TUTTI_ERROR_INIT;
        if (TUTTI_HAS(table, tutti_logger_v1, sync) && table->sync &&
            table->sync(instance_self(i), &e))
            failed(l, i, &e);
    }
}

void run_log_begin_again(run_log *l)
{
    FOR_EACH_LOGGER(l, i, table, "begin_again")
    {
        tutti_error e = TUTTI_ERROR_INIT;
        if (TUTTI_HAS(table, tutti_logger_v1, begin_again) && table->begin_again &&
            table->begin_again(instance_self(i), &e))
            failed(l, i, &e);
    }
}

void run_log_trace(run_log *l, const tutti_trace *trace)
{
    FOR_EACH_LOGGER(l, i, table, "trace")
    {
        tutti_error e = TUTTI_ERROR_INIT;
        if (table->trace && table->trace(instance_self(i), trace, &e))
            failed(l, i, &e);
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
    run_log_message(s->log, level, s->instance ? instance_name(s->instance) : RUN_LOG_FUNCTIONS,
                    text);
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
    memset(l, 0, sizeof *l);
}
