/* cudnn_graph.c - which attributes each descriptor must have; an operation graph in one piece. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cudnn_standin.h"

const attribute *attribute_of(const descriptor *d, uint32_t name)
{
    for (uint32_t k = 0; k < d->nattributes; k++)
        if (d->attributes[k].name == name)
            return &d->attributes[k];
    return NULL;
}

int64_t attribute_int(const descriptor *d, uint32_t name)
{
    const attribute *a = attribute_of(d, name);
    return a ? *(const int64_t *)a->values : 0;
}

int32_t attribute_enum(const descriptor *d, uint32_t name)
{
    const attribute *a = attribute_of(d, name);
    return a ? *(const int32_t *)a->values : -1;
}

descriptor *attribute_desc(const descriptor *d, uint32_t name)
{
    const attribute *a = attribute_of(d, name);
    return a ? *(descriptor *const *)a->values : NULL;
}

int number_kind(int32_t dtype)
{
    return dtype == CDNN_DATA_FLOAT      ? NUMBER_F32
           : dtype == CDNN_DATA_HALF     ? NUMBER_F16
           : dtype == CDNN_DATA_BFLOAT16 ? NUMBER_BF16
                                         : -1;
}

/* Descriptor type, attribute that it must have, type and number (0: any) of its elements. */
static const struct {
    uint32_t of, name, type;
    int64_t count;
} wanted[] = {
#define WANT(of, name, type, count)                                                            \
    {                                                                                          \
        CDNN_BACKEND_##of##_DESCRIPTOR, CDNN_ATTR_##name, CDNN_TYPE_##type, count              \
    }
    WANT(TENSOR, TENSOR_DATA_TYPE, DATA_TYPE, 1),
    WANT(TENSOR, TENSOR_DIMENSIONS, INT64, 0),
    WANT(TENSOR, TENSOR_STRIDES, INT64, 0),
    WANT(TENSOR, TENSOR_UNIQUE_ID, INT64, 1),
    WANT(TENSOR, TENSOR_BYTE_ALIGNMENT, INT64, 1),
    WANT(CONVOLUTION, CONVOLUTION_SPATIAL_DIMS, INT64, 1),
    WANT(CONVOLUTION, CONVOLUTION_COMP_TYPE, DATA_TYPE, 1),
    WANT(CONVOLUTION, CONVOLUTION_CONV_MODE, CONVOLUTION_MODE, 1),
    WANT(CONVOLUTION, CONVOLUTION_FILTER_STRIDES, INT64, 2),
    WANT(CONVOLUTION, CONVOLUTION_PRE_PADDINGS, INT64, 2),
    WANT(CONVOLUTION, CONVOLUTION_POST_PADDINGS, INT64, 2),
    WANT(CONVOLUTION, CONVOLUTION_DILATIONS, INT64, 2),
    WANT(POINTWISE, POINTWISE_MODE, POINTWISE_MODE, 1),
    WANT(POINTWISE, POINTWISE_MATH_PREC, DATA_TYPE, 1),
    WANT(REDUCTION, REDUCTION_OPERATOR, REDUCTION_OPERATOR_TYPE, 1),
    WANT(REDUCTION, REDUCTION_COMP_TYPE, DATA_TYPE, 1),
    WANT(MATMUL, MATMUL_COMP_TYPE, DATA_TYPE, 1),
#define WANT_CONV(of, name, in1, in2, out)                                                     \
    WANT(OPERATION_CONVOLUTION_##of, OPERATION_CONVOLUTION_##name##_CONV_DESC,                 \
         BACKEND_DESCRIPTOR, 1),                                                               \
        WANT(OPERATION_CONVOLUTION_##of, OPERATION_CONVOLUTION_##name##_ALPHA, FLOAT, 1),      \
        WANT(OPERATION_CONVOLUTION_##of, OPERATION_CONVOLUTION_##name##_BETA, FLOAT, 1),       \
        WANT(OPERATION_CONVOLUTION_##of, OPERATION_CONVOLUTION_##name##_##in1,                 \
             BACKEND_DESCRIPTOR, 1),                                                           \
        WANT(OPERATION_CONVOLUTION_##of, OPERATION_CONVOLUTION_##name##_##in2,                 \
             BACKEND_DESCRIPTOR, 1),                                                           \
        WANT(OPERATION_CONVOLUTION_##of, OPERATION_CONVOLUTION_##name##_##out,                 \
             BACKEND_DESCRIPTOR, 1)
    WANT_CONV(FORWARD, FORWARD, X, W, Y),
    WANT_CONV(BACKWARD_DATA, BWD_DATA, DY, W, DX),
    WANT_CONV(BACKWARD_FILTER, BWD_FILTER, X, DY, DW),
    WANT(OPERATION_POINTWISE, OPERATION_POINTWISE_PW_DESCRIPTOR, BACKEND_DESCRIPTOR, 1),
    WANT(OPERATION_POINTWISE, OPERATION_POINTWISE_XDESC, BACKEND_DESCRIPTOR, 1),
    WANT(OPERATION_POINTWISE, OPERATION_POINTWISE_YDESC, BACKEND_DESCRIPTOR, 1),
    WANT(OPERATION_REDUCTION, OPERATION_REDUCTION_DESC, BACKEND_DESCRIPTOR, 1),
    WANT(OPERATION_REDUCTION, OPERATION_REDUCTION_XDESC, BACKEND_DESCRIPTOR, 1),
    WANT(OPERATION_REDUCTION, OPERATION_REDUCTION_YDESC, BACKEND_DESCRIPTOR, 1),
    WANT(OPERATION_MATMUL, OPERATION_MATMUL_DESC, BACKEND_DESCRIPTOR, 1),
    WANT(OPERATION_MATMUL, OPERATION_MATMUL_ADESC, BACKEND_DESCRIPTOR, 1),
    WANT(OPERATION_MATMUL, OPERATION_MATMUL_BDESC, BACKEND_DESCRIPTOR, 1),
    WANT(OPERATION_MATMUL, OPERATION_MATMUL_CDESC, BACKEND_DESCRIPTOR, 1),
    WANT(OPERATION_RESHAPE, OPERATION_RESHAPE_XDESC, BACKEND_DESCRIPTOR, 1),
    WANT(OPERATION_RESHAPE, OPERATION_RESHAPE_YDESC, BACKEND_DESCRIPTOR, 1),
    WANT(OPERATIONGRAPH, OPERATIONGRAPH_OPS, BACKEND_DESCRIPTOR, 0),
    WANT(OPERATIONGRAPH, OPERATIONGRAPH_HANDLE, HANDLE, 1),
    WANT(ENGINE, ENGINE_OPERATION_GRAPH, BACKEND_DESCRIPTOR, 1),
    WANT(ENGINE, ENGINE_GLOBAL_INDEX, INT64, 1),
    WANT(KNOB_CHOICE, KNOB_CHOICE_KNOB_TYPE, KNOB_TYPE, 1),
    WANT(KNOB_CHOICE, KNOB_CHOICE_KNOB_VALUE, INT64, 1),
    WANT(ENGINECFG, ENGINECFG_ENGINE, BACKEND_DESCRIPTOR, 1),
    WANT(ENGINEHEUR, ENGINEHEUR_OPERATION_GRAPH, BACKEND_DESCRIPTOR, 1),
    WANT(ENGINEHEUR, ENGINEHEUR_MODE, HEUR_MODE, 1),
    WANT(EXECUTION_PLAN, EXECUTION_PLAN_ENGINE_CONFIG, BACKEND_DESCRIPTOR, 1),
    WANT(EXECUTION_PLAN, EXECUTION_PLAN_HANDLE, HANDLE, 1),
    WANT(VARIANT_PACK, VARIANT_PACK_UNIQUE_IDS, INT64, 0),
    WANT(VARIANT_PACK, VARIANT_PACK_DATA_POINTERS, VOID_PTR, 0),
    WANT(VARIANT_PACK, VARIANT_PACK_WORKSPACE, VOID_PTR, 1),
};

const char *finish_error(const descriptor *d)
{
    bool known = false;
    for (size_t k = 0; k < sizeof wanted / sizeof *wanted; k++) {
        if (wanted[k].of != d->type)
            continue;
        const attribute *a = attribute_of(d, wanted[k].name);
        known = true;
        if (!a)
            return "an attribute is missing";
        if (a->type != wanted[k].type || (wanted[k].count && a->count != wanted[k].count))
            return "an attribute has another type or number of elements";
    }
    if (d->type == CDNN_BACKEND_TENSOR_DESCRIPTOR &&
        attribute_of(d, CDNN_ATTR_TENSOR_DIMENSIONS)->count !=
            attribute_of(d, CDNN_ATTR_TENSOR_STRIDES)->count)
        return "dimensions and strides differ in number";
    return known ? NULL : "nobody makes such a descriptor";
}

/* ---- flattening ---- */

/* Number of the tensor in g; the same descriptor or number is the same tensor. */
static int32_t add_tensor(flat_graph *g, const descriptor *d)
{
    if (!d || g->ntensors == TENSORS_MAX)
        return -1;
    flat_tensor t = {.uid = attribute_int(d, CDNN_ATTR_TENSOR_UNIQUE_ID),
                     .dtype = attribute_enum(d, CDNN_ATTR_TENSOR_DATA_TYPE)};
    const attribute *dims = attribute_of(d, CDNN_ATTR_TENSOR_DIMENSIONS);
    const attribute *is_virtual = attribute_of(d, CDNN_ATTR_TENSOR_IS_VIRTUAL);
    const attribute *by_value = attribute_of(d, CDNN_ATTR_TENSOR_IS_BY_VALUE);
    t.rank = (int32_t)dims->count;
    memcpy(t.dim, dims->values, sizeof *t.dim * (size_t)t.rank);
    memcpy(t.stride, attribute_of(d, CDNN_ATTR_TENSOR_STRIDES)->values,
           sizeof *t.stride * (size_t)t.rank);
    t.is_virtual = is_virtual && *(const bool *)is_virtual->values;
    t.by_value = by_value && *(const bool *)by_value->values;
    for (uint32_t k = 0; k < g->ntensors; k++)
        if (g->tensors[k].uid == t.uid)
            return (int32_t)k;
    g->tensors[g->ntensors] = t;
    return (int32_t)g->ntensors++;
}

static const struct {
    uint32_t type, operand[4], how; /* 0: none; the last operand is the result */
    uint32_t alpha, beta;
} shapes[] = {
    {CDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
     {CDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, CDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, 0,
      CDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y},
     CDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
     CDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
     CDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA},
    {CDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
     {CDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY, CDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
      0, CDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX},
     CDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
     CDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
     CDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA},
    {CDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
     {CDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
      CDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY, 0,
      CDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW},
     CDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
     CDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
     CDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA},
    {CDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR,
     {CDNN_ATTR_OPERATION_POINTWISE_XDESC, CDNN_ATTR_OPERATION_POINTWISE_BDESC,
      CDNN_ATTR_OPERATION_POINTWISE_TDESC, CDNN_ATTR_OPERATION_POINTWISE_YDESC},
     CDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR,
     0,
     0},
    {CDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR,
     {CDNN_ATTR_OPERATION_MATMUL_ADESC, CDNN_ATTR_OPERATION_MATMUL_BDESC, 0,
      CDNN_ATTR_OPERATION_MATMUL_CDESC},
     CDNN_ATTR_OPERATION_MATMUL_DESC,
     0,
     0},
    {CDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR,
     {CDNN_ATTR_OPERATION_REDUCTION_XDESC, 0, 0, CDNN_ATTR_OPERATION_REDUCTION_YDESC},
     CDNN_ATTR_OPERATION_REDUCTION_DESC,
     0,
     0},
    {CDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR,
     {CDNN_ATTR_OPERATION_RESHAPE_XDESC, 0, 0, CDNN_ATTR_OPERATION_RESHAPE_YDESC},
     0,
     0,
     0},
};

static const char *add_window(flat_op *op, const descriptor *how)
{
    static const uint32_t names[] = {CDNN_ATTR_CONVOLUTION_FILTER_STRIDES,
                                     CDNN_ATTR_CONVOLUTION_PRE_PADDINGS,
                                     CDNN_ATTR_CONVOLUTION_DILATIONS};
    int64_t *const to[] = {op->stride, op->padding, op->dilation};
    for (int k = 0; k < 3; k++)
        memcpy(to[k], attribute_of(how, names[k])->values, sizeof op->stride);
    if (memcmp(op->padding, attribute_of(how, CDNN_ATTR_CONVOLUTION_POST_PADDINGS)->values,
               sizeof op->padding) != 0)
        return "different paddings before and behind";
    if (attribute_enum(how, CDNN_ATTR_CONVOLUTION_CONV_MODE) != CDNN_CROSS_CORRELATION ||
        attribute_enum(how, CDNN_ATTR_CONVOLUTION_COMP_TYPE) != CDNN_DATA_FLOAT ||
        attribute_int(how, CDNN_ATTR_CONVOLUTION_SPATIAL_DIMS) != 2)
        return "a convolution that is none of ours";
    return NULL;
}

/* 1, and 0 or 1 where there is something to be added to: false. */
static bool add_scales(const flat_graph *g, flat_op *op, const descriptor *d, uint32_t alpha,
                       uint32_t beta)
{
    op->beta = *(const float *)attribute_of(d, beta)->values;
    return *(const float *)attribute_of(d, alpha)->values != 1.0f ||
           (op->beta != 0.0f && (op->beta != 1.0f || g->tensors[op->operand[3]].is_virtual));
}

static const char *add_op(flat_graph *g, const descriptor *d)
{
    flat_op *op = &g->ops[g->nops];
    for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++) {
        if (shapes[k].type != d->type)
            continue;
        const descriptor *how = shapes[k].how ? attribute_desc(d, shapes[k].how) : NULL;
        *op = (flat_op){.type = d->type};
        for (int j = 0; j < 4; j++)
            op->operand[j] = shapes[k].operand[j]
                                 ? add_tensor(g, attribute_desc(d, shapes[k].operand[j]))
                                 : -1;
        if (op->operand[0] < 0 || op->operand[3] < 0)
            return "an operation without operands";
        g->nops++;
        if (d->type == CDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR) {
            op->mode = attribute_enum(how, CDNN_ATTR_POINTWISE_MODE);
            op->axis = attribute_int(how, CDNN_ATTR_POINTWISE_AXIS);
        } else if (d->type == CDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR)
            op->mode = attribute_enum(how, CDNN_ATTR_REDUCTION_OPERATOR);
        else if (how && how->type == CDNN_BACKEND_CONVOLUTION_DESCRIPTOR)
            return add_scales(g, op, d, shapes[k].alpha, shapes[k].beta)
                       ? "scales that are none of ours"
                       : add_window(op, how);
        return NULL;
    }
    return "an operation that is none of ours";
}

const char *flatten(const descriptor *graph, flat_graph *ret)
{
    const attribute *ops = attribute_of(graph, CDNN_ATTR_OPERATIONGRAPH_OPS);
    const char *wrong = NULL;
    *ret = (flat_graph){0};
    if (!ops || ops->count > CDNN_OPS_MAX)
        return "too many operations";
    for (int64_t k = 0; k < ops->count && !wrong; k++)
        wrong = add_op(ret, ((descriptor *const *)ops->values)[k]);
    return wrong;
}
