/* plugin.c - progressive_resizing: begins with small images and lets them grow. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../batch.h"
#include "tutti/metrics.h"
#include "window.h"

enum { MODE_RESIZE, MODE_CROP }; /* as the manifest's values */

typedef struct resizing {
    algorithm_device device;
    const tutti_state_v1 *state;
    const tutti_metrics_v1 *metrics;
    int64_t mode;
    double initial;
    double finetune;
    double delay;
    int64_t increment;
    int32_t targets;
    uint32_t kernel;
} resizing;

/* The manifest's kernel. */
TUTTI_EXPORT void progressive_resizing_cpu(const uint8_t *x, uint8_t *y, int32_t crop,
                                           int64_t h, int64_t w, int64_t high, int64_t wide,
                                           int64_t top, int64_t left, int64_t pixel, int64_t n);

void progressive_resizing_cpu(const uint8_t *x, uint8_t *y, int32_t crop, int64_t h, int64_t w,
                              int64_t high, int64_t wide, int64_t top, int64_t left,
                              int64_t pixel, int64_t n)
{
    const window v = {h, w, high, wide, top, left};
    for (int64_t line = 0; line * wide < n; line++) {
        const uint8_t *row =
            x + (line / high * h + window_row(&v, crop, line % high)) * w * pixel;
        if (crop)
            memcpy(y, row + left * pixel, (size_t)(wide * pixel));
        for (int64_t k = 0; k < wide; k++, y += pixel)
            if (!crop)
                memcpy(y, row + window_column(&v, crop, k) * pixel, (size_t)pixel);
    }
}

static tutti_status progressive_resizing_check(const tutti_params *params, tutti_error *err)
{
    const double finetune = tutti_param_f64(params, "finetune_fraction");
    const double delay = tutti_param_f64(params, "delay_fraction");
    if (delay + finetune > 1.0)
        return tutti_fail(err, TUTTI_E_ARG,
                          "progressive_resizing: delay_fraction %g and finetune_fraction %g "
                          "together are more than 1",
                          delay, finetune);
    return TUTTI_OK;
}

static tutti_status progressive_resizing_open(const tutti_host *host,
                                              const tutti_params *params, void **ret_self,
                                              tutti_error *err)
{
    static const char *const names[] = {"progressive_resizing"};
    const tutti_state_v1 *state =
        algorithm_service(host, "progressive_resizing", TUTTI_STATE_V1, err);
    const tutti_metrics_v1 *metrics =
        algorithm_service(host, "progressive_resizing", TUTTI_METRICS_V1, err);
    if (!state || !metrics)
        return TUTTI_E_UNSUPPORTED;
    resizing *p = calloc(1, sizeof *p);
    if (!p)
        return tutti_fail(err, TUTTI_E_NOMEM, "progressive_resizing: no memory");
    const tutti_status status =
        batch_open(&p->device, host, "progressive_resizing", names, 1, &p->kernel, err);
    if (status) {
        free(p);
        return status;
    }
    batch_keys(&p->device, params);
    p->state = state;
    p->metrics = metrics;
    p->mode = tutti_param_i64(params, "mode");
    p->initial = tutti_param_f64(params, "initial_scale");
    p->finetune = tutti_param_f64(params, "finetune_fraction");
    p->delay = tutti_param_f64(params, "delay_fraction");
    p->increment = tutti_param_i64(params, "size_increment");
    p->targets = tutti_param_i64(params, "resize_targets") != 0;
    *ret_self = p;
    return TUTTI_OK;
}

static tutti_status progressive_resizing_close(void *self, tutti_error *err)
{
    (void)err;
    free(self);
    return TUTTI_OK;
}

static int32_t progressive_resizing_match(void *self, const tutti_event *event)
{
    (void)self;
    return event->id == TUTTI_EVENT_AFTER_DATALOADER;
}

