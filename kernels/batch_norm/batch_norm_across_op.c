/* batch_norm_across_op.c - batch_norm with statistics of all slots of a batch, from totals that these have added up. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "batch_norm/batch_norm_across.h"

#include <math.h>
#include <stdbool.h>

/* In: x (..., C), gamma, beta, running_mean, running_var (C), totals of x and x^2 over all slots (batch_norm_across.h),
 * optionally residual (..., C).  Out: as batch_norm's.
 * Totals are a function of x, here and in other slots: the gradient by x has what comes that way, through
 * totals of the gradients of all slots; there is none by totals. */

static const tutti_attr_field fields[] = {OP_FIELD_F64(batch_norm_attr, eps, 1e-5),
                                          OP_FIELD_F64(batch_norm_attr, momentum, 0.1),
                                          OP_FIELD_I64(batch_norm_attr, act, 0)};

static const char *const names[] = {"gamma", "beta", "running_mean", "running_var"};

static tutti_status infer(const tutti_op_call *c, tutti_desc *out, tutti_error *err)
{
    batch_norm_call b;
    batch_norm_without_totals(c, &b);
    tutti_status s = batch_norm_want("batch_norm_across", &b.call, names, err);
    if (!s)
        s = batch_norm_want_totals("batch_norm_across", c, err);
    if (s)
        return s;
    out[0] = c->in[0];
    for (int k = 1; k < 5; k++)
        out[k] = c->in[1];
    return TUTTI_OK;
}

static tutti_status reference(const tutti_op_call *c, const double *const *in,
                              double *const *out)
{
    const batch_norm_attr *a = c->attr;
    const double *totals = in[5];
    const double *rest[6] = {in[0], in[1], in[2], in[3], in[4], c->nin > 6 ? in[6] : NULL};
    const int64_t n = batch_norm_channels(&c->in[0]), rows = batch_norm_rows(&c->in[0]);
    const double all = totals[2 * n], m = all > 0.0 ? a->momentum : 0.0;
    batch_norm_call b;
    batch_norm_without_totals(c, &b);
    for (int64_t k = 0; k < n; k++) {
        const double mean = all > 0.0 ? totals[k] / all : 0.0;
        const double var = all > 0.0 ? fmax(totals[n + k] / all - mean * mean, 0.0) : 0.0;
        out[1][k] = mean;
        out[2][k] = 1.0 / sqrt(var + a->eps);
        out[3][k] = (1.0 - m) * in[3][k] + m * mean;
        out[4][k] = (1.0 - m) * in[4][k] + m * var * (all > 1.0 ? all / (all - 1.0) : 1.0);
        for (int64_t i = k; i < rows * n; i += n)
            out[0][i] = batch_norm_epilogue_f64(
                &b.call, rest, i, (in[0][i] - mean) * out[2][k] * in[1][k] + in[2][k]);
    }
    return TUTTI_OK;
}

/* Scratch: the scale (C), then per thread three blocks. */
static tutti_status prepare(const tutti_op_call *c, void **ret_state, uint64_t *ret_scratch,
                            tutti_error *err)
{
    batch_norm_call b;
    batch_norm_without_totals(c, &b);
    return batch_norm_apply_all_prepare(&b.call, ret_state, ret_scratch, err);
}

static tutti_status run(void *state, const tutti_op_call *c, const void *const *in,
                        void *const *out, void *scratch)
{
    (void)state;
    const int64_t n = batch_norm_channels(&c->in[0]);
    const double *totals = in[5];
    const void *rest[6] = {in[0], in[1], in[2], in[3], in[4], c->nin > 6 ? in[6] : NULL};
    float *scale = scratch;
    const batch_norm_line line = {out[1], scale, in[2],
                                  ((const batch_norm_attr *)c->attr)->act};
    batch_norm_call b;
    batch_norm_without_totals(c, &b);
    batch_norm_finish(c, totals, (int64_t)totals[2 * n], in, out, scale);
    batch_norm_apply_all(&b.call, rest, out[0], &line, scale + n);
    return TUTTI_OK;
}

static tutti_status vjp(tutti_graph *g, const tutti_node *n, const tutti_value *dy,
                        tutti_value *dx)
{
    const batch_norm_attr *a = n->attr;
    const tutti_attr attr = tutti_attr_i("act", 1);
    for (int k = 1; k < 5; k++)
        if (dy[k])
            return g->fail(g, TUTTI_E_UNSUPPORTED,
                           "batch_norm_across: there is no gradient of its statistics");
    if (!dy[0] || !(n->need & 71))
        return g->status(g);
    const bool again = a->act && n->nin == 6; /* the mask comes from x once more */
    const tutti_value du =
        again || !a->act ? dy[0] : tutti_op2(g, "relu_grad", dy[0], n->out[0]);
    tutti_value in[7] = {n->in[0], du, n->in[1], n->out[1], n->out[2], n->in[2]}, d[3] = {0};
    (void)g->emit(g, "batch_norm_across_totals", in, again ? 6 : 5, &attr, again, d, 3);
    if (n->need & 1) {
        in[6] = in[5];
        in[5] = tutti_op1(g, "slot_sum", d[0]);
        dx[0] = g->emit(g, "batch_norm_across_grad", in, again ? 7 : 6, &attr, again, NULL, 0);
    }
    if (n->need & 2)
        dx[1] = d[1];
    if (n->need & 4)
        dx[2] = d[2];
    if (n->need & 64)
        dx[6] = du;
    return g->status(g);
}

static void substitute(const tutti_node *n, tutti_substitute *ret)
{
    const batch_norm_attr *a = n->attr;
    const tutti_value in[6] = {n->in[0],  n->in[1],  n->in[2],
                               n->out[1], n->out[2], n->nin > 6 ? n->in[6] : 0};
    ret->op = "batch_norm_apply";
    ret->nin = n->nin - 1;
    for (uint32_t k = 0; k < ret->nin; k++)
        ret->in[k] = in[k];
    ret->attr[0] = tutti_attr_i("act", a->act);
    ret->nattr = 1;
}

static const tutti_kernel cpu = {sizeof(tutti_kernel), 65, prepare, run, NULL};

static const tutti_fusion fusions[] = {
    {TUTTI_FUSE_RESIDUAL_RELU, 0, "batch_norm_across"},
    {0, 0, NULL},
};
OP_TRAITS(batch_norm_across, KEEP, WHOLE, CONSTANTS, BY, UNCOUNTED, NONE, OTHER,
          .substitute = substitute, .fusions = fusions, .updates = batch_norm_updates);
const tutti_op tutti_op_batch_norm_across = {.struct_size = sizeof(tutti_op),
                                             .traits = &batch_norm_across_traits,
                                             .flags = TUTTI_OP_HALF | TUTTI_OP_REPRODUCIBLE,
                                             .name = "batch_norm_across",
                                             .nin_min = 6,
                                             .nin_max = 7,
                                             .nout = 5,
                                             .attr_size = sizeof(batch_norm_attr),
                                             .fields = fields,
                                             .nfields = sizeof fields / sizeof *fields,
                                             .infer = infer,
                                             .vjp = vjp,
                                             .reference = reference,
                                             .cpu = &cpu,
                                             .cuda = &batch_norm_across_cuda};
