/* pack.c - documents into rows, in their order: each row takes what fits. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "pack.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { NOT_LEARNT = -100 }; /* the class that losses leave out */

void pack_free(pack *p)
{
    free(p->pieces);
    free(p->rows);
    memset(p, 0, sizeof *p);
}

static tutti_status pack_no_memory(tutti_error *err)
{
    return tutti_fail(err, TUTTI_E_NOMEM, "documents: no memory for its rows");
}

static tutti_status pack_row(pack *p, tutti_error *err)
{
    if (p->nrows == p->rows_capacity) {
        const uint64_t capacity = 2 * p->rows_capacity + 64;
        uint64_t *rows = realloc(p->rows, capacity * sizeof *rows);
        if (!rows)
            return pack_no_memory(err);
        p->rows = rows;
        p->rows_capacity = capacity;
    }
    p->rows[p->nrows++] = p->count;
    p->used = 0;
    return TUTTI_OK;
}

static tutti_status pack_piece_add(pack *p, uint64_t at, uint64_t size, tutti_error *err)
{
    if (p->count == p->capacity) {
        const uint64_t capacity = 2 * p->capacity + 64;
        pack_piece *pieces = realloc(p->pieces, capacity * sizeof *pieces);
        if (!pieces)
            return pack_no_memory(err);
        p->pieces = pieces;
        p->capacity = capacity;
    }
    p->pieces[p->count++] = (pack_piece){at, (uint32_t)size, 0};
    p->used += size - 1;
    return TUTTI_OK;
}

/* true: what is left of a document begins a new row. */
static bool pack_is_full(const pack *p, uint64_t places)
{
    const uint64_t length = (uint64_t)p->length;
    return p->nrows == 0 || p->used >= length || (p->packing == PACK_NONE && p->used) ||
           (p->packing == PACK_WHOLE && p->used && places > length - p->used);
}

tutti_status pack_add(pack *p, uint64_t at, uint64_t size, const char *where, tutti_error *err)
{
    const uint64_t length = (uint64_t)p->length;
    if (size > length + 1 && p->packing < PACK_CUT && p->too_long != TOO_LONG_CUT)
        return p->too_long == TOO_LONG_DROP
                   ? TUTTI_OK
                   : tutti_fail(err, TUTTI_E_RANGE,
                                "%s: has %llu tokens, a row takes %llu; set \"too_long\" or a "
                                "greater \"length\"",
                                where, (unsigned long long)size,
                                (unsigned long long)length + 1);
    if (p->packing == PACK_STREAM)
        return TUTTI_OK; /* its rows know of no documents */
    while (size > 1) {   /* the last token of a piece is the first of the next */
        tutti_status s = pack_is_full(p, size - 1) ? pack_row(p, err) : TUTTI_OK;
        const uint64_t left = length - p->used;
        const uint64_t places = size - 1 < left ? size - 1 : left;
        if (s == TUTTI_OK)
            s = pack_piece_add(p, at, places + 1, err);
        if (s)
            return s;
        at += places;
        size -= places;
    }
    return TUTTI_OK;
}

void pack_end(pack *p, uint64_t tokens)
{
    if (p->packing == PACK_STREAM)
        p->nrows = tokens ? (tokens - 1) / (uint64_t)p->length : 0;
}

/* The columns behind the target: where tokens are, or whose they are. */
static void pack_tell(const pack *p, int32_t *const *columns, int64_t at, int32_t document,
                      int32_t place, int32_t token)
{
    columns[2][at] = p->packing == PACK_NONE ? token : document;
    if (p->packing != PACK_NONE)
        columns[3][at] = place;
}

static void pack_read_piece(const pack *p, const pack_piece *piece, const pack_source *from,
                            int64_t at, int32_t document, int32_t *const *columns)
{
    for (uint32_t k = 0; k + 1 < piece->size; k++) {
        const uint64_t token = piece->at + k;
        columns[0][at + k] = from->tokens[token];
        columns[1][at + k] = from->learnt[token + 1] ? from->tokens[token + 1] : NOT_LEARNT;
        pack_tell(p, columns, at + k, document, (int32_t)k, 1);
    }
}

/* A row ends with the token that the next one begins with, whose documents these are. */
static void pack_read_stream(const pack *p, const pack_source *from, int64_t row,
                             int32_t *const *columns)
{
    const int32_t *tokens = from->tokens + row * p->length;
    memcpy(columns[0], tokens, (size_t)p->length * sizeof *tokens);
    memcpy(columns[1], tokens + 1, (size_t)p->length * sizeof *tokens);
}

void pack_read(const pack *p, const pack_source *from, int64_t row, int32_t *const *columns)
{
    if (p->packing == PACK_STREAM) {
        pack_read_stream(p, from, row, columns);
        return;
    }
    const uint64_t end = (uint64_t)row + 1 < p->nrows ? p->rows[row + 1] : p->count;
    int64_t at = 0;
    int32_t document = 0;
    for (uint64_t k = p->rows[row]; k < end; k++) {
        pack_read_piece(p, &p->pieces[k], from, at, document++, columns);
        at += (int64_t)p->pieces[k].size - 1;
    }
    for (int32_t k = 0; at < p->length; at++, k++) {
        columns[0][at] = from->padding;
        columns[1][at] = NOT_LEARNT;
        pack_tell(p, columns, at, document, k, 0);
    }
}
