/* dnnl_3.c - oneDNN 3: layouts are handles, a description goes on to its next implementation. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/dnnl_api.h"

dnnl_status_t layout_create(int rank, const dnnl_dims_t dim, dnnl_data_type_t type,
                            const int64_t *stride, layout *ret)
{
    return stride ? dnnl_memory_desc_create_with_strides(ret, rank, dim, type, stride)
                  : dnnl_memory_desc_create_with_tag(ret, rank, dim, type, dnnl_format_tag_any);
}

void layout_destroy(layout l)
{
    if (l)
        (void)dnnl_memory_desc_destroy(l);
}

static dnnl_status_t first(const work *w, const_dnnl_primitive_attr_t attr,
                           const_dnnl_primitive_desc_t hint, dnnl_primitive_desc_t *ret)
{
    if (w->kind == dnnl_matmul)
        return dnnl_matmul_primitive_desc_create(ret, w->engine, w->src, w->weights, w->bias,
                                                 w->dst, attr);
    if (w->direction == dnnl_backward_data)
        return dnnl_convolution_backward_data_primitive_desc_create(
            ret, w->engine, w->algorithm, w->src, w->weights, w->dst, w->stride, w->dilation,
            w->padding, w->padding, hint, attr);
    if (w->direction == dnnl_backward_weights)
        return dnnl_convolution_backward_weights_primitive_desc_create(
            ret, w->engine, w->algorithm, w->src, w->weights, w->bias, w->dst, w->stride,
            w->dilation, w->padding, w->padding, hint, attr);
    return dnnl_convolution_forward_primitive_desc_create(
        ret, w->engine, w->direction, w->algorithm, w->src, w->weights, w->bias, w->dst,
        w->stride, w->dilation, w->padding, w->padding, attr);
}

dnnl_status_t work_choose(const work *w, const_dnnl_primitive_attr_t attr,
                          const_dnnl_primitive_desc_t hint, work_refuses *refuses,
                          const void *context, dnnl_primitive_desc_t *ret)
{
    dnnl_primitive_desc_t pd = NULL;
    dnnl_status_t s = first(w, attr, hint, &pd);
    while (s == dnnl_success && refuses(context, pd))
        s = dnnl_primitive_desc_next_impl(pd);
    if (s == dnnl_success)
        *ret = pd;
    else if (pd)
        (void)dnnl_primitive_desc_destroy(pd);
    return s == dnnl_last_impl_reached ? dnnl_unimplemented : s;
}

dnnl_status_t after_add(dnnl_post_ops_t ops)
{
    return dnnl_post_ops_append_sum(ops, 1.0f, 0, dnnl_data_type_undef);
}

dnnl_status_t after_relu(dnnl_post_ops_t ops)
{
    return dnnl_post_ops_append_eltwise(ops, dnnl_eltwise_relu, 0.0f, 0.0f);
}
