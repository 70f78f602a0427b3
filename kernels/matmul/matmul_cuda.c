/* matmul_cuda.c - products on the GPU: by cuBLASLt, or by our own kernel where it does not serve. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "matmul/matmul_cuda.h"
#include "common/cuda/convert.h"
#include "common/cuda/cublaslt.h"
#include "matmul/matmul.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { A, B, BIAS, Y, OPERANDS };
enum { WORKSPACE_MOST = 32 << 20 };

typedef struct state {
    matmul_shape shape;
    int64_t batch_dim;  /* of the leading dimensions: what one call of the library does */
    const cublaslt *lt; /* NULL: our own kernel */
    void *desc, *layout[OPERANDS];
    lt_algo algo;
    uint64_t workspace; /* bytes, at workspace_at of the scratch */
    uint64_t workspace_at;
    uint64_t copy[OPERANDS];          /* in the scratch, or CUDA_DIRECT */
    int32_t dtype[OPERANDS];          /* as the library gets them */
    void *product, *convert, *finish; /* device functions */
    tutti_op_call call;               /* the product alone */
    int32_t grad; /* the third input is what the activation's derivative is taken of */
    int32_t reserved;
} state;

static void forget_library(state *s)
{
    if (!s->lt)
        return;
    for (int k = 0; k < OPERANDS; k++)
        if (s->layout[k])
            (void)s->lt->layout_destroy(s->layout[k]);
    if (s->desc)
        (void)s->lt->desc_destroy(s->desc);
    memset(s->layout, 0, sizeof s->layout);
    s->desc = NULL;
    s->lt = NULL;
}

static void destroy(void *self)
{
    state *s = self;
    if (s)
        forget_library(s);
    free(s);
}

static uint32_t lt_dtype(int32_t dtype)
{
    return dtype == TUTTI_BF16 ? LT_R_16BF : dtype == TUTTI_F16 ? LT_R_16F : LT_R_32F;
}

/* The library multiplies two matrices of one dtype, into that or F32; its bias is like its result.
 * Other operands go through copies. */
static void choose_dtypes(state *s, const tutti_op_call *c)
{
    const int32_t a = c->in[0].dtype, b = c->in[1].dtype, y = c->out[0].dtype;
    const int32_t both = a == b ? a : TUTTI_F32;
    s->dtype[A] = s->dtype[B] = both;
    s->dtype[Y] = s->dtype[BIAS] = y == both ? y : TUTTI_F32;
}

/* Row-major (rows, columns) is the library's column-major (columns, rows). */
static bool make_layout(state *s, int operand, int64_t rows, int64_t columns, int64_t stride)
{
    const cublaslt *lt = s->lt;
    const broadcast *lead = &s->shape.lead;
    const int32_t batch = (int32_t)lead->dim[s->batch_dim];
    const int64_t offset = stride * rows * columns;
    void **layout = &s->layout[operand];
    if (lt->layout_create(layout, lt_dtype(s->dtype[operand]), (uint64_t)columns,
                          (uint64_t)rows, columns))
        return false;
    return batch == 1 ||
           (!lt->layout_set(*layout, LT_LAYOUT_BATCH_COUNT, &batch, sizeof batch) &&
            !lt->layout_set(*layout, LT_LAYOUT_BATCH_OFFSET, &offset, sizeof offset));
}

/* y's matrices from one index of leading dimension `dim` to the next. */
static int64_t y_stride(const broadcast *lead, int64_t dim)
{
    int64_t stride = 1;
    for (int64_t k = dim + 1; k < lead->rank; k++)
        stride *= lead->dim[k];
    return stride;
}

