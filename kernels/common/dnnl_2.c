/* dnnl_2.c - oneDNN 2: layouts are structs, iterators go through a description's implementations. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/dnnl_api.h"

#include <stdlib.h>

typedef union description {
    dnnl_convolution_desc_t conv;
    dnnl_matmul_desc_t matmul;
} description;

dnnl_status_t layout_create(int rank, const dnnl_dims_t dim, dnnl_data_type_t type,
                            const int64_t *stride, layout *ret)
{
    layout l = calloc(1, sizeof *l);
    if (!l)
        return dnnl_out_of_memory;
    const dnnl_status_t s =
        stride ? dnnl_memory_desc_init_by_strides(l, rank, dim, type, stride)
               : dnnl_memory_desc_init_by_tag(l, rank, dim, type, dnnl_format_tag_any);
    if (s == dnnl_success)
        *ret = l;
    else
        free(l);
    return s;
}

void layout_destroy(layout l)
{
    free(l);
}

static dnnl_status_t describe(const work *w, description *ret)
{
    if (w->kind == dnnl_matmul)
        return dnnl_matmul_desc_init(&ret->matmul, w->src, w->weights, w->bias, w->dst);
    if (w->direction == dnnl_backward_data)
        return dnnl_dilated_convolution_backward_data_desc_init(
            &ret->conv, w->algorithm, w->src, w->weights, w->dst, w->stride, w->dilation,
            w->padding, w->padding);
    if (w->direction == dnnl_backward_weights)
        return dnnl_dilated_convolution_backward_weights_desc_init(
            &ret->conv, w->algorithm, w->src, w->weights, w->bias, w->dst, w->stride,
            w->dilation, w->padding, w->padding);
    return dnnl_dilated_convolution_forward_desc_init(
        &ret->conv, w->direction, w->algorithm, w->src, w->weights, w->bias, w->dst, w->stride,
        w->dilation, w->padding, w->padding);
}

dnnl_status_t work_choose(const work *w, const_dnnl_primitive_attr_t attr,
                          const_dnnl_primitive_desc_t hint, work_refuses *refuses,
                          const void *context, dnnl_primitive_desc_t *ret)
{
    description d;
    dnnl_primitive_desc_iterator_t i = NULL;
    dnnl_status_t s = describe(w, &d);
    if (s == dnnl_success)
        s = dnnl_primitive_desc_iterator_create(&i, &d, attr, w->engine, hint);
    while (s == dnnl_success) {
        dnnl_primitive_desc_t pd = dnnl_primitive_desc_iterator_fetch(i);
        if (!pd) {
            s = dnnl_out_of_memory;
        } else if (!refuses(context, pd)) {
            *ret = pd;
            break;
        } else {
            (void)dnnl_primitive_desc_destroy(pd);
            s = dnnl_primitive_desc_iterator_next(i);
        }
    }
    if (i)
        (void)dnnl_primitive_desc_iterator_destroy(i);
    return s == dnnl_iterator_ends ? dnnl_unimplemented : s;
}

dnnl_status_t after_add(dnnl_post_ops_t ops)
{
    return dnnl_post_ops_append_sum(ops, 1.0f);
}

dnnl_status_t after_relu(dnnl_post_ops_t ops)
{
    return dnnl_post_ops_append_eltwise(ops, 1.0f, dnnl_eltwise_relu, 0.0f, 0.0f);
}
