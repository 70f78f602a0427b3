/* scatter_add.cu - slices added to those of base that an index names, on the GPU. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/cuda/index.cuh"
#include "common/cuda/vector.cuh"
#include "scatter_add/scatter_add.h"

/* The entries are sorted by row (radix sort from the lowest digit on, stable), the sorted list is cut
 * into pieces of SCATTER_PIECE entries, and a thread adds up a piece, for some columns.  A row whose
 * entries lie in one piece is done then; of one that goes from piece to piece the sums are kept, and
 * joined from the first piece to the last.  So a row of any length is many threads' work, and its
 * order follows from the index alone. */

/* Rows of the entries, in the first pass only; how many of each digit every tile has. */
CUDA_KERNEL(scatter_count_cuda)
(scatter_sort s, cuda_tensor index, uint32_t *keys, uint32_t *counts, int32_t first,
 uint32_t *fault, uint32_t mark)
{
    CUDA_SHARED(uint32_t, count, SCATTER_DIGITS);
    const int64_t begin = blockIdx.x * s.tile;
    const int64_t end = begin + s.tile < s.count ? begin + s.tile : s.count;
    count[threadIdx.x] = 0;
    __syncthreads();
    for (int64_t k = begin + threadIdx.x; k < end; k += SCATTER_DIGITS) {
        if (first) {
            const int64_t row = cuda_index_at(index, k);
            keys[k] = (uint32_t)(cuda_index_within(row, s.n, fault, mark) ? row : s.n);
        }
        atomicAdd(&count[keys[k] >> s.shift & (SCATTER_DIGITS - 1)], 1u);
    }
    __syncthreads();
    counts[blockIdx.x * SCATTER_DIGITS + threadIdx.x] = count[threadIdx.x];
}
CUDA_ENTRY(scatter_count_cuda);

/* Where this thread's digit begins in the result of this block's tile. */
__device__ static uint32_t first_place(const scatter_sort &s, const uint32_t *counts,
                                       uint32_t *sums)
{
    const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;
    uint32_t total = 0, before = 0;
#pragma unroll 4
    for (int64_t t = 0; t < s.tiles; t++) {
        const uint32_t n = counts[t * SCATTER_DIGITS + threadIdx.x];
        before += t < blockIdx.x ? n : 0;
        total += n;
    }
    uint32_t upto = total;
    for (int o = 1; o < 32; o *= 2) {
        const uint32_t x = __shfl_up_sync(~0u, upto, o);
        upto += lane >= o ? x : 0;
    }
    if (lane == 31)
        sums[warp] = upto;
    __syncthreads();
    for (int w = 0; w < warp; w++)
        before += sums[w];
    return before + upto - total;
}

/* One pass: keys and their entries (NULL: 0, 1, ...) by digit, equal ones as they were. */
CUDA_KERNEL(scatter_move_cuda)
(scatter_sort s, const uint32_t *keys, const uint32_t *entries, const uint32_t *counts,
 uint32_t *to_keys, uint32_t *to_entries)
{
    enum { WARPS = SCATTER_DIGITS / 32 };
    CUDA_SHARED(uint32_t, place, WARPS * SCATTER_DIGITS); /* of a warp's first, by digit */
    CUDA_SHARED(uint32_t, sums, WARPS);
    const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;
    const int64_t begin = blockIdx.x * s.tile;
    uint32_t next = first_place(s, counts, sums);
    for (int64_t at = begin; at < begin + s.tile && at < s.count; at += SCATTER_DIGITS) {
        const int64_t k = at + threadIdx.x;
        const uint32_t key = k < s.count ? keys[k] : 0;
        const uint32_t digit =
            k < s.count ? key >> s.shift & (SCATTER_DIGITS - 1) : (uint32_t)SCATTER_DIGITS;
        for (int w = 0; w < WARPS; w++)
            place[w * SCATTER_DIGITS + threadIdx.x] = 0;
        __syncthreads();
        const uint32_t alike = __match_any_sync(~0u, digit);
        const uint32_t rank = (uint32_t)__popc(alike & ((1u << lane) - 1u));
        if (rank == 0 && digit < SCATTER_DIGITS)
            place[warp * SCATTER_DIGITS + digit] = (uint32_t)__popc(alike);
        __syncthreads();
        for (int w = 0; w < WARPS; w++) {
            const uint32_t n = place[w * SCATTER_DIGITS + threadIdx.x];
            place[w * SCATTER_DIGITS + threadIdx.x] = next;
            next += n;
        }
        __syncthreads();
        if (k < s.count) {
            const uint32_t to = place[warp * SCATTER_DIGITS + digit] + rank;
            to_keys[to] = key;
            to_entries[to] = entries ? entries[k] : (uint32_t)k;
        }
        __syncthreads();
    }
}
CUDA_ENTRY(scatter_move_cuda);

CUDA_KERNEL(scatter_base_cuda)(cuda_tensor base, cuda_tensor y, int64_t n)
{
    CUDA_EACH(k, n / 8)
    {
        float x[8];
        cuda_load(base, 8 * k, x);
        cuda_store(y, 8 * k, x);
    }
    CUDA_EACH(k, n % 8)
    {
        cuda_set(y, n / 8 * 8 + k, cuda_get(base, n / 8 * 8 + k));
    }
}
CUDA_ENTRY(scatter_base_cuda);

namespace
{

struct scatter_operands {
    scatter_shape s;
    const uint32_t *keys, *entries; /* sorted */
    cuda_tensor src, y;
    float
        *parts; /* (outer, pieces, 2, inner): of rows begun in an earlier piece, in this one */

