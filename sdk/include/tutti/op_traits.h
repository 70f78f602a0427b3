/* op_traits.h - what a compiler asks of an operation: precision, batch, folding, cost, fusion. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TUTTI_OP_TRAITS_H
#define TUTTI_OP_TRAITS_H

#include "graph.h"

TUTTI_C_BEGIN

#define TUTTI_OP_MAX_IN 16
#define TUTTI_OP_MAX_OUT 6

struct tutti_op_call;
struct tutti_node;
struct tutti_onnx;

/* In all of these 0 is "not said": the host then does what is right for any operation, and the tests of
 * the built-in ones fail. */

/* The dtypes of float results when operands have 16 bits.  Kernels compute in F32 or better in each. */
enum {
    TUTTI_AUTOCAST_F32 = 1, /* results are F32: sums, means, softmax, losses, exp, log, pow */
    TUTTI_AUTOCAST_PRODUCT, /* operands `low_in` are read in 16 bits, results `low_out` are stored so
                                in mixed precision; other results are F32.  Since 1.2 operands `low_in` of
                                8 bits are cast to these 16, without mixed precision to F32 */
    TUTTI_AUTOCAST_KEEP,  /* result 0 has the dtype of operand 0, other results are F32 */
    TUTTI_AUTOCAST_WIDEST /* as the widest operand of more than one element */
};

/* Whether a kernel that knows F32 alone may see the batch in parts, so that their copies stay in cache. */
enum {
    TUTTI_BATCH_WHOLE = 1, /* it sees all samples at once */
    TUTTI_BATCH_APART,     /* samples do not depend on each other */
    TUTTI_BATCH_SUMMED     /* likewise, and result 0, F32, is a sum over them */
};

/* What of an operation is known without running it. */
enum {
    TUTTI_FOLD_NEVER = 1, /* a run decides: it draws, or reads more than its operands */
    TUTTI_FOLD_CONSTANTS, /* what it gives for constants */
    TUTTI_FOLD_IDENTITY   /* and `identity` tells when it gives an operand back */
};

/* Whether the backward pass may compute result 0 once more instead of keeping it. */
enum {
    TUTTI_REMATERIALIZE_NEVER = 1, /* it costs more than the memory that it moves */
    TUTTI_REMATERIALIZE_SAME,      /* by the same operation of the same operands */
    TUTTI_REMATERIALIZE_BY,        /* by what `rematerialize` says */
    TUTTI_REMATERIALIZE_BY_F32 /* likewise, where kernels of the host gave results that are F32:
                                      elsewhere the operation reads what is not rounded yet */
};

/* How much multiplying it is. */
enum {
    TUTTI_WORK_UNCOUNTED = 1, /* bound by memory, or not counted */
    TUTTI_WORK_PRODUCTS       /* `flops` counts */
};

/* Whether it can be one of a fused group of pointwise operations. */
enum {
    TUTTI_POINTWISE_NONE = 1, /* it is not ELEMENTWISE, or draws, or has a state */
    TUTTI_POINTWISE_HOST,     /* its own CPU kernel, tile by tile */
    TUTTI_POINTWISE_CODE /* and its expression is in device code of the host's fused kernel: a built-in one's
                            always, a plugin's by `pointwise_cuda` */
};

/* What compilers look for by meaning. */
enum {
    TUTTI_ROLE_OTHER = 1,
    TUTTI_ROLE_CAST,      /* operand 0 in the dtype of attribute "dtype" */
    TUTTI_ROLE_ADD,       /* operand 0 + operand 1 */
    TUTTI_ROLE_BROADCAST, /* every element is one of operand 0's */
    TUTTI_ROLE_SCATTER_ADD, /* operand 0, with rows of operand 2 added at those that operand 1 names */
    TUTTI_ROLE_SUM,         /* sums over the dimensions that result 0 lacks or has 1 of */
    TUTTI_ROLE_ACTIVATION,      /* `activation` of operand 0 */
    TUTTI_ROLE_ACTIVATION_GRAD, /* operand 0 times the derivative of `activation`, from operand 1 */
    TUTTI_ROLE_POINTWISE_GROUP /* runs a fused group on a device: tutti_pointwise_group */
};

/* What an activation is called as attribute `act` of an operation that has it as its epilogue. */
enum { TUTTI_ACT_NONE, TUTTI_ACT_RELU, TUTTI_ACT_GELU, TUTTI_ACT_GELU_TANH };

/* The fusions that an operation takes part in: with what is named it becomes the operation `into`.
 * `into` gets the attributes of this one. */
