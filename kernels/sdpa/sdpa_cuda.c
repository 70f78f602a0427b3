/* sdpa_cuda.c - attention and its gradient on the GPU, in both layouts: what is launched. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "sdpa/sdpa_cuda.h"

#include "common/cuda/launch.h"
#include "sdpa/sdpa.h"

#include <stdio.h>
#include <stdlib.h>

/* Of one node: its device functions, in order, and everything but the tensors. */
typedef struct state {
    void *delta;  /* of the gradient */
    void *first;  /* the forward pass, or dq */
    void *second; /* of the gradient: dk and dv */
    sdpa_shape shape;
    uint32_t columns; /* of results that a block has: 64 or 128 */
    bool wide;
    bool fma; /* not tensor cores */
} state;

static bool wide_stride(const sdpa_stride *s)
{
    return (s->b | s->h | s->t) % 8 == 0;
}

/* Which inputs an operation multiplies, and which is the bias where there is one. */
typedef struct reads {
    uint32_t n, operands[4], bias;
    bool gradient;
} reads;

/* One for each tile of `rows` rows of a head. */
static int64_t blocks_of(const sdpa_shape *s, int64_t chunks, int64_t rows)
{
    return s->batch * s->heads * chunks * ((rows + SDPA_SIDE - 1) / SDPA_SIDE);
}

/* Tensor cores want one dtype of 16 bits, whole loads of it, a bias of that dtype or of F32, and a block for
 * each tile.  NULL: by FMA. */
static const char *tensor_core_dtype(const tutti_op_call *c, const sdpa_shape *shape,
                                     const reads *r, bool wide)
{
    const int32_t dtype = c->in[r->operands[0]].dtype;
    for (uint32_t k = 1; k < r->n; k++)
        if (c->in[r->operands[k]].dtype != dtype)
            return NULL;
    if (c->nin > r->bias && c->in[r->bias].dtype != dtype && c->in[r->bias].dtype != TUTTI_F32)
        return NULL;
    if (!wide || shape->d > SDPA_MMA_WIDEST || c->cuda->capability < 80 || dtype == TUTTI_F32 ||
        blocks_of(shape, 1, shape->tq) > INT32_MAX ||
        blocks_of(shape, 1, shape->tk) > INT32_MAX)
        return NULL;
    return dtype == TUTTI_BF16 ? "bf16" : "f16";
}

static tutti_status one(const tutti_op_call *c, const char *entry, void **ret_function,
                        tutti_error *err)
{
    return CUDA_FUNCTION(c, entry, ret_function, err, sizeof(sdpa_cuda_args));
}

/* Function <name>_<variant>_<columns>. */
static tutti_status variant(const tutti_op_call *c, const char *name, const char *by,
                            uint32_t columns, void **ret_function, tutti_error *err)
{
    char entry[64];
    (void)snprintf(entry, sizeof entry, "%s_%s_%u", name, by, columns);
    return one(c, entry, ret_function, err);
}

static tutti_status prepare_as(const tutti_op_call *c, const sdpa_shape *shape, const reads *r,
                               void **ret_state, tutti_error *err)
{
    state *s = calloc(1, sizeof *s);
    if (!s)
        return tutti_fail(err, TUTTI_E_NOMEM, "sdpa: no memory for its device functions");
    s->shape = *shape;
    s->wide = shape->d % 8 == 0 && wide_stride(&shape->q) && wide_stride(&shape->k) &&
              wide_stride(&shape->v) && wide_stride(&shape->y);
    const char *by = tensor_core_dtype(c, shape, r, s->wide);
    s->fma = !by;
    s->columns = shape->d > 64 && !(s->fma && shape->drop > 0.0f) ? 128 : 64;
    if (s->fma)
        by = shape->drop > 0.0f ? "fma_drop" : "fma";
    tutti_status status = r->gradient ? one(c, "sdpa_delta", &s->delta, err) : TUTTI_OK;
    if (!status)
        status =
            variant(c, r->gradient ? "sdpa_by_query" : "sdpa", by, s->columns, &s->first, err);
    if (!status && r->gradient)
        status = variant(c, "sdpa_by_key", by, s->columns, &s->second, err);
    if (status) {
        free(s);
        return status;
    }
    *ret_state = s;
    return TUTTI_OK;
}

