/* series.h - numbers by name, each with the time at which it was logged. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef IN_MEMORY_SERIES_H
#define IN_MEMORY_SERIES_H

#include "tutti/time.h"

#include <stdbool.h>

/* One number; times are shared by all that was logged at one. */
typedef struct point {
    double value;
    uint64_t time; /* index in series_set.times */
} point;

typedef struct series {
    char *name;
    point *points;
    uint64_t count, capacity;
} series;

typedef struct series_set {
    series *items; /* in the order in which names first came */
    uint32_t count, capacity;
    uint32_t *slots; /* by hash of the name: index + 1, 0 for none */
    uint32_t nslots; /* a power of two, or 0 */
    tutti_timestamp *times;
    uint64_t ntimes, times_capacity;
} series_set;

/* False: no memory, and the number is not kept. */
bool series_add(series_set *s, const char *name, double value, const tutti_timestamp *time);
/* NULL: there is none. */
const series *series_find(const series_set *s, const char *name);
/* The counter that upstream calls `field`, wall-clock times in seconds; false: there is none of this name. */
bool series_field(const tutti_timestamp *time, const char *field, double *ret_value);
void series_clear(series_set *s); /* frees everything; `s` is empty then */

#endif