/* y' = b' a' in column-major terms, so b is the library's A. */
static bool describe(state *s, const tutti_op_call *c)
{
    const matmul_attr *t = c->attr;
    const matmul_shape *m = &s->shape;
    const cublaslt *lt = s->lt;
    const int tf32 = s->dtype[A] == TUTTI_F32 && cuda_tf32(c->cuda);
    const uint32_t compute = tf32 ? LT_COMPUTE_32F_FAST_TF32 : LT_COMPUTE_32F;
    const int32_t op_a = t->transpose_b ? LT_OP_T : LT_OP_N;
    const int32_t op_b = t->transpose_a ? LT_OP_T : LT_OP_N;
    const uint32_t epilogue = c->nin > 2 ? LT_EPILOGUE_BIAS : LT_EPILOGUE_DEFAULT;
    if (lt->desc_create(&s->desc, compute, LT_R_32F) ||
        lt->desc_set(s->desc, LT_DESC_TRANSA, &op_a, sizeof op_a) ||
        lt->desc_set(s->desc, LT_DESC_TRANSB, &op_b, sizeof op_b) ||
        lt->desc_set(s->desc, LT_DESC_EPILOGUE, &epilogue, sizeof epilogue))
        return false;
    if (c->nin > 2) { /* the search looks at the pointer's alignment alone */
        const void *const somewhere = (const void *)(uintptr_t)64;
        const int32_t dtype = (int32_t)lt_dtype(s->dtype[BIAS]);
        if (lt->desc_set(s->desc, LT_DESC_BIAS_POINTER, &somewhere, sizeof(void *)) ||
            lt->desc_set(s->desc, LT_DESC_BIAS_DATA_TYPE, &dtype, sizeof dtype))
            return false;
    }
    const int64_t d = s->batch_dim, ta = t->transpose_a, tb = t->transpose_b;
    return make_layout(s, A, ta ? m->k : m->m, ta ? m->m : m->k, m->lead.sa[d]) &&
           make_layout(s, B, tb ? m->n : m->k, tb ? m->k : m->n, m->lead.sb[d]) &&
           make_layout(s, Y, m->m, m->n, y_stride(&m->lead, d));
}

/* What every matrix of an operand that begins a call is aligned to. */
static uint32_t alignment(const state *s, int operand, int64_t elements)
{
    const uint64_t bytes = (uint64_t)elements * tutti_dtype_size(s->dtype[operand]);
    uint32_t a = 64;
    if (s->shape.count != s->shape.lead.dim[s->batch_dim])
        while (bytes % a)
            a /= 2;
    return a;
}

static bool find_algorithm(state *s)
{
    const cublaslt *lt = s->lt;
    const matmul_shape *m = &s->shape;
    const uint64_t most = WORKSPACE_MOST;
    const uint32_t reduction = LT_REDUCTION_COMPUTE_TYPE; /* partial sums stay in f32 */
    const uint32_t align_a = alignment(s, B, m->k * m->n),
                   align_b = alignment(s, A, m->m * m->k);
    const uint32_t align_y = alignment(s, Y, m->m * m->n);
    void *pref = NULL;
    lt_heuristic found = {.state = LT_NOT_SUPPORTED};
    int n = 0;
    if (lt->pref_create(&pref))
        return false;
    const uint32_t status =
        lt->pref_set(pref, LT_PREF_MAX_WORKSPACE, &most, sizeof most) ||
                lt->pref_set(pref, LT_PREF_REDUCTION_MASK, &reduction, sizeof reduction) ||
                lt->pref_set(pref, LT_PREF_ALIGNMENT_A, &align_a, sizeof align_a) ||
                lt->pref_set(pref, LT_PREF_ALIGNMENT_B, &align_b, sizeof align_b) ||
                lt->pref_set(pref, LT_PREF_ALIGNMENT_C, &align_y, sizeof align_y) ||
                lt->pref_set(pref, LT_PREF_ALIGNMENT_D, &align_y, sizeof align_y)
            ? LT_NOT_SUPPORTED
            : lt->heuristic(lt->handle, s->desc, s->layout[B], s->layout[A], s->layout[Y],
                            s->layout[Y], pref, 1, &found, &n);
    (void)lt->pref_destroy(pref);
    if (status || n < 1 || found.state)
        return false;
    s->algo = found.algo;
    s->workspace = found.workspace;
    return true;
}

/* The leading dimension with most products goes to the library at once. */
static int64_t longest(const broadcast *lead)
{
    int64_t best = 0;
    for (int32_t k = 1; k < lead->rank; k++)
        if (lead->dim[k] > lead->dim[best])
            best = k;
    return best;
}

