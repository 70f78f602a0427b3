/* matmul_cuda.c - products on the GPU: by cuBLASLt, or by our own kernels where it does not serve. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "matmul/matmul_cuda.h"
#include "common/cuda/convert.h"
#include "common/cuda/libraries/choice.h"
#include "common/cuda/reduce.h"
#include "matmul/matmul_lt.h"
#include "matmul/matmul_mask.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { A = MATMUL_A, B = MATMUL_B, BIAS = MATMUL_BIAS, ADD = MATMUL_ADD };
enum { AUX = MATMUL_AUX, Y = MATMUL_Y, OPERANDS = MATMUL_OPERANDS };
/* matmul and matmul_act; matmul_act_grad; matmul_add; matmul_bias_grad; matmul_relu and its gradient */
enum { PRODUCT, GRADIENT, SUM, WITH_BIAS_GRAD, MASKED, MASKED_GRADIENT };
enum { NOWHERE = -1 };

typedef struct state {
    matmul_shape shape;
    int64_t act;
    int32_t kind;
    bool whole;       /* the library does the epilogue too */
    matmul_lt *lt;    /* NULL: our own kernel */
    int at[OPERANDS]; /* the input, AUX and Y of a product the output; or NOWHERE */
    uint64_t workspace_at;
    uint64_t copy[OPERANDS];          /* in the scratch, or CUDA_DIRECT */
    int32_t dtype[OPERANDS];          /* as the library gets them */
    void *product, *convert, *finish; /* device functions */
    cuda_reducer *bias_grad;          /* NULL: there are none, or the library does them */
    uint64_t bias_grad_at;
} state;

static void destroy(void *self)
{
    state *s = self;
    if (!s)
        return;
    matmul_lt_destroy(s->lt);
    free(s->bias_grad);
    free(s);
}

static bool has_mask(const state *s)
{
    return s->kind == MASKED || s->kind == MASKED_GRADIENT;
}

static bool is_output(const state *s, int operand)
{
    return operand == Y || (operand == AUX && (s->kind == PRODUCT || s->kind == MASKED)) ||
           (operand == BIAS && s->kind == WITH_BIAS_GRAD);
}

static const tutti_desc *desc_of(const state *s, const tutti_op_call *c, int operand)
{
    const int at = s->at[operand];
    return at == NOWHERE ? NULL : is_output(s, operand) ? &c->out[at] : &c->in[at];
}

static void place_operands(state *s, const tutti_op_call *c)
{
    const bool biased = s->kind == PRODUCT || s->kind == MASKED || s->kind == SUM;
    const bool bias = biased && c->nin > (s->kind == SUM ? 3u : 2u);
    const bool gradient = s->kind == GRADIENT || s->kind == MASKED_GRADIENT;
    s->at[A] = 0;
    s->at[B] = 1;
    s->at[BIAS] = !bias ? NOWHERE : s->kind == SUM ? 3 : 2;
    s->at[ADD] = s->kind == SUM ? 2 : NOWHERE;
    s->at[AUX] = gradient ? 2 : c->nout > 1 ? 1 : NOWHERE;
    if (s->kind == WITH_BIAS_GRAD) {
        s->at[BIAS] = 1;
        s->at[ADD] = c->nin > 2 ? 2 : NOWHERE;
        s->at[AUX] = NOWHERE;
    }
    s->at[Y] = 0;
}

/* The library multiplies two matrices of one dtype, into that or F32; its bias and what it adds are
 * like its result.  Other operands go through copies. */
static void choose_dtypes(state *s, const tutti_op_call *c)
{
    const int32_t a = c->in[0].dtype, b = c->in[1].dtype, y = c->out[0].dtype;
    const int32_t both = a == b ? a : TUTTI_F32;
    const int32_t result = y == both ? y : TUTTI_F32;
    for (int k = 0; k < OPERANDS; k++)
        s->dtype[k] = s->at[k] == NOWHERE ? TUTTI_DTYPE_NONE : k <= B ? both : result;
    if (has_mask(s) && s->at[AUX] != NOWHERE)
        s->dtype[AUX] = TUTTI_U8;
}

