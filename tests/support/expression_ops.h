/* expression_ops.h - three operations as a plugin brings them: pointwise, with an expression for groups on a GPU. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_EXPRESSION_OPS_H
#define TESTS_EXPRESSION_OPS_H

#include "tutti/op.h"

#include <math.h>

/* squeeze(x) = slope x / (1 + |x|); tilt(x, y) = x |y|; blend(x, y, z) = a x + b y + z. */
typedef struct squeeze_attr {
    double slope;
} squeeze_attr;

typedef struct blend_attr {
    double a, b;
} blend_attr;

static inline tutti_status expression_infer(const tutti_op_call *c, tutti_desc *out,
                                            tutti_error *err)
{
    (void)err;
    out[0] = c->in[0];
    return TUTTI_OK;
}

#define EXPRESSION_KERNELS(op, value)                                                          \
    static inline tutti_status op##_run(void *state, const tutti_op_call *c,                   \
                                        const void *const *in, void *const *out,               \
                                        void *scratch)                                         \
    {                                                                                          \
        const float *const *v = (const float *const *)in;                                      \
        float *to = out[0];                                                                    \
        (void)state, (void)scratch;                                                            \
        for (int64_t k = 0, n = tutti_numel(&c->in[0]); k < n; k++)                            \
            to[k] = (float)(value);                                                            \
        return TUTTI_OK;                                                                       \
    }                                                                                          \
    static inline tutti_status op##_reference(const tutti_op_call *c, const double *const *v,  \
                                              double *const *out)                              \
    {                                                                                          \
        for (int64_t k = 0, n = tutti_numel(&c->in[0]); k < n; k++)                            \
            out[0][k] = (value);                                                               \
        return TUTTI_OK;                                                                       \
    }                                                                                          \
    static const tutti_kernel op##_cpu = {sizeof op##_cpu, 0, NULL, op##_run, NULL}

EXPRESSION_KERNELS(squeeze, ((const squeeze_attr *)c->attr)->slope *v[0][k] /
                                (1.0 + fabs((double)v[0][k])));
EXPRESSION_KERNELS(tilt, v[0][k] * fabs((double)v[1][k]));
EXPRESSION_KERNELS(blend, ((const blend_attr *)c->attr)->a *v[0][k] +
                              ((const blend_attr *)c->attr)->b * v[1][k] + v[2][k]);

static const tutti_attr_field squeeze_fields[] = {
    {"slope", TUTTI_ATTR_F64, offsetof(squeeze_attr, slope), 0, 1.0}};
static const tutti_attr_field blend_fields[] = {
    {"a", TUTTI_ATTR_F64, offsetof(blend_attr, a), 0, 1.0},
    {"b", TUTTI_ATTR_F64, offsetof(blend_attr, b), 0, 1.0}};

#define EXPRESSION_TRAITS(op, text)                                                            \
    static const tutti_op_traits op##_traits = {.struct_size = sizeof op##_traits,             \
                                                .precision = TUTTI_AUTOCAST_WIDEST,            \
                                                .batch = TUTTI_BATCH_WHOLE,                    \
                                                .fold = TUTTI_FOLD_CONSTANTS,                  \
                                                .rematerialize = TUTTI_REMATERIALIZE_SAME,     \
                                                .work = TUTTI_WORK_UNCOUNTED,                  \
                                                .pointwise = TUTTI_POINTWISE_CODE,             \
                                                .role = TUTTI_ROLE_OTHER,                      \
                                                .pointwise_cuda = (text)}

EXPRESSION_TRAITS(squeeze,
                  "struct squeeze_attr {\n    double slope;\n};\n"
                  "__device__ float squeeze_f32(float x, const void *attr)\n{\n"
                  "    const float s = (float)static_cast<const squeeze_attr *>(attr)->slope;\n"
                  "    return s * x / (1.0f + fabsf(x));\n}");
EXPRESSION_TRAITS(
    tilt, "__device__ float tilt_f32(float x, float y)\n{\n    return x * fabsf(y);\n}");
EXPRESSION_TRAITS(blend,
                  "__device__ float blend_f32(float x, float y, float z, const void *attr)\n{\n"
                  "    const double *of = static_cast<const double *>(attr);\n"
                  "    return fmaf((float)of[0], x, fmaf((float)of[1], y, z));\n}");

/* On a GPU they are their expressions alone. */
static const tutti_op squeeze_op = {.struct_size = sizeof squeeze_op,
                                    .flags = TUTTI_OP_ELEMENTWISE,
                                    .name = "squeeze",
                                    .nin_min = 1,
                                    .nin_max = 1,
                                    .nout = 1,
                                    .attr_size = sizeof(squeeze_attr),
                                    .fields = squeeze_fields,
                                    .nfields = 1,
                                    .infer = expression_infer,
                                    .reference = squeeze_reference,
                                    .cpu = &squeeze_cpu,
                                    .traits = &squeeze_traits};
static const tutti_op tilt_op = {.struct_size = sizeof tilt_op,
                                 .flags = TUTTI_OP_ELEMENTWISE,
                                 .name = "tilt",
                                 .nin_min = 2,
                                 .nin_max = 2,
                                 .nout = 1,
                                 .infer = expression_infer,
                                 .reference = tilt_reference,
                                 .cpu = &tilt_cpu,
                                 .traits = &tilt_traits};
static const tutti_op blend_op = {.struct_size = sizeof blend_op,
                                  .flags = TUTTI_OP_ELEMENTWISE,
                                  .name = "blend",
                                  .nin_min = 3,
                                  .nin_max = 3,
                                  .nout = 1,
                                  .attr_size = sizeof(blend_attr),
                                  .fields = blend_fields,
                                  .nfields = 2,
                                  .infer = expression_infer,
                                  .reference = blend_reference,
                                  .cpu = &blend_cpu,
                                  .traits = &blend_traits};

#endif
