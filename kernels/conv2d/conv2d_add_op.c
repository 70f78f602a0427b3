/* conv2d_add_op.c - wgrad that accumulates into its output: conv2d's weight gradient, dw + c in one kernel. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "conv2d/conv2d.h"

#include <stdlib.h>

/* In: x, dy as for conv2d_grad_weight, c in the shape of dw.  Out: dw + c.  Stands for two nodes that the
 * host found next to each other, where a GPU does both at once. */
static const tutti_attr_field fields[] = {
    OP_FIELD_LIST(conv2d_attr, stride),
    OP_FIELD_LIST(conv2d_attr, padding),
    OP_FIELD_LIST(conv2d_attr, dilation),
    OP_FIELD_I64(conv2d_attr, groups, 1),
    OP_FIELD_I64(conv2d_attr, fast, 0),
    {"kernel", TUTTI_ATTR_LIST, offsetof(conv2d_attr, shape), 0, 0.0}};

static tutti_status infer(const tutti_op_call *c, tutti_desc *out, tutti_error *err)
{
    char tc[96], tw[96];
    tutti_status s = conv2d_weight_of(c->attr, &c->in[0], &c->in[1], out, err);
    if (!s && !tutti_same_shape(&c->in[2], out))
        s = tutti_fail(
            err, TUTTI_E_SHAPE, "conv2d_grad_weight_add: c is %s, want the weight's %s",
            tutti_desc_text(&c->in[2], tc, sizeof tc), tutti_desc_text(out, tw, sizeof tw));
    return s ? s : op_want_f32("conv2d_grad_weight_add", "c", &c->in[2], err);
}

static tutti_status reference(const tutti_op_call *c, const double *const *in,
                              double *const *out)
{
    const conv2d_geometry g = conv2d_geometry_of(c->attr, &c->in[0], &c->out[0], &c->in[1]);
    conv2d_plain_weight_f64(&g, in[0], in[1], out[0], 0, g.o);
    for (int64_t i = 0, n = tutti_numel(&c->out[0]); i < n; i++)
        out[0][i] += in[2][i];
    return TUTTI_OK;
}

static tutti_status vjp(tutti_graph *g, const tutti_node *n, const tutti_value *e,
                        tutti_value *d)
{
    tutti_node sums = *n;
    sums.nin = 2;
    sums.need &= 3;
    if (n->need & 4)
        d[2] = e[0];
    return sums.need ? tutti_op_conv2d_grad_weight.vjp(g, &sums, e, d) : g->status(g);
}

static tutti_status decompose(tutti_graph *g, const tutti_node *n, tutti_value *ret_out)
{
    const conv2d_attr *a = n->attr;
    ret_out[0] = tutti_add(g,
                           conv2d_emit(g, "conv2d_grad_weight", a, n->in[0], n->in[1], "kernel",
                                       a->shape.v, (uint32_t)a->shape.n),
                           n->in[2]);
    return g->status(g);
}

/* ---- on a CPU: one after the other ---- */

typedef struct state {
    tutti_op_call sums;
    void *inner;
} state;

static void destroy(void *self)
{
    state *s = self;
    if (s && s->inner && conv2d_grad_weight_cpu.destroy)
        conv2d_grad_weight_cpu.destroy(s->inner);
    free(s);
}

static tutti_status prepare(const tutti_op_call *c, void **ret_state, uint64_t *ret_scratch,
                            tutti_error *err)
{
    state *s = calloc(1, sizeof *s);
    if (!s)
        return tutti_fail(err, TUTTI_E_NOMEM,
                          "conv2d_grad_weight_add: no memory for its state");
    s->sums = *c;
    s->sums.nin = 2;
    const tutti_status status =
        conv2d_grad_weight_cpu.prepare(&s->sums, &s->inner, ret_scratch, err);
    if (status) {
        destroy(s);
        return status;
    }
    *ret_state = s;
    return TUTTI_OK;
}

static void add(const float *c, float *dw, int64_t n)
{
    OP_LOOP for (int64_t i = 0; i < n; i++) dw[i] += c[i];
}

static tutti_status run(void *self, const tutti_op_call *c, const void *const *in,
                        void *const *out, void *scratch)
{
    const state *s = self;
    tutti_op_call sums = s->sums;
    sums.step = c->step;
    const tutti_status status = conv2d_grad_weight_cpu.run(s->inner, &sums, in, out, scratch);
    if (!status)
        add(in[2], out[0], tutti_numel(&c->out[0]));
    return status;
}

static const tutti_kernel cpu = {sizeof(tutti_kernel), 0, prepare, run, destroy};

OP_TRAITS(conv2d_grad_weight_add, PRODUCT, WHOLE, CONSTANTS, NEVER, PRODUCTS, NONE, OTHER,
          .low_in = 3, .low_out = 0, .flops = conv2d_grad_weight_flops);
const tutti_op tutti_op_conv2d_grad_weight_add = {.struct_size = sizeof(tutti_op),
                                                  .traits = &conv2d_grad_weight_add_traits,
                                                  .flags = TUTTI_OP_FUSED | TUTTI_OP_BF16,
                                                  .name = "conv2d_grad_weight_add",
                                                  .nin_min = 3,
                                                  .nin_max = 3,
                                                  .nout = 1,
                                                  OP_ATTR(conv2d_attr, fields),
                                                  .infer = infer,
                                                  .vjp = vjp,
                                                  .decompose = decompose,
                                                  .reference = reference,
                                                  .cpu = &cpu,
                                                  .cuda = &conv2d_grad_weight_add_cuda};
