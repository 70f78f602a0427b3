/* gradcheck_trial.h - what the parts of op_check share. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_SUPPORT_GRADCHECK_TRIAL_H
#define TESTS_SUPPORT_GRADCHECK_TRIAL_H

#include "gradcheck.h"
#include "graph/ir/interpreter.h"
#include "graph/ir/traits.h"

/* Results in place of operands: in_place is that of result 0, UINT32_MAX for none, or CHECK_UPDATES for what the traits say
 * of all results. */
#define CHECK_UPDATES (UINT32_MAX - 1)
/* The operand in whose memory result k goes; UINT32_MAX: it has memory of its own. */
static inline uint32_t check_operand_under(const tutti_op *op, uint32_t k, uint32_t in_place)
{
    const uint8_t *updates = traits_of(op)->updates;
    if (in_place == CHECK_UPDATES)
        return updates && updates[k] ? updates[k] - 1u : UINT32_MAX;
    return k == 0 ? in_place : UINT32_MAX;
}
static inline bool check_is_under(const tutti_op *op, uint32_t input, uint32_t in_place)
{
    for (uint32_t k = 0; k < op->nout; k++)
        if (check_operand_under(op, k, in_place) == input)
            return true;
    return false;
}

#define MAX_ARGS (2 * (OP_CASE_MAX + TUTTI_OP_MAX_OUT))

/* A graph with the values that one check looks at. */
typedef struct trial {
    graph *g;
    interpreter *it;
    const tutti_op *op;
    const op_case *c;
    uint32_t nin, nout;
    tutti_value in[MAX_ARGS];
    uint32_t order[MAX_ARGS];  /* 0: the case's input; else the gradient that brought it */
    uint32_t result[MAX_ARGS]; /* of that gradient: which result it weighs */
    bool wanted[MAX_ARGS];     /* differentiate this input */
    tutti_value out[MAX_ARGS]; /* 0: left out of the projection */
    double *weights[MAX_ARGS]; /* of the projection, for each result in it */
} trial;

/* Element k of input `input`. */
double check_draw(const op_case *c, uint32_t input, int32_t dtype, int64_t k);

/* Compares the elements of `d`; the worst goes into the sentence.  A NaN never passes. */
tutti_status check_compare(const op_case *c, const char *what, const tutti_desc *d,
                           const double *got, const double *want, double tolerance,
                           tutti_error *err);

/* The op's CPU kernel against what `t`, which has run, holds. */
tutti_status check_kernel(const trial *t, tutti_error *err);

/* The kernel of the device that op_check_device opens, likewise; none is no error. */
tutti_status check_on_device(const trial *t, tutti_error *err);

/* What a result of `dtype` may be off by on a device, as a part of the largest one. */
double check_device_tolerance(const op_case *c, const tutti_op *op, const tutti_op_call *call,
                              int32_t dtype);

extern const tutti_step check_step;

#endif
