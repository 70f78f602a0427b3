/* autotune.h - which of the algorithms of an operation is the fastest here: measured once, kept in a file. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_GRAPH_RUNTIME_AUTOTUNE_H
#define HOST_GRAPH_RUNTIME_AUTOTUNE_H

#include "tutti/op.h"

#include <stdbool.h>

/* The norm-relative distance to algorithm 0 up to which another one may be chosen. */
#define AUTOTUNE_TOLERANCE 1e-4

/* Choices of earlier runs and this one, for this model of CPU.  What is chosen depends on the file
 * alone once it holds the choice: runs that share it compute the same bits.  Not for several
 * threads at once; several processes may share a file. */
typedef struct autotuner autotuner;

/* `path` is copied and need not exist.  What is wrong with the file does not matter: it is left
 * aside, and replaced when there is something to keep.  Without a path nothing is measured: what is not
 * fixed goes by algorithm 0.  NULL: out of memory. */
autotuner *autotuner_create(const char *path);
void autotuner_destroy(autotuner *t); /* NULL is allowed */
/* One sentence about the file, once; NULL when there is nothing to say. */
const char *autotuner_complaint(autotuner *t);

/* Choices of a run, so that it computes the same bits when it goes on, whatever the file holds by then.
 * Lines of a call, tab, algorithm: those fixed and those made since; the caller frees it, NULL: out of memory. */
char *autotuner_choices(const autotuner *t);
/* From now on nothing is measured. */
void autotuner_stop(autotuner *t);
/* From now on every operation is prepared with the algorithm that gives the same bits on every CPU, and one that has
 * none is refused: TUTTI_OP_REPRODUCIBLE. */
void autotuner_reproduce(autotuner *t);
/* Whether that is so; false for NULL. */
bool autotuner_reproduces(const autotuner *t);
/* Refuses an operation where that is so and it promises nothing.  Errors: E_UNSUPPORTED. */
TUTTI_NODISCARD tutti_status autotuner_admit(const autotuner *t, const tutti_op *op,
                                             tutti_error *err);
/* From now on such choices go before all others.  Errors: E_FORMAT, E_NOMEM. */
TUTTI_NODISCARD tutti_status autotuner_fix(autotuner *t, const char *lines, tutti_error *err);
/* The same for those of the file at `path` that are not fixed yet; a file that is not there has none.
 * Errors also: E_IO. */
TUTTI_NODISCARD tutti_status autotuner_fix_file(autotuner *t, const char *path,
                                                tutti_error *err);
/* The choices so far, and each one to come when it is made, are written to the file at `path`, whose
 * folder exists.  Errors: E_IO, E_NOMEM; later ones are the complaint. */
TUTTI_NODISCARD tutti_status autotuner_keep(autotuner *t, const char *path, tutti_error *err);
/* How many calls were not among those fixed; 0 where none are. */
uint32_t autotuner_missing(const autotuner *t);
/* The model of this machine's CPU; borrowed. */
const char *autotuner_cpu(const autotuner *t);

/* Prepares the kernel of a node: by the algorithm fixed or known for this call, else by the one that is measured
 * now and kept.  Without a tuner, or when a choice cannot be kept: by algorithm 0.  *ret_algorithm is its name,
 * static, NULL where there is one algorithm only.  [control] */
TUTTI_NODISCARD tutti_status autotune_prepare(autotuner *t, const tutti_op *op,
                                              const tutti_op_call *c, void **ret_state,
                                              uint64_t *ret_scratch, const char **ret_algorithm,
                                              tutti_error *err);

#endif
