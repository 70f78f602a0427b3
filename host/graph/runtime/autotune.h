/* autotune.h - which of the ways of an operation is the fastest here: measured once, kept in a file. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_GRAPH_RUNTIME_AUTOTUNE_H
#define HOST_GRAPH_RUNTIME_AUTOTUNE_H

#include "tutti/op.h"

/* The norm-relative distance to way 0 up to which another one may be chosen. */
#define AUTOTUNE_TOLERANCE 1e-4

/* Choices of earlier runs and this one, for this model of CPU.  What is chosen depends on the file
 * alone once it holds the choice: runs that share it compute the same bits.  Not for several
 * threads at once; several processes may share a file. */
typedef struct autotuner autotuner;

/* `path` is copied and need not exist.  What is wrong with the file does not matter: it is left
 * aside, and replaced when there is something to keep.  NULL: out of memory. */
autotuner *autotuner_create(const char *path);
void autotuner_destroy(autotuner *t); /* NULL is allowed */
/* One sentence about the file, once; NULL when there is nothing to say. */
const char *autotuner_complaint(autotuner *t);

/* Prepares the kernel of a node: by the way known for this call, else by the one that is measured
 * now and kept.  Without a tuner, or when a choice cannot be kept: by way 0.  *ret_algorithm is its name,
 * static, NULL where there is one way only.  [control] */
TUTTI_NODISCARD tutti_status autotune_prepare(autotuner *t, const tutti_op *op,
                                              const tutti_op_call *c, void **ret_state,
                                              uint64_t *ret_scratch, const char **ret_algorithm,
                                              tutti_error *err);

/* NULL behind the last way, or for k = 0 where there is one way only. */
const char *autotune_algorithm_name(const tutti_op *op, const tutti_op_call *c, uint32_t k);

#endif
