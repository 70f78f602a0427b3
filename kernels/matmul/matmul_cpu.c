/* matmul_cpu.c - the algorithms of a product on a CPU: our GEMM, oneDNN, and a loop for small ones. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/dnnl.h"
#include "common/gemm.h"
#include "common/gemm_microkernel.h"
#include "matmul/matmul_tile.h"
#include "matmul/matmul_tiles.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static void destroy(void *self)
{
    matmul_state *s = self;
    if (!s)
        return;
    dnn_destroy(s->big);
    matmul_split_destroy(s->split);
    free(s);
}

/* rank 2, or 3 with `batch` matrices one after the other. */
static dnn_tensor matrix(int64_t batch, int64_t rows, int64_t cols, int64_t row, int64_t col)
{
    if (batch == 1)
        return (dnn_tensor){.rank = 2, .dim = {rows, cols}, .stride = {row, col}};
    return (dnn_tensor){
        .rank = 3, .dim = {batch, rows, cols}, .stride = {rows * cols, row, col}};
}

static tutti_status prepare_big(matmul_state *s, const tutti_op_call *c, uint64_t *ret_scratch,
                                tutti_error *err)
{
    const matmul_shape *m = &s->shape;
    /* Equal batch dimensions merge into one; oneDNN then does all products at once. */
    const int equal =
        m->batch_dims.rank == 1 && m->batch_dims.sa[0] == 1 && m->batch_dims.sb[0] == 1;
    s->batch = equal && m->count > 1 ? m->count : 1;
    dnn_call call = {.kind = DNN_MATMUL, .threads = c->threads, .algorithm = DNN_DIRECT};
    call.slot[DNN_SRC] = matrix(s->batch, m->m, m->k, m->a_row, m->a_col);
    call.slot[DNN_WEIGHTS] = matrix(s->batch, m->k, m->n, m->b_row, m->b_col);
    call.slot[DNN_DST] = matrix(s->batch, m->m, m->n, m->n, 1);
    if (s->bias) {
        dnn_tensor bias = {.rank = 2, .dim = {1, m->n}, .stride = {m->n, 1}};
        if (s->batch > 1)
            bias = (dnn_tensor){.rank = 3, .dim = {1, 1, m->n}, .stride = {m->n, m->n, 1}};
        call.slot[DNN_BIAS] = bias;
    }
    return dnn_create(&call, "matmul", &s->big, ret_scratch, err);
}

static int small_threads(const matmul_shape *m, const tutti_op_call *c)
{
    const int64_t work = m->count * m->m * m->n * m->k;
    return m->count > 1 && work > MATMUL_SMALL / 2 ? c->threads : 1;
}

static int is_big(const matmul_shape *m)
{
    return m->m * m->n * m->k > MATMUL_SMALL; /* oneDNN takes no empty sums */
}

/* By our own tiles; by oneDNN as it lies; for a single one by its gemm in our parts, and as three of
 * bf16 where that is allowed. */
enum { TILES, DIRECT, GEMM_PARTS, SPLIT, BF16_TILES, F16_TILES, NAMES };
static const int32_t big_algorithms[] = {TILES, DIRECT, GEMM_PARTS, SPLIT};

static char names[NAMES][DNN_NAME] = {
    [TILES] = "tiles", [BF16_TILES] = "bf16 tiles", [F16_TILES] = "f16 tiles"};
static pthread_once_t names_once = PTHREAD_ONCE_INIT;

static void name_algorithms(void)
{
    dnn_name("direct", names[DIRECT]);
    dnn_name("gemm in parts", names[GEMM_PARTS]);
    dnn_name("three of bf16", names[SPLIT]);
}

/* Multiply-adds from which on a product is worth copies and a division over threads of our own.  By
 * itself a smaller one is now and then faster so, a step of such products never was. */
enum { TILES_FROM = 1 << 26 };

/* Algorithm k of a large product; -1 behind the last. */
static int32_t big_algorithm(const matmul_shape *m, const matmul_attr *attr, uint32_t k)
{
    const int fast = attr->fast == MATMUL_FAST;
    if (m->count == 1 && !fast && m->m * m->n * m->k < TILES_FROM)
        return k == 0 ? DIRECT : -1;
    const uint32_t at = k + !gemm_microkernel_at(0, 0); /* a CPU that has no tiles */
    return at < (m->count > 1 ? 2 : fast ? 4 : 3) ? big_algorithms[at] : -1;
}

/* How many operands and results are of `dtype`. */
static uint32_t count_of(const tutti_op_call *c, int32_t dtype)
{
    uint32_t n = 0;
    for (uint32_t k = 0; k < c->nin; k++)
        n += c->in[k].dtype == dtype;
    for (uint32_t k = 0; k < c->nout; k++)
        n += c->out[k].dtype == dtype;
    return n;
}

