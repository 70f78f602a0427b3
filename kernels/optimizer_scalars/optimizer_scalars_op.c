/* optimizer_scalars_op.c - operations around an update, made by the host alone; what they write lies where it is read. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/cuda/launch.h"
#include "common/op_util.h"
#include "optimizer_scalars/optimizer_scalars.h"

#include <string.h>

static tutti_status infer(const tutti_op_call *c, tutti_desc *out, tutti_error *err)
{
    (void)c, (void)out;
    return tutti_fail(err, TUTTI_E_UNSUPPORTED, "the host alone makes updates");
}

/* ---- unscale: in, out: gradients F32 (N), scaler F64 ---- */

/* Multiplies; whether something is not finite then. */
static uint32_t multiply(float *restrict g, float by, int64_t n)
{
    uint32_t bad = 0;
    for (int64_t k = 0; k < n; k++) {
        uint32_t bits;
        g[k] *= by;
        memcpy(&bits, &g[k], sizeof bits);
        bad |= (uint32_t)optimizer_scalars_is_bad(bits);
    }
    return bad;
}

static uint32_t multiply_all(const tutti_op_call *c, float *g, float by)
{
    const int64_t n = tutti_numel(&c->out[0]);
    const int threads = op_threads(c, n);
    uint32_t bad = 0;
#pragma omp parallel for num_threads(threads) if (threads > 1) reduction(| : bad)
    for (int k = 0; k < threads; k++) {
        int64_t first;
        const int64_t count = op_chunk(n, k, threads, &first);
        bad |= multiply(g + first, by, count);
    }
    return bad;
}

static tutti_status unscale(void *state, const tutti_op_call *c, const void *const *in,
                            void *const *out, void *scratch)
{
    double *scaler = out[1];
    (void)state, (void)in, (void)scratch;
    if (multiply_all(c, out[0], optimizer_scalars_unscale(scaler)))
        scaler[TUTTI_SCALER_FOUND] = 1.0;
    return TUTTI_OK;
}

static tutti_status prepare_unscale(const tutti_op_call *c, void **ret_state,
                                    uint64_t *ret_scratch, tutti_error *err)
{
    (void)ret_scratch;
    return CUDA_FUNCTION(c, "unscale_cuda", ret_state, err, 8, 8, 8);
}

static tutti_status unscale_on_cuda(void *state, const tutti_op_call *c, const void *const *in,
                                    void *const *out, void *scratch)
{
    int64_t n = tutti_numel(&c->out[0]);
    void *args[] = {(void *)&out[0], (void *)&out[1], &n};
    (void)in, (void)scratch;
    return cuda_launch(c->cuda, state, cuda_blocks(c->cuda, n), CUDA_BLOCK, 0, args);
}

/* ---- scale_by: in: gradients F32 (N), factor F32; out: gradients ---- */

static tutti_status scale_by(void *state, const tutti_op_call *c, const void *const *in,
                             void *const *out, void *scratch)
{
    (void)state, (void)scratch;
    (void)multiply_all(c, out[0], *(const float *)in[1]);
    return TUTTI_OK;
}

static tutti_status prepare_scale_by(const tutti_op_call *c, void **ret_state,
                                     uint64_t *ret_scratch, tutti_error *err)
{
    (void)ret_scratch;
    return CUDA_FUNCTION(c, "scale_by_cuda", ret_state, err, 8, 8, 8);
}

static tutti_status scale_by_on_cuda(void *state, const tutti_op_call *c, const void *const *in,
                                     void *const *out, void *scratch)
{
    int64_t n = tutti_numel(&c->out[0]);
    void *args[] = {(void *)&out[0], (void *)&in[1], &n};
    (void)scratch;
    return cuda_launch(c->cuda, state, cuda_blocks(c->cuda, n), CUDA_BLOCK, 0, args);
}

/* ---- scale_checked: the same; also out: F32, 1 where one is not finite then, else as it was ---- */

static tutti_status scale_checked(void *state, const tutti_op_call *c, const void *const *in,
                                  void *const *out, void *scratch)
{
    (void)state, (void)scratch;
    if (multiply_all(c, out[0], *(const float *)in[1]))
        *(float *)out[1] = 1.0f;
    return TUTTI_OK;
}

