/* plugin.c - rand_augment: random operations of random strength. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../common/augment.h"
#include "../common/colour.h"
#include "../transform_plugin.h"

enum {
    AUTOCONTRAST,
    EQUALIZE,
    POSTERIZE,
    ROTATE,
    SOLARIZE,
    SHEAR_X,
    SHEAR_Y,
    TRANSLATE_X,
    TRANSLATE_Y,
    SAFE, /* how many leave colours alone */
    COLOR = SAFE,
    CONTRAST,
    BRIGHTNESS,
    SHARPNESS,
    OPERATIONS
};
enum { SET_ALL, SET_SAFE, SET_ORIGINAL };

typedef struct rand_augment {
    double severity;
    int64_t depth;
    int64_t set; /* SET_* */
} rand_augment;

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
                              "rand_augment: column %s has %lld channels, want 1 or 3",
                              columns[k].name, (long long)d->dim[2]);
    }
    return TUTTI_OK;
}

/* ---- strengths ---- */

static double strength(const rand_augment *r, tutti_stream *s, double most)
{
    return stream_between(s, 0.1, r->severity) * most / 10.0;
}

static double either_way(tutti_stream *s, double v)
{
    return tutti_stream_uniform(s) < 0.5 ? v : -v;
}

static double whole(const rand_augment *r, tutti_stream *s, double most)
{
    return (double)(int64_t)strength(r, s, most);
}

static float colour_factor(const rand_augment *r, tutti_stream *s, int operation)
{
    if (r->set == SET_ORIGINAL)
        return (float)(strength(r, s, 1.8) + 0.1);
    const int more = tutti_stream_uniform(s) < 0.5;
    const double f = more ? stream_between(s, 1.0, r->severity)
                          : stream_between(s, 1.0 - 0.09 * r->severity, 1.0);
    return (float)(operation == BRIGHTNESS && f > 1.0 ? 0.75 * f : f);
}

/* ---- operations ---- */

static void colour(const rand_augment *r, const canvas *c, tutti_stream *s, int operation)
{
    const float factor = colour_factor(r, s, operation);
    const int64_t n = c->height * c->width;
    if (operation == COLOR)
        colour_saturation(c->x, n, c->channels, factor);
    else if (operation == CONTRAST)
        colour_contrast(c->x, n, c->channels, factor);
    else if (operation == BRIGHTNESS)
        colour_brightness(c->x, n, c->channels, factor);
    else
        augment_sharpness(c, factor);
}

static void move(const rand_augment *r, const canvas *c, tutti_stream *s, int operation)
{
    double m[6] = {1, 0, 0, 0, 1, 0};
    if (operation == SHEAR_X)
        m[1] = either_way(s, strength(r, s, 0.3));
    else if (operation == SHEAR_Y)
        m[3] = either_way(s, strength(r, s, 0.3));
    else if (operation == TRANSLATE_X)
        m[2] = either_way(s, whole(r, s, (double)c->width / 3.0));
    else
        m[5] = either_way(s, whole(r, s, (double)c->height / 3.0));
    augment_affine(c, m);
}

static void operate(const rand_augment *r, const canvas *c, tutti_stream *s)
{
    const uint32_t choices = r->set == SET_SAFE ? SAFE : OPERATIONS;
    const int operation = (int)tutti_stream_below(s, choices);
    switch (operation) {
    case AUTOCONTRAST:
        augment_autocontrast(c);
        break;
    case EQUALIZE:
        augment_equalize(c);
        break;
    case POSTERIZE:
        augment_posterize(c, 4 - (int)whole(r, s, 4.0));
        break;
    case ROTATE:
        augment_rotate(c, either_way(s, whole(r, s, 30.0)));
        break;
    case SOLARIZE:
        augment_solarize(c, 256 - (int)whole(r, s, 256.0));
        break;
    case SHEAR_X:
    case SHEAR_Y:
    case TRANSLATE_X:
    case TRANSLATE_Y:
        move(r, c, s, operation);
        break;
    default:
        colour(r, c, s, operation);
    }
}

static int32_t apply(void *self, const tutti_sample *sample, uint32_t k, const tutti_tensor *in,
                     tutti_tensor *out, tutti_error *err)
{
    const rand_augment *r = self;
    (void)k;
    if (!is_picture(&in->desc) || r->depth == 0)
        return 0;
    const uint64_t bytes = tutti_nbytes(&in->desc);
    const int64_t *d = in->desc.dim;
    const canvas c = {out->data, malloc(bytes ? bytes : 1), d[0], d[1], d[2]};
    if (!c.spare)
        return tutti_fail(err, TUTTI_E_NOMEM, "rand_augment: no memory for %llu bytes",
                          (unsigned long long)bytes);
    tutti_stream s = sample_stream(sample, "rand_augment");
    out->desc = in->desc;
    memcpy(out->data, in->data, bytes);
    for (int64_t i = 0; i < r->depth; i++)
        operate(r, &c, &s);
    free(c.spare);
    return 1;
}

static tutti_status open(const tutti_host *host, const tutti_params *params, void **ret_self,
                         tutti_error *err)
{
    (void)host;
    rand_augment *r = calloc(1, sizeof *r);
    if (!r)
        return tutti_fail(err, TUTTI_E_NOMEM, "rand_augment: no memory");
    r->severity = tutti_param_f64(params, "severity");
    r->depth = tutti_param_i64(params, "depth");
    r->set = tutti_param_i64(params, "augmentation_set");
    *ret_self = r;
    return TUTTI_OK;
}

TRANSFORM_PLUGIN(rand_augment, open, infer, apply)