/* Do factors go in 16 bits, as tiles of `dtype`?  Where the CPU multiplies these, nothing has the other 16 bits, and they
 * have these or may be rounded.  Few numbers of F32 are not worth it; factors that are all F32 are never rounded to F16,
 * whose range they may exceed. */
static int goes_as(const tutti_op_call *c, const matmul_shape *m, int32_t dtype)
{
    const int f16 = dtype == TUTTI_F16;
    const int both = c->in[0].dtype == dtype && c->in[1].dtype == dtype;
    const int rounds = ((const matmul_attr *)c->attr)->fast == (f16 ? MATMUL_F16 : MATMUL_BF16);
    if (m->m * m->n * m->k * m->count == 0 || !(both || rounds) ||
        count_of(c, f16 ? TUTTI_BF16 : TUTTI_F16) || !gemm_microkernel_at(dtype, 0))
        return 0;
    return f16 ? c->in[0].dtype == dtype || c->in[1].dtype == dtype
               : count_of(c, dtype) || is_big(m);
}

/* BF16_TILES, F16_TILES, or -1: in F32. */
static int32_t half_algorithm(const tutti_op_call *c, const matmul_shape *m)
{
    return goes_as(c, m, TUTTI_BF16) ? BF16_TILES : goes_as(c, m, TUTTI_F16) ? F16_TILES : -1;
}

/* What factors of our tiles are rounded to. */
static int32_t factor_of(int32_t algorithm)
{
    return algorithm == BF16_TILES ? TUTTI_BF16 : algorithm == F16_TILES ? TUTTI_F16 : 0;
}

/* A small product has one algorithm, which needs no name. */
static const char *algorithm_name(const tutti_op_call *c, uint32_t k)
{
    const matmul_shape m = matmul_shape_of(c);
    const int32_t half = half_algorithm(c, &m);
    if (half >= 0)
        return k == 0 ? names[half] : NULL;
    const int32_t algorithm = is_big(&m) ? big_algorithm(&m, c->attr, k) : -1;
    (void)pthread_once(&names_once, name_algorithms);
    return algorithm < 0 ? NULL : names[algorithm];
}

static matmul_state *state_of(const tutti_op_call *c, int grad, tutti_error *err)
{
    matmul_state *s = calloc(1, sizeof *s);
    if (!s) {
        (void)tutti_fail(err, TUTTI_E_NOMEM, "matmul: no memory for its state");
        return NULL;
    }
    s->shape = matmul_shape_of(c);
    s->bias = !grad && c->nin > 2;
    s->grad = grad;
    s->packed = (matmul_small_scratch(&s->shape) + 15) / 16 * 16;
    return s;
}

static uint64_t small_scratch(const matmul_state *s, const tutti_op_call *c)
{
    return (uint64_t)(s->packed * small_threads(&s->shape, c)) * sizeof(float);
}

/* Parts of K where a reproducible product divides it, however many threads there are. */
enum { REPRODUCIBLE_PARTS = 16 };

/* In f32 by our own tiles, or by the loop for small ones. */
static tutti_status prepare_same(const tutti_op_call *c, int grad, void **ret_state,
                                 uint64_t *ret_scratch, tutti_error *err)
{
    if (count_of(c, TUTTI_BF16) + count_of(c, TUTTI_F16) > 0)
        return TUTTI_E_UNSUPPORTED; /* the host converts around it */
    matmul_state *s = state_of(c, grad, err);
    if (!s)
        return TUTTI_E_NOMEM;
    *ret_scratch = small_scratch(s, c);
    if (is_big(&s->shape) && matmul_tiles_prepare(s, c, 0, REPRODUCIBLE_PARTS, ret_scratch)) {
        destroy(s);
        return tutti_fail(err, TUTTI_E_UNSUPPORTED,
                          "matmul: a reproducible product wants a CPU with AVX2 and FMA");
    }
    *ret_state = s;
    return TUTTI_OK;
}

