/* matmul_lt.c - describing a product to cuBLASLt, choosing its algorithm, running it. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "matmul/matmul_lt.h"
#include "common/cuda/libraries/autotune.h"
#include "common/cuda/libraries/choice.h"
#include "common/cuda/libraries/cublaslt.h"
#include "matmul/matmul_mask.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { A = MATMUL_A, B = MATMUL_B, BIAS = MATMUL_BIAS, ADD = MATMUL_ADD };
enum { AUX = MATMUL_AUX, Y = MATMUL_Y, OPERANDS = MATMUL_OPERANDS };
enum { WORKSPACE_MOST = 32 << 20, CANDIDATES = CUDA_MAX_ALGORITHMS };

struct matmul_lt {
    matmul_lt_want want;
    int64_t batch_dim; /* of the batch dimensions: what one call of the library does */
    const cublaslt *lt;
    void *desc, *layout[OPERANDS]; /* of A, B and Y */
    lt_algo algo;
    uint64_t workspace;
};

void matmul_lt_destroy(matmul_lt *p)
{
    if (!p)
        return;
    for (int k = 0; k < OPERANDS; k++)
        if (p->layout[k])
            (void)p->lt->layout_destroy(p->layout[k]);
    if (p->desc)
        (void)p->lt->desc_destroy(p->desc);
    free(p);
}

static bool has(const matmul_lt_want *w, int operand)
{
    return w->dtype[operand] != TUTTI_DTYPE_NONE;
}

static int64_t calls_of(const matmul_lt *p)
{
    const matmul_shape *m = &p->want.shape;
    return m->count / m->batch_dims.dim[p->batch_dim];
}

/* ---- describing ---- */

static uint32_t lt_dtype(int32_t dtype)
{
    return dtype == TUTTI_BF16 ? LT_R_16BF : dtype == TUTTI_F16 ? LT_R_16F : LT_R_32F;
}

static bool is_mask(const matmul_lt_want *w)
{
    return w->dtype[AUX] == TUTTI_U8;
}

/* The library's GELU is the tanh form, and rows of what that is taken of are multiples of 8; ReLU's
 * derivative is by its mask; all of it for one matrix. */
static bool has_epilogue(const matmul_lt *p)
{
    const matmul_lt_want *w = &p->want;
    const bool gelu = w->act == MATMUL_GELU_TANH, one = w->shape.count == 1;
    if (w->bias_grad) /* in the dtype of the result */
        return !w->act && one && w->dtype[BIAS] == w->dtype[Y];
    if (w->act == MATMUL_NONE)
        return !w->grad && !has(w, AUX);
    if (has(w, ADD) || w->dtype[Y] != w->dtype[A] || (!gelu && w->act != MATMUL_RELU))
        return false;
    if (!has(w, AUX))
        return !w->grad;
    if (is_mask(w))
        return !gelu && one && w->masks;
    return gelu && one && w->dtype[AUX] == w->dtype[Y] && w->shape.n % 8 == 0;
}

static uint32_t epilogue_of(const matmul_lt_want *w)
{
    uint32_t e = has(w, BIAS) ? LT_EPILOGUE_BIAS : 0;
    if (w->bias_grad) /* ours is y' = b' a', so that b is the library's A */
        return w->bias_grad - 1 == A ? LT_EPILOGUE_BGRADB : LT_EPILOGUE_BGRADA;
    if (w->grad)
        return w->act == MATMUL_RELU ? LT_EPILOGUE_DRELU : LT_EPILOGUE_DGELU;
    if (w->act)
        e |= w->act == MATMUL_RELU ? LT_EPILOGUE_RELU : LT_EPILOGUE_GELU;
    if (has(w, AUX))
        e |= LT_EPILOGUE_AUX;
    return e ? e : LT_EPILOGUE_DEFAULT;
}

static uint32_t compute_of(const matmul_lt_want *w)
{
    return w->dtype[A] == TUTTI_F32 && w->tf32 ? LT_COMPUTE_32F_FAST_TF32 : LT_COMPUTE_32F;
}

/* The batch dimension with most products goes to the library at once. */
static int64_t longest(const broadcast *batch_dims)
{
    int64_t best = 0;
    for (int32_t k = 1; k < batch_dims->rank; k++)
        if (batch_dims->dim[k] > batch_dims->dim[best])
            best = k;
    return best;
}

/* y's matrices from one index of batch dimension `dim` to the next. */
static int64_t y_stride(const broadcast *batch_dims, int64_t dim)
{
    int64_t stride = 1;
    for (int64_t k = dim + 1; k < batch_dims->rank; k++)
        stride *= batch_dims->dim[k];
    return stride;
}

