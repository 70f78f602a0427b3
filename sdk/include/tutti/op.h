/* op.h - tutti.op/1: one operation of the graph, with its shapes, gradient, maths and kernels. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TUTTI_OP_H
#define TUTTI_OP_H

#include "cuda.h"
#include "graph.h"
#include "op_packing.h"
#include "op_traits.h"

TUTTI_C_BEGIN

#define TUTTI_OP_V1                                                                            \
    "tutti.op/1" /* what an object of kind op answers with a tutti_op of its name */

enum {
    TUTTI_OP_RNG = 1u << 0,  /* draws random numbers: never merged with an equal node */
    TUTTI_OP_VIEW = 1u << 1, /* out[0] is in[0]'s memory under another shape; no kernel */
    TUTTI_OP_ELEMENTWISE = 1u << 2, /* out[k] depends on in[k] alone, after broadcasting */
    TUTTI_OP_COMMUTATIVE = 1u << 3, /* in[0] and in[1] may be swapped */
    TUTTI_OP_FUSED = 1u << 4,       /* `decompose` expresses it in simpler operations */
    TUTTI_OP_HALF =
        1u << 5, /* its kernels take BF16 and F16 for F32 operands and results in the
                               shape of in[0]; elsewhere, and without this, the host converts around
                               them.  infer sees F32 in either case */
    TUTTI_OP_BF16 =
        1u
        << 6 /* its CPU kernel takes BF16, or F16, for any F32 operand or result where the CPU
                               has units for that; elsewhere its prepare says E_UNSUPPORTED, and the
                               host converts around it */
#if TUTTI_USE_MINOR >= 1
    ,
    TUTTI_OP_REPRODUCIBLE =
        1u
        << 7 /* since 1.1: its CPU kernel gives the same bits on every x86-64 CPU with AVX2 and FMA, with
                               any number of threads: the order of its sums depends on shapes alone, and it
                               calls neither libm nor libraries that choose kernels by the CPU.  Of several
                               algorithms that of `prepare_reproducible` does.  Runs with
                               "deterministic": "anywhere" refuse operations without it */
#endif
};

/* A list attribute inside an attribute struct. */
typedef struct tutti_list {
    int64_t n;
    int64_t v[TUTTI_MAX_RANK];
} tutti_list;

/* Describes one member of the op's attribute struct: int64_t, double or tutti_list. */
typedef struct tutti_attr_field {
    const char *name;
    int32_t type;    /* TUTTI_ATTR_* */
    uint32_t offset; /* in the attribute struct */
    int64_t i;       /* default of an I64; a LIST defaults to empty */
    double f;        /* default of an F64 */
} tutti_attr_field;

/* Numbers that change from run to run without a new plan. */
typedef struct tutti_step {
    uint32_t struct_size;
    uint32_t microbatch;   /* index in the batch */
    uint64_t seed;         /* of the run */
    uint64_t step;         /* training batches completed */
    uint64_t first_sample; /* of this microbatch within the batch */
} tutti_step;

#if TUTTI_USE_MINOR >= 1
enum { TUTTI_CHOICE_LIBRARY = 32, TUTTI_CHOICE_TEXT = 224 };

/* since 1.1: by what a kernel with several algorithms runs a call, for people.  Texts end in 0; they are cut,
 * never refused. */
typedef struct tutti_op_choice {
    uint32_t struct_size;
    int32_t
        refused; /* 1: a library that is meant for such calls is missing or refuses this one */
    char library[TUTTI_CHOICE_LIBRARY]; /* "cuBLASLt 13.1.0"; "": a kernel of its own */
    /* The library's algorithm, "algorithm 66, tile 20", or why there is no library. */
    char text[TUTTI_CHOICE_TEXT];
} tutti_op_choice;
#endif

/* What infer, prepare and run see of one node.  The host owns everything; valid for the call,
 * and from prepare to destroy except `step`. */
typedef struct tutti_op_call {
    uint32_t struct_size;
    uint32_t nin;
    uint32_t nout;
    int32_t threads;        /* how many a kernel may use */
    const tutti_desc *in;   /* nin */
    const tutti_desc *out;  /* nout; NULL in infer */
    const void *attr;       /* the op's attribute struct, defaults filled in */
    const tutti_step *step; /* run only; never NULL there */
    /* prepare and run of a CUDA kernel, infer of TUTTI_ROLE_POINTWISE_GROUP for a CUDA device; elsewhere NULL */
    const tutti_cuda_v1 *cuda;
#if TUTTI_USE_MINOR >= 1
    /* since 1.1: the host's, zero but for its struct_size: prepare may fill it.  NULL in run, and where nobody asks. */
    tutti_op_choice *choice;
#endif
} tutti_op_call;

