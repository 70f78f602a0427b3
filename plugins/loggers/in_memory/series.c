/* series.c - growing arrays of numbers, found by a hash of their names. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "series.h"
#include "tutti/rng.h"

#include <stdlib.h>
#include <string.h>

/* Room for one more element of `size` bytes in *array. */
static bool series_grow(void *array, uint64_t count, uint64_t *capacity, size_t size)
{
    if (count < *capacity)
        return true;
    const uint64_t more = *capacity ? 2 * *capacity : 16;
    void *grown = realloc(*(void **)array, more * size);
    if (!grown)
        return false;
    *(void **)array = grown;
    *capacity = more;
    return true;
}

/* The slot of `name`, or the empty one where it belongs. */
static uint32_t *slot_of(const series_set *s, const char *name)
{
    uint32_t at = (uint32_t)tutti_hash(name) & (s->nslots - 1);
    while (s->slots[at] && strcmp(s->items[s->slots[at] - 1].name, name) != 0)
        at = (at + 1) & (s->nslots - 1);
    return &s->slots[at];
}

/* At most half of the slots are taken. */
static bool grow_slots(series_set *s)
{
    if (2 * (s->count + 1) <= s->nslots)
        return true;
    const uint32_t nslots = s->nslots ? 2 * s->nslots : 64;
    uint32_t *slots = calloc(nslots, sizeof *slots);
    if (!slots)
        return false;
    free(s->slots);
    s->slots = slots;
    s->nslots = nslots;
    for (uint32_t k = 0; k < s->count; k++)
        *slot_of(s, s->items[k].name) = k + 1;
    return true;
}

static series *series_new(series_set *s, const char *name)
{
    uint64_t capacity = s->capacity;
    const bool may =
        grow_slots(s) && series_grow(&s->items, s->count, &capacity, sizeof *s->items);
    s->capacity = (uint32_t)capacity;
    char *copy = may ? strdup(name) : NULL;
    if (!copy)
        return NULL;
    *slot_of(s, name) = s->count + 1;
    s->items[s->count] = (series){.name = copy};
    return &s->items[s->count++];
}

const series *series_find(const series_set *s, const char *name)
{
    const uint32_t k = s->nslots ? *slot_of(s, name) : 0;
    return k ? &s->items[k - 1] : NULL;
}

/* The time's index; what is logged together comes one after the other. */
static bool intern_time(series_set *s, const tutti_timestamp *time, uint64_t *ret_index)
{
    if (!s->ntimes || memcmp(&s->times[s->ntimes - 1], time, sizeof *time) != 0) {
        if (!series_grow(&s->times, s->ntimes, &s->times_capacity, sizeof *s->times))
            return false;
        s->times[s->ntimes++] = *time;
    }
    *ret_index = s->ntimes - 1;
    return true;
}

bool series_add(series_set *s, const char *name, double value, const tutti_timestamp *time)
{
    const uint32_t k = s->nslots ? *slot_of(s, name) : 0;
    series *to = k ? &s->items[k - 1] : series_new(s, name);
    uint64_t at = 0;
    if (!to || !series_grow(&to->points, to->count, &to->capacity, sizeof *to->points) ||
        !intern_time(s, time, &at))
        return false;
    to->points[to->count++] = (point){value, at};
    return true;
}

bool series_field(const tutti_timestamp *t, const char *field, double *ret_value)
{
    const struct {
        const char *name;
        int64_t count;
        double unit;
    } fields[] = {{"iteration", t->iteration, 1.0},
                  {"epoch", t->epoch, 1.0},
                  {"batch", t->batch, 1.0},
                  {"sample", t->sample, 1.0},
                  {"token", t->token, 1.0},
                  {"epoch_in_iteration", t->epoch_in_iteration, 1.0},
                  {"token_in_iteration", t->token_in_iteration, 1.0},
                  {"batch_in_epoch", t->batch_in_epoch, 1.0},
                  {"sample_in_epoch", t->sample_in_epoch, 1.0},
                  {"token_in_epoch", t->token_in_epoch, 1.0},
                  {"total_wct", t->total_ns, 1e9},
                  {"iteration_wct", t->iteration_ns, 1e9},
                  {"epoch_wct", t->epoch_ns, 1e9},
                  {"batch_wct", t->batch_ns, 1e9}};
    for (size_t k = 0; k < sizeof fields / sizeof *fields; k++)
        if (strcmp(fields[k].name, field) == 0) {
            *ret_value = (double)fields[k].count / fields[k].unit;
            return true;
        }
    return false;
}

void series_clear(series_set *s)
{
    for (uint32_t k = 0; k < s->count; k++) {
        free(s->items[k].name);
        free(s->items[k].points);
    }
    free(s->items);
    free(s->slots);
    free(s->times);
    memset(s, 0, sizeof *s);
}
