/* cudnn.h - the part of cuDNN 9's backend API that is used, and plans made of its graphs. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_COMMON_CUDA_LIBRARIES_CUDNN_H
#define KERNELS_COMMON_CUDA_LIBRARIES_CUDNN_H

#include "common/cuda/libraries/cudnn_values.h"
#include "common/cuda/libraries/symbols.h"
#include "tutti/tensor.h"

#include <stddef.h>

/* X(member, NVIDIA's name, arguments): all of them return a cudnnStatus_t. */
#define CDNN_FUNCTIONS(X)                                                                      \
    X(create, cudnnCreate, (void **handle))                                                    \
    X(destroy, cudnnDestroy, (void *handle))                                                   \
    X(set_stream, cudnnSetStream, (void *handle, void *stream))                                \
    X(desc_create, cudnnBackendCreateDescriptor, (uint32_t type, void **desc))                 \
    X(desc_destroy, cudnnBackendDestroyDescriptor, (void *desc))                               \
    X(desc_finish, cudnnBackendFinalize, (void *desc))                                         \
    X(desc_set, cudnnBackendSetAttribute,                                                      \
      (void *desc, uint32_t attribute, uint32_t type, int64_t count, const void *values))      \
    X(desc_get, cudnnBackendGetAttribute,                                                      \
      (void *const desc, uint32_t attribute, uint32_t type, int64_t wanted,                    \
       int64_t *ret_count, void *values))                                                      \
    X(execute, cudnnBackendExecute, (void *handle, void *plan, void *pack))

typedef struct cdnn {
    void *handle;     /* NULL: there is no device to run on, only one described */
    uint64_t version; /* 91900: 9.19.0; choices are kept for one version */
    void (*last_error)(char *text, size_t size); /* cudnnGetLastErrorString */
#define CDNN_MEMBER(member, name, args) uint32_t(*member) args;
    CDNN_FUNCTIONS(CDNN_MEMBER)
#undef CDNN_MEMBER
} cdnn;

/* The device's own, made by the first call.  Errors: NOTFOUND no such library, FAIL.  [control] */
TUTTI_NODISCARD tutti_status cdnn_of(const tutti_cuda_v1 *cuda, const cdnn **ret_lib,
                                     tutti_error *err);

/* Fills in the functions alone.  [control] */
TUTTI_NODISCARD tutti_status cdnn_load(void *ctx, cuda_finder *find, cdnn *ret_lib,
                                       tutti_error *err);

/* ---- graphs ---- */

enum { CDNN_MADE_MAX = 160, CDNN_OPS_MAX = 32, CDNN_UIDS_MAX = 24, CDNN_KNOBS_MAX = 64 };

/* A graph under construction; begin with {.lib = ...}.  The first failure is kept, and what follows
 * does nothing. */
typedef struct cdnn_graph {
    const cdnn *lib;
    void *device; /* a finished DEVICEPROP descriptor; NULL: the device of lib->handle */
    uint32_t failed;
    uint32_t nmade;
    uint32_t nops;
    uint32_t reserved;
    int64_t next_uid;          /* of virtual tensors, counted down from 0 */
    void *made[CDNN_MADE_MAX]; /* every descriptor, in the order in which they were made */
    void *ops[CDNN_OPS_MAX];
} cdnn_graph;

/* How a tensor is found: by its number in the variant pack (1 and up), or not at all. */
enum { CDNN_MEMORY, CDNN_VIRTUAL, CDNN_BY_VALUE };

typedef struct cdnn_tensor {
    int64_t uid;   /* 0: the graph numbers it, for virtual ones */
    int32_t dtype; /* CDNN_DATA_* */
    int32_t kind;  /* CDNN_MEMORY ... */
    int32_t rank;
    int32_t alignment; /* in bytes; 0: 16 */
    int64_t dim[5];
    int64_t stride[5];
} cdnn_tensor;

