/* pad_op.c - elements added around x. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/strided.h"

/* before, after: elements of `value` added at each end of every axis. */
typedef struct pad_attr {
    tutti_list before;
    tutti_list after;
    double value;
} pad_attr;

static const tutti_attr_field pad_fields[] = {OP_FIELD_LIST(pad_attr, before),
                                              OP_FIELD_LIST(pad_attr, after),
                                              OP_FIELD_F64(pad_attr, value, 0.0)};

static tutti_status infer(const tutti_op_call *c, tutti_desc *out, tutti_error *err)
{
    const pad_attr *a = c->attr;
    const tutti_status s = op_want_f32("pad", "x", &c->in[0], err);
    if (s)
        return s;
    *out = c->in[0];
    if (a->before.n != out->rank || a->after.n != out->rank)
        return tutti_fail(err, TUTTI_E_ARG,
                          "pad: before and after have %lld and %lld entries, want %d",
                          (long long)a->before.n, (long long)a->after.n, out->rank);
    for (int32_t k = 0; k < out->rank; k++) {
        if (a->before.v[k] < 0 || a->after.v[k] < 0)
            return tutti_fail(err, TUTTI_E_RANGE,
                              "pad: a negative number of elements on axis %d", k);
        out->dim[k] += a->before.v[k] + a->after.v[k];
    }
    return TUTTI_OK;
}

static strided view(const tutti_op_call *c)
{
    const pad_attr *a = c->attr;
    const strided y = strided_dense(&c->out[0]);
    strided v = strided_dense(&c->in[0]);
    for (int32_t k = 0; k < v.rank; k++) {
        v.stride[k] = y.stride[k];
        v.offset += y.stride[k] * a->before.v[k];
    }
    return v;
}

static tutti_status reference(const tutti_op_call *c, const double *const *in,
                              double *const *out)
{
    const strided v = view(c);
    for (int64_t i = 0, n = tutti_numel(&c->out[0]); i < n; i++)
        out[0][i] = ((const pad_attr *)c->attr)->value;
    strided_copy(c, &v, in[0], out[0], 1, sizeof(double));
    return TUTTI_OK;
}

static tutti_status run(void *state, const tutti_op_call *c, const void *const *in,
                        void *const *out, void *scratch)
{
    (void)state, (void)scratch;
    const strided v = view(c);
    const float value = (float)((const pad_attr *)c->attr)->value;
    float *y = out[0];
    const int64_t n = tutti_numel(&c->out[0]);
    const int threads = op_threads(c, n);
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
    for (int64_t i = 0; i < n; i++)
        y[i] = value;
    strided_copy(c, &v, in[0], out[0], 1, sizeof(float));
    return TUTTI_OK;
}

static tutti_status vjp(tutti_graph *g, const tutti_node *n, const tutti_value *dy,
                        tutti_value *dx)
{
    const pad_attr *a = n->attr;
    const tutti_desc x = *g->desc(g, n->in[0]);
    int64_t end[TUTTI_MAX_RANK] = {0};
    for (int32_t k = 0; k < x.rank; k++)
        end[k] = a->before.v[k] + x.dim[k];
    const tutti_attr attr[2] = {tutti_attr_list("begin", a->before.v, (uint32_t)x.rank),
                                tutti_attr_list("end", end, (uint32_t)x.rank)};
    if (n->need & 1)
        dx[0] = g->emit(g, "slice", &dy[0], 1, attr, 2, NULL, 0);
    return TUTTI_OK;
}

static const tutti_kernel cpu = {sizeof(tutti_kernel), 0, NULL, run, NULL};

extern const tutti_op tutti_op_pad;
const tutti_op tutti_op_pad = {.struct_size = sizeof(tutti_op),
                               .flags = 0,
                               .name = "pad",
                               .nin_min = 1,
                               .nin_max = 1,
                               .nout = 1,
                               .attr_size = sizeof(pad_attr),
                               .fields = pad_fields,
                               .nfields = sizeof pad_fields / sizeof *pad_fields,
                               .infer = infer,
                               .vjp = vjp,
                               .reference = reference,
                               .cpu = &cpu};
