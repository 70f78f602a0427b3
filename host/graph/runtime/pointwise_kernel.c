/* pointwise_kernel.c - a group of elementwise nodes as one kernel: their own kernels, tile by tile. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/runtime/pointwise_kernel.h"
#include "graph/ir/precision.h"
#include "graph/ir/traits.h"
#include "graph/runtime/upcast.h"

#include <string.h>

/* Below this many elements a parallel region costs more than it saves. */
enum { SERIAL_BELOW = 16384 };

/* A cast to f32 is what it reads. */
static bool is_exact(const pointwise_op *l)
{
    return l->cast == TUTTI_F32;
}

static bool is_input(uint32_t operand)
{
    return operand < POINTWISE_MAX_IN;
}

static uint32_t operand(pointwise_kernel *c, const graph *g, tutti_value v)
{
    for (uint32_t k = 0; k < c->nops; k++)
        if (c->ops[k].node->out == v)
            return is_exact(&c->ops[k]) ? c->ops[k].from[0] : POINTWISE_MAX_IN + k;
    for (uint32_t k = 0; k < c->nin; k++)
        if (c->in[k] == v)
            return k;
    c->in[c->nin] = v;
    c->whole[c->nin] = tutti_numel(&graph_value_at(g, v)->desc) == 1;
    c->in_dtype[c->nin] = graph_value_at(g, v)->desc.dtype;
    c->last_read[c->nin] = UINT32_MAX; /* nothing yet */
    return c->nin++;
}

/* Operand j of the op that comes next. */
static void note_read(pointwise_kernel *c, pointwise_op *l, uint32_t j)
{
    uint32_t *last = is_input(l->from[j]) ? &c->last_read[l->from[j]]
                                          : &c->ops[l->from[j] - POINTWISE_MAX_IN].last_read;
    if (*last == UINT32_MAX)
        l->first_uses |= 1u << j;
    *last = c->nops;
}

static tutti_status add_op(pointwise_kernel *c, const graph *g, const graph_node *n,
                           bool outside, pool *memory)
{
    pointwise_op *l = &c->ops[c->nops];
    l->node = n;
    l->descs = pool_take(memory, sizeof *l->descs * (n->nin + 1));
    l->from = pool_take(memory, sizeof *l->from * n->nin);
    if (!l->descs || !l->from)
        return TUTTI_E_NOMEM;
    for (uint32_t j = 0; j < n->nin; j++) {
        l->from[j] = operand(c, g, n->in[j]);
        note_read(c, l, j);
    }
    l->call = (tutti_op_call){sizeof l->call,    n->nin,  1,    1,    l->descs,
                              l->descs + n->nin, n->attr, NULL, NULL, NULL};
    const int32_t dtype = graph_value_at(g, n->out)->desc.dtype;
    l->cast = traits_have_role(n->op, TUTTI_ROLE_CAST) ? dtype : TUTTI_DTYPE_NONE;
    l->last_read = c->nops;
    l->out = outside ? (int32_t)c->nout : -1;
    if (outside) {
        c->out_dtype[c->nout] = dtype;
        c->out[c->nout++] = n->out;
    }
    c->nops++;
    return TUTTI_OK;
}

/* Is the result of node `k` read by live nodes outside of its group? */
static bool read_outside(const graph *g, const bool *live, const uint32_t *ends, uint32_t k)
{
    const tutti_value v = graph_node_at(g, k)->out;
    for (uint32_t r = k + 1; r < graph_nnodes(g); r++) {
        const graph_node *n = graph_node_at(g, r);
        if (live[r] && n->guard == v)
            return true;
        for (uint32_t j = 0; live[r] && ends[r] != ends[k] && j < n->nin; j++)
            if (n->in[j] == v)
                return true;
    }
    return false;
}