/* Row-major (rows, columns) is the library's column-major (columns, rows). */
static bool make_layout(matmul_lt *p, int operand, int64_t rows, int64_t columns,
                        int64_t stride)
{
    const cublaslt *lt = p->lt;
    const int32_t batch = (int32_t)p->want.shape.batch_dims.dim[p->batch_dim];
    const int64_t offset = stride * rows * columns;
    void **layout = &p->layout[operand];
    if (lt->layout_create(layout, lt_dtype(p->want.dtype[operand]), (uint64_t)columns,
                          (uint64_t)rows, columns))
        return false;
    return batch == 1 ||
           (!lt->layout_set(*layout, LT_LAYOUT_BATCH_COUNT, &batch, sizeof batch) &&
            !lt->layout_set(*layout, LT_LAYOUT_BATCH_OFFSET, &offset, sizeof offset));
}

/* The pointers follow with the operands; a search looks at their alignment alone. */
static bool describe_operands(const matmul_lt *p)
{
    const matmul_lt_want *w = &p->want;
    const cublaslt *lt = p->lt;
    const void *const somewhere = (const void *)(uintptr_t)64;
    const int32_t bias = (int32_t)lt_dtype(w->dtype[BIAS]);
    const int32_t aux = (int32_t)lt_dtype(w->dtype[AUX]);
    const int64_t leading = is_mask(w) ? 8 * matmul_mask_bytes(w->shape.n) : w->shape.n;
    if (has(w, BIAS) &&
        (lt->desc_set(p->desc, LT_DESC_BIAS_POINTER, &somewhere, sizeof(void *)) ||
         lt->desc_set(p->desc, LT_DESC_BIAS_DATA_TYPE, &bias, sizeof bias)))
        return false;
    return !has(w, AUX) ||
           (!lt->desc_set(p->desc, LT_DESC_AUX_POINTER, &somewhere, sizeof(void *)) &&
            !lt->desc_set(p->desc, LT_DESC_AUX_LEADING, &leading, sizeof leading) &&
            (is_mask(w) || !lt->desc_set(p->desc, LT_DESC_AUX_DATA_TYPE, &aux, sizeof aux)));
}

/* y' = b' a' in column-major terms, so b is the library's A. */
static bool describe(matmul_lt *p)
{
    const matmul_lt_want *w = &p->want;
    const matmul_shape *m = &w->shape;
    const cublaslt *lt = p->lt;
    const int32_t op_a = w->transpose_b ? LT_OP_T : LT_OP_N;
    const int32_t op_b = w->transpose_a ? LT_OP_T : LT_OP_N;
    const uint32_t epilogue = epilogue_of(w);
    if (lt->desc_create(&p->desc, compute_of(w), LT_R_32F) ||
        lt->desc_set(p->desc, LT_DESC_TRANSA, &op_a, sizeof op_a) ||
        lt->desc_set(p->desc, LT_DESC_TRANSB, &op_b, sizeof op_b) ||
        lt->desc_set(p->desc, LT_DESC_EPILOGUE, &epilogue, sizeof epilogue) ||
        !describe_operands(p))
        return false;
    const int64_t d = p->batch_dim, ta = w->transpose_a, tb = w->transpose_b;
    return make_layout(p, A, ta ? m->k : m->m, ta ? m->m : m->k, m->batch_dims.sa[d]) &&
           make_layout(p, B, tb ? m->n : m->k, tb ? m->k : m->n, m->batch_dims.sb[d]) &&
           make_layout(p, Y, m->m, m->n, y_stride(&m->batch_dims, d));
}

/* ---- running ---- */

static tutti_status call_library(const matmul_lt *p, const lt_algo *algo, uint64_t bytes,
                                 void *const at[OPERANDS], void *workspace, void *stream)
{
    static const float one = 1.0f, zero = 0.0f;
    const bool adds = has(&p->want, ADD);
    const void *c = adds ? at[ADD] : at[Y];
    return p->lt->matmul(p->lt->handle, p->desc, &one, at[B], p->layout[B], at[A], p->layout[A],
                         adds ? &one : &zero, c, p->layout[Y], at[Y], p->layout[Y], algo,
                         workspace, bytes, stream)
               ? TUTTI_E_FAIL
               : TUTTI_OK;
}

