/* plugin.c - progressive_resizing: begins with small images and lets them grow. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../algorithm.h"
#include "tutti/metrics.h"

enum { MODE_RESIZE, MODE_CROP }; /* as the manifest's values */

typedef struct resizing {
    const tutti_state_v1 *state;
    const tutti_metrics_v1 *metrics;
    int64_t mode;
    double initial;
    double finetune;
    double delay;
    int64_t increment;
    int32_t targets;
    int32_t reserved;
    algorithm_buffer out;
} resizing;

static tutti_status resizing_open(const tutti_host *host, const tutti_params *params,
                                  void **ret_self, tutti_error *err)
{
    const double finetune = tutti_param_f64(params, "finetune_fraction");
    const double delay = tutti_param_f64(params, "delay_fraction");
    if (delay + finetune > 1.0)
        return tutti_fail(err, TUTTI_E_ARG,
                          "progressive_resizing: delay_fraction %g and finetune_fraction %g "
                          "together are more than 1",
                          delay, finetune);
    const tutti_state_v1 *state =
        algorithm_service(host, "progressive_resizing", TUTTI_STATE_V1, err);
    const tutti_metrics_v1 *metrics =
        algorithm_service(host, "progressive_resizing", TUTTI_METRICS_V1, err);
    if (!state || !metrics)
        return TUTTI_E_UNSUPPORTED;
    resizing *p = calloc(1, sizeof *p);
    if (!p)
        return tutti_fail(err, TUTTI_E_NOMEM, "progressive_resizing: no memory");
    p->state = state;
    p->metrics = metrics;
    p->mode = tutti_param_i64(params, "mode");
    p->initial = tutti_param_f64(params, "initial_scale");
    p->finetune = finetune;
    p->delay = delay;
    p->increment = tutti_param_i64(params, "size_increment");
    p->targets = tutti_param_i64(params, "resize_targets") != 0;
    *ret_self = p;
    return TUTTI_OK;
}

static tutti_status resizing_close(void *self, tutti_error *err)
{
    resizing *p = self;
    (void)err;
    free(p->out.data);
    free(p);
    return TUTTI_OK;
}

static int32_t resizing_match(void *self, const tutti_event *event)
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

/* What becomes of images: from (h, w) to (high, wide), beginning at (top, left) when cropping. */
typedef struct window {
    int64_t h, w, high, wide, top, left;
} window;

/* The column `name`, t (B, H, W, ...), becomes its window: pixels cut out, or the nearest ones. */
static tutti_status shrink(resizing *p, const char *name, const tutti_tensor *t,
                           const window *v, tutti_error *err)
{
    tutti_tensor out = *t;
    out.desc.dim[1] = v->high;
    out.desc.dim[2] = v->wide;
    const tutti_status status =
        algorithm_room(&p->out, tutti_nbytes(&out.desc), "progressive_resizing", err);
    if (status)
        return status;
    out.data = p->out.data;
    const uint64_t pixel = algorithm_row(&t->desc) / (uint64_t)(v->h * v->w);
    char *to = out.data;
    for (int64_t b = 0; b < t->desc.dim[0]; b++)
        for (int64_t y = 0; y < v->high; y++) {
            const int64_t row = p->mode == MODE_CROP ? v->top + y : y * v->w / v->wide;
            const char *line =
                (const char *)t->data + (uint64_t)((b * v->h + row) * v->w) * pixel;
            if (p->mode == MODE_CROP) {
                memcpy(to, line + (uint64_t)v->left * pixel, (uint64_t)v->wide * pixel);
                to += (uint64_t)v->wide * pixel;
                continue;
            }
            for (int64_t x = 0; x < v->wide; x++, to += pixel)
                memcpy(to, line + (uint64_t)(x * v->w / v->wide) * pixel, pixel);
        }
    return p->state->set(p->state->ctx, name, &out, err);
}

static tutti_status shrink_all(resizing *p, const tutti_tensor *x, const window *v,
                               tutti_error *err)
{
    tutti_tensor target;
    char text[96];
    tutti_status status = TUTTI_OK;
    if (p->targets) {
        if ((status = p->state->get(p->state->ctx, "target", &target, err)))
            return status;
        if (!algorithm_is_dense(&target, x))
            return tutti_fail(err, TUTTI_E_SHAPE,
                              "progressive_resizing: the target is %s, want one of the images' "
                              "height and width to resize",
                              tutti_desc_text(&target.desc, text, sizeof text));
        status = shrink(p, "target", &target, v, err);
    }
    return status ? status : shrink(p, "input", x, v, err);
}

static void report(const resizing *p, int64_t height, int64_t width, double scale)
{
    const tutti_named_value v[] = {{"progressive_resizing/height", (double)height},
                                   {"progressive_resizing/width", (double)width},
                                   {"progressive_resizing/scale_factor", scale}};
    p->metrics->log(p->metrics->ctx, v, 3);
}

static tutti_status resizing_apply(void *self, const tutti_event *event, int64_t *ret_exit_code,
                                   tutti_error *err)
{
    resizing *p = self;
    (void)ret_exit_code;
    tutti_tensor x;
    tutti_status status = algorithm_images(p->state, "progressive_resizing", &x, err);
    if (status)
        return status;
    window v = {x.desc.dim[1], x.desc.dim[2], x.desc.dim[1], x.desc.dim[2], 0, 0};
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
    report(p, v.high, v.wide, scale);
    return TUTTI_OK;
}

static const tutti_calls calls = {.struct_size = sizeof calls,
                                  .open = resizing_open,
                                  .match = resizing_match,
                                  .apply = resizing_apply,
                                  .close = resizing_close};
ALGORITHM_PLUGIN("progressive_resizing", calls)
