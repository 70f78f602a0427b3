/* matmul_tiles.c - products by our GEMM, and b packed once for many runs of them. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "matmul/matmul_tiles.h"
#include "common/half_rows.h"
#include "matmul/matmul_tile.h"

#include <string.h>

/* Threads that have products of their own. */
static int tile_groups(const matmul_state *s, const tutti_op_call *c)
{
    return s->shape.count >= c->threads ? c->threads : 1;
}

static int has_half_bias(const matmul_state *s, const tutti_op_call *c)
{
    return s->bias && half_is(c->in[2].dtype);
}

tutti_status matmul_tiles_prepare(matmul_state *s, const tutti_op_call *c, int32_t factor,
                                  int32_t parts, uint64_t *ret_scratch)
{
    const matmul_shape *m = &s->shape;
    const int small = m->count * m->m * m->n * m->k <= MATMUL_SMALL;
    uint64_t bytes = 0;
    s->stores = matmul_is_half(c->out[0].dtype) ||
                (c->nout > 1 && matmul_is_half(c->out[1].dtype)) ||
                (s->grad && matmul_is_half(c->in[2].dtype));
    s->tiles = (gemm){.m = m->m,
                      .n = m->n,
                      .k = m->k,
                      .a_row = m->a_row,
                      .a_col = m->a_col,
                      .b_row = m->b_row,
                      .b_col = m->b_col,
                      .y_row = m->n,
                      .threads = small ? 1 : c->threads / tile_groups(s, c),
                      .a_dtype = c->in[0].dtype,
                      .b_dtype = c->in[1].dtype,
                      .factor = factor,
                      .unstored = s->stores,
                      .parts = parts};
    const tutti_status status = gemm_plan(&s->tiles, &bytes);
    s->packed = (int64_t)(bytes + 63) / 64 * 64;
    *ret_scratch = (uint64_t)(s->packed * tile_groups(s, c)) +
                   (has_half_bias(s, c) ? (uint64_t)m->n * sizeof(float) : 0);
    return status;
}

static const void *element(const void *data, int32_t dtype, int64_t at)
{
    return (const char *)data + (uint64_t)at * tutti_dtype_size(dtype);
}

/* Products [first, last). */
static void run_products(const matmul_state *s, const matmul_tiles_job *j, int64_t first,
                         int64_t last, void *scratch)
{
    const matmul_shape *m = &s->shape;
    for (int64_t p = first; p < last; p++) {
        int64_t ia, ib;
        broadcast_at(&m->batch_dims, p, &ia, &ib);
        const tile_epilogue epilogue = {*j->epilogue, j->y, m->n, p * m->m};
        const tile_store store = {j->to, m->n, p * m->m};
        gemm_data d = {.a = element(j->in[0], s->tiles.a_dtype, ia * m->m * m->k),
                       .b = element(j->in[1], s->tiles.b_dtype, ib * m->k * m->n),
                       .packed_b = s->kept_b,
                       .bias = j->bias,
                       .epilogue = store_tile,
                       .how = &store};
        if (!s->stores) {
            d.y = j->preactivation + p * m->m * m->n;
            d.epilogue = j->epilogue->act ? apply_to_tile : NULL;
            d.how = &epilogue;
        }
        gemm_run(&s->tiles, &d, scratch);
    }
}

/* A parallel region around one group would make the threads of the product's new ones each time. */
void matmul_tiles_run(const matmul_state *s, const tutti_op_call *c, const matmul_tiles_job *j,
                      void *scratch)
{
    const int64_t count = s->shape.count;
    const int groups = tile_groups(s, c);
    matmul_tiles_job job = *j;
    if (has_half_bias(s, c)) {
        float *bias = (float *)((char *)scratch + groups * s->packed);
        half_upcast(j->in[2], c->in[2].dtype, bias, s->shape.n);
        job.bias = bias;
    }
    if (groups == 1) {
        run_products(s, &job, 0, count, scratch);
        return;
    }
#pragma omp parallel for schedule(static) num_threads(groups)
    for (int g = 0; g < groups; g++)
        run_products(s, &job, count * g / groups, count * (g + 1) / groups,
                     (char *)scratch + g * s->packed);
}

/* ---- b, kept by the host ---- */

/* A product of more rows takes so much longer than packing b that a copy is not worth its memory. */
enum { FEW_ROWS = 256 };

static uint64_t packed_bytes(void *state, const tutti_op_call *c, uint32_t k,
                             char layout[TUTTI_PACKED_LAYOUT])
{
    const matmul_state *s = state;
    (void)c;
    _Static_assert((int)TUTTI_PACKED_LAYOUT >= (int)GEMM_LAYOUT, "texts fit");
    return k == 1 && s->tiles.threads && s->tiles.factor && s->shape.count == 1 &&
                   s->shape.m <= FEW_ROWS
               ? gemm_packed_bytes(&s->tiles, layout)
               : 0;
}

static void pack(void *state, const tutti_op_call *c, uint32_t k, const void *in, void *to)
{
    const matmul_state *s = state;
    (void)c;
    (void)k;
    gemm_pack_whole(&s->tiles, in, to);
}

static void use(void *state, uint32_t k, const void *packed)
{
    matmul_state *s = state;
    (void)k;
    s->kept_b = packed;
}

const tutti_packing matmul_packing = {
    .struct_size = sizeof matmul_packing, .bytes = packed_bytes, .pack = pack, .use = use};
