/* plan.h - tutti.plan/1: how much a training batch multiplies, where results lie in memory, the graph of the model. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TUTTI_PLAN_H
#define TUTTI_PLAN_H

#include "tensor.h"

#if TUTTI_USE_MINOR >= 1
TUTTI_C_BEGIN

#define TUTTI_PLAN_V1 "tutti.plan/1" /* since 1.1 */

/* The plan of a training microbatch: forward pass and backward pass.  since 1.1 */
typedef struct tutti_plan_facts {
    uint32_t struct_size;
    uint32_t results; /* places in the arena */
    uint32_t steps;   /* of both passes, and one between them, in which the loss is computed */
    uint32_t values;  /* of the graph; their numbers are 1 to this.  0: it is not known */
    uint64_t arena_bytes; /* the one block that holds all results */
    uint64_t peak_bytes;  /* of it, in use at a time, at the most */
} tutti_plan_facts;

/* One place in the arena; results in use at different times may share bytes.  since 1.1 */
typedef struct tutti_planned {
    uint32_t struct_size;
    uint32_t reserved; /* 0 */
    const char *op; /* the operation that writes it first, "conv2d"; "" for what is copied in */
    const char *module; /* "stage1.block0.conv1"; "" for none */
    uint64_t bytes;
    uint64_t offset; /* from the arena's first byte */
    uint32_t first;  /* the steps that it is in use from, */
    uint32_t last;   /* and to, both included, from 0 */
} tutti_planned;

/* What a value of the graph is.  since 1.1 */
enum {
    TUTTI_PLANNED_OTHER = 0, /* of the backward pass alone: only `kind` is filled */
    TUTTI_PLANNED_INPUT = 1, /* a column of the batch */
    TUTTI_PLANNED_WEIGHT = 2,
    TUTTI_PLANNED_CONSTANT = 3,
    TUTTI_PLANNED_RESULT = 4 /* of an operation */
};

/* One value of the model's forward pass, as the plan computes it: operations that were fused are one.  Texts and
 * operands are borrowed as result's are.  since 1.1 */
typedef struct tutti_planned_value {
    uint32_t struct_size;
    int32_t kind; /* TUTTI_PLANNED_* */
    const char *
        name; /* INPUT: the column; WEIGHT: its path; RESULT: its operation; "" for constants */
    const char *module; /* RESULT: "stage1.block0.conv1"; "" for none, and for other kinds */
    const uint32_t
        *operands; /* RESULT: numbers of values, each below this one's; 0: left out */
    uint32_t noperands;
    uint32_t
        first; /* RESULT: the number of the first result of the same operation; else its own number */
    tutti_desc desc;
} tutti_planned_value;

/* since 1.1 */
typedef struct tutti_plan_v1 {
    uint32_t struct_size;
    uint32_t reserved;
    void *ctx;
    /* Floating-point operations of this process for the latest training batch: two for every product of
     * matrix products, convolutions and attention, in the forward and backward passes of all its
     * microbatches, as often as they were computed.  0 before the first batch.  [step] */
    double (*flops)(void *ctx);
    /* The plan of the microbatch under way, or of the latest one of the training batch under way: from
     * before_forward to batch_end.  It may be made anew for that.  [step]
     * Errors: E_STATE no training batch is under way; those of making a plan. */
    tutti_status (*describe)(void *ctx, tutti_plan_facts *ret_facts, tutti_error *err);
    /* Place `k` of what describe spoke of last; its texts are borrowed until describe is called again or
     * the batch is over.  [step]  Errors: E_STATE nothing was described in this batch; E_RANGE there is no such place. */
    tutti_status (*result)(void *ctx, uint32_t k, tutti_planned *ret_result, tutti_error *err);
    /* Value `k` of the graph that describe spoke of last, from 1; borrowed as result's texts are.  [step]
     * Errors: E_STATE nothing was described in this batch; E_RANGE there is no such value. */
    tutti_status (*value)(void *ctx, uint32_t k, tutti_planned_value *ret_value,
                          tutti_error *err);
} tutti_plan_v1;

TUTTI_C_END
#endif
#endif
