/* picture_check.h - small JPEG and PNG files for tests of datasets that hold images. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PICTURE_CHECK_H
#define PICTURE_CHECK_H

#include "dataset_check.h"

#include <png.h>
#include <turbojpeg.h>

typedef struct picture {
    uint8_t data[16384];
    size_t size;
} picture;

/* Pixel (row, column) of channel c of the picture with this seed; smooth, so that JPEG keeps it. */
static inline uint8_t picture_pixel(int64_t row, int64_t column, int c, int seed)
{
    return (uint8_t)(40 + 5 * row + 3 * column + 30 * c + 7 * seed);
}

static inline void picture_fill(uint8_t *pixels, int64_t height, int64_t width, int channels,
                                int seed)
{
    for (int64_t row = 0; row < height; row++)
        for (int64_t column = 0; column < width; column++)
            for (int c = 0; c < channels; c++)
                *pixels++ = picture_pixel(row, column, c, seed);
}

/* Channels: 1 grey, 2 grey and alpha, 3 colour, 4 colour and alpha. */
static inline picture picture_png(int64_t height, int64_t width, int channels, int seed)
{
    static const uint32_t formats[] = {0, PNG_FORMAT_GRAY, PNG_FORMAT_GA, PNG_FORMAT_RGB,
                                       PNG_FORMAT_RGBA};
    uint8_t pixels[4096];
    picture p = {.size = sizeof p.data};
    png_image image = {.version = PNG_IMAGE_VERSION,
                       .width = (uint32_t)width,
                       .height = (uint32_t)height,
                       .format = formats[channels]};
    ck_assert_int_le(height * width * channels, (int64_t)sizeof pixels);
    picture_fill(pixels, height, width, channels, seed);
    ck_assert_int_ne(png_image_write_to_memory(&image, p.data, &p.size, 0, pixels, 0, NULL), 0);
    return p;
}

/* Channels: 1 grey, 3 colour, 4 the inks of colour, inverted. */
static inline picture picture_jpeg(int64_t height, int64_t width, int channels, int seed)
{
    uint8_t pixels[4096];
    picture p = {.size = 0};
    unsigned char *made = NULL;
    unsigned long size = 0;
    tjhandle encoder = tjInitCompress();
    ck_assert_int_le(height * width * channels, (int64_t)sizeof pixels);
    picture_fill(pixels, height, width, channels, seed);
    ck_assert_int_eq(tjCompress2(encoder, pixels, (int)width, 0, (int)height,
                                 channels == 1   ? TJPF_GRAY
                                 : channels == 3 ? TJPF_RGB
                                                 : TJPF_CMYK,
                                 &made, &size, channels == 1 ? TJSAMP_GRAY : TJSAMP_444, 100,
                                 0),
                     0);
    ck_assert_uint_le(size, sizeof p.data);
    memcpy(p.data, made, size);
    p.size = size;
    tjFree(made);
    (void)tjDestroy(encoder);
    return p;
}

#endif
