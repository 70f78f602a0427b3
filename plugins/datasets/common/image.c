/* image.c - libjpeg-turbo and libpng behind two calls. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "image.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <png.h>
#include <turbojpeg.h>

enum { POOL_SIZE = 64, MAX_SIDE = 1 << 16 };

struct image_pool {
    pthread_mutex_t lock;
    tjhandle idle[POOL_SIZE];
    int count;
    int least; /* side to which a JPEG may shrink; 0: none do */
};

image_pool *image_pool_make(void)
{
    image_pool *pool = calloc(1, sizeof *pool);
    if (pool)
        (void)pthread_mutex_init(&pool->lock, NULL);
    return pool;
}

void image_pool_shrink(image_pool *pool, int least)
{
    pool->least = least;
}

void image_pool_free(image_pool *pool)
{
    if (!pool)
        return;
    while (pool->count > 0)
        (void)tjDestroy(pool->idle[--pool->count]);
    (void)pthread_mutex_destroy(&pool->lock);
    free(pool);
}

static tjhandle image_take(image_pool *pool)
{
    (void)pthread_mutex_lock(&pool->lock);
    tjhandle decoder = pool->count > 0 ? pool->idle[--pool->count] : NULL;
    (void)pthread_mutex_unlock(&pool->lock);
    return decoder ? decoder : tjInitDecompress();
}

static void image_give(image_pool *pool, tjhandle decoder)
{
    (void)pthread_mutex_lock(&pool->lock);
    const int fits = pool->count < POOL_SIZE;
    if (fits)
        pool->idle[pool->count++] = decoder;
    (void)pthread_mutex_unlock(&pool->lock);
    if (!fits)
        (void)tjDestroy(decoder);
}

image_format image_format_of(const void *data, uint64_t size)
{
    static const uint8_t png[8] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
    static const uint8_t jpeg[3] = {0xff, 0xd8, 0xff};
    if (size >= sizeof png && memcmp(data, png, sizeof png) == 0)
        return IMAGE_PNG;
    return size >= sizeof jpeg && memcmp(data, jpeg, sizeof jpeg) == 0 ? IMAGE_JPEG
                                                                       : IMAGE_UNKNOWN;
}

static tutti_status image_fail(tutti_status status, const char *what, char why[IMAGE_WHY_SIZE])
{
    (void)snprintf(why, IMAGE_WHY_SIZE, "%s", what);
    return status;
}

/* What a library says, where it may also be that memory was out: libjpeg and libpng tell that in their sentences alone. */
static tutti_status image_refuse(const char *what, char why[IMAGE_WHY_SIZE])
{
    const bool lacks =
        strstr(what, "emory") != NULL; /* "Insufficient memory", "out of memory" */
    return image_fail(lacks ? TUTTI_E_NOMEM : TUTTI_E_FORMAT, what, why);
}

/* ---- JPEG ---- */

/* The decoder leaves out the finer half, three quarters or seven eighths of the frequencies. */
static void image_shrink(int least, int *width, int *height)
{
    int by = 1;
    const int shorter = *width < *height ? *width : *height;
    while (least > 0 && by < 8 && (shorter + 2 * by - 1) / (2 * by) >= least)
        by *= 2;
    *width = (*width + by - 1) / by;
    *height = (*height + by - 1) / by;
}

/* *ret_ink: the pixels are stored as cyan, magenta, yellow and black. */
static tutti_status jpeg_shape(tjhandle decoder, int least, const void *data, uint64_t size,
                               tutti_desc *ret, int *ret_ink, char why[IMAGE_WHY_SIZE])
{
    int width = 0, height = 0, sampling = 0,
        space = TJCS_GRAY; /* which tables alone leave so */
    if (tjDecompressHeader3(decoder, data, (unsigned long)size, &width, &height, &sampling,
                            &space) != 0)
        return image_refuse(tjGetErrorStr2(decoder), why);
    if (width < 1 || height < 1)
        return image_fail(TUTTI_E_FORMAT, "has tables and no image", why);
    image_shrink(least, &width, &height);
    *ret = (tutti_desc){{height, width, space == TJCS_GRAY ? 1 : 3}, 3, TUTTI_U8};
    *ret_ink = space == TJCS_CMYK || space == TJCS_YCCK;
    return TUTTI_OK;
}

/* libjpeg goes on after a fault in the data and warns; an image that lacks a part is refused, stray
 * bytes are not. */
static tutti_status jpeg_pixels(tjhandle decoder, const void *data, uint64_t size,
                                const tutti_desc *d, int format, uint8_t *pixels,
                                char why[IMAGE_WHY_SIZE])
{
    if (tjDecompress2(decoder, data, (unsigned long)size, pixels, (int)d->dim[1], 0,
                      (int)d->dim[0], format, 0) == 0)
        return TUTTI_OK;
    if (tjGetErrorCode(decoder) == TJERR_WARNING &&
        !strstr(tjGetErrorStr2(decoder), "remature end"))
        return TUTTI_OK;
    return image_refuse(tjGetErrorStr2(decoder), why);
}

/* Adobe's inverted inks, to which writers of such files keep, as Pillow turns them into colours. */
static tutti_status jpeg_ink(tjhandle decoder, const void *data, uint64_t size,
                             const tutti_desc *d, uint8_t *pixels, char why[IMAGE_WHY_SIZE])
{
    const size_t n = (size_t)(d->dim[0] * d->dim[1]);
    uint8_t *ink = malloc(n * 4);
    if (!ink)
        return image_fail(TUTTI_E_NOMEM, "no memory for its inks", why);
    const tutti_status status = jpeg_pixels(decoder, data, size, d, TJPF_CMYK, ink, why);
    for (size_t k = 0; status == TUTTI_OK && k < n; k++)
        for (int c = 0; c < 3; c++) {
            const int black = ink[4 * k + 3],
                      part = (255 - ink[4 * k + (size_t)c]) * black + 128;
            pixels[3 * k + (size_t)c] = (uint8_t)(black - ((part + (part >> 8)) >> 8));
        }
    free(ink);
    return status;
}

