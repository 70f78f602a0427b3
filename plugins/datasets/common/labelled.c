/* labelled.c - labels as texts while the file is read, as classes behind it. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "labelled.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_CLASSES = 1 << 24 };

void labelled_free(labelled *l)
{
    for (uint64_t k = 0; !l->numbered && k < l->nrows; k++)
        free(l->rows[k].label.text);
    free(l->rows);
    label_names_free(&l->names);
    memset(l, 0, sizeof *l);
}

static tutti_status labelled_no_memory(tutti_error *err)
{
    return tutti_fail(err, TUTTI_E_NOMEM, "no memory for labels");
}

/* The label as text, which the caller frees. */
static tutti_status labelled_text(const json_t *record, const char *field, const char *where,
                                  char **ret, tutti_error *err)
{
    const json_t *value = json_object_get(record, field);
    char number[32];
    if (!json_is_string(value) && !json_is_integer(value))
        return tutti_fail(err, TUTTI_E_FORMAT,
                          "%s: the field \"%s\" is %s, want a string or a whole number", where,
                          field, value ? "neither" : "missing");
    if (json_is_string(value) && !json_string_length(value))
        return tutti_fail(err, TUTTI_E_FORMAT, "%s: the field \"%s\" is empty, want a label",
                          where, field);
    (void)snprintf(number, sizeof number, "%lld", (long long)json_integer_value(value));
    *ret = strdup(json_is_string(value) ? json_string_value(value) : number);
    return *ret ? TUTTI_OK : labelled_no_memory(err);
}

tutti_status labelled_add(labelled *l, uint64_t at, uint64_t size, const json_t *record,
                          const char *field, const char *where, tutti_error *err)
{
    if (l->nrows == l->capacity) {
        const uint64_t capacity = 2 * l->capacity + 64;
        labelled_row *rows = realloc(l->rows, capacity * sizeof *rows);
        if (!rows)
            return labelled_no_memory(err);
        l->rows = rows;
        l->capacity = capacity;
    }
    labelled_row row = {at, size, {.text = NULL}};
    const tutti_status s = labelled_text(record, field, where, &row.label.text, err);
    if (s == TUTTI_OK)
        l->rows[l->nrows++] = row;
    return s;
}

/* A whole number as one writes it; -1: it is none. */
static int64_t labelled_whole(const char *text)
{
    char *end = NULL;
    const long long n = *text >= '0' && *text <= '9' ? strtoll(text, &end, 10) : -1;
    return end && *end == '\0' && (*text != '0' || text[1] == '\0') ? (int64_t)n : -1;
}

static int labelled_are_numbers(const labelled *l)
{
    for (uint64_t k = 0; k < l->nrows; k++)
        if (labelled_whole(l->rows[k].label.text) < 0)
            return 0;
    return 1;
}

static tutti_status labelled_collect(labelled *l, const char *labels, tutti_error *err)
{
    if (labels)
        return label_names_read(&l->names, labels, err);
    for (uint64_t k = 0; k < l->nrows; k++) {
        const char *text = l->rows[k].label.text;
        const tutti_status s = label_names_add(&l->names, text, strlen(text), err);
        if (s)
            return s;
    }
    label_names_number(&l->names);
    return TUTTI_OK;
}

static tutti_status labelled_class(const labelled *l, int numbers, const char *text,
                                   const char *labels, const char *path, int64_t *ret,
                                   tutti_error *err)
{
    *ret = numbers ? labelled_whole(text) : label_names_class(&l->names, text, strlen(text));
    if (*ret < 0)
        return tutti_fail(err, TUTTI_E_FORMAT, "%s: the label \"%.60s\" is not in %s", path,
                          text, labels);
    return *ret < MOST_CLASSES ? TUTTI_OK
                               : tutti_fail(err, TUTTI_E_RANGE,
                                            "%s: the label %s is above %d, the greatest class",
                                            path, text, MOST_CLASSES - 1);
}

tutti_status labelled_number(labelled *l, const char *labels, const char *path,
                             tutti_error *err)
{
    const int numbers = !labels && labelled_are_numbers(l);
    int64_t *classes = malloc((l->nrows + 1) * sizeof *classes), most = -1;
    tutti_status s = classes ? TUTTI_OK : labelled_no_memory(err);
    if (s == TUTTI_OK && !numbers)
        s = labelled_collect(l, labels, err);
    for (uint64_t k = 0; k < l->nrows && s == TUTTI_OK; k++) {
        s = labelled_class(l, numbers, l->rows[k].label.text, labels, path, &classes[k], err);
        most = s == TUTTI_OK && classes[k] > most ? classes[k] : most;
    }
    for (uint64_t k = 0; k < l->nrows && s == TUTTI_OK; k++) {
        free(l->rows[k].label.text);
        l->rows[k].label.number = classes[k];
    }
    l->numbered = s == TUTTI_OK;
    l->classes = numbers ? most + 1 : l->names.count;
    free(classes);
    return s;
}

void labelled_read(const labelled *l, int64_t k, const int32_t *tokens, int32_t padding,
                   int64_t length, int32_t *const *columns)
{
    const labelled_row *row = &l->rows[k];
    for (int64_t t = 0; t < length; t++) {
        const int there = t < (int64_t)row->size;
        columns[0][t] = there ? tokens[row->at + (uint64_t)t] : padding;
        columns[2][t] = there;
    }
    *columns[1] = (int32_t)row->label.number;
}