static bool set_pointers(const matmul_lt *p, void *const data[OPERANDS])
{
    const cublaslt *lt = p->lt;
    return (!has(&p->want, BIAS) ||
            !lt->desc_set(p->desc, LT_DESC_BIAS_POINTER, &data[BIAS], sizeof(void *))) &&
           (!has(&p->want, AUX) ||
            !lt->desc_set(p->desc, LT_DESC_AUX_POINTER, &data[AUX], sizeof(void *)));
}

/* Matrices of a, b and y at which call `i` of the library begins: all batch dimensions but one. */
static void begin_of(const matmul_lt *p, int64_t i, int64_t at[OPERANDS])
{
    const broadcast *batch_dims = &p->want.shape.batch_dims;
    int64_t y = 1;
    memset(at, 0, OPERANDS * sizeof *at);
    for (int64_t k = batch_dims->rank - 1; k >= 0; k--) {
        if (k != p->batch_dim) {
            const int64_t x = i % batch_dims->dim[k];
            i /= batch_dims->dim[k];
            at[A] += x * batch_dims->sa[k];
            at[B] += x * batch_dims->sb[k];
            at[Y] += x * y;
        }
        y *= batch_dims->dim[k];
    }
    at[ADD] = at[Y];
}

tutti_status matmul_lt_run(const matmul_lt *p, const tutti_cuda_v1 *cuda,
                           void *const data[OPERANDS], void *workspace)
{
    const matmul_shape *m = &p->want.shape;
    const int64_t size[OPERANDS] = {
        [A] = m->m * m->k, [B] = m->k * m->n, [ADD] = m->m * m->n, [Y] = m->m * m->n};
    tutti_status s = set_pointers(p, data) ? TUTTI_OK : TUTTI_E_FAIL;
    for (int64_t i = 0; i < calls_of(p) && !s; i++) {
        void *to[OPERANDS];
        int64_t at[OPERANDS];
        begin_of(p, i, at);
        for (int k = 0; k < OPERANDS; k++)
            to[k] = (void *)((uintptr_t)data[k] +
                             (uint64_t)(at[k] * size[k]) * tutti_dtype_size(p->want.dtype[k]));
        s = call_library(p, &p->algo, p->workspace, to, workspace, cuda->stream(cuda->ctx));
    }
    return s;
}

/* ---- choosing ---- */

/* What every matrix of an operand that begins a call is aligned to. */
static uint32_t alignment(const matmul_lt *p, int operand, int64_t elements)
{
    const uint64_t bytes = (uint64_t)elements * tutti_dtype_size(p->want.dtype[operand]);
    uint32_t a = 64;
    if (calls_of(p) != 1)
        while (bytes % a)
            a /= 2;
    return a;
}

/* The library's own order, best first; how many. */
static int candidates(const matmul_lt *p, int wanted, lt_heuristic *found)
{
    const cublaslt *lt = p->lt;
    const matmul_shape *m = &p->want.shape;
    const uint64_t most = WORKSPACE_MOST;
    const uint32_t reduction = LT_REDUCTION_COMPUTE_TYPE; /* partial sums stay in f32 */
    const uint32_t align_a = alignment(p, B, m->k * m->n),
                   align_b = alignment(p, A, m->m * m->k);
    const uint32_t align_y = alignment(p, Y, m->m * m->n);
    void *pref = NULL;
    int n = 0, good = 0;
    if (lt->pref_create(&pref))
        return 0;
    const uint32_t status =
        lt->pref_set(pref, LT_PREF_MAX_WORKSPACE, &most, sizeof most) ||
                lt->pref_set(pref, LT_PREF_REDUCTION_MASK, &reduction, sizeof reduction) ||
                lt->pref_set(pref, LT_PREF_ALIGNMENT_A, &align_a, sizeof align_a) ||
                lt->pref_set(pref, LT_PREF_ALIGNMENT_B, &align_b, sizeof align_b) ||
                lt->pref_set(pref, LT_PREF_ALIGNMENT_C, &align_y, sizeof align_y) ||
                lt->pref_set(pref, LT_PREF_ALIGNMENT_D, &align_y, sizeof align_y)
            ? LT_NOT_SUPPORTED
            : lt->heuristic(lt->handle, p->desc, p->layout[B], p->layout[A], p->layout[Y],
                            p->layout[Y], pref, wanted, found, &n);
    (void)lt->pref_destroy(pref);
    for (int k = 0; k < n && !status; k++)
        if (!found[k].state)
            found[good++] = found[k];
    return good;
}

