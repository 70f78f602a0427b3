/* sdpa_packed_op.c - self-attention where q, k and v lie side by side, and its gradient. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "sdpa/sdpa.h"
#include "sdpa/sdpa_onnx.h"

#include <string.h>

/* sdpa_packed: qkv (B, T, 3, H, D), optionally bias -> y (B, T, H, D), lse (B, H, T).
 * sdpa_packed_grad: qkv, y, lse, dy, optionally bias -> dqkv.
 * What one product of a layer gives goes in as it lies, and what the next one takes comes out. */

static const char name[] = "sdpa_packed", grad_name[] = "sdpa_packed_grad";

static tutti_desc y_of(const sdpa_shape *s)
{
    return (tutti_desc){{s->batch, s->tq, s->heads, s->d}, 4, TUTTI_F32};
}

static tutti_desc lse_of(const sdpa_shape *s)
{
    return (tutti_desc){{s->batch, s->heads, s->tq}, 3, TUTTI_F32};
}

static tutti_status infer(const tutti_op_call *c, tutti_desc *out, tutti_error *err)
{
    sdpa_shape s;
    const tutti_status status = sdpa_packed_shape_of(name, c, 1, &s, err);
    if (status)
        return status;
    out[0] = y_of(&s);
    out[1] = lse_of(&s);
    return TUTTI_OK;
}

static tutti_status grad_infer(const tutti_op_call *c, tutti_desc *out, tutti_error *err)
{
    sdpa_shape shape;
    tutti_status s = sdpa_packed_shape_of(grad_name, c, 4, &shape, err);
    if (s)
        return s;
    const tutti_desc y = y_of(&shape), lse = lse_of(&shape);
    if ((s = op_want_f32(grad_name, "y", &c->in[1], err)) ||
        (s = op_want_same(grad_name, "y", &c->in[1], "the result", &y, err)) ||
        (s = op_want_f32(grad_name, "lse", &c->in[2], err)) ||
        (s = op_want_same(grad_name, "lse", &c->in[2], "a number a query", &lse, err)) ||
        (s = op_want_f32(grad_name, "dy", &c->in[3], err)) ||
        (s = op_want_same(grad_name, "dy", &c->in[3], "the result", &y, err)))
        return s;
    *out = c->in[0];
    return TUTTI_OK;
}

/* From q to k, from k to v. */
static int64_t part(const sdpa_shape *s)
{
    return s->heads * s->d;
}

static tutti_status reference(const tutti_op_call *c, const double *const *in,
                              double *const *out)
{
    const sdpa_shape s = sdpa_shape_known(c, true, 1);
    const double *q = in[0];
    sdpa_reference(&s, q, q + part(&s), q + 2 * part(&s), c->nin > 1 ? in[1] : NULL, out[0],
                   out[1]);
    return TUTTI_OK;
}

static tutti_status grad_reference(const tutti_op_call *c, const double *const *in,
                                   double *const *out)
{
    const sdpa_shape s = sdpa_shape_known(c, true, 4);
    const int64_t next = part(&s);
    const double *q = in[0];
    const sdpa_tensors64 t = {
        q,     q + next, q + 2 * next,  c->nin > 4 ? in[4] : NULL, in[1], in[2],
        in[3], out[0],   out[0] + next, out[0] + 2 * next};
    memset(out[0], 0, (size_t)tutti_numel(&c->out[0]) * sizeof(double));
    sdpa_grad_reference(&s, &t);
    return TUTTI_OK;
}

static tutti_status prepare(const tutti_op_call *c, void **ret_state, uint64_t *ret_scratch,
                            tutti_error *err)
{
    (void)ret_state, (void)err;
    const sdpa_shape s = sdpa_shape_known(c, true, 1);
    *ret_scratch = sdpa_scratch(&s, c->threads);
    return sdpa_dtypes(c, 1, &s);
}

static tutti_status grad_prepare(const tutti_op_call *c, void **ret_state,
                                 uint64_t *ret_scratch, tutti_error *err)
{
    (void)ret_state, (void)err;
    const sdpa_shape s = sdpa_shape_known(c, true, 4);
    *ret_scratch = sdpa_grad_scratch(&s, c->threads);
    return sdpa_dtypes(c, 0xb, &s);
}

/* q, k or v, or their gradients, which lie side by side. */
static void *third_of(const tutti_op_call *c, const sdpa_shape *s, const void *q, int64_t k)
{
    return (char *)(uintptr_t)q + k * part(s) * (int64_t)tutti_dtype_size(c->in[0].dtype);
}