static int64_t tile_of(const pointwise_kernel *c)
{
    uint64_t bytes = c->nbuffers * sizeof(float);
    for (uint32_t k = 0; k < c->nin; k++)
        bytes += c->whole[k] ? 0 : tutti_dtype_size(c->in_dtype[k]);
    for (uint32_t k = 0; k < c->nout; k++)
        bytes += tutti_dtype_size(c->out_dtype[k]);
    int64_t most = POINTWISE_CACHE / (int64_t)bytes / 16 * 16;
    most = most < POINTWISE_TILE_LEAST ? POINTWISE_TILE_LEAST : most;
    most = most > POINTWISE_TILE ? POINTWISE_TILE : most;
    const int64_t chunk = ((c->n + c->threads - 1) / c->threads + 15) / 16 * 16;
    return chunk < 16 ? 16 : chunk < most ? chunk : most;
}

static void describe_tile(const pointwise_kernel *c, pointwise_op *l)
{
    const uint32_t nin = l->node->nin;
    for (uint32_t j = 0; j < nin; j++) {
        const bool whole = is_input(l->from[j]) && c->whole[l->from[j]] && c->n != 1;
        l->descs[j] = (tutti_desc){{whole ? 1 : c->tile}, 1, TUTTI_F32};
    }
    l->descs[nin] = (tutti_desc){{c->tile}, 1, TUTTI_F32};
}

pointwise_kernel *pointwise_kernel_make(const graph *g, const bool *live, const bool *wanted,
                                        const uint32_t *ends, uint32_t end, int32_t threads,
                                        pool *memory)
{
    pointwise_kernel *c = pool_take(memory, sizeof *c);
    if (!c)
        return NULL;
    const tutti_op *cast = graph_op_with_role(g, TUTTI_ROLE_CAST);
    c->cast = cast ? cast->cpu : NULL;
    c->n = tutti_numel(&graph_value_at(g, graph_node_at(g, end)->out)->desc);
    c->threads = c->n < SERIAL_BELOW ? 1 : threads;
    for (uint32_t k = 0; k <= end; k++) {
        const graph_node *n = graph_node_at(g, k);
        if (live[k] && ends[k] == end &&
            add_op(c, g, n, wanted[n->out] || read_outside(g, live, ends, k), memory))
            return NULL;
    }
    pointwise_buffers_assign(c);
    c->tile = tile_of(c);
    for (uint32_t k = 0; k < c->nops; k++)
        describe_tile(c, &c->ops[k]);
    return c;
}

uint64_t pointwise_kernel_scratch(const pointwise_kernel *c)
{
    return (uint64_t)c->threads * c->nbuffers * (uint64_t)c->tile * sizeof(float);
}

bool pointwise_kernel_in_place(const pointwise_kernel *c, uint32_t out, uint32_t in)
{
    uint32_t w = 0;
    while (c->ops[w].out != (int32_t)out)
        w++;
    if (c->whole[in] || c->last_read[in] > w || c->in_dtype[in] != c->out_dtype[out])
        return false;
    for (uint32_t j = 0; j < c->ops[w].node->nin; j++)
        if (c->ops[w].from[j] == in && !pointwise_op_in_place(&c->ops[w], j))
            return false;
    return true;
}

/* What one thread works with. */
typedef struct tile {
    const void *const *in;
    void *const *out;
    float *buffers;
    const float *from[POINTWISE_MAX_IN]; /* the inputs' elements of this tile, in f32 */
    float *results[POINTWISE_MAX_OPS];
    int64_t at, count;
} tile;

static void *output_at(const pointwise_kernel *c, const tile *t, int32_t k)
{
    return (unsigned char *)t->out[k] + (uint64_t)t->at * tutti_dtype_size(c->out_dtype[k]);
}

static float *buffer_at(const pointwise_kernel *c, const tile *t, int32_t k)
{
    return t->buffers + (int64_t)k * c->tile;
}

/* Input k, in f32. */
static void load_input(const pointwise_kernel *c, tile *t, uint32_t k)
{
    const int64_t at = c->whole[k] ? 0 : t->at, n = c->whole[k] ? 1 : t->count;
    const void *from =
        (const unsigned char *)t->in[k] + (uint64_t)at * tutti_dtype_size(c->in_dtype[k]);
    t->from[k] = from;
    if (c->in_buffer[k] < 0)
        return;
    float *copy = buffer_at(c, t, c->in_buffer[k]);
    upcast_convert(c->cast, from, c->in_dtype[k], copy, TUTTI_F32, n, 1);
    t->from[k] = copy;
}

