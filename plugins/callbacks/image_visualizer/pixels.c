/* pixels.c - stretching what is no colour, and the likeliest class of each pixel. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "pixels.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

bool pixels_are(const tutti_desc *d)
{
    const int64_t channels = d->rank == 3 ? 1 : d->dim[3];
    return (d->rank == 3 || d->rank == 4) && (d->dtype == TUTTI_F32 || d->dtype == TUTTI_U8) &&
           tutti_numel(d) > d->dim[0] && (channels == 1 || channels == 3 || channels == 4);
}

/* The least and the greatest number; NaN counts for nothing. */
static void range_of(const float *v, int64_t n, float *ret_least, float *ret_most)
{
    float least = INFINITY, most = -INFINITY;
    for (int64_t k = 0; k < n; k++) {
        least = fminf(least, v[k]);
        most = fmaxf(most, v[k]);
    }
    *ret_least = least;
    *ret_most = most;
}

static void stretch_image(float *v, int64_t n)
{
    float least, most;
    range_of(v, n, &least, &most);
    if (least >= 0.0f && most <= 1.0f)
        return;
    const float by = most > least ? 1.0f / (most - least) : 0.0f;
    for (int64_t k = 0; k < n; k++)
        v[k] = (v[k] - least) * by;
}

tutti_status pixels_take(const tutti_tensor *column, int64_t n, tutti_tensor *ret_images,
                         float **ret_copy, tutti_error *err)
{
    const tutti_desc *d = &column->desc;
    const int64_t channels = d->rank == 3 ? 1 : d->dim[3];
    const int64_t each = d->dim[1] * d->dim[2] * channels;
    tutti_tensor t = {
        column->data, {{n, d->dim[1], d->dim[2], channels}, 4, d->dtype}, TUTTI_DEVICE_CPU, 0};
    float least = 0.0f, most = 1.0f, *copy = NULL;
    if (d->dtype == TUTTI_F32)
        range_of((const float *)column->data, n * each, &least, &most);
    if (least < 0.0f || most > 1.0f) {
        copy = malloc((size_t)(n * each) * sizeof *copy);
        if (!copy)
            return tutti_fail(err, TUTTI_E_NOMEM, "image_visualizer: no memory for images");
        memcpy(copy, column->data, (size_t)(n * each) * sizeof *copy);
        for (int64_t k = 0; k < n; k++)
            stretch_image(copy + k * each, each);
        t.data = copy;
    }
    *ret_images = t;
    *ret_copy = copy;
    return TUTTI_OK;
}

static int32_t likeliest_class(const float *p, int64_t classes)
{
    int32_t best = 0;
    if (classes == 1)
        return p[0] > 0.0f;
    for (int32_t c = 1; c < classes; c++)
        best = p[c] > p[best] ? c : best;
    return best;
}

tutti_status pixels_image_classes(const tutti_tensor *t, int64_t n, int32_t *ret,
                                  tutti_error *err)
{
    const tutti_desc *d = &t->desc;
    const bool scores = d->rank == 2 && d->dtype == TUTTI_F32;
    if (!(scores || (d->rank == 1 && d->dtype == TUTTI_I32)) || d->dim[0] < n)
        return tutti_fail(
            err, TUTTI_E_SHAPE,
            "image_visualizer: %s of rank %d is no class for each of %lld images, "
            "which classification wants",
            tutti_dtype_name(d->dtype), (int)d->rank, (long long)n);
    for (int64_t k = 0; k < n; k++) {
        ret[k] = scores ? likeliest_class((const float *)t->data + k * d->dim[1], d->dim[1])
                        : ((const int32_t *)t->data)[k];
        ret[k] = ret[k] < 0 ? -1 : ret[k];
    }
    return TUTTI_OK;
}

int32_t *pixels_classes(const tutti_tensor *t, int64_t n, int64_t h, int64_t w, int32_t classes,
                        tutti_error *err)
{
    const tutti_desc *d = &t->desc;
    const bool scores = d->rank == 4 && d->dtype == TUTTI_F32;
    if (!(scores || (d->rank == 3 && d->dtype == TUTTI_I32)) || d->dim[0] < n ||
        d->dim[1] != h || d->dim[2] != w) {
        (void)tutti_fail(err, TUTTI_E_SHAPE,
                         "image_visualizer: %s of rank %d (%lld, %lld, %lld) is no class for "
                         "each pixel of %lld images of %lld by %lld, which segmentation wants",
                         tutti_dtype_name(d->dtype), (int)d->rank, (long long)d->dim[0],
                         (long long)d->dim[1], (long long)d->dim[2], (long long)n, (long long)h,
                         (long long)w);
        return NULL;
    }
    int32_t *map = malloc((size_t)(n * h * w) * sizeof *map);
    if (!map)
        (void)tutti_fail(err, TUTTI_E_NOMEM, "image_visualizer: no memory for classes");
    for (int64_t k = 0; map && k < n * h * w; k++)
        if (scores)
            map[k] = likeliest_class((const float *)t->data + k * d->dim[3], d->dim[3]);
        else
            map[k] =
                ((const int32_t *)t->data)[k] < 0 ? classes : ((const int32_t *)t->data)[k];
    return map;
}
