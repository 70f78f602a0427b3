/* call.h - calling functions whose arguments are known from a manifest only. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_PLUGIN_CALL_H
#define HOST_PLUGIN_CALL_H

#include "tutti/kernel.h"

#include <stdbool.h>

#define CALL_MAX_ARGS 64

/* Whether `type` is i8 to i64, u8 to u64, f32, f64 or buf<T>, where T may be f16 and bf16 too. */
bool call_type_known(const char *type);

/* Whether `type` may be an argument of a handler: a number as above, bool, str or time. */
bool call_handler_type_known(const char *type);

/* Prepares calls of a function with these arguments and no result; the caller frees *ret_call with
 * call_free.  [control] */
TUTTI_NODISCARD tutti_status call_prepare(const char *const *types, uint32_t count,
                                          void **ret_call, tutti_error *err);
/* Whether `returns` is what a handler may give: "status" or "posix", both an int32_t; "void"; "bool",
 * an int32_t too; or a number as above. */
bool call_result_known(const char *returns);
/* The same for a function that returns `returns`; `types` are a handler's, or "ptr". */
TUTTI_NODISCARD tutti_status call_prepare_handler(const char *const *types, uint32_t count,
                                                  const char *returns, void **ret_call,
                                                  tutti_error *err);
void call_free(void *call); /* NULL is allowed */

/* Calls `function`; args[k] points to the storage of argument k.  [any] */
void call_run(void *call, void *function, void *const *args);
/* The same, and the result as a number; 0 of "void".  A 64-bit integer above 2^53 is rounded. */
double call_handler(void *call, void *function, const char *returns, void *const *args);

#endif
