/* plugin.c - colout: drops random rows and columns of a whole batch of images. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../batch.h"
#include "colout.h"

typedef struct colout {
    algorithm_device device;
    const tutti_state_v1 *state;
    double p_row;
    double p_col;
    int64_t resize_target;
    algorithm_memory rows; /* u32: which ones stay, for the kernel */
    algorithm_memory columns;
    uint32_t kernel;
    uint32_t reserved;
} colout;

/* The manifest's kernel. */
TUTTI_EXPORT void colout_keep_cpu(const uint8_t *x, uint8_t *y, const uint32_t *rows,
                                  const uint32_t *columns, int64_t height, int64_t width,
                                  int64_t high, int64_t wide, int64_t pixel, int64_t n);

void colout_keep_cpu(const uint8_t *x, uint8_t *y, const uint32_t *rows,
                     const uint32_t *columns, int64_t height, int64_t width, int64_t high,
                     int64_t wide, int64_t pixel, int64_t n)
{
    for (int64_t k = 0; k * high * wide < n; k++)
        kept_copy(&(kept){rows, (uint32_t)high, (uint32_t)height},
                  &(kept){columns, (uint32_t)wide, (uint32_t)width},
                  (const char *)x + k * height * width * pixel,
                  (char *)y + k * high * wide * pixel, (uint64_t)pixel);
}

static tutti_status colout_open(const tutti_host *host, const tutti_params *params,
                                void **ret_self, tutti_error *err)
{
    static const char *const names[] = {"colout_keep"};
    colout *c = calloc(1, sizeof *c);
    if (!c)
        return tutti_fail(err, TUTTI_E_NOMEM, "colout: no memory");
    c->state = algorithm_service(host, "colout", TUTTI_STATE_V1, err);
    const tutti_status status =
        c->state ? batch_open(&c->device, host, "colout", names, 1, &c->kernel, err)
                 : TUTTI_E_UNSUPPORTED;
    if (status) {
        free(c);
        return status;
    }
    batch_keys(&c->device, params);
    c->p_row = tutti_param_f64(params, "p_row");
    c->p_col = tutti_param_f64(params, "p_col");
    c->resize_target = tutti_param_i64(params, "resize_target");
    *ret_self = c;
    return TUTTI_OK;
}

static tutti_status colout_close(void *self, tutti_error *err)
{
    colout *c = self;
    (void)err;
    algorithm_give(&c->device, &c->rows);
    algorithm_give(&c->device, &c->columns);
    free(c);
    return TUTTI_OK;
}

static int32_t colout_match(void *self, const tutti_event *event)
{
    (void)self;
    return event->id == TUTTI_EVENT_AFTER_DATALOADER;
}

/* The column `name`, d (B, H, W, ...), becomes its kept rows and columns. */
static tutti_status colout_shrink(colout *c, const char *name, const tutti_desc *d,
                                  int64_t high, int64_t wide, tutti_error *err)
{
    tutti_tensor x, y;
    tutti_desc less = *d;
    less.dim[1] = high;
    less.dim[2] = wide;
    const tutti_status status = batch_renew(&c->device, name, &less, &x, &y, err);
    if (status)
        return status;
    int64_t height = d->dim[1], width = d->dim[2], n = d->dim[0] * high * wide;
    int64_t pixel = (int64_t)algorithm_row(d) / (height * width);
    return algorithm_launch(&c->device, c->kernel, err, &x.data, &y.data, &c->rows.data,
                            &c->columns.data, &height, &width, &high, &wide, &pixel, &n);
}

static tutti_status shrink_all(colout *c, const tutti_desc *x, const kept *rows,
                               const kept *columns, tutti_error *err)
{
    const int64_t high = rows->count, wide = columns->count;
    tutti_desc target;
    char text[96];
    tutti_status status =
        batch_send(&c->device, &c->rows, rows->index, rows->count * sizeof *rows->index, err);
    if (status || (status = batch_send(&c->device, &c->columns, columns->index,
                                       columns->count * sizeof *columns->index, err)))
        return status;
    if (c->resize_target != RESIZE_FALSE) {
        if ((status = batch_describe(&c->device, c->device.target, &target, err)))
            return status;
        if (batch_is_dense(&target, x))
            status = colout_shrink(c, c->device.target, &target, high, wide, err);
        else if (c->resize_target == RESIZE_TRUE)
            status = tutti_fail(err, TUTTI_E_SHAPE,
                                "colout: the target is %s, want one of the images' height and "
                                "width to resize",
                                tutti_desc_text(&target, text, sizeof text));
    }
    return status ? status : colout_shrink(c, c->device.input, x, high, wide, err);
}

static tutti_status colout_apply(void *self, const tutti_event *event, int64_t *ret_exit_code,
                                 tutti_error *err)
{
    colout *c = self;
    (void)ret_exit_code;
    tutti_desc x;
    kept rows = {NULL, 0, 0}, columns = {NULL, 0, 0};
    tutti_status status = batch_images(&c->device, &x, err);
    if (status)
        return status;
    const int64_t h = x.dim[1], w = x.dim[2];
    if (kept_count(h, c->p_row) < 1 || kept_count(w, c->p_col) < 1)
        return tutti_fail(err, TUTTI_E_RANGE,
                          "colout: p_row %g and p_col %g leave nothing of %lld x %lld pixels",
                          c->p_row, c->p_col, (long long)h, (long long)w);
    tutti_stream r = algorithm_stream(c->state, "colout", event->step);
    if ((status = kept_draw(&rows, &r, h, c->p_row, err)) == TUTTI_OK &&
        (status = kept_draw(&columns, &r, w, c->p_col, err)) == TUTTI_OK)
        status = shrink_all(c, &x, &rows, &columns, err);
    kept_fini(&rows);
    kept_fini(&columns);
    return status;
}

static const tutti_calls calls = {.struct_size = sizeof calls,
                                  .open = colout_open,
                                  .match = colout_match,
                                  .apply = colout_apply,
                                  .close = colout_close};
static const tutti_object object = TUTTI_OBJECT_INIT("colout", TUTTI_KIND_ALGORITHM, &calls);
static const tutti_object *const objects[] = {&object, &colout_transform_object, NULL};
static const tutti_plugin plugin = TUTTI_PLUGIN_INIT("org.tutti.colout", "1.0.0", objects);

TUTTI_EXPORT const tutti_plugin *tutti_plugin_v1(uint32_t host_abi)
{
    (void)host_abi;
    return &plugin;
}