/* From `initial` to 1, linearly between delay and 1 - finetune. */
static double scale_now(const resizing *p)
{
    const double elapsed = p->state->elapsed(p->state->ctx);
    const double ramp = 1.0 - p->finetune - p->delay;
    double f = 0.0;
    if (elapsed >= p->delay)
        f = ramp > 0.0 && elapsed < p->delay + ramp ? (elapsed - p->delay) / ramp : 1.0;
    return p->initial + (1.0 - p->initial) * f;
}

/* The column `name`, d (B, H, W, ...), becomes its window: pixels cut out, or the nearest ones. */
static tutti_status progressive_resizing_shrink(resizing *p, const char *name,
                                                const tutti_desc *d, window v, tutti_error *err)
{
    tutti_tensor x, y;
    tutti_desc less = *d;
    less.dim[1] = v.high;
    less.dim[2] = v.wide;
    const tutti_status status = batch_renew(&p->device, name, &less, &x, &y, err);
    if (status)
        return status;
    int32_t crop = p->mode == MODE_CROP;
    int64_t pixel = (int64_t)algorithm_row(d) / (v.h * v.w), n = d->dim[0] * v.high * v.wide;
    return algorithm_launch(&p->device, p->kernel, err, &x.data, &y.data, &crop, &v.h, &v.w,
                            &v.high, &v.wide, &v.top, &v.left, &pixel, &n);
}

static tutti_status shrink_all(resizing *p, const tutti_desc *x, const window *v,
                               tutti_error *err)
{
    tutti_desc target;
    char text[96];
    tutti_status status = TUTTI_OK;
    if (p->targets) {
        if ((status = batch_describe(&p->device, p->device.target, &target, err)))
            return status;
        if (!batch_is_dense(&target, x))
            return tutti_fail(err, TUTTI_E_SHAPE,
                              "progressive_resizing: the target is %s, want one of the images' "
                              "height and width to resize",
                              tutti_desc_text(&target, text, sizeof text));
        status = progressive_resizing_shrink(p, p->device.target, &target, *v, err);
    }
    return status ? status : progressive_resizing_shrink(p, p->device.input, x, *v, err);
}

static void progressive_resizing_report(const resizing *p, int64_t height, int64_t width,
                                        double scale)
{
    const tutti_named_value v[] = {{"progressive_resizing/height", (double)height},
                                   {"progressive_resizing/width", (double)width},
                                   {"progressive_resizing/scale_factor", scale}};
    p->metrics->log(p->metrics->ctx, v, 3);
}

static tutti_status progressive_resizing_apply(void *self, const tutti_event *event,
                                               int64_t *ret_exit_code, tutti_error *err)
{
    resizing *p = self;
    (void)ret_exit_code;
    tutti_desc x;
    tutti_status status = batch_images(&p->device, &x, err);
    if (status)
        return status;
    window v = {x.dim[1], x.dim[2], x.dim[1], x.dim[2], 0, 0};
    const double scale = scale_now(p);
    const int64_t pinned =
        (int64_t)rint((double)v.w * scale / (double)p->increment) * p->increment;
    if (pinned < v.w) {
        v.wide = pinned;
        v.high = v.h * pinned / v.w;
        if (v.high < 1 || v.wide < 1)
            return tutti_fail(
                err, TUTTI_E_RANGE,
                "progressive_resizing: scale %g in steps of %lld leaves nothing of "
                "%lld x %lld pixels",
                scale, (long long)p->increment, (long long)v.h, (long long)v.w);
        if (p->mode == MODE_CROP) {
            tutti_stream r = algorithm_stream(p->state, "progressive_resizing", event->step);
            v.top = v.h > v.high ? tutti_stream_below(&r, (uint32_t)(v.h - v.high)) : 0;
            v.left = tutti_stream_below(&r, (uint32_t)(v.w - v.wide));
        }
        if ((status = shrink_all(p, &x, &v, err)))
            return status;
    }
    progressive_resizing_report(p, v.high, v.wide, scale);
    return TUTTI_OK;
}

ALGORITHM_PLUGIN_CHECKED("progressive_resizing", progressive_resizing_check,
                         .open = progressive_resizing_open, .match = progressive_resizing_match,
                         .apply = progressive_resizing_apply,
                         .close = progressive_resizing_close);
