/* spec.c - reading the specification of a setting. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "plugin/spec.h"
#include "base/counts.h"
#include "base/duration.h"

#include <stdlib.h>
#include <string.h>

enum { SCALAR_MOST = 256 };

static const char *const type_words[] = {"bool", "int",  "float", "string", "enum",
                                         "time", "path", "list",  NULL};

static void read_number(const json_node *node, const char *key, const json_node **ret,
                        faults *f)
{
    const json_node *n = json_get(node, key);
    if (n && json_type(n) != JSON_INT && json_type(n) != JSON_REAL)
        faults_add(f, n, "is %s, want a number", json_type_name(n));
    else
        *ret = n;
}

static void read_count(const json_node *node, const char *key, int64_t *ret, faults *f)
{
    const json_node *n = json_get(node, key);
    if (n && (json_type(n) != JSON_INT || json_int(n) < 0))
        faults_add(f, n, "want an integer of at least 0");
    else if (n)
        *ret = json_int(n);
}

static void read_words_of(spec *s, const json_node *node, faults *f)
{
    if (s->type == TUTTI_PARAM_ENUM) {
        s->words = json_member_words(node, "values", f);
        if (!s->words && !json_get(node, "values"))
            faults_add(f, node, "values is missing, want an array of strings");
    }
    if (s->type == TUTTI_PARAM_TIME)
        s->words = json_member_words(node, "units", f);
    for (size_t k = 0; s->type == TUTTI_PARAM_TIME && s->words && s->words[k]; k++) {
        bool known = false;
        for (int32_t u = TUTTI_UNIT_NONE + 1; u < UNIT_END; u++)
            known = known || strcmp(s->words[k], duration_unit(u)) == 0;
        if (!known)
            faults_add(f, json_at(json_get(node, "units"), k),
                       "\"%s\" is no unit, want iter, ep, ba, sp, tok, dur or sec",
                       s->words[k]);
    }
}

static void read_items(spec *s, const json_node *node, faults *f)
{
    const json_node *items = json_member_read(node, "items", MEMBER_OBJECT, MEMBER_REQUIRED, f);
    if (!items)
        return;
    s->items = calloc(1, sizeof *s->items);
    if (s->items)
        spec_read(s->items, items, true, f);
    else
        faults_add_no_memory(f, items);
}

/* A number stands for a list of so many of it. */
static void read_scalar(spec *s, const json_node *node, faults *f)
{
    const json_node *scalar = json_get(node, "scalar");
    if (!scalar)
        return;
    if (s->items && s->items->type != TUTTI_PARAM_INT && s->items->type != TUTTI_PARAM_FLOAT)
        faults_add(f, scalar, "is for lists of numbers");
    else if (json_type(scalar) != JSON_INT || json_int(scalar) < 1 ||
             json_int(scalar) < s->least || (s->most >= 0 && json_int(scalar) > s->most) ||
             json_int(scalar) > SCALAR_MOST)
        faults_add(f, scalar, "want an integer of 1 to %d that the list may have as its length",
                   SCALAR_MOST);
    else
        s->scalar = json_int(scalar);
}

static bool read_flag(const json_node *node, const char *key, faults *f)
{
    const json_node *flag = json_member_read(node, key, MEMBER_BOOL, 0, f);
    return flag && json_bool(flag);
}

/* The keys that a setting of `type` may have. */
static void check_keys(const json_node *node, int32_t type, bool is_item, faults *f)
{
    static const char *const extra[][6] = {
        [TUTTI_PARAM_BOOL] = {NULL},
        [TUTTI_PARAM_INT] = {"min", "max", "above", "below", NULL},
        [TUTTI_PARAM_FLOAT] = {"min", "max", "above", "below", NULL},
        [TUTTI_PARAM_STRING] = {"max_length", NULL},
        [TUTTI_PARAM_ENUM] = {"values", NULL},
        [TUTTI_PARAM_TIME] = {"units", NULL},
        [TUTTI_PARAM_PATH] = {NULL},
        [TUTTI_PARAM_LIST] = {"items", "min_count", "max_count", "scalar", NULL},
    };
    const char *known[16] = {"type", "doc", "unit"};
    size_t n = 3;
    if (!is_item) {
        known[n++] = "default";
        known[n++] = "required";
        known[n++] = "nullable";
    }
    for (size_t k = 0; extra[type][k]; k++)
        known[n++] = extra[type][k];
    known[n] = NULL;
    faults_unknown_keys(f, node, known);
}

static void check_default(spec *s, const json_node *node, faults *f)
{
    const value_rules rules = {.faults = f};
    if (s->required && s->fallback)
        faults_add(f, node, "has both a default and \"required\": true, want one of them");
    else if (!s->required && !s->fallback && !s->nullable)
        faults_add(f, node, "want a default, \"required\": true or \"nullable\": true");
    else if (s->fallback)
        value_free(value_read(s, s->fallback, &rules));
}

void spec_read(spec *s, const json_node *node, bool is_item, faults *f)
{
    const size_t before = faults_count(f);
    s->most = -1;
    s->name = is_item ? NULL : json_key(node);
    if (json_type(node) != JSON_OBJECT) {
        faults_add(f, node, "is %s, want an object", json_type_name(node));
        return;
    }
    const char *type = json_member_string(node, "type", MEMBER_REQUIRED, f);
    for (int k = 0; type && type_words[k]; k++)
        if (strcmp(type, type_words[k]) == 0)
            s->type = k + TUTTI_PARAM_BOOL;
    s->column = type && strcmp(type, "column") == 0;
    if (s->column)
        s->type = TUTTI_PARAM_STRING;
    if (!s->type) {
        if (type)
            faults_add(
                f, json_get(node, "type"),
                "is \"%s\", want bool, int, float, string, enum, time, path, list or column",
                type);
        return;
    }
    check_keys(node, s->type, is_item, f);
    s->unit = json_member_string(node, "unit", 0, f);
    (void)json_member_string(node, "doc", 0, f);
    read_number(node, "min", &s->min, f);
    read_number(node, "max", &s->max, f);
    read_number(node, "above", &s->above, f);
    read_number(node, "below", &s->below, f);
    read_count(node, "min_count", &s->least, f);
    read_count(node, s->type == TUTTI_PARAM_STRING ? "max_length" : "max_count", &s->most, f);
    read_words_of(s, node, f);
    if (s->type == TUTTI_PARAM_LIST) {
        read_items(s, node, f);
        read_scalar(s, node, f);
    }
    if (is_item)
        return;
    s->required = read_flag(node, "required", f);
    s->nullable = read_flag(node, "nullable", f);
    s->fallback = json_get(node, "default");
    if (faults_count(f) == before)
        check_default(s, node, f);
}

void spec_fini(spec *s)
{
    if (s->items) {
        spec_fini(s->items);
        free(s->items);
    }
    free(s->words);
}
