/* cmp_op.c - comparisons of a and b, broadcast, as f32 0 or 1. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cmp/cmp.h"
#include "common/elementwise.h"
#include "common/onnx.h"

static const tutti_attr_field fields[] = {OP_FIELD_I64(cmp_attr, kind, 0)};

OP_BINARY_CODE(cmp, cmp_attr, 2, (x, y, a))

static tutti_status infer(const tutti_op_call *c, tutti_desc *out, tutti_error *err)
{
    const cmp_attr *a = c->attr;
    if (a->kind < 0 || a->kind > 5)
        return tutti_fail(err, TUTTI_E_RANGE, "cmp: kind is %lld, want 0 to 5",
                          (long long)a->kind);
    return cmp_infer(c, out, err);
}

static tutti_value cmp_onnx(const tutti_onnx *o)
{
    static const char *const types[] = {"Equal",       "Equal",   "Less",
                                        "LessOrEqual", "Greater", "GreaterOrEqual"};
    const int64_t kind = ((const cmp_attr *)o->call->attr)->kind;
    tutti_value y = onnx_op2(o, types[kind], o->in[0], o->in[1]);
    if (kind == 1)
        y = onnx_op1(o, "Not", y);
    return onnx_cast(o, y, TUTTI_F32);
}

OP_POINTWISE(cmp, WIDEST, .onnx = cmp_onnx);
OP_DEFINE(cmp, .flags = TUTTI_OP_ELEMENTWISE | TUTTI_OP_REPRODUCIBLE, .nin_min = 2,
          .nin_max = 2, OP_ATTR(cmp_attr, fields), .infer = infer, .vjp = op_no_gradient,
          .reference = cmp_reference, .cpu = &cmp_cpu, .cuda = &cmp_cuda);
