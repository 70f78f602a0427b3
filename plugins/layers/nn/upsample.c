/* upsample.c - layers that enlarge images (B, H, W, C): conv_transpose2d, upsample2d. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "nn.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int is_images(tutti_graph *g, tutti_value x, const char *layer)
{
    char text[96];
    if (g->desc(g, x)->rank == 4)
        return 1;
    (void)snprintf(text, sizeof text, "%s: the input must be (B, H, W, C)", layer);
    (void)g->fail(g, TUTTI_E_SHAPE, text);
    return 0;
}

/* ---- conv_transpose2d: weight (Cin, K, K, Cout), bias (Cout); the step is K, so that windows of the output do
 * not overlap, and the sum over them is a matrix product whose columns are the window's pixels ---- */

enum { UP_IN, UP_OUT, UP_KERNEL, UP_BIAS };

static tutti_status nn_conv_transpose2d_open(const tutti_host *host, const tutti_params *params,
                                             void **ret_self, tutti_error *err)
{
    const tutti_status s = nn_open(host, params, ret_self, err);
    if (s)
        return s;
    nn_layer *l = *ret_self;
    l->i[UP_IN] = tutti_param_i64(params, "in_channels");
    l->i[UP_OUT] = tutti_param_i64(params, "out_channels");
    l->i[UP_KERNEL] = tutti_param_i64(params, "kernel_size");
    l->i[UP_BIAS] = tutti_param_i64(params, "bias");
    return TUTTI_OK;
}

/* PyTorch takes the fan of a transposed convolution from the output's channels. */
static tutti_status nn_conv_transpose2d_build(void *self, tutti_module m, tutti_error *err)
{
    const nn_layer *l = self;
    const int64_t k = l->i[UP_KERNEL], out = l->i[UP_OUT];
    const int64_t dim[4] = {l->i[UP_IN], k, k, out};
    const tutti_init init = nn_init(l, (double)(k * k * out), (double)(k * k * l->i[UP_IN]));
    const tutti_status s =
        nn_weight(l, m, "weight", dim, 4, &init, TUTTI_WEIGHT_TRAINABLE, err);
    if (s || !l->i[UP_BIAS])
        return s;
    return nn_weight(l, m, "bias", &out, 1, &init,
                     TUTTI_WEIGHT_TRAINABLE | TUTTI_WEIGHT_NO_DECAY, err);
}

static tutti_status nn_conv_transpose2d_trace(void *self, tutti_graph *g, tutti_module m,
                                              const tutti_value *in, uint32_t nin,
                                              tutti_value *out, uint32_t nout)
{
    static const int64_t order[6] = {0, 1, 3, 2, 4, 5};
    const nn_layer *l = self;
    (void)nin, (void)nout;
    if (!is_images(g, in[0], "conv_transpose2d"))
        return g->status(g);
    const tutti_desc d = *g->desc(g, in[0]);
    const int64_t k = l->i[UP_KERNEL], c = l->i[UP_OUT], flat[2] = {l->i[UP_IN], k * k * c};
    const int64_t windows[6] = {d.dim[0], d.dim[1], d.dim[2], k, k, c};
    const int64_t image[4] = {d.dim[0], d.dim[1] * k, d.dim[2] * k, c};
    const tutti_value w = tutti_reshape(g, g->weight(g, m, "weight"), flat, 2);
    tutti_value y = tutti_reshape(g, tutti_matmul(g, in[0], w, 0, 0, 0), windows, 6);
    y = tutti_reshape(g, tutti_permute(g, y, order, 6), image, 4);
    out[0] = l->i[UP_BIAS] ? tutti_add(g, y, g->weight(g, m, "bias")) : y;
    return g->status(g);
}

NN_OBJECT(conv_transpose2d, nn_conv_transpose2d_open, nn_conv_transpose2d_build,
          nn_conv_transpose2d_trace)

/* ---- upsample2d: between neighbours, or the nearest, as a product with the shares of pixels ---- */

enum { SCALE, MODE, CORNERS };
enum { NEAREST, BILINEAR };

static tutti_status nn_upsample2d_open(const tutti_host *host, const tutti_params *params,
                                       void **ret_self, tutti_error *err)
{
    const tutti_status s = nn_open(host, params, ret_self, err);
    if (s)
        return s;
    nn_layer *l = *ret_self;
    l->i[SCALE] = tutti_param_i64(params, "scale_factor");
    l->i[MODE] = tutti_param_i64(params, "mode");
    l->i[CORNERS] = tutti_param_i64(params, "align_corners");
    return TUTTI_OK;
}

static tutti_status nn_upsample2d_build(void *self, tutti_module m, tutti_error *err)
{
    (void)self, (void)m, (void)err;
    return TUTTI_OK;
}

/* Where pixel `to` of n * scale lies among n pixels: in [0, n - 1]. */
static double source_of(const nn_layer *l, int64_t to, int64_t n)
{
    const double scale = (double)l->i[SCALE], last = (double)(n - 1);
    if (l->i[MODE] == NEAREST)
        return (double)(to / l->i[SCALE]);
    if (l->i[CORNERS])
        return n > 1 ? (double)to * last / ((double)n * scale - 1.0) : 0.0;
    return fmin(fmax(((double)to + 0.5) / scale - 0.5, 0.0), last);
}

/* (n * scale, n) F32: the shares of n pixels in each of the larger image. */
static tutti_value shares_of(const nn_layer *l, tutti_graph *g, int64_t n)
{
    const int64_t rows = n * l->i[SCALE];
    float *data = calloc((size_t)(rows * n) + 1, sizeof *data);
    if (!data) {
        (void)g->fail(g, TUTTI_E_NOMEM, "upsample2d: no memory for the shares of pixels");
        return 0;
    }
    for (int64_t r = 0; r < rows; r++) {
        const double at = source_of(l, r, n);
        const int64_t low = (int64_t)at, high = low + 1 < n ? low + 1 : low;
        const float share = (float)(at - (double)low);
        data[r * n + low] += 1.0f - share;
        data[r * n + high] += share;
    }
    const tutti_tensor t = {data, {{rows, n}, 2, TUTTI_F32}, TUTTI_DEVICE_CPU, 0};
    const tutti_value v = g->constant(g, &t);
    free(data);
    return v;
}

/* First rows, as (B, H, W C), then columns, as (B H, W, C). */
static tutti_status nn_upsample2d_trace(void *self, tutti_graph *g, tutti_module m,
                                        const tutti_value *in, uint32_t nin, tutti_value *out,
                                        uint32_t nout)
{
    const nn_layer *l = self;
    (void)m, (void)nin, (void)nout;
    if (!is_images(g, in[0], "upsample2d"))
        return g->status(g);
    const tutti_desc d = *g->desc(g, in[0]);
    const int64_t b = d.dim[0], h = d.dim[1], w = d.dim[2], c = d.dim[3], s = l->i[SCALE];
    const int64_t rows[3] = {b, h, w * c}, columns[3] = {b * h * s, w, c};
    const int64_t image[4] = {b, h * s, w * s, c};
    tutti_value y = tutti_reshape(g, in[0], rows, 3);
    y = tutti_reshape(g, tutti_matmul(g, shares_of(l, g, h), y, 0, 0, 0), columns, 3);
    y = tutti_matmul(g, shares_of(l, g, w), y, 0, 0, 0);
    out[0] = tutti_reshape(g, y, image, 4);
    return g->status(g);
}

NN_OBJECT(upsample2d, nn_upsample2d_open, nn_upsample2d_build, nn_upsample2d_trace)
