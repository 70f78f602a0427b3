/* plugin.c - color_jitter: brightness, contrast, saturation and hue changed at random. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../common/colour.h"
#include "../transform_plugin.h"
#include "jitter.h"

enum { LANES = 256 }; /* threads an image on a GPU */

typedef struct jitter {
    double p;
    jitter_range range;
    batch_kernel kernel;
} jitter;

static int is_picture(const tutti_desc *d)
{
    return d->rank == 3 && d->dtype == TUTTI_U8;
}

static tutti_status color_jitter_infer(void *self, tutti_column *columns, uint32_t ncolumns,
                                       tutti_error *err)
{
    (void)self;
    for (uint32_t k = 0; k < ncolumns; k++) {
        const tutti_desc *d = &columns[k].desc;
        if (is_picture(d) && d->dim[2] != 1 && d->dim[2] != 3)
            return tutti_fail(err, TUTTI_E_SHAPE,
                              "color_jitter: column %s has %lld channels, want 1 or 3",
                              columns[k].name, (long long)d->dim[2]);
    }
    return TUTTI_OK;
}

static void color_jitter_change(int which, uint8_t *x, int64_t n, int64_t channels, double draw)
{
    switch (which) {
    case BRIGHTNESS:
        colour_brightness(x, n, channels, (float)draw);
        break;
    case CONTRAST:
        colour_contrast(x, n, channels, (float)draw);
        break;
    case SATURATION:
        colour_saturation(x, n, channels, (float)draw);
        break;
    default:
        colour_hue(x, n, channels, jitter_turn(draw));
    }
}

/* An image of n pixels, in place. */
static void change_all(const jitter_range *range, uint8_t *x, int64_t n, int64_t channels,
                       tutti_stream stream)
{
    const jitter_draw d = jitter_draws(stream, *range);
    for (int i = 0; i < CHANGES; i++)
        if (range->of[d.order[i]] > 0.0)
            color_jitter_change(d.order[i], x, n, channels, d.by[d.order[i]]);
}

static int32_t color_jitter_apply(void *self, const tutti_sample *sample, uint32_t k,
                                  const tutti_tensor *in, tutti_tensor *out, tutti_error *err)
{
    const jitter *j = self;
    (void)k, (void)err;
    if (!is_picture(&in->desc) ||
        !jitter_applies(sample->seed, sample_purpose("color_jitter.p"), sample->epoch,
                        sample->index, j->p))
        return 0;
    out->desc = in->desc;
    memcpy(out->data, in->data, tutti_nbytes(&in->desc));
    change_all(&j->range, out->data, in->desc.dim[0] * in->desc.dim[1], in->desc.dim[2],
               sample_stream(sample, "color_jitter"));
    return 1;
}

/* The manifest's kernel. */
TUTTI_EXPORT void color_jitter_cpu(const uint8_t *x, uint8_t *y, const int64_t *index,
                                   uint64_t seed, uint64_t epoch, uint32_t purpose,
                                   uint32_t p_purpose, double p, double brightness,
                                   double contrast, double saturation, double hue, int64_t size,
                                   int64_t channels, int64_t images, int64_t threads);

void color_jitter_cpu(const uint8_t *x, uint8_t *y, const int64_t *index, uint64_t seed,
                      uint64_t epoch, uint32_t purpose, uint32_t p_purpose, double p,
                      double brightness, double contrast, double saturation, double hue,
                      int64_t size, int64_t channels, int64_t images, int64_t threads)
{
    const jitter_range range = {{brightness, contrast, saturation, hue}};
    (void)threads;
    memcpy(y, x, (size_t)(images * size * channels));
    for (int64_t k = 0; k < images; k++)
        if (jitter_applies(seed, p_purpose, epoch, (uint64_t)index[k], p))
            change_all(&range, y + k * size * channels, size, channels,
                       tutti_stream_at(seed, purpose, epoch, (uint64_t)index[k]));
}

static int32_t color_jitter_apply_batch(void *self, const tutti_samples *samples, uint32_t k,
                                        const tutti_tensor *in, tutti_tensor *out,
                                        tutti_error *err)
{
    jitter *j = self;
    const tutti_desc *d = &in->desc;
    (void)k;
    if (d->rank != 4 || d->dtype != TUTTI_U8 || j->p <= 0.0)
        return 0;
    tutti_samples s = *samples;
    uint32_t purpose = sample_purpose("color_jitter");
    uint32_t p_purpose = sample_purpose("color_jitter.p");
    int64_t images = d->dim[0], size = d->dim[1] * d->dim[2], channels = d->dim[3];
    int64_t threads = images * LANES;
    double *range = j->range.of;
    const void *x = in->data;
    void *const args[] = {&x,         &out->data, &s.index,  &s.seed,   &s.epoch,  &purpose,
                          &p_purpose, &j->p,      &range[0], &range[1], &range[2], &range[3],
                          &size,      &channels,  &images,   &threads};
    out->desc = *d;
    return batch_launch(&j->kernel, "color_jitter", x, args, sizeof args / sizeof *args, err);
}

static tutti_status color_jitter_open(const tutti_host *host, const tutti_params *params,
                                      void **ret_self, tutti_error *err)
{
    static const char *const names[CHANGES] = {"brightness", "contrast", "saturation", "hue"};
    jitter *j = calloc(1, sizeof *j);
    if (!j)
        return tutti_fail(err, TUTTI_E_NOMEM, "color_jitter: no memory");
    for (int k = 0; k < CHANGES; k++)
        j->range.of[k] = tutti_param_f64(params, names[k]);
    j->p = tutti_param_f64(params, "p");
    j->kernel = batch_kernel_find(host, "color_jitter");
    *ret_self = j;
    return TUTTI_OK;
}

TRANSFORM_PLUGIN(color_jitter, color_jitter_open, color_jitter_infer, color_jitter_apply,
                 color_jitter_apply_batch);
