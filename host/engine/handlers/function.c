/* function.c - arguments, and callbacks among them, checked against what a manifest declares. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/handlers/function.h"
#include "engine/handlers/callback.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void function_fini(bound_function *fn)
{
    for (callback *c = fn->callbacks, *next; c; c = next) {
        next = c->next;
        callback_fini(c);
        function_fini(&c->function);
        free(c);
    }
    argument_memory_free(fn->memory);
    free((void *)fn->args);
}

/* "note(str what, f64 limit)", for messages. */
static void signature(const handler_info *h, char *text, size_t size)
{
    size_t used = (size_t)snprintf(text, size, "%s(", h->name);
    for (uint32_t k = 0; k < h->nargs && used < size; k++)
        used += (size_t)snprintf(text + used, size - used, "%s%s %s", k ? ", " : "",
                                 h->arg_types[k], h->arg_names[k]);
    if (used < size)
        (void)snprintf(text + used, size - used, ")");
}

/* The names that an object of arguments has must be the function's. */
static void check_names(const handler_info *h, const json_node *args, const char *text,
                        faults *f)
{
    for (size_t k = 0; k < json_count(args); k++) {
        uint32_t m = 0;
        while (m < h->nargs && strcmp(h->arg_names[m], json_key(json_at(args, k))) != 0)
            m++;
        if (m == h->nargs)
            faults_add(f, json_at(args, k), "is no argument of %s", text);
    }
}

/* Argument k is the callback's next one. */
static bool take_from(const bound_function *fn, uint32_t k, const ctype *caller, size_t *next,
                      const json_node *at, faults *f)
{
    const handler_info *h = &fn->info;
    const ctype_member *given = *next < caller->count ? &caller->members[(*next)++] : NULL;
    if (given && ctype_same(h->ctypes[k], given->type))
        return true;
    if (given)
        faults_add(f, at, "%s wants %s \"%s\", where the callback \"%s\" gives %s \"%s\"",
                   fn->name, h->arg_types[k], h->arg_names[k], caller->word, given->word,
                   given->name);
    else
        faults_add(
            f, at,
            "%s wants %s \"%s\" as well, where the callback \"%s\" has %zu arguments to give",
            fn->name, h->arg_types[k], h->arg_names[k], caller->word, caller->count);
    return false;
}

static void read_arg(bound_function *fn, uint32_t k, const json_node *one,
                     const argument_reader *r)
{
    const ctype *t = fn->info.ctypes[k];
    fn->args[k] = argument_allocate(r, t->size, one);
    if (fn->args[k])
        argument_read(r, one, t, fn->info.arg_names[k], fn->args[k]);
}

/* The arguments by position or by name; `at` is where they should be. */
static void read_args(bound_function *fn, const json_node *args, const json_node *at,
                      const ctype *caller, const argument_reader *r)
{
    const handler_info *h = &fn->info;
    const bool named = args && json_type(args) == JSON_OBJECT;
    size_t next = 0;
    char text[256];
    signature(h, text, sizeof text);
    if (args && !named && json_type(args) != JSON_ARRAY) {
        faults_add(r->f, args, "is %s, want a list, or an object by name",
                   json_type_name(args));
        return;
    }
    if (!named && (json_count(args) > h->nargs || (json_count(args) < h->nargs && !caller))) {
        faults_add(r->f, args ? args : at, "%zu arguments are given, want %u: %s",
                   json_count(args), h->nargs, text);
        return;
    }
    if (named)
        check_names(h, args, text, r->f);
    for (uint32_t k = 0; k < h->nargs; k++) {
        const json_node *one = named ? json_get(args, h->arg_names[k]) : json_at(args, k);
        if (one)
            read_arg(fn, k, one, r);
        else if (caller && !take_from(fn, k, caller, &next, at, r->f))
            return;
        else if (!caller)
            faults_add(r->f, args, "has no \"%s\": %s", h->arg_names[k], text);
    }
}

