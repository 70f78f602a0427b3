/* json_override.c - setting one value of a document by its dotted path. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json.h"
#include "base/json_tree.h"

#include <stdlib.h>
#include <string.h>

typedef struct step {
    char *name;
    bool bracket; /* written [n] */
    bool number;
    size_t index;
    size_t end; /* where it ends in the path, for messages */
} step;

typedef struct route {
    const char *path;
    char *copy;
    step steps[TREE_MAX_DEPTH];
    size_t count;
} route;

static tutti_status bad_path(const route *r, tutti_error *err)
{
    return tutti_fail(err, TUTTI_E_ARG,
                      "%s: not a path: want names and indices such as \"eval[0].label\"",
                      r->path);
}

/* Cuts "a.b[2].c" into steps.  The names lie in r->copy, each ended by a NUL. */
static tutti_status route_parse(route *r, tutti_error *err)
{
    size_t at = 0;
    while (r->path[at]) {
        if (r->count == TREE_MAX_DEPTH)
            return tutti_fail(err, TUTTI_E_ARG, "%s: a path has at most %d parts", r->path,
                              TREE_MAX_DEPTH);
        step *s = &r->steps[r->count++];
        s->bracket = r->path[at] == '[';
        at += s->bracket;
        s->name = r->copy + at;
        const size_t size = strcspn(r->path + at, s->bracket ? "]" : ".[");
        s->number = size < 10 && strspn(r->path + at, "0123456789") == size;
        at += size;
        if (!size || (s->bracket && (!r->path[at] || !s->number)))
            return bad_path(r, err);
        r->copy[at] = '\0';
        s->index = s->number ? strtoul(s->name, NULL, 10) : 0;
        at += s->bracket;
        s->end = at;
        if (r->path[at] == '.' && !r->path[++at])
            return bad_path(r, err);
        if (r->path[s->end] && r->path[s->end] != '.' && r->path[s->end] != '[')
            return bad_path(r, err);
    }
    return r->count ? TUTTI_OK : bad_path(r, err);
}

static size_t depth_of(const json_node *node)
{
    size_t deepest = 0;
    for (size_t k = 0; k < node->count; k++) {
        const size_t depth = depth_of(node->items[k]);
        deepest = depth > deepest ? depth : deepest;
    }
    return deepest + (node->type == JSON_ARRAY || node->type == JSON_OBJECT);
}

/* The value as JSON; what is no JSON is a plain string. */
static tutti_status read_value(json_doc *doc, const char *value, json_node **ret_node,
                               tutti_error *err)
{
    tutti_error cause = TUTTI_ERROR_INIT;
    const tutti_status s = tree_read(doc, value, strlen(value), true, ret_node, &cause);
    if (s == TUTTI_OK)
        return TUTTI_OK;
    if (s == TUTTI_E_NOMEM)
        return tutti_fail(err, s, "%s: no memory for a value", doc->name);
    json_node *node = tree_node(doc, JSON_STRING, 0);
    if (node)
        node->string = strdup(value);
    if (!node || !node->string) {
        tree_free(node);
        return tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory for a value", doc->name);
    }
    *ret_node = node;
    return TUTTI_OK;
}

/* The member or item that step `s` names, or NULL. */
static json_node *follow(const json_node *node, const step *s)
{
    if (node->type == JSON_ARRAY)
        return s->number ? json_at(node, s->index) : NULL;
    return s->bracket ? NULL : json_get(node, s->name);
}

/* Whether `node` could get what `s` names. */
static tutti_status may_add(const route *r, const json_node *node, const step *s,
                            tutti_error *err)
{
    if (node->type == JSON_ARRAY) {
        if (!s->number)
            return tutti_fail(err, TUTTI_E_ARG, "%.*s: %s is an array, want an index",
                              (int)s->end, r->path, node->path);
        if (s->index != node->count)
            return tutti_fail(err, TUTTI_E_ARG,
                              "%.*s: %s has %zu items, want an index up to %zu", (int)s->end,
                              r->path, node->path, node->count, node->count);
        return TUTTI_OK;
    }
    if (node->type != JSON_OBJECT)
        return tutti_fail(err, TUTTI_E_ARG, "%.*s: %s is %s, want an object", (int)s->end,
                          r->path, *node->path ? node->path : "the document",
                          json_type_name(node));
    if (s->bracket)
        return tutti_fail(err, TUTTI_E_ARG, "%.*s: %s is an object, want a name", (int)s->end,
                          r->path, *node->path ? node->path : "the document");
    return TUTTI_OK;
}

/* Puts `value` below the containers that steps [from, count) name.  Takes `value` in any case. */
static tutti_status wrap(const route *r, size_t from, json_node **value, tutti_error *err)
{
    for (size_t k = r->count; k > from; k--) {
        const step *s = &r->steps[k - 1];
        if (s->number && s->index != 0)
            return tutti_fail(err, TUTTI_E_ARG, "%.*s: the array is new, want index 0",
                              (int)s->end, r->path);
        json_node *outer = tree_node((*value)->doc, s->number ? JSON_ARRAY : JSON_OBJECT, 0);
        if (!outer || tree_append(outer, s->number ? NULL : s->name, *value)) {
            tree_free(outer);
            return tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory for a value", r->path);
        }
        *value = outer;
    }
    return TUTTI_OK;
}

/* `node` gets the contents of `value`, and `value` what `node` had. */
static void swap_contents(json_node *node, json_node *value)
{
    const json_node old = *node;
    char *key = node->key;
    char *path = node->path;
    *node = *value;
    node->key = key;
    node->path = path;
    key = value->key;
    path = value->path;
    *value = old;
    value->key = key;
    value->path = path;
}

tutti_status json_override(json_doc *doc, const char *path, const char *value, tutti_error *err)
{
    tutti_status status;
    json_node *made = NULL;
    json_node *node = doc->root;
    route r = {.path = path, .copy = strdup(path)};
    size_t k = 0;
    if (!r.copy)
        return tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory for a value", path);
    if (!tree_utf8(path) || !tree_utf8(value))
        status = tutti_fail(err, TUTTI_E_ARG, "a path or its value is not UTF-8");
    else
        status = route_parse(&r, err);
    if (!status)
        status = read_value(doc, value, &made, err);
    if (!status && r.count + depth_of(made) > TREE_MAX_DEPTH)
        status = tutti_fail(err, TUTTI_E_ARG, "%s: values are nested more than %d deep", path,
                            TREE_MAX_DEPTH);
    if (status)
        goto done;

    for (; k < r.count; k++) {
        json_node *next = follow(node, &r.steps[k]);
        if (!next)
            break;
        node = next;
    }
    if (k < r.count) {
        status = may_add(&r, node, &r.steps[k], err);
        if (!status)
            status = wrap(&r, k + 1, &made, err);
        if (!status &&
            tree_append(node, node->type == JSON_ARRAY ? NULL : r.steps[k].name, made))
            status = tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory for a value", path);
        if (!status)
            made = NULL;
    } else {
        swap_contents(node, made);
    }
    if (!status && tree_place(doc->root, "", 0))
        status = tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory for a value", path);

done:
    tree_free(made);
    free(r.copy);
    return status;
}
