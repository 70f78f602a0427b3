/* function.c - arguments checked against what a manifest declares, and the call. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/handlers/function.h"
#include "engine/handlers/callback.h"
#include "plugin/call/call.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void function_fini(bound_function *fn)
{
    callbacks_free(fn->callbacks);
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

static void read_function(registry *r, const json_node *call, const json_node *args,
                          const json_node *at, bool is_filter, const ctype *caller,
                          bound_function *fn, faults *f)
{
    const argument_reader reader = {r, &fn->memory, &fn->callbacks, f, callback_read};
    tutti_error e = TUTTI_ERROR_INIT;
    if (!call || json_type(call) != JSON_STRING) {
        faults_add(f, call ? call : at, "%s %s, want a function such as \"demo.note\"",
                   call ? "is" : "has", call ? json_type_name(call) : "no \"call\"");
        return;
    }
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
        read_args(fn, args, at, caller, &reader);
    else
        faults_add_no_memory(f, call);
}

void function_read(registry *r, const json_node *call, const json_node *args,
                   const json_node *at, bool is_filter, bound_function *fn, faults *f)
{
    read_function(r, call, args, at, is_filter, NULL, fn, f);
}

void function_read_callback(registry *r, const json_node *call, const json_node *args,
                            const json_node *at, const ctype *caller, bound_function *fn,
                            faults *f)
{
    read_function(r, call, args, at, false, caller, fn, f);
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
    const tutti_status s = handler_load(fn->handler, err);
    return s ? s : callbacks_open(fn->callbacks, engine, err);
}

/* What the function's result means to those who called it. */
static int32_t judge(const bound_function *fn, int32_t result, tutti_error *err)
{
    const bool is_filter = fn->info.filter;
    if (result == TUTTI_OK || (result > 0 && is_filter))
        return result > 0;
    if (result > 0)
        return tutti_fail(err, TUTTI_E_FAIL, "returned %d, want 0 or a negative status",
                          result);
    if (!err || err->text[0])
        return result;
    err->status = TUTTI_OK;
    return tutti_fail(err, result, "%s%s%sreturned %s without saying why",
                      is_filter ? "filter " : "", is_filter ? fn->name : "",
                      is_filter ? " " : "", tutti_status_name(result));
}

/* What a function of C's libraries has answered: -1 and errno. */
static tutti_status judge_posix(double result, int code, tutti_error *err)
{
    return result < 0.0
               ? tutti_fail(err, TUTTI_E_FAIL, "returned %.0f: %s", result, strerror(code))
               : TUTTI_OK;
}

/* The number that the manifest says the function gives; NaN: none. */
static double value_of(const handler_info *h, void *const *args, const char *result)
{
    const ctype_place *p = h->value;
    const bool status = strcmp(h->returns, "status") == 0 || strcmp(h->returns, "posix") == 0;
    if (!p)
        return status || !ctype_is_number(h->result) ? (double)NAN
                                                     : ctype_number(h->result, result);
    const char *behind = result;
    if (p->arg >= 0)
        memcpy(&behind, args[p->arg], sizeof behind);
    else if (h->result->kind == CTYPE_POINTER)
        memcpy(&behind, result, sizeof behind);
    return behind ? ctype_number(p->type, behind + p->offset) : (double)NAN;
}

/* What a status or a filter is judged by: a number, or whether there is an address. */
static double answer_of(const ctype *t, const void *result)
{
    const void *address = NULL;
    if (ctype_is_number(t))
        return ctype_number(t, result);
    if (t->kind == CTYPE_OPAQUE || t->kind == CTYPE_POINTER)
        memcpy(&address, result, sizeof address);
    return address != NULL;
}

static int32_t call(const bound_function *fn, int64_t count, void *const *args,
                    double *ret_value, void *ret_result, tutti_error *err)
{
    breadcrumb *const crumb = &crash_breadcrumb;
    const crash_who *const who = crumb->who;
    const char *const called = crumb->call, *const returns = fn->info.returns;
    callback_frame frame;
    crumb->who = &fn->who;
    crumb->call = fn->info.name;
    callback_frame_push(&frame, fn->engine);
    errno = 0;
    handler_call(fn->handler, fn->engine, count, args, ret_result, err);
    const int code = errno;
    const tutti_status back = callback_frame_pop(&frame, err);
    crumb->who = who;
    crumb->call = called;
    if (ret_value)
        *ret_value = value_of(&fn->info, args, ret_result);
    if (back)
        return back;
    const double result = answer_of(fn->info.result, ret_result);
    if (strcmp(returns, "status") == 0)
        return judge(fn, (int32_t)result, err);
    if (strcmp(returns, "posix") == 0)
        return judge_posix(result, code, err);
    return fn->info.filter && result != 0.0;
}

int32_t function_call(const bound_function *fn, int64_t count, double *ret_value,
                      tutti_error *err)
{
    max_align_t result[CALL_RESULT_BYTES / sizeof(max_align_t)];
    return call(fn, count, fn->args, ret_value, result, err);
}

tutti_status function_call_back(const bound_function *fn, void *const *args, void *ret_result,
                                tutti_error *err)
{
    max_align_t result[CALL_RESULT_BYTES / sizeof(max_align_t)];
    const tutti_status s = call(fn, 0, args, NULL, result, err);
    if (fn->info.result->kind != CTYPE_VOID && fn->info.result->kind != CTYPE_STRUCT)
        memcpy(ret_result, result, fn->info.result->size);
    return s;
}
