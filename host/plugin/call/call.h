/* call.h - calling functions whose arguments are known from a manifest only. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_PLUGIN_CALL_CALL_H
#define HOST_PLUGIN_CALL_CALL_H

#include "plugin/call/ctype.h"
#include "tutti/kernel.h"

#define CALL_MAX_ARGS 64
#define CALL_RESULT_BYTES 1024

/* Whether `type` is i8 to i64, u8 to u64, f32, f64 or buf<T>, where T may be f16 and bf16 too. */
bool call_type_known(const char *type);

/* Prepares calls of a function with these arguments and no result; the caller frees *ret_call with
 * call_free.  [control] */
TUTTI_NODISCARD tutti_status call_prepare(const char *const *types, uint32_t count,
                                          void **ret_call, tutti_error *err);
/* The same of types that a manifest declares; `result` may be void. */
TUTTI_NODISCARD tutti_status call_prepare_typed(const ctype *const *types, uint32_t count,
                                                const ctype *result, void **ret_call,
                                                tutti_error *err);
void call_free(void *call); /* NULL is allowed */

/* Calls `function`; args[k] points to the storage of argument k.  [any] */
void call_run(void *call, void *function, void *const *args);
/* The same, with the result as C stores it in the CALL_RESULT_BYTES at `ret_result`, which are aligned for any
 * type. */
void call_run_typed(void *call, void *function, void *const *args, void *ret_result);

/* A function of C's that calls `fn`: args[k] points to argument k, `ret_result` to zeros of the result's size and
 * of at least a word.  [any thread] */
typedef void (*call_back_fn)(void *ctx, void *const *args, void *ret_result);
/* Makes one of the type `callback`: *ret_code is what C calls, until call_closure_free. */
TUTTI_NODISCARD tutti_status call_closure_create(const ctype *callback, call_back_fn fn,
                                                 void *ctx, void **ret_closure, void **ret_code,
                                                 tutti_error *err);
void call_closure_free(void *closure); /* NULL is allowed */

#endif
