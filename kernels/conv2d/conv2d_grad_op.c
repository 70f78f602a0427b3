/* conv2d_grad_op.c - the gradients of conv2d, which are each other's gradients too. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "conv2d/conv2d.h"

#define WINDOW_FIELDS                                                                          \
    OP_FIELD_LIST(conv2d_attr, stride), OP_FIELD_LIST(conv2d_attr, padding),                   \
        OP_FIELD_LIST(conv2d_attr, dilation), OP_FIELD_I64(conv2d_attr, groups, 1),            \
        OP_FIELD_I64(conv2d_attr, fast, 0)

static const tutti_attr_field input_fields[] = {
    WINDOW_FIELDS, {"input_shape", TUTTI_ATTR_LIST, offsetof(conv2d_attr, shape), 0, 0.0}};
static const tutti_attr_field weight_fields[] = {
    WINDOW_FIELDS, {"kernel", TUTTI_ATTR_LIST, offsetof(conv2d_attr, shape), 0, 0.0}};

/* ---- conv2d_grad_input: dy (B, OH, OW, O), w -> dx (B, H, W, C) ---- */

static tutti_status input_infer(const tutti_op_call *c, tutti_desc *out, tutti_error *err)
{
    return conv2d_input_of(c->attr, &c->in[0], &c->in[1], out, err);
}

static tutti_status input_reference(const tutti_op_call *c, const double *const *in,
                                    double *const *out)
{
    const conv2d_geometry g = conv2d_geometry_of(c->attr, &c->out[0], &c->in[1], &c->in[0]);
    conv2d_plain_input_f64(&g, in[0], in[1], out[0], 0, g.b * g.h * g.w);
    return TUTTI_OK;
}

/* With e the gradient of dx: dx is linear in dy and in w. */
static tutti_status input_vjp(tutti_graph *g, const tutti_node *n, const tutti_value *e,
                              tutti_value *d)
{
    const tutti_desc w = *g->desc(g, n->in[1]);
    if (n->need & 1)
        d[0] = conv2d_emit(g, "conv2d", n->attr, e[0], n->in[1], NULL, NULL, 0);
    if (n->need & 2)
        d[1] = conv2d_emit(g, "conv2d_grad_weight", n->attr, e[0], n->in[0], "kernel",
                           &w.dim[1], 2);
    return g->status(g);
}

OP_TRAITS(conv2d_grad_input, PRODUCT, APART, CONSTANTS, NEVER, PRODUCTS, NONE, OTHER,
          .low_in = 3, .low_out = 1, .batch_nin = 2, .batch_in = 1, .batch_out = 1,
          .flops = conv2d_grad_input_flops);
const tutti_op tutti_op_conv2d_grad_input = {.struct_size = sizeof(tutti_op),
                                             .traits = &conv2d_grad_input_traits,
                                             .flags = TUTTI_OP_BF16 | TUTTI_OP_REPRODUCIBLE,
                                             .name = "conv2d_grad_input",
                                             .nin_min = 2,
                                             .nin_max = 2,
                                             .nout = 1,
                                             .attr_size = sizeof(conv2d_attr),
                                             .fields = input_fields,
                                             .nfields =
                                                 sizeof input_fields / sizeof *input_fields,
                                             .infer = input_infer,
                                             .vjp = input_vjp,
                                             .reference = input_reference,
                                             .cpu = &conv2d_grad_input_cpu,
                                             .cuda = &conv2d_grad_input_cuda,
                                             .cpu_algorithms = &conv2d_input_algorithms};

/* ---- conv2d_grad_weight: x, dy -> dw (O, KH, KW, C / groups) ---- */

static tutti_status weight_infer(const tutti_op_call *c, tutti_desc *out, tutti_error *err)
{
    return conv2d_weight_of(c->attr, &c->in[0], &c->in[1], out, err);
}

static tutti_status weight_reference(const tutti_op_call *c, const double *const *in,
                                     double *const *out)
{
    const conv2d_geometry g = conv2d_geometry_of(c->attr, &c->in[0], &c->out[0], &c->in[1]);
    conv2d_plain_weight_f64(&g, in[0], in[1], out[0], 0, g.o);
    return TUTTI_OK;
}

/* With e the gradient of dw: dw is linear in x and in dy. */
static tutti_status weight_vjp(tutti_graph *g, const tutti_node *n, const tutti_value *e,
                               tutti_value *d)
{
    const tutti_desc x = *g->desc(g, n->in[0]);
    if (n->need & 1)
        d[0] = conv2d_emit(g, "conv2d_grad_input", n->attr, n->in[1], e[0], "input_shape",
                           x.dim, 4);
    if (n->need & 2)
        d[1] = conv2d_emit(g, "conv2d", n->attr, n->in[0], e[0], NULL, NULL, 0);
    return g->status(g);
}

static const tutti_fusion conv2d_grad_weight_fusions[] = {
    {TUTTI_FUSE_ADD, 0, "conv2d_grad_weight_add"},
    {0, 0, NULL},
};
OP_TRAITS(conv2d_grad_weight, PRODUCT, SUMMED, CONSTANTS, NEVER, PRODUCTS, NONE, OTHER,
          .low_in = 3, .low_out = 0, .batch_nin = 2, .batch_in = 3, .batch_out = 0,
          .flops = conv2d_grad_weight_flops, .fusions = conv2d_grad_weight_fusions);
const tutti_op tutti_op_conv2d_grad_weight = {.struct_size = sizeof(tutti_op),
                                              .traits = &conv2d_grad_weight_traits,
                                              .flags = TUTTI_OP_BF16 | TUTTI_OP_REPRODUCIBLE,
                                              .name = "conv2d_grad_weight",
                                              .nin_min = 2,
                                              .nin_max = 2,
                                              .nout = 1,
                                              .attr_size = sizeof(conv2d_attr),
                                              .fields = weight_fields,
                                              .nfields =
                                                  sizeof weight_fields / sizeof *weight_fields,
                                              .infer = weight_infer,
                                              .vjp = weight_vjp,
                                              .reference = weight_reference,
                                              .cpu = &conv2d_grad_weight_cpu,
                                              .cuda = &conv2d_grad_weight_cuda,
                                              .cpu_algorithms = &conv2d_weight_algorithms};
