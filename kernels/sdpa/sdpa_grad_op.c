/* sdpa_grad_op.c - the gradient of sdpa's y by q, k and v. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "sdpa/sdpa.h"

#include <string.h>

/* In: q, k, v, y, lse, dy, optionally bias, all as in sdpa.  Out: dq, dk, dv.  The probabilities are
 * computed again from lse. */

static tutti_status check(const tutti_op_call *c, tutti_error *err)
{
    const char *op = "sdpa_grad";
    sdpa_shape shape;
    tutti_status s = sdpa_shape_of(op, c, 6, &shape, err);
    if (s)
        return s;
    const tutti_desc rows = {{shape.batch, shape.heads, shape.tq}, 3, TUTTI_F32};
    if ((s = op_want_f32(op, "y", &c->in[3], err)) ||
        (s = op_want_same(op, "y", &c->in[3], "q", &c->in[0], err)) ||
        (s = op_want_f32(op, "lse", &c->in[4], err)) ||
        (s = op_want_same(op, "lse", &c->in[4], "a number a query", &rows, err)) ||
        (s = op_want_f32(op, "dy", &c->in[5], err)))
        return s;
    return op_want_same(op, "dy", &c->in[5], "q", &c->in[0], err);
}

static tutti_status infer(const tutti_op_call *c, tutti_desc *out, tutti_error *err)
{
    const tutti_status s = check(c, err);
    for (int k = 0; k < 3 && !s; k++)
        out[k] = c->in[k];
    return s;
}

static tutti_status reference(const tutti_op_call *c, const double *const *in,
                              double *const *out)
{
    const sdpa_shape s = sdpa_shape_known(c, false, 6);
    const sdpa_tensors64 t = {in[0],  in[1], in[2], c->nin > 6 ? in[6] : NULL,
                              in[3],  in[4], in[5], out[0],
                              out[1], out[2]};
    for (int k = 0; k < 3; k++)
        memset(out[k], 0, (size_t)tutti_numel(&c->out[k]) * sizeof(double));
    sdpa_grad_reference(&s, &t);
    return TUTTI_OK;
}

static tutti_status prepare(const tutti_op_call *c, void **ret_state, uint64_t *ret_scratch,
                            tutti_error *err)
{
    (void)ret_state, (void)err;
    const sdpa_shape s = sdpa_shape_known(c, false, 6);
    *ret_scratch = sdpa_grad_scratch(&s, c->threads);
    return sdpa_dtypes(c, 0x2f, &s);
}

static tutti_status run(void *state, const tutti_op_call *c, const void *const *in,
                        void *const *out, void *scratch)
{
    (void)state;
    const sdpa_shape s = sdpa_shape_known(c, false, 6);
    const sdpa_tensors t = {.dtype = c->in[0].dtype,
                            .q = in[0],
                            .k = in[1],
                            .v = in[2],
                            .bias = c->nin > 6 ? in[6] : NULL,
                            .y = (void *)(uintptr_t)in[3],
                            .lse = (float *)(uintptr_t)in[4],
                            .dy = in[5],
                            .dq = out[0],
                            .dk = out[1],
                            .dv = out[2]};
    sdpa_backward(&s, &t, c->threads, scratch);
    return TUTTI_OK;
}

static tutti_status decompose(tutti_graph *g, const tutti_node *n, tutti_value *ret_out)
{
    const sdpa_values v = {n->in[0], n->in[1], n->in[2], n->nin > 6 ? n->in[6] : 0,
                           n->in[3], n->in[4]};
    tutti_value d[4];
    sdpa_plain_grad(g, n->attr, &v, n->in[5], 0, d);
    for (int k = 0; k < 3; k++)
        ret_out[k] = d[k];
    return g->status(g);
}

static const tutti_kernel cpu = {sizeof(tutti_kernel), 0, prepare, run, NULL};

static double flops(const tutti_op_call *c)
{
    const sdpa_shape s = sdpa_shape_known(c, false, 6);
    return sdpa_grad_flops_of(&s);
}

OP_TRAITS(sdpa_grad, PRODUCT, APART, CONSTANTS, NEVER, PRODUCTS, NONE, OTHER, .low_in = 0x27,
          .low_out = 7, .batch_nin = 6, .batch_in = 0x3f, .batch_out = 7, .flops = flops);
extern const tutti_op tutti_op_sdpa_grad;
const tutti_op tutti_op_sdpa_grad = {.struct_size = sizeof(tutti_op),
                                     .traits = &sdpa_grad_traits,
                                     .flags =
                                         TUTTI_OP_FUSED | TUTTI_OP_BF16 | TUTTI_OP_REPRODUCIBLE,
                                     .name = "sdpa_grad",
                                     .nin_min = 6,
                                     .nin_max = 7,
                                     .nout = 3,
                                     .attr_size = sizeof(sdpa_attr),
                                     .fields = sdpa_fields,
                                     .nfields = SDPA_ATTRS,
                                     .infer = infer,
                                     .decompose = decompose,
                                     .reference = reference,
                                     .cpu = &cpu,
                                     .cuda = &sdpa_grad_select};