/* With the whole epilogue, or the preactivation alone, which lies where the last result does. */
static tutti_status try_library(state *s, const tutti_op_call *c, bool whole,
                                uint64_t *ret_workspace, tutti_error *err)
{
    const matmul_attr *t = c->attr;
    matmul_lt_want w = {
        .shape = s->shape,
        .transpose_a = t->transpose_a != 0,
        .transpose_b = t->transpose_b != 0,
        .tf32 = t->fast == MATMUL_FAST || cuda_tf32(c->cuda),
        .act = whole ? (int32_t)s->act : MATMUL_NONE,
        .grad = whole && (s->kind == GRADIENT || s->kind == MASKED_GRADIENT),
        .masks = whole && has_mask(s) && s->shape.count == 1 && matmul_lt_masks(c->cuda),
        .bias_grad = whole && s->kind == WITH_BIAS_GRAD ? 1 + (t->of ? B : A) : 0};
    memcpy(w.dtype, s->dtype, sizeof w.dtype);
    if (whole && s->at[AUX] != NOWHERE && desc_of(s, c, AUX)->dtype != s->dtype[AUX])
        return tutti_fail(err, TUTTI_E_UNSUPPORTED, "what is kept is %s, of a product in %s",
                          tutti_dtype_name(desc_of(s, c, AUX)->dtype),
                          tutti_dtype_name(s->dtype[AUX])); /* no copies of such */
    if (whole && s->kind == WITH_BIAS_GRAD && c->out[1].dtype != s->dtype[BIAS])
        return tutti_fail(err, TUTTI_E_UNSUPPORTED, "sums in %s beside a product in %s",
                          tutti_dtype_name(c->out[1].dtype), tutti_dtype_name(s->dtype[BIAS]));
    if (!whole)
        w.dtype[AUX] = TUTTI_DTYPE_NONE;
    s->whole = whole;
    return matmul_lt_create(c->cuda, &w, &s->lt, ret_workspace, err);
}

static tutti_status prepare_library(state *s, const tutti_op_call *c, uint64_t *ret_scratch,
                                    tutti_error *err)
{
    uint64_t bytes = CUDA_PART, workspace = 0;
    tutti_error whole = TUTTI_ERROR_INIT, why = TUTTI_ERROR_INIT;
    choose_dtypes(s, c);
    tutti_status status = try_library(s, c, true, &workspace, &whole);
    if (status && (s->act || s->kind == WITH_BIAS_GRAD)) {
        s->at[Y] = s->kind == PRODUCT ? (int)c->nout - 1 : 0;
        if (s->kind == PRODUCT || has_mask(s))
            s->at[AUX] = NOWHERE;
        if (s->kind == WITH_BIAS_GRAD)
            s->at[BIAS] = NOWHERE;
        choose_dtypes(s, c);
        status = try_library(s, c, false, &workspace, &why);
    }
    if (status) {
        cuda_tell_refused(c, why.status ? &why : &whole);
        return TUTTI_OK;
    }
    matmul_lt_tell(s->lt, c, whole.text);
    for (int k = 0; k < OPERANDS; k++) {
        const tutti_desc *d = desc_of(s, c, k);
        s->copy[k] = d && k != AUX && !(k == BIAS && is_output(s, k))
                         ? cuda_copy_part(&bytes, d, s->dtype[k])
                         : CUDA_DIRECT;
    }
    s->workspace_at = cuda_part(&bytes, workspace);
    *ret_scratch = bytes;
    return CUDA_CONVERT_FUNCTION(c, "matmul", &s->convert, err);
}

/* Behind the product, by a kernel of our own. */
static tutti_status prepare_bias_grad(state *s, const tutti_op_call *c, uint64_t *ret_scratch,
                                      tutti_error *err)
{
    const matmul_attr *t = c->attr;
    const int along = t->of ? t->transpose_b != 0 : t->transpose_a == 0;
    const int32_t reduced[2] = {!along, along};
    const reduction over = reduction_make(&c->in[t->of], reduced);
    uint64_t scratch = 0, bytes = *ret_scratch ? *ret_scratch : CUDA_PART;
    void *made = NULL;
    const tutti_status status =
        cuda_reduce_prepare(c, &over, 1.0, "matmul_bias_grad_cuda",
                            "matmul_bias_grad_join_cuda", &made, &scratch, err);
    s->at[BIAS] = NOWHERE;
    s->bias_grad = made;
    s->bias_grad_at = cuda_part(&bytes, scratch);
    *ret_scratch = bytes;
    return status;
}

