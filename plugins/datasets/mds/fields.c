/* fields.c - samples taken apart: sizes before bytes, separators, JSON. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "fields.h"
#include "../../common/json_memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

TUTTI_PRINTF(4, 5)
static tutti_status fields_wrong(const mds_shard *s, int64_t at, tutti_error *err,
                                 const char *format, ...)
{
    char what[200];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(what, sizeof what, format, args);
    va_end(args);
    return tutti_fail(err, TUTTI_E_FORMAT, "%s: sample %lld: %s", mds_shard_path(s),
                      (long long)at, what);
}

static uint32_t fields_u32(const unsigned char *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

/* The table u32 samples, u32 offsets[samples + 1] is in `part`, what it tells of in the data. */
static tutti_status find_span(const mds_shard *s, int32_t part, int64_t at, mds_field *ret,
                              tutti_error *err)
{
    const mds_part *p = &s->part[part], *data = &s->part[MDS_DATA];
    const uint64_t table = 4 + 4 * ((uint64_t)s->samples + 1);
    if (p->size < table || fields_u32(p->data) != (uint32_t)s->samples)
        return tutti_fail(err, TUTTI_E_FORMAT,
                          "%s: its number of samples is not the index's %lld", p->raw.path,
                          (long long)s->samples);
    const uint64_t begin = fields_u32(p->data + 4 + 4 * at),
                   end = fields_u32(p->data + 8 + 4 * at);
    if ((part == MDS_DATA && begin < table) || end < begin || end > data->size)
        return tutti_fail(err, TUTTI_E_FORMAT, "%s: sample %lld lies outside the file",
                          mds_shard_path(s), (long long)at);
    *ret = (mds_field){data->data + begin, end - begin};
    return TUTTI_OK;
}

static tutti_status split_binary(const mds_set *set, const mds_shard *s, int64_t at,
                                 const mds_field *whole, mds_row *row, tutti_error *err)
{
    uint64_t header = 0, data = 0; /* both stay below 2^38 */
    for (uint32_t k = 0; k < set->ncolumns; k++)
        data += set->columns[k].size < 0 ? 4 : 0;
    for (uint32_t k = 0; k < set->ncolumns && data <= whole->size; k++) {
        uint64_t size = (uint64_t)set->columns[k].size;
        if (set->columns[k].size < 0) {
            size = fields_u32(whole->data + header);
            header += 4;
        }
        row->fields[k] = (mds_field){whole->data + data, size};
        data += size;
    }
    if (data != whole->size)
        return tutti_fail(err, TUTTI_E_FORMAT, "%s: the columns of sample %lld do not fill it",
                          mds_shard_path(s), (long long)at);
    return TUTTI_OK;
}

static tutti_status split_line(const mds_set *set, const mds_shard *s, int64_t at,
                               const mds_field *whole, mds_row *row, tutti_error *err)
{
    const size_t newline = strlen(set->newline), separator = strlen(set->separator);
    if (whole->size < newline ||
        memcmp(whole->data + whole->size - newline, set->newline, newline) != 0)
        return fields_wrong(s, at, err, "its line does not end where the next one begins");
    const unsigned char *from = whole->data, *end = whole->data + whole->size - newline;
    for (uint32_t k = 0; k < set->ncolumns; k++) {
        const unsigned char *next =
            memmem(from, (size_t)(end - from), set->separator, separator);
        const int last = k + 1 == set->ncolumns;
        if (last != !next)
            return fields_wrong(s, at, err, "its line has %s than %u columns",
                                last ? "more" : "fewer", set->ncolumns);
        row->fields[k] = (mds_field){from, (uint64_t)((next ? next : end) - from)};
        from = next ? next + separator : end;
    }
    return TUTTI_OK;
}

/* The text of a value: of a number its digits.  -1: neither a number nor a text. */
static int64_t value_text(const json_t *value, char *to, size_t room)
{
    if (json_is_integer(value))
        return snprintf(to, room, "%lld", (long long)json_integer_value(value));
    if (json_is_real(value))
        return snprintf(to, room, "%.17g", json_real_value(value));
    if (!json_is_string(value))
        return -1;
    if (json_string_length(value) <= room)
        memcpy(to, json_string_value(value), json_string_length(value));
    return (int64_t)json_string_length(value);
}

static tutti_status split_object(const mds_set *set, const mds_shard *s, int64_t at,
                                 const json_t *object, uint64_t room, mds_row *row,
                                 tutti_error *err)
{
    char *to = row->own;
    for (uint32_t k = 0; k < set->ncolumns; k++) {
        const json_t *value = json_object_get(object, set->columns[k].name);
        const size_t left = room - (size_t)(to - row->own);
        const int64_t size = value ? value_text(value, to, left) : -1;
        if (size < 0 || (size_t)size > left)
            return fields_wrong(s, at, err, "column %s: is %s", set->columns[k].name,
                                value ? "neither a number nor a text" : "missing");
        row->fields[k] = (mds_field){(const unsigned char *)to, (uint64_t)size};
        to += size;
    }
    return TUTTI_OK;
}

static tutti_status split_json(const mds_set *set, const mds_shard *s, int64_t at,
                               const mds_field *whole, mds_row *row, tutti_error *err)
{
    json_error_t why;
    const unsigned long before = json_memory_watch();
    json_t *object = json_loadb((const char *)whole->data, whole->size, 0, &why);
    const tutti_status lacks = json_memory_told(before, &object, mds_shard_path(s), err);
    if (lacks)
        return lacks;
    if (!json_is_object(object)) {
        json_decref(object);
        return fields_wrong(s, at, err, "%s", object ? "is no JSON object" : why.text);
    }
    /* No text is longer than its JSON; a number may be. */
    const uint64_t room = whole->size + 32 * (uint64_t)set->ncolumns;
    row->own = malloc(room);
    const tutti_status status =
        row->own ? split_object(set, s, at, object, room, row, err)
                 : tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory", mds_shard_path(s));
    json_decref(object);
    if (status) {
        free(row->own);
        row->own = NULL;
    }
    return status;
}

tutti_status mds_fields(const mds_set *set, const mds_shard *s, int64_t at, mds_row *row,
                        tutti_error *err)
{
    mds_field whole = {NULL, 0};
    row->own = NULL;
    const tutti_status status =
        find_span(s, set->format == MDS_BINARY ? MDS_DATA : MDS_META, at, &whole, err);
    if (status)
        return status;
    return set->format == MDS_BINARY  ? split_binary(set, s, at, &whole, row, err)
           : set->format == MDS_LINES ? split_line(set, s, at, &whole, row, err)
                                      : split_json(set, s, at, &whole, row, err);
}
