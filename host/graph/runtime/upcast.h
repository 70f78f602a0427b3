/* upcast.h - 16-bit values for kernels that know f32 only: converted on the way in and out. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_GRAPH_RUNTIME_UPCAST_H
#define HOST_GRAPH_RUNTIME_UPCAST_H

#include "graph/ir/graph.h"
#include "graph/ir/pool.h"
#include "graph/runtime/autotune.h"

/* Converts n numbers by the kernel of `cast`, with at most so many threads. */
void upcast_convert(const tutti_kernel *cast, const void *from, int32_t from_dtype, void *to,
                    int32_t to_dtype, int64_t n, int32_t threads);

typedef struct upcast upcast; /* opaque; its own memory is the pool's */

/* Around node `n`, whose call is `c`, in `memory`; prepares n's kernel for f32, with the algorithm that
 * `t` has for the shapes it sees, as autotune_prepare does.  *ret_scratch bytes hold the f32 copies and
 * the kernel's own scratch.  Errors are the kernel's, or E_NOMEM. */
TUTTI_NODISCARD tutti_status upcast_create(const graph *g, const graph_node *n,
                                           const tutti_op_call *c, autotuner *t, pool *memory,
                                           upcast **ret_upcast, uint64_t *ret_scratch,
                                           const char **ret_algorithm, tutti_error *err);
void upcast_destroy(upcast *w); /* what the kernel prepared; NULL is allowed */

/* A kernel's run, with the upcast as its state. */
tutti_status upcast_run(void *state, const tutti_op_call *c, const void *const *in,
                        void *const *out, void *scratch);

#endif
