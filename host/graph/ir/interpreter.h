/* interpreter.h - runs any graph in f64 by the ops' reference maths: what every pass must preserve. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_GRAPH_IR_INTERPRETER_H
#define HOST_GRAPH_IR_INTERPRETER_H

#include "graph/ir/graph.h"

typedef struct interpreter interpreter;

/* Memory for every value that `g` has now; constants are filled in.  `g` outlives it. */
TUTTI_NODISCARD tutti_status interpreter_create(const graph *g, interpreter **ret_interp,
                                                tutti_error *err);
void interpreter_destroy(interpreter *it); /* NULL is allowed */

/* The numbers of `v`: write those of inputs and weights before the run, read any after it. */
double *interpreter_value(interpreter *it, tutti_value v);
void interpreter_load(interpreter *it, tutti_value v, const tutti_tensor *t); /* same shape */

/* Runs nodes [first, last).  Errors name module path and op. */
TUTTI_NODISCARD tutti_status interpreter_run(interpreter *it, uint32_t first, uint32_t last,
                                             const tutti_step *step, tutti_error *err);

/* Element k of a tensor of any dtype as f64, and back (integers are rounded to nearest). */
double tensor_get(const tutti_tensor *t, int64_t k);
void tensor_set(const tutti_tensor *t, int64_t k, double value);

#endif
