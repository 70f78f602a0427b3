/* upcast.c - a kernel for f32 between conversions from and to 16 bits. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/runtime/upcast.h"
#include "graph/ir/precision.h"
#include "graph/ir/traits.h"
#include "graph/runtime/host_memory.h"

#include <string.h>

/* Where the parts of a batch are independent of each other, the kernel gets some samples at a time, so
 * that their f32 copies stay in the cache and need little memory. */
enum { CHUNK_BYTES = 4 << 20, CHUNK_SAMPLES_LEAST = 4 };

/* A copy: where it lies in the scratch, in bytes; DIRECT: the operand is used as it is. */
#define DIRECT UINT64_MAX

struct upcast {
    const tutti_kernel *kernel, *cast;
    void *state; /* of kernel */
    tutti_op_call call;
    const tutti_op_traits *batch_chunk; /* NULL: all at once */
    int64_t nchunks;
    tutti_desc descs[TUTTI_OP_MAX_IN + TUTTI_OP_MAX_OUT]; /* of one chunk */
    uint64_t copy[TUTTI_OP_MAX_IN + TUTTI_OP_MAX_OUT];
    uint64_t copies; /* bytes of all copies; the kernel's scratch lies behind */
};

void upcast_convert(const tutti_kernel *cast, const void *from, int32_t from_dtype, void *to,
                    int32_t to_dtype, int64_t n, int32_t threads)
{
    const tutti_desc x = {{n}, 1, from_dtype}, y = {{n}, 1, to_dtype};
    const int64_t attr = to_dtype;
    const tutti_op_call call = {sizeof call, 1, 1, threads, &x, &y, &attr, NULL, NULL, NULL};
    (void)cast->run(NULL, &call, &from, &to, NULL); /* between floats it cannot fail */
}

/* ---- chunks ---- */

static uint64_t copy_bytes(const tutti_desc *d)
{
    return dtype_is_half(d->dtype) ? (uint64_t)tutti_numel(d) * sizeof(float) : 0;
}

/* How many samples at a time: the most that divide the batch and whose copies fit. */
static int64_t chunk_samples(const tutti_op_traits *s, const tutti_op_call *c)
{
    const int64_t batch = c->in[0].rank ? c->in[0].dim[0] : 0;
    uint64_t bytes = 0, capacity = CHUNK_BYTES;
    for (uint32_t k = 0; k < c->nin; k++) {
        if (s->batch_in >> k & 1 && c->in[k].dim[0] != batch)
            return batch;
        bytes += s->batch_in >> k & 1 ? copy_bytes(&c->in[k]) : 0;
    }
    for (uint32_t k = 0; k < c->nout; k++)
        bytes += s->batch_out >> k & 1 ? copy_bytes(&c->out[k]) : 0;
    if (s->batch == TUTTI_BATCH_SUMMED &&
        capacity < 2 * tutti_nbytes(&c->out[0])) /* adding should be the lesser work */
        capacity = 2 * tutti_nbytes(&c->out[0]);
    if (batch < 2 || bytes <= capacity)
        return batch;
    int64_t samples = (int64_t)(capacity / (bytes / (uint64_t)batch + 1));
    samples = samples < CHUNK_SAMPLES_LEAST ? CHUNK_SAMPLES_LEAST : samples;
    while (samples < batch && batch % samples)
        samples++;
    return samples;
}

/* Draws are counted over the whole batch. */
static bool draws(const tutti_op *op, const void *attr)
{
    double p = 0.0;
    for (uint64_t k = 0; k < op->nfields; k++)
        if (strcmp(op->fields[k].name, "dropout") == 0)
            memcpy(&p, (const unsigned char *)attr + op->fields[k].offset, sizeof p);
    return p != 0.0;
}

/* What says how the batch may be cut; NULL: it is seen whole. */
static const tutti_op_traits *find_chunk_rule(const tutti_op *op, const tutti_op_call *c)
{
    const tutti_op_traits *t = traits_of(op);
    return t->batch >= TUTTI_BATCH_APART && c->nin <= t->batch_nin && !draws(op, c->attr)
               ? t
               : NULL;
}

/* Gradients are told the whole input's shape: a copy of the attributes with this batch. */
static const void *attr_for(const tutti_op *op, const void *attr, int64_t samples, pool *memory)
{
    for (uint64_t k = 0; k < op->nfields; k++) {
        const tutti_attr_field *f = &op->fields[k];
        if (f->type != TUTTI_ATTR_LIST || strcmp(f->name, "input_shape") != 0)
            continue;
        unsigned char *mine = pool_take(memory, op->attr_size);
        tutti_list list;
        if (!mine)
            return NULL;
        memcpy(mine, attr, op->attr_size);
        memcpy(&list, mine + f->offset, sizeof list);
        list.v[0] = samples;
        memcpy(mine + f->offset, &list, sizeof list);
        return mine;
    }
    return attr;
}

static void add_copy(upcast *w, uint32_t k, const tutti_desc *d, int64_t samples, bool cut,
                     bool always)
{
    w->descs[k] = *d;
    if (cut)
        w->descs[k].dim[0] = samples;
    w->copy[k] = DIRECT;
    if (!dtype_is_half(d->dtype) && !always)
        return;
    w->descs[k].dtype = TUTTI_F32;
    w->copy[k] = w->copies;
    w->copies += bytes_round(tutti_nbytes(&w->descs[k]));
}