static tutti_status prepare_any(const tutti_op_call *c, uint32_t k, int grad, void **ret_state,
                                uint64_t *ret_scratch, tutti_error *err)
{
    matmul_state *s = state_of(c, grad, err);
    if (!s)
        return TUTTI_E_NOMEM;
    const matmul_shape *m = &s->shape;
    tutti_status status = TUTTI_OK;
    int32_t algorithm = half_algorithm(c, m);
    const int32_t factor = factor_of(algorithm);
    if (!factor)
        algorithm = is_big(m) ? big_algorithm(m, c->attr, k) : -1;
    if (!factor && count_of(c, TUTTI_BF16) + count_of(c, TUTTI_F16) > 0) {
        destroy(s);
        return TUTTI_E_UNSUPPORTED; /* the host converts around it */
    }
    s->gemm = algorithm == GEMM_PARTS;
    if (algorithm == TILES || factor)
        status = matmul_tiles_prepare(s, c, factor, 0, ret_scratch);
    else if (algorithm == SPLIT)
        status = matmul_split_create(m, c->threads, s->bias, &s->split, ret_scratch, err);
    else if (algorithm == DIRECT)
        status = prepare_big(s, c, ret_scratch, k ? err : NULL);
    if (status == TUTTI_E_UNSUPPORTED && !k)
        status = TUTTI_OK; /* the plain loop does it */
    if (status) {
        destroy(s);
        return tutti_fail(err, status, "matmul: no memory for oneDNN");
    }
    if (!s->big && !s->gemm && !s->split && !s->tiles.threads)
        *ret_scratch = small_scratch(s, c);
    *ret_state = s;
    return TUTTI_OK;
}

static tutti_status prepare_algorithm(const tutti_op_call *c, uint32_t k, void **ret_state,
                                      uint64_t *ret_scratch, tutti_error *err)
{
    return prepare_any(c, k, 0, ret_state, ret_scratch, err);
}

static tutti_status prepare(const tutti_op_call *c, void **ret_state, uint64_t *ret_scratch,
                            tutti_error *err)
{
    return prepare_any(c, 0, 0, ret_state, ret_scratch, err);
}

static tutti_status prepare_grad_algorithm(const tutti_op_call *c, uint32_t k, void **ret_state,
                                           uint64_t *ret_scratch, tutti_error *err)
{
    return prepare_any(c, k, 1, ret_state, ret_scratch, err);
}

static tutti_status prepare_grad(const tutti_op_call *c, void **ret_state,
                                 uint64_t *ret_scratch, tutti_error *err)
{
    return prepare_any(c, 0, 1, ret_state, ret_scratch, err);
}

static tutti_status prepare_reproducible(const tutti_op_call *c, void **ret_state,
                                         uint64_t *ret_scratch, tutti_error *err)
{
    return prepare_same(c, 0, ret_state, ret_scratch, err);
}

static tutti_status prepare_grad_reproducible(const tutti_op_call *c, void **ret_state,
                                              uint64_t *ret_scratch, tutti_error *err)
{
    return prepare_same(c, 1, ret_state, ret_scratch, err);
}

static tutti_status run_big(const matmul_state *s, const void *const *in, const void *bias,
                            float *y, void *scratch)
{
    const matmul_shape *m = &s->shape;
    for (int64_t p = 0; p < m->count; p += s->batch) {
        int64_t ia, ib;
        broadcast_at(&m->batch_dims, p, &ia, &ib);
        void *const data[DNN_SLOTS] = {
            [DNN_SRC] = (void *)(uintptr_t)((const float *)in[0] + ia * m->m * m->k),
            [DNN_WEIGHTS] = (void *)(uintptr_t)((const float *)in[1] + ib * m->k * m->n),
            [DNN_BIAS] = (void *)(uintptr_t)bias,
            [DNN_DST] = y + p * m->m * m->n};
        const tutti_status status = dnn_run(s->big, data, scratch);
        if (status)
            return status;
    }
    return TUTTI_OK;
}

/* Rows [row, row + rows) and columns [col, col + cols).  The bias, where there is one, lies in y before
 * the product is added. */
static tutti_status run_part(const matmul_shape *m, int64_t row, int64_t rows, int64_t col,
                             int64_t cols, const void *const *in, const float *bias, float *y)
{
    const dnn_gemm p = {.m = rows,
                        .n = cols,
                        .k = m->k,
                        .a_row = m->a_col == 1 ? m->a_row : m->a_col,
                        .b_row = m->b_col == 1 ? m->b_row : m->b_col,
                        .y_row = m->n,
                        .transpose_a = m->a_col != 1,
                        .transpose_b = m->b_col != 1,
                        .add = bias != NULL};
    for (int64_t i = row; i < row + rows && bias; i++)
        memcpy(y + i * m->n + col, bias + col, (size_t)cols * sizeof *y);
    return dnn_gemm_run(&p, (const float *)in[0] + row * m->a_row,
                        (const float *)in[1] + col * m->b_col, y + row * m->n + col);
}

