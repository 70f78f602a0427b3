/* onnx_trace.h - the model as an ONNX graph. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_EXPORT_ONNX_TRACE_H
#define HOST_EXPORT_ONNX_TRACE_H

#include "export/onnx.h"
#include "export/onnx_graph.h"
#include "graph/net/eval_graph.h"

/* Its inputs are the values 1 to ninputs. */
typedef struct onnx_trace {
    onnx_graph g;
    uint32_t ninputs;
    uint32_t noutputs;
    const char *names[TUTTI_MAX_COLUMNS]; /* of the inputs */
    tutti_value outputs[EVAL_GRAPH_MAX_OUTPUTS];
    tutti_desc output_desc[EVAL_GRAPH_MAX_OUTPUTS];
    onnx_dims output_dims[EVAL_GRAPH_MAX_OUTPUTS];
} onnx_trace;

/* For any number of samples where the model allows that and `samples` is 0, else for a fixed one, which *ret_report
 * tells with the reason.  [control] */
TUTTI_NODISCARD tutti_status onnx_trace_model(net *n, int64_t samples, onnx_trace *ret,
                                              onnx_report *ret_report, tutti_error *err);
void onnx_trace_fini(onnx_trace *t);

#endif
