/* pointwise_fusion.h - pointwise fusion: a group of elementwise operations as a program that device code interprets. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_POINTWISE_FUSION_H
#define KERNELS_POINTWISE_FUSION_H

#include "pointwise_ops.h"
#include "tutti/op.h"

#define OPCODE(op) OPCODE_##op,
#define OPCODE_ATTR(op, attr) OPCODE_##op,
enum {
    POINTWISE_OPS(OPCODE, OPCODE_ATTR, OPCODE, OPCODE_ATTR) OPCODE_copy,
    OPCODE_cast,
    OPCODE_where,
    OPCODES
};
#undef OPCODE
#undef OPCODE_ATTR

enum {
    FUSION_MAX_OPS = 16,
    FUSION_VECTOR = 8,  /* elements that a thread takes at a time */
    FUSION_BLOCK = 64,  /* threads */
    FUSION_BLOCKS = 16, /* that a multiprocessor is to hold */
    FUSION_STAGES = 2,  /* vectors of a thread on their way or in use */
    FUSION_STAGE_WORDS =
        8, /* of 16 bytes, that a thread has on their way for one vector at most */
    FUSION_SLOT_WORDS = 2 /* of 16 bytes: a vector in F32 */
};

/* Operands and results: inputs of the group, the result of the operation before, and slots. */
enum { FUSION_LAST = 31, FUSION_SLOT = 32, FUSION_NONE = 255 };

typedef struct fusion_instruction {
    uint8_t op; /* OPCODE_<op> */
    uint8_t nin;
    uint8_t from[3];
    uint8_t slot;  /* that keeps the result, or NONE */
    uint8_t out;   /* output that gets it, or NONE */
    uint8_t dtype; /* what a cast rounds to, BF16 or F16, or NONE */
    uint64_t attr[2];
} fusion_instruction;

typedef struct fusion_program {
    int64_t n; /* elements */
    uint32_t nops, nin;
    uint32_t whole;  /* bit k: input k is one number for all */
    uint32_t slots;  /* a slot has a vector of each thread in shared memory */
    uint32_t staged; /* words of a stage, behind the slots */
    uint8_t at
        [TUTTI_OP_MAX_IN]; /* input k's word in its stage; NONE: it is read where it is used */
    fusion_instruction code[FUSION_MAX_OPS];
} fusion_program;

#endif