static tutti_status prepare_library(state *s, const tutti_op_call *c, uint64_t *ret_scratch,
                                    tutti_error *err)
{
    const tutti_desc *const descs[] = {&c->in[0], &c->in[1], c->nin > 2 ? &c->in[2] : NULL,
                                       &c->out[0]};
    uint64_t bytes = CUDA_PART;
    choose_dtypes(s, c);
    s->batch_dim = longest(&s->shape.lead);
    if (cublaslt_of(c->cuda, &s->lt, NULL))
        return TUTTI_OK;
    if (!describe(s, c) || !find_algorithm(s)) {
        forget_library(s);
        return TUTTI_OK;
    }
    for (int k = 0; k < OPERANDS; k++)
        s->copy[k] = descs[k] ? cuda_copy_part(&bytes, descs[k], s->dtype[k]) : CUDA_DIRECT;
    s->workspace_at = cuda_part(&bytes, s->workspace);
    *ret_scratch = bytes;
    return CUDA_CONVERT_FUNCTION(c, "matmul", &s->convert, err);
}

/* The sums are the last result. */
static void set_call(state *s, const tutti_op_call *c)
{
    s->call = *c;
    s->call.nin = s->grad ? 2 : c->nin;
    s->call.nout = 1;
    s->call.out = c->out + c->nout - 1;
}

static tutti_status prepare_any(const tutti_op_call *whole, int grad, void **ret_state,
                                uint64_t *ret_scratch, tutti_error *err)
{
    state *s = calloc(1, sizeof *s);
    if (!s)
        return tutti_fail(err, TUTTI_E_NOMEM, "matmul: no memory for its state");
    s->shape = matmul_shape_of(whole);
    s->grad = grad;
    set_call(s, whole);
    const tutti_op_call *c = &s->call;
    const matmul_shape *m = &s->shape;
    tutti_status status = TUTTI_OK;
    *ret_scratch = 0;
    if (m->count * m->m * m->n * m->k > 0) /* the library takes no empty sums */
        status = prepare_library(s, c, ret_scratch, err);
    if (!status && !s->lt)
        status = CUDA_FUNCTION(c, "matmul_cuda", &s->product, err, sizeof(cuda_tensor),
                               sizeof(cuda_tensor), sizeof(cuda_tensor), sizeof(cuda_tensor),
                               sizeof(matmul_cuda_shape));
    if (!status && ((const matmul_attr *)c->attr)->act)
        status = CUDA_FUNCTION(c, "matmul_finish_cuda", &s->finish, err, sizeof(cuda_tensor),
                               sizeof(cuda_tensor), sizeof(cuda_tensor), sizeof(int64_t),
                               sizeof(int64_t));
    if (status) {
        destroy(s);
        return status;
    }
    *ret_state = s;
    return TUTTI_OK;
}

static tutti_status prepare(const tutti_op_call *c, void **ret_state, uint64_t *ret_scratch,
                            tutti_error *err)
{
    return prepare_any(c, 0, ret_state, ret_scratch, err);
}

static tutti_status prepare_grad(const tutti_op_call *c, void **ret_state,
                                 uint64_t *ret_scratch, tutti_error *err)
{
    return prepare_any(c, 1, ret_state, ret_scratch, err);
}

static tutti_status run_own(const state *s, const tutti_op_call *c, const cuda_tensor *t)
{
    const matmul_shape *m = &s->shape;
    matmul_cuda_shape shape = {.m = m->m,
                               .n = m->n,
                               .k = m->k,
                               .a_row = m->a_row,
                               .a_col = m->a_col,
                               .b_row = m->b_row,
                               .b_col = m->b_col,
                               .count = m->count,
                               .rank = m->lead.rank};
    memcpy(shape.dim, m->lead.dim, sizeof shape.dim);
    memcpy(shape.sa, m->lead.sa, sizeof shape.sa);
    memcpy(shape.sb, m->lead.sb, sizeof shape.sb);
    cuda_tensor a = t[A], b = t[B], bias = t[BIAS], y = t[Y];
    void *const args[] = {&a, &b, &bias, &y, &shape};
    const int64_t tiles = m->count * ((m->m + 63) / 64) * ((m->n + 63) / 64);
    return cuda_launch(c->cuda, s->product, cuda_blocks(c->cuda, tiles * CUDA_BLOCK),
                       CUDA_BLOCK, 0, args);
}

/* Matrices of a, b and y at which call `i` of the library begins: all leading dimensions but one. */
static void begin_of(const state *s, int64_t i, int64_t at[OPERANDS])
{
    const broadcast *lead = &s->shape.lead;
    int64_t y = 1;
    at[A] = at[B] = at[Y] = 0;
    for (int64_t k = lead->rank - 1; k >= 0; k--) {
        if (k != s->batch_dim) {
            const int64_t x = i % lead->dim[k];
            i /= lead->dim[k];
            at[A] += x * lead->sa[k];
            at[B] += x * lead->sb[k];
            at[Y] += x * y;
        }
        y *= lead->dim[k];
    }
}

