/* callback.c - closures that call declared functions. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/handlers/callback.h"
#include "engine/handlers/callback_frame.h"
#include "plugin/call/call.h"

#include <string.h>

static void called(void *ctx, void *const *args, void *ret_result)
{
    callback *c = ctx;
    callback_frame *frame = callback_frame_current(&c->function);
    void *all[CALL_MAX_ARGS];
    size_t given = 0;
    tutti_error e = TUTTI_ERROR_INIT;
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

void callback_make(callback *c, const json_node *at, void *to, faults *f)
{
    tutti_error e = TUTTI_ERROR_INIT;
    void *code;
    check_result(c, at, f);
    if (call_closure_create(c->type, called, c, &c->closure, &code, &e))
        faults_add(f, at, "%s", e.text);
    else
        memcpy(to, &code, sizeof code);
}

void callback_fini(const callback *c)
{
    callback_frame_forget(&c->function);
    call_closure_free(c->closure);
}
