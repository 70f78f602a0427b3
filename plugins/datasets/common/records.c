/* records.c - JSON lines by jansson; CSV and TSV as RFC 4180 has them. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "records.h"
#include "../../common/json_memory.h"

#include "whole_file.h"

#include <strings.h>

static tutti_status records_format_of(records *r, const char *format, tutti_error *err)
{
    const char *dot = strrchr(r->path, '.');
    const char *ending = strcmp(format, "auto") == 0 ? (dot ? dot + 1 : "") : format;
    r->format = strcasecmp(ending, "csv") == 0   ? RECORDS_CSV
                : strcasecmp(ending, "tsv") == 0 ? RECORDS_TSV
                                                 : RECORDS_JSONL;
    r->separator = r->format == RECORDS_TSV ? '\t' : ',';
    if (r->format == RECORDS_JSONL && strcasecmp(ending, "jsonl") != 0 &&
        strcasecmp(ending, "json") != 0 && strcasecmp(ending, "ndjson") != 0)
        return tutti_fail(err, TUTTI_E_ARG,
                          "%s: its ending is none of .jsonl, .json, .ndjson, .csv and .tsv; "
                          "set \"format\"",
                          r->path);
    return TUTTI_OK;
}

/* ---- CSV ---- */

/* One field from r->at on; *ret_last: the line ends behind it. */
static tutti_status records_field(records *r, json_t **ret, int *ret_last, tutti_error *err)
{
    const uint64_t line = r->line;
    char *to = r->data + r->at, *const begin = to; /* without its quotes it is no longer */
    int quoted = r->at < r->size && r->data[r->at] == '"';
    const int was_quoted = quoted;
    r->at += (uint64_t)quoted;
    for (; r->at < r->size; r->at++) {
        const char c = r->data[r->at];
        r->line += c == '\n';
        if (quoted && c == '"') {
            if (r->at + 1 < r->size && r->data[r->at + 1] == '"') {
                r->at++;
            } else {
                quoted = 0;
                continue;
            }
        } else if (!quoted && (c == r->separator || c == '\n')) {
            break;
        }
        *to++ = c;
    }
    if (quoted)
        return tutti_fail(err, TUTTI_E_FORMAT, "%s:%llu: a quotation mark is not closed",
                          r->path, (unsigned long long)line);
    *ret_last = r->at >= r->size || r->data[r->at] == '\n';
    if (*ret_last && !was_quoted && to > begin && to[-1] == '\r')
        to--;
    if (*ret_last && was_quoted && to > begin && to[-1] == '\r')
        to--; /* the one behind the closing mark */
    r->at += r->at < r->size;
    *ret = json_stringn(begin, (size_t)(to - begin));
    return *ret ? TUTTI_OK
                : tutti_fail(err, TUTTI_E_FORMAT, "%s:%llu: has bytes that are no UTF-8",
                             r->path, (unsigned long long)line);
}

static tutti_status records_row(records *r, json_t *row, tutti_error *err)
{
    int last = 0;
    while (!last) {
        json_t *field = NULL;
        const tutti_status s = records_field(r, &field, &last, err);
        if (s)
            return s;
        if (json_array_append_new(row, field))
            return tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory for a line", r->path);
    }
    return TUTTI_OK;
}

static tutti_status records_named(const records *r, const json_t *row, json_t **ret,
                                  tutti_error *err)
{
    const size_t n = json_array_size(r->names);
    if (json_array_size(row) != n)
        return tutti_fail(err, TUTTI_E_FORMAT,
                          "%s:%llu: has %zu fields, the first line has %zu", r->path,
                          (unsigned long long)r->here, json_array_size(row), n);
    json_t *record = json_object();
    for (size_t k = 0; record && k < n; k++)
        if (json_object_set(record, json_string_value(json_array_get(r->names, k)),
                            json_array_get(row, k)))
            break;
    *ret = record;
    return record ? TUTTI_OK
                  : tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory for a line", r->path);
}

static tutti_status records_next_row(records *r, json_t **ret, tutti_error *err)
{
    json_t *row = json_array();
    tutti_status s = row ? records_row(r, row, err)
                         : tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory for a line", r->path);
    if (s == TUTTI_OK)
        s = records_named(r, row, ret, err);
    json_decref(row);
    return s;
}

/* ---- JSON lines ---- */

static tutti_status records_next_json(records *r, json_t **ret, tutti_error *err)
{
    const char *begin = r->data + r->at;
    const char *end = memchr(begin, '\n', r->size - r->at);
    const uint64_t n = end ? (uint64_t)(end - begin) : r->size - r->at;
    json_error_t why;
    const unsigned long before = json_memory_watch();
    *ret = json_loadb(begin, n, JSON_REJECT_DUPLICATES, &why);
    const tutti_status lacks = json_memory_told(before, ret, r->path, err);
    if (lacks)
        return lacks;
    if (!*ret)
        return tutti_fail(err, TUTTI_E_FORMAT, "%s:%llu: not valid JSON: %s", r->path,
                          (unsigned long long)r->line, why.text);
    if (!json_is_object(*ret))
        return tutti_fail(err, TUTTI_E_FORMAT, "%s:%llu: is no object of fields", r->path,
                          (unsigned long long)r->line);
    r->at += n + (end != NULL);
    r->line++;
    return TUTTI_OK;
}

/* ---- both ---- */

static void records_skip_empty(records *r)
{
    uint64_t at = r->at, lines = 0;
    while (at < r->size && (r->data[at] == '\n' || r->data[at] == '\r')) {
        lines += r->data[at] == '\n';
        at++;
    }
    r->at = at;
    r->line += lines;
}

tutti_status records_next(records *r, json_t **ret, tutti_error *err)
{
    *ret = NULL;
    records_skip_empty(r);
    r->here = r->line;
    if (r->at >= r->size)
        return TUTTI_OK;
    const tutti_status s = r->format == RECORDS_JSONL ? records_next_json(r, ret, err)
                                                      : records_next_row(r, ret, err);
    if (s) {
        json_decref(*ret);
        *ret = NULL;
    }
    return s;
}

/* The first line; a name that comes twice would hide a column. */
static tutti_status records_names(records *r, tutti_error *err)
{
    r->names = json_array();
    const tutti_status s = r->names ? records_row(r, r->names, err)
                                    : tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory", r->path);
    const size_t n = s ? 0 : json_array_size(r->names);
    for (size_t k = 1; k < n; k++)
        for (size_t j = 0; j < k; j++)
            if (json_equal(json_array_get(r->names, j), json_array_get(r->names, k)))
                return tutti_fail(err, TUTTI_E_FORMAT, "%s:1: two fields are called \"%s\"",
                                  r->path, json_string_value(json_array_get(r->names, k)));
    return s;
}

tutti_status records_open(records *r, const char *path, const char *format, tutti_error *err)
{
    memset(r, 0, sizeof *r);
    r->path = path;
    r->line = 1;
    void *data = NULL;
    tutti_status s = records_format_of(r, format, err);
    if (s == TUTTI_OK)
        s = whole_file(path, &data, &r->size, err);
    r->data = data;
    if (s == TUTTI_OK && r->size >= 3 && memcmp(r->data, "\xef\xbb\xbf", 3) == 0)
        r->at = 3;
    if (s == TUTTI_OK && r->format != RECORDS_JSONL)
        s = records_names(r, err);
    if (s)
        records_close(r);
    return s;
}

void records_close(records *r)
{
    json_decref(r->names);
    free(r->data);
    memset(r, 0, sizeof *r);
}
