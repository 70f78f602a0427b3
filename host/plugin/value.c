/* value.c - a setting's value out of JSON, checked. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/duration.h"
#include "base/nearest.h"
#include "base/text.h"
#include "plugin/spec.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void value_fault(const value_rules *rules, const json_node *node, const char *format, ...)
{
    char *text = NULL;
    va_list args;
    va_start(args, format);
    if (vasprintf(&text, format, args) < 0)
        text = NULL;
    va_end(args);
    if (!text)
        faults_add_no_memory(rules->faults, node);
    else if (rules->from_attrs && node && *json_path(node))
        faults_add(rules->faults, NULL, "%s: %s: %s", rules->owner, json_path(node), text);
    else if (rules->from_attrs)
        faults_add(rules->faults, NULL, "%s: %s", rules->owner, text);
    else
        faults_add(rules->faults, node, "%s", text);
    free(text);
}

static tutti_param *refuse(const spec *s, const json_node *node, const value_rules *rules)
{
    text_buffer want = {0};
    char *got = json_text(node);
    const bool is_long = got && strlen(got) > 60;
    const char *word = s->type == TUTTI_PARAM_ENUM ? json_string(node) : NULL;
    spec_text(s, &want);
    value_fault(rules, node, "is %.*s%s, want %s%s", is_long ? 57 : 60, got ? got : "?",
                is_long ? "..." : "", want.data ? want.data : "something else",
                suggest_word(word, s->words).text);
    free(got);
    free(want.data);
    return NULL;
}

static tutti_param *make(const spec *s, const value_rules *rules, const tutti_param *value)
{
    tutti_param *p = malloc(sizeof *p);
    if (!p) {
        faults_add_no_memory(rules->faults, NULL);
        return NULL;
    }
    *p = *value;
    p->struct_size = (uint32_t)sizeof *p;
    p->name = s->name;
    return p;
}

tutti_param *value_null(const spec *s, const value_rules *rules)
{
    const tutti_param none = {.type = TUTTI_PARAM_NULL};
    return make(s, rules, &none);
}

void value_free(const tutti_param *p)
{
    if (!p)
        return;
    for (uint64_t k = 0; k < p->count; k++)
        value_free(p->items[k]);
    free((void *)p->items);
    free((void *)p->s);
    free((void *)p);
}

static bool in_bounds(const spec *s, double v)
{
    return !(s->min && v < json_real(s->min)) && !(s->max && v > json_real(s->max)) &&
           !(s->above && v <= json_real(s->above)) && !(s->below && v >= json_real(s->below));
}

static bool number_of(const spec *s, const json_node *node, tutti_param *v)
{
    const bool whole = json_type(node) == JSON_INT;
    if (!whole && (json_type(node) != JSON_REAL || s->type == TUTTI_PARAM_INT))
        return false;
    v->f = json_real(node);
    v->i = json_int(node);
    if (!whole && v->f == floor(v->f) && fabs(v->f) < 9.2e18)
        v->i = (int64_t)v->f;
    return in_bounds(s, v->f);
}

static bool flag_of(const json_node *node, const value_rules *rules, tutti_param *v)
{
    v->i = json_type(node) == JSON_INT ? json_int(node) : json_bool(node);
    return json_type(node) == JSON_BOOL ||
           (rules->from_attrs && json_type(node) == JSON_INT && (v->i == 0 || v->i == 1));
}

/* The value's number, or -1. */
static int64_t choice_of(const spec *s, const json_node *node, const value_rules *rules)
{
    const bool number = rules->from_attrs && json_type(node) == JSON_INT;
    const char *text = json_type(node) != JSON_BOOL ? json_string(node)
                       : json_bool(node)            ? "true"
                                                    : "false";
    for (int64_t k = 0; s->words && s->words[k]; k++)
        if (number ? json_int(node) == k : text && strcmp(text, s->words[k]) == 0)
            return k;
    return -1;
}

static bool time_of(const spec *s, const char *text, tutti_param *v)
{
    if (duration_parse(text, &v->t, NULL))
        return false;
    bool allowed = !s->words;
    for (size_t k = 0; s->words && s->words[k]; k++)
        allowed = allowed || strcmp(s->words[k], duration_unit(v->t.unit)) == 0;
    return allowed;
}

static bool is_negative(const tutti_time *t)
{
    return t->unit == TUTTI_UNIT_DURATION ? t->fraction < 0.0 : t->count < 0;
}

