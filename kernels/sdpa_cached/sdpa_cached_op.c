/* sdpa_cached_op.c - sdpa_cached: attention of new tokens to the keys and values of all tokens so far. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/cuda/launch.h"
#include "common/op_util.h"
#include "sdpa_cached/sdpa_cached_cpu.h"

#include <math.h>
#include <string.h>

typedef struct sdpa_cached_attr {
    double scale; /* 0: 1 / sqrt(D) */
} sdpa_cached_attr;

static const tutti_attr_field fields[] = {OP_FIELD_F64(sdpa_cached_attr, scale, 0.0)};

/* Steps of the bias, which broadcasts to (B, H, T, N) from the right. */
static tutti_status bias_steps(const tutti_desc *d, sdpa_cached_shape *s, tutti_error *err)
{
    const int64_t full[4] = {s->batch, s->heads, s->t, s->n};
    char text[96];
    int64_t step = 1;
    int32_t k = d->rank <= 4 ? d->rank : 0;
    for (; k > 0; k--) {
        const int32_t at = k - 1 + 4 - d->rank;
        if (d->dim[k - 1] != full[at] && d->dim[k - 1] != 1)
            break;
        s->bias[at] = d->dim[k - 1] == 1 ? 0 : step;
        step *= d->dim[k - 1];
    }
    return k == 0 && d->rank <= 4
               ? TUTTI_OK
               : tutti_fail(err, TUTTI_E_SHAPE,
                            "sdpa_cached: bias is %s, want what broadcasts to (%lld, %lld, "
                            "%lld, %lld)",
                            tutti_desc_text(d, text, sizeof text), (long long)full[0],
                            (long long)full[1], (long long)full[2], (long long)full[3]);
}

static tutti_status shape_of(const tutti_op_call *c, sdpa_cached_shape *ret, tutti_error *err)
{
    const tutti_desc *q = &c->in[0], *k = &c->in[1];
    const sdpa_cached_attr *a = c->attr;
    if (q->dim[0] != k->dim[0] || q->dim[3] != k->dim[3] || q->dim[3] == 0 || k->dim[1] == 0 ||
        k->dim[2] == 0 || q->dim[2] % k->dim[2]) {
        char tq[96], tk[96];
        return tutti_fail(err, TUTTI_E_SHAPE,
                          "sdpa_cached: q is %s and k is %s, want (B, T, H, D) and (B, N, G, "
                          "D) where G divides H",
                          tutti_desc_text(q, tq, sizeof tq), tutti_desc_text(k, tk, sizeof tk));
    }
    *ret = (sdpa_cached_shape){
        .batch = q->dim[0],
        .t = q->dim[1],
        .heads = q->dim[2],
        .d = q->dim[3],
        .n = k->dim[1],
        .groups = k->dim[2],
        .scale = (float)(a->scale != 0.0 ? a->scale : 1.0 / sqrt((double)q->dim[3]))};
    return c->nin > 4 ? bias_steps(&c->in[4], ret, err) : TUTTI_OK;
}

static tutti_status infer(const tutti_op_call *c, tutti_desc *out, tutti_error *err)
{
    static const char *const names[] = {"q", "k", "v"};
    const tutti_desc *position = &c->in[3];
    char text[96];
    sdpa_cached_shape shape;
    tutti_status s = TUTTI_OK;
    for (uint32_t k = 0; k < 3 && !s; k++) {
        s = op_want_f32("sdpa_cached", names[k], &c->in[k], err);
        if (!s)
            s = op_want_rank("sdpa_cached", names[k], &c->in[k], 4, err);
    }
    if (!s)
        s = op_want_same("sdpa_cached", "k", &c->in[1], "v", &c->in[2], err);
    if (!s)
        s = op_want_index("sdpa_cached", "position", position, err);
    if (!s && c->nin > 4)
        s = op_want_f32("sdpa_cached", "bias", &c->in[4], err);
    if (s || (s = shape_of(c, &shape, err)))
        return s;
    if (position->rank != 1 || position->dim[0] != shape.t)
        return tutti_fail(err, TUTTI_E_SHAPE, "sdpa_cached: position is %s, want (%lld)",
                          tutti_desc_text(position, text, sizeof text), (long long)shape.t);
    *out = c->in[0];
    return TUTTI_OK;
}

static tutti_status reference(const tutti_op_call *c, const double *const *in,
                              double *const *out)
{
    sdpa_cached_shape s;
    (void)shape_of(c, &s, NULL);
    const sdpa_cached_attr *a = c->attr;
    const double scale = a->scale != 0.0 ? a->scale : 1.0 / sqrt((double)s.d);
    const int64_t row = s.groups * s.d;
    for (int64_t r = 0; r < s.batch * s.t * s.heads; r++) {
        const int64_t seen = (int64_t)in[3][r / s.heads % s.t] + 1;
        const double *q = in[0] + r * s.d, *k = in[1] + sdpa_cached_keys(&s, r);
        const double *v = in[2] + sdpa_cached_keys(&s, r);
        double *y = out[0] + r * s.d, max = -INFINITY, sum = 0.0;
        if (seen < 1 || seen > s.n)
            return TUTTI_E_RANGE;
        for (int pass = 0; pass < 2; pass++) /* the maximum, then the sums */
            for (int64_t j = 0; j < seen; j++) {
                double score =
                    c->nin > 4 ? in[4][sdpa_cached_bias(&s, r) + j * s.bias[3]] : 0.0;
                for (int64_t i = 0; i < s.d; i++)
                    score += scale * q[i] * k[j * row + i];
                if (pass == 0) {
                    max = score > max ? score : max;
                    continue;
                }
                const double p = exp(score - max);
                for (int64_t i = 0; i < s.d; i++)
                    y[i] = (sum > 0.0 ? y[i] : 0.0) + p * v[j * row + i];
                sum += p;
            }
        for (int64_t i = 0; i < s.d; i++)
            y[i] /= sum;
    }
    return TUTTI_OK;
}

