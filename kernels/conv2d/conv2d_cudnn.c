/* conv2d_cudnn.c - graphs of one convolution over NHWC images. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "conv2d/conv2d_cudnn.h"

#include <stdio.h>

static const uint64_t workspace_most = (uint64_t)256 << 20;
static const int64_t uids[CONV2D_OPERANDS] = {1, 2, 3, 4};

/* Memory (n, h, w, c), told in the library's order N C H W. */
static void *tensor(cdnn_graph *graph, const conv2d_cudnn *c, int operand, int64_t n, int64_t h,
                    int64_t w, int64_t channels)
{
    const int32_t dtype = operand == CONV2D_BIAS ? TUTTI_F32 : c->dtype;
    const cdnn_tensor t = {.uid = uids[operand],
                           .dtype = (int32_t)cdnn_dtype(dtype),
                           .rank = 4,
                           .alignment = 64,
                           .dim = {n, channels, h, w},
                           .stride = {h * w * channels, 1, w * channels, channels}};
    return cdnn_add_tensor(graph, &t);
}

/* Sums of F32 that never reach memory. */
static void *sums(cdnn_graph *graph, const conv2d_geometry *g)
{
    const cdnn_tensor t = {.dtype = CDNN_DATA_FLOAT,
                           .kind = CDNN_VIRTUAL,
                           .rank = 4,
                           .dim = {g->b, g->o, g->oh, g->ow},
                           .stride = {g->oh * g->ow * g->o, 1, g->ow * g->o, g->o}};
    return cdnn_add_tensor(graph, &t);
}

