/* fields.c - numbers as JSON has them, or as texts. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "fields.h"

#include <ctype.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static tutti_status fields_no_memory(tutti_error *err)
{
    return tutti_fail(err, TUTTI_E_NOMEM, "table: no memory");
}

/* ---- names ---- */

static int fields_has(const fields *f, const char *name)
{
    for (uint64_t k = 0; k < f->count; k++)
        if (strcmp(f->items[k].name, name) == 0)
            return 1;
    return 0;
}

static tutti_status fields_add(fields *f, const char *name, tutti_error *err)
{
    char *copy = strdup(name);
    field *more = realloc(f->items, (f->count + 1) * sizeof *more);
    if (more)
        f->items = more;
    if (!more || !copy) {
        free(copy);
        return fields_no_memory(err);
    }
    f->items[f->count++] = (field){copy, 0};
    return TUTTI_OK;
}

tutti_status fields_name(fields *f, const tutti_param *names, tutti_error *err)
{
    tutti_status s = TUTTI_OK;
    for (uint64_t k = 0; k < names->count && s == TUTTI_OK; k++)
        s = fields_has(f, names->items[k]->s)
                ? tutti_fail(err, TUTTI_E_ARG, "table: %s names \"%s\" twice", names->name,
                             names->items[k]->s)
                : fields_add(f, names->items[k]->s, err);
    return s;
}

tutti_status fields_rest(fields *f, const json_t *record, const fields *but, tutti_error *err)
{
    tutti_status s = TUTTI_OK;
    const char *key;
    json_t *value, *all = (json_t *)record; /* which the macro does not change */
    json_object_foreach(all, key, value)
    {
        if (s == TUTTI_OK && !fields_has(but, key))
            s = fields_add(f, key, err);
    }
    return s;
}

void fields_free(fields *f)
{
    for (uint64_t k = 0; k < f->count; k++)
        free(f->items[k].name);
    free(f->items);
    memset(f, 0, sizeof *f);
}

/* ---- values ---- */

/* What a record's field is read with. */
typedef struct value_reading {
    const char *field;
    const char *where;
    const char *advice;
    const double *missing;
    numbers *to;
} value_reading;

static tutti_status value_add(const value_reading *r, double value, tutti_error *err)
{
    numbers *n = r->to;
    if (!isfinite(value) || fabs(value) > FLT_MAX)
        return tutti_fail(err, TUTTI_E_RANGE,
                          "%s: the field \"%s\" is no number that f32 holds", r->where,
                          r->field);
    if (n->count == n->capacity) {
        const uint64_t capacity = 2 * n->capacity + 256;
        float *data = realloc(n->data, capacity * sizeof *data);
        if (!data)
            return fields_no_memory(err);
        n->data = data;
        n->capacity = capacity;
    }
    n->data[n->count++] = (float)value;
    return TUTTI_OK;
}

/* Blanks around it do not count; hexadecimal numbers are texts. */
static int text_number(const char *text, double *ret)
{
    char *end;
    while (isspace((unsigned char)*text))
        text++;
    if (strpbrk(text, "xX"))
        return 0;
    *ret = strtod(text, &end);
    const int any = end != text;
    while (isspace((unsigned char)*end))
        end++;
    return any && !*end;
}

static int is_missing(const json_t *v)
{
    const char *text = json_string_value(v);
    return json_is_null(v) || (text && !text[strspn(text, " \t\r\n")]);
}

static tutti_status value_text(const value_reading *r, const char *text, tutti_error *err)
{
    double value = 0;
    return text_number(text, &value)
               ? value_add(r, value, err)
               : tutti_fail(err, TUTTI_E_FORMAT,
                            "%s: the field \"%s\" is \"%.40s\", want a number%s", r->where,
                            r->field, text, r->advice);
}

static tutti_status value_one(const value_reading *r, const json_t *v, tutti_error *err)
{
    if (is_missing(v))
        return r->missing ? value_add(r, *r->missing, err)
                          : tutti_fail(err, TUTTI_E_FORMAT,
                                       "%s: the field \"%s\" is empty, want a number", r->where,
                                       r->field);
    if (json_is_string(v))
        return value_text(r, json_string_value(v), err);
    if (json_is_number(v) || json_is_boolean(v))
        return value_add(r, json_is_number(v) ? json_number_value(v) : json_is_true(v), err);
    return tutti_fail(err, TUTTI_E_FORMAT,
                      "%s: the field \"%s\" is neither a number nor a list of numbers",
                      r->where, r->field);
}

static tutti_status value_all(const value_reading *r, const json_t *v, tutti_error *err)
{
    tutti_status s = TUTTI_OK;
    if (!v)
        return tutti_fail(err, TUTTI_E_FORMAT, "%s: the field \"%s\" is missing", r->where,
                          r->field);
    if (!json_is_array(v))
        return value_one(r, v, err);
    for (size_t k = 0; k < json_array_size(v) && s == TUTTI_OK; k++)
        s = value_one(r, json_array_get(v, k), err);
    return s;
}

tutti_status fields_read(fields *f, const json_t *record, const double *missing,
                         const char *advice, const char *where, numbers *n, tutti_error *err)
{
    const int first = !f->width;
    for (uint64_t k = 0; k < f->count; k++) {
        field *x = &f->items[k];
        const value_reading r = {x->name, where, advice, missing, n};
        const uint64_t from = n->count;
        const tutti_status s = value_all(&r, json_object_get(record, x->name), err);
        if (s)
            return s;
        if (first)
            x->values = n->count - from;
        if (n->count - from != x->values || !x->values)
            return tutti_fail(err, TUTTI_E_SHAPE,
                              "%s: the field \"%s\" has %llu numbers, want %llu", where,
                              x->name, (unsigned long long)(n->count - from),
                              (unsigned long long)(x->values ? x->values : 1));
        f->width += first ? x->values : 0;
    }
    return TUTTI_OK;
}
