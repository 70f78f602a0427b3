/* function.c - arguments checked against what a manifest declares, and the call. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/function.h"
#include "base/duration.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void function_fini(bound_function *fn)
{
    free(fn->values);
    free((void *)fn->args);
}

typedef struct integer_type {
    const char *name;
    int64_t min;
    uint64_t max;
} integer_type;

static const integer_type integers[] = {
    {"i8", INT8_MIN, INT8_MAX},    {"i16", INT16_MIN, INT16_MAX}, {"i32", INT32_MIN, INT32_MAX},
    {"i64", INT64_MIN, INT64_MAX}, {"u8", 0, UINT8_MAX},          {"u16", 0, UINT16_MAX},
    {"u32", 0, UINT32_MAX},        {"u64", 0, INT64_MAX}};

/* A signed number has the same bits. */
static void store_integer(argument *v, const char *type, int64_t x)
{
    const int bits = atoi(type + 1);
    if (bits == 8)
        v->as.u8 = (uint8_t)x;
    else if (bits == 16)
        v->as.u16 = (uint16_t)x;
    else if (bits == 32)
        v->as.u32 = (uint32_t)x;
    else
        v->as.i64 = x;
}

static void refuse(const json_node *at, const char *want, const char *name, faults *f)
{
    char *got = json_text(at);
    faults_add(f, at, "is %.60s, want %s for \"%s\"", got ? got : "?", want, name);
    free(got);
}

static void read_integer(const json_node *at, const integer_type *t, const char *name,
                         argument *v, faults *f)
{
    const int64_t x = json_int(at);
    char want[96];
    if (json_type(at) == JSON_INT && x >= t->min && (x < 0 || (uint64_t)x <= t->max)) {
        store_integer(v, t->name, x);
        return;
    }
    (void)snprintf(want, sizeof want, "an %s (%lld to %llu)", t->name, (long long)t->min,
                   (unsigned long long)t->max);
    refuse(at, want, name, f);
}

static void read_real(const json_node *at, bool narrow, const char *name, argument *v,
                      faults *f)
{
    const double x = json_real(at);
    const bool number = json_type(at) == JSON_INT || json_type(at) == JSON_REAL;
    if (!number || (narrow && isinf((float)x)))
        refuse(at, narrow ? "an f32" : "an f64", name, f);
    else if (narrow)
        v->as.f32 = (float)x;
    else
        v->as.f64 = x;
}

static void read_value(const json_node *at, const char *type, const char *name, argument *v,
                       faults *f)
{
    tutti_error e = TUTTI_ERROR_INIT;
    for (size_t k = 0; k < sizeof integers / sizeof *integers; k++)
        if (strcmp(integers[k].name, type) == 0) {
            read_integer(at, &integers[k], name, v, f);
            return;
        }
    if (type[0] == 'f') {
        read_real(at, strcmp(type, "f32") == 0, name, v, f);
    } else if (strcmp(type, "bool") == 0) {
        v->as.i32 = json_bool(at);
        if (json_type(at) != JSON_BOOL)
            refuse(at, "true or false", name, f);
    } else if (json_type(at) != JSON_STRING) {
        refuse(at, strcmp(type, "time") == 0 ? "a time such as \"10ep\"" : "a string", name, f);
    } else if (strcmp(type, "time") == 0) {
        v->as.pointer = &v->time;
        if (duration_parse(json_string(at), &v->time, &e))
            faults_add(f, at, "%s", e.text);
    } else {
        v->as.pointer = json_string(at);
    }
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

/* The arguments by position or by name; `at` is where they should be. */
static void read_args(bound_function *fn, const json_node *args, const json_node *at, faults *f)
{
    const handler_info *h = &fn->info;
    const bool named = args && json_type(args) == JSON_OBJECT;
    char text[256];
    signature(h, text, sizeof text);
    if (args && !named && json_type(args) != JSON_ARRAY) {
        faults_add(f, args, "is %s, want a list, or an object by name", json_type_name(args));
        return;
    }
    if (!named && json_count(args) != h->nargs) {
        faults_add(f, args ? args : at, "%zu arguments are given, want %u: %s",
                   json_count(args), h->nargs, text);
        return;
    }
    for (size_t k = 0; named && k < json_count(args); k++) {
        uint32_t m = 0;
        while (m < h->nargs && strcmp(h->arg_names[m], json_key(json_at(args, k))) != 0)
            m++;
        if (m == h->nargs)
            faults_add(f, json_at(args, k), "is no argument of %s", text);
    }
    for (uint32_t k = 0; k < h->nargs; k++) {
        const json_node *one = named ? json_get(args, h->arg_names[k]) : json_at(args, k);
        if (one)
            read_value(one, h->arg_types[k], h->arg_names[k], &fn->values[k], f);
        else
            faults_add(f, args, "has no \"%s\": %s", h->arg_names[k], text);
        fn->args[k] = &fn->values[k].as;
    }
}

void function_read(registry *r, const json_node *call, const json_node *args,
                   const json_node *at, bool is_filter, bound_function *fn, faults *f)
{
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
    fn->values = calloc(fn->info.nargs + 1, sizeof *fn->values);
    fn->args = calloc(fn->info.nargs + 1, sizeof *fn->args);
    if (!fn->values || !fn->args) {
        faults_add_no_memory(f, call);
        return;
    }
    read_args(fn, args, at, f);
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

int32_t function_call(const bound_function *fn, int64_t count, double *ret_value,
                      tutti_error *err)
{
    breadcrumb *const crumb = &crash_breadcrumb;
    const crash_who *const who = crumb->who;
    const char *const call = crumb->call, *const returns = fn->info.returns;
    crumb->who = &fn->who;
    crumb->call = fn->info.name;
    errno = 0;
    const double result = handler_call(fn->handler, fn->engine, count, fn->args, err);
    const int code = errno;
    crumb->who = who;
    crumb->call = call;
    const bool is_status = strcmp(returns, "status") == 0,
               is_posix = strcmp(returns, "posix") == 0;
    if (ret_value)
        *ret_value =
            is_status || is_posix || strcmp(returns, "void") == 0 ? (double)NAN : result;
    if (is_status)
        return judge(fn, (int32_t)result, err);
    if (is_posix)
        return judge_posix(result, code, err);
    return fn->info.filter && result != 0.0;
}