/* A number where a text is wanted, as that text: a share of the run, or a column by its place. */
static const char *number_text(const spec *s, const json_node *node, char *text, size_t size)
{
    const bool whole = json_type(node) == JSON_INT;
    if (spec_is_share(s) && (whole || json_type(node) == JSON_REAL))
        (void)snprintf(text, size, "%.17gdur", json_real(node));
    else if (s->column && whole && json_int(node) >= 0)
        (void)snprintf(text, size, "%lld", (long long)json_int(node));
    else
        return NULL;
    return text;
}

/* A copy of `text`, behind `folder` when that is given and the text is relative. */
static tutti_param *keep(const spec *s, const value_rules *rules, tutti_param *v,
                         const char *folder, const char *text)
{
    char *copy = NULL;
    if (asprintf(&copy, "%s%s%s", folder ? folder : "", folder ? "/" : "", text) < 0)
        copy = NULL;
    v->s = copy;
    tutti_param *p = copy ? make(s, rules, v) : NULL;
    if (!copy)
        faults_add_no_memory(rules->faults, NULL);
    if (!p)
        free(copy);
    return p;
}

static tutti_param *read_text(const spec *s, const json_node *node, const value_rules *rules,
                              tutti_param *v)
{
    char number[48];
    const char *text = json_string(node);
    if (!text)
        text = number_text(s, node, number, sizeof number);
    if (s->type == TUTTI_PARAM_ENUM) {
        v->i = choice_of(s, node, rules);
        return v->i < 0 ? refuse(s, node, rules) : keep(s, rules, v, NULL, s->words[v->i]);
    }
    if (!text)
        return refuse(s, node, rules);
    if (s->type == TUTTI_PARAM_TIME && !time_of(s, text, v))
        return refuse(s, node, rules);
    if (s->type == TUTTI_PARAM_TIME && is_negative(&v->t)) {
        faults_add(rules->faults, node, "is %s, want a time of at least 0", text);
        return NULL;
    }
    if (s->type == TUTTI_PARAM_STRING && s->most >= 0 && strlen(text) > (uint64_t)s->most)
        return refuse(s, node, rules);
    const bool relative =
        s->type == TUTTI_PARAM_PATH && text[0] != '/' && !text_is_address(text);
    if ((s->type == TUTTI_PARAM_PATH || s->column) && !*text)
        return refuse(s, node, rules);
    /* A path in a run file is relative to that file, one given by --set to where we stand. */
    char here[PATH_MAX];
    const char *folder = json_line(node) > 0 ? rules->folder : getcwd(here, sizeof here);
    return keep(s, rules, v, relative ? folder : NULL, text);
}

static tutti_param *read_list(const spec *s, const json_node *node, const value_rules *rules,
                              tutti_param *v)
{
    const bool alone =
        s->scalar && (json_type(node) == JSON_INT || json_type(node) == JSON_REAL);
    const size_t count = alone ? (size_t)s->scalar : json_count(node);
    bool good = true;
    if ((json_type(node) != JSON_ARRAY && !alone) || count < (uint64_t)s->least ||
        (s->most >= 0 && count > (uint64_t)s->most) || !s->items)
        return refuse(s, node, rules);
    const tutti_param **items = calloc(count + 1, sizeof *items);
    for (size_t k = 0; items && good && k < count && alone; k++)
        good = (items[k] = value_read(s->items, node, rules)) != NULL; /* said once */
    for (size_t k = 0; items && k < count && !alone; k++) {
        items[k] = value_read(s->items, json_at(node, k), rules);
        good = good && items[k];
    }
    v->items = items;
    v->count = count;
    tutti_param *p = items && good ? make(s, rules, v) : NULL;
    if (!items)
        faults_add_no_memory(rules->faults, NULL);
    for (size_t k = 0; items && !p && k < count; k++)
        value_free(items[k]);
    if (!p)
        free(items);
    return p;
}

tutti_param *value_read(const spec *s, const json_node *node, const value_rules *rules)
{
    tutti_param v = {.type = s->type};
    if (json_type(node) == JSON_NULL)
        return s->nullable ? value_null(s, rules) : refuse(s, node, rules);
    switch (s->type) {
    case TUTTI_PARAM_BOOL:
        return flag_of(node, rules, &v) ? make(s, rules, &v) : refuse(s, node, rules);
    case TUTTI_PARAM_INT:
    case TUTTI_PARAM_FLOAT:
        return number_of(s, node, &v) ? make(s, rules, &v) : refuse(s, node, rules);
    case TUTTI_PARAM_LIST:
        return read_list(s, node, rules, &v);
    default:
        return read_text(s, node, rules, &v);
    }
}
