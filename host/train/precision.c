/* precision.c - the loss scale of amp_fp16, which keeps small gradients above f16's smallest number. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/place.h"
#include "train/trainer_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Composer's, that is GradScaler's, numbers. */
static const double INIT_SCALE = 65536.0, GROWTH = 2.0, BACKOFF = 0.5;
enum { GROWTH_INTERVAL = 2000, CHUNK = 65536 };

static const char *const names[] = {
    [NET_FP32] = "fp32",
    [NET_AMP_BF16] = "amp_bf16",
    [NET_AMP_FP16] = "amp_fp16",
    [NET_FP32_FAST] = "fp32_fast",
};

int precision_of(const char *name)
{
    int k = (int)(sizeof names / sizeof *names) - 1;
    while (k > NET_FP32 && strcmp(names[k], name) != 0)
        k--;
    return k;
}

void precision_announce(trainer *t)
{
    if (precision_of(t->run->precision) != NET_FP32_FAST)
        return;
    const tutti_device *d = trainer_device(t);
    if (d && strcmp(d->info.kernels, "cuda") == 0)
        trainer_message(t, TUTTI_LOG_INFO, "train",
                        "precision fp32_fast: factors of products and convolutions are rounded "
                        "to TF32");
    else
        trainer_message(t, TUTTI_LOG_INFO, "train",
                        "precision fp32_fast: products go as three of bf16 where that was "
                        "measured to be faster on this CPU; tutti plan tells which");
}

void scaler_init(loss_scaler *s, int precision)
{
    *s = (loss_scaler){.scale = INIT_SCALE, .on = precision == NET_AMP_FP16};
}

double scaler_scale(const loss_scaler *s)
{
    return s->on ? s->scale : 1.0;
}

/* Divides by the scale; 1 when something is infinite or NaN: an exponent of ones, which no FMA or
 * fast-math setting can hide. */
static int unscale(float *g, float factor, int64_t n)
{
    uint32_t bad = 0;
    for (int64_t k = 0; k < n; k++) {
        uint32_t bits;
        g[k] *= factor;
        memcpy(&bits, &g[k], sizeof bits);
        bad |= (bits & 0x7F800000u) == 0x7F800000u;
    }
    return (int)bad;
}

/* The same for all gradients, on several threads. */
static int unscale_all(float *grads, float factor, int64_t count, int threads)
{
    const int64_t chunks = (count + CHUNK - 1) / CHUNK;
    int bad = 0;
#pragma omp parallel for schedule(static) num_threads(threads) if (chunks > 1)                 \
    reduction(|                                                                                \
              : bad)
    for (int64_t c = 0; c < chunks; c++) {
        const int64_t left = count - c * CHUNK;
        bad |= unscale(grads + c * CHUNK, factor, left < CHUNK ? left : CHUNK);
    }
    return bad;
}

/* in: none; out: gradients, verdict (1) i32.  Runs where a device runs code of the host's. */
static tutti_status run_unscale(void *state, const tutti_op_call *c, const void *const *in,
                                void *const *out, void *scratch)
{
    const loss_scaler *s = state;
    *(int32_t *)out[1] =
        unscale_all(out[0], (float)(1.0 / s->scale), tutti_numel(&c->out[0]), c->threads);
    return TUTTI_OK;
}

static tutti_status unscale_on_device(trainer *t, float *grads, int64_t count, int32_t *ret_bad,
                                      tutti_error *err)
{
    loss_scaler *s = &t->scaler;
    const tutti_device *d = trainer_device(t);
    const tutti_desc out[2] = {{{count}, 1, TUTTI_F32}, {{1}, 1, TUTTI_I32}};
    const tutti_op_call call = {.struct_size = sizeof call,
                                .nout = 2,
                                .threads = t->threads,
                                .in = out,
                                .out = out,
                                .step = &t->step};
    if (!s->verdict)
        s->verdict = place_take(d, sizeof(int32_t));
    if (!s->verdict)
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for the loss scale");
    const tutti_launch launch = {.struct_size = sizeof launch,
                                 .name = "unscale",
                                 .run = run_unscale,
                                 .state = s,
                                 .call = &call,
                                 .in = (const void *[]){NULL},
                                 .out = (void *[]){grads, s->verdict}};
    const tutti_status status = d->table->launch(d->device, NULL, &launch, err);
    return status ? status
                  : place_copy(d, ret_bad, s->verdict, sizeof *ret_bad, TUTTI_COPY_FROM_DEVICE,
                               err);
}

static tutti_status unscale_staged(trainer *t, float *grads, int64_t count, int32_t *ret_bad,
                                   tutti_error *err)
{
    const tutti_device *d = trainer_device(t);
    const uint64_t bytes = (uint64_t)count * sizeof(float);
    float *staged = malloc(bytes + 1);
    if (!staged)
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for %llu bytes of gradients",
                          (unsigned long long)bytes);
    tutti_status s = place_copy(d, staged, grads, bytes, TUTTI_COPY_FROM_DEVICE, err);
    if (!s) {
        *ret_bad = unscale_all(staged, (float)(1.0 / t->scaler.scale), count, t->threads);
        s = place_copy(d, grads, staged, bytes, TUTTI_COPY_TO_DEVICE, err);
    }
    free(staged);
    return s;
}

tutti_status scaler_unscale(trainer *t, tutti_error *err)
{
    loss_scaler *s = &t->scaler;
    float *weights, *grads;
    int64_t count;
    int32_t bad = 0;
    tutti_status status = s->on ? views_settle(t, false, err) : TUTTI_OK;
    if (!s->on || status)
        return status;
    net_arena(t->net, &weights, &grads, &count);
    views_age(t, 1u << VIEW_GRADIENTS);
    if (!trainer_is_remote(t))
        bad = unscale_all(grads, (float)(1.0 / s->scale), count, t->threads);
    else if (strcmp(trainer_device(t)->info.kernels, "cpu") == 0)
        status = unscale_on_device(t, grads, count, &bad, err);
    else
        status = unscale_staged(t, grads, count, &bad, err);
    s->found = bad != 0;
    return status;
}

bool scaler_skips(const loss_scaler *s)
{
    return s->on && s->found;
}

void scaler_update(trainer *t)
{
    loss_scaler *s = &t->scaler;
    char text[160];
    if (!s->on)
        return;
    if (s->found) {
        s->scale *= BACKOFF;
        s->clean = 0.0;
        (void)snprintf(text, sizeof text,
                       "gradients of batch %lld are not finite: no update, the loss scale is "
                       "now %g",
                       (long long)t->time.batch, s->scale);
        trainer_message(t, TUTTI_LOG_INFO, "train", text);
    } else if (++s->clean >= GROWTH_INTERVAL) {
        if ((float)(s->scale * GROWTH) < INFINITY)
            s->scale *= GROWTH;
        s->clean = 0.0;
    }
    s->found = false;
}

tutti_tensor scaler_state(loss_scaler *s)
{
    const tutti_desc d = {{2}, 1, TUTTI_F64};
    return (tutti_tensor){&s->scale, d, TUTTI_DEVICE_CPU, 0};
}