static uint32_t shared_bytes(const state *s, bool bias)
{
    const uint32_t c = s->columns;
    if (!s->fma)
        return s->delta ? SDPA_MMA_GRAD_BYTES(c) : SDPA_MMA_BYTES(c);
    return (uint32_t)sizeof(float) * (SDPA_FMA_SHARED(c) + (bias ? SDPA_BIAS_SIZE : 0) +
                                      (s->shape.drop > 0.0f ? SDPA_DROP_SIZE : 0));
}

static tutti_status launch_tiles(const state *s, const tutti_op_call *c, void *function,
                                 int64_t rows, bool bias, void *const *args)
{
    const int64_t chunks = (s->shape.d + s->columns - 1) / s->columns;
    const int64_t blocks = blocks_of(&s->shape, chunks, rows);
    if (blocks == 0)
        return TUTTI_OK;
    return cuda_launch(c->cuda, function, (uint32_t)(blocks < INT32_MAX ? blocks : INT32_MAX),
                       s->fma ? SDPA_FMA_BLOCK : SDPA_MMA_BLOCK, shared_bytes(s, bias), args);
}

static tutti_status launch(const state *s, const tutti_op_call *c, sdpa_cuda_args *a)
{
    const int64_t rows = s->shape.batch * s->shape.heads * s->shape.tq;
    void *const args[] = {a};
    tutti_status status = TUTTI_OK;
    a->s = s->shape;
    a->scale = (float)s->shape.scale;
    a->keep = (float)s->shape.keep;
    a->wide = s->wide;
    a->step = c->cuda->step;
    a->chunks = (s->shape.d + s->columns - 1) / s->columns;
    if (s->delta && rows)
        status = cuda_launch(c->cuda, s->delta, cuda_blocks(c->cuda, rows * 32), CUDA_BLOCK, 0,
                             args);
    if (!status)
        status = launch_tiles(s, c, s->first, s->shape.tq, a->bias.data, args);
    if (!status && s->second)
        status = launch_tiles(s, c, s->second, s->shape.tk, a->bias.data, args);
    return status;
}

/* `to` elements behind the beginning of t. */
static cuda_tensor behind(cuda_tensor t, int64_t to)
{
    t.data = (char *)t.data + (uint64_t)to * (t.dtype == TUTTI_F32 ? 4 : 2);
    return t;
}

static int64_t third(const sdpa_shape *s)
{
    return s->heads * s->d;
}

static uint64_t delta_bytes(const sdpa_shape *s)
{
    return (uint64_t)(s->batch * s->heads * s->tq) * sizeof(float);
}

/* ---- q, k and v by themselves ---- */

static tutti_status prepare(const tutti_op_call *c, void **ret_state, uint64_t *ret_scratch,
                            tutti_error *err)
{
    const sdpa_shape s = sdpa_shape_known(c, false, 3);
    (void)ret_scratch;
    return prepare_as(c, &s, &(const reads){3, {0, 1, 2}, 3, false}, ret_state, err);
}

static tutti_status run(void *own, const tutti_op_call *c, const void *const *in,
                        void *const *out, void *scratch)
{
    (void)scratch;
    sdpa_cuda_args a = {.q = cuda_in(c, in, 0),
                        .k = cuda_in(c, in, 1),
                        .v = cuda_in(c, in, 2),
                        .y = cuda_out(c, out, 0),
                        .lse = cuda_out(c, out, 1)};
    if (c->nin > 3)
        a.bias = cuda_in(c, in, 3);
    return launch(own, c, &a);
}

