/* logger.h - what the loggers share: services, the text of a number, the latest values. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LOGGER_PLUGIN_H
#define LOGGER_PLUGIN_H

#include "tutti/logger.h"
#include "tutti/state.h"
#include "tutti/tutti.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The host's table, or NULL with the error told. */
static inline const void *logger_service(const tutti_host *host, const char *who,
                                         const char *id, tutti_error *err)
{
    const void *table = host->query(host->ctx, id);
    if (!table)
        (void)tutti_fail(err, TUTTI_E_UNSUPPORTED, "%s: this host has no %s", who, id);
    return table;
}

/* "algorithm_traces/mixup/Event.BEFORE_LOSS", as Composer's loggers call a trace. */
static inline const char *trace_key(const tutti_trace *trace, char *text, size_t size)
{
    const int n = snprintf(text, size, "algorithm_traces/%s/Event.", trace->name);
    size_t at = n < 0 ? 0 : (size_t)n < size ? (size_t)n : size - 1;
    for (const char *c = trace->event_name; *c && at + 1 < size; c++)
        text[at++] = *c >= 'a' && *c <= 'z' ? (char)(*c - 'a' + 'A') : *c;
    text[at] = '\0';
    return text;
}

/* Whole numbers as such, small ones with an exponent, others with four decimals. */
static inline const char *number_text(double v, char *text, size_t size)
{
    if (v == floor(v) && fabs(v) < 1e15)
        (void)snprintf(text, size, "%.0f", v);
    else if (fabs(v) < 1e-3)
        (void)snprintf(text, size, "%.3e", v);
    else
        (void)snprintf(text, size, "%.4f", v);
    return text;
}

/* Values by name, in the order in which the names first came. */
typedef struct latest_value {
    char *name; /* owned */
    double value;
} latest_value;

typedef struct latest_values {
    latest_value *items;
    uint32_t count;
    uint32_t capacity;
} latest_values;

/* False when there is no memory. */
static inline bool latest_set(latest_values *v, const char *name, double value)
{
    for (uint32_t k = 0; k < v->count; k++)
        if (strcmp(v->items[k].name, name) == 0) {
            v->items[k].value = value;
            return true;
        }
    if (v->count == v->capacity) {
        const uint32_t capacity = v->capacity ? 2 * v->capacity : 32;
        latest_value *items = (latest_value *)realloc(v->items, capacity * sizeof *items);
        if (!items)
            return false;
        v->items = items;
        v->capacity = capacity;
    }
    char *own = strdup(name);
    if (!own)
        return false;
    v->items[v->count++] = (latest_value){own, value};
    return true;
}

/* Takes out the values whose name starts with `prefix`. */
static inline void latest_drop(latest_values *v, const char *prefix)
{
    const size_t n = strlen(prefix);
    uint32_t kept = 0;
    for (uint32_t k = 0; k < v->count; k++)
        if (strncmp(v->items[k].name, prefix, n) != 0)
            v->items[kept++] = v->items[k];
        else
            free(v->items[k].name);
    v->count = kept;
}

static inline void latest_free(latest_values *v)
{
    latest_drop(v, "");
    free(v->items);
}

/* The plugin of one logger; what follows its name are members of tutti_calls. */
#define LOGGER_PLUGIN(name_, ...)                                                              \
    TUTTI_PLUGIN_OF_ONE("org.tutti." name_, "1.0.0", name_, TUTTI_KIND_LOGGER, __VA_ARGS__)

#endif