static tutti_status run_bias_grad(const state *s, const tutti_op_call *c, const void *const *in,
                                  void *const *out, void *scratch)
{
    const int64_t of = ((const matmul_attr *)c->attr)->of;
    tutti_op_call sum = *c;
    sum.in = &c->in[of];
    sum.out = &c->out[1];
    return cuda_reduce_run(s->bias_grad, &sum, &in[of], &out[1],
                           cuda_part_at(scratch, s->bias_grad_at));
}

static tutti_status prepare_any(const tutti_op_call *c, int32_t kind, void **ret_state,
                                uint64_t *ret_scratch, tutti_error *err)
{
    const uint32_t tensor = sizeof(cuda_tensor);
    state *s = calloc(1, sizeof *s);
    if (!s)
        return tutti_fail(err, TUTTI_E_NOMEM, "matmul: no memory for its state");
    s->shape = matmul_shape_of(c);
    s->kind = kind;
    s->act = ((const matmul_attr *)c->attr)->act;
    place_operands(s, c);
    const matmul_shape *m = &s->shape;
    tutti_status status = TUTTI_OK;
    *ret_scratch = 0;
    if (m->count * m->m * m->n * m->k > 0) /* the library takes no empty sums */
        status = prepare_library(s, c, ret_scratch, err);
    if (!status && !s->lt) {
        s->at[Y] = s->kind == PRODUCT ? (int)c->nout - 1 : 0;
        if (has_mask(s))
            s->at[AUX] = NOWHERE;
        status = CUDA_FUNCTION(c, "matmul_cuda", &s->product, err, tensor, tensor, tensor,
                               tensor, tensor, sizeof(matmul_cuda_shape));
    }
    if (!status && s->kind == WITH_BIAS_GRAD && !(s->lt && s->whole))
        status = prepare_bias_grad(s, c, ret_scratch, err);
    if (!status && has_mask(s) && !(s->lt && s->whole))
        status = CUDA_FUNCTION(
            c, s->kind == MASKED ? "matmul_relu_mask_cuda" : "matmul_relu_unmask_cuda",
            &s->finish, err, tensor, sizeof(void *), sizeof(int64_t), sizeof(int64_t),
            sizeof(int64_t));
    else if (!status && s->act && !(s->lt && s->whole))
        status = CUDA_FUNCTION(c, "matmul_epilogue_cuda", &s->finish, err, tensor, tensor,
                               tensor, sizeof(int64_t), sizeof(int64_t));
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
    return prepare_any(c, PRODUCT, ret_state, ret_scratch, err);
}

static tutti_status prepare_grad(const tutti_op_call *c, void **ret_state,
                                 uint64_t *ret_scratch, tutti_error *err)
{
    return prepare_any(c, GRADIENT, ret_state, ret_scratch, err);
}

static tutti_status prepare_add(const tutti_op_call *c, void **ret_state, uint64_t *ret_scratch,
                                tutti_error *err)
{
    return prepare_any(c, SUM, ret_state, ret_scratch, err);
}

static tutti_status prepare_with_bias_grad(const tutti_op_call *c, void **ret_state,
                                           uint64_t *ret_scratch, tutti_error *err)
{
    return prepare_any(c, WITH_BIAS_GRAD, ret_state, ret_scratch, err);
}

static tutti_status prepare_masked(const tutti_op_call *c, void **ret_state,
                                   uint64_t *ret_scratch, tutti_error *err)
{
    return prepare_any(c, MASKED, ret_state, ret_scratch, err);
}

static tutti_status prepare_masked_grad(const tutti_op_call *c, void **ret_state,
                                        uint64_t *ret_scratch, tutti_error *err)
{
    return prepare_any(c, MASKED_GRADIENT, ret_state, ret_scratch, err);
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
                               .rank = m->batch_dims.rank};
    memcpy(shape.dim, m->batch_dims.dim, sizeof shape.dim);
    memcpy(shape.sa, m->batch_dims.sa, sizeof shape.sa);
    memcpy(shape.sb, m->batch_dims.sb, sizeof shape.sb);
    cuda_tensor a = t[A], b = t[B], bias = t[BIAS], add = t[ADD], y = t[Y];
    void *const args[] = {&a, &b, &bias, &add, &y, &shape};
    const int64_t tiles = m->count * ((m->m + 63) / 64) * ((m->n + 63) / 64);
    return cuda_launch(c->cuda, s->product, cuda_blocks(c->cuda, tiles * CUDA_BLOCK),
                       CUDA_BLOCK, 0, args);
}

