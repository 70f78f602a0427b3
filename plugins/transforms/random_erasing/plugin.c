/* plugin.c - random_erasing: a rectangle of an image erased. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../common/picture_change.h"

enum { TRIES = 10, MOST_CHANNELS = 16 };

typedef struct erasing {
    double p, scale[2], log_ratio[2];
    double value[MOST_CHANNELS];
    int64_t values;
    int32_t random;
} erasing;

static tutti_status random_erasing_infer(void *self, tutti_column *columns, uint32_t ncolumns,
                                         tutti_error *err)
{
    const erasing *e = self;
    for (uint32_t k = 0; k < ncolumns; k++) {
        const tutti_desc *d = &columns[k].desc;
        if (!is_image(d))
            continue;
        if (e->values != 1 && e->values != d->dim[2])
            return tutti_fail(
                err, TUTTI_E_SHAPE,
                "random_erasing: column %s has %lld channels and value %lld numbers",
                columns[k].name, (long long)d->dim[2], (long long)e->values);
        if (e->random && d->dtype != TUTTI_F32)
            return tutti_fail(
                err, TUTTI_E_ARG,
                "random_erasing: column %s is of bytes, which normal draws are not; "
                "it belongs behind normalize",
                columns[k].name);
    }
    return TUTTI_OK;
}

/* One of `share` of the image that is smaller than it; 0: none of some was. */
static int erasing_choose(const erasing *e, const tutti_desc *d, tutti_stream *r,
                          int64_t size[2], int64_t at[2])
{
    for (int k = 0; k < TRIES; k++) {
        const double area =
            (double)(d->dim[0] * d->dim[1]) * stream_between(r, e->scale[0], e->scale[1]);
        const double ratio = exp(stream_between(r, e->log_ratio[0], e->log_ratio[1]));
        size[0] = (int64_t)rint(sqrt(area * ratio));
        size[1] = (int64_t)rint(sqrt(area / ratio));
        if (size[0] >= d->dim[0] || size[1] >= d->dim[1])
            continue;
        for (int a = 0; a < 2; a++)
            at[a] = tutti_stream_below(r, (uint32_t)(d->dim[a] - size[a] + 1));
        return 1;
    }
    return 0;
}

static double erasing_normal(tutti_stream *r)
{
    tutti_rng4 words;
    double a, b;
    for (int k = 0; k < 4; k++)
        words.v[k] = tutti_stream_u32(r);
    tutti_normal_f64(words, &a, &b);
    return a;
}

static void erasing_row(const erasing *e, const tutti_desc *d, int64_t first, int64_t count,
                        tutti_stream *r, void *data)
{
    for (int64_t i = 0; i < count; i++) {
        const double v =
            e->random ? erasing_normal(r) : e->value[e->values > 1 ? i % d->dim[2] : 0];
        if (d->dtype == TUTTI_F32)
            ((float *)data)[first + i] = (float)v;
        else
            ((uint8_t *)data)[first + i] = (uint8_t)(v <= 0.0 ? 0 : v >= 255.0 ? 255 : v);
    }
}

static int32_t random_erasing_apply(void *self, const tutti_sample *sample, uint32_t k,
                                    const tutti_tensor *in, tutti_tensor *out, tutti_error *err)
{
    const erasing *e = self;
    const tutti_desc *d = &in->desc;
    int64_t size[2], at[2];
    (void)k, (void)err;
    if (!is_image(d))
        return 0;
    tutti_stream r = sample_stream(sample, "random_erasing");
    if (tutti_stream_uniform(&r) >= e->p || !erasing_choose(e, d, &r, size, at))
        return 0;
    out->desc = *d;
    memcpy(out->data, in->data, tutti_nbytes(d));
    for (int64_t row = at[0]; row < at[0] + size[0]; row++)
        erasing_row(e, d, (row * d->dim[1] + at[1]) * d->dim[2], size[1] * d->dim[2], &r,
                    out->data);
    return 1;
}

static tutti_status random_erasing_open(const tutti_host *host, const tutti_params *params,
                                        void **ret_self, tutti_error *err)
{
    const tutti_param *value = tutti_param_find(params, "value");
    erasing *e = calloc(1, sizeof *e);
    (void)host;
    if (!e)
        return tutti_fail(err, TUTTI_E_NOMEM, "random_erasing: no memory");
    e->p = tutti_param_f64(params, "p");
    e->random = (int32_t)tutti_param_i64(params, "random");
    e->values = (int64_t)value->count;
    for (int64_t k = 0; k < e->values; k++)
        e->value[k] = value->items[k]->f;
    tutti_status s = range_setting(params, "scale", e->scale, err);
    if (!s)
        s = range_setting(params, "ratio", e->log_ratio, err);
    for (int k = 0; k < 2; k++)
        e->log_ratio[k] = log(e->log_ratio[k]);
    if (s)
        free(e);
    else
        *ret_self = e;
    return s;
}

TRANSFORM_PLUGIN(random_erasing, random_erasing_open, random_erasing_infer,
                 random_erasing_apply, NULL);
