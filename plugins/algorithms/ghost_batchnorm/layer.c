/* layer.c - ghost_batch_norm2d: batch norm over parts of the batch. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "layer.h"

#include "../surgery.h"

#include "tutti/layer.h"
#include "tutti/ops.h"

#include <stdio.h>

enum { JOIN = 8 }; /* parts that one concat joins */

typedef struct ghost {
    const tutti_module_v1 *modules;
    int64_t size;
} ghost;

static tutti_status ghost_batchnorm_layer_open(const tutti_host *host,
                                               const tutti_params *params, void **ret_self,
                                               tutti_error *err)
{
    const tutti_module_v1 *modules =
        algorithm_service(host, "ghost_batch_norm2d", TUTTI_MODULE_V1, err);
    if (!modules)
        return TUTTI_E_UNSUPPORTED;
    ghost *l = calloc(1, sizeof *l);
    if (!l)
        return tutti_fail(err, TUTTI_E_NOMEM, "ghost_batch_norm2d: no memory");
    l->modules = modules;
    l->size = tutti_param_i64(params, "ghost_batch_size");
    *ret_self = l;
    return TUTTI_OK;
}

static tutti_status ghost_batchnorm_layer_build(void *self, tutti_module m, tutti_error *err)
{
    (void)self, (void)m, (void)err;
    return TUTTI_OK;
}

/* Rows first to last - 1 of x, whose shape is d. */
static tutti_value ghost_batchnorm_rows(tutti_graph *g, tutti_value x, const tutti_desc *d,
                                        int64_t first, int64_t last)
{
    int64_t begin[TUTTI_MAX_RANK] = {first}, end[TUTTI_MAX_RANK], step[TUTTI_MAX_RANK];
    for (int32_t k = 0; k < d->rank; k++) {
        end[k] = k ? d->dim[k] : last;
        step[k] = 1;
    }
    const uint32_t rank = (uint32_t)d->rank;
    const tutti_attr cut[3] = {tutti_attr_list("begin", begin, rank),
                               tutti_attr_list("end", end, rank),
                               tutti_attr_list("stride", step, rank)};
    return g->emit(g, "slice", &x, 1, cut, 3, NULL, 0);
}

/* The parts side by side along the batch, a few at a time. */
static tutti_value ghost_batchnorm_join(tutti_graph *g, tutti_value *parts, int64_t n)
{
    const tutti_attr axis = tutti_attr_i("axis", 0);
    for (int64_t made; n > 1; n = made) {
        made = 0;
        for (int64_t k = 0; k < n; k += JOIN) {
            const uint32_t few = (uint32_t)(n - k < JOIN ? n - k : JOIN);
            parts[made++] =
                few == 1 ? parts[k] : g->emit(g, "concat", parts + k, few, &axis, 1, NULL, 0);
        }
    }
    return parts[0];
}

/* x in parts of `size` rows, the last one maybe smaller, each with its own statistics; the running
 * ones move a share of momentum with each. */
static tutti_value in_parts(tutti_graph *g, tutti_value x, const tutti_desc *d, int64_t size,
                            double share, double eps, tutti_value *weights)
{
    const int64_t batch = d->dim[0], n = (batch + size - 1) / size;
    const tutti_attr attr[2] = {tutti_attr_f("eps", eps), tutti_attr_f("momentum", share)};
    tutti_value *parts = calloc((size_t)n, sizeof *parts);
    if (!parts) {
        (void)g->fail(g, TUTTI_E_NOMEM, "ghost_batch_norm2d: no memory for its parts");
        return 0;
    }
    for (int64_t k = 0; k < n; k++) {
        const int64_t first = k * size, last = first + size < batch ? first + size : batch;
        const tutti_value in[5] = {ghost_batchnorm_rows(g, x, d, first, last), weights[0],
                                   weights[1], weights[2], weights[3]};
        tutti_value y[5] = {0};
        parts[k] = g->emit(g, "batch_norm", in, 5, attr, 2, y, 5);
        weights[2] = y[3];
        weights[3] = y[4];
    }
    const tutti_value joined = ghost_batchnorm_join(g, parts, n);
    free(parts);
    return joined;
}

static tutti_status ghost_batchnorm_layer_trace(void *self, tutti_graph *g, tutti_module m,
                                                const tutti_value *in, uint32_t nin,
                                                tutti_value *out, uint32_t nout)
{
    static const char *const names[4] = {"weight", "bias", "running_mean", "running_var"};
    const ghost *l = self;
    const tutti_module_v1 *s = l->modules;
    const tutti_module norm = s->child(s->ctx, m, "norm");
    const tutti_params *p = s->params(s->ctx, norm);
    const tutti_desc d = *g->desc(g, in[0]);
    tutti_value weights[4], means, vars;
    char text[120];
    if (g->mode != TUTTI_MODE_TRAIN)
        return g->call(g, norm, in, nin, out, nout);
    if (g->status(g))
        return g->status(g);
    (void)snprintf(text, sizeof text,
                   "ghost_batchnorm: a batch of %lld is smaller than ghost_batch_size %lld",
                   (long long)d.dim[0], (long long)l->size);
    if (d.dim[0] < l->size)
        return g->fail(g, TUTTI_E_SHAPE, text);
    for (int k = 0; k < 4; k++)
        weights[k] = g->weight(g, norm, names[k]);
    means = weights[2];
    vars = weights[3];
    const int64_t n = (d.dim[0] + l->size - 1) / l->size;
    out[0] = in_parts(g, in[0], &d, (d.dim[0] + n - 1) / n,
                      tutti_param_f64(p, "momentum") / (double)n, tutti_param_f64(p, "eps"),
                      weights);
    g->assign(g, means, weights[2]);
    g->assign(g, vars, weights[3]);
    return g->status(g);
}

SURGERY_LAYER(ghost_batch_norm2d, ghost_batchnorm_layer_open, ghost_batchnorm_layer_build,
              ghost_batchnorm_layer_trace, surgery_close);
