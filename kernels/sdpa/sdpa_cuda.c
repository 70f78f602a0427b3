/* sdpa_cuda.c - attention and its gradient on the GPU, in both layouts: what is launched. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "sdpa/sdpa_cuda.h"

#include "common/cuda/launch.h"
#include "sdpa/sdpa.h"

#include <stdlib.h>

/* Of one node: its device functions, in order, and everything but the tensors. */
typedef struct state {
    void *delta;  /* of the gradient */
    void *first;  /* the forward pass, or dq */
    void *second; /* dk and dv */
    sdpa_shape shape;
    int64_t columns; /* of results that a block has: 64 or 128 */
    bool wide;
} state;

/* By the columns of results. */
typedef struct names {
    const char *delta, *first[2], *second[2];
} names;

static const names forward = {NULL, {"sdpa_64", "sdpa_128"}, {NULL, NULL}};
static const names backward = {"sdpa_delta",
                               {"sdpa_by_query_64", "sdpa_by_query_128"},
                               {"sdpa_by_key_64", "sdpa_by_key_128"}};

static bool wide_stride(const sdpa_stride *s)
{
    return (s->b | s->h | s->t) % 8 == 0;
}

static tutti_status one(const tutti_op_call *c, const char *entry, void **ret_function,
                        tutti_error *err)
{
    return entry ? CUDA_FUNCTION(c, entry, ret_function, err, sizeof(sdpa_cuda_args))
                 : TUTTI_OK;
}

static tutti_status prepare_as(const tutti_op_call *c, const sdpa_shape *shape, const names *n,
                               void **ret_state, tutti_error *err)
{
    state *s = calloc(1, sizeof *s);
    if (!s)
        return tutti_fail(err, TUTTI_E_NOMEM, "sdpa: no memory for its device functions");
    s->shape = *shape;
    s->columns = shape->d > 64 ? 128 : 64;
    s->wide = shape->d % 8 == 0 && wide_stride(&shape->q) && wide_stride(&shape->k) &&
              wide_stride(&shape->v) && wide_stride(&shape->y);
    tutti_status status = one(c, n->delta, &s->delta, err);
    if (!status)
        status = one(c, n->first[s->columns == 128], &s->first, err);
    if (!status)
        status = one(c, n->second[s->columns == 128], &s->second, err);
    if (status) {
        free(s);
        return status;
    }
    *ret_state = s;
    return TUTTI_OK;
}

static tutti_status launch(const state *s, const tutti_op_call *c, sdpa_cuda_args *a)
{
    enum { TILE = SDPA_SIDE * SDPA_PITCH, ROOM = 2 * SDPA_DEPTH * SDPA_SIDE };
    const int64_t heads = s->shape.batch * s->shape.heads, most = INT32_MAX;
    const int64_t room = SDPA_SIDE * s->columns > ROOM ? SDPA_SIDE * s->columns : ROOM;
    const uint32_t shared = (uint32_t)((TILE + room) * (int64_t)sizeof(float));
    void *const args[] = {a};
    a->s = s->shape;
    a->scale = (float)s->shape.scale;
    a->wide = s->wide;
    a->chunks = (s->shape.d + s->columns - 1) / s->columns;
    const int64_t first = heads * a->chunks * ((s->shape.tq + SDPA_SIDE - 1) / SDPA_SIDE);
    const int64_t second = heads * a->chunks * ((s->shape.tk + SDPA_SIDE - 1) / SDPA_SIDE);
    tutti_status status = TUTTI_OK;
    if (s->delta && first)
        status = cuda_launch(c->cuda, s->delta, cuda_blocks(c->cuda, heads * s->shape.tq * 32),
                             CUDA_BLOCK, 0, args);
    if (!status && first)
        status = cuda_launch(c->cuda, s->first, (uint32_t)(first < most ? first : most),
                             SDPA_CUDA_BLOCK, shared, args);
    if (!status && s->second && second)
        status = cuda_launch(c->cuda, s->second, (uint32_t)(second < most ? second : most),
                             SDPA_CUDA_BLOCK, shared, args);
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
    return prepare_as(c, &s, &forward, ret_state, err);
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
    return prepare_as(c, &s, &backward, ret_state, err);
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
    return prepare_as(c, &s, &forward, ret_state, err);
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
    return prepare_as(c, &s, &backward, ret_state, err);
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