enum {
    TUTTI_FUSE_ACTIVATION =
        1, /* an activation of result 0: attribute `act`; result 0 is then that */
    TUTTI_FUSE_ACTIVATION_KEPT, /* likewise; result 1 is what went into the activation */
    TUTTI_FUSE_ACTIVATION_MASK, /* likewise, of ReLU; result 1 is a mask of bits for the next */
    TUTTI_FUSE_MASK_GRAD, /* the gradient of ReLU, read from such a mask, the last operand */
    TUTTI_FUSE_ACTIVATION_GRAD, /* the gradient of an activation: its other operand is the last one */
    TUTTI_FUSE_ADD,             /* an addition: the other term is operand 2 */
    TUTTI_FUSE_FACTOR_SUMS, /* sums over the rows of factor `of`, an attribute: the last result */
    TUTTI_FUSE_RESIDUAL_RELU, /* ReLU as `act`, and before that the addition of a last operand */
    TUTTI_FUSE_RESIDUAL_GRAD  /* the addition of a last operand to result 0 */
#if TUTTI_USE_MINOR >= 2
    ,
    TUTTI_FUSE_CAST, /* since 1.2: a cast of result 0 to 16 bits beside it: the last result */
    /* since 1.2: a loss and its gradient for operand 0, both of which say this: `into` has the
     * operands of the gradient, which are the loss's and one more; results: gradient, loss */
    TUTTI_FUSE_LOSS_GRAD,
    /* since 1.2: the gradient of ReLU as operand 1, and before that an addition: operand 1 is then a term, the last
     * operands ReLU's result and, with an addition, the other term; the last result is that gradient.  CPUs alone */
    TUTTI_FUSE_RELU_GRAD
#endif
};

typedef struct tutti_fusion {
    int32_t with; /* TUTTI_FUSE_*; 0 ends the list */
    int32_t reserved;
    const char *into; /* the name of an operation */
} tutti_fusion;

/* An operation that gives again what another gave. */
typedef struct tutti_substitute {
    const char *op;
    uint32_t nin;
    uint32_t nattr;
    tutti_value in[TUTTI_OP_MAX_IN];
    tutti_attr attr[4];
} tutti_substitute;

/* Grows at its end; the host reads as much as `struct_size` says. */
typedef struct tutti_op_traits {
    uint32_t struct_size;
    int32_t precision;     /* TUTTI_AUTOCAST_* */
    uint32_t low_in;       /* PRODUCT: bit k: operand k */
    uint32_t low_out;      /* PRODUCT: bit k: result k; F32: those of TUTTI_FUSE_CAST */
    int32_t batch;         /* TUTTI_BATCH_* */
    uint32_t batch_nin;    /* APART, SUMMED: with so many operands at most */
    uint32_t batch_in;     /* bit k: the first dimension of operand k counts samples */
    uint32_t batch_out;    /* bit k: that of result k */
    int32_t fold;          /* TUTTI_FOLD_* */
    int32_t rematerialize; /* TUTTI_REMATERIALIZE_* */
    int32_t work;          /* TUTTI_WORK_* */
    int32_t pointwise;     /* TUTTI_POINTWISE_* */
    int32_t role;          /* TUTTI_ROLE_* */
    int32_t reserved;
    /* Bit k: result 0 is operand k wherever both have one shape and dtype.  constant[k] is the data of
     * operand k where that is a constant, else NULL.  [any] */
    uint32_t (*identity)(const struct tutti_op_call *c, const void *const *constant);
    /* Two for every product; c->out is filled in.  [any] */
    double (*flops)(const struct tutti_op_call *c);
    /* What gives result 0 of node `n` again; may read its results.  [control] */
    void (*substitute)(const struct tutti_node *n, tutti_substitute *ret);
    /* TUTTI_ACT_* of these attributes.  [any] */
    int32_t (*activation)(const void *attr);
    const tutti_fusion *fusions; /* NULL: none */
#if TUTTI_USE_MINOR >= 1
    /* since 1.1: the operator of ONNX that it is, operand by operand and without attributes; NULL: `onnx` says
     * more. */
    const char *onnx_type;
    /* since 1.1: emits the ONNX operators of a node (onnx.h) and returns result 0, or 0 after an error.  NULL, with
     * onnx_type NULL: it cannot be exported.  [control] */
    tutti_value (*onnx)(const struct tutti_onnx *o);
#endif
#if TUTTI_USE_MINOR >= 2
    /* since 1.2: the expression of an operation of a plugin that says TUTTI_POINTWISE_CODE, as text in CUDA C++:
     * "__device__ float NAME_f32(float x, float y)" with its body, NAME being the operation's name.  It has an
     * argument for each operand, three at most, and behind them "const void *attr" where the operation has an
     * attribute struct, of 16 bytes at most.  The host compiles it with NVRTC into the kernel of each group that the
     * operation is in (pointwise_group.h), with the flags of built-in operations; fmaf and the like may be called.
     * The text is in a namespace of its own, and includes nothing.  A
     * node can be in a group where each operand has as many elements as the result, or one, all are F32 or 16 bits, and
     * none is a buffer: such nodes need no CUDA kernel of the operation.  Without NVRTC they are launches of their own, by
     * that kernel, and the plan says so.  NULL: it is never in a group on a GPU. */
    const char *pointwise_cuda;
    /* since 1.2: by result: 1 + the operand where it may lie, shapes and dtypes equal, as tutti_kernel.inplace says of
     * result 0: whichever kernel runs reads an element of the operand before it writes that of the result.  0:
     * nowhere.  A buffer that the operation reads and assigns is then written where it lies.  NULL: none. */
    const uint8_t *updates;
#endif
} tutti_op_traits;

TUTTI_C_END
#endif
