/* layer.c - standardized_filters: what a convolution reads instead of its weight. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "layer.h"

#include "../surgery.h"

#include "tutti/layer.h"
#include "tutti/ops.h"

static tutti_status weight_standardization_layer_open(const tutti_host *host,
                                                      const tutti_params *params,
                                                      void **ret_self, tutti_error *err)
{
    static char none; /* there is nothing to remember */
    (void)host, (void)params, (void)err;
    *ret_self = &none;
    return TUTTI_OK;
}

static tutti_status weight_standardization_layer_close(void *self, tutti_error *err)
{
    (void)self, (void)err;
    return TUTTI_OK;
}

static tutti_status weight_standardization_layer_build(void *self, tutti_module m,
                                                       tutti_error *err)
{
    (void)self, (void)m, (void)err;
    return TUTTI_OK;
}

/* w (Cout, ...): (w - mean) / sqrt(var + 1e-10) over all but the first axis. */
static tutti_status weight_standardization_layer_trace(void *self, tutti_graph *g,
                                                       tutti_module m, const tutti_value *in,
                                                       uint32_t nin, tutti_value *out,
                                                       uint32_t nout)
{
    const tutti_value w = in[0];
    const int32_t rank = g->desc(g, w)->rank;
    int64_t axes[TUTTI_MAX_RANK] = {0};
    (void)self, (void)m, (void)nin, (void)nout;
    for (int32_t k = 1; k < rank; k++)
        axes[k - 1] = k;
    const uint32_t n = (uint32_t)rank - 1;
    const tutti_value c = tutti_sub(g, w, tutti_reduce(g, "mean", w, axes, n, 1));
    const tutti_value var = tutti_reduce(g, "mean", tutti_mul(g, c, c), axes, n, 1);
    out[0] = tutti_mul(g, c, tutti_op1(g, "rsqrt", tutti_affine(g, var, 1.0, 1e-10)));
    return g->status(g);
}

SURGERY_LAYER(standardized_filters, weight_standardization_layer_open,
              weight_standardization_layer_build, weight_standardization_layer_trace,
              weight_standardization_layer_close);
