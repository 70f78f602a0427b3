/* sdpa_shape.c - attributes and shapes of attention, and what is said about those that do not fit. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/gemm_microkernel.h"
#include "sdpa/sdpa.h"

#include <math.h>
#include <string.h>

const tutti_attr_field sdpa_fields[SDPA_ATTRS] = {
    OP_FIELD_I64(sdpa_attr, causal, 0), OP_FIELD_F64(sdpa_attr, scale, 0.0),
    OP_FIELD_F64(sdpa_attr, dropout, 0.0), OP_FIELD_I64(sdpa_attr, stream, 0)};

void sdpa_attr_list(const sdpa_attr *a, tutti_attr attr[SDPA_ATTRS])
{
    attr[0] = tutti_attr_i("causal", a->causal);
    attr[1] = tutti_attr_f("scale", a->scale);
    attr[2] = tutti_attr_f("dropout", a->dropout);
    attr[3] = tutti_attr_i("stream", a->stream);
}

/* Strides of the bias, which broadcasts to (B, H, Tq, Tk) from the right. */
static tutti_status bias_strides(const char *op, const tutti_desc *d, sdpa_shape *s,
                                 tutti_error *err)
{
    const int64_t full[4] = {s->batch, s->heads, s->tq, s->tk};
    int64_t stride[4] = {0}, step = 1;
    char text[96];
    for (int32_t k = d->rank; k-- > 0 && d->rank <= 4;) {
        const int32_t at = k + 4 - d->rank;
        if (d->dim[k] != full[at] && d->dim[k] != 1)
            break;
        stride[at] = d->dim[k] == 1 ? 0 : step;
        step *= d->dim[k];
        if (k == 0) {
            s->bias = (sdpa_stride){stride[0], stride[1], stride[2]};
            s->bias_key = stride[3];
            return op_want_f32(op, "bias", d, err);
        }
    }
    return tutti_fail(err, TUTTI_E_SHAPE,
                      "%s: bias is %s, want what broadcasts to (%lld, %lld, %lld, %lld)", op,
                      tutti_desc_text(d, text, sizeof text), (long long)full[0],
                      (long long)full[1], (long long)full[2], (long long)full[3]);
}

static tutti_status complete(const char *op, const tutti_op_call *c, uint32_t bias,
                             sdpa_shape *s, tutti_error *err)
{
    const sdpa_attr *a = c->attr;
    s->causal = a->causal;
    s->scale = a->scale != 0.0 ? a->scale : 1.0 / sqrt((double)s->d);
    if (!(a->dropout >= 0.0 && a->dropout < 1.0))
        return tutti_fail(err, TUTTI_E_RANGE, "%s: dropout is %g, want 0 to below 1", op,
                          a->dropout);
    s->drop = (float)a->dropout;
    s->keep = 1.0 / (1.0 - a->dropout);
    s->purpose = TUTTI_RNG_OP ^ (uint32_t)(a->stream * 2654435761u); /* as dropout's */
    if (c->step) {
        s->seed = c->step->seed;
        s->number = c->step->step << 16 | c->step->microbatch;
    }
    if (s->causal && s->tq > s->tk)
        return tutti_fail(
            err, TUTTI_E_SHAPE,
            "%s: causal with %lld queries and %lld keys, want as many keys or more", op,
            (long long)s->tq, (long long)s->tk);
    return c->nin > bias ? bias_strides(op, &c->in[bias], s, err) : TUTTI_OK;
}

tutti_status sdpa_shape_of(const char *op, const tutti_op_call *c, uint32_t bias,
                           sdpa_shape *ret, tutti_error *err)
{
    static const char *const names[] = {"q", "k", "v"};
    const tutti_desc *q = &c->in[0], *k = &c->in[1];
    char tq[96], tk[96];
    tutti_status s = TUTTI_OK;
    for (uint32_t i = 0; i < 3 && !s; i++) {
        s = op_want_f32(op, names[i], &c->in[i], err);
        if (!s)
            s = op_want_rank(op, names[i], &c->in[i], 4, err);
    }
    if (!s)
        s = op_want_same(op, "k", k, "v", &c->in[2], err);
    if (s)
        return s;
    if (q->dim[0] != k->dim[0] || q->dim[1] != k->dim[1] || q->dim[3] != k->dim[3])
        return tutti_fail(
            err, TUTTI_E_SHAPE,
            "%s: q is %s and k is %s, want them alike but for the third dimension", op,
            tutti_desc_text(q, tq, sizeof tq), tutti_desc_text(k, tk, sizeof tk));
    if (q->dim[3] == 0 || k->dim[2] == 0)
        return tutti_fail(err, TUTTI_E_SHAPE, "%s: k is %s, want keys with elements", op,
                          tutti_desc_text(k, tk, sizeof tk));
    const int64_t heads = q->dim[1], d = q->dim[3];
    *ret = (sdpa_shape){.batch = q->dim[0],
                        .heads = heads,
                        .tq = q->dim[2],
                        .tk = k->dim[2],
                        .d = d,
                        .q = {heads * q->dim[2] * d, q->dim[2] * d, d},
                        .k = {heads * k->dim[2] * d, k->dim[2] * d, d}};
    ret->y = ret->q;
    ret->v = ret->k;
    return complete(op, c, bias, ret, err);
}

tutti_status sdpa_packed_shape_of(const char *op, const tutti_op_call *c, uint32_t bias,
                                  sdpa_shape *ret, tutti_error *err)
{
    const tutti_desc *x = &c->in[0];
    char text[96];
    const tutti_status s = op_want_f32(op, "qkv", x, err);
    if (s)
        return s;
    if (x->rank != 5 || x->dim[2] != 3 || x->dim[1] == 0 || x->dim[4] == 0)
        return tutti_fail(err, TUTTI_E_SHAPE, "%s: qkv is %s, want (B, T, 3, H, D)", op,
                          tutti_desc_text(x, text, sizeof text));
    const int64_t t = x->dim[1], width = x->dim[3] * x->dim[4], d = x->dim[4];
    *ret = (sdpa_shape){.batch = x->dim[0],
                        .heads = x->dim[3],
                        .tq = t,
                        .tk = t,
                        .d = d,
                        .q = {3 * t * width, d, 3 * width},
                        .y = {t * width, d, width}};
    ret->k = ret->v = ret->q;
    return complete(op, c, bias, ret, err);
}

sdpa_shape sdpa_shape_known(const tutti_op_call *c, bool packed, uint32_t bias)
{
    tutti_desc in[TUTTI_OP_MAX_IN];
    tutti_op_call f32 = *c;
    sdpa_shape s;
    memcpy(in, c->in, c->nin * sizeof *in);
    for (uint32_t k = 0; k < c->nin; k++)
        in[k].dtype = TUTTI_F32;
    f32.in = in;
    (void)(packed ? sdpa_packed_shape_of : sdpa_shape_of)("sdpa", &f32, bias, &s, NULL);
    return s;
}

double sdpa_flops_of(const sdpa_shape *s)
{
    double seen = 0.0;
    for (int64_t i = 0; i < s->tq; i++)
        seen += (double)sdpa_seen(s, i);
    return 4.0 * (double)(s->batch * s->heads) * seen * (double)s->d;
}
