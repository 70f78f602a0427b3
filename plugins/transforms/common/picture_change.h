/* picture_change.h - the shell of transforms that change the bytes of pictures where they are, with a probability. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLUGIN_TRANSFORMS_PICTURE_CHANGE_H
#define PLUGIN_TRANSFORMS_PICTURE_CHANGE_H

#include "../transform_plugin.h"
#include "image_ops.h"

/* Pictures are u8 columns (H, W, C) of one or three channels; others stay as they are. */
static inline int is_picture(const tutti_desc *d)
{
    return d->rank == 3 && d->dtype == TUTTI_U8;
}

static inline tutti_status picture_infer(const char *name, int moves, tutti_column *columns,
                                         uint32_t ncolumns, tutti_error *err)
{
    for (uint32_t k = 0; k < ncolumns; k++) {
        const tutti_desc *d = &columns[k].desc;
        if (is_picture(d) && d->dim[2] != 1 && d->dim[2] != 3)
            return tutti_fail(err, TUTTI_E_SHAPE,
                              "%s: column %s has %lld channels, want 1 or 3", name,
                              columns[k].name, (long long)d->dim[2]);
    }
    return moves ? refuse_maps(name, columns, ncolumns, err) : TUTTI_OK;
}

/* The setting `name`, a list of two numbers, the first not above the second. */
static inline tutti_status range_setting(const tutti_params *params, const char *name,
                                         double ret_range[2], tutti_error *err)
{
    const tutti_param *p = tutti_param_find(params, name);
    const double low = p->items[0]->f, high = p->items[p->count - 1]->f;
    if (low > high)
        return tutti_fail(err, TUTTI_E_ARG, "%s is [%g, %g], want the smaller one first", name,
                          low, high);
    ret_range[0] = low;
    ret_range[1] = high;
    return TUTTI_OK;
}

/* Defines transform `name_`: an instance is a `type_` with the member `p`, which settings_(params, instance, err) fills;
 * change_(instance, picture, stream, scratch, err) works in place, has scratch_ times the picture's bytes of memory, and
 * returns a status, as does fits_(instance, desc, err), whether the instance can change pictures of this size.
 * `moves_`: pixels change their places, so that maps beside a picture are refused. */
#define PICTURE_CHANGE_OR_FAIL(name_, type_, moves_, scratch_, settings_, fits_, change_)      \
    static tutti_status picture_open(const tutti_host *host, const tutti_params *params,       \
                                     void **ret_self, tutti_error *err)                        \
    {                                                                                          \
        type_ *self = calloc(1, sizeof *self);                                                 \
        (void)host;                                                                            \
        if (!self)                                                                             \
            return tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory", #name_);                    \
        self->p = tutti_param_find(params, "p") ? tutti_param_f64(params, "p") : 1.0;          \
        const tutti_status s = settings_(params, self, err);                                   \
        if (s)                                                                                 \
            free(self);                                                                        \
        else                                                                                   \
            *ret_self = self;                                                                  \
        return s;                                                                              \
    }                                                                                          \
    static tutti_status change_infer(void *self, tutti_column *columns, uint32_t ncolumns,     \
                                     tutti_error *err)                                         \
    {                                                                                          \
        tutti_status s = picture_infer(#name_, moves_, columns, ncolumns, err);                \
        for (uint32_t k = 0; !s && k < ncolumns; k++) {                                        \
            const tutti_desc *d = &columns[k].desc;                                            \
            if (is_picture(d) && d->dim[0] >= 0 && d->dim[1] >= 0)                             \
                s = fits_((const type_ *)self, d, err);                                        \
        }                                                                                      \
        return s;                                                                              \
    }                                                                                          \
    static int32_t picture_apply(void *self, const tutti_sample *sample, uint32_t k,           \
                                 const tutti_tensor *in, tutti_tensor *out, tutti_error *err)  \
    {                                                                                          \
        const type_ *t = self;                                                                 \
        const tutti_desc *d = &in->desc;                                                       \
        (void)k;                                                                               \
        if (!is_picture(d))                                                                    \
            return 0;                                                                          \
        tutti_stream stream = sample_stream(sample, #name_);                                   \
        if (tutti_stream_uniform(&stream) >= t->p)                                             \
            return 0;                                                                          \
        tutti_status s = fits_(t, d, err);                                                     \
        if (s)                                                                                 \
            return s;                                                                          \
        uint8_t *scratch = malloc((scratch_)*tutti_nbytes(d) + 1);                             \
        if (!scratch)                                                                          \
            return tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory for a picture", #name_);      \
        const picture x = {out->data, d->dim[0], d->dim[1], d->dim[2]};                        \
        out->desc = *d;                                                                        \
        memcpy(out->data, in->data, tutti_nbytes(d));                                          \
        s = change_(t, &x, &stream, scratch, err);                                             \
        free(scratch);                                                                         \
        return s ? s : 1;                                                                      \
    }                                                                                          \
    TRANSFORM_PLUGIN(name_, picture_open, change_infer, picture_apply, NULL)

/* The same of what changes pictures of any size and cannot fail: change_(instance, picture, stream, scratch). */
#define PICTURE_CHANGE(name_, type_, moves_, scratch_, settings_, change_)                     \
    static tutti_status picture_fits(const type_ *t, const tutti_desc *d, tutti_error *err)    \
    {                                                                                          \
        (void)t, (void)d, (void)err;                                                           \
        return TUTTI_OK;                                                                       \
    }                                                                                          \
    static tutti_status picture_make(const type_ *t, const picture *x, tutti_stream *r,        \
                                     uint8_t *scratch, tutti_error *err)                       \
    {                                                                                          \
        (void)err;                                                                             \
        change_(t, x, r, scratch);                                                             \
        return TUTTI_OK;                                                                       \
    }                                                                                          \
    PICTURE_CHANGE_OR_FAIL(name_, type_, moves_, scratch_, settings_, picture_fits,            \
                           picture_make)

#endif
