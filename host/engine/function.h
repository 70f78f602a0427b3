/* function.h - a function that a manifest declares, with the arguments that a run file gives it. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_ENGINE_FUNCTION_H
#define HOST_ENGINE_FUNCTION_H

#include "plugin/instance.h"
#include "tutti/engine.h"

/* The storage of one argument. */
typedef struct argument {
    union {
        int8_t i8;
        int16_t i16;
        int32_t i32;
        int64_t i64;
        uint8_t u8;
        uint16_t u16;
        uint32_t u32;
        uint64_t u64;
        float f32;
        double f64;
        const void *pointer;
    } as;
    tutti_time time;
} argument;

/* All zeros before function_read.  Stays where it is: arguments and crash reports point into it. */
typedef struct bound_function {
    const char *name; /* as the run file calls it, borrowed from its document: "demo.note" */
    crash_who who;    /* its plugin and `name` */
    const handler *handler;
    handler_info info;
    argument *values;
    void **args;
    const tutti_engine_v1 *engine; /* for calls of functions that declare it */
} bound_function;

/* Finds the function that `call` names and reads its arguments: a list, or an object by name.  `at` is
 * where missing ones are reported.  Everything wrong goes to `f`.  [control] */
void function_read(registry *r, const json_node *call, const json_node *args,
                   const json_node *at, bool is_filter, bound_function *fn, faults *f);
void function_fini(bound_function *fn);

/* Calls it, named in the report of a crash meanwhile.  After handler_load.  [step]
 * Returns TUTTI_OK or a negative status; of a filter 1, 0 or a negative status.  A failure without a
 * text gets one.  A positive result of a function that is no filter is no status: E_FAIL.
 * *ret_value (may be NULL) is the number that it returns where that is no status, else NaN. */
int32_t function_call(const bound_function *fn, int64_t count, double *ret_value,
                      tutti_error *err);

#endif
