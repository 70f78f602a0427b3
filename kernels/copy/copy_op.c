/* copy_op.c - x itself, of any dtype, in memory of its own. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/cuda/strided.h"
#include "common/strided.h"

static tutti_status infer(const tutti_op_call *c, tutti_desc *out, tutti_error *err)
{
    (void)err;
    *out = c->in[0];
    return TUTTI_OK;
}

static strided view(const tutti_op_call *c)
{
    return strided_dense(&c->in[0]);
}

static tutti_status move(const tutti_op_call *c, const void *const *in, void *const *out,
                         uint64_t size)
{
    const strided v = view(c);
    strided_copy(c, &v, in[0], out[0], 0, size);
    return TUTTI_OK;
}

STRIDED_KERNEL(move)
CUDA_STRIDED_KERNEL(copy, view)

static tutti_status vjp(tutti_graph *g, const tutti_node *n, const tutti_value *dy,
                        tutti_value *dx)
{
    if (n->need & 1)
        dx[0] = dy[0];
    return TUTTI_OK;
}

OP_POINTWISE(copy, WIDEST, .onnx_type = "Identity");
OP_DEFINE(copy, .flags = TUTTI_OP_ELEMENTWISE | TUTTI_OP_REPRODUCIBLE, .nin_min = 1,
          .nin_max = 1, .infer = infer, .vjp = vjp, .reference = reference, .cpu = &cpu,
          .cuda = &cuda);