uint32_t cdnn_dtype(int32_t dtype); /* TUTTI_F32, BF16 or F16 as CDNN_DATA_* */

void *cdnn_make(cdnn_graph *g, uint32_t type);
void cdnn_set(cdnn_graph *g, void *desc, uint32_t attribute, uint32_t type, int64_t count,
              const void *values);
void cdnn_set_desc(cdnn_graph *g, void *desc, uint32_t attribute, void *value);
void cdnn_set_value(cdnn_graph *g, void *desc, uint32_t attribute, uint32_t type,
                    int32_t value);             /* of an enum */
void *cdnn_finish(cdnn_graph *g, void *desc);   /* gives desc back */
void cdnn_finish_op(cdnn_graph *g, void *desc); /* it joins the graph's operations */
void *cdnn_add_tensor(cdnn_graph *g, const cdnn_tensor *t);
void cdnn_drop(cdnn_graph *g); /* its descriptors; a plan that was made has taken them over */

/* y = x, x and b, or x, b and t under `mode`, computed in f32; axis counts for GEN_INDEX, else -1. */
typedef struct cdnn_pointwise {
    uint32_t mode;     /* CDNN_POINTWISE_* */
    int32_t precision; /* CDNN_DATA_* */
    int64_t axis;
    void *x, *b, *t, *y; /* tensors; b and t may be NULL */
} cdnn_pointwise;
void cdnn_add_pointwise(cdnn_graph *g, const cdnn_pointwise *p);

/* ---- plans ---- */

typedef struct cdnn_plan cdnn_plan;

/* Engines with such numerical notes are passed over: bits 1 << CDNN_NUMERICAL_NOTE_*. */
#define CDNN_REFUSE                                                                            \
    (1u << CDNN_NUMERICAL_NOTE_NONDETERMINISTIC |                                              \
     1u << CDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION)
#define CDNN_REFUSE_TF32                                                                       \
    (1u << CDNN_NUMERICAL_NOTE_TENSOR_CORE | 1u << CDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS)

/* What plans of one graph are measured with. */
typedef struct cdnn_trial {
    const tutti_cuda_v1 *cuda;
    const char *key; /* everything that a choice is for beside GPU and library */
    uint32_t n;      /* tensors */
    uint32_t reserved;
    const int64_t *uids;
    const uint64_t *bytes; /* of each of them */
} cdnn_trial;

/* By heuristic A, then by the fallback list: engines that are not refused, finish, and ask for at most
 * `workspace` bytes.  The first of them; or, with a trial, of the first six the one that is measured to be
 * the fastest, or that was, as the device's file of choices has it.  Takes g's descriptors over, also on
 * failure.  Errors: UNSUPPORTED (the text ends in cuDNN's), NOMEM.  [control] */
TUTTI_NODISCARD tutti_status cdnn_plan_make(cdnn_graph *g, uint32_t refuse, uint64_t workspace,
                                            const cdnn_trial *trial, cdnn_plan **ret_plan,
                                            tutti_error *err);
/* The engine with its settings, "12 2=1 7=3"; empty where the library does not tell. */
const char *cdnn_plan_name(const cdnn_plan *p);
/* As cdnn_plan_make, by the engine of that name alone. */
TUTTI_NODISCARD tutti_status cdnn_plan_make_named(cdnn_graph *g, uint32_t refuse,
                                                  uint64_t workspace, const char *name,
                                                  cdnn_plan **ret_plan, tutti_error *err);
uint64_t cdnn_plan_workspace(const cdnn_plan *p);
/* Tensor uids[k] lies at data[k]; values are read from the host before it returns.  [step] */
TUTTI_NODISCARD tutti_status cdnn_plan_run(cdnn_plan *p, void *stream, uint32_t n,
                                           const int64_t *uids, void *const *data,
                                           void *workspace);
void cdnn_plan_destroy(cdnn_plan *p); /* NULL is allowed */

#endif