static tutti_status run_library(const state *s, const tutti_op_call *c, const cuda_tensor *own,
                                void *scratch)
{
    tutti_status status = TUTTI_OK;
    cuda_tensor t[OPERANDS];
    void *data[OPERANDS];
    int64_t n[OPERANDS] = {0};
    for (int k = 0; k < OPERANDS; k++) {
        const tutti_desc *d = desc_of(s, c, k);
        t[k] = own[k];
        if (d)
            n[k] = tutti_numel(d);
        if (s->copy[k] != CUDA_DIRECT)
            t[k] = (cuda_tensor){cuda_part_at(scratch, s->copy[k]), s->dtype[k], 0};
        if (s->copy[k] != CUDA_DIRECT && !is_output(s, k) && !status)
            status = cuda_convert(c->cuda, s->convert, own[k], t[k], n[k]);
        data[k] = t[k].data;
    }
    if (!status)
        status = matmul_lt_run(s->lt, c->cuda, data, cuda_part_at(scratch, s->workspace_at));
    if (!status && s->copy[Y] != CUDA_DIRECT)
        status = cuda_convert(c->cuda, s->convert, t[Y], own[Y], n[Y]);
    return status;
}

/* Bits of preactivations that lie in y, or of a gradient there. */
static tutti_status run_mask(const state *s, const tutti_op_call *c, void *mask, cuda_tensor y)
{
    int64_t n = s->shape.n, rows = tutti_numel(&c->out[0]) / n, bytes = matmul_mask_bytes(n);
    void *const args[] = {&y, &mask, &rows, &n, &bytes};
    return cuda_launch(c->cuda, s->finish,
                       cuda_blocks(c->cuda, s->kind == MASKED ? rows * bytes : rows * n),
                       CUDA_BLOCK, 0, args);
}

static tutti_status run(void *self, const tutti_op_call *c, const void *const *in,
                        void *const *out, void *scratch)
{
    const state *s = self;
    cuda_tensor own[OPERANDS];
    int64_t act = s->act, n = tutti_numel(&c->out[0]);
    if (n == 0)
        return s->bias_grad ? run_bias_grad(s, c, in, out, scratch) : TUTTI_OK;
    for (int k = 0; k < OPERANDS; k++) {
        const int at = s->at[k];
        own[k] = (cuda_tensor){NULL, TUTTI_F32, 0};
        if (at != NOWHERE)
            own[k] =
                is_output(s, k) ? cuda_out(c, out, (uint32_t)at) : cuda_in(c, in, (uint32_t)at);
    }
    tutti_status status = s->lt ? run_library(s, c, own, scratch) : run_own(s, c, own);
    if (!status && s->bias_grad)
        status = run_bias_grad(s, c, in, out, scratch);
    if (status || !s->finish)
        return status;
    if (has_mask(s))
        return run_mask(s, c, s->kind == MASKED ? out[1] : (void *)(uintptr_t)in[2],
                        cuda_out(c, out, 0));
    cuda_tensor y = cuda_out(c, out, 0);
    cuda_tensor x = s->kind == GRADIENT ? own[AUX] : (cuda_tensor){NULL, TUTTI_F32, 0};
    void *const args[] = {&own[Y], &x, &y, &n, &act};
    return cuda_launch(c->cuda, s->finish, cuda_blocks(c->cuda, n), CUDA_BLOCK, 0, args);
}

const tutti_kernel matmul_cuda = {sizeof(tutti_kernel), 0, prepare, run, destroy};
const tutti_kernel matmul_act_grad_cuda = {sizeof(tutti_kernel), 0, prepare_grad, run, destroy};
const tutti_kernel matmul_add_cuda = {sizeof(tutti_kernel), 4, prepare_add, run, destroy};
const tutti_kernel matmul_bias_grad_cuda = {sizeof(tutti_kernel), 4, prepare_with_bias_grad,
                                            run, destroy};
const tutti_kernel matmul_relu_cuda = {sizeof(tutti_kernel), 0, prepare_masked, run, destroy};
const tutti_kernel matmul_relu_grad_cuda = {sizeof(tutti_kernel), 0, prepare_masked_grad, run,
                                            destroy};
