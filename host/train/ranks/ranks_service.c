/* ranks_service.c - tutti.ranks/1: collective operations over ranks, each of which begins with one exchange of what it is. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/ranks/ranks_service.h"

#include "train/ranks/rank_calls.h"
#include "train/ranks/reduce.h"
#include "tutti/tensor.h"

#include <stdlib.h>
#include <string.h>

enum { PIECE_BYTES = 1 << 20 };

static tutti_status meet_without_data(const ranks_service *r, call_kind kind, int32_t op,
                                      tutti_error *err)
{
    const call_header header = {.kind = kind, .op = op};
    call_frame *all = NULL;
    const tutti_status s =
        r->world ? call_meet(r->world, &header, NULL, 0, &all, err) : TUTTI_OK;
    free(all);
    return s;
}

/* ---- where this rank is ---- */

static int32_t get_rank(void *ctx)
{
    const ranks_service *r = ctx;
    return r->world ? world_rank(r->world) : 0;
}

static int32_t get_size(void *ctx)
{
    const ranks_service *r = ctx;
    return r->world ? world_size(r->world) : 1;
}

static world_place place(const ranks_service *r)
{
    return r->world ? *world_where(r->world) : (world_place){0, 1, 0, 1};
}

static int32_t get_local_rank(void *ctx)
{
    return place(ctx).local_rank;
}

static int32_t get_local_size(void *ctx)
{
    return place(ctx).local_size;
}

static int32_t get_machine(void *ctx)
{
    return place(ctx).machine;
}

static int32_t get_machines(void *ctx)
{
    return place(ctx).machines;
}

static const char *get_comm(void *ctx)
{
    const ranks_service *r = ctx;
    return r->world ? world_comm(r->world) : "none";
}

static void share(void *ctx, int64_t n, int64_t *ret_first, int64_t *ret_count)
{
    const slot_span mine = slots_of_rank(n > 0 ? n : 0, get_size(ctx), get_rank(ctx));
    *ret_first = mine.first;
    *ret_count = mine.count;
}

/* ---- operations ---- */

/* More numbers than a frame has room for, a piece at a time. */
static tutti_status reduce_pieces(const ranks_service *r, char *data, uint64_t n, int32_t dtype,
                                  int32_t op, tutti_error *err)
{
    const uint64_t size = tutti_dtype_size(dtype), most = PIECE_BYTES / size;
    const uint64_t bytes = (n < most ? n : most) * size * (uint64_t)world_size(r->world);
    char *all = malloc(bytes);
    tutti_status s = all ? TUTTI_OK : call_no_memory(bytes, err);
    for (uint64_t at = 0; at < n && !s; at += most) {
        const uint64_t count = n - at < most ? n - at : most;
        const reduce_input from = {all, count * size, world_size(r->world)};
        s = world_exchange(r->world, data + at * size, all, count * size, err);
        if (!s)
            reduce_numbers(data + at * size, &from, count, dtype, op);
    }
    free(all);
    return s;
}

static tutti_status all_reduce(void *ctx, void *data, uint64_t n, int32_t dtype, int32_t op,
                               tutti_error *err)
{
    const ranks_service *r = ctx;
    const call_header header = {.kind = ALL_REDUCE, .count = n, .dtype = dtype, .op = op};
    call_frame *all = NULL;
    uint64_t bytes;
    tutti_status s = reduce_check(dtype, op, err);
    if (s || !r->world)
        return s;
    if (__builtin_mul_overflow(n, tutti_dtype_size(dtype), &bytes))
        return tutti_fail(err, TUTTI_E_ARG, "all_reduce: %llu numbers are too many",
                          (unsigned long long)n);
    if ((s = call_meet(r->world, &header, data, bytes, &all, err)))
        return s;
    const reduce_input from = {all->data, sizeof *all, world_size(r->world)};
    if (bytes <= FRAME_BYTES)
        reduce_numbers(data, &from, n, dtype, op);
    else
        s = reduce_pieces(r, data, n, dtype, op, err);
    free(all);
    return s;
}

static tutti_status all_gather(void *ctx, const void *mine, void *ret_all, uint64_t bytes,
                               tutti_error *err)
{
    const ranks_service *r = ctx;
    const call_header header = {.kind = ALL_GATHER, .count = bytes};
    call_frame *all = NULL;
    if (!r->world) {
        if (bytes)
            memcpy(ret_all, mine, bytes);
        return TUTTI_OK;
    }
    tutti_status s = call_meet(r->world, &header, mine, bytes, &all, err);
    if (s)
        return s;
    for (int32_t k = 0; bytes && bytes <= FRAME_BYTES && k < world_size(r->world); k++)
        memcpy((char *)ret_all + (uint64_t)k * bytes, all[k].data, bytes);
    if (bytes > FRAME_BYTES)
        s = world_exchange(r->world, mine, ret_all, bytes, err);
    free(all);
    return s;
}

