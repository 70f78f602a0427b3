/* matmul_inner.h - a product on a CPU within another operation, which does the rest before or after it. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_MATMUL_INNER_H
#define KERNELS_MATMUL_INNER_H

#include "matmul/matmul.h"

/* `product` is the call as matmul would get it, with 2 or 3 inputs; these and its attributes are copied.
 * `op` is who asks, for the error: NOMEM, or what matmul says.  [control] */
TUTTI_NODISCARD tutti_status matmul_inner_prepare(const char *op, const tutti_op_call *product,
                                                  void **ret_state, uint64_t *ret_scratch,
                                                  tutti_error *err);

/* `c` is the outer call: its step is taken; `in` are the product's inputs.  [step] */
TUTTI_NODISCARD tutti_status matmul_inner_run(const void *state, const tutti_op_call *c,
                                              const void *const *in, void *const *out,
                                              void *scratch);

/* NULL is allowed.  [control] */
void matmul_inner_destroy(void *state);

#endif
