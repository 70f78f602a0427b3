/* choose.c - a random choice of rows or columns. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "colout.h"

#include <stdlib.h>
#include <string.h>

int64_t kept_count(int64_t size, double p)
{
    return (int64_t)((1.0 - p) * (double)size);
}

static int colout_ascending(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

kept kept_among(tutti_stream *r, uint32_t *index, int64_t size, int64_t count)
{
    algorithm_shuffle(r, index, (uint32_t)size);
    qsort(index, (size_t)count, sizeof *index, colout_ascending);
    return (kept){index, (uint32_t)count, (uint32_t)size};
}

tutti_status kept_draw(kept *k, tutti_stream *r, int64_t size, double p, tutti_error *err)
{
    uint32_t *index = malloc((size_t)size * sizeof *index + 1);
    if (!index)
        return tutti_fail(err, TUTTI_E_NOMEM, "colout: no memory for %lld indices",
                          (long long)size);
    *k = kept_among(r, index, size, kept_count(size, p));
    return TUTTI_OK;
}

void kept_fini(kept *k)
{
    free((void *)(uintptr_t)k->index);
    k->index = NULL;
}

void kept_copy(const kept *rows, const kept *columns, const char *from, char *to,
               uint64_t pixel)
{
    for (uint32_t y = 0; y < rows->count; y++) {
        const char *row = from + (uint64_t)rows->index[y] * columns->size * pixel;
        for (uint32_t x = 0; x < columns->count; x++, to += pixel)
            memcpy(to, row + columns->index[x] * pixel, pixel);
    }
}
