/* plugin.c - cutout: the same random squares of every image of a batch are blank. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../algorithm.h"
#include "../box.h"

typedef struct cutout {
    const tutti_state_v1 *state;
    int64_t holes;
    double length;
    int32_t uniform;
    int32_t reserved;
} cutout;

static tutti_status cutout_open(const tutti_host *host, const tutti_params *params,
                                void **ret_self, tutti_error *err)
{
    const tutti_state_v1 *state = algorithm_service(host, "cutout", TUTTI_STATE_V1, err);
    if (!state)
        return TUTTI_E_UNSUPPORTED;
    cutout *c = calloc(1, sizeof *c);
    if (!c)
        return tutti_fail(err, TUTTI_E_NOMEM, "cutout: no memory");
    c->state = state;
    c->holes = tutti_param_i64(params, "num_holes");
    c->length = tutti_param_f64(params, "length");
    c->uniform = tutti_param_i64(params, "uniform_sampling") != 0;
    *ret_self = c;
    return TUTTI_OK;
}

static tutti_status cutout_close(void *self, tutti_error *err)
{
    (void)err;
    free(self);
    return TUTTI_OK;
}

static int32_t cutout_match(void *self, const tutti_event *event)
{
    (void)self;
    return event->id == TUTTI_EVENT_AFTER_DATALOADER;
}

static void blank(const tutti_tensor *x, box_side rows, box_side columns)
{
    const int64_t h = x->desc.dim[1], w = x->desc.dim[2];
    const uint64_t pixel = (uint64_t)x->desc.dim[3] * tutti_dtype_size(x->desc.dtype);
    for (int64_t b = 0; b < x->desc.dim[0]; b++)
        for (int64_t y = rows.first; y < rows.last; y++)
            memset((char *)x->data + (uint64_t)((b * h + y) * w + columns.first) * pixel, 0,
                   (uint64_t)(columns.last - columns.first) * pixel);
}

static tutti_status cutout_apply(void *self, const tutti_event *event, int64_t *ret_exit_code,
                                 tutti_error *err)
{
    const cutout *c = self;
    (void)ret_exit_code;
    tutti_tensor x;
    const tutti_status status = algorithm_images(c->state, "cutout", &x, err);
    if (status)
        return status;
    const int64_t h = x.desc.dim[1], w = x.desc.dim[2];
    const int64_t side = (int64_t)((double)(h < w ? h : w) * c->length);
    tutti_stream r = algorithm_stream(c->state, "cutout", event->step);
    for (int64_t k = 0; k < c->holes; k++) {
        const box_side rows = box_draw(&r, h, side, c->uniform);
        blank(&x, rows, box_draw(&r, w, side, c->uniform));
    }
    return TUTTI_OK;
}

static const tutti_calls calls = {.struct_size = sizeof calls,
                                  .open = cutout_open,
                                  .match = cutout_match,
                                  .apply = cutout_apply,
                                  .close = cutout_close};
ALGORITHM_PLUGIN("cutout", calls)
