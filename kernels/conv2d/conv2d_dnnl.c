/* conv2d_dnnl.c - how oneDNN is told of a convolution's tensors and window. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "conv2d/conv2d_algorithms.h"

dnn_tensor conv2d_image(int64_t b, int64_t h, int64_t w, int64_t c)
{
    return (dnn_tensor){.rank = 4, .dim = {b, c, h, w}, .stride = {h * w * c, 1, w * c, c}};
}

dnn_tensor conv2d_weights(const conv2d_geometry *g)
{
    const int64_t i = g->c / g->g, v = g->kw * i, o = g->kh * v;
    if (g->g == 1)
        return (dnn_tensor){
            .rank = 4, .any = 1, .dim = {g->o, i, g->kh, g->kw}, .stride = {o, 1, v, i}};
    return (dnn_tensor){.rank = 5,
                        .any = 1,
                        .dim = {g->g, g->o / g->g, i, g->kh, g->kw},
                        .stride = {g->o / g->g * o, o, 1, v, i}};
}

/* A factor that is rounded, or a result that is stored so. */
static void put_dtype(dnn_tensor *t, int32_t dtype, int factor)
{
    t->bf16 = factor || dtype == TUTTI_BF16;
    t->f32 = dtype == TUTTI_F32;
}

dnn_call conv2d_call(int kind, const conv2d_geometry *g, const conv2d_dtypes *t,
                     int32_t threads, int32_t algorithm)
{
    dnn_call call = {.kind = kind,
                     .threads = threads,
                     .algorithm = algorithm,
                     .stride = {g->sh, g->sw},
                     .padding = {g->ph, g->pw},
                     .dilation = {g->dh, g->dw}};
    call.slot[DNN_SRC] = conv2d_image(g->b, g->h, g->w, g->c);
    call.slot[DNN_WEIGHTS] = conv2d_weights(g);
    call.slot[DNN_DST] = conv2d_image(g->b, g->oh, g->ow, g->o);
    put_dtype(&call.slot[DNN_SRC], t->x, t->factor && kind != DNN_CONV_GRAD_INPUT);
    put_dtype(&call.slot[DNN_WEIGHTS], t->w, t->factor && kind != DNN_CONV_GRAD_WEIGHT);
    put_dtype(&call.slot[DNN_DST], t->y, t->factor && kind != DNN_CONV);
    return call;
}
