/* plugin.c - jpeg: a picture compressed and read again. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../common/picture_change.h"

#include <turbojpeg.h>

enum { LONGEST = 65500 }; /* side of a JPEG, in libjpeg */

typedef struct jpeg {
    double p;
    int64_t quality[2];
} jpeg;

static tutti_status jpeg_read_settings(const tutti_params *params, jpeg *t, tutti_error *err)
{
    const tutti_param *p = tutti_param_find(params, "quality");
    t->quality[0] = p->items[0]->i;
    t->quality[1] = p->items[p->count - 1]->i;
    if (t->quality[0] > t->quality[1])
        return tutti_fail(err, TUTTI_E_ARG,
                          "jpeg: quality is [%lld, %lld], want the smaller one first",
                          (long long)t->quality[0], (long long)t->quality[1]);
    return TUTTI_OK;
}

static tutti_status jpeg_fits(const jpeg *t, const tutti_desc *d, tutti_error *err)
{
    (void)t;
    for (int a = 0; a < 2; a++)
        if (d->dim[a] < 1 || d->dim[a] > LONGEST)
            return tutti_fail(err, TUTTI_E_SHAPE,
                              "jpeg: a picture is %lld x %lld, want sides from 1 to %d pixels",
                              (long long)d->dim[0], (long long)d->dim[1], LONGEST);
    return TUTTI_OK;
}

static tutti_status jpeg_fail(tjhandle codec, tutti_error *err)
{
    return tutti_fail(err, TUTTI_E_FORMAT, "jpeg: %s", tjGetErrorStr2(codec));
}

/* Colours at half of the resolution, as libjpeg writes them unless told otherwise. */
static tutti_status jpeg_change(const jpeg *t, const picture *x, tutti_stream *r,
                                uint8_t *scratch, tutti_error *err)
{
    const uint32_t more = (uint32_t)(t->quality[1] - t->quality[0] + 1);
    const int quality = (int)(t->quality[0] + tutti_stream_below(r, more));
    const int grey = x->c == 1, format = grey ? TJPF_GRAY : TJPF_RGB;
    tjhandle codec = tjInitTransform(); /* writes and reads */
    unsigned char *file = NULL;
    unsigned long size = 0;
    tutti_status s = TUTTI_OK;
    (void)scratch;
    if (!codec)
        return tutti_fail(err, TUTTI_E_NOMEM, "jpeg: no memory for a codec");
    if (tjCompress2(codec, x->pixels, (int)x->w, 0, (int)x->h, format, &file, &size,
                    grey ? TJSAMP_GRAY : TJSAMP_420, quality, TJFLAG_ACCURATEDCT) != 0 ||
        tjDecompress2(codec, file, size, x->pixels, (int)x->w, 0, (int)x->h, format, 0) != 0)
        s = jpeg_fail(codec, err);
    tjFree(file);
    (void)tjDestroy(codec);
    return s;
}

PICTURE_CHANGE_OR_FAIL(jpeg, jpeg, 0, 0, jpeg_read_settings, jpeg_fits, jpeg_change);
