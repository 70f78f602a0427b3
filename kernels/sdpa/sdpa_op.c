/* sdpa_op.c - attention over (B, H, T, D): shapes, gradient rule, descriptor. */
/* SPDX-License-Identifier: Apache-2.0 */
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

static tutti_status finish(const char *op, const tutti_op_call *c, uint32_t bias, sdpa_shape *s,
                           tutti_error *err)
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
    return finish(op, c, bias, ret, err);
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
    return finish(op, c, bias, ret, err);
}

static tutti_status infer(const tutti_op_call *c, tutti_desc *out, tutti_error *err)
{
    sdpa_shape s;
    const tutti_status status = sdpa_shape_of("sdpa", c, 3, &s, err);
    if (status)
        return status;
    out[0] = c->in[0];
    out[1] = (tutti_desc){{s.batch, s.heads, s.tq}, 3, TUTTI_F32};
    return TUTTI_OK;
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

static tutti_status reference(const tutti_op_call *c, const double *const *in,
                              double *const *out)
{
    const sdpa_shape s = sdpa_shape_known(c, false, 3);
    sdpa_reference(&s, in[0], in[1], in[2], c->nin > 3 ? in[3] : NULL, out[0], out[1]);
    return TUTTI_OK;
}

static tutti_status prepare(const tutti_op_call *c, void **ret_state, uint64_t *ret_scratch,
                            tutti_error *err)
{
    (void)ret_state, (void)err;
    const sdpa_shape s = sdpa_shape_known(c, false, 3);
    *ret_scratch = sdpa_room(&s, c->threads);
    return TUTTI_OK;
}

static tutti_status run(void *state, const tutti_op_call *c, const void *const *in,
                        void *const *out, void *scratch)
{
    (void)state;
    const sdpa_shape s = sdpa_shape_known(c, false, 3);
    const sdpa_tensors t = {.q = in[0],
                            .k = in[1],
                            .v = in[2],
                            .bias = c->nin > 3 ? in[3] : NULL,
                            .y = out[0],
                            .lse = out[1]};
    TUTTI_ISA_PICK(sdpa_run)(&s, &t, c->threads, scratch);
    return TUTTI_OK;
}

static sdpa_values values_of(const tutti_node *n)
{
    return (sdpa_values){n->in[0],  n->in[1], n->in[2], n->nin > 3 ? n->in[3] : 0,
                         n->out[0], n->out[1]};
}

static tutti_status vjp(tutti_graph *g, const tutti_node *n, const tutti_value *dy,
                        tutti_value *dx)
{
    const sdpa_attr *a = n->attr;
    tutti_value d[4] = {0};
    if (dy[1] || n->need & 8) { /* the kernel has neither */
        const sdpa_values v = values_of(n);
        sdpa_plain_grad(g, a, &v, dy[0], dy[1], d);
    } else {
        const tutti_value in[7] = {n->in[0],
                                   n->in[1],
                                   n->in[2],
                                   n->out[0],
                                   n->out[1],
                                   dy[0],
                                   n->nin > 3 ? n->in[3] : 0};
        tutti_attr attr[SDPA_ATTRS];
        sdpa_attr_list(a, attr);
        (void)g->emit(g, "sdpa_grad", in, n->nin > 3 ? 7 : 6, attr, SDPA_ATTRS, d, 3);
    }
    for (uint32_t k = 0; k < n->nin; k++)
        if (n->need >> k & 1)
            dx[k] = d[k];
    return g->status(g);
}

static tutti_status decompose(tutti_graph *g, const tutti_node *n, tutti_value *ret_out)
{
    sdpa_values v = {n->in[0], n->in[1], n->in[2], n->nin > 3 ? n->in[3] : 0, 0, 0};
    sdpa_plain(g, n->attr, &v);
    ret_out[0] = v.y;
    ret_out[1] = v.lse;
    return g->status(g);
}

static const tutti_kernel cpu = {sizeof(tutti_kernel), 0, prepare, run, NULL};

OP_TRAITS(sdpa, PRODUCT, APART, CONSTANTS, NEVER, UNCOUNTED, NONE, OTHER, .low_in = 7,
          .low_out = 1, .batch_nin = 3, .batch_in = 7, .batch_out = 3);
extern const tutti_op tutti_op_sdpa;
const tutti_op tutti_op_sdpa = {.struct_size = sizeof(tutti_op),
                                .traits = &sdpa_traits,
                                .flags = TUTTI_OP_FUSED,
                                .name = "sdpa",
                                .nin_min = 3,
                                .nin_max = 4,
                                .nout = 2,
                                .attr_size = sizeof(sdpa_attr),
                                .fields = sdpa_fields,
                                .nfields = SDPA_ATTRS,
                                .infer = infer,
                                .vjp = vjp,
                                .decompose = decompose,
                                .reference = reference,
                                .cpu = &cpu,
                                .cuda = &sdpa_select};
