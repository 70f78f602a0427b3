/* form_config.c - the members of a config.json by one form of a published.json. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/text.h"
#include "train/publish/publish_parts.h"
#include "train/run_file/run_published.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A config on its way. */
typedef struct filling {
    const form_source *s;
    json_doc *config;
    char *why; /* FORM_WHY bytes; "" so far */
} filling;

static bool same_value(const json_node *a, const json_node *b)
{
    char *left = json_text(a), *right = json_text(b);
    const bool same = left && right && strcmp(left, right) == 0;
    free(left);
    free(right);
    return same;
}

/* Gives the config a member, `text` in JSON; another value there already is a reason. */
static bool put(const filling *f, const char *path, const char *text)
{
    const json_node *old = published_member(json_root(f->config), path);
    char *before = old ? json_text(old) : NULL;
    tutti_error e = TUTTI_ERROR_INIT;
    if (old && !before) {
        (void)snprintf(f->why, FORM_WHY, "no memory");
    } else if (json_override(f->config, path, text, &e)) {
        (void)snprintf(f->why, FORM_WHY, "%.*s", FORM_WHY - 1, e.text);
    } else if (before) {
        char *now = json_text(published_member(json_root(f->config), path));
        if (!now || strcmp(before, now) != 0)
            (void)snprintf(f->why, FORM_WHY, "%s would be %s and %s", path, before,
                           now ? now : "?");
        free(now);
    }
    free(before);
    return !*f->why;
}

static bool put_value(const filling *f, const char *path, const json_node *value)
{
    char *text = json_text(value);
    const bool done = text && put(f, path, text);
    free(text);
    return done;
}

/* ---- sizes ---- */

static const tutti_desc *measured(const filling *f, const char *name)
{
    const publish_model *m = f->s->model;
    for (uint32_t k = 0; k < net_weight_count(m->net); k++)
        if (strcmp(net_weight(m->net, k)->path, name) == 0)
            return &net_weight(m->net, k)->data.desc;
    for (uint32_t k = 0; k < m->ncolumns; k++)
        if (strcmp(m->columns[k].name, name) == 0)
            return &m->columns[k].desc;
    return NULL;
}

/* Writes the number at [name, dimension], or the array of those in an array. */
static bool measure(const filling *f, const json_node *at, text_buffer *b)
{
    const char *name = json_string(json_at(at, 0));
    if (!name) {
        text_add(b, "[");
        for (size_t k = 0; k < json_count(at); k++) {
            text_add(b, "%s", k ? ", " : "");
            if (!measure(f, json_at(at, k), b))
                return false;
        }
        text_add(b, "]");
        return true;
    }
    const tutti_desc *d = measured(f, name);
    const int64_t dimension = json_int(json_at(at, 1));
    if (d && dimension < d->rank) {
        text_add(b, "%lld", (long long)d->dim[dimension]);
        return true;
    }
    (void)snprintf(f->why, FORM_WHY, "the model has no %s", name);
    return false;
}

static bool put_measures(const filling *f, const json_node *measures)
{
    bool good = true;
    for (size_t k = 0; k < json_count(measures) && good; k++) {
        text_buffer b = {0};
        const json_node *one = json_at(measures, k);
        good = measure(f, one, &b) && !b.failed && put(f, json_key(one), b.data);
        free(b.data);
    }
    return good;
}

/* ---- settings ---- */

/* The model's setting, or that in its place where it is null; NULL: null. */
static const json_node *setting(const form_source *s, const char *name)
{
    const json_node *value = json_get(s->settings, name);
    const char *other = json_string(json_get(json_get(s->says, "where_null"), name));
    if (value && json_type(value) == JSON_NULL && other)
        value = json_get(s->settings, other);
    return !value || json_type(value) == JSON_NULL ? NULL : value;
}

