/* precision.c - the loss scale of amp_fp16, which keeps small gradients above f16's smallest number. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/trainer_internal.h"

#include <math.h>
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
    if (precision_of(t->run->precision) == NET_FP32_FAST)
        trainer_message(t, TUTTI_LOG_WARNING, "train",
                        "precision fp32_fast: there are no faster products of f32 for this "
                        "CPU, so it is fp32");
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

void scaler_unscale(trainer *t)
{
    loss_scaler *s = &t->scaler;
    float *weights, *grads;
    int64_t count;
    int bad = 0;
    if (!s->on)
        return;
    net_arena(t->net, &weights, &grads, &count);
    const float factor = (float)(1.0 / s->scale);
    const int64_t chunks = (count + CHUNK - 1) / CHUNK;
#pragma omp parallel for schedule(static) num_threads(t->threads) if (chunks > 1)              \
    reduction(|                                                                                \
              : bad)
    for (int64_t c = 0; c < chunks; c++) {
        const int64_t left = count - c * CHUNK;
        bad |= unscale(grads + c * CHUNK, factor, left < CHUNK ? left : CHUNK);
    }
    s->found = bad != 0;
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
