/* plugin.c - color_jitter: brightness, contrast, saturation and hue changed at random. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../common/colour.h"
#include "../transform_plugin.h"

enum { BRIGHTNESS, CONTRAST, SATURATION, HUE, CHANGES };

typedef struct jitter {
    double range[CHANGES];
} jitter;

static int is_picture(const tutti_desc *d)
{
    return d->rank == 3 && d->dtype == TUTTI_U8;
}

static tutti_status infer(void *self, tutti_column *columns, uint32_t ncolumns,
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

static void change(int which, uint8_t *x, int64_t n, int64_t channels, double draw)
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
        colour_hue(x, n, channels, (uint8_t)(int)(draw * 255.0));
    }
}

/* The draws are those of all four changes, whichever are on, so that one does not move the others. */
static int32_t apply(void *self, const tutti_sample *sample, uint32_t k, const tutti_tensor *in,
                     tutti_tensor *out, tutti_error *err)
{
    const jitter *j = self;
    int order[CHANGES] = {BRIGHTNESS, CONTRAST, SATURATION, HUE};
    double draw[CHANGES];
    (void)k, (void)err;
    if (!is_picture(&in->desc))
        return 0;
    tutti_stream s = sample_stream(sample, "color_jitter");
    for (uint32_t i = CHANGES; i > 1; i--) {
        const uint32_t other = tutti_stream_below(&s, i);
        const int swap = order[i - 1];
        order[i - 1] = order[other];
        order[other] = swap;
    }
    for (int i = 0; i < CHANGES; i++) {
        const double mid = i == HUE ? 0.0 : 1.0, low = mid - j->range[i];
        draw[i] = stream_between(&s, i != HUE && low < 0.0 ? 0.0 : low, mid + j->range[i]);
    }
    out->desc = in->desc;
    memcpy(out->data, in->data, tutti_nbytes(&in->desc));
    for (int i = 0; i < CHANGES; i++)
        if (j->range[order[i]] > 0.0)
            change(order[i], out->data, in->desc.dim[0] * in->desc.dim[1], in->desc.dim[2],
                   draw[order[i]]);
    return 1;
}

static tutti_status open(const tutti_host *host, const tutti_params *params, void **ret_self,
                         tutti_error *err)
{
    static const char *const names[CHANGES] = {"brightness", "contrast", "saturation", "hue"};
    (void)host;
    jitter *j = calloc(1, sizeof *j);
    if (!j)
        return tutti_fail(err, TUTTI_E_NOMEM, "color_jitter: no memory");
    for (int k = 0; k < CHANGES; k++)
        j->range[k] = tutti_param_f64(params, names[k]);
    *ret_self = j;
    return TUTTI_OK;
}

TRANSFORM_PLUGIN(color_jitter, open, infer, apply, NULL)
