/* onnx_model.h - an ONNX graph as the messages of its file. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_EXPORT_ONNX_MODEL_H
#define HOST_EXPORT_ONNX_MODEL_H

#include "export/onnx_trace.h"
#include "onnx.pb-c.h"

typedef struct onnx_model {
    Onnx__ModelProto proto;
    pool pool; /* of the messages */
    uint64_t weight_bytes;
    uint32_t weights; /* the first initializers */
    uint32_t reserved;
} onnx_model;

/* Weights are borrowed from `n` where they lie as the file has them.  `t` outlives *ret.  [control] */
TUTTI_NODISCARD tutti_status onnx_model_make(const net *n, const onnx_trace *t,
                                             const onnx_options *o, onnx_model *ret,
                                             tutti_error *err);
void onnx_model_fini(onnx_model *m);
/* `size` zeroed bytes that live as long as the model; NULL: out of memory. */
void *onnx_model_take(onnx_model *m, size_t size);

#endif
