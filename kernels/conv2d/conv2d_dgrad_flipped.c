/* conv2d_dgrad_flipped.c - dgrad, the gradient of a convolution's input, as a convolution with flipped filters. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "conv2d/conv2d_algorithms.h"

#include <stdlib.h>
#include <string.h>

/* dx(b, p, q, c) = sum over u, v, o of w(o, KH - 1 - u, KW - 1 - v, c)
 *                  dy(b, p + u dh - (KH - 1) dh + ph, ..., o)        for stride 1. */
struct conv2d_dgrad_flipped {
    conv2d_geometry g;
    dnn *conv;
    int32_t threads;
    int32_t reserved;
    uint64_t flipped; /* bytes of the flipped filters; 0: they have one pixel */
    uint64_t dense;   /* bytes of results without the zeros between them; 0: there are none */
};

static int is_pixel(const conv2d_geometry *g)
{
    return g->kh == 1 && g->kw == 1;
}

int conv2d_dgrad_flipped_fits(const conv2d_geometry *g)
{
    if (g->g != 1)
        return 0;
    if (is_pixel(g))
        return g->ph == 0 && g->pw == 0;
    return !conv2d_skips(g) && (g->kh - 1) * g->dh >= g->ph && (g->kw - 1) * g->dw >= g->pw;
}

tutti_status conv2d_dgrad_flipped_create(const conv2d_geometry *g, int32_t threads,
                                         conv2d_dgrad_flipped **ret, uint64_t *ret_scratch,
                                         tutti_error *err)
{
    conv2d_dgrad_flipped *t = calloc(1, sizeof *t);
    uint64_t scratch = 0;
    if (!t)
        return tutti_fail(err, TUTTI_E_NOMEM, "conv2d: no memory for its state");
    t->g = *g;
    t->threads = threads;
    t->flipped = is_pixel(g) ? 0 : conv2d_align(TUTTI_F32, g->o * g->kh * g->kw * g->c);
    t->dense = conv2d_skips(g) ? conv2d_align(TUTTI_F32, g->b * g->oh * g->ow * g->c) : 0;
    dnn_call call = {.kind = DNN_CONV,
                     .threads = threads,
                     .algorithm = DNN_DIRECT,
                     .stride = {1, 1},
                     .padding = {(g->kh - 1) * g->dh - g->ph, (g->kw - 1) * g->dw - g->pw},
                     .dilation = {g->dh, g->dw}};
    call.slot[DNN_SRC] = conv2d_image(g->b, g->oh, g->ow, g->o);
    call.slot[DNN_DST] = conv2d_skips(g) ? conv2d_image(g->b, g->oh, g->ow, g->c)
                                         : conv2d_image(g->b, g->h, g->w, g->c);
    call.slot[DNN_WEIGHTS] =
        (dnn_tensor){.rank = 4,
                     .any = 1,
                     .dim = {g->c, g->o, g->kh, g->kw},
                     .stride = {1, g->kh * g->kw * g->c, g->kw * g->c, g->c}};
    const tutti_status s = dnn_create(&call, "conv2d", &t->conv, &scratch, err);
    if (s) {
        free(t);
        return s;
    }
    *ret = t;
    *ret_scratch = t->flipped + t->dense + scratch;
    return TUTTI_OK;
}

void conv2d_dgrad_flipped_destroy(conv2d_dgrad_flipped *t)
{
    if (t)
        dnn_destroy(t->conv);
    free(t);
}

/* The pixels of every filter, last to first. */
static void flip(const conv2d_dgrad_flipped *t, const float *w, float *y)
{
    const int64_t c = t->g.c, pixels = t->g.kh * t->g.kw;
    const int threads = t->g.o * pixels * c < OP_SERIAL_BELOW ? 1 : t->threads;
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
    for (int64_t o = 0; o < t->g.o; o++)
        for (int64_t k = 0; k < pixels; k++)
            memcpy(y + (o * pixels + pixels - 1 - k) * c, w + (o * pixels + k) * c,
                   (size_t)c * sizeof *y);
}

tutti_status conv2d_dgrad_flipped_run(const conv2d_dgrad_flipped *t, const float *dy,
                                      const float *w, float *dx, void *scratch)
{
    unsigned char *memory = scratch;
    float *dense = t->dense ? (float *)(void *)(memory + t->flipped) : dx;
    const float *filters = w;
    if (t->flipped) {
        flip(t, w, scratch);
        filters = scratch;
    }
    void *const data[DNN_SLOTS] = {[DNN_SRC] = (void *)(uintptr_t)dy,
                                   [DNN_WEIGHTS] = (void *)(uintptr_t)filters,
                                   [DNN_DST] = dense};
    const tutti_status s = dnn_run(t->conv, data, memory + t->flipped + t->dense);
    if (!s && t->dense)
        conv2d_spread(&t->g, TUTTI_F32, t->threads, dense, dx);
    return s;
}