/* One node as its gradient rule sees it. */
typedef struct tutti_node {
    uint32_t struct_size;
    uint32_t nin;
    uint32_t nout;
    uint32_t need; /* bit k: dx[k] is wanted */
    const tutti_value *in;
    const tutti_value *out;
    const void *attr;
} tutti_node;

/* An implementation for one device.  prepare may fail with a reason; run has nothing left to fail
 * with but the device.  A kernel never logs, waits or exits, and allocates in prepare only. */
typedef struct tutti_kernel {
    uint32_t struct_size;
    uint32_t inplace; /* bit k: out[0] may lie where in[k] lay, shapes and dtypes equal */
    /* Once per plan node.  *ret_state goes to run and destroy; *ret_scratch bytes (64-byte aligned)
     * come back as `scratch`.  NULL when there is nothing to prepare.  [control] */
    tutti_status (*prepare)(const tutti_op_call *c, void **ret_state, uint64_t *ret_scratch,
                            tutti_error *err);
    /* in[k] and out[k] are dense, 64-byte aligned, distinct unless `inplace` says so.  Zero
     * elements are legal.  [step] */
    tutti_status (*run)(void *state, const tutti_op_call *c, const void *const *in,
                        void *const *out, void *scratch);
    void (*destroy)(void *state); /* NULL when prepare is; [control] */
} tutti_kernel;

/* More than one algorithm for a kernel: the host takes the fastest that it measured for these
 * shapes on this machine.  run and destroy are the kernel's, for the states of all algorithms. */
typedef struct tutti_algorithms {
    uint32_t struct_size;
    uint32_t reserved;
    /* The name of algorithm k for this call, without tabs, different for different libraries and
     * versions; NULL behind the last.  The kernel's own prepare makes algorithm 0.  [any] */
    const char *(*name)(const tutti_op_call *c, uint32_t k);
    /* As the kernel's prepare; E_UNSUPPORTED: algorithm k cannot do this call.  [control] */
    tutti_status (*prepare)(const tutti_op_call *c, uint32_t k, void **ret_state,
                            uint64_t *ret_scratch, tutti_error *err);
#if TUTTI_USE_MINOR >= 1
    /* since 1.1: as the kernel's prepare, the algorithm that TUTTI_OP_REPRODUCIBLE promises; it is none of
     * those that are measured.  E_UNSUPPORTED for 16 bits: the host converts around it.  NULL: the kernel's own
     * prepare makes it.  [control] */
    tutti_status (*prepare_reproducible)(const tutti_op_call *c, void **ret_state,
                                         uint64_t *ret_scratch, tutti_error *err);
#endif
} tutti_algorithms;

typedef struct tutti_op {
    uint32_t struct_size;
    uint32_t flags; /* TUTTI_OP_* */
    const char *name;
    uint32_t nin_min;
    uint32_t nin_max;
    uint32_t nout;
    uint32_t attr_size;             /* of the attribute struct; 0 for none */
    const tutti_attr_field *fields; /* NULL when attr_size is 0 */
    uint64_t nfields;
    /* Checks c->in and c->attr and writes out[0..nout).  Texts begin with the op's name:
     * "conv2d: x is f32 (8, 3), want rank 4".  [any] */
    tutti_status (*infer)(const tutti_op_call *c, tutti_desc *out, tutti_error *err);
    /* Emits the gradient: dy[k] is the gradient of out[k] (0 when there is none), dx[k] is to be
     * written for every bit of n->need (0 means "no gradient flows").  NULL: not differentiable.
     * [control] */
    tutti_status (*vjp)(tutti_graph *g, const tutti_node *n, const tutti_value *dy,
                        tutti_value *dx);
    /* Emits the same result out of simpler operations, for higher orders; NULL when the op is
     * simple itself.  [control] */
    tutti_status (*decompose)(tutti_graph *g, const tutti_node *n, tutti_value *ret_out);
    /* The definition, in f64, one thread, clarity first; integers and masks arrive as f64 too.
     * NULL only for views.  [any] */
    tutti_status (*reference)(const tutti_op_call *c, const double *const *in,
                              double *const *out);
    const tutti_kernel *cpu;
    const tutti_kernel *cuda;               /* NULL when there is none */
    const tutti_algorithms *cpu_algorithms; /* NULL: there is one */
    const tutti_op_traits *traits;          /* NULL: nothing is said */
#if TUTTI_USE_MINOR >= 2
    const tutti_packing *cpu_packing; /* since 1.2; NULL: operands are read as they lie */
#endif
} tutti_op;

TUTTI_C_END
#endif