static void read_callback(const argument_reader *r, const json_node *at, const ctype *type,
                          const char *name, void *to);

#define A_FUNCTION "a function such as \"demo.note\""

const json_member function_rows[] = {
    {.name = "call", .type = MEMBER_STRING, .flags = MEMBER_REQUIRED, .want = A_FUNCTION},
    {.name = "args"},
    {.name = NULL},
};

/* The name of the function that `at` calls; NULL with a fault. */
static const json_node *find_call(const json_node *at, faults *f)
{
    const size_t before = faults_count(f);
    if (json_type(at) != JSON_OBJECT)
        return json_want(at, JSON_STRING, A_FUNCTION, f) ? at : NULL;
    json_members_read(at, function_rows, NULL, f);
    return faults_count(f) == before ? json_get(at, "call") : NULL;
}

/* Of a callback, `caller` is its type: arguments that are not given are the callback's, in order. */
static void read_function(registry *r, const json_node *at, bool is_filter, const ctype *caller,
                          bound_function *fn, faults *f)
{
    const argument_reader reader = {r, &fn->memory, &fn->callbacks, f, read_callback};
    const json_node *call = find_call(at, f);
    tutti_error e = TUTTI_ERROR_INIT;
    if (!call)
        return;
    if (registry_find_handler(r, json_string(call), &fn->handler, &e)) {
        faults_add(f, call, "%s", e.text);
        return;
    }
    handler_describe(fn->handler, &fn->info);
    fn->name = json_string(call);
    fn->who = (crash_who){fn->info.plugin_id, fn->name};
    if (fn->info.filter != is_filter) {
        faults_add(f, call, is_filter ? "%s is no filter" : "%s is a filter, no handler",
                   json_string(call));
        return;
    }
    fn->args = calloc(fn->info.nargs + 1, sizeof *fn->args);
    if (fn->args)
        read_args(fn, json_get(at, "args"), at, caller, &reader);
    else
        faults_add_no_memory(f, call);
}

/* Reads the name of a declared function, or {"call": name, "args": ...}, into the pointer to a function at `to`; null is
 * none.  What is made stands in *r->callbacks. */
static void read_callback(const argument_reader *r, const json_node *at, const ctype *type,
                          const char *name, void *to)
{
    static const json_member *const tables[] = {function_rows, NULL};
    const bool whole = json_type(at) == JSON_OBJECT;
    if (json_type(at) == JSON_NULL)
        return;
    if (!whole && json_type(at) != JSON_STRING) {
        faults_add(r->f, at, "is %s, want a function such as \"demo.note\" for \"%s\"",
                   json_type_name(at), name);
        return;
    }
    callback *c = calloc(1, sizeof *c);
    if (!c) {
        faults_add_no_memory(r->f, at);
        return;
    }
    c->type = type;
    c->next = *r->callbacks;
    *r->callbacks = c;
    if (whole)
        json_members_known(at, tables, r->f);
    const size_t before = faults_count(r->f);
    read_function(r->registry, at, false, type, &c->function, r->f);
    if (faults_count(r->f) == before)
        callback_make(c, at, to, r->f);
}

void function_read(registry *r, const json_node *at, bool is_filter, bound_function *fn,
                   faults *f)
{
    read_function(r, at, is_filter, NULL, fn, f);
}

tutti_status function_open(bound_function *fn, const tutti_engine_v1 *engine, tutti_error *err)
{
    const json_node *list = fn->info.requires_;
    for (size_t k = 0; list && k < json_count(list); k++) {
        const char *id = json_string(json_at(list, k));
        if (!engine->query(engine->ctx, id))
            return tutti_fail(err, TUTTI_E_UNSUPPORTED,
                              "%s: requires %s, which this host does not offer here",
                              fn->info.manifest, id);
    }
    tutti_status s = handler_load(fn->handler, err);
    for (callback *c = fn->callbacks; c && !s; c = c->next)
        s = function_open(&c->function, engine, err);
    return s;
}
