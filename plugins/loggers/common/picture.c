/* picture.c - numbers to bytes, bytes to places, places to a PNG file by libpng. */
/* SPDX-License-Identifier: Apache-2.0 */
#define TUTTI_USE_MINOR 1 /* images */
#include "picture.h"

#include "tutti/logger.h"

#include <png.h>
#include <stdlib.h>
#include <string.h>

enum { ROW = 8 /* images of a grid's row */, COLOURS = 256 };

/* Bytes, (height, width, channels). */
typedef struct canvas {
    unsigned char *data;
    int64_t height, width;
    int32_t channels;
} canvas;

static tutti_status canvas_create(const char *who, canvas *c, tutti_error *err)
{
    if (c->height > INT32_MAX / c->width)
        return tutti_fail(err, TUTTI_E_RANGE,
                          "%s: a picture of %lld by %lld pixels is too large", who,
                          (long long)c->width, (long long)c->height);
    c->data = calloc((size_t)(c->height * c->width), (size_t)c->channels);
    return c->data ? TUTTI_OK
                   : tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory for a picture", who);
}

static unsigned char byte_of(const tutti_tensor *pixels, int64_t k)
{
    if (pixels->desc.dtype == TUTTI_U8)
        return ((const unsigned char *)pixels->data)[k];
    const float v = ((const float *)pixels->data)[k] * 255.0f;
    return v >= 255.0f ? 255 : v > 0.0f ? (unsigned char)v : 0; /* NaN is 0 */
}

/* Image k at place `at` of a grid. */
static void place_image(canvas *c, const tutti_tensor *pixels, int64_t k, int64_t at)
{
    const int64_t h = pixels->desc.dim[1], w = pixels->desc.dim[2], row = w * c->channels;
    for (int64_t y = 0; y < h; y++) {
        unsigned char *to =
            c->data + ((at / ROW * h + y) * c->width + at % ROW * w) * c->channels;
        for (int64_t x = 0; x < row; x++)
            to[x] = byte_of(pixels, (k * h + y) * row + x);
    }
}

static void place_classes(canvas *c, const int32_t *map, int64_t h, int64_t w, int64_t at)
{
    for (int64_t y = 0; y < h; y++)
        for (int64_t x = 0; x < w; x++) {
            const int32_t class_ = map[y * w + x];
            c->data[(at / ROW * h + y) * c->width + at % ROW * w + x] =
                (unsigned char)(class_ < COLOURS ? class_ : COLOURS - 1);
        }
}

/* The bits of a class go, from the lowest, to the highest bits of red, green and blue in turn. */
static void voc_colours(unsigned char colours[3 * COLOURS])
{
    memset(colours, 0, 3 * COLOURS);
    for (int k = 0; k < COLOURS; k++)
        for (int bit = 0; bit < 8; bit++)
            colours[3 * k + bit % 3] |= (unsigned char)((k >> bit & 1) << (7 - bit / 3));
}

/* Takes the canvas.  With colours its bytes are places among them. */
static tutti_status canvas_png(const char *who, canvas *c, const unsigned char *colours,
                               picture *ret, tutti_error *err)
{
    png_image image = {.version = PNG_IMAGE_VERSION,
                       .width = (png_uint_32)c->width,
                       .height = (png_uint_32)c->height,
                       .format = colours            ? PNG_FORMAT_RGB_COLORMAP
                                 : c->channels == 1 ? PNG_FORMAT_GRAY
                                 : c->channels == 3 ? PNG_FORMAT_RGB
                                                    : PNG_FORMAT_RGBA,
                       .flags = PNG_IMAGE_FLAG_FAST,
                       .colormap_entries = colours ? COLOURS : 0};
    png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(image);
    picture p = {malloc(size), 0, c->height, c->width, colours ? 3 : c->channels};
    tutti_status s = TUTTI_OK;
    if (!p.png)
        s = tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory for a picture", who);
    else if (!png_image_write_to_memory(&image, p.png, &size, 0, c->data, 0, colours))
        s = tutti_fail(err, TUTTI_E_FAIL, "%s: a picture cannot be written: %s", who,
                       image.message);
    p.size = size;
    png_image_free(&image);
    free(c->data);
    if (s)
        free(p.png);
    else
        *ret = p;
    return s;
}

static canvas canvas_of(const tutti_images *images, int64_t n, int32_t channels)
{
    const int64_t *dim = images->pixels->desc.dim, columns = n < ROW ? n : ROW;
    return (canvas){NULL, (n + ROW - 1) / ROW * dim[1], columns * dim[2], channels};
}

tutti_status picture_one(const char *who, const tutti_images *images, int64_t k, picture *ret,
                         tutti_error *err)
{
    canvas c = canvas_of(images, 1, (int32_t)images->pixels->desc.dim[3]);
    const tutti_status s = canvas_create(who, &c, err);
    if (s)
        return s;
    place_image(&c, images->pixels, k, 0);
    return canvas_png(who, &c, NULL, ret, err);
}

tutti_status picture_grid(const char *who, const tutti_images *images, picture *ret,
                          tutti_error *err)
{
    const int64_t n = images->pixels->desc.dim[0];
    canvas c = canvas_of(images, n, (int32_t)images->pixels->desc.dim[3]);
    const tutti_status s = canvas_create(who, &c, err);
    if (s)
        return s;
    for (int64_t k = 0; k < n; k++)
        place_image(&c, images->pixels, k, k);
    return canvas_png(who, &c, NULL, ret, err);
}

/* Mask m of images `first` to `end` - 1. */
static tutti_status picture_masks(const char *who, const tutti_images *images, uint32_t m,
                                  int64_t first, int64_t end, picture *ret, tutti_error *err)
{
    unsigned char colours[3 * COLOURS];
    const int64_t *dim = images->pixels->desc.dim;
    canvas c = canvas_of(images, end - first, 1);
    const tutti_status s = canvas_create(who, &c, err);
    if (s)
        return s;
    for (int64_t k = first; k < end; k++)
        place_classes(&c, images->masks[m].map + k * dim[1] * dim[2], dim[1], dim[2],
                      k - first);
    voc_colours(colours);
    return canvas_png(who, &c, colours, ret, err);
}

tutti_status picture_mask_one(const char *who, const tutti_images *images, uint32_t m,
                              int64_t k, picture *ret, tutti_error *err)
{
    return picture_masks(who, images, m, k, k + 1, ret, err);
}

tutti_status picture_mask(const char *who, const tutti_images *images, uint32_t m, picture *ret,
                          tutti_error *err)
{
    return picture_masks(who, images, m, 0, images->pixels->desc.dim[0], ret, err);
}
