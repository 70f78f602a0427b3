/* plugin.c - colout: drops random rows and columns of a whole batch of images. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "colout.h"

enum { RESIZE_AUTO, RESIZE_YES, RESIZE_NO }; /* as the manifest's values */

typedef struct colout {
    const tutti_state_v1 *state;
    double p_row;
    double p_col;
    int64_t resize_target;
    algorithm_buffer out;
} colout;

static tutti_status colout_open(const tutti_host *host, const tutti_params *params,
                                void **ret_self, tutti_error *err)
{
    const tutti_state_v1 *state = algorithm_service(host, "colout", TUTTI_STATE_V1, err);
    if (!state)
        return TUTTI_E_UNSUPPORTED;
    colout *c = calloc(1, sizeof *c);
    if (!c)
        return tutti_fail(err, TUTTI_E_NOMEM, "colout: no memory");
    c->state = state;
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
    free(c->out.data);
    free(c);
    return TUTTI_OK;
}

static int32_t colout_match(void *self, const tutti_event *event)
{
    (void)self;
    return event->id == TUTTI_EVENT_AFTER_DATALOADER;
}

/* The column `name`, t (B, H, W, ...), becomes its kept rows and columns. */
static tutti_status shrink(colout *c, const char *name, const tutti_tensor *t, const kept *rows,
                           const kept *columns, tutti_error *err)
{
    tutti_tensor out = *t;
    out.desc.dim[1] = rows->count;
    out.desc.dim[2] = columns->count;
    const tutti_status status = algorithm_room(&c->out, tutti_nbytes(&out.desc), "colout", err);
    if (status)
        return status;
    out.data = c->out.data;
    const uint64_t image = algorithm_row(&t->desc), less = algorithm_row(&out.desc);
    const uint64_t pixel = image / ((uint64_t)rows->size * columns->size);
    for (int64_t b = 0; b < t->desc.dim[0]; b++)
        kept_copy(rows, columns, (const char *)t->data + (uint64_t)b * image,
                  (char *)out.data + (uint64_t)b * less, pixel);
    return c->state->set(c->state->ctx, name, &out, err);
}

static tutti_status shrink_all(colout *c, const tutti_tensor *x, const kept *rows,
                               const kept *columns, tutti_error *err)
{
    tutti_tensor target;
    char text[96];
    tutti_status status = TUTTI_OK;
    if (c->resize_target != RESIZE_NO) {
        if ((status = c->state->get(c->state->ctx, "target", &target, err)))
            return status;
        if (algorithm_is_dense(&target, x))
            status = shrink(c, "target", &target, rows, columns, err);
        else if (c->resize_target == RESIZE_YES)
            status = tutti_fail(err, TUTTI_E_SHAPE,
                                "colout: the target is %s, want one of the images' height and "
                                "width to resize",
                                tutti_desc_text(&target.desc, text, sizeof text));
    }
    return status ? status : shrink(c, "input", x, rows, columns, err);
}

static tutti_status colout_apply(void *self, const tutti_event *event, int64_t *ret_exit_code,
                                 tutti_error *err)
{
    colout *c = self;
    (void)ret_exit_code;
    tutti_tensor x;
    kept rows = {NULL, 0, 0}, columns = {NULL, 0, 0};
    tutti_status status = algorithm_images(c->state, "colout", &x, err);
    if (status)
        return status;
    const int64_t h = x.desc.dim[1], w = x.desc.dim[2];
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
