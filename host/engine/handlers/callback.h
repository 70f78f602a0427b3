/* callback.h - functions that a run file gives to functions of C, which call them back. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_ENGINE_HANDLERS_CALLBACK_H
#define HOST_ENGINE_HANDLERS_CALLBACK_H

#include "engine/handlers/function.h"

struct callback {
    callback *next;
    const ctype *type;
    bound_function function; /* takes and returns what the type says */
    void *closure;
};

/* Writes the pointer by which C calls c->function, which has been read, to `to`.  A result of another type than c->type's
 * goes to `f`, reported at `at`.  The callback stays where it is. */
void callback_make(callback *c, const json_node *at, void *to, faults *f);
/* Frees what callback_make has made. */
void callback_fini(const callback *c);

#endif