static tutti_status prepare_scale_checked(const tutti_op_call *c, void **ret_state,
                                          uint64_t *ret_scratch, tutti_error *err)
{
    (void)ret_scratch;
    return CUDA_FUNCTION(c, "scale_checked_cuda", ret_state, err, 8, 8, 8, 8);
}

static tutti_status scale_checked_on_cuda(void *state, const tutti_op_call *c,
                                          const void *const *in, void *const *out,
                                          void *scratch)
{
    int64_t n = tutti_numel(&c->out[0]);
    void *args[] = {(void *)&out[0], (void *)&in[1], (void *)&out[1], &n};
    (void)scratch;
    return cuda_launch(c->cuda, state, cuda_blocks(c->cuda, n), CUDA_BLOCK, 0, args);
}

/* ---- loss_scale: in: scaler, weight F64; out: F32 ---- */

static tutti_status loss_scale(void *state, const tutti_op_call *c, const void *const *in,
                               void *const *out, void *scratch)
{
    (void)state, (void)c, (void)scratch;
    *(float *)out[0] = optimizer_scalars_loss_scale(in[0], *(const double *)in[1]);
    return TUTTI_OK;
}

static tutti_status prepare_loss_scale(const tutti_op_call *c, void **ret_state,
                                       uint64_t *ret_scratch, tutti_error *err)
{
    (void)ret_scratch;
    return CUDA_FUNCTION(c, "loss_scale_cuda", ret_state, err, 8, 8, 8);
}

static tutti_status loss_scale_on_cuda(void *state, const tutti_op_call *c,
                                       const void *const *in, void *const *out, void *scratch)
{
    void *args[] = {(void *)&in[0], (void *)&in[1], (void *)&out[0]};
    (void)scratch;
    return cuda_launch(c->cuda, state, 1, 1, 0, args);
}

/* ---- next_update: in: rates F64 (G); out: factor F32, scaler F64, numbers F64 (G, 8) ---- */

static tutti_status next_update(void *state, const tutti_op_call *c, const void *const *in,
                                void *const *out, void *scratch)
{
    (void)state, (void)scratch;
    optimizer_scalars_next(in[0], out[0], out[1], out[2], c->out[2].dim[0]);
    return TUTTI_OK;
}

static tutti_status prepare_next_update(const tutti_op_call *c, void **ret_state,
                                        uint64_t *ret_scratch, tutti_error *err)
{
    (void)ret_scratch;
    return CUDA_FUNCTION(c, "next_update_cuda", ret_state, err, 8, 8, 8, 8, 8);
}

static tutti_status next_update_on_cuda(void *state, const tutti_op_call *c,
                                        const void *const *in, void *const *out, void *scratch)
{
    int64_t groups = c->out[2].dim[0];
    void *args[] = {(void *)&in[0], (void *)&out[0], (void *)&out[1], (void *)&out[2], &groups};
    (void)scratch;
    return cuda_launch(c->cuda, state, 1, 1, 0, args);
}

/* ---- gradient_squares: in: gradients F32 (N); out: sums of pieces F64 (P) ---- */

/* lanes[0] += lanes[1] + ...: neighbours half the rest away, as a GPU's threads do it. */
static double sum_of_lanes(double *lanes)
{
    for (int half = GRADIENT_LANES / 2; half > 0; half /= 2)
        for (int t = 0; t < half; t++)
            lanes[t] += lanes[t + half];
    return lanes[0];
}

static double piece_squares(const float *restrict g, int64_t n)
{
    double lanes[GRADIENT_LANES] = {0.0};
    for (int64_t k = 0; k < n; k += GRADIENT_LANES) {
        const int64_t some = n - k < GRADIENT_LANES ? n - k : GRADIENT_LANES;
        for (int64_t t = 0; t < some; t++)
            lanes[t] += optimizer_scalars_square(g[k + t]);
    }
    return sum_of_lanes(lanes);
}

static tutti_status gradient_squares(void *state, const tutti_op_call *c, const void *const *in,
                                     void *const *out, void *scratch)
{
    const float *g = in[0];
    double *parts = out[0];
    const int64_t n = tutti_numel(&c->in[0]), pieces = optimizer_scalars_pieces(n);
    const int threads = op_threads(c, n);
    (void)state, (void)scratch;
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
    for (int64_t p = 0; p < pieces; p++) {
        const int64_t at = p * GRADIENT_PIECE;
        parts[p] = piece_squares(g + at, n - at < GRADIENT_PIECE ? n - at : GRADIENT_PIECE);
    }
    return TUTTI_OK;
}

