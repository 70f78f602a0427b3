/* plugin.c - pad: an image with a margin. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../common/picture_change.h"

enum { PAD_CONSTANT, PAD_EDGE, PAD_REFLECT, PAD_SYMMETRIC };
enum { LEFT, TOP, RIGHT, BOTTOM };

typedef struct pad {
    int64_t margin[4];
    int64_t mode;
    double fill;
} pad;

/* Along axis 0 and 1. */
static int64_t pad_before(const pad *p, int axis)
{
    return p->margin[axis ? LEFT : TOP];
}

static int64_t pad_after(const pad *p, int axis)
{
    return p->margin[axis ? RIGHT : BOTTOM];
}

/* Whether the image has what a margin is mirrored from. */
static tutti_status pad_check(const pad *p, const tutti_desc *d, tutti_error *err)
{
    for (int a = 0; a < 2 && p->mode >= PAD_REFLECT; a++) {
        const int64_t least =
            (pad_before(p, a) > pad_after(p, a) ? pad_before(p, a) : pad_after(p, a)) +
            (p->mode == PAD_REFLECT);
        if (d->dim[a] >= 0 && d->dim[a] < least)
            return tutti_fail(
                err, TUTTI_E_SHAPE,
                "pad: an image of %lld pixels cannot be mirrored into this margin, "
                "which wants %lld",
                (long long)d->dim[a], (long long)least);
    }
    return TUTTI_OK;
}

static tutti_status pad_infer(void *self, tutti_column *columns, uint32_t ncolumns,
                              tutti_error *err)
{
    const pad *p = self;
    tutti_status s = refuse_maps("pad", columns, ncolumns, err);
    for (uint32_t k = 0; k < ncolumns && !s; k++) {
        tutti_desc *d = &columns[k].desc;
        if (!is_image(d))
            continue;
        s = pad_check(p, d, err);
        for (int a = 0; a < 2; a++)
            d->dim[a] = d->dim[a] < 0 ? -1 : d->dim[a] + pad_before(p, a) + pad_after(p, a);
    }
    return s;
}

/* The row or column that stands at `at` of an image with n of them; -1: none. */
static int64_t pad_source(const pad *p, int64_t at, int64_t n)
{
    const int64_t mirror = p->mode == PAD_SYMMETRIC;
    if (at >= 0 && at < n)
        return at;
    if (p->mode == PAD_CONSTANT)
        return -1;
    if (p->mode == PAD_EDGE)
        return at < 0 ? 0 : n - 1;
    return at < 0 ? -at - mirror : 2 * (n - 1) - at + mirror;
}

static void pad_fill(const pad *p, const tutti_desc *d, void *data, int64_t first)
{
    for (int64_t c = 0; c < d->dim[2]; c++)
        if (d->dtype == TUTTI_F32)
            ((float *)data)[first + c] = (float)p->fill;
        else
            ((uint8_t *)data)[first + c] = (uint8_t)(p->fill <= 0.0     ? 0
                                                     : p->fill >= 255.0 ? 255
                                                                        : p->fill);
}

static int32_t pad_apply(void *self, const tutti_sample *sample, uint32_t k,
                         const tutti_tensor *in, tutti_tensor *out, tutti_error *err)
{
    const pad *p = self;
    const tutti_desc *d = &in->desc;
    (void)sample, (void)k;
    if (!is_image(d))
        return 0;
    const tutti_status s = pad_check(p, d, err);
    if (s)
        return s;
    const uint64_t pixel = pixel_bytes(d);
    out->desc = *d;
    for (int a = 0; a < 2; a++)
        out->desc.dim[a] += pad_before(p, a) + pad_after(p, a);
    for (int64_t i = 0; i < out->desc.dim[0] * out->desc.dim[1]; i++) {
        const int64_t row = pad_source(p, i / out->desc.dim[1] - p->margin[TOP], d->dim[0]);
        const int64_t column = pad_source(p, i % out->desc.dim[1] - p->margin[LEFT], d->dim[1]);
        if (row < 0 || column < 0)
            pad_fill(p, &out->desc, out->data, i * d->dim[2]);
        else
            memcpy((char *)out->data + (uint64_t)i * pixel,
                   (const char *)in->data + (uint64_t)(row * d->dim[1] + column) * pixel,
                   pixel);
    }
    return 1;
}

static tutti_status pad_open(const tutti_host *host, const tutti_params *params,
                             void **ret_self, tutti_error *err)
{
    const tutti_param *margin = tutti_param_find(params, "padding");
    (void)host;
    if (margin->count == 3)
        return tutti_fail(err, TUTTI_E_ARG, "pad: padding has 3 numbers, want 1, 2 or 4");
    pad *p = calloc(1, sizeof *p);
    if (!p)
        return tutti_fail(err, TUTTI_E_NOMEM, "pad: no memory");
    for (uint64_t k = 0; k < 4; k++)
        p->margin[k] = margin->items[k % margin->count]->i;
    p->mode = tutti_param_i64(params, "padding_mode");
    p->fill = tutti_param_f64(params, "fill");
    *ret_self = p;
    return TUTTI_OK;
}

TRANSFORM_PLUGIN(pad, pad_open, pad_infer, pad_apply, NULL);
