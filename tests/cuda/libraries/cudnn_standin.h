/* cudnn_standin.h - the inside of a libcudnn without a GPU: descriptors, graphs, their maths. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_CUDA_LIBRARIES_CUDNN_STANDIN_H
#define TESTS_CUDA_LIBRARIES_CUDNN_STANDIN_H

#include "common/cuda/libraries/cudnn.h"
#include "misuse.h"

enum { SUCCESS = 0, NOT_INITIALIZED = 1001, BAD_PARAM = 2000, NOT_SUPPORTED = 3000 };
enum { ATTRIBUTES_MAX = 16, TENSORS_MAX = 64 };
enum { WORKSPACE = 4096 }; /* what every plan asks for, and fills with NaN */

/* One attribute as it was set. */
typedef struct attribute {
    uint32_t name, type;
    int64_t count;
    void *values;
} attribute;

typedef struct descriptor {
    uint32_t type;
    uint32_t nattributes;
    bool finished;
    attribute attributes[ATTRIBUTES_MAX];
    /* Engine configurations: which of the engines, and its only knob; engines too, knobs' choices the
     * latter. */
    uint32_t engine, tile;
    struct descriptor *graph; /* engine configurations and engines: for what */
} descriptor;

enum { UNSTEADY, ROUNDING, RIGHT, ENGINES }; /* the first two are traps */
enum { TILE_KNOB = 2 };                      /* its type */
enum { QUITE_SLOW, QUICK, SLOW, TILES, SLOW_US = 500 };

/* The attribute, or NULL with a misuse when it must be there. */
const attribute *attribute_of(const descriptor *d, uint32_t name);
int64_t attribute_int(const descriptor *d, uint32_t name);      /* INT64, first element */
int32_t attribute_enum(const descriptor *d, uint32_t name);     /* any enum */
descriptor *attribute_desc(const descriptor *d, uint32_t name); /* NULL: not set */
const char *finish_error(const descriptor *d); /* what is missing or wrong, or NULL */

/* ---- a graph with everything that it needs, to be copied ---- */

typedef struct flat_tensor {
    int64_t uid;
    int32_t dtype; /* CDNN_DATA_* */
    int32_t rank;
    int32_t is_virtual, by_value;
    int64_t dim[5], stride[5];
    void *data;      /* of the variant pack */
    float value;     /* where it is by value */
    int32_t view;    /* 1 + the tensor whose storage this is, after a reshape */
    double *storage; /* while the graph runs: by offset in memory */
} flat_tensor;

typedef struct flat_op {
    uint32_t type; /* CDNN_BACKEND_OPERATION_* */
    int32_t mode;  /* pointwise mode, reduction operator */
    int64_t axis;
    int32_t operand[4]; /* indices of tensors, or -1; the last is the result */
    int64_t stride[2], padding[2], dilation[2];
    float beta; /* convolutions: times what the result was; alpha is 1 */
} flat_op;

typedef struct flat_graph {
    uint32_t ntensors, nops;
    uint32_t engine;
    uint32_t wait_us;
    void *workspace;
    flat_tensor tensors[TENSORS_MAX];
    flat_op ops[CDNN_OPS_MAX];
} flat_graph;

/* Returns what is wrong with the operation graph, or NULL. */
const char *flatten(const descriptor *graph, flat_graph *ret);
int number_kind(int32_t dtype); /* NUMBER_*, or -1 */
void flat_run(void *graph);     /* a flat_graph, on the stream */

#endif
