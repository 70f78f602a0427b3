/* onnx_graph.h - an ONNX graph under construction, whose builder is what the rules of operations see. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_EXPORT_ONNX_GRAPH_H
#define HOST_EXPORT_ONNX_GRAPH_H

#include "graph/ir/pool.h"
#include "tutti/onnx.h"
#include "tutti/op.h"

#include <stdbool.h>

enum { ONNX_NODE, ONNX_INPUT, ONNX_WEIGHT, ONNX_CONSTANT, ONNX_DIMS };

/* How many samples the two traces have whose difference tells what depends on that number; for one trace both
 * are the same. */
typedef struct onnx_samples {
    int64_t here, there;
} onnx_samples;

/* Dimensions: dim[k] is as it is, or where factor[k] is not 0, so many times the number of samples. */
typedef struct onnx_dims {
    int64_t dim[TUTTI_MAX_RANK], factor[TUTTI_MAX_RANK];
    int32_t rank;
    int32_t reserved;
} onnx_dims;

typedef struct onnx_value {
    int32_t kind;     /* ONNX_* */
    uint32_t index;   /* NODE: its node; INPUT: its number; WEIGHT: the id */
    tutti_desc desc;  /* dtype NONE: not known */
    onnx_dims dims;   /* INPUT, DIMS, and what the model gives */
    void *data;       /* CONSTANT */
    tutti_value base; /* 0, or what this is a transpose of */
    int32_t reserved;
    int64_t order[TUTTI_MAX_RANK]; /* then: dimension k is the base's order[k] */
} onnx_value;

typedef struct onnx_node {
    const char *type;
    const char *scope; /* path of the module */
    const char *op;    /* the operation of ours that it comes from */
    tutti_value *in;
    tutti_attr *attr;
    uint32_t nin, nattr;
    tutti_value out;
    bool live;
} onnx_node;

typedef struct onnx_graph {
    pool pool;
    tutti_graph builder;
    onnx_value *values; /* [0] is none */
    onnx_node *nodes;
    uint32_t nvalues, nnodes, values_capacity, nodes_capacity;
    onnx_samples samples;
    const char *scope, *op; /* of what is emitted now */
    tutti_value batch;      /* the number of samples, I64 (1); 0: nobody has asked yet */
    bool fixed;             /* a shape depends on the number of samples in another way */
    tutti_error error;      /* the first */
} onnx_graph;

void onnx_graph_init(onnx_graph *g, onnx_samples samples);
void onnx_graph_fini(onnx_graph *g);
/* What is emitted from here on comes from operation `op` of the module at `scope`. */
void onnx_graph_at(onnx_graph *g, const char *scope, const char *op);
/* `here` and `there`: the shapes of one value in the two traces. */
onnx_dims onnx_dims_of(onnx_graph *g, const tutti_desc *here, const tutti_desc *there);
/* A value without operands; 0 after an error. */
tutti_value onnx_graph_leaf(onnx_graph *g, int32_t kind, uint32_t index, const tutti_desc *desc,
                            const onnx_dims *dims);
/* x with dimension k being x's order[k]: of transposes of transposes one is left, or none. */
tutti_value onnx_graph_transpose(onnx_graph *g, tutti_value x, const int64_t *order,
                                 int32_t rank);
/* Marks what `outputs` need. */
void onnx_graph_mark(onnx_graph *g, const tutti_value *outputs, uint32_t noutputs);
/* The first node in which two graphs differ that come from traces of other numbers of samples; NULL: none. */
const onnx_node *onnx_graph_difference(const onnx_graph *a, const onnx_graph *b);

#endif
