/* concat_op.c - inputs one after the other along an axis. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/strided.h"

typedef struct concat_attr {
    int64_t axis;
} concat_attr;

static const tutti_attr_field concat_fields[] = {OP_FIELD_I64(concat_attr, axis, 0)};

static tutti_status infer(const tutti_op_call *c, tutti_desc *out, tutti_error *err)
{
    const concat_attr *a = c->attr;
    char tx[96], ty[96];
    *out = c->in[0];
    if (a->axis < 0 || a->axis >= out->rank)
        return tutti_fail(err, TUTTI_E_RANGE, "concat: axis %lld, want one of rank %d",
                          (long long)a->axis, out->rank);
    for (uint32_t j = 1; j < c->nin; j++) {
        tutti_desc d = c->in[j];
        d.dim[a->axis] = c->in[0].dim[a->axis];
        if (!tutti_same_shape(&d, &c->in[0]) || d.dtype != out->dtype)
            return tutti_fail(err, TUTTI_E_SHAPE, "concat: input %u is %s, input 0 is %s", j,
                              tutti_desc_text(&c->in[j], tx, sizeof tx),
                              tutti_desc_text(&c->in[0], ty, sizeof ty));
        out->dim[a->axis] += c->in[j].dim[a->axis];
    }
    return TUTTI_OK;
}

static void copy(const tutti_op_call *c, const void *const *in, void *out, uint64_t size)
{
    const concat_attr *a = c->attr;
    const strided y = strided_dense(&c->out[0]);
    int64_t at = 0;
    for (uint32_t j = 0; j < c->nin; j++) {
        strided v = strided_dense(&c->in[j]);
        memcpy(v.stride, y.stride, sizeof v.stride);
        v.offset = at * y.stride[a->axis];
        at += c->in[j].dim[a->axis];
        strided_copy(c, &v, in[j], out, 1, size);
    }
}

static tutti_status reference(const tutti_op_call *c, const double *const *in,
                              double *const *out)
{
    copy(c, (const void *const *)in, out[0], sizeof(double));
    return TUTTI_OK;
}

static tutti_status run(void *state, const tutti_op_call *c, const void *const *in,
                        void *const *out, void *scratch)
{
    (void)state, (void)scratch;
    copy(c, in, out[0], tutti_dtype_size(c->in[0].dtype));
    return TUTTI_OK;
}

static tutti_status vjp(tutti_graph *g, const tutti_node *n, const tutti_value *dy,
                        tutti_value *dx)
{
    const concat_attr *a = n->attr;
    int64_t at = 0;
    for (uint32_t j = 0; j < n->nin; j++) {
        const tutti_desc x = *g->desc(g, n->in[j]);
        int64_t begin[TUTTI_MAX_RANK] = {0}, end[TUTTI_MAX_RANK];
        memcpy(end, x.dim, sizeof end);
        begin[a->axis] = at;
        end[a->axis] = at += x.dim[a->axis];
        const tutti_attr attr[2] = {tutti_attr_list("begin", begin, (uint32_t)x.rank),
                                    tutti_attr_list("end", end, (uint32_t)x.rank)};
        if (n->need >> j & 1)
            dx[j] = g->emit(g, "slice", &dy[0], 1, attr, 2, NULL, 0);
    }
    return TUTTI_OK;
}

static const tutti_kernel cpu = {sizeof(tutti_kernel), 0, NULL, run, NULL};

extern const tutti_op tutti_op_concat;
const tutti_op tutti_op_concat = {.struct_size = sizeof(tutti_op),
                                  .flags = 0,
                                  .name = "concat",
                                  .nin_min = 1,
                                  .nin_max = TUTTI_OP_MAX_IN,
                                  .nout = 1,
                                  .attr_size = sizeof(concat_attr),
                                  .fields = concat_fields,
                                  .nfields = sizeof concat_fields / sizeof *concat_fields,
                                  .infer = infer,
                                  .vjp = vjp,
                                  .reference = reference,
                                  .cpu = &cpu};
