/* ranks.h - tutti.ranks/1: what plugins of all ranks of a run compute together. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TUTTI_RANKS_H
#define TUTTI_RANKS_H

#include "base.h"

#if TUTTI_USE_MINOR >= 2
TUTTI_C_BEGIN

#define TUTTI_RANKS_V1 "tutti.ranks/1" /* since 1.2 */

/* What all_reduce makes of the ranks' numbers, in the order of ranks.  since 1.2 */
enum {
    TUTTI_RANKS_SUM,     /* of integers modulo 2^32 or 2^64; of F32 in F64, rounded once */
    TUTTI_RANKS_MEAN,    /* of F32 and F64 only */
    TUTTI_RANKS_MIN,     /* NaN where one is NaN */
    TUTTI_RANKS_MAX,     /* NaN where one is NaN */
    TUTTI_RANKS_PRODUCT, /* rounded as sums */
};

/* Every run has it, in `tutti train` and `tutti run`; a run without "distributed" has one rank.  Where a rank is, and share,
 * are the same from an object's open to its close.
 *
 * Operations: all ranks call the same ones in the same order, each at the same event; so no logger calls any, which rank 0
 * alone has, and nobody does on exception_raised or in close, which a rank may reach alone.  Arrays are in host memory.
 * Results are the same bits on all ranks.  None may be called while another thread of the plugin does.
 * Errors of all operations: E_STATE names a rank that has ended, has left or does not come; E_ARG names a rank that calls
 * another operation, or with another count, type or root; E_RANGE more bytes than the comm sends at a time, of all_gather and
 * broadcast (mpi: 2 GiB); E_NOMEM.  Behind an error of another rank no operation follows.  since 1.2 */
typedef struct tutti_ranks_v1 {
    uint32_t struct_size;
    uint32_t reserved; /* 0 */
    void *ctx;         /* the host's; pass it back */
    /* From 0; rank 0 writes the run's files; and how many ranks there are, at least 1.  [any] */
    int32_t (*rank)(void *ctx);
    int32_t (*size)(void *ctx);
    /* The rank from 0 among those of its machine, and how many these are.  [any] */
    int32_t (*local_rank)(void *ctx);
    int32_t (*local_size)(void *ctx);
    /* The machine from 0, -1: ranks of a machine do not follow each other; and how many machines there are.  [any] */
    int32_t (*machine)(void *ctx);
    int32_t (*machines)(void *ctx);
    /* What connects the ranks, such as "mpi"; "none" in a run without "distributed".  Lives as long as the run.  [any] */
    const char *(*comm)(void *ctx);
    /* The part of `n` things, from 0, that is this rank's: neighbours, by as many ranks as there are; parts differ by one at
     * most, and thing 0 is rank 0's.  Not an operation.  [any] */
    void (*share)(void *ctx, int64_t n, int64_t *ret_first, int64_t *ret_count);
    /* Each of `n` numbers becomes what `op`, TUTTI_RANKS_*, makes of all ranks'.  `dtype`: TUTTI_F32, TUTTI_F64, TUTTI_I32
     * or TUTTI_I64.  Errors also: E_ARG of `dtype` and `op`, which the other ranks do not hear of.  [step] */
    tutti_status (*all_reduce)(void *ctx, void *data, uint64_t n, int32_t dtype, int32_t op,
                               tutti_error *err);
    /* `all` gets what every rank has in `mine`, by rank: size * bytes.  [step] */
    tutti_status (*all_gather)(void *ctx, const void *mine, void *all, uint64_t bytes,
                               tutti_error *err);
    /* As all_gather, of as many bytes as each rank likes, such as a text: rank r's lie from (*ret_ends)[r - 1], of rank 0
     * from 0, to (*ret_ends)[r].  Both are the host's until the next call.  E_NOMEM of a rank without room for all of it is
     * that of all ranks, and operations may follow.  [step] */
    tutti_status (*all_gather_any)(void *ctx, const void *mine, uint64_t bytes,
                                   const void **ret_all, const uint64_t **ret_ends,
                                   tutti_error *err);
    /* `data` of rank `root` to all.  Errors also: E_ARG there is no such rank.  [step] */
    tutti_status (*broadcast)(void *ctx, void *data, uint64_t bytes, int32_t root,
                              tutti_error *err);
    /* Returns once all ranks have called it.  [step] */
    tutti_status (*barrier)(void *ctx, tutti_error *err);
    /* What stands between the two runs on one rank first, such as a download, and then on the others; with `local` on the
     * first rank of each machine.  All ranks call both; nothing in between is an operation.  [step] */
    tutti_status (*begin_first)(void *ctx, int32_t local, tutti_error *err);
    tutti_status (*end_first)(void *ctx, int32_t local, tutti_error *err);
} tutti_ranks_v1;

TUTTI_C_END
#endif
#endif