bool form_has_setting(const form_source *s, const char *name)
{
    const json_node *only = json_get(json_get(s->says, "only"), name);
    for (size_t k = 0; k < json_count(only); k++) {
        const json_node *list = json_at(only, k), *value = setting(s, json_key(list));
        bool found = false;
        for (size_t i = 0; i < json_count(list) && value && !found; i++)
            found = same_value(value, json_at(list, i));
        if (!found)
            return false;
    }
    return true;
}

/* As readers of other languages tell them apart: a whole number that is a float here has a point there too. */
static bool put_setting(const filling *f, const char *path, const char *name,
                        const json_node *value)
{
    const tutti_param *p = tutti_param_find(instance_params(f->s->model->model), name);
    char *text = json_text(value);
    text_buffer b = {0};
    if (text)
        text_add(&b, "%s%s", text,
                 p && p->type == TUTTI_PARAM_FLOAT && !strpbrk(text, ".eE") ? ".0" : "");
    const bool done = b.data && !b.failed && put(f, path, b.data);
    free(b.data);
    free(text);
    return done;
}

/* Those that come from a member of the config, but for what its model_type says already. */
static bool put_settings(const filling *f, const json_node *form)
{
    const json_node *says = f->s->says, *settings = json_get(says, "settings");
    const char *type = json_string(json_get(json_get(form, "config"), "model_type"));
    const json_node *given = json_get(json_get(says, "model_types"), type ? type : "");
    for (size_t k = 0; k < json_count(settings); k++) {
        const char *name = json_key(json_at(settings, k));
        const char *path = json_string(json_at(json_at(settings, k), 0));
        const json_node *value = setting(f->s, name);
        if (value && !json_get(given, name) && form_has_setting(f->s, name) &&
            !put_setting(f, path, name, value))
            return false;
    }
    return true;
}

/* The members that a case asks for, where its settings are the model's and the config does not have them. */
static bool put_case(const filling *f, const json_node *one)
{
    const json_node *settings = json_get(one, "settings"), *tests = json_get(one, "if");
    for (size_t k = 0; k < json_count(settings); k++) {
        const json_node *value = setting(f->s, json_key(json_at(settings, k)));
        if (!value || !same_value(value, json_at(settings, k)))
            return true;
    }
    for (size_t k = 0; k < json_count(tests); k++) {
        const char *path = json_key(json_at(tests, k));
        if (!published_member(json_root(f->config), path) &&
            !put_value(f, path, json_at(json_at(tests, k), 0)))
            return false;
    }
    return true;
}

/* ---- a form ---- */

static bool put_constants(const filling *f, const json_node *constants)
{
    bool good = true;
    for (size_t k = 0; k < json_count(constants) && good; k++)
        good = put_value(f, json_key(json_at(constants, k)), json_at(constants, k));
    return good;
}

/* What the config at the beginning had beside all this. */
static bool put_kept(const filling *f, const json_node *names)
{
    for (size_t k = 0; k < json_count(names); k++) {
        const char *name = json_string(json_at(names, k));
        const json_node *old = name ? published_member(f->s->began, name) : NULL;
        if (old && !published_member(json_root(f->config), name) && !put_value(f, name, old))
            return false;
    }
    return true;
}

json_doc *form_config(const form_source *s, const json_node *form, char why[FORM_WHY])
{
    tutti_error e = TUTTI_ERROR_INIT;
    filling f = {s, NULL, why};
    const json_node *cases = json_get(s->says, "cases");
    *why = '\0';
    if (json_parse("config.json", "{}", 2, &f.config, &e)) {
        (void)snprintf(why, FORM_WHY, "%.*s", FORM_WHY - 1, e.text);
        return NULL;
    }
    bool good = put_constants(&f, json_get(form, "config")) &&
                put_measures(&f, json_get(form, "measures")) && put_settings(&f, form);
    for (size_t k = 0; k < json_count(cases) && good; k++)
        good = put_case(&f, json_at(cases, k));
    good = good && put_kept(&f, json_get(s->says, "keeps"));
    if (good)
        return f.config;
    if (!*why)
        (void)snprintf(why, FORM_WHY, "no memory");
    json_free(f.config);
    return NULL;
}
