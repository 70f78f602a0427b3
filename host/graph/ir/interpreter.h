/* interpreter.h - runs any graph in f64 by the ops' reference maths: what every pass must preserve. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_GRAPH_IR_INTERPRETER_H
#define HOST_GRAPH_IR_INTERPRETER_H

#include "graph/ir/graph.h"

typedef struct interp interp;

/* Memory for every value that `g` has now; constants are filled in.  `g` outlives it. */
TUTTI_NODISCARD tutti_status interp_create(const graph *g, interp **ret_interp,
                                           tutti_error *err);
void interp_destroy(interp *it); /* NULL is allowed */

/* The numbers of `v`: write those of inputs and weights before the run, read any after it. */
double *interp_value(interp *it, tutti_value v);
void interp_load(interp *it, tutti_value v, const tutti_tensor *t); /* same shape */

/* Runs nodes [first, last).  Errors name module path and op. */
TUTTI_NODISCARD tutti_status interp_run(interp *it, uint32_t first, uint32_t last,
                                        const tutti_step *step, tutti_error *err);

/* Element k of a tensor of any dtype as f64, and back (integers are rounded to nearest). */
double tensor_get(const tutti_tensor *t, int64_t k);
void tensor_set(const tutti_tensor *t, int64_t k, double value);

#endif