/* pixels NULL: the shape alone. */
static tutti_status image_jpeg(image_pool *pool, const void *data, uint64_t size,
                               tutti_desc *ret, uint8_t *pixels, char why[IMAGE_WHY_SIZE])
{
    tjhandle decoder = image_take(pool);
    int ink = 0;
    if (!decoder)
        return image_fail(TUTTI_E_NOMEM, "no memory for a decoder", why);
    tutti_status status = jpeg_shape(decoder, pool->least, data, size, ret, &ink, why);
    if (status == TUTTI_OK && pixels && ink)
        status = jpeg_ink(decoder, data, size, ret, pixels, why);
    else if (status == TUTTI_OK && pixels)
        status = jpeg_pixels(decoder, data, size, ret, ret->dim[2] == 1 ? TJPF_GRAY : TJPF_RGB,
                             pixels, why);
    image_give(pool, decoder);
    return status;
}

/* ---- PNG ---- */

/* libpng's sentence, but for a file that ends too early. */
static tutti_status png_fail(const png_image *image, char why[IMAGE_WHY_SIZE])
{
    const bool cut = strstr(image->message, "read beyond end of data") ||
                     strstr(image->message, "Not enough image data");
    return image_refuse(cut ? "the PNG is cut off: its end is missing" : image->message, why);
}

static tutti_status image_png(const void *data, uint64_t size, tutti_desc *ret, uint8_t *pixels,
                              char why[IMAGE_WHY_SIZE])
{
    png_image image;
    memset(&image, 0, sizeof image);
    image.version = PNG_IMAGE_VERSION;
    if (!png_image_begin_read_from_memory(&image, data, (size_t)size))
        return png_fail(&image, why);
    image.format &= PNG_FORMAT_FLAG_COLOR | PNG_FORMAT_FLAG_ALPHA;
    tutti_status status = TUTTI_OK;
    if (image.width > MAX_SIDE || image.height > MAX_SIDE)
        status = image_fail(TUTTI_E_FORMAT, "more than 65536 pixels along a side", why);
    else
        *ret = (tutti_desc){
            {image.height, image.width, PNG_IMAGE_SAMPLE_CHANNELS(image.format)}, 3, TUTTI_U8};
    if (status == TUTTI_OK && pixels && !png_image_finish_read(&image, NULL, pixels, 0, NULL))
        status = png_fail(&image, why);
    png_image_free(&image);
    return status;
}

static tutti_status image_read(image_pool *pool, const void *data, uint64_t size,
                               tutti_desc *ret, uint8_t *pixels, char why[IMAGE_WHY_SIZE])
{
    memset(ret, 0, sizeof *ret);
    switch (image_format_of(data, size)) {
    case IMAGE_JPEG:
        return image_jpeg(pool, data, size, ret, pixels, why);
    case IMAGE_PNG:
        return image_png(data, size, ret, pixels, why);
    case IMAGE_UNKNOWN:
        break;
    }
    return image_fail(TUTTI_E_FORMAT, "is neither a JPEG nor a PNG", why);
}

tutti_status image_shape(image_pool *pool, const void *data, uint64_t size,
                         tutti_desc *ret_desc, char why[IMAGE_WHY_SIZE])
{
    return image_read(pool, data, size, ret_desc, NULL, why);
}

tutti_status image_decode(image_pool *pool, const void *data, uint64_t size, uint8_t *pixels,
                          char why[IMAGE_WHY_SIZE])
{
    tutti_desc shape;
    return image_read(pool, data, size, &shape, pixels, why);
}

/* ---- channels ---- */

/* The weights of ITU-R BT.601 in 16 bits, as Pillow has them. */
static uint8_t image_luma(const uint8_t *rgb)
{
    return (uint8_t)((19595u * rgb[0] + 38470u * rgb[1] + 7471u * rgb[2] + 32768u) >> 16);
}

static void image_convert(const uint8_t *from, size_t pixels, int64_t have, int64_t want,
                          uint8_t *to)
{
    const size_t step = (size_t)have;
    for (size_t k = 0; k < pixels; k++, from += step)
        if (want == 1)
            to[k] = have >= 3 ? image_luma(from) : from[0];
        else
            for (size_t c = 0; c < 3; c++)
                to[3 * k + c] = have >= 3 ? from[c] : from[0];
}

tutti_status image_decode_as(image_pool *pool, const void *data, uint64_t size,
                             int64_t channels, uint8_t *pixels, char why[IMAGE_WHY_SIZE])
{
    tutti_desc d;
    tutti_status status = image_shape(pool, data, size, &d, why);
    if (status || d.dim[2] == channels)
        return status ? status : image_read(pool, data, size, &d, pixels, why);
    uint8_t *all = malloc(tutti_nbytes(&d));
    if (!all)
        return image_fail(TUTTI_E_NOMEM, "no memory for its pixels", why);
    status = image_read(pool, data, size, &d, all, why);
    if (status == TUTTI_OK)
        image_convert(all, (size_t)(d.dim[0] * d.dim[1]), d.dim[2], channels, pixels);
    free(all);
    return status;
}
