/* onnx.h - a trained model as an ONNX file. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_EXPORT_ONNX_H
#define HOST_EXPORT_ONNX_H

#include "graph/net/net.h"

typedef struct onnx_options {
    const char *model;   /* its name; doc_string and name of the graph */
    const char *version; /* of this program */
    int64_t samples;     /* the number of samples, fixed; 0: any where the model allows it */
    uint64_t
        external_above; /* weights of more bytes in all go to FILE.data; 0: 1.5 GiB, since no
                                protobuf file may have 2 */
} onnx_options;

/* What came of it. */
typedef struct onnx_report {
    uint32_t nodes, weights;
    uint64_t weight_bytes;
    int64_t samples;  /* fixed; 0: any */
    char reason[240]; /* why it is fixed though nobody asked; "" */
    bool external;
} onnx_report;

/* Writes the evaluation-mode forward pass of `n` in f32 to `path` (FILE.part, then renamed), opset 17.  Inputs have
 * the names of the model's columns, outputs are "output", or "output_0" ..., initializers have the paths of
 * weights; those of 4 dimensions lie as ONNX's convolutions want them.
 * Errors: E_UNSUPPORTED names the operation that has no form in ONNX and its module, or the library that this
 * program was built without; E_IO; those of the trace.  [control] */
TUTTI_NODISCARD tutti_status onnx_export(net *n, const char *path, const onnx_options *o,
                                         onnx_report *ret_report, tutti_error *err);

#endif