static tutti_status run(void *state, const tutti_op_call *c, const void *const *in,
                        void *const *out, void *scratch)
{
    (void)state;
    const sdpa_shape s = sdpa_shape_known(c, true, 1);
    const sdpa_tensors t = {.dtype = c->in[0].dtype,
                            .q = in[0],
                            .k = third_of(c, &s, in[0], 1),
                            .v = third_of(c, &s, in[0], 2),
                            .bias = c->nin > 1 ? in[1] : NULL,
                            .y = out[0],
                            .lse = out[1]};
    sdpa_forward(&s, &t, c->threads, scratch);
    return TUTTI_OK;
}

static tutti_status grad_run(void *state, const tutti_op_call *c, const void *const *in,
                             void *const *out, void *scratch)
{
    (void)state;
    const sdpa_shape s = sdpa_shape_known(c, true, 4);
    const sdpa_tensors t = {.dtype = c->in[0].dtype,
                            .q = in[0],
                            .k = third_of(c, &s, in[0], 1),
                            .v = third_of(c, &s, in[0], 2),
                            .bias = c->nin > 4 ? in[4] : NULL,
                            .y = (void *)(uintptr_t)in[1],
                            .lse = (float *)(uintptr_t)in[2],
                            .dy = in[3],
                            .dq = out[0],
                            .dk = third_of(c, &s, out[0], 1),
                            .dv = third_of(c, &s, out[0], 2)};
    sdpa_backward(&s, &t, c->threads, scratch);
    return TUTTI_OK;
}

/* ---- out of simpler operations ---- */

/* (B, T, H, D) and (B, H, T, D) into each other */
static tutti_value transposed(tutti_graph *g, tutti_value v)
{
    const int64_t order[4] = {0, 2, 1, 3};
    return v ? tutti_permute(g, v, order, 4) : 0;
}

/* q, k or v of qkv as (B, H, T, D) */
static tutti_value third(tutti_graph *g, tutti_value qkv, int64_t k)
{
    const tutti_desc d = *g->desc(g, qkv);
    const int64_t begin[5] = {0, 0, k, 0, 0}, step[5] = {1, 1, 1, 1, 1};
    const int64_t end[5] = {d.dim[0], d.dim[1], k + 1, d.dim[3], d.dim[4]};
    const int64_t shape[4] = {d.dim[0], d.dim[1], d.dim[3], d.dim[4]};
    const tutti_attr attr[3] = {tutti_attr_list("begin", begin, 5),
                                tutti_attr_list("end", end, 5),
                                tutti_attr_list("stride", step, 5)};
    const tutti_value v = g->emit(g, "slice", &qkv, 1, attr, 3, NULL, 0);
    return transposed(g, tutti_reshape(g, v, shape, 4));
}

static sdpa_values split(tutti_graph *g, tutti_value qkv, tutti_value bias)
{
    return (sdpa_values){third(g, qkv, 0), third(g, qkv, 1), third(g, qkv, 2), bias, 0, 0};
}

/* The gradients of q, k and v, each (B, H, T, D) or 0, side by side. */
static tutti_value joined(tutti_graph *g, tutti_value qkv, const tutti_value *d)
{
    const tutti_desc x = *g->desc(g, qkv);
    const int64_t shape[5] = {x.dim[0], x.dim[1], 1, x.dim[3], x.dim[4]};
    const tutti_attr axis = tutti_attr_i("axis", 2);
    tutti_value part_of[3];
    for (int k = 0; k < 3; k++)
        part_of[k] = d[k] ? tutti_reshape(g, transposed(g, d[k]), shape, 5)
                          : op_broadcast_dims(g, op_scalar(g, 0.0), shape, 5);
    return g->emit(g, "concat", part_of, 3, &axis, 1, NULL, 0);
}

static tutti_status vjp(tutti_graph *g, const tutti_node *n, const tutti_value *dy,
                        tutti_value *dx)
{
    const sdpa_attr *a = n->attr;
    const tutti_value bias = n->nin > 1 ? n->in[1] : 0;
    if (dy[1] || n->need & 2) { /* the kernel has neither */
        sdpa_values v = split(g, n->in[0], bias);
        tutti_value d[4];
        v.y = transposed(g, n->out[0]);
        v.lse = n->out[1];
        sdpa_plain_grad(g, a, &v, transposed(g, dy[0]), dy[1], d);
        if (n->need & 1)
            dx[0] = joined(g, n->in[0], d);
        if (n->need & 2)
            dx[1] = d[3];
        return g->status(g);
    }
    const tutti_value in[5] = {n->in[0], n->out[0], n->out[1], dy[0], bias};
    tutti_attr attr[SDPA_ATTRS];
    sdpa_attr_list(a, attr);
    dx[0] = g->emit(g, grad_name, in, bias ? 5 : 4, attr, SDPA_ATTRS, NULL, 0);
    return g->status(g);
}

