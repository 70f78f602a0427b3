/* function_call.c - calls of declared functions, and what their results mean. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/handlers/callback_frame.h"
#include "plugin/call/call.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

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