/* The longer side of y is divided: the library's gemm goes about it less well by itself. */
static tutti_status run_gemm(const matmul_state *s, const tutti_op_call *c,
                             const void *const *in, const float *bias,
                             const matmul_epilogue *epilogue, float *preactivation, float *y)
{
    const matmul_shape *m = &s->shape;
    const int by_rows = m->m >= m->n;
    const int64_t side = by_rows ? m->m : m->n;
    const tile_epilogue last = {*epilogue, y, m->n, 0};
    int failed = 0;
#pragma omp parallel for schedule(static) num_threads(c->threads) if (c->threads > 1)
    for (int t = 0; t < c->threads; t++) {
        const int64_t first = side * t / c->threads, n = side * (t + 1) / c->threads - first;
        const int64_t row = by_rows ? first : 0, rows = by_rows ? n : m->m;
        const int64_t col = by_rows ? 0 : first, cols = by_rows ? m->n : n;
        if (n > 0 && run_part(m, row, rows, col, cols, in, bias, preactivation)) {
#pragma omp atomic write
            failed = 1;
        }
        const gemm_part part = {row, rows, col, cols, y, m->n};
        if (epilogue->act)
            apply_to_tile(&last, &part);
    }
    return failed ? TUTTI_E_FAIL : TUTTI_OK;
}

static void run_small(const matmul_state *s, const tutti_op_call *c, const void *const *in,
                      const float *bias, float *y, void *scratch)
{
    const matmul_shape *m = &s->shape;
    const int threads = small_threads(m, c);
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
    for (int t = 0; t < threads; t++) {
        const int64_t end = m->count * (t + 1) / threads;
        float none; /* without a common length nothing is packed */
        float *own = s->packed ? (float *)scratch + t * s->packed : &none;
        for (int64_t p = m->count * t / threads; p < end; p++) {
            int64_t ia, ib;
            broadcast_at(&m->batch_dims, p, &ia, &ib);
            TUTTI_ISA_PICK(matmul_small)
            (m, (const float *)in[0] + ia * m->m * m->k,
             (const float *)in[1] + ib * m->k * m->n, bias, y + p * m->m * m->n, own);
        }
    }
}

/* The epilogue of a whole result, a chunk for each thread. */
static void apply_epilogue(const tutti_op_call *c, const matmul_epilogue *epilogue, float *y)
{
    const int64_t n = tutti_numel(&c->out[0]);
    const int threads = op_threads(c, n * (epilogue->act == MATMUL_RELU ? 1 : 20));
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
    for (int k = 0; k < threads; k++) {
        int64_t first;
        const int64_t count = op_chunk(n, k, threads, &first);
        TUTTI_ISA_PICK(matmul_epilogue_apply)(epilogue, y, first, count);
    }
}

static tutti_status run(void *self, const tutti_op_call *c, const void *const *in,
                        void *const *out, void *scratch)
{
    const matmul_state *s = self;
    const float *bias = s->bias ? in[2] : NULL;
    float *preactivation = c->nout > 1 ? out[1] : out[0];
    const matmul_epilogue epilogue = {((const matmul_attr *)c->attr)->act,
                                      c->nout > 1 ? preactivation : NULL,
                                      s->grad ? in[2] : NULL};
    tutti_status status = TUTTI_OK;
    if (s->tiles.threads) {
        const matmul_tiles_job job = {in,
                                      bias,
                                      &epilogue,
                                      preactivation,
                                      out[0],
                                      {.act = epilogue.act,
                                       .y = out[0],
                                       .z = c->nout > 1 ? out[1] : NULL,
                                       .x = epilogue.x,
                                       .y_dtype = c->out[0].dtype,
                                       .z_dtype = c->nout > 1 ? c->out[1].dtype : TUTTI_F32,
                                       .x_dtype = s->grad ? c->in[2].dtype : TUTTI_F32}};
        matmul_tiles_run(s, c, &job, scratch);
        return TUTTI_OK;
    }
    if (s->gemm)
        return run_gemm(s, c, in, bias, &epilogue, preactivation, out[0]);
    if (s->split)
        status = TUTTI_ISA_PICK(matmul_split_run)(s->split, in[0], in[1], bias, preactivation,
                                                  scratch);
    else if (s->big)
        status = run_big(s, in, bias, preactivation, scratch);
    else
        run_small(s, c, in, bias, preactivation, scratch);
    if (!status && epilogue.act)
        apply_epilogue(c, &epilogue, out[0]);
    return status;
}

const tutti_kernel matmul_cpu = {sizeof(tutti_kernel), 0, prepare, run, destroy};
const tutti_algorithms matmul_algorithms = {sizeof(tutti_algorithms), 0, algorithm_name,
                                            prepare_algorithm, prepare_reproducible};
const tutti_kernel matmul_act_grad_cpu = {sizeof(tutti_kernel), 0, prepare_grad, run, destroy};
const tutti_algorithms matmul_act_grad_algorithms = {sizeof(tutti_algorithms), 0,
                                                     algorithm_name, prepare_grad_algorithm,
                                                     prepare_grad_reproducible};