/* Everything that an algorithm is for, and the library's version. */
static void write_key(const matmul_lt *p, char *key, size_t size)
{
    const matmul_lt_want *w = &p->want;
    const matmul_shape *m = &w->shape;
    const int64_t d = p->batch_dim;
    (void)snprintf(
        key, size,
        "cublasLt %llu product %lld x %lld x %lld%s%s, batch %lld by %lld %lld %lld, dtypes %d "
        "%d %d, compute %u, epilogue %u%s, alignments %u %u %u",
        (unsigned long long)p->lt->version, (long long)m->m, (long long)m->n, (long long)m->k,
        w->transpose_a ? " ta" : "", w->transpose_b ? " tb" : "",
        (long long)m->batch_dims.dim[d], (long long)m->batch_dims.sa[d],
        (long long)m->batch_dims.sb[d], (long long)y_stride(&m->batch_dims, d),
        (int)w->dtype[A], (int)w->dtype[BIAS], (int)w->dtype[Y], compute_of(w), epilogue_of(w),
        has(w, ADD) ? " added" : "", alignment(p, A, m->m * m->k), alignment(p, B, m->k * m->n),
        alignment(p, Y, m->m * m->n));
}

enum { CHOICE_TEXT = 2 * sizeof(lt_algo) + 1 };

/* NVIDIA allows to store an algorithm's bytes for the same version. */
static void write_choice(const lt_algo *algo, char text[CHOICE_TEXT])
{
    const unsigned char *bytes = (const unsigned char *)algo;
    for (size_t k = 0; k < sizeof *algo; k++)
        (void)snprintf(text + 2 * k, 3, "%02x", bytes[k]);
}

static bool read_choice(const char *text, lt_algo *ret)
{
    unsigned char bytes[sizeof *ret];
    if (strlen(text) != CHOICE_TEXT - 1 || strspn(text, "0123456789abcdef") != CHOICE_TEXT - 1)
        return false;
    for (size_t k = 0; k < sizeof bytes; k++) {
        const char two[3] = {text[2 * k], text[2 * k + 1], 0};
        bytes[k] = (unsigned char)strtoul(two, NULL, 16);
    }
    memcpy(ret, bytes, sizeof bytes);
    return true;
}

static bool take(matmul_lt *p, const lt_algo *algo, uint64_t workspace)
{
    p->algo = *algo;
    p->workspace = workspace;
    return true;
}

/* False: it is none for this product. */
static bool take_text(matmul_lt *p, const char *text)
{
    const cublaslt *lt = p->lt;
    lt_heuristic result = {.state = LT_NOT_SUPPORTED};
    lt_algo algo;
    if (!read_choice(text, &algo) ||
        lt->check(lt->handle, p->desc, p->layout[B], p->layout[A], p->layout[Y], p->layout[Y],
                  &algo, &result) ||
        result.state || result.workspace > WORKSPACE_MOST)
        return false;
    return take(p, &algo, result.workspace);
}

typedef struct tuning {
    const matmul_lt *p;
    const lt_heuristic *found;
} tuning;

enum { WORKSPACE = OPERANDS };

static bool run_candidate(void *self, uint32_t k, void *const *buffers, void *stream)
{
    const tuning *c = self;
    return set_pointers(c->p, buffers) &&
           !call_library(c->p, &c->found[k].algo, c->found[k].workspace, buffers,
                         buffers[WORKSPACE], stream);
}

/* The number of the fastest for one call of the library.  Errors: UNSUPPORTED nothing can be measured. */
static tutti_status fastest(const matmul_lt *p, const tutti_cuda_v1 *cuda,
                            const lt_heuristic *found, int n, uint32_t *ret_best)
{
    const matmul_shape *m = &p->want.shape;
    const int64_t d = p->batch_dim, last = m->batch_dims.dim[d] - 1;
    const int64_t size[OPERANDS] = {
        [A] = (last * m->batch_dims.sa[d] + 1) * m->m * m->k,
        [B] = (last * m->batch_dims.sb[d] + 1) * m->k * m->n,
        [BIAS] = m->n > m->m ? m->n : m->m,
        [ADD] = (last * y_stride(&m->batch_dims, d) + 1) * m->m * m->n,
        [AUX] = is_mask(&p->want) ? m->m * matmul_mask_bytes(m->n) : m->m * m->n,
        [Y] = (last * y_stride(&m->batch_dims, d) + 1) * m->m * m->n};
    tuning self = {p, found};
    cuda_autotune c = {.algorithms = (uint32_t)n,
                       .buffers = OPERANDS + 1,
                       .self = &self,
                       .run = run_candidate};
    for (int k = 0; k < OPERANDS; k++)
        c.bytes[k] =
            has(&p->want, k) ? (uint64_t)size[k] * tutti_dtype_size(p->want.dtype[k]) : 0;
    for (int k = 0; k < n; k++)
        if (found[k].workspace > c.bytes[WORKSPACE])
            c.bytes[WORKSPACE] = found[k].workspace;
    return cuda_autotune_run(cuda, &c, ret_best);
}

