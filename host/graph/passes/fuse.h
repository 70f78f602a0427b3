/* fuse.h - several nodes as one. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_GRAPH_PASSES_FUSE_H
#define HOST_GRAPH_PASSES_FUSE_H

#include "graph/ir/graph.h"

/* Before the gradient is taken: copies `from`, which has one segment, into the empty graph `to`, with every normalisation that a
 * ReLU follows, directly or after the addition of a residual, as one node where the ReLU was.
 * `wanted[v]`: value `v` is read after the graph and stays.  ret_map[v]: what `v` is in `to`; 0 for
 * what went into a node.  Errors: E_NOMEM. */
TUTTI_NODISCARD tutti_status fuse_norms(const graph *from, const bool *wanted, graph *to,
                                        tutti_value *ret_map, tutti_error *err);

/* Copies `from`, gradient and all, into the empty graph `to`, with every product that ReLU or GELU
 * follows as one node that gives both where both are read, and every product that the gradient of
 * ReLU or GELU alone reads as one with it.  `wanted`, ret_map and errors as above. */
TUTTI_NODISCARD tutti_status fuse_epilogues(const graph *from, const bool *wanted, graph *to,
                                            tutti_value *ret_map, tutti_error *err);

/* The same, with masks of bits for ReLU's gradients: for devices that keep them for nothing. */
TUTTI_NODISCARD tutti_status fuse_epilogues_masked(const graph *from, const bool *wanted,
                                                   graph *to, tutti_value *ret_map,
                                                   tutti_error *err);

/* Copies `from`, gradient and all, into the empty graph `to`, with every product, and every gradient
 * of a convolution's weight, that is read by an addition alone as one node with that: for devices
 * that add for nothing.  `wanted`, ret_map and errors as above. */
TUTTI_NODISCARD tutti_status fuse_accumulate(const graph *from, const bool *wanted, graph *to,
                                             tutti_value *ret_map, tutti_error *err);

/* Copies `from`, gradient and all, into the empty graph `to`, with every gradient of a layer norm whose
 * dx is read by an addition alone, that of a residual's gradient, as one node with it.  `wanted`,
 * ret_map and errors as above. */
TUTTI_NODISCARD tutti_status fuse_norm_grads(const graph *from, const bool *wanted, graph *to,
                                             tutti_value *ret_map, tutti_error *err);

/* Copies `from`, gradient and all, into the empty graph `to`, with every gradient of a batch norm that reads the gradient
 * of a ReLU as one node with that, and with the addition before it, of a residual's gradient: for CPUs, whose
 * kernel reads and writes each of them once.  `wanted`, ret_map and errors as above. */
TUTTI_NODISCARD tutti_status fuse_relu_grads(const graph *from, const bool *wanted, graph *to,
                                             tutti_value *ret_map, tutti_error *err);

/* Copies `from`, gradient and all, into the empty graph `to`, with every product of which one factor is
 * added up over its rows too, as a weight's gradient and its bias's, as one node with those sums: for
 * devices that read the factor once for both.  `wanted`, ret_map and errors as above. */
TUTTI_NODISCARD tutti_status fuse_bias_grads(const graph *from, const bool *wanted, graph *to,
                                             tutti_value *ret_map, tutti_error *err);

/* Before the gradient is taken: copies `from` into the empty graph `to`, and pads the second factor of each large
 * GEMM of 16 bits with columns of zeros, so that rows of the result are multiples of 16 bytes (logits of 50257
 * classes are not), and slices the result back to its width: for devices that read and write whole pieces.
 * ret_map and errors as above. */
TUTTI_NODISCARD tutti_status align_gemms(const graph *from, const bool *wanted, graph *to,
                                         tutti_value *ret_map, tutti_error *err);

/* Before the gradient is taken: copies `from` into the empty graph `to`, where operations with the attribute `columns`
 * that read the F32 of rows in 16 bits, or of their first columns, read these rows.  `wanted`, ret_map and errors as
 * above. */
TUTTI_NODISCARD tutti_status fuse_columns(const graph *from, const bool *wanted, graph *to,
                                          tutti_value *ret_map, tutti_error *err);

/* Copies `from`, a loss with its gradient, into the empty graph `to`, with every loss of logits and its
 * gradient for them as one node where the loss was: for devices that read the logits once for both.
 * What the gradient is multiplied by, if it does not depend on the loss, goes before it, into its
 * segment: inputs of both segments must be there before the first.  `wanted`, ret_map and errors as above. */
TUTTI_NODISCARD tutti_status fuse_loss_grads(const graph *from, const bool *wanted, graph *to,
                                             tutti_value *ret_map, tutti_error *err);

/* Copies `from`, gradient and all, into the empty graph `to`, with every F32 result whose only reader is
 * a cast to 16 bits stored in 16 bits directly, and every product of 16 bits that a norm's gradient alone reads
 * as it is, in its factors' dtype.  Such a gradient reads 16 bits without a cast to F32.  For devices
 * whose kernels take each operand and result in any float dtype.  A cast's values stay, a product's
 * are rounded.  `wanted`, ret_map and errors as above. */
TUTTI_NODISCARD tutti_status fuse_casts(const graph *from, const bool *wanted, graph *to,
                                        tutti_value *ret_map, tutti_error *err);
/* The same for the CPU, where it holds of operations whose kernels read and write 16 bits by themselves
 * (precision_cpu_writes). */
TUTTI_NODISCARD tutti_status fuse_casts_cpu(const graph *from, const bool *wanted, graph *to,
                                            tutti_value *ret_map, tutti_error *err);

#endif
