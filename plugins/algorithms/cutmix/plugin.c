/* plugin.c - cutmix: a box of every image comes from another one, and so does a share of its target. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../../common/beta.h"
#include "../box.h"
#include "../partners.h"

typedef struct cutmix {
    partners p; /* weight: the box's share of the image */
    double alpha;
    box_side rows;
    box_side columns;
    int32_t uniform;
    int32_t reserved;
} cutmix;

static tutti_status cutmix_open(const tutti_host *host, const tutti_params *params,
                                void **ret_self, tutti_error *err)
{
    partners p;
    const tutti_status status = partners_open(&p, "cutmix", host, params, err);
    if (status)
        return status;
    cutmix *m = calloc(1, sizeof *m);
    if (!m)
        return tutti_fail(err, TUTTI_E_NOMEM, "cutmix: no memory");
    m->p = p;
    m->alpha = tutti_param_f64(params, "alpha");
    m->uniform = tutti_param_i64(params, "uniform_sampling") != 0;
    *ret_self = m;
    return TUTTI_OK;
}

static tutti_status cutmix_close(void *self, tutti_error *err)
{
    cutmix *m = self;
    (void)err;
    partners_fini(&m->p);
    free(m);
    return TUTTI_OK;
}

static int32_t cutmix_match(void *self, const tutti_event *event)
{
    return partners_match(&((cutmix *)self)->p, event);
}

/* The box of every sample of t (B, H, W, ...) becomes its partner's. */
static tutti_status paste(cutmix *m, const tutti_tensor *t, tutti_error *err)
{
    const int64_t width = t->desc.dim[2], high = m->rows.last - m->rows.first;
    const uint64_t image = algorithm_row(&t->desc);
    const uint64_t pixel = image / (uint64_t)(t->desc.dim[1] * width);
    const uint64_t line = pixel * (uint64_t)(m->columns.last - m->columns.first);
    const uint64_t box = line * (uint64_t)high;
    const tutti_status status =
        algorithm_room(&m->p.copy, box * (uint64_t)m->p.count, "cutmix", err);
    if (status || box == 0)
        return status;
    char *boxes = m->p.copy.data;
    char *corner =
        (char *)t->data + (uint64_t)(m->rows.first * width + m->columns.first) * pixel;
    const uint32_t *order = m->p.order.data;
    for (int64_t k = 0; k < m->p.count; k++)
        for (int64_t y = 0; y < high; y++)
            memcpy(boxes + (uint64_t)k * box + (uint64_t)y * line,
                   corner + (uint64_t)k * image + (uint64_t)(y * width) * pixel, line);
    for (int64_t k = 0; k < m->p.count; k++)
        for (int64_t y = 0; y < high; y++)
            memcpy(corner + (uint64_t)k * image + (uint64_t)(y * width) * pixel,
                   boxes + order[k] * box + (uint64_t)y * line, line);
    return TUTTI_OK;
}

static tutti_status cut_inputs(cutmix *m, uint64_t step, tutti_error *err)
{
    tutti_tensor x;
    tutti_status status = algorithm_images(m->p.state, "cutmix", &x, err);
    if (status)
        return status;
    const int64_t h = x.desc.dim[1], w = x.desc.dim[2];
    tutti_stream r = algorithm_stream(m->p.state, "cutmix", step);
    const double ratio = sqrt(1.0 - beta_symmetric(&r, m->alpha));
    if ((status = partners_draw(&m->p, &r, x.desc.dim[0], err)))
        return status;
    m->columns = box_draw(&r, w, (int64_t)((double)w * ratio), m->uniform);
    m->rows = box_draw(&r, h, (int64_t)((double)h * ratio), m->uniform);
    m->p.weight =
        (double)((m->columns.last - m->columns.first) * (m->rows.last - m->rows.first)) /
        (double)(h * w);
    return paste(m, &x, err);
}

/* Targets with something for every pixel are cut as the images were, others blended. */
static tutti_status mix_targets(cutmix *m, tutti_error *err)
{
    tutti_tensor x, target;
    tutti_status status = algorithm_images(m->p.state, "cutmix", &x, err);
    if (status || (status = partners_target(&m->p, &target, err)))
        return status;
    if (!algorithm_is_dense(&target, &x))
        return m->p.interpolate_loss ? partners_blend_loss(&m->p, err)
                                     : partners_blend_targets(&m->p, err);
    if (m->p.interpolate_loss)
        return tutti_fail(err, TUTTI_E_UNSUPPORTED,
                          "cutmix: targets for every pixel cannot go with interpolate_loss");
    return paste(m, &target, err);
}

static tutti_status cutmix_apply(void *self, const tutti_event *event, int64_t *ret_exit_code,
                                 tutti_error *err)
{
    cutmix *m = self;
    (void)ret_exit_code;
    if (event->id == TUTTI_EVENT_BEFORE_FORWARD)
        return cut_inputs(m, event->step, err);
    return m->p.weight == 0.0 ? TUTTI_OK : mix_targets(m, err);
}

static const tutti_calls calls = {.struct_size = sizeof calls,
                                  .open = cutmix_open,
                                  .match = cutmix_match,
                                  .apply = cutmix_apply,
                                  .close = cutmix_close};
ALGORITHM_PLUGIN("cutmix", calls)
