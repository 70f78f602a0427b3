/* spec.c - reading the specification of a setting. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "plugin/spec.h"
#include "base/counts.h"
#include "base/duration.h"

#include <stdlib.h>
#include <string.h>

enum { SCALAR_MOST = 256 };

/* In the order of TUTTI_PARAM_*; a column is a string. */
static const char *const type_words[] = {"bool", "int",  "float", "string", "enum",
                                         "time", "path", "list",  "column", NULL};
enum { TYPE_COLUMN = TUTTI_PARAM_LIST - TUTTI_PARAM_BOOL + 1 };

/* A specification as it is read. */
typedef struct spec_members {
    spec spec;
    int type; /* of type_words; -1: none */
    const json_node *words;
    const json_node *items;
    const json_node *scalar;
} spec_members;

static const json_member type_rows[] = {
    {.name = "type",
     .type = MEMBER_CHOICE,
     .flags = MEMBER_REQUIRED,
     .words = type_words,
     MEMBER_AT(spec_members, type)},
    {.name = NULL},
};

static const json_member shared_rows[] = {
    {.name = "unit", .type = MEMBER_STRING, MEMBER_AT(spec_members, spec.unit)},
    {.name = "doc", .type = MEMBER_STRING},
    {.name = NULL},
};

/* Of a setting, not of a list's items. */
static const json_member setting_rows[] = {
    {.name = "default", MEMBER_AT(spec_members, spec.fallback)},
    {.name = "required", .type = MEMBER_BOOL, MEMBER_AT(spec_members, spec.required)},
    {.name = "nullable", .type = MEMBER_BOOL, MEMBER_AT(spec_members, spec.nullable)},
    {.name = NULL},
};

static const json_member no_rows[] = {{.name = NULL}};

static const json_member number_rows[] = {
    {.name = "min", .type = MEMBER_NUMBER, MEMBER_AT(spec_members, spec.min)},
    {.name = "max", .type = MEMBER_NUMBER, MEMBER_AT(spec_members, spec.max)},
    {.name = "above", .type = MEMBER_NUMBER, MEMBER_AT(spec_members, spec.above)},
    {.name = "below", .type = MEMBER_NUMBER, MEMBER_AT(spec_members, spec.below)},
    {.name = NULL},
};

static const json_member string_rows[] = {
    {.name = "max_length",
     .type = MEMBER_INT,
     .max = INT64_MAX,
     MEMBER_AT(spec_members, spec.most)},
    {.name = NULL},
};

static const json_member enum_rows[] = {
    {.name = "values",
     .type = MEMBER_WORDS,
     .flags = MEMBER_REQUIRED,
     MEMBER_AT(spec_members, words)},
    {.name = NULL},
};

static const json_member time_rows[] = {
    {.name = "units", .type = MEMBER_WORDS, MEMBER_AT(spec_members, words)},
    {.name = NULL},
};

static const json_member list_rows[] = {
    {.name = "min_count",
     .type = MEMBER_INT,
     .max = INT64_MAX,
     MEMBER_AT(spec_members, spec.least)},
    {.name = "max_count",
     .type = MEMBER_INT,
     .max = INT64_MAX,
     MEMBER_AT(spec_members, spec.most)},
    {.name = "items",
     .type = MEMBER_OBJECT,
     .flags = MEMBER_REQUIRED,
     MEMBER_AT(spec_members, items)},
    {.name = "scalar", MEMBER_AT(spec_members, scalar)},
    {.name = NULL},
};

/* The members that a specification of a type has beside the shared ones. */
static const json_member *const rows_of[] = {
    [TUTTI_PARAM_BOOL] = no_rows,      [TUTTI_PARAM_INT] = number_rows,
    [TUTTI_PARAM_FLOAT] = number_rows, [TUTTI_PARAM_STRING] = string_rows,
    [TUTTI_PARAM_ENUM] = enum_rows,    [TUTTI_PARAM_TIME] = time_rows,
    [TUTTI_PARAM_PATH] = no_rows,      [TUTTI_PARAM_LIST] = list_rows,
};

static void check_units(const spec *s, const json_node *units, faults *f)
{
    for (size_t k = 0; s->words && s->words[k]; k++) {
        bool known = false;
        for (int32_t u = TUTTI_UNIT_NONE + 1; u < UNIT_END; u++)
            known = known || strcmp(s->words[k], duration_unit(u)) == 0;
        if (!known)
            faults_add(f, json_at(units, k),
                       "\"%s\" is no unit, want iter, ep, ba, sp, tok, dur or sec",
                       s->words[k]);
    }
}

static void read_items(spec *s, const json_node *items, faults *f)
{
    s->items = calloc(1, sizeof *s->items);
    if (s->items)
        spec_read(s->items, items, true, f);
    else
        faults_add_no_memory(f, items);
}

/* A number stands for a list of so many of it. */
static void read_scalar(spec *s, const json_node *scalar, faults *f)
{
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

/* What a specification of a known type has. */
static void read_members(spec_members *m, const json_node *node, bool is_item, faults *f)
{
    spec *s = &m->spec;
    const json_member *const settings = is_item ? no_rows : setting_rows;
    const json_member *const tables[] = {type_rows, shared_rows, settings, rows_of[s->type],
                                         NULL};
    json_members_known(node, tables, f);
    for (size_t k = 1; tables[k]; k++)
        json_members_read(node, tables[k], m, f);
    s->words = json_words(m->words, f);
    if (s->type == TUTTI_PARAM_TIME)
        check_units(s, m->words, f);
    if (m->items)
        read_items(s, m->items, f);
    if (m->scalar)
        read_scalar(s, m->scalar, f);
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
    spec_members m = {.spec = {.name = is_item ? NULL : json_key(node), .most = -1},
                      .type = -1};
    if (json_want(node, JSON_OBJECT, "an object", f))
        json_members_read(node, type_rows, &m, f);
    if (m.type >= 0) {
        m.spec.column = m.type == TYPE_COLUMN;
        m.spec.type = m.spec.column ? TUTTI_PARAM_STRING : m.type + TUTTI_PARAM_BOOL;
        read_members(&m, node, is_item, f);
    }
    *s = m.spec;
    if (s->type && !is_item && faults_count(f) == before)
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