static void *window(cdnn_graph *graph, const conv2d_geometry *g)
{
    const int64_t two = 2, stride[2] = {g->sh, g->sw}, padding[2] = {g->ph, g->pw};
    const int64_t dilation[2] = {g->dh, g->dw};
    void *d = cdnn_make(graph, CDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
    cdnn_set(graph, d, CDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CDNN_TYPE_INT64, 1, &two);
    cdnn_set_value(graph, d, CDNN_ATTR_CONVOLUTION_COMP_TYPE, CDNN_TYPE_DATA_TYPE,
                   CDNN_DATA_FLOAT);
    cdnn_set_value(graph, d, CDNN_ATTR_CONVOLUTION_CONV_MODE, CDNN_TYPE_CONVOLUTION_MODE,
                   CDNN_CROSS_CORRELATION);
    cdnn_set(graph, d, CDNN_ATTR_CONVOLUTION_FILTER_STRIDES, CDNN_TYPE_INT64, 2, stride);
    cdnn_set(graph, d, CDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CDNN_TYPE_INT64, 2, padding);
    cdnn_set(graph, d, CDNN_ATTR_CONVOLUTION_POST_PADDINGS, CDNN_TYPE_INT64, 2, padding);
    cdnn_set(graph, d, CDNN_ATTR_CONVOLUTION_DILATIONS, CDNN_TYPE_INT64, 2, dilation);
    return cdnn_finish(graph, d);
}

/* The attributes of each of the three operations. */
static const struct {
    uint32_t type, window, alpha, beta, operand[CONV2D_BIAS];
} operations[] = {
    {CDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
     CDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
     CDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
     CDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA,
     {CDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, CDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
      CDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y}},
    {CDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
     CDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
     CDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
     CDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA,
     {CDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX, CDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
      CDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY}},
    {CDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
     CDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
     CDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
     CDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA,
     {CDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
      CDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
      CDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY}},
};

static void build(cdnn_graph *graph, const conv2d_cudnn *c)
{
    const conv2d_geometry *g = &c->g;
    const float one = 1.0f, beta = c->added ? 1.0f : 0.0f;
    void *const y = tensor(graph, c, CONV2D_Y, g->b, g->oh, g->ow, g->o);
    void *const operand[CONV2D_BIAS] = {
        tensor(graph, c, CONV2D_X, g->b, g->h, g->w, g->c),
        tensor(graph, c, CONV2D_W, g->o, g->kh, g->kw, g->c / g->g),
        c->bias ? sums(graph, g) : y};
    void *how = window(graph, g);
    void *op = cdnn_make(graph, operations[c->kind].type);
    for (int k = 0; k < CONV2D_BIAS; k++)
        cdnn_set_desc(graph, op, operations[c->kind].operand[k], operand[k]);
    cdnn_set_desc(graph, op, operations[c->kind].window, how);
    cdnn_set(graph, op, operations[c->kind].alpha, CDNN_TYPE_FLOAT, 1, &one);
    cdnn_set(graph, op, operations[c->kind].beta, CDNN_TYPE_FLOAT, 1, &beta);
    cdnn_finish_op(graph, op);
    if (c->bias) {
        void *const bias = tensor(graph, c, CONV2D_BIAS, 1, 1, 1, g->o);
        const cdnn_pointwise add = {
            CDNN_POINTWISE_ADD, CDNN_DATA_FLOAT, -1, operand[CONV2D_Y], bias, NULL, y};
        cdnn_add_pointwise(graph, &add);
    }
}

/* Everything that an engine is chosen for. */
static void write_key(const conv2d_cudnn *c, char *key, size_t size)
{
    static const char *const kinds[] = {"forward", "of the input", "of the weight"};
    const conv2d_geometry *g = &c->g;
    (void)snprintf(
        key, size,
        "convolution %s %lld x %lld x %lld x %lld, %lld of %lld x %lld, groups %lld, stride "
        "%lld %lld, padding %lld %lld, dilation %lld %lld, %s%s%s%s",
        kinds[c->kind], (long long)g->b, (long long)g->h, (long long)g->w, (long long)g->c,
        (long long)g->o, (long long)g->kh, (long long)g->kw, (long long)g->g, (long long)g->sh,
        (long long)g->sw, (long long)g->ph, (long long)g->pw, (long long)g->dh,
        (long long)g->dw, tutti_dtype_name(c->dtype), c->tf32 ? ", tf32" : "",
        c->bias ? ", bias" : "", c->added ? ", added" : "");
}

tutti_status conv2d_cudnn_plan(const conv2d_cudnn *c, const cdnn *lib,
                               const conv2d_cudnn_by *by, cdnn_plan **ret_plan,
                               tutti_error *err)
{
    const conv2d_geometry *g = &c->g;
    const int full = c->dtype == TUTTI_F32 && !c->tf32;
    const uint32_t refuse = CDNN_REFUSE | (full ? CDNN_REFUSE_TF32 : 0);
    const uint64_t size = tutti_dtype_size(c->dtype);
    const uint64_t bytes[CONV2D_OPERANDS] = {
        (uint64_t)(g->b * g->h * g->w * g->c) * size,
        (uint64_t)(g->o * g->kh * g->kw * (g->c / g->g)) * size,
        (uint64_t)(g->b * g->oh * g->ow * g->o) * size, (uint64_t)g->o * sizeof(float)};
    char key[320];
    const cdnn_trial trial = {by->cuda, key,  c->bias ? CONV2D_OPERANDS : CONV2D_BIAS,
                              0,        uids, bytes};
    cdnn_graph graph = {.lib = lib, .device = by->device};
    build(&graph, c);
    write_key(c, key, sizeof key);
    if (by->name)
        return cdnn_plan_make_named(&graph, refuse, workspace_most, by->name, ret_plan, err);
    return cdnn_plan_make(&graph, refuse, workspace_most, by->cuda ? &trial : NULL, ret_plan,
                          err);
}

tutti_status conv2d_cudnn_run(const conv2d_cudnn *c, cdnn_plan *p, void *stream,
                              void *const data[CONV2D_OPERANDS], void *workspace)
{
    const uint32_t n = c->bias ? CONV2D_OPERANDS : CONV2D_BIAS;
    return cdnn_plan_run(p, stream, n, uids, data, workspace);
}
