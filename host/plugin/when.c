/* when.c - conditions on settings: read, decided, in words. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "plugin/when.h"
#include "base/duration.h"
#include "base/nearest.h"
#include "plugin/spec.h"

#include <stdlib.h>
#include <string.h>

/* "when" is a case or an array of them, of which one must hold.  A case has tests by settings, which must all hold.  A
 * test is a value, an array of values, or an object: "is" and "not" with the same, and the bounds of a number. */
static const json_member test_rows[] = {
    {.name = "is"},
    {.name = "not"},
    {.name = "min", .type = MEMBER_NUMBER},
    {.name = "max", .type = MEMBER_NUMBER},
    {.name = "above", .type = MEMBER_NUMBER},
    {.name = "below", .type = MEMBER_NUMBER},
    {.name = NULL},
};

static bool is_number(const json_node *node)
{
    return json_type(node) == JSON_INT || json_type(node) == JSON_REAL;
}

/* One node, or the items of an array, in turn. */
static size_t nodes(const json_node *node)
{
    return !node ? 0 : json_type(node) == JSON_ARRAY ? json_count(node) : 1;
}

static const json_node *node_of(const json_node *node, size_t k)
{
    return json_type(node) == JSON_ARRAY ? json_at(node, k) : node;
}

/* ---- reading ---- */

/* A time's value is a unit that it can have, or its number. */
static void read_time(const spec *s, const json_node *value, faults *f)
{
    const char *unit = json_string(value), *one;
    text_buffer units = {0};
    bool known = is_number(value);
    for (int32_t u = TUTTI_UNIT_NONE + 1; (one = duration_unit(u)); u++) {
        bool allowed = !s->words;
        for (size_t k = 0; s->words && s->words[k]; k++)
            allowed = allowed || strcmp(s->words[k], one) == 0;
        known = known || (allowed && unit && strcmp(unit, one) == 0);
        if (allowed)
            text_add(&units, "%s, ", one);
    }
    char *got = known ? NULL : json_text(value);
    if (!known)
        faults_add(f, value, "is %s, want a unit of %s (%.*s) or a number", got ? got : "?",
                   s->name, units.size > 2 ? (int)units.size - 2 : 0,
                   units.data ? units.data : "");
    free(got);
    free(units.data);
}

static void read_value(const spec *s, const json_node *value, faults *f)
{
    const value_rules rules = {.faults = f};
    const int type = json_type(value);
    if (type == JSON_NULL && s->nullable)
        return;
    if (type == JSON_ARRAY || type == JSON_OBJECT || s->type == TUTTI_PARAM_LIST ||
        s->type == TUTTI_PARAM_PATH)
        faults_add(f, value, "is %s, want %s", json_type_name(value),
                   s->type == TUTTI_PARAM_LIST || s->type == TUTTI_PARAM_PATH
                       ? "null: of a list or path nothing else can be told"
                       : "a value");
    else if (s->column && type != JSON_STRING)
        faults_add(f, value, "is %s, want a column's name", json_type_name(value));
    else if (s->type == TUTTI_PARAM_TIME && type != JSON_NULL)
        read_time(s, value, f);
    else
        value_free(value_read(s, value, &rules));
}

static void read_values(const spec *s, const json_node *values, faults *f)
{
    if (json_type(values) == JSON_ARRAY && !json_count(values))
        faults_add(f, values, "is empty");
    for (size_t k = 0; k < nodes(values); k++)
        read_value(s, node_of(values, k), f);
}

static void read_test(const spec *s, const json_node *test, faults *f)
{
    static const json_member *const tables[] = {test_rows, NULL};
    const bool counts = s->type == TUTTI_PARAM_INT || s->type == TUTTI_PARAM_FLOAT ||
                        s->type == TUTTI_PARAM_TIME;
    if (json_type(test) != JSON_OBJECT) {
        read_values(s, test, f);
        return;
    }
    json_members_known(test, tables, f);
    if (!json_count(test))
        faults_add(f, test, "is empty");
    for (const json_member *m = test_rows; m->name; m++) {
        const json_node *node = json_get(test, m->name);
        if (node && m->type == MEMBER_ANY)
            read_values(s, node, f);
        else if (node && !counts)
            faults_add(f, node, "%s is no number", s->name);
    }
    if (counts)
        json_members_read(test, test_rows, NULL, f);
}

static const spec *find_spec(const object *o, const char *name)
{
    for (size_t k = 0; k < o->nspecs; k++)
        if (o->specs[k].name && strcmp(o->specs[k].name, name) == 0)
            return &o->specs[k];
    return NULL;
}

static void read_case(const json_node *node, const object *o, faults *f)
{
    const char *names[MEMBER_ITEMS + 1] = {NULL};
    for (size_t k = 0, n = 0; k < o->nspecs; k++)
        if (o->specs[k].name)
            names[n++] = o->specs[k].name;
    if (json_type(node) != JSON_OBJECT || !json_count(node)) {
        faults_add(f, node, "is %s, want an object of settings and their values",
                   json_type(node) == JSON_OBJECT ? "empty" : json_type_name(node));
        return;
    }
    for (size_t k = 0; k < json_count(node); k++) {
        const json_node *test = json_at(node, k);
        const spec *s = find_spec(o, json_key(test));
        if (!s)
            faults_add(f, test, "%s has no such setting%s",
                       o->info.name ? o->info.name : "the object",
                       suggest_word(json_key(test), names).text);
        else if (s->type)
            read_test(s, test, f);
    }
}