    __device__ float *part(int64_t outer, int64_t piece, int which) const
    {
        return parts + ((outer * s.pieces + piece) * 2 + which) * s.inner;
    }
};

/* A thread's place: some columns of a piece. */
struct scatter_place {
    int64_t outer, piece, column;

    __device__ scatter_place(const scatter_shape &s, int64_t k)
    {
        const int64_t groups = s.inner / s.width;
        column = k % groups * s.width;
        piece = k / groups % s.pieces;
        outer = k / groups / s.pieces;
    }
};

template <int V>
__device__ void add_to_row(const scatter_operands &o, int64_t outer, uint32_t row,
                           int64_t column, const float (&sum)[V])
{
    const int64_t at = (outer * o.s.n + row) * o.s.inner + column;
    float x[V];
    cuda_load(o.y, at, x);
    for (int i = 0; i < V; i++)
        x[i] += sum[i];
    cuda_store(o.y, at, x);
}

/* What entries [from, upto) of a piece come to, all of one row. */
template <int V>
__device__ void put_sum(const scatter_operands &o, const scatter_place &p, int64_t from,
                        int64_t upto, const float (&sum)[V])
{
    const uint32_t row = o.keys[from];
    const bool begun = from % SCATTER_PIECE == 0 && from > 0 && o.keys[from - 1] == row;
    const bool goes_on = upto % SCATTER_PIECE == 0 && upto < o.s.count && o.keys[upto] == row;
    if (row >= o.s.n)
        return;
    if (begun || goes_on) {
        const cuda_tensor to = {o.part(p.outer, p.piece, !begun), TUTTI_F32, 0};
        cuda_store(to, p.column, sum);
    } else {
        add_to_row(o, p.outer, row, p.column, sum);
    }
}

template <int V> __device__ void sum_piece(const scatter_operands &o, const scatter_place &p)
{
    enum { AHEAD = 4 }; /* loads under way */
    const int64_t begin = p.piece * SCATTER_PIECE;
    const int64_t end = begin + SCATTER_PIECE < o.s.count ? begin + SCATTER_PIECE : o.s.count;
    float sum[V] = {};
    int64_t from = begin;
    for (int64_t k = begin; k < end; k += AHEAD) {
        float x[AHEAD][V];
#pragma unroll
        for (int a = 0; a < AHEAD; a++)
            if (k + a < end)
                cuda_load(o.src,
                          (p.outer * o.s.count + o.entries[k + a]) * o.s.inner + p.column,
                          x[a]);
#pragma unroll
        for (int a = 0; a < AHEAD; a++) {
            if (k + a >= end)
                break;
            if (o.keys[k + a] != o.keys[from]) {
                put_sum(o, p, from, k + a, sum);
                from = k + a;
                for (int i = 0; i < V; i++)
                    sum[i] = 0.0f;
            }
            for (int i = 0; i < V; i++)
                sum[i] += x[a][i];
        }
    }
    put_sum(o, p, from, end, sum);
}

/* The first entry behind `from` that is of another row than it. */
__device__ int64_t end_of_row(const scatter_operands &o, int64_t from)
{
    int64_t low = from + 1, high = o.s.count;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (o.keys[middle] == o.keys[from])
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* If a row begins in this piece and goes on in others: all of it. */
template <int V> __device__ void join_pieces(const scatter_operands &o, const scatter_place &p)
{
    const int64_t begin = p.piece * SCATTER_PIECE, next = begin + SCATTER_PIECE;
    if (next >= o.s.count)
        return;
    const uint32_t row = o.keys[next - 1];
    const bool begun = o.keys[begin] == row && begin > 0 && o.keys[begin - 1] == row;
    if (row >= o.s.n || o.keys[next] != row || begun)
        return;
    const int64_t last = (end_of_row(o, next) - 1) / SCATTER_PIECE;
    float sum[V];
    cuda_load(cuda_tensor{o.part(p.outer, p.piece, 1), TUTTI_F32, 0}, p.column, sum);
#pragma unroll 4
    for (int64_t q = p.piece + 1; q <= last; q++) {
        float x[V];
        cuda_load(cuda_tensor{o.part(p.outer, q, 0), TUTTI_F32, 0}, p.column, x);
        for (int i = 0; i < V; i++)
            sum[i] += x[i];
    }
    add_to_row(o, p.outer, row, p.column, sum);
}

} // namespace

CUDA_KERNEL(scatter_sum_cuda)
(scatter_shape s, const uint32_t *keys, const uint32_t *entries, cuda_tensor src, cuda_tensor y,
 float *parts)
{
    const scatter_operands o = {s, keys, entries, src, y, parts};
    CUDA_EACH(k, s.outer * s.pieces * (s.inner / s.width))
    {
        if (s.width == 8)
            sum_piece<8>(o, scatter_place(s, k));
        else
            sum_piece<1>(o, scatter_place(s, k));
    }
}
CUDA_ENTRY(scatter_sum_cuda);

CUDA_KERNEL(scatter_join_cuda)
(scatter_shape s, const uint32_t *keys, cuda_tensor y, float *parts)
{
    const scatter_operands o = {s, keys, nullptr, {nullptr, TUTTI_F32, 0}, y, parts};
    CUDA_EACH(k, s.outer * s.pieces * (s.inner / s.width))
    {
        if (s.width == 8)
            join_pieces<8>(o, scatter_place(s, k));
        else
            join_pieces<1>(o, scatter_place(s, k));
    }
}
CUDA_ENTRY(scatter_join_cuda);
