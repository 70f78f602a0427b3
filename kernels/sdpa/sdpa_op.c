/* sdpa_op.c - attention over (B, H, T, D): gradient rule, descriptor. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "sdpa/sdpa.h"
#include "sdpa/sdpa_onnx.h"

static tutti_status infer(const tutti_op_call *c, tutti_desc *out, tutti_error *err)
{
    sdpa_shape s;
    const tutti_status status = sdpa_shape_of("sdpa", c, 3, &s, err);
    if (status)
        return status;
    out[0] = c->in[0];
    out[1] = (tutti_desc){{s.batch, s.heads, s.tq}, 3, TUTTI_F32};
    return TUTTI_OK;
}

static tutti_status reference(const tutti_op_call *c, const double *const *in,
                              double *const *out)
{
    const sdpa_shape s = sdpa_shape_known(c, false, 3);
    sdpa_reference(&s, in[0], in[1], in[2], c->nin > 3 ? in[3] : NULL, out[0], out[1]);
    return TUTTI_OK;
}

static tutti_status prepare(const tutti_op_call *c, void **ret_state, uint64_t *ret_scratch,
                            tutti_error *err)
{
    (void)ret_state, (void)err;
    const sdpa_shape s = sdpa_shape_known(c, false, 3);
    *ret_scratch = sdpa_scratch(&s, c->threads);
    return sdpa_dtypes(c, 7, &s);
}

static tutti_status run(void *state, const tutti_op_call *c, const void *const *in,
                        void *const *out, void *scratch)
{
    (void)state;
    const sdpa_shape s = sdpa_shape_known(c, false, 3);
    const sdpa_tensors t = {.dtype = c->in[0].dtype,
                            .q = in[0],
                            .k = in[1],
                            .v = in[2],
                            .bias = c->nin > 3 ? in[3] : NULL,
                            .y = out[0],
                            .lse = out[1]};
    sdpa_forward(&s, &t, c->threads, scratch);
    return TUTTI_OK;
}

static sdpa_values values_of(const tutti_node *n)
{
    return (sdpa_values){n->in[0],  n->in[1], n->in[2], n->nin > 3 ? n->in[3] : 0,
                         n->out[0], n->out[1]};
}

static tutti_status vjp(tutti_graph *g, const tutti_node *n, const tutti_value *dy,
                        tutti_value *dx)
{
    const sdpa_attr *a = n->attr;
    tutti_value d[4] = {0};
    if (dy[1] || n->need & 8) { /* the kernel has neither */
        const sdpa_values v = values_of(n);
        sdpa_plain_grad(g, a, &v, dy[0], dy[1], d);
    } else {
        const tutti_value in[7] = {n->in[0],
                                   n->in[1],
                                   n->in[2],
                                   n->out[0],
                                   n->out[1],
                                   dy[0],
                                   n->nin > 3 ? n->in[3] : 0};
        tutti_attr attr[SDPA_ATTRS];
        sdpa_attr_list(a, attr);
        (void)g->emit(g, "sdpa_grad", in, n->nin > 3 ? 7 : 6, attr, SDPA_ATTRS, d, 3);
    }
    for (uint32_t k = 0; k < n->nin; k++)
        if (n->need >> k & 1)
            dx[k] = d[k];
    return g->status(g);
}

static tutti_status decompose(tutti_graph *g, const tutti_node *n, tutti_value *ret_out)
{
    sdpa_values v = {n->in[0], n->in[1], n->in[2], n->nin > 3 ? n->in[3] : 0, 0, 0};
    sdpa_plain(g, n->attr, &v);
    ret_out[0] = v.y;
    ret_out[1] = v.lse;
    return g->status(g);
}

static const tutti_kernel cpu = {sizeof(tutti_kernel), 0, prepare, run, NULL};

static tutti_value sdpa_onnx(const tutti_onnx *o)
{
    return sdpa_onnx_of(o, o->in, o->nin > 3 ? o->in[3] : 0);
}

static double flops(const tutti_op_call *c)
{
    const sdpa_shape s = sdpa_shape_known(c, false, 3);
    return sdpa_flops_of(&s);
}

OP_TRAITS(sdpa, PRODUCT, APART, CONSTANTS, NEVER, PRODUCTS, NONE, OTHER, .low_in = 7,
          .low_out = 1, .batch_nin = 3, .batch_in = 7, .batch_out = 3, .onnx = sdpa_onnx,
          .flops = flops);
extern const tutti_op tutti_op_sdpa;
const tutti_op tutti_op_sdpa = {.struct_size = sizeof(tutti_op),
                                .traits = &sdpa_traits,
                                .flags = TUTTI_OP_FUSED | TUTTI_OP_BF16 | TUTTI_OP_REPRODUCIBLE,
                                .name = "sdpa",
                                .nin_min = 3,
                                .nin_max = 4,
                                .nout = 2,
                                .attr_size = sizeof(sdpa_attr),
                                .fields = sdpa_fields,
                                .nfields = SDPA_ATTRS,
                                .infer = infer,
                                .vjp = vjp,
                                .decompose = decompose,
                                .reference = reference,
                                .cpu = &cpu,
                                .cuda = &sdpa_select};
