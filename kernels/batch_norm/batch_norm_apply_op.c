/* batch_norm_apply_op.c - batch_norm's y again from its saved statistics, to the bit: what rematerialization runs. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "batch_norm/batch_norm.h"

/* In: x (..., C), gamma, beta, mean, invstd (C), optionally residual (..., C).
 * Out: y = act((x - mean) invstd gamma + beta + residual), to the bit what batch_norm gave.  For graphs
 * that keep x, and y not: rematerialization.h of the host. */

static const tutti_attr_field fields[] = {OP_FIELD_I64(batch_norm_attr, act, 0)};

static const char *const names[] = {"gamma", "beta", "mean", "invstd"};

static tutti_status infer(const tutti_op_call *c, tutti_desc *out, tutti_error *err)
{
    const tutti_status s = batch_norm_want("batch_norm_apply", c, names, err);
    if (!s)
        out[0] = c->in[0];
    return s;
}

static tutti_status reference(const tutti_op_call *c, const double *const *in,
                              double *const *out)
{
    const int64_t n = batch_norm_channels(&c->in[0]);
    for (int64_t i = 0, size = tutti_numel(&c->in[0]); i < size; i++)
        out[0][i] = batch_norm_epilogue_f64(
            c, in, i, (in[0][i] - in[3][i % n]) * in[4][i % n] * in[1][i % n] + in[2][i % n]);
    return TUTTI_OK;
}

static tutti_status run(void *state, const tutti_op_call *c, const void *const *in,
                        void *const *out, void *scratch)
{
    (void)state;
    const int64_t n = batch_norm_channels(&c->in[0]);
    const float *gamma = in[1], *invstd = in[4];
    float *scale = scratch;
    const batch_norm_line line = {in[3], scale, in[2], ((const batch_norm_attr *)c->attr)->act};
    for (int64_t k = 0; k < n; k++) /* as batch_norm had it */
        scale[k] = (float)((double)invstd[k] * (double)gamma[k]);
    batch_norm_apply_all(c, in, out[0], &line, scale + n);
    return TUTTI_OK;
}

static const tutti_kernel cpu = {sizeof(tutti_kernel), 33, batch_norm_apply_all_prepare, run,
                                 NULL};

OP_TRAITS(batch_norm_apply, KEEP, WHOLE, CONSTANTS, NEVER, UNCOUNTED, NONE, OTHER);
const tutti_op tutti_op_batch_norm_apply = {.struct_size = sizeof(tutti_op),
                                            .traits = &batch_norm_apply_traits,
                                            .flags = TUTTI_OP_HALF | TUTTI_OP_REPRODUCIBLE,
                                            .name = "batch_norm_apply",
                                            .nin_min = 5,
                                            .nin_max = 6,
                                            .nout = 1,
                                            .attr_size = sizeof(batch_norm_attr),
                                            .fields = fields,
                                            .nfields = sizeof fields / sizeof *fields,
                                            .infer = infer,
                                            .reference = reference,
                                            .cpu = &cpu,
                                            .cuda = &batch_norm_apply_cuda};
