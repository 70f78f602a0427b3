/* scatter_add_cuda.c - what the GPU is told to do: two launches a pass of the sort, two for sums. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/axis.h"
#include "common/cuda/convert.h"
#include "scatter_add/scatter_add.h"
#include "scatter_add/scatter_add_op.h"

#include <stdlib.h>

typedef struct state {
    scatter_sort sort;
    scatter_shape shape;
    int passes;
    uint64_t keys[2], entries[2], counts, parts; /* in the scratch */
    void *count, *move, *base, *sum, *join;      /* device functions */
} state;

static int64_t parts_of(int64_t n, int64_t size)
{
    return (n + size - 1) / size;
}

static void choose_tiles(state *s, const tutti_op_call *c)
{
    const axis_view v = axis_of(&c->in[0], scatter_add_axis(c));
    const int64_t count = tutti_numel(&c->in[1]);
    int64_t tiles = parts_of(count, SCATTER_DIGITS);
    tiles = tiles > SCATTER_TILES ? SCATTER_TILES : tiles < 1 ? 1 : tiles;
    s->sort = (scatter_sort){.n = v.n, .count = count};
    s->sort.tile = parts_of(count, tiles * SCATTER_DIGITS) * SCATTER_DIGITS;
    s->sort.tiles = s->sort.tile ? parts_of(count, s->sort.tile) : 0;
    s->shape = (scatter_shape){.outer = v.outer,
                               .n = v.n,
                               .inner = v.inner,
                               .count = count,
                               .pieces = parts_of(count, SCATTER_PIECE),
                               .width = v.inner % 8 ? 1 : 8};
    do
        s->passes++;
    while (v.n >> (SCATTER_BITS * s->passes)); /* row n is one of them */
}

static tutti_status find_functions(state *s, const tutti_op_call *c, tutti_error *err)
{
    const uint32_t sort = sizeof(scatter_sort), shape = sizeof(scatter_shape);
    const uint32_t tensor = sizeof(cuda_tensor), at = sizeof(void *);
    tutti_status status = CUDA_FUNCTION(c, "scatter_count_cuda", &s->count, err, sort, tensor,
                                        at, at, sizeof(int32_t), at, sizeof(uint32_t));
    if (!status)
        status = CUDA_FUNCTION(c, "scatter_move_cuda", &s->move, err, sort, at, at, at, at, at);
    if (!status)
        status = CUDA_FUNCTION(c, "scatter_base_cuda", &s->base, err, tensor, tensor,
                               sizeof(int64_t));
    if (!status)
        status = CUDA_FUNCTION(c, "scatter_sum_cuda", &s->sum, err, shape, at, at, tensor,
                               tensor, at);
    if (!status)
        status = CUDA_FUNCTION(c, "scatter_join_cuda", &s->join, err, shape, at, tensor, at);
    return status;
}

static tutti_status prepare(const tutti_op_call *c, void **ret_state, uint64_t *ret_scratch,
                            tutti_error *err)
{
    state *s = calloc(1, sizeof *s);
    uint64_t bytes = CUDA_PART;
    if (!s)
        return tutti_fail(err, TUTTI_E_NOMEM, "scatter_add: no memory for its state");
    choose_tiles(s, c);
    tutti_status status = find_functions(s, c, err);
    const scatter_shape *p = &s->shape;
    if (!status && (p->n >= UINT32_MAX || p->count >= UINT32_MAX))
        status = tutti_fail(err, TUTTI_E_UNSUPPORTED,
                            "scatter_add: %lld rows and %lld entries are more than a GPU sorts",
                            (long long)p->n, (long long)p->count);
    if (status) {
        free(s);
        return status;
    }
    for (int k = 0; k < 2; k++) {
        s->keys[k] = cuda_part(&bytes, (uint64_t)p->count * sizeof(uint32_t));
        s->entries[k] = cuda_part(&bytes, (uint64_t)p->count * sizeof(uint32_t));
    }
    s->counts = cuda_part(&bytes, (uint64_t)s->sort.tiles * SCATTER_DIGITS * sizeof(uint32_t));
    s->parts = cuda_part(&bytes, (uint64_t)(p->outer * p->pieces * 2 * p->inner) * 4);
    *ret_state = s;
    *ret_scratch = bytes;
    return TUTTI_OK;
}

/* Which of the two lists is the sorted one. */
static tutti_status sort_entries(const state *s, const tutti_cuda_v1 *cuda, cuda_tensor index,
                                 void *scratch, int *ret_list)
{
    scatter_sort sort = s->sort;
    void *counts = cuda_part_at(scratch, s->counts);
    uint32_t *fault = cuda->fault, mark = cuda->mark;
    tutti_status status = TUTTI_OK;
    for (int pass = 0; pass < s->passes && !status; pass++) {
        int32_t first = pass == 0;
        void *keys = cuda_part_at(scratch, s->keys[pass % 2]);
        void *entries = first ? NULL : cuda_part_at(scratch, s->entries[pass % 2]);
        void *to_keys = cuda_part_at(scratch, s->keys[(pass + 1) % 2]);
        void *to_entries = cuda_part_at(scratch, s->entries[(pass + 1) % 2]);
        void *const count[] = {&sort, &index, &keys, &counts, &first, &fault, &mark};
        void *const move[] = {&sort, &keys, &entries, &counts, &to_keys, &to_entries};
        const uint32_t blocks = (uint32_t)sort.tiles;
        status = cuda_launch(cuda, s->count, blocks, SCATTER_DIGITS, 0, count);
        if (!status)
            status = cuda_launch(cuda, s->move, blocks, SCATTER_DIGITS, 0, move);
        sort.shift += SCATTER_BITS;
    }
    *ret_list = s->passes % 2;
    return status;
}

static tutti_status run(void *self, const tutti_op_call *c, const void *const *in,
                        void *const *out, void *scratch)
{
    const state *s = self;
    scatter_shape shape = s->shape;
    cuda_tensor base = cuda_in(c, in, 0), index = cuda_in(c, in, 1), src = cuda_in(c, in, 2);
    cuda_tensor y = cuda_out(c, out, 0);
    int64_t n = tutti_numel(&c->out[0]);
    const int64_t work = shape.outer * shape.pieces * (shape.inner / shape.width);
    tutti_status status = TUTTI_OK;
    int list = 0;
    if (n && y.data != base.data) {
        void *const args[] = {&base, &y, &n};
        status = cuda_launch(c->cuda, s->base, cuda_blocks(c->cuda, (n + 7) / 8), CUDA_BLOCK, 0,
                             args);
    }
    if (!status && shape.count)
        status = sort_entries(s, c->cuda, index, scratch, &list);
    if (status || work == 0)
        return status;
    void *keys = cuda_part_at(scratch, s->keys[list]);
    void *entries = cuda_part_at(scratch, s->entries[list]);
    void *parts = cuda_part_at(scratch, s->parts);
    void *const sum[] = {&shape, &keys, &entries, &src, &y, &parts};
    void *const join[] = {&shape, &keys, &y, &parts};
    const uint32_t blocks = cuda_blocks(c->cuda, work);
    status = cuda_launch(c->cuda, s->sum, blocks, CUDA_BLOCK, 0, sum);
    if (!status)
        status = cuda_launch(c->cuda, s->join, blocks, CUDA_BLOCK, 0, join);
    return status;
}

const tutti_kernel scatter_add_cuda = {sizeof(tutti_kernel), 1, prepare, run, free};
