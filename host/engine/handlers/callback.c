/* callback.c - closures that call declared functions. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/handlers/callback.h"
#include "engine/handlers/function.h"
#include "plugin/call/call.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct callback {
    callback *next;
    const ctype *type;
    bound_function function;
    void *closure;
};

static _Thread_local callback_frame *innermost;
/* Called where no function of a run file was running; told by the next one that is. */
static _Atomic(const callback *) stray;

void callback_frame_push(callback_frame *frame, const tutti_engine_v1 *engine)
{
    *frame = (callback_frame){.outer = innermost, .engine = engine, .error = TUTTI_ERROR_INIT};
    innermost = frame;
}

tutti_status callback_frame_pop(callback_frame *frame, tutti_error *err)
{
    innermost = frame->outer;
    const callback *lost = atomic_exchange(&stray, NULL);
    if (!frame->error.status && !lost)
        return TUTTI_OK;
    if (err)
        err->status = TUTTI_OK; /* the function failed because its callback had */
    if (frame->error.status)
        return tutti_fail(err, frame->error.status, "%s", frame->error.text);
    return tutti_fail(
        err, TUTTI_E_STATE,
        "the callback %s was called on a thread of its caller's or between calls, want calls "
        "during a function of the run file, on its thread",
        lost->function.name);
}

static void called(void *ctx, void *const *args, void *ret_result)
{
    callback *c = ctx;
    callback_frame *frame = innermost;
    void *all[CALL_MAX_ARGS];
    size_t given = 0;
    tutti_error e = TUTTI_ERROR_INIT;
    if (!frame)
        atomic_store(&stray, c);
    if (!frame || frame->error.status)
        return;
    for (size_t k = 0; k < c->function.info.nargs; k++)
        all[k] = c->function.args[k] ? c->function.args[k] : args[given++];
    c->function.engine = frame->engine;
    const tutti_status s = function_call_back(&c->function, all, ret_result, &e);
    if (s) {
        (void)tutti_fail(&frame->error, s, "callback %s: %s", c->function.name, e.text);
        memset(ret_result, 0, c->type->of->size);
    }
}

/* What a callback gives must come from its function. */
static void check_result(const callback *c, const json_node *at, faults *f)
{
    const handler_info *h = &c->function.info;
    const bool number = strcmp(h->returns, "status") != 0 && strcmp(h->returns, "posix") != 0;
    if (c->type->of->kind == CTYPE_VOID || (number && ctype_same(c->type->of, h->result)))
        return;
    faults_add(f, at, "%s gives %s, want %s for the callback \"%s\"", c->function.name,
               h->returns, c->type->of->word, c->type->word);
}

void callback_read(const argument_reader *r, const json_node *at, const ctype *type,
                   const char *name, void *to)
{
    tutti_error e = TUTTI_ERROR_INIT;
    const bool whole = json_type(at) == JSON_OBJECT;
    static const char *const keys[] = {"call", "args", NULL};
    void *code;
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
        faults_unknown_keys(r->f, at, keys);
    const size_t before = faults_count(r->f);
    function_read_callback(r->registry, whole ? json_get(at, "call") : at,
                           whole ? json_get(at, "args") : NULL, at, type, &c->function, r->f);
    if (faults_count(r->f) > before)
        return;
    check_result(c, at, r->f);
    if (call_closure_create(type, called, c, &c->closure, &code, &e))
        faults_add(r->f, at, "%s", e.text);
    else
        memcpy(to, &code, sizeof code);
}

void callbacks_free(callback *list)
{
    for (callback *next; list; list = next) {
        const callback *own = list;
        next = list->next;
        (void)atomic_compare_exchange_strong(&stray, &own, NULL);
        call_closure_free(list->closure);
        function_fini(&list->function);
        free(list);
    }
}

tutti_status callbacks_open(callback *list, const tutti_engine_v1 *engine, tutti_error *err)
{
    tutti_status s = TUTTI_OK;
    for (; list && !s; list = list->next)
        s = function_open(&list->function, engine, err);
    return s;
}