static tutti_status prepare_gradient_squares(const tutti_op_call *c, void **ret_state,
                                             uint64_t *ret_scratch, tutti_error *err)
{
    (void)ret_scratch;
    return CUDA_FUNCTION(c, "gradient_squares_cuda", ret_state, err, 8, 8, 8);
}

static tutti_status gradient_squares_on_cuda(void *state, const tutti_op_call *c,
                                             const void *const *in, void *const *out,
                                             void *scratch)
{
    int64_t n = tutti_numel(&c->in[0]);
    const int64_t threads = optimizer_scalars_pieces(n) * GRADIENT_LANES;
    void *args[] = {(void *)&in[0], (void *)&out[0], &n};
    (void)scratch;
    return cuda_launch(c->cuda, state, cuda_blocks(c->cuda, threads), GRADIENT_LANES, 0, args);
}

/* ---- gradient_norm: in: these F64 (P); out: numbers F64 (G, 8), whose factors are known ---- */

static tutti_status gradient_norm(void *state, const tutti_op_call *c, const void *const *in,
                                  void *const *out, void *scratch)
{
    const double *parts = in[0];
    double lanes[GRADIENT_LANES] = {0.0};
    (void)state, (void)scratch;
    for (int64_t k = 0; k < c->in[0].dim[0]; k++)
        lanes[k % GRADIENT_LANES] += parts[k];
    optimizer_scalars_norm(sum_of_lanes(lanes), out[0], c->out[0].dim[0]);
    return TUTTI_OK;
}

static tutti_status prepare_gradient_norm(const tutti_op_call *c, void **ret_state,
                                          uint64_t *ret_scratch, tutti_error *err)
{
    (void)ret_scratch;
    return CUDA_FUNCTION(c, "gradient_norm_cuda", ret_state, err, 8, 8, 8, 8);
}

static tutti_status gradient_norm_on_cuda(void *state, const tutti_op_call *c,
                                          const void *const *in, void *const *out,
                                          void *scratch)
{
    int64_t pieces = c->in[0].dim[0], groups = c->out[0].dim[0];
    void *args[] = {(void *)&in[0], (void *)&out[0], &pieces, &groups};
    (void)scratch;
    return cuda_launch(c->cuda, state, 1, GRADIENT_LANES, 0, args);
}

#define UPDATES_OP(op, on_cuda, inputs, outputs)                                               \
    static const tutti_kernel op##_cpu = {sizeof(tutti_kernel), 0, NULL, op, NULL};            \
    static const tutti_kernel op##_cuda = {sizeof(tutti_kernel), 0, prepare_##op, on_cuda,     \
                                           NULL};                                              \
    extern const tutti_op tutti_op_##op;                                                       \
    const tutti_op tutti_op_##op = {.struct_size = sizeof(tutti_op),                           \
                                    .traits = &op##_traits,                                    \
                                    .name = #op,                                               \
                                    .nin_min = (inputs),                                       \
                                    .nin_max = (inputs),                                       \
                                    .nout = (outputs),                                         \
                                    .infer = infer,                                            \
                                    .cpu = &op##_cpu,                                          \
                                    .cuda = &op##_cuda}

OP_PLAIN(unscale);
UPDATES_OP(unscale, unscale_on_cuda, 2, 2);
OP_PLAIN(scale_by);
UPDATES_OP(scale_by, scale_by_on_cuda, 2, 1);
OP_PLAIN(scale_checked);
UPDATES_OP(scale_checked, scale_checked_on_cuda, 2, 2);
OP_PLAIN(loss_scale);
UPDATES_OP(loss_scale, loss_scale_on_cuda, 2, 1);
OP_PLAIN(next_update);
UPDATES_OP(next_update, next_update_on_cuda, 1, 3);
OP_PLAIN(gradient_squares);
UPDATES_OP(gradient_squares, gradient_squares_on_cuda, 1, 1);
OP_PLAIN(gradient_norm);
UPDATES_OP(gradient_norm, gradient_norm_on_cuda, 1, 1);