static const float *operand_at(const tile *t, uint32_t o)
{
    return is_input(o) ? t->from[o] : t->results[o - POINTWISE_MAX_IN];
}

static tutti_status run_op(const pointwise_kernel *c, uint32_t k, tile *t,
                           const tutti_step *step)
{
    const pointwise_op *l = &c->ops[k];
    tutti_desc descs[TUTTI_OP_MAX_IN + 1];
    const void *from[TUTTI_OP_MAX_IN];
    const uint32_t nin = l->call.nin;
    tutti_op_call call = l->call;
    for (uint32_t j = 0; j < nin; j++)
        from[j] = operand_at(t, l->from[j]);
    void *to = t->results[k] =
        l->buffer < 0 ? output_at(c, t, l->out) : buffer_at(c, t, l->buffer);
    call.step = step;
    if (t->count < c->tile) {
        for (uint32_t j = 0; j <= nin; j++) {
            descs[j] = l->descs[j];
            descs[j].dim[0] = descs[j].dim[0] == c->tile ? t->count : descs[j].dim[0];
        }
        call.in = descs;
        call.out = descs + nin;
    }
    return l->node->op->cpu->run(NULL, &call, from, &to, NULL);
}

/* Rounds, and reads back what became of it where an op reads that. */
static void run_cast(const pointwise_kernel *c, uint32_t k, tile *t)
{
    const pointwise_op *l = &c->ops[k];
    const float *from = operand_at(t, l->from[0]);
    if (is_exact(l)) {
        if (l->out >= 0)
            memcpy(output_at(c, t, l->out), from, (size_t)t->count * sizeof *from);
        return;
    }
    void *bits = l->bits < 0 ? output_at(c, t, l->out) : buffer_at(c, t, l->bits);
    upcast_convert(c->cast, from, TUTTI_F32, bits, l->cast, t->count, 1);
    if (l->buffer < 0)
        return;
    t->results[k] = buffer_at(c, t, l->buffer);
    upcast_convert(c->cast, bits, l->cast, t->results[k], TUTTI_F32, t->count, 1);
}

/* The tile through all ops. */
static tutti_status run_tile(const pointwise_kernel *c, tile *t, const tutti_step *step)
{
    for (uint32_t k = 0; k < c->nops; k++) {
        const pointwise_op *l = &c->ops[k];
        for (uint32_t j = 0; j < l->node->nin; j++)
            if (l->first_uses >> j & 1)
                load_input(c, t, l->from[j]);
        if (l->cast != TUTTI_DTYPE_NONE) {
            run_cast(c, k, t);
            continue;
        }
        const tutti_status s = run_op(c, k, t, step);
        if (s)
            return s;
        if (l->out >= 0 && l->buffer >= 0)
            upcast_convert(c->cast, t->results[k], TUTTI_F32, output_at(c, t, l->out),
                           c->out_dtype[l->out], t->count, 1);
    }
    return TUTTI_OK;
}

tutti_status pointwise_kernel_run(void *state, const tutti_op_call *call, const void *const *in,
                                  void *const *out, void *scratch)
{
    const pointwise_kernel *c = state;
    const int64_t tiles = (c->n + c->tile - 1) / c->tile;
    int failed = TUTTI_OK;
#pragma omp parallel for schedule(static) num_threads(c->threads) if (c->threads > 1)          \
    reduction(max                                                                              \
              : failed)
    for (int t = 0; t < c->threads; t++) {
        float *own = scratch ? (float *)scratch + (int64_t)t * c->nbuffers * c->tile : NULL;
        tile one = {in, out, own, {0}, {0}, 0, 0};
        const int64_t end = tiles * (t + 1) / c->threads;
        tutti_status s = TUTTI_OK;
        for (int64_t k = tiles * t / c->threads; k < end && !s; k++) {
            const int64_t left = c->n - k * c->tile;
            one.at = k * c->tile;
            one.count = left < c->tile ? left : c->tile;
            s = run_tile(c, &one, call->step);
        }
        failed = s > failed ? s : failed;
    }
    return failed;
}
