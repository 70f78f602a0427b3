/* group_norm.h - normalisation of groups of channels within each sample (Wu and He 2018). */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_GROUP_NORM_GROUP_NORM_H
#define KERNELS_GROUP_NORM_GROUP_NORM_H

#include "common/op_util.h"

typedef struct group_norm_attr {
    double eps;
    int64_t groups;
} group_norm_attr;

/* x (B, ..., C) as `samples` times `pixels` rows of `channels`, `width` of them in each of `groups`. */
typedef struct group_norm_shape {
    int64_t samples, pixels, channels, groups, width;
    double eps;
} group_norm_shape;

group_norm_shape group_norm_shape_for(const tutti_desc *x, const group_norm_attr *a);
group_norm_shape group_norm_shape_of(const tutti_op_call *c);

/* x is f32 of rank 2 or more whose channels the groups divide; the others are as x and as gamma. */
tutti_status group_norm_want(const char *op, const tutti_op_call *c, tutti_error *err);
/* Input `name` is f32 of shape `want`. */
tutti_status group_norm_want_shape(const char *op, const char *name, const tutti_desc *d,
                                   const tutti_desc *want, tutti_error *err);

/* Mean and 1 / standard deviation of group `g` of the sample at x, in f64. */
void group_norm_statistics(const group_norm_shape *s, const float *x, int64_t g,
                           double *ret_mean, double *ret_rstd);

/* Attributes of both operations. */
extern const tutti_attr_field group_norm_fields[2];

extern const tutti_kernel group_norm_cuda, group_norm_grad_cuda;
extern const tutti_op tutti_op_group_norm, tutti_op_group_norm_grad;

#endif
