/* graph_def.h - the model as the GraphDef that TensorBoard's graphs are drawn from. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TENSORBOARD_GRAPH_DEF_H
#define TENSORBOARD_GRAPH_DEF_H

#include "tutti/plan.h"
#include "wire.h"

/* Of the plan that the training batch under way has: a node for each operation of the forward pass, "conv1/conv2d_0",
 * below the modules that it belongs to, and one for each input, weight and constant that one of them reads.  Each has
 * its results' shapes.  *ret_def is freed by the caller, as `data`, also after an error.
 * Errors: those of the plan; E_NOMEM. */
TUTTI_NODISCARD tutti_status graph_def_write(const tutti_plan_v1 *plan, bytes *ret_def,
                                             tutti_error *err);

#endif
