/* conv2d_op.c - x (B, H, W, C), w (O, KH, KW, C / groups), bias (O) -> y (B, OH, OW, O). */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/onnx.h"
#include "conv2d/conv2d.h"

static const tutti_attr_field fields[] = {
    OP_FIELD_LIST(conv2d_attr, stride), OP_FIELD_LIST(conv2d_attr, padding),
    OP_FIELD_LIST(conv2d_attr, dilation), OP_FIELD_I64(conv2d_attr, groups, 1),
    OP_FIELD_I64(conv2d_attr, fast, 0)};

static tutti_status infer(const tutti_op_call *c, tutti_desc *out, tutti_error *err)
{
    char text[96];
    const tutti_status s = conv2d_shape("conv2d", c->attr, &c->in[0], &c->in[1], out, err);
    if (s || c->nin < 3)
        return s;
    if (c->in[2].rank != 1 || c->in[2].dim[0] != c->in[1].dim[0])
        return tutti_fail(err, TUTTI_E_SHAPE, "conv2d: bias is %s, want (%lld)",
                          tutti_desc_text(&c->in[2], text, sizeof text),
                          (long long)c->in[1].dim[0]);
    return op_want_f32("conv2d", "bias", &c->in[2], err);
}

static tutti_status reference(const tutti_op_call *c, const double *const *in,
                              double *const *out)
{
    const conv2d_geometry g = conv2d_geometry_of(c->attr, &c->in[0], &c->in[1], &c->out[0]);
    conv2d_plain_f64(&g, in[0], in[1], c->nin > 2 ? in[2] : NULL, out[0], 0, g.b * g.oh * g.ow);
    return TUTTI_OK;
}

tutti_value conv2d_emit(tutti_graph *g, const char *op, const conv2d_attr *a, tutti_value p,
                        tutti_value q, const char *shape_name, const int64_t *shape,
                        uint32_t nshape)
{
    const tutti_value in[2] = {p, q};
    const tutti_attr attr[5] = {
        tutti_attr_list("stride", a->stride.v, (uint32_t)a->stride.n),
        tutti_attr_list("padding", a->padding.v, (uint32_t)a->padding.n),
        tutti_attr_list("dilation", a->dilation.v, (uint32_t)a->dilation.n),
        tutti_attr_i("groups", a->groups), tutti_attr_list(shape_name, shape, nshape)};
    return g->emit(g, op, in, 2, attr, shape_name ? 5 : 4, NULL, 0);
}

static tutti_status vjp(tutti_graph *g, const tutti_node *n, const tutti_value *dy,
                        tutti_value *dx)
{
    const conv2d_attr *a = n->attr;
    const tutti_desc x = *g->desc(g, n->in[0]), w = *g->desc(g, n->in[1]);
    const int64_t pixels[3] = {0, 1, 2};
    if (n->need & 1)
        dx[0] =
            conv2d_emit(g, "conv2d_grad_input", a, dy[0], n->in[1], "input_shape", x.dim, 4);
    if (n->need & 2)
        dx[1] =
            conv2d_emit(g, "conv2d_grad_weight", a, n->in[0], dy[0], "kernel", &w.dim[1], 2);
    if (n->need & 4)
        dx[2] = tutti_reduce(g, "sum", dy[0], pixels, 3, 0);
    return g->status(g);
}

static tutti_value conv2d_onnx(const tutti_onnx *o)
{
    const conv2d_attr *a = o->call->attr;
    const tutti_list ones = {2, {1, 1}}, none = {2, {0, 0}};
    const tutti_list p = a->padding.n ? a->padding : none;
    const int64_t pads[4] = {p.v[0], p.v[1], p.v[0], p.v[1]};
    const tutti_desc *w = &o->call->in[1];
    const tutti_attr attr[5] = {
        tutti_attr_list("strides", (a->stride.n ? &a->stride : &ones)->v, 2),
        tutti_attr_list("pads", pads, 4),
        tutti_attr_list("dilations", (a->dilation.n ? &a->dilation : &ones)->v, 2),
        tutti_attr_i("group", a->groups), tutti_attr_list("kernel_shape", &w->dim[1], 2)};
    const tutti_value in[3] = {onnx_channel_second(o, o->in[0], 4),
                               onnx_channel_second(o, o->in[1], 4), o->nin > 2 ? o->in[2] : 0};
    return onnx_channel_last(o, onnx_op(o, "Conv", in, o->nin, attr, 5), 4);
}

OP_TRAITS(conv2d, PRODUCT, APART, CONSTANTS, NEVER, PRODUCTS, NONE, OTHER, .low_in = 7,
          .low_out = 1, .batch_nin = 3, .batch_in = 1, .batch_out = 1, .flops = conv2d_flops,
          .onnx = conv2d_onnx);
const tutti_op tutti_op_conv2d = {.struct_size = sizeof(tutti_op),
                                  .traits = &conv2d_traits,
                                  .flags = TUTTI_OP_BF16 | TUTTI_OP_REPRODUCIBLE,
                                  .name = "conv2d",
                                  .nin_min = 2,
                                  .nin_max = 3,
                                  .nout = 1,
                                  .attr_size = sizeof(conv2d_attr),
                                  .fields = fields,
                                  .nfields = sizeof fields / sizeof *fields,
                                  .infer = infer,
                                  .vjp = vjp,
                                  .reference = reference,
                                  .cpu = &conv2d_cpu,
                                  .cuda = &conv2d_cuda,
                                  .cpu_algorithms = &conv2d_forward_algorithms};