static bool choose(matmul_lt *p, const tutti_cuda_v1 *cuda)
{
    char key[384], text[CHOICE_TEXT];
    lt_heuristic found[CANDIDATES];
    tutti_status s = TUTTI_E_UNSUPPORTED;
    write_key(p, key, sizeof key);
    if (TUTTI_HAS(cuda, tutti_cuda_v1, keep) && !p->want.probe)
        s = cuda->recall(cuda->ctx, key, text, sizeof text);
    if (!s && take_text(p, text))
        return true;
    const int n = candidates(p, s == TUTTI_E_NOTFOUND ? CANDIDATES : 1, found);
    if (n < 1)
        return false;
    uint32_t best = 0;
    if (s == TUTTI_E_NOTFOUND && n > 1 && !fastest(p, cuda, found, n, &best)) {
        write_choice(&found[best].algo, text);
        if (!cuda->keep(cuda->ctx, key, text, sizeof text, NULL) && take_text(p, text))
            return true;
    }
    return take(p, &found[0].algo, found[0].workspace);
}

static tutti_status refuse(const matmul_lt *p, tutti_error *err)
{
    const matmul_lt_want *w = &p->want;
    const matmul_shape *m = &w->shape;
    char version[CUDA_VERSION_TEXT];
    return tutti_fail(
        err, TUTTI_E_UNSUPPORTED,
        "cuBLASLt %s has no algorithm for a product %lld x %lld x %lld of %s into "
        "%s with epilogue %u",
        cuda_version_text(p->lt->version, version), (long long)m->m, (long long)m->n,
        (long long)m->k, tutti_dtype_name(w->dtype[A]), tutti_dtype_name(w->dtype[Y]),
        epilogue_of(w));
}

tutti_status matmul_lt_create(const tutti_cuda_v1 *cuda, const matmul_lt_want *w,
                              matmul_lt **ret, uint64_t *ret_workspace, tutti_error *err)
{
    matmul_lt *p = calloc(1, sizeof *p);
    if (!p)
        return tutti_fail(err, TUTTI_E_NOMEM, "matmul: no memory for a product");
    p->want = *w;
    p->batch_dim = longest(&w->shape.batch_dims);
    tutti_status s = TUTTI_OK;
    if (!has_epilogue(p))
        s = tutti_fail(err, TUTTI_E_UNSUPPORTED, "cuBLASLt is not asked for such an epilogue");
    else if (!(s = cublaslt_of(cuda, &p->lt, err)) && (!describe(p) || !choose(p, cuda)))
        s = refuse(p, err);
    if (s) {
        matmul_lt_destroy(p);
        return TUTTI_E_UNSUPPORTED;
    }
    *ret = p;
    *ret_workspace = p->workspace;
    return TUTTI_OK;
}

void matmul_lt_tell(const matmul_lt *p, const tutti_op_call *c, const char *apart)
{
    static const struct {
        uint32_t attribute;
        const char *name;
    } parts[] = {{LT_ALGO_ID, "algorithm"},
                 {LT_ALGO_TILE, ", tile"},
                 {LT_ALGO_STAGES, ", stages"},
                 {LT_ALGO_SPLIT_K, ", split k"}};
    char text[TUTTI_CHOICE_TEXT] = "";
    const matmul_lt_want *w = &p->want;
    size_t used = 0;
    for (size_t k = 0; k < sizeof parts / sizeof *parts; k++) {
        uint32_t value = 0;
        size_t bytes = 0;
        if (p->lt->algo_get(&p->algo, parts[k].attribute, &value, sizeof value, &bytes) ||
            bytes != sizeof value || (parts[k].attribute != LT_ALGO_ID && value == 0))
            continue;
        (void)snprintf(text + used, sizeof text - used, "%s %u", parts[k].name, value);
        used = strlen(text);
    }
    (void)snprintf(text + used, sizeof text - used, "%s%s%s",
                   w->dtype[A] != TUTTI_F32 ? ""
                   : w->tf32                ? ", TF32"
                                            : ", no TF32",
                   *apart ? ", epilogue apart: " : "", apart);
    cuda_tell_library(c, "cuBLASLt", p->lt->version, text);
}
