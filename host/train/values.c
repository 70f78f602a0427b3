/* values.c - logged numbers, and sending everything to the loggers. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/trainer_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Loggers begin to work at INIT; before that only the operator's terminal hears messages. */
#define FOR_EACH_LOGGER(t, i, table)                                                           \
    for (size_t k_ = 0; (t)->initialised && k_ < (t)->nloggers; k_++)                          \
        for (const tutti_logger_v1 *table =                                                    \
                 instance_query((t)->participants[k_], TUTTI_LOGGER_V1);                       \
             table; table = NULL)                                                              \
            for (instance *i = (t)->participants[k_]; i; i = NULL)

static void keep(value_table *v, const tutti_named_value *from)
{
    for (uint32_t k = 0; k < v->count; k++)
        if (strcmp(v->items[k].name, from->name) == 0) {
            v->items[k].value = from->value;
            return;
        }
    if (v->count == v->room) {
        const uint32_t room = v->room ? 2 * v->room : 32;
        value *items = realloc(v->items, room * sizeof *items);
        if (!items)
            return; /* the loggers still get it */
        v->items = items;
        v->room = room;
    }
    char *name = strdup(from->name);
    if (!name)
        return;
    v->items[v->count].name = name;
    v->items[v->count++].value = from->value;
}

void value_table_fini(value_table *v)
{
    for (uint32_t k = 0; k < v->count; k++)
        free(v->items[k].name);
    free(v->items);
    memset(v, 0, sizeof *v);
}

/* A logger that fails is reported once and does not stop the training. */
static void failed(trainer *t, instance *i, const tutti_error *e)
{
    if (t->message)
        t->message(t->message_ctx, TUTTI_LOG_WARNING, instance_name(i), e->text);
}

void trainer_log(trainer *t, const tutti_named_value *values, uint32_t n)
{
    trainer_log_at(t, values, n, (uint64_t)t->time.batch);
}

void trainer_log_at(trainer *t, const tutti_named_value *values, uint32_t n, uint64_t step)
{
    for (uint32_t k = 0; k < n; k++)
        keep(&t->values, &values[k]);
    FOR_EACH_LOGGER(t, i, table)
    {
        tutti_error e = TUTTI_ERROR_INIT;
        if (table->metrics && table->metrics(instance_self(i), values, n, step, &e))
            failed(t, i, &e);
    }
}

void trainer_message(trainer *t, int level, const char *component, const char *text)
{
    if (t->message && level >= TUTTI_LOG_WARNING)
        t->message(t->message_ctx, level, component, text);
    FOR_EACH_LOGGER(t, i, table)
    {
        tutti_error e = TUTTI_ERROR_INIT;
        if (table->message && table->message(instance_self(i), level, component, text, &e))
            failed(t, i, &e);
    }
}

void trainer_hyperparameter(trainer *t, const char *name, const char *json)
{
    const tutti_named_text text = {name, json};
    FOR_EACH_LOGGER(t, i, table)
    {
        tutti_error e = TUTTI_ERROR_INIT;
        if (table->hyperparameters && table->hyperparameters(instance_self(i), &text, 1, &e))
            failed(t, i, &e);
    }
}

void trainer_trace(void *ctx, const tutti_trace *trace)
{
    trainer *t = ctx;
    FOR_EACH_LOGGER(t, i, table)
    {
        tutti_error e = TUTTI_ERROR_INIT;
        if (table->trace && table->trace(instance_self(i), trace, &e))
            failed(t, i, &e);
    }
}

double trainer_metric(const trainer *t, const char *name)
{
    for (uint32_t k = 0; k < t->values.count; k++)
        if (strcmp(t->values.items[k].name, name) == 0)
            return t->values.items[k].value;
    return (double)NAN;
}

tutti_status metric_set_open(trainer *t, metric_set *m, run_parts *parts, tutti_error *err)
{
    m->instances = calloc(parts->count + 1, sizeof *m->instances);
    m->tables = calloc(parts->count + 1, sizeof *m->tables);
    if (!m->instances || !m->tables)
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for metrics");
    for (size_t k = 0; k < parts->count; k++) {
        const tutti_status s = trainer_open(t, &parts->items[k], &m->instances[k], err);
        if (s)
            return s;
        m->count = k + 1;
        m->tables[k] = instance_query(m->instances[k], TUTTI_METRIC_V1);
        if (!m->tables[k])
            return tutti_fail(err, TUTTI_E_UNSUPPORTED, "metric %s has no " TUTTI_METRIC_V1,
                              parts->items[k].name);
    }
    return TUTTI_OK;
}

void metric_set_reset(metric_set *m)
{
    m->updated = false;
    for (size_t k = 0; k < m->count; k++)
        m->tables[k]->reset(instance_self(m->instances[k]));
}

tutti_status metric_set_update(metric_set *m, const tutti_metric_input *in, tutti_error *err)
{
    m->updated = true;
    for (size_t k = 0; k < m->count; k++) {
        const tutti_status s = m->tables[k]->update(instance_self(m->instances[k]), in, err);
        if (s)
            return s;
    }
    return TUTTI_OK;
}

void metric_set_log(trainer *t, metric_set *m, const char *label, uint64_t step)
{
    if (!m->updated) /* nothing was measured */
        return;
    for (size_t k = 0; k < m->count; k++) {
        char name[160];
        (void)snprintf(name, sizeof name, "metrics/%s/%s", label,
                       instance_name(m->instances[k]));
        const tutti_named_value v = {name,
                                     m->tables[k]->compute(instance_self(m->instances[k]))};
        trainer_log_at(t, &v, 1, step);
    }
}

void metric_set_close(metric_set *m)
{
    for (size_t k = 0; k < m->count; k++)
        instance_free(m->instances[k]);
    free(m->instances);
    free((void *)m->tables);
    memset(m, 0, sizeof *m);
}