static tutti_status decompose(tutti_graph *g, const tutti_node *n, tutti_value *ret_out)
{
    sdpa_values v = split(g, n->in[0], n->nin > 1 ? n->in[1] : 0);
    sdpa_plain(g, n->attr, &v);
    ret_out[0] = transposed(g, v.y);
    ret_out[1] = v.lse;
    return g->status(g);
}

static tutti_status grad_decompose(tutti_graph *g, const tutti_node *n, tutti_value *ret_out)
{
    sdpa_values v = split(g, n->in[0], n->nin > 4 ? n->in[4] : 0);
    tutti_value d[4];
    v.y = transposed(g, n->in[1]);
    v.lse = n->in[2];
    sdpa_plain_grad(g, n->attr, &v, transposed(g, n->in[3]), 0, d);
    ret_out[0] = joined(g, n->in[0], d);
    return g->status(g);
}

static const tutti_kernel cpu = {sizeof(tutti_kernel), 0, prepare, run, NULL};
static const tutti_kernel grad_cpu = {sizeof(tutti_kernel), 0, grad_prepare, grad_run, NULL};

static tutti_value sdpa_packed_onnx(const tutti_onnx *o)
{
    static const int64_t heads_first[4] = {0, 2, 1, 3}; /* (B, T, H, D) <-> (B, H, T, D) */
    const tutti_attr axis = tutti_attr_i("axis", 2);
    tutti_value parts[3];
    for (int k = 0; k < 3; k++) {
        const tutti_value in[2] = {o->in[0], onnx_whole(o, k)};
        parts[k] = onnx_transpose(o, onnx_op(o, "Gather", in, 2, &axis, 1), heads_first, 4);
    }
    const tutti_value y = sdpa_onnx_of(o, parts, o->nin > 1 ? o->in[1] : 0);
    return onnx_transpose(o, y, heads_first, 4);
}

static double flops(const tutti_op_call *c)
{
    const sdpa_shape s = sdpa_shape_known(c, true, 1);
    return sdpa_flops_of(&s);
}

OP_TRAITS(sdpa_packed, PRODUCT, WHOLE, CONSTANTS, NEVER, PRODUCTS, NONE, OTHER, .low_in = 1,
          .low_out = 1, .onnx = sdpa_packed_onnx, .flops = flops);
extern const tutti_op tutti_op_sdpa_packed, tutti_op_sdpa_packed_grad;
const tutti_op tutti_op_sdpa_packed = {.struct_size = sizeof(tutti_op),
                                       .traits = &sdpa_packed_traits,
                                       .flags = TUTTI_OP_FUSED | TUTTI_OP_BF16 |
                                                TUTTI_OP_REPRODUCIBLE,
                                       .name = name,
                                       .nin_min = 1,
                                       .nin_max = 2,
                                       .nout = 2,
                                       .attr_size = sizeof(sdpa_attr),
                                       .fields = sdpa_fields,
                                       .nfields = SDPA_ATTRS,
                                       .infer = infer,
                                       .vjp = vjp,
                                       .decompose = decompose,
                                       .reference = reference,
                                       .cpu = &cpu,
                                       .cuda = &sdpa_packed_select};
static double grad_flops(const tutti_op_call *c)
{
    const sdpa_shape s = sdpa_shape_known(c, true, 4);
    return sdpa_grad_flops_of(&s);
}

OP_TRAITS(sdpa_packed_grad, PRODUCT, WHOLE, CONSTANTS, NEVER, PRODUCTS, NONE, OTHER,
          .low_in = 0xb, .low_out = 1, .flops = grad_flops);
const tutti_op tutti_op_sdpa_packed_grad = {.struct_size = sizeof(tutti_op),
                                            .traits = &sdpa_packed_grad_traits,
                                            .flags = TUTTI_OP_FUSED | TUTTI_OP_BF16 |
                                                     TUTTI_OP_REPRODUCIBLE,
                                            .name = grad_name,
                                            .nin_min = 4,
                                            .nin_max = 5,
                                            .nout = 1,
                                            .attr_size = sizeof(sdpa_attr),
                                            .fields = sdpa_fields,
                                            .nfields = SDPA_ATTRS,
                                            .infer = grad_infer,
                                            .decompose = grad_decompose,
                                            .reference = grad_reference,
                                            .cpu = &grad_cpu,
                                            .cuda = &sdpa_packed_grad_select};