/* Before a rank's piece. */
typedef struct piece_header {
    int32_t failed; /* the rank has no memory for what all have */
    int32_t reserved;
} piece_header;

/* Of many bytes: how they go from rank to rank. */
typedef struct gathering {
    const call_frame *all;  /* how many bytes each rank has */
    uint64_t most, sum;     /* of a rank, of all */
    uint64_t piece, stride; /* bytes of a piece, and with its header */
    char *pieces;           /* of all ranks, then this one's */
} gathering;

static uint64_t bytes_at(const gathering *g, int32_t k, uint64_t at)
{
    const uint64_t left = g->all[k].bytes > at ? g->all[k].bytes - at : 0;
    return left < g->piece ? left : g->piece;
}

/* All ranks find the same. */
static tutti_status check_pieces(const gathering *g, int32_t size, tutti_error *err)
{
    for (int32_t k = 0; k < size; k++) {
        piece_header header;
        memcpy(&header, g->pieces + (uint64_t)k * g->stride, sizeof header);
        if (header.failed)
            return tutti_fail(err, TUTTI_E_NOMEM,
                              TUTTI_RANKS_V1
                              ": rank %d has no memory for %llu bytes of all ranks",
                              k, (unsigned long long)g->sum);
    }
    return TUTTI_OK;
}

/* What ranks have from byte `at` of each on, to its place in r->all. */
static tutti_status gather_piece(const ranks_service *r, const gathering *g, const char *mine,
                                 const piece_header *header, uint64_t at, tutti_error *err)
{
    const int32_t size = world_size(r->world), rank = world_rank(r->world);
    char *own = g->pieces + (uint64_t)size * g->stride;
    const uint64_t bytes = bytes_at(g, rank, at);
    memset(own, 0, g->stride);
    memcpy(own, header, sizeof *header);
    if (bytes)
        memcpy(own + sizeof *header, mine + at, bytes);
    tutti_status s = world_exchange(r->world, own, g->pieces, g->stride, err);
    if (s || (s = check_pieces(g, size, err)))
        return s;
    uint64_t first = 0;
    for (int32_t k = 0; k < size; first = r->ends[k++])
        memcpy((char *)r->all + first + at,
               g->pieces + (uint64_t)k * g->stride + sizeof *header, bytes_at(g, k, at));
    return TUTTI_OK;
}

/* A rank without memory says so with its first piece, which all wait for anyhow. */
static tutti_status gather_pieces(const ranks_service *r, gathering *g, const void *mine,
                                  bool has_memory, tutti_error *err)
{
    const piece_header header = {.failed = !has_memory};
    g->piece = g->most < PIECE_BYTES ? g->most : PIECE_BYTES;
    g->stride = sizeof header + g->piece;
    const uint64_t bytes = ((uint64_t)world_size(r->world) + 1) * g->stride;
    g->pieces = malloc(bytes);
    tutti_status s = g->pieces ? TUTTI_OK : call_no_memory(bytes, err);
    for (uint64_t at = 0; at < g->most && !s; at += g->piece)
        s = gather_piece(r, g, mine, &header, at, err);
    free(g->pieces);
    return s;
}

static gathering measure(const call_frame *all, int32_t size)
{
    gathering g = {.all = all};
    for (int32_t k = 0; k < size; k++) {
        g.most = all[k].bytes > g.most ? all[k].bytes : g.most;
        g.sum += all[k].bytes;
    }
    return g;
}

/* Memory for what all ranks have, and where each one's ends. */
static tutti_status reserve_gathered(ranks_service *r, const gathering *g, int32_t size,
                                     tutti_error *err)
{
    void *more = realloc(r->all, g->sum + 1);
    r->all = more ? more : r->all;
    uint64_t *ends = realloc(r->ends, (size_t)size * sizeof *ends);
    r->ends = ends ? ends : r->ends;
    if (!more || !ends)
        return call_no_memory(g->sum, err);
    uint64_t sum = 0;
    for (int32_t k = 0; k < size; k++)
        ends[k] = sum += g->all[k].bytes;
    return TUTTI_OK;
}

