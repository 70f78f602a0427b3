/* chain.h - a chain of elementwise operations as a program that device code interprets. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_CHAIN_H
#define KERNELS_CHAIN_H

#include "tutti/op.h"

/* Operations of one and of two operands; those after a comma with attributes. */
#define CHAIN_OPS(UNARY, UNARY_ATTR, BINARY, BINARY_ATTR)                                      \
    UNARY(abs)                                                                                 \
    UNARY(erf)                                                                                 \
    UNARY(exp)                                                                                 \
    UNARY(log)                                                                                 \
    UNARY(neg)                                                                                 \
    UNARY(recip)                                                                               \
    UNARY(relu)                                                                                \
    UNARY(rsqrt)                                                                               \
    UNARY(sigmoid)                                                                             \
    UNARY(silu)                                                                                \
    UNARY(sqrt)                                                                                \
    UNARY(tanh)                                                                                \
    UNARY_ATTR(affine, affine_attr)                                                            \
    UNARY_ATTR(clamp, clamp_attr)                                                              \
    UNARY_ATTR(gelu, gelu_attr)                                                                \
    BINARY(add)                                                                                \
    BINARY(div)                                                                                \
    BINARY(max)                                                                                \
    BINARY(min)                                                                                \
    BINARY(mul)                                                                                \
    BINARY(pow)                                                                                \
    BINARY(relu_grad)                                                                          \
    BINARY(sigmoid_grad)                                                                       \
    BINARY(silu_grad)                                                                          \
    BINARY(sub)                                                                                \
    BINARY(tanh_grad)                                                                          \
    BINARY_ATTR(axpby, axpby_attr)                                                             \
    BINARY_ATTR(cmp, cmp_attr)                                                                 \
    BINARY_ATTR(gelu_grad, gelu_attr)

#define CHAIN_CODE(op) CHAIN_##op,
#define CHAIN_CODE_ATTR(op, attr) CHAIN_##op,
enum {
    CHAIN_OPS(CHAIN_CODE, CHAIN_CODE_ATTR, CHAIN_CODE, CHAIN_CODE_ATTR) CHAIN_copy,
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
