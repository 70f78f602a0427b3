/* layer.c - gyro_dropout_layer: dropout with a few masks of a set that is drawn once. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "layer.h"

#include "../surgery.h"

#include "tutti/layer.h"
#include "tutti/ops.h"

#include <stdio.h>

typedef struct gyro {
    const tutti_module_v1 *modules;
    const tutti_state_v1 *state;
    double p;
    int64_t sigma;
    int64_t tau;
} gyro;

static tutti_status gyro_dropout_layer_open(const tutti_host *host, const tutti_params *params,
                                            void **ret_self, tutti_error *err)
{
    const char *who = "gyro_dropout_layer";
    const tutti_module_v1 *modules = algorithm_service(host, who, TUTTI_MODULE_V1, err);
    const tutti_state_v1 *state = algorithm_service(host, who, TUTTI_STATE_V1, err);
    if (!modules || !state)
        return TUTTI_E_UNSUPPORTED;
    gyro *l = calloc(1, sizeof *l);
    if (!l)
        return tutti_fail(err, TUTTI_E_NOMEM, "gyro_dropout_layer: no memory");
    l->modules = modules;
    l->state = state;
    l->p = tutti_param_f64(params, "p");
    l->sigma = tutti_param_i64(params, "sigma");
    l->tau = tutti_param_i64(params, "tau");
    *ret_self = l;
    return TUTTI_OK;
}

/* "selection" (tau) I32: the masks in use, which the algorithm writes. */
static tutti_status gyro_dropout_layer_build(void *self, tutti_module m, tutti_error *err)
{
    const gyro *l = self;
    const tutti_desc d = {{l->tau}, 1, TUTTI_I32};
    int32_t *zeros = calloc((size_t)l->tau, sizeof *zeros);
    if (!zeros)
        return tutti_fail(err, TUTTI_E_NOMEM, "gyro_dropout_layer: no memory");
    const tutti_init init = {TUTTI_INIT_DATA, 0, 0.0, 0.0, 0.0, zeros};
    const tutti_status status =
        l->modules->weight(l->modules->ctx, m, "selection", &d, &init, 0, err);
    free(zeros);
    return status;
}

/* (sigma, width): 0 with chance p, else 1 / (1 - p).  A function of seed and place in the model. */
static tutti_value gyro_dropout_masks(const gyro *l, tutti_graph *g, tutti_module m,
                                      int64_t width)
{
    const uint64_t n = (uint64_t)(l->sigma * width);
    float *mask = malloc(n * sizeof *mask + 1);
    if (!mask) {
        (void)g->fail(g, TUTTI_E_NOMEM, "gyro_dropout: no memory for its masks");
        return 0;
    }
    const uint64_t place = tutti_hash(l->modules->path(l->modules->ctx, m));
    tutti_stream r = tutti_stream_at(
        *l->state->seed, TUTTI_RNG_PLUGIN ^ (uint32_t)tutti_hash("gyro_dropout"), place, 0);
    for (uint64_t k = 0; k < n; k++)
        mask[k] = (double)tutti_uniform_f32(tutti_stream_u32(&r)) >= l->p
                      ? (float)(1.0 / (1.0 - l->p))
                      : 0.0f;
    const tutti_tensor t = {mask, {{l->sigma, width}, 2, TUTTI_F32}, TUTTI_DEVICE_CPU, 0};
    const tutti_value v = g->constant(g, &t);
    free(mask);
    return v;
}

/* Which of `tau` masks each of `batch` rows has: the first rows the first one, and so on. */
static tutti_value share_out(tutti_graph *g, int64_t batch, int64_t tau)
{
    int32_t *row = malloc((size_t)batch * sizeof *row + 1);
    if (!row) {
        (void)g->fail(g, TUTTI_E_NOMEM, "gyro_dropout: no memory for its rows");
        return 0;
    }
    for (int64_t k = 0; k < batch; k++)
        row[k] = (int32_t)(k * tau / batch);
    const tutti_tensor t = {row, {{batch}, 1, TUTTI_I32}, TUTTI_DEVICE_CPU, 0};
    const tutti_value v = g->constant(g, &t);
    free(row);
    return v;
}

static tutti_value gyro_dropout_pick(tutti_graph *g, tutti_value from, tutti_value index)
{
    const tutti_value in[2] = {from, index};
    const tutti_attr axis = tutti_attr_i("axis", 0);
    return g->emit(g, "gather", in, 2, &axis, 1, NULL, 0);
}

static tutti_status gyro_dropout_layer_trace(void *self, tutti_graph *g, tutti_module m,
                                             const tutti_value *in, uint32_t nin,
                                             tutti_value *out, uint32_t nout)
{
    const gyro *l = self;
    const tutti_desc d = *g->desc(g, in[0]);
    char text[160], shape[96];
    (void)nin, (void)nout;
    out[0] = in[0];
    if (g->mode != TUTTI_MODE_TRAIN || g->status(g))
        return g->status(g);
    (void)snprintf(text, sizeof text, "gyro_dropout: the input of dropout is %s, want (B, N)",
                   tutti_desc_text(&d, shape, sizeof shape));
    if (d.rank != 2)
        return g->fail(g, TUTTI_E_SHAPE, text);
    const tutti_value chosen = gyro_dropout_pick(g, gyro_dropout_masks(l, g, m, d.dim[1]),
                                                 g->weight(g, m, "selection"));
    out[0] = tutti_mul(g, in[0], gyro_dropout_pick(g, chosen, share_out(g, d.dim[0], l->tau)));
    return g->status(g);
}

SURGERY_LAYER(gyro_dropout_layer, gyro_dropout_layer_open, gyro_dropout_layer_build,
              gyro_dropout_layer_trace, surgery_close);