static tutti_status place_gathered(ranks_service *r, const call_frame *all, int32_t size,
                                   const void *mine, tutti_error *err)
{
    gathering g = measure(all, size);
    tutti_error unheard = TUTTI_ERROR_INIT;
    const bool many = g.most > FRAME_BYTES;
    const tutti_status s = reserve_gathered(r, &g, size, many ? &unheard : err);
    if (many)
        return gather_pieces(r, &g, mine, !s, err);
    uint64_t at = 0;
    for (int32_t k = 0; k < size && !s; at = r->ends[k++])
        memcpy((char *)r->all + at, all[k].data, all[k].bytes);
    return s;
}

static tutti_status gather_alone(ranks_service *r, const void *mine, uint64_t bytes,
                                 tutti_error *err)
{
    const call_frame alone = {.bytes = bytes};
    const gathering g = measure(&alone, 1);
    const tutti_status s = reserve_gathered(r, &g, 1, err);
    if (!s && bytes)
        memcpy(r->all, mine, bytes);
    return s;
}

static tutti_status gather_met(ranks_service *r, const void *mine, uint64_t bytes,
                               tutti_error *err)
{
    const call_header header = {.kind = ALL_GATHER_ANY};
    call_frame *all = NULL;
    tutti_status s = call_meet(r->world, &header, mine, bytes, &all, err);
    if (!s)
        s = place_gathered(r, all, world_size(r->world), mine, err);
    free(all);
    return s;
}

static tutti_status all_gather_any(void *ctx, const void *mine, uint64_t bytes,
                                   const void **ret_all, const uint64_t **ret_ends,
                                   tutti_error *err)
{
    ranks_service *r = ctx;
    const tutti_status s =
        r->world ? gather_met(r, mine, bytes, err) : gather_alone(r, mine, bytes, err);
    if (s)
        return s;
    *ret_all = r->all;
    *ret_ends = r->ends;
    return TUTTI_OK;
}

static tutti_status broadcast(void *ctx, void *data, uint64_t bytes, int32_t root,
                              tutti_error *err)
{
    const ranks_service *r = ctx;
    const call_header header = {.kind = BROADCAST, .count = bytes, .op = root};
    call_frame *all = NULL;
    if (root < 0 || root >= get_size(ctx))
        return tutti_fail(err, TUTTI_E_ARG, "broadcast: there is no rank %d, want 0 to %d",
                          root, get_size(ctx) - 1);
    if (!r->world)
        return TUTTI_OK;
    tutti_status s = call_meet(r->world, &header, data, bytes, &all, err);
    if (s)
        return s;
    if (bytes > FRAME_BYTES)
        s = world_broadcast(r->world, data, bytes, root, err);
    else if (bytes)
        memcpy(data, all[root].data, bytes);
    free(all);
    return s;
}

static tutti_status barrier(void *ctx, tutti_error *err)
{
    return meet_without_data(ctx, BARRIER, 0, err);
}

/* ---- first one rank, then the others: these wait at the beginning until the first one is at the end ---- */

static bool goes_first(const ranks_service *r, int32_t local)
{
    return local ? place(r).local_rank == 0 : !r->world || world_rank(r->world) == 0;
}

static tutti_status begin_first(void *ctx, int32_t local, tutti_error *err)
{
    return goes_first(ctx, local) ? TUTTI_OK : meet_without_data(ctx, FIRST, local != 0, err);
}

static tutti_status end_first(void *ctx, int32_t local, tutti_error *err)
{
    return goes_first(ctx, local) ? meet_without_data(ctx, FIRST, local != 0, err) : TUTTI_OK;
}

void ranks_service_init(ranks_service *r)
{
    r->table = (tutti_ranks_v1){.struct_size = sizeof r->table,
                                .ctx = r,
                                .rank = get_rank,
                                .size = get_size,
                                .local_rank = get_local_rank,
                                .local_size = get_local_size,
                                .machine = get_machine,
                                .machines = get_machines,
                                .comm = get_comm,
                                .share = share,
                                .all_reduce = all_reduce,
                                .all_gather = all_gather,
                                .all_gather_any = all_gather_any,
                                .broadcast = broadcast,
                                .barrier = barrier,
                                .begin_first = begin_first,
                                .end_first = end_first};
}

void ranks_service_fini(ranks_service *r)
{
    free(r->all);
    free(r->ends);
    r->all = NULL;
    r->ends = NULL;
    r->world = NULL;
}
