/* iota_op.c - the whole numbers 0, 1 ... size - 1. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/cuda/launch.h"
#include "common/onnx.h"
#include "common/op_util.h"

/* size: how many; dtype: I64 (the default), I32 or F32. */
typedef struct iota_attr {
    int64_t size;
    int64_t dtype;
} iota_attr;

static const tutti_attr_field fields[] = {OP_FIELD_I64(iota_attr, size, 0),
                                          OP_FIELD_I64(iota_attr, dtype, TUTTI_I64)};

static tutti_status infer(const tutti_op_call *c, tutti_desc *out, tutti_error *err)
{
    const iota_attr *a = c->attr;
    if (a->size < 0)
        return tutti_fail(err, TUTTI_E_RANGE, "iota: size is %lld, want 0 or more",
                          (long long)a->size);
    if (a->dtype != TUTTI_I64 && a->dtype != TUTTI_I32 && a->dtype != TUTTI_F32)
        return tutti_fail(err, TUTTI_E_ARG, "iota: dtype is %s, want I64, I32 or F32",
                          tutti_dtype_name((int32_t)a->dtype));
    *out = (tutti_desc){{a->size}, 1, (int32_t)a->dtype};
    return TUTTI_OK;
}

static tutti_status reference(const tutti_op_call *c, const double *const *in,
                              double *const *out)
{
    (void)in;
    for (int64_t i = 0; i < c->out[0].dim[0]; i++)
        out[0][i] = (double)i;
    return TUTTI_OK;
}

static tutti_status run(void *state, const tutti_op_call *c, const void *const *in,
                        void *const *out, void *scratch)
{
    (void)state, (void)in, (void)scratch;
    for (int64_t i = 0; i < c->out[0].dim[0]; i++)
        if (c->out[0].dtype == TUTTI_I64)
            ((int64_t *)out[0])[i] = i;
        else if (c->out[0].dtype == TUTTI_I32)
            ((int32_t *)out[0])[i] = (int32_t)i;
        else
            ((float *)out[0])[i] = (float)i;
    return TUTTI_OK;
}

static const tutti_kernel cpu = {sizeof(tutti_kernel), 0, NULL, run, NULL};

static tutti_status cuda_prepare(const tutti_op_call *c, void **ret_state,
                                 uint64_t *ret_scratch, tutti_error *err)
{
    (void)ret_scratch;
    return CUDA_FUNCTION(c, "iota_cuda", ret_state, err, sizeof(cuda_tensor), sizeof(int64_t));
}

static tutti_status cuda_run(void *state, const tutti_op_call *c, const void *const *in,
                             void *const *out, void *scratch)
{
    cuda_tensor y = cuda_out(c, out, 0);
    int64_t n = c->out[0].dim[0];
    void *const args[] = {&y, &n};
    (void)in, (void)scratch;
    if (n == 0)
        return TUTTI_OK;
    return cuda_launch(c->cuda, state, cuda_blocks(c->cuda, n), CUDA_BLOCK, 0, args);
}

static const tutti_kernel cuda = {sizeof(tutti_kernel), 0, cuda_prepare, cuda_run, NULL};

static tutti_value iota_onnx(const tutti_onnx *o)
{
    const int64_t dtype = ((const iota_attr *)o->call->attr)->dtype;
    const tutti_value in[3] = {onnx_whole(o, 0), onnx_op1(o, "Squeeze", o->shape(o)),
                               onnx_whole(o, 1)};
    const tutti_value y = onnx_op(o, "Range", in, 3, NULL, 0);
    return dtype == TUTTI_I64 ? y : onnx_cast(o, y, dtype);
}

OP_PLAIN(iota, .onnx = iota_onnx);
OP_DEFINE(iota, .flags = TUTTI_OP_REPRODUCIBLE, .nin_min = 0, .nin_max = 0,
          OP_ATTR(iota_attr, fields), .infer = infer, .vjp = op_no_gradient,
          .reference = reference, .cpu = &cpu, .cuda = &cuda);
