/* widen.c - a kernel for f32 between conversions from and to 16 bits. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/widen.h"
#include "graph/cast.h"
#include "graph/memory.h"

#include <string.h>

/* A copy: where it lies in the scratch, in bytes; DIRECT: the operand is read as it is. */
#define DIRECT UINT64_MAX

struct widen {
    const tutti_kernel *kernel, *cast;
    void *state; /* of kernel */
    tutti_op_call call;
    tutti_desc descs[TUTTI_OP_MAX_IN + TUTTI_OP_MAX_OUT];
    uint64_t copy[TUTTI_OP_MAX_IN + TUTTI_OP_MAX_OUT];
    uint64_t copies; /* bytes of all copies; the kernel's scratch lies behind */
};

void widen_convert(const tutti_kernel *cast, const void *from, int32_t from_dtype, void *to,
                   int32_t to_dtype, int64_t n, int32_t threads)
{
    const tutti_desc x = {{n}, 1, from_dtype}, y = {{n}, 1, to_dtype};
    const int64_t attr = to_dtype;
    const tutti_op_call call = {sizeof call, 1, 1, threads, &x, &y, &attr, NULL};
    (void)cast->run(NULL, &call, &from, &to, NULL); /* between floats it cannot fail */
}

static void add_copy(widen *w, uint32_t k, const tutti_desc *d)
{
    w->descs[k] = *d;
    w->copy[k] = DIRECT;
    if (!cast_is_low(d->dtype))
        return;
    w->descs[k].dtype = TUTTI_F32;
    w->copy[k] = w->copies;
    w->copies += memory_round(tutti_nbytes(&w->descs[k]));
}

tutti_status widen_create(const graph *g, const graph_node *n, const tutti_op_call *c,
                          pool *memory, widen **ret_widen, uint64_t *ret_scratch,
                          tutti_error *err)
{
    widen *w = pool_take(memory, sizeof *w);
    const tutti_op *cast = graph_op(g, "cast");
    uint64_t scratch = 0;
    if (!w)
        return tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory for a plan", n->op->name);
    if (!cast || !cast->cpu)
        return tutti_fail(err, TUTTI_E_UNSUPPORTED, "%s: there is no operation \"cast\"",
                          n->op->name);
    w->kernel = n->op->cpu;
    w->cast = cast->cpu;
    w->copies = 0;
    for (uint32_t k = 0; k < c->nin; k++)
        add_copy(w, k, &c->in[k]);
    for (uint32_t k = 0; k < c->nout; k++)
        add_copy(w, TUTTI_OP_MAX_IN + k, &c->out[k]);
    w->call = *c;
    w->call.in = w->descs;
    w->call.out = w->descs + TUTTI_OP_MAX_IN;
    w->state = NULL;
    const tutti_status s =
        w->kernel->prepare ? w->kernel->prepare(&w->call, &w->state, &scratch, err) : TUTTI_OK;
    if (s)
        return s;
    *ret_scratch = w->copies + scratch;
    *ret_widen = w;
    return TUTTI_OK;
}

void widen_destroy(widen *w)
{
    if (w && w->kernel->prepare && w->kernel->destroy)
        w->kernel->destroy(w->state);
}

tutti_status widen_run(void *state, const tutti_op_call *c, const void *const *in,
                       void *const *out, void *scratch)
{
    const widen *w = state;
    unsigned char *room = scratch;
    const void *from[TUTTI_OP_MAX_IN];
    void *to[TUTTI_OP_MAX_OUT];
    for (uint32_t k = 0; k < c->nin; k++) {
        void *copy = w->copy[k] == DIRECT ? NULL : room + w->copy[k];
        from[k] = copy ? copy : in[k];
        if (copy)
            widen_convert(w->cast, in[k], c->in[k].dtype, copy, TUTTI_F32,
                          tutti_numel(&c->in[k]), c->threads);
    }
    for (uint32_t k = 0; k < c->nout; k++) {
        const uint64_t at = w->copy[TUTTI_OP_MAX_IN + k];
        to[k] = at == DIRECT ? out[k] : room + at;
    }
    const tutti_status s = w->kernel->run(w->state, &w->call, from, to, room + w->copies);
    for (uint32_t k = 0; k < c->nout && !s; k++)
        if (to[k] != out[k])
            widen_convert(w->cast, to[k], TUTTI_F32, out[k], c->out[k].dtype,
                          tutti_numel(&c->out[k]), c->threads);
    return s;
}
