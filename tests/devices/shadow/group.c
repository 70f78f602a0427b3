/* group.c - the shadow device's own kernel for groups of pointwise operations: one after the other, all of it in F32. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "shadow.h"
#include "tutti/pointwise_group.h"

#include <stdlib.h>

enum { ALIGN = 16 }; /* numbers: 64 bytes */

/* The operations with their results, which stay in scratch or are outputs. */
typedef struct group {
    uint32_t nops;
    uint32_t reserved;
    uint64_t stride; /* numbers between results in scratch */
    tutti_pointwise_op ops[];
} group;

static tutti_status check_f32(const tutti_desc *d, uint32_t n, tutti_error *err)
{
    for (uint32_t k = 0; k < n; k++)
        if (d[k].dtype != TUTTI_F32)
            return tutti_fail(err, TUTTI_E_UNSUPPORTED,
                              "shadow: a group of pointwise operations is not all of F32");
    return TUTTI_OK;
}

/* Each operation is one that the host may put into a group, and its operands are there before it. */
static tutti_status check_op(const tutti_op_call *c, const tutti_pointwise_group *g, uint32_t k,
                             tutti_error *err)
{
    const tutti_pointwise_op *o = &g->ops[k];
    bool fits = o->op->traits && o->op->traits->pointwise == TUTTI_POINTWISE_CODE &&
                o->op->nin_max <= sizeof o->from / sizeof *o->from &&
                o->out < (int32_t)c->nout && o->dtype == TUTTI_F32;
    for (uint32_t j = 0; j < o->op->nin_min && fits; j++)
        fits = o->from[j] < c->nin + k;
    return fits ? TUTTI_OK
                : tutti_fail(err, TUTTI_E_ARG, "shadow: %s cannot be operation %u of a group",
                             o->op->name, k);
}

static tutti_status group_prepare(const tutti_op_call *c, void **ret_state,
                                  uint64_t *ret_scratch, tutti_error *err)
{
    const tutti_pointwise_group *of = c->attr;
    const uint64_t n = (uint64_t)tutti_numel(&c->out[0]);
    tutti_status s = check_f32(c->in, c->nin, err);
    if (!s)
        s = check_f32(c->out, c->nout, err);
    for (uint32_t k = 0; k < of->nops && !s; k++)
        s = check_op(c, of, k, err);
    group *g = s ? NULL : malloc(sizeof *g + of->nops * sizeof *g->ops);
    if (!g)
        return s ? s : tutti_fail(err, TUTTI_E_NOMEM, "shadow: no memory for a group");
    *g = (group){.nops = of->nops, .stride = (n + ALIGN - 1) / ALIGN * ALIGN};
    for (uint32_t k = 0; k < of->nops; k++)
        g->ops[k] = of->ops[k];
    *ret_scratch = g->nops * g->stride * sizeof(float);
    *ret_state = g;
    return TUTTI_OK;
}

static void *result_of(const group *g, uint32_t k, void *const *out, float *scratch)
{
    return g->ops[k].out < 0 ? scratch + k * g->stride : out[g->ops[k].out];
}

static tutti_status group_run(void *state, const tutti_op_call *c, const void *const *in,
                              void *const *out, void *scratch)
{
    const group *g = state;
    const tutti_desc all = {{tutti_numel(&c->out[0])}, 1, TUTTI_F32};
    tutti_status s = TUTTI_OK;
    for (uint32_t k = 0; k < g->nops && !s; k++) {
        const tutti_pointwise_op *o = &g->ops[k];
        tutti_desc descs[3] = {all, all, all};
        const void *from[3] = {NULL};
        void *to = result_of(g, k, out, scratch);
        for (uint32_t j = 0; j < o->op->nin_max; j++) {
            const uint32_t f = o->from[j];
            from[j] = f < c->nin ? in[f] : result_of(g, f - c->nin, out, scratch);
            descs[j].dim[0] = f < c->nin ? tutti_numel(&c->in[f]) : all.dim[0];
        }
        const tutti_op_call call = {.struct_size = sizeof call,
                                    .nin = o->op->nin_max,
                                    .nout = 1,
                                    .threads = 1,
                                    .in = descs,
                                    .out = &all,
                                    .attr = o->attr,
                                    .step = c->step};
        s = o->op->cpu->run(NULL, &call, from, &to, NULL);
    }
    return s;
}

const tutti_kernel shadow_group = {sizeof shadow_group, 0, group_prepare, group_run, free};