static tutti_status prepare_grad(const tutti_op_call *c, void **ret_state,
                                 uint64_t *ret_scratch, tutti_error *err)
{
    const sdpa_shape s = sdpa_shape_known(c, false, 6);
    *ret_scratch = delta_bytes(&s);
    return prepare_as(c, &s, &(const reads){4, {0, 1, 2, 5}, 6, true}, ret_state, err);
}

static tutti_status run_grad(void *own, const tutti_op_call *c, const void *const *in,
                             void *const *out, void *scratch)
{
    sdpa_cuda_args a = {.q = cuda_in(c, in, 0),
                        .k = cuda_in(c, in, 1),
                        .v = cuda_in(c, in, 2),
                        .y = cuda_in(c, in, 3),
                        .lse = cuda_in(c, in, 4),
                        .dy = cuda_in(c, in, 5),
                        .dq = cuda_out(c, out, 0),
                        .dk = cuda_out(c, out, 1),
                        .dv = cuda_out(c, out, 2),
                        .delta = scratch};
    if (c->nin > 6)
        a.bias = cuda_in(c, in, 6);
    return launch(own, c, &a);
}

/* ---- q, k and v side by side ---- */

static tutti_status prepare_packed(const tutti_op_call *c, void **ret_state,
                                   uint64_t *ret_scratch, tutti_error *err)
{
    const sdpa_shape s = sdpa_shape_known(c, true, 1);
    (void)ret_scratch;
    return prepare_as(c, &s, &(const reads){1, {0}, 1, false}, ret_state, err);
}

static tutti_status run_packed(void *own, const tutti_op_call *c, const void *const *in,
                               void *const *out, void *scratch)
{
    (void)scratch;
    const int64_t next = third(&((const state *)own)->shape);
    const cuda_tensor q = cuda_in(c, in, 0);
    sdpa_cuda_args a = {.q = q,
                        .k = behind(q, next),
                        .v = behind(q, 2 * next),
                        .y = cuda_out(c, out, 0),
                        .lse = cuda_out(c, out, 1)};
    if (c->nin > 1)
        a.bias = cuda_in(c, in, 1);
    return launch(own, c, &a);
}

static tutti_status prepare_packed_grad(const tutti_op_call *c, void **ret_state,
                                        uint64_t *ret_scratch, tutti_error *err)
{
    const sdpa_shape s = sdpa_shape_known(c, true, 4);
    *ret_scratch = delta_bytes(&s);
    return prepare_as(c, &s, &(const reads){2, {0, 3}, 4, true}, ret_state, err);
}

static tutti_status run_packed_grad(void *own, const tutti_op_call *c, const void *const *in,
                                    void *const *out, void *scratch)
{
    const int64_t next = third(&((const state *)own)->shape);
    const cuda_tensor q = cuda_in(c, in, 0), dq = cuda_out(c, out, 0);
    sdpa_cuda_args a = {.q = q,
                        .k = behind(q, next),
                        .v = behind(q, 2 * next),
                        .y = cuda_in(c, in, 1),
                        .lse = cuda_in(c, in, 2),
                        .dy = cuda_in(c, in, 3),
                        .dq = dq,
                        .dk = behind(dq, next),
                        .dv = behind(dq, 2 * next),
                        .delta = scratch};
    if (c->nin > 4)
        a.bias = cuda_in(c, in, 4);
    return launch(own, c, &a);
}

const tutti_kernel sdpa_cuda = {sizeof(tutti_kernel), 0, prepare, run, free};
const tutti_kernel sdpa_grad_cuda = {sizeof(tutti_kernel), 0, prepare_grad, run_grad, free};
const tutti_kernel sdpa_packed_cuda = {sizeof(tutti_kernel), 0, prepare_packed, run_packed,
                                       free};
const tutti_kernel sdpa_packed_grad_cuda = {sizeof(tutti_kernel), 0, prepare_packed_grad,
                                            run_packed_grad, free};
