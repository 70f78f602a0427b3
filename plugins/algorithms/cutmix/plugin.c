/* plugin.c - cutmix: a box of every image comes from another one, and so does a share of its target. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../../common/beta.h"
#include "../batch_mix.h"
#include "../box.h"

typedef struct cutmix {
    batch_mix p; /* weight: the box's share of the image */
    double alpha;
    box_side rows;
    box_side columns;
    int32_t uniform;
    int32_t reserved;
} cutmix;

/* The manifest's kernel beside those of batch_mix.h. */
TUTTI_EXPORT void cutmix_paste_cpu(const uint8_t *x, uint8_t *y, const uint32_t *perm,
                                   int64_t height, int64_t width, int64_t top, int64_t bottom,
                                   int64_t left, int64_t right, int64_t pixel, int64_t n);

void cutmix_paste_cpu(const uint8_t *x, uint8_t *y, const uint32_t *perm, int64_t height,
                      int64_t width, int64_t top, int64_t bottom, int64_t left, int64_t right,
                      int64_t pixel, int64_t n)
{
    const int64_t size = height * width;
    memcpy(y, x, (size_t)(n * pixel));
    for (int64_t k = 0; k * size < n; k++)
        for (int64_t row = top; row < bottom; row++)
            memcpy(y + ((k * height + row) * width + left) * pixel,
                   x + (((int64_t)perm[k] * height + row) * width + left) * pixel,
                   (size_t)((right - left) * pixel));
}

static tutti_status cutmix_open(const tutti_host *host, const tutti_params *params,
                                void **ret_self, tutti_error *err)
{
    static const char *const names[] = {BATCH_MIX_NAMES, "cutmix_paste"};
    batch_mix p;
    const tutti_status status =
        batch_mix_open(&p, "cutmix", host, params, names, BATCH_MIX_KERNELS + 1, err);
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
    batch_mix_fini(&m->p);
    free(m);
    return TUTTI_OK;
}

static int32_t cutmix_match(void *self, const tutti_event *event)
{
    return batch_mix_match(&((cutmix *)self)->p, event);
}

/* The box of every sample of the column `name`, (B, H, W, ...), becomes that of the sample it is mixed with. */
static tutti_status cutmix_paste_box(cutmix *m, const char *name, const tutti_desc *d,
                                     tutti_error *err)
{
    const algorithm_device *device = &m->p.device;
    tutti_tensor x, y;
    const tutti_status status = batch_renew(device, name, d, &x, &y, err);
    if (status)
        return status;
    int64_t height = d->dim[1], width = d->dim[2], n = m->p.count * height * width;
    int64_t pixel = (int64_t)algorithm_row(d) / (height * width);
    return algorithm_launch(device, m->p.kernel[BATCH_MIX_KERNELS], err, &x.data, &y.data,
                            &m->p.device_perm.data, &height, &width, &m->rows.first,
                            &m->rows.last, &m->columns.first, &m->columns.last, &pixel, &n);
}

static tutti_status cut_inputs(cutmix *m, uint64_t step, tutti_error *err)
{
    tutti_desc x;
    tutti_status status = batch_images(&m->p.device, &x, err);
    if (status)
        return status;
    const int64_t h = x.dim[1], w = x.dim[2];
    tutti_stream r = algorithm_stream(m->p.state, "cutmix", step);
    const double ratio = sqrt(1.0 - beta_symmetric(&r, m->alpha));
    if ((status = batch_mix_draw(&m->p, &r, x.dim[0], err)))
        return status;
    m->columns = box_draw(&r, w, (int64_t)((double)w * ratio), m->uniform);
    m->rows = box_draw(&r, h, (int64_t)((double)h * ratio), m->uniform);
    m->p.weight =
        (double)((m->columns.last - m->columns.first) * (m->rows.last - m->rows.first)) /
        (double)(h * w);
    return m->p.weight == 0.0 ? TUTTI_OK : cutmix_paste_box(m, m->p.device.input, &x, err);
}

/* Targets with something for every pixel are cut as the images were, others blended. */
static tutti_status mix_targets(cutmix *m, tutti_error *err)
{
    tutti_desc x;
    tutti_tensor target;
    tutti_status status = batch_images(&m->p.device, &x, err);
    if (status || (status = batch_mix_target(&m->p, &target, err)))
        return status;
    if (!batch_is_dense(&target.desc, &x))
        return m->p.interpolate_loss ? batch_mix_blend_loss(&m->p, err)
                                     : batch_mix_blend_targets(&m->p, err);
    if (m->p.interpolate_loss)
        return tutti_fail(err, TUTTI_E_UNSUPPORTED,
                          "cutmix: targets for every pixel cannot go with interpolate_loss");
    return cutmix_paste_box(m, m->p.device.target, &target.desc, err);
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

ALGORITHM_PLUGIN("cutmix", .open = cutmix_open, .match = cutmix_match, .apply = cutmix_apply,
                 .close = cutmix_close);