static int threads_of(const tutti_op_call *c, const sdpa_cached_shape *s)
{
    return op_threads(c, s->batch * s->t * s->heads * s->n * s->d);
}

/* The positions, then a row of scores for each thread. */
static uint64_t positions_bytes(const sdpa_cached_shape *s)
{
    return ((uint64_t)s->t * sizeof(int64_t) + 63) / 64 * 64;
}

static tutti_status prepare(const tutti_op_call *c, void **ret_state, uint64_t *ret_scratch,
                            tutti_error *err)
{
    sdpa_cached_shape s;
    (void)ret_state;
    const tutti_status status = shape_of(c, &s, err);
    *ret_scratch =
        positions_bytes(&s) + (uint64_t)threads_of(c, &s) * (uint64_t)s.n * sizeof(float);
    return status;
}

static tutti_status run(void *state, const tutti_op_call *c, const void *const *in,
                        void *const *out, void *scratch)
{
    sdpa_cached_shape s;
    int64_t *position = scratch;
    (void)state;
    const tutti_status status = shape_of(c, &s, NULL);
    if (status)
        return status;
    for (int64_t k = 0; k < s.t; k++) {
        position[k] = op_index_at(in[3], c->in[3].dtype, k);
        if (position[k] < 0 || position[k] >= s.n)
            return TUTTI_E_RANGE;
    }
    const sdpa_cached_tensors t = {.q = in[0],
                                   .k = in[1],
                                   .v = in[2],
                                   .bias = c->nin > 4 ? in[4] : NULL,
                                   .position = position,
                                   .scores = (float *)((char *)scratch + positions_bytes(&s)),
                                   .y = out[0]};
    TUTTI_ISA_PICK(sdpa_cached_run)(&s, &t, threads_of(c, &s));
    return TUTTI_OK;
}

static const tutti_kernel cpu = {
    .struct_size = sizeof(tutti_kernel), .prepare = prepare, .run = run};

static tutti_status cuda_prepare(const tutti_op_call *c, void **ret_state,
                                 uint64_t *ret_scratch, tutti_error *err)
{
    sdpa_cached_shape s;
    (void)ret_scratch;
    const tutti_status status = shape_of(c, &s, err);
    if (status)
        return status;
    if (s.d > SDPA_CACHED_WIDTH)
        return tutti_fail(err, TUTTI_E_UNSUPPORTED,
                          "sdpa_cached: a head has %lld elements, at most %d are possible on a "
                          "GPU",
                          (long long)s.d, SDPA_CACHED_WIDTH);
    return CUDA_FUNCTION(c, "sdpa_cached_cuda", ret_state, err, sizeof s, sizeof(cuda_tensor),
                         sizeof(cuda_tensor), sizeof(cuda_tensor), sizeof(cuda_tensor),
                         sizeof(cuda_tensor), sizeof(cuda_tensor), sizeof(void *),
                         sizeof(uint32_t));
}

static tutti_status cuda_run(void *state, const tutti_op_call *c, const void *const *in,
                             void *const *out, void *scratch)
{
    sdpa_cached_shape s;
    cuda_tensor q = cuda_in(c, in, 0), k = cuda_in(c, in, 1), v = cuda_in(c, in, 2);
    cuda_tensor position = cuda_in(c, in, 3), bias = {NULL, TUTTI_F32, 0};
    cuda_tensor y = cuda_out(c, out, 0);
    uint32_t *fault = c->cuda->fault, mark = c->cuda->mark;
    void *const args[] = {&s, &q, &k, &v, &position, &bias, &y, &fault, &mark};
    (void)scratch;
    const tutti_status status = shape_of(c, &s, NULL);
    const int64_t queries = status ? 0 : s.batch * s.t * s.heads;
    if (c->nin > 4)
        bias = cuda_in(c, in, 4);
    if (queries == 0)
        return status;
    return cuda_launch(c->cuda, state, cuda_blocks(c->cuda, 32 * queries), CUDA_BLOCK, 0, args);
}

static const tutti_kernel cuda = {
    .struct_size = sizeof(tutti_kernel), .prepare = cuda_prepare, .run = cuda_run};

OP_PLAIN(sdpa_cached);
OP_DEFINE(sdpa_cached, .nin_min = 4, .nin_max = 5, OP_ATTR(sdpa_cached_attr, fields),
          .infer = infer, .reference = reference, .cpu = &cpu, .cuda = &cuda);
