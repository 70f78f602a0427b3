/* dnnl_api.h - what oneDNN 2 and 3 tell apart: layouts, descriptions of primitives, sums. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_COMMON_DNNL_API_H
#define KERNELS_COMMON_DNNL_API_H

#include <dnnl.h>

/* How a tensor lies in memory.  oneDNN 2 has a struct of it, oneDNN 3 a handle. */
#if DNNL_VERSION_MAJOR < 3
typedef dnnl_memory_desc_t *layout;
typedef const dnnl_memory_desc_t *const_layout;
#else
typedef dnnl_memory_desc_t layout;
typedef const_dnnl_memory_desc_t const_layout;
#endif

/* stride: in elements; NULL leaves the choice to the primitive.  The caller owns *ret. */
dnnl_status_t layout_create(int rank, const dnnl_dims_t dim, dnnl_data_type_t type,
                            const int64_t *stride, layout *ret);
void layout_destroy(layout l); /* NULL is fine */

/* What a primitive computes; its layouts are borrowed. */
typedef struct work {
    dnnl_primitive_kind_t kind; /* dnnl_convolution or dnnl_matmul */
    dnnl_prop_kind_t direction; /* convolutions: forward_training, backward_data or _weights */
    dnnl_alg_kind_t algorithm;  /* convolutions */
    const_layout src, weights, bias, dst;  /* or their gradients; bias NULL: there is none */
    dnnl_dims_t stride, dilation, padding; /* convolutions; dilation 0 is none */
    dnnl_engine_t engine;
} work;

/* The first implementation of `w` that `refuses` does not refuse; dnnl_unimplemented when there is none.
 * hint: the forward convolution's, NULL where `w` is no gradient.  The caller owns *ret. */
typedef int work_refuses(const void *context, const_dnnl_primitive_desc_t pd);
dnnl_status_t work_choose(const work *w, const_dnnl_primitive_attr_t attr,
                          const_dnnl_primitive_desc_t hint, work_refuses *refuses,
                          const void *context, dnnl_primitive_desc_t *ret);

/* What follows the primitive: dst = dst + result; dst = max(0, dst). */
dnnl_status_t after_add(dnnl_post_ops_t ops);
dnnl_status_t after_relu(dnnl_post_ops_t ops);

#endif