tutti_status upcast_create(const graph *g, const graph_node *n, const tutti_op_call *c,
                           autotuner *t, pool *memory, upcast **ret_upcast,
                           uint64_t *ret_scratch, const char **ret_algorithm, tutti_error *err)
{
    upcast *w = pool_take(memory, sizeof *w);
    const tutti_op *cast = graph_op_with_role(g, TUTTI_ROLE_CAST);
    uint64_t scratch = 0;
    if (!w)
        return tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory for a plan", n->op->name);
    if (!cast || !cast->cpu)
        return tutti_fail(err, TUTTI_E_UNSUPPORTED, "%s: there is no operation \"cast\"",
                          n->op->name);
    w->kernel = n->op->cpu;
    w->cast = cast->cpu;
    w->nchunks = 1;
    w->call = *c;
    const tutti_op_traits *s = find_chunk_rule(n->op, c);
    const int64_t samples = s ? chunk_samples(s, c) : 0;
    if (s && samples < c->in[0].dim[0]) {
        w->batch_chunk = s;
        w->nchunks = c->in[0].dim[0] / samples;
        w->call.attr = attr_for(n->op, c->attr, samples, memory);
        if (!w->call.attr)
            return tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory for a plan", n->op->name);
    }
    for (uint32_t k = 0; k < c->nin; k++)
        add_copy(w, k, &c->in[k], samples, w->batch_chunk && s->batch_in >> k & 1, false);
    for (uint32_t k = 0; k < c->nout; k++)
        add_copy(w, TUTTI_OP_MAX_IN + k, &c->out[k], samples,
                 w->batch_chunk && s->batch_out >> k & 1,
                 w->batch_chunk && s->batch == TUTTI_BATCH_SUMMED);
    w->call.in = w->descs;
    w->call.out = w->descs + TUTTI_OP_MAX_IN;
    const tutti_status status =
        autotune_prepare(t, n->op, &w->call, &w->state, &scratch, ret_algorithm, err);
    if (status)
        return status;
    *ret_scratch = w->copies + scratch;
    *ret_upcast = w;
    return TUTTI_OK;
}

void upcast_destroy(upcast *w)
{
    if (w && w->kernel->prepare && w->kernel->destroy)
        w->kernel->destroy(w->state);
}

/* ---- running ---- */

/* Where chunk `i` of an operand begins. */
static void *chunk_at(const void *data, const tutti_desc *whole, const tutti_desc *part,
                      bool cut, int64_t i)
{
    const uint64_t bytes =
        cut ? (uint64_t)tutti_numel(part) * tutti_dtype_size(whole->dtype) : 0;
    return (unsigned char *)(uintptr_t)data + (uint64_t)i * bytes;
}

/* Output k of chunk i goes to its place, or is added to what the chunks before it left there. */
static void put(const upcast *w, const tutti_op_call *c, uint32_t k, int64_t i, float *from,
                void *to)
{
    const int64_t n = tutti_numel(&w->call.out[k]);
    if (w->batch_chunk && w->batch_chunk->batch == TUTTI_BATCH_SUMMED && i > 0) {
        float *sum = to; /* such a result is f32 */
        for (int64_t j = 0; j < n; j++)
            sum[j] += from[j];
        return;
    }
    upcast_convert(w->cast, from, TUTTI_F32, to, c->out[k].dtype, n, c->threads);
}

static tutti_status run_chunk(const upcast *w, const tutti_op_call *c, int64_t i,
                              const void *const *in, void *const *out, unsigned char *space)
{
    const void *from[TUTTI_OP_MAX_IN];
    void *to[TUTTI_OP_MAX_OUT], *place[TUTTI_OP_MAX_OUT];
    for (uint32_t k = 0; k < c->nin; k++) {
        const bool cut = w->batch_chunk && w->batch_chunk->batch_in >> k & 1;
        from[k] = chunk_at(in[k], &c->in[k], &w->descs[k], cut, i);
        if (w->copy[k] == DIRECT)
            continue;
        void *copy = space + w->copy[k];
        if (cut || i == 0)
            upcast_convert(w->cast, from[k], c->in[k].dtype, copy, TUTTI_F32,
                           tutti_numel(&w->descs[k]), c->threads);
        from[k] = copy;
    }
    for (uint32_t k = 0; k < c->nout; k++) {
        const uint64_t at = w->copy[TUTTI_OP_MAX_IN + k];
        place[k] = chunk_at(out[k], &c->out[k], &w->call.out[k],
                            w->batch_chunk && w->batch_chunk->batch_out >> k & 1, i);
        to[k] = at == DIRECT ? place[k] : space + at;
    }
    tutti_op_call call = w->call;
    call.step = c->step; /* of this run */
    const tutti_status s = w->kernel->run(w->state, &call, from, to, space + w->copies);
    for (uint32_t k = 0; k < c->nout && !s; k++)
        if (to[k] != place[k])
            put(w, c, k, i, to[k], place[k]);
    return s;
}

tutti_status upcast_run(void *state, const tutti_op_call *c, const void *const *in,
                        void *const *out, void *scratch)
{
    const upcast *w = state;
    unsigned char none; /* without elements there is no memory */
    tutti_status s = TUTTI_OK;
    for (int64_t i = 0; i < w->nchunks && !s; i++)
        s = run_chunk(w, c, i, in, out, scratch ? scratch : &none);
    return s;
}
