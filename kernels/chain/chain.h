/* chain.h - a chain of elementwise operations as a program that device code interprets. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_CHAIN_H
#define KERNELS_CHAIN_H

#include "pointwise_ops.h"
#include "tutti/op.h"

#define CHAIN_CODE(op) CHAIN_##op,
#define CHAIN_CODE_ATTR(op, attr) CHAIN_##op,
enum {
    POINTWISE_OPS(CHAIN_CODE, CHAIN_CODE_ATTR, CHAIN_CODE, CHAIN_CODE_ATTR) CHAIN_copy,
    CHAIN_cast,
    CHAIN_where,
    CHAIN_CODES
};
#undef CHAIN_CODE
#undef CHAIN_CODE_ATTR

enum {
    CHAIN_LINKS = 16,
    CHAIN_GROUP = 4,  /* elements that a thread takes at a time */
    CHAIN_BLOCK = 128 /* threads; a slot has a group of each in shared memory */
};

/* Operands and results: inputs of the chain, the result of the link before, and slots. */
enum { CHAIN_LAST = 31, CHAIN_SLOT = 32, CHAIN_NONE = 255 };

typedef struct chain_code {
    uint8_t op; /* CHAIN_<op> */
    uint8_t nin;
    uint8_t from[3];
    uint8_t slot;  /* that keeps the result, or NONE */
    uint8_t out;   /* output that gets it, or NONE */
    uint8_t dtype; /* what a cast rounds to, BF16 or F16, or NONE */
    uint64_t attr[2];
} chain_code;

typedef struct chain_program {
    int64_t n; /* elements */
    uint32_t nlinks;
    uint32_t whole; /* bit k: input k is one number for all */
    chain_code code[CHAIN_LINKS];
} chain_program;

#endif