static tutti_status multiply(const state *s, const tutti_op_call *c, const cuda_tensor *t,
                             void *workspace)
{
    static const float one = 1.0f, zero = 0.0f;
    const matmul_shape *m = &s->shape;
    const cublaslt *lt = s->lt;
    const int64_t calls = m->count / m->lead.dim[s->batch_dim];
    const int64_t size[OPERANDS] = {[A] = m->m * m->k, [B] = m->k * m->n, [Y] = m->m * m->n};
    if (c->nin > 2 &&
        lt->desc_set(s->desc, LT_DESC_BIAS_POINTER, &t[BIAS].data, sizeof t[BIAS].data))
        return TUTTI_E_FAIL;
    for (int64_t i = 0; i < calls; i++) {
        char *p[OPERANDS];
        int64_t at[OPERANDS] = {0};
        begin_of(s, i, at);
        for (int k = 0; k < OPERANDS; k++)
            p[k] = (char *)((uintptr_t)t[k].data + /* there may be no bias */
                            (uint64_t)(at[k] * size[k]) * tutti_dtype_size(s->dtype[k]));
        if (lt->matmul(lt->handle, s->desc, &one, p[B], s->layout[B], p[A], s->layout[A], &zero,
                       p[Y], s->layout[Y], p[Y], s->layout[Y], &s->algo, workspace,
                       s->workspace, c->cuda->stream(c->cuda->ctx)))
            return TUTTI_E_FAIL;
    }
    return TUTTI_OK;
}

static tutti_status run_product(const state *s, const tutti_op_call *c, const void *const *in,
                                void *const *out, void *scratch)
{
    const matmul_shape *m = &s->shape;
    cuda_tensor own[OPERANDS] = {cuda_in(c, in, 0), cuda_in(c, in, 1)}, t[OPERANDS];
    const int64_t n[OPERANDS] = {tutti_numel(&c->in[0]), tutti_numel(&c->in[1]), m->n,
                                 tutti_numel(&c->out[0])};
    if (c->nin > 2)
        own[BIAS] = cuda_in(c, in, 2);
    own[Y] = cuda_out(c, out, 0);
    if (n[Y] == 0)
        return TUTTI_OK;
    if (!s->lt)
        return run_own(s, c, own);
    tutti_status status = TUTTI_OK;
    for (int k = 0; k < OPERANDS; k++) {
        t[k] = own[k];
        if (s->copy[k] != CUDA_DIRECT)
            t[k] = (cuda_tensor){cuda_part_at(scratch, s->copy[k]), s->dtype[k], 0};
        if (s->copy[k] != CUDA_DIRECT && k != Y && !status)
            status = cuda_convert(c->cuda, s->convert, own[k], t[k], n[k]);
    }
    if (!status)
        status = multiply(s, c, t, cuda_part_at(scratch, s->workspace_at));
    if (!status && s->copy[Y] != CUDA_DIRECT)
        status = cuda_convert(c->cuda, s->convert, t[Y], own[Y], n[Y]);
    return status;
}

static tutti_status run(void *self, const tutti_op_call *whole, const void *const *in,
                        void *const *out, void *scratch)
{
    const state *s = self;
    int64_t act = ((const matmul_attr *)whole->attr)->act, n = tutti_numel(&whole->out[0]);
    tutti_op_call c = s->call; /* but with this run's step and stream */
    c.step = whole->step;
    c.cuda = whole->cuda;
    const tutti_status status = run_product(s, &c, in, out + whole->nout - 1, scratch);
    if (status || !act || n == 0)
        return status;
    cuda_tensor sums = cuda_out(whole, out, whole->nout - 1), y = cuda_out(whole, out, 0);
    cuda_tensor x = s->grad ? cuda_in(whole, in, 2) : (cuda_tensor){NULL, TUTTI_F32, 0};
    void *const args[] = {&sums, &x, &y, &n, &act};
    return cuda_launch(c.cuda, s->finish, cuda_blocks(c.cuda, n), CUDA_BLOCK, 0, args);
}

const tutti_kernel matmul_cuda = {sizeof(tutti_kernel), 0, prepare, run, destroy};
const tutti_kernel matmul_act_grad_cuda = {sizeof(tutti_kernel), 0, prepare_grad, run, destroy};