void when_read(const json_node *entry, const object *o, faults *f)
{
    const json_node *when = json_get(entry, "when");
    if (when && json_type(when) == JSON_ARRAY && !json_count(when))
        faults_add(f, when, "is empty");
    for (size_t k = 0; k < nodes(when); k++)
        read_case(node_of(when, k), o, f);
}

/* ---- deciding ---- */

static double number_of(const tutti_param *p)
{
    if (p->type != TUTTI_PARAM_TIME)
        return p->f;
    return p->t.unit == TUTTI_UNIT_DURATION ? p->t.fraction : (double)p->t.count;
}

/* Whether the setting has the value, which was read well. */
static bool has_value(const tutti_param *p, const json_node *value)
{
    const char *word = json_string(value);
    if (p->type == TUTTI_PARAM_NULL || json_type(value) == JSON_NULL)
        return p->type == TUTTI_PARAM_NULL && json_type(value) == JSON_NULL;
    if (json_type(value) == JSON_BOOL && p->type != TUTTI_PARAM_BOOL) /* "true" of an enum */
        word = json_bool(value) ? "true" : "false";
    if (p->type == TUTTI_PARAM_BOOL)
        return (p->i != 0) == json_bool(value);
    if (is_number(value) && p->type != TUTTI_PARAM_STRING)
        return number_of(p) == json_real(value);
    const char *is = p->type == TUTTI_PARAM_TIME ? duration_unit(p->t.unit) : p->s;
    return is && word && strcmp(is, word) == 0;
}

static bool has_one(const tutti_param *p, const json_node *values)
{
    for (size_t k = 0; k < nodes(values); k++)
        if (has_value(p, node_of(values, k)))
            return true;
    return false;
}

/* A setting that is null has no number: bounds do not hold. */
static bool in_bounds(const tutti_param *p, const json_node *test)
{
    const json_node *min = json_get(test, "min"), *max = json_get(test, "max");
    const json_node *above = json_get(test, "above"), *below = json_get(test, "below");
    if (!min && !max && !above && !below)
        return true;
    const double v = number_of(p);
    return p->type != TUTTI_PARAM_NULL && !(min && v < json_real(min)) &&
           !(max && v > json_real(max)) && !(above && v <= json_real(above)) &&
           !(below && v >= json_real(below));
}

static bool passes(const tutti_param *p, const json_node *test)
{
    if (!p)
        return true;
    if (json_type(test) != JSON_OBJECT)
        return has_one(p, test);
    const json_node *is = json_get(test, "is"), *not = json_get(test, "not");
    return (!is || has_one(p, is)) && !(not &&has_one(p, not )) && in_bounds(p, test);
}

bool when_holds(const json_node *entry, const tutti_params *params)
{
    const json_node *when = json_get(entry, "when");
    bool holds = !when;
    for (size_t k = 0; k < nodes(when) && !holds; k++) {
        const json_node *node = node_of(when, k);
        holds = true;
        for (size_t m = 0; m < json_count(node) && holds; m++)
            holds =
                passes(tutti_param_find(params, json_key(json_at(node, m))), json_at(node, m));
    }
    return holds;
}

/* ---- words ---- */

static void add_values(const json_node *values, text_buffer *b)
{
    const size_t n = nodes(values);
    for (size_t k = 0; k < n; k++) {
        const json_node *value = node_of(values, k);
        char *text = json_string(value) ? NULL : json_text(value);
        b->failed = b->failed || (!text && !json_string(value));
        text_add(b, "%s%s",
                 !k          ? ""
                 : k + 1 < n ? ", "
                             : " or ",
                 text ? text : json_string(value));
        free(text);
    }
}

static void add_test(const json_node *test, text_buffer *b)
{
    static const char *const words[] = {"is",         "is not",   "is at least",
                                        "is at most", "is above", "is below"};
    const char *link = "";
    if (json_type(test) != JSON_OBJECT) {
        text_add(b, "%s is ", json_key(test));
        add_values(test, b);
        return;
    }
    for (size_t k = 0; test_rows[k].name; k++) {
        const json_node *values = json_get(test, test_rows[k].name);
        if (!values)
            continue;
        text_add(b, "%s%s %s ", link, json_key(test), words[k]);
        add_values(values, b);
        link = " and ";
    }
}

char *when_text(const json_node *entry)
{
    const json_node *when = json_get(entry, "when");
    text_buffer b = {0};
    for (size_t k = 0; k < nodes(when); k++) {
        const json_node *node = node_of(when, k);
        text_add(&b, "%s", k ? ", or " : "");
        for (size_t m = 0; m < json_count(node); m++) {
            text_add(&b, "%s", m ? " and " : "");
            add_test(json_at(node, m), &b);
        }
    }
    if (b.failed) {
        free(b.data);
        return NULL;
    }
    return b.data;
}
