/* log_units.c - rows of units of training that have not come to their end. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/context/log_units.h"

#include "base/json_tree.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void rows_clear(log_rows *r)
{
    for (size_t k = 0; k < r->count; k++)
        free((char *)(uintptr_t)r->items[k].name);
    r->count = 0;
}

static void rows_add(log_rows *r, const log_row *row)
{
    if (r->count == r->capacity) {
        const size_t capacity = r->capacity ? 2 * r->capacity : 32;
        log_row *items = realloc(r->items, capacity * sizeof *items);
        if (!items)
            return;
        r->items = items;
        r->capacity = capacity;
    }
    char *name = strdup(row->name);
    if (!name)
        return;
    r->items[r->count] = *row;
    r->items[r->count++].name = name;
}

static bool is_same(const log_row *a, const log_row *b)
{
    return a->kind == b->kind && a->event == b->event && a->step == b->step &&
           strcmp(a->name, b->name) == 0;
}

/* Takes the first such row out: the same name may be logged twice. */
static bool rows_remove(log_rows *r, const log_row *row)
{
    size_t k = 0;
    while (k < r->count && !is_same(&r->items[k], row))
        k++;
    if (k == r->count)
        return false;
    free((char *)(uintptr_t)r->items[k].name);
    r->count--;
    memmove(r->items + k, r->items + k + 1, (r->count - k) * sizeof *r->items);
    return true;
}

void log_units_open(log_units *u, int unit)
{
    u->open[unit] = true;
}

void log_units_close(log_units *u, int unit)
{
    if (!u->open[unit])
        return;
    u->open[unit] = false;
    rows_clear(&u->logged[unit]);
    rows_clear(&u->before[unit]);
}

void log_units_leave(log_units *u, int unit)
{
    u->open[unit] = false;
}

bool log_units_take(log_units *u, const log_row *row)
{
    bool was = u->muted;
    for (int unit = 0; unit < TRACE_UNITS; unit++) {
        if (!u->open[unit] || u->muted)
            continue;
        was = rows_remove(&u->before[unit], row) || was;
        rows_add(&u->logged[unit], row);
    }
    return was;
}

bool log_units_repeats(const log_units *u)
{
    size_t rows = u->muted;
    for (int unit = 0; unit < TRACE_UNITS; unit++)
        rows += u->open[unit] ? u->before[unit].count : 0;
    return rows > 0;
}

static const char *rows_write(const log_rows *r, int unit, const char *before, text_buffer *b)
{
    for (size_t k = 0; k < r->count; k++) {
        const log_row *row = &r->items[k];
        if (!tree_utf8(row->name)) /* which JSON could not have */
            continue;
        text_add(b, "%s[%d, %" PRId32 ", %" PRId32 ", %" PRIu64 ", ", before, unit, row->kind,
                 row->event, row->step);
        text_add_quoted(b, row->name);
        text_add(b, "]");
        before = ", ";
    }
    return before;
}

bool log_units_write(const log_units *u, text_buffer *b)
{
    static const char first[] = ", \"logged\": [";
    const char *before = first;
    for (int unit = 0; unit < TRACE_UNITS; unit++) {
        before = rows_write(&u->logged[unit], unit, before, b);
        before = rows_write(&u->before[unit], unit, before, b);
    }
    if (before == first)
        return false;
    text_add(b, "]");
    return true;
}

void log_units_read(log_units *u, const json_node *logged)
{
    for (size_t k = 0; k < json_count(logged); k++) {
        const json_node *at = json_at(logged, k);
        const int64_t unit = json_int(json_at(at, 0));
        const log_row row = {.kind = (int32_t)json_int(json_at(at, 1)),
                             .event = (int32_t)json_int(json_at(at, 2)),
                             .name = json_string(json_at(at, 4)),
                             .step = (uint64_t)json_int(json_at(at, 3))};
        if (unit >= 0 && unit < TRACE_UNITS && row.name)
            rows_add(&u->before[unit], &row);
    }
}

void log_units_fini(log_units *u)
{
    for (int unit = 0; unit < TRACE_UNITS; unit++) {
        rows_clear(&u->logged[unit]);
        rows_clear(&u->before[unit]);
        free(u->logged[unit].items);
        free(u->before[unit].items);
    }
    memset(u, 0, sizeof *u);
}
