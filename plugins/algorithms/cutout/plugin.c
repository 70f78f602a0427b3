/* plugin.c - cutout: the same random squares of every image of a batch are blank. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../batch.h"
#include "../box.h"

typedef struct cutout {
    algorithm_device device;
    const tutti_state_v1 *state;
    int64_t holes;
    double length;
    int32_t uniform;
    uint32_t kernel;
} cutout;

/* The manifest's kernel. */
TUTTI_EXPORT void cutout_blank_cpu(uint8_t *x, int64_t height, int64_t width, int64_t pixel,
                                   int64_t top, int64_t rows, int64_t left, int64_t columns,
                                   int64_t n);

void cutout_blank_cpu(uint8_t *x, int64_t height, int64_t width, int64_t pixel, int64_t top,
                      int64_t rows, int64_t left, int64_t columns, int64_t n)
{
    const int64_t line = columns * pixel;
    for (int64_t k = 0; k * line < n; k++) { /* a row of a square */
        const int64_t row = k / rows * height + top + k % rows;
        memset(x + (row * width + left) * pixel, 0, (size_t)line);
    }
}

static tutti_status cutout_open(const tutti_host *host, const tutti_params *params,
                                void **ret_self, tutti_error *err)
{
    static const char *const names[] = {"cutout_blank"};
    cutout *c = calloc(1, sizeof *c);
    if (!c)
        return tutti_fail(err, TUTTI_E_NOMEM, "cutout: no memory");
    c->state = algorithm_service(host, "cutout", TUTTI_STATE_V1, err);
    const tutti_status status =
        c->state ? batch_open(&c->device, host, "cutout", names, 1, &c->kernel, err)
                 : TUTTI_E_UNSUPPORTED;
    if (status) {
        free(c);
        return status;
    }
    batch_keys(&c->device, params);
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

static tutti_status cutout_blank_box(const cutout *c, const tutti_tensor *x, box_side rows,
                                     box_side columns, tutti_error *err)
{
    const tutti_desc *d = &x->desc;
    void *data = x->data;
    int64_t height = d->dim[1], width = d->dim[2];
    int64_t pixel = d->dim[3] * (int64_t)tutti_dtype_size(d->dtype);
    int64_t high = rows.last - rows.first, wide = columns.last - columns.first;
    int64_t n = d->dim[0] * high * wide * pixel;
    return n ? algorithm_launch(&c->device, c->kernel, err, &data, &height, &width, &pixel,
                                &rows.first, &high, &columns.first, &wide, &n)
             : TUTTI_OK;
}

static tutti_status cutout_apply(void *self, const tutti_event *event, int64_t *ret_exit_code,
                                 tutti_error *err)
{
    const cutout *c = self;
    (void)ret_exit_code;
    tutti_tensor x;
    tutti_desc d;
    tutti_status status = batch_images(&c->device, &d, err);
    if (status || c->holes == 0 || (status = batch_get(&c->device, c->device.input, &x, err)))
        return status;
    const int64_t h = d.dim[1], w = d.dim[2];
    const int64_t side = (int64_t)((double)(h < w ? h : w) * c->length);
    tutti_stream r = algorithm_stream(c->state, "cutout", event->step);
    for (int64_t k = 0; k < c->holes && !status; k++) {
        const box_side rows = box_draw(&r, h, side, c->uniform);
        status = cutout_blank_box(c, &x, rows, box_draw(&r, w, side, c->uniform), err);
    }
    return status;
}

ALGORITHM_PLUGIN("cutout", .open = cutout_open, .match = cutout_match, .apply = cutout_apply,
                 .close = cutout_close);
