/* memory_observer.h - tutti.memory_observer/1: a plugin that hears of memory that could not be had. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TUTTI_MEMORY_OBSERVER_H
#define TUTTI_MEMORY_OBSERVER_H

#include "base.h"

#if TUTTI_USE_MINOR >= 1
TUTTI_C_BEGIN

#define TUTTI_MEMORY_OBSERVER_V1 "tutti.memory_observer/1" /* since 1.1 */

/* Memory of the device that computes was asked for and not had.  Valid for the call.  since 1.1 */
typedef struct tutti_memory_failure {
    uint32_t struct_size;
    uint32_t planned;      /* 1: for a plan; 0: for something else while a batch was computed */
    const char *text;      /* the sentence of the error */
    const char *device;    /* "cpu" or a device's name */
    uint64_t wanted_bytes; /* 0: not known */
    uint64_t available_bytes; /* UINT64_MAX: the system does not say */
} tutti_memory_failure;

/* Provided by participants.  since 1.1 */
typedef struct tutti_memory_observer_v1 {
    uint32_t struct_size;
    uint32_t reserved; /* write 0 */
    /* A plan of training or evaluation does not fit into memory, or an allocation has failed while a microbatch or a part of
     * an evaluation was computed.  Comes before the run ends for it, or goes on with a smaller microbatch, and before
     * memory is given back.  While it runs, `describe` and `result` of tutti.plan/1 speak of the plan that does not fit,
     * else of the microbatch's.  An error is told and changes nothing.  [step] */
    tutti_status (*out_of_memory)(void *self, const tutti_memory_failure *failure,
                                  tutti_error *err);
} tutti_memory_observer_v1;

TUTTI_C_END
#endif
#endif
