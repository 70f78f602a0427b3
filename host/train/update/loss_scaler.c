/* loss_scaler.c - GradScaler, the loss scale of amp_fp16, which keeps small gradients above f16's smallest number. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/update/loss_scaler.h"

#include "graph/program/program.h"
#include "graph/runtime/device_memory.h"
#include "tutti_internal/scaler.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Composer's, that is GradScaler's, numbers. */
static const double INIT_SCALE = 65536.0, GROWTH = 2.0, BACKOFF = 0.5;
enum { CHUNK = 65536 };

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

void precision_announce(run_context *run)
{
    if (precision_of(run->file->numerics.precision) != NET_FP32_FAST)
        return;
    if (program_runs_device_code(context_device(run)))
        run_log_message(&run->log, TUTTI_LOG_INFO, "train",
                        "precision fp32_fast: factors of products and convolutions are rounded "
                        "to TF32");
    else
        run_log_message(&run->log, TUTTI_LOG_INFO, "train",
                        "precision fp32_fast: products go as three of bf16 where that was "
                        "measured to be faster on this CPU; tutti plan tells which");
}

void scaler_init(loss_scaler *s, run_context *run, host_mirrors *mirrors,
                 device_scalars *scalars, int precision)
{
    *s = (loss_scaler){.run = run,
                       .mirrors = mirrors,
                       .scalars = scalars,
                       .scale = INIT_SCALE,
                       .on = precision == NET_AMP_FP16};
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

static tutti_status unscale_staged(const loss_scaler *s, float *grads, int64_t count,
                                   int32_t *ret_bad, tutti_error *err)
{
    const tutti_device *d = context_device(s->run);
    const uint64_t bytes = (uint64_t)count * sizeof(float);
    float *staged = malloc(bytes + 1);
    if (!staged)
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for %llu bytes of gradients",
                          (unsigned long long)bytes);
    tutti_status status = device_copy(d, staged, grads, bytes, TUTTI_COPY_FROM_DEVICE, err);
    if (!status) {
        *ret_bad = unscale_all(staged, (float)(1.0 / s->scale), count, s->run->threads);
        status = device_copy(d, grads, staged, bytes, TUTTI_COPY_TO_DEVICE, err);
    }
    free(staged);
    return status;
}

/* The device finds out by itself; only who wraps the update has to know at once. */
static tutti_status unscale_there(loss_scaler *s, tutti_error *err)
{
    double scaler[TUTTI_SCALER_NUMBERS] = {0};
    const bool wrapped = s->run->participants.wrapper != NULL;
    tutti_status status = wrapped ? scalars_forget(s->scalars, err) : TUTTI_OK;
    if (!status)
        status = scalars_unscale(s->scalars, err);
    if (!status && wrapped)
        status = scalars_fetch(s->scalars, scaler, err);
    s->found = scaler[TUTTI_SCALER_FOUND] != 0.0;
    return status;
}

tutti_status scaler_unscale(loss_scaler *s, tutti_error *err)
{
    float *weights, *grads;
    int64_t count;
    int32_t bad = 0;
    tutti_status status = s->on ? mirrors_flush(s->mirrors, false, err) : TUTTI_OK;
    if (!s->on || status)
        return status;
    net_arena(s->run->net, &weights, &grads, &count);
    mirrors_invalidate(s->mirrors, 1u << MIRROR_GRADIENTS);
    if (s->scalars->on)
        return unscale_there(s, err);
    if (!context_is_remote(s->run))
        bad = unscale_all(grads, (float)(1.0 / s->scale), count, s->run->threads);
    else
        status = unscale_staged(s, grads, count, &bad, err);
    s->found = bad != 0;
    return status;
}

bool scaler_skips(const loss_scaler *s)
{
    return s->on && s->found;
}

void scaler_count(loss_scaler *s, uint64_t step, bool skipped, double scale)
{
    char text[160];
    if (!skipped) {
        s->skipped = 0;
        return;
    }
    if (s->skipped++ == 0)
        s->first_skipped = (double)step;
    s->told_scale = scale;
    (void)snprintf(
        text, sizeof text,
        "gradients of batch %llu are not finite: no update, the loss scale is now %g",
        (unsigned long long)step, scale);
    run_log_message(&s->run->log, TUTTI_LOG_INFO, "train", text);
}

/* Where the device keeps the scale, it has changed it with the numbers of the update. */
static tutti_status update_there(loss_scaler *s, tutti_error *err)
{
    const participants *p = &s->run->participants;
    const bool waits = /* for each step; otherwise async_metrics.c reports it */
        (p->wrapper && p->wrapper_looks) || s->run->file->distributed.comm.object;
    double scaler[TUTTI_SCALER_NUMBERS] = {0};
    tutti_status status = TUTTI_OK;
    s->found = false;
    if (!s->scalars->counted)
        status = scalars_next_update(s->scalars, 0, err);
    if (status || !waits)
        return status;
    status = scalars_fetch(s->scalars, scaler, err);
    if (!status)
        scaler_count(s, (uint64_t)s->run->clock.now.batch, scaler[TUTTI_SCALER_SKIPPED] != 0.0,
                     s->scale);
    return status;
}

tutti_status scaler_update(loss_scaler *s, tutti_error *err)
{
    if (!s->on)
        return TUTTI_OK;
    if (s->scalars->on)
        return update_there(s, err);
    if (s->found) {
        s->scale *= BACKOFF;
        s->clean = 0.0;
    } else if (++s->clean >= TUTTI_SCALER_INTERVAL) {
        if ((float)(s->scale * GROWTH) < INFINITY)
            s->scale *= GROWTH;
        s->clean = 0.0;
    }
    scaler_count(s, (uint64_t)s->run->clock.now.batch, s->found, s->scale);
    s->found = false;
    return TUTTI_OK;
}

tutti_tensor scaler_skips_state(loss_scaler *s)
{
    const tutti_desc d = {{3}, 1, TUTTI_F64};
    return (tutti_tensor){&s->skipped, d, TUTTI_DEVICE_CPU, 0};
}

tutti_tensor scaler_state(loss_scaler *s)
{
    const tutti_desc d = {{2}, 1, TUTTI_F64};
    return (tutti_tensor){&s->scale, d, TUTTI_DEVICE_CPU, 0};
}
