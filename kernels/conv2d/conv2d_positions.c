/* conv2d_positions.c - positions of a convolution: blocks of them, and their pixels. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "conv2d/conv2d_positions.h"

static int64_t parts_of(int64_t n, int64_t most)
{
    return (n + most - 1) / most;
}

static int64_t most_of(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t least_of(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* From the results of one row to those of the next: without strides the zeros behind a row are those before the
 * next one, too. */
static int64_t pitch_of(int64_t results, int64_t read, int64_t reach, int64_t stride,
                        int64_t before)
{
    const int64_t all = results + reach / stride;
    const int64_t behind = all - before - read;
    return stride == 1 && behind >= 0 && before >= 0 && before <= reach
               ? read + most_of(before, behind)
               : all;
}

void positions_plan(conv2d_positions *p, int64_t most, int64_t least_blocks)
{
    const int64_t reach = (p->kh - 1) * p->dh / p->sh;
    p->pitch = pitch_of(p->ow, p->w, (p->kw - 1) * p->dw, p->sw, p->pw);
    p->high = pitch_of(p->oh, p->h, (p->kh - 1) * p->dh, p->sh, p->ph);
    if (!p->step_h)
        p->to_h = p->oh, p->to_w = p->ow, p->step_h = p->step_w = 1;
    p->rows = p->oh;
    p->parts = 1;
    p->some = most_of(1, least_of(p->images, most / (p->high * p->pitch)));
    if (p->high * p->pitch > most || least_blocks > p->images) {
        const int64_t wanted = parts_of(least_blocks, p->images);
        const int64_t parts = most_of(parts_of(p->high * p->pitch, most), wanted);
        p->rows = parts_of(p->oh, least_of(parts, p->oh));
        p->parts = parts_of(p->oh, p->rows);
        p->some = 1;
    } else if (parts_of(p->images, p->some) < least_blocks) {
        p->some = p->images / least_blocks;
    }
    if (p->parts > 1)
        p->high = p->rows + reach;
    p->some = parts_of(p->images, parts_of(p->images, p->some));
    p->blocks = parts_of(p->images, p->some) * p->parts;
    const int64_t last = ((p->some - 1) * p->high + p->rows - 1) * p->pitch + p->ow;
    p->results = parts_of(last, POSITIONS_STEP) * POSITIONS_STEP;
    p->count = p->results + reach * p->pitch + (p->kw - 1) * p->dw / p->sw;
}

int64_t positions_phase(const conv2d_positions *p, int64_t u, int64_t v)
{
    return u * p->dh % p->sh * p->sw + v * p->dw % p->sw;
}

int64_t positions_offset(const conv2d_positions *p, int64_t u, int64_t v)
{
    return u * p->dh / p->sh * p->pitch + v * p->dw / p->sw;
}

static void fill(int64_t *pixel, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        pixel[i] = -1;
}

/* The first row of results in a block, and its first image. */
static int64_t first_row(const conv2d_positions *p, int64_t block)
{
    return block % p->parts * p->rows;
}

static int64_t first_image(const conv2d_positions *p, int64_t block)
{
    return block / p->parts * p->some;
}

void positions_read(const conv2d_positions *p, int64_t block, int64_t phase, int64_t *pixel)
{
    const int64_t top = first_row(p, block) * p->sh + phase / p->sw - p->ph;
    const int64_t left = phase % p->sw - p->pw, image = first_image(p, block);
    fill(pixel, p->count + 1);
    for (int64_t at = 0; at < p->count; at += p->pitch) {
        const int64_t n = image + at / p->pitch / p->high;
        const int64_t y = at / p->pitch % p->high * p->sh + top;
        if (n >= p->images || n >= image + p->some || y < 0 || y >= p->h)
            continue;
        for (int64_t j = 0; j < p->pitch && at + j < p->count; j++) {
            const int64_t x = j * p->sw + left;
            if (x >= 0 && x < p->w)
                pixel[at + j] = (n * p->h + y) * p->w + x;
        }
    }
}

/* A row of results, whose pixels are at `to` and further ones. */
static void write_row(const conv2d_positions *p, int64_t first, int64_t to, int64_t *pixel)
{
    for (int64_t j = 0; j < p->ow; j++) {
        const int64_t x = first + j * p->step_w;
        if (x < p->to_w)
            pixel[j] = to + x;
    }
}

void positions_written(const conv2d_positions *p, int64_t block, int64_t phase, int64_t *pixel)
{
    const int64_t top = first_row(p, block), image = first_image(p, block);
    const int64_t rows = least_of(p->rows, p->oh - top);
    const int64_t images = least_of(p->some, p->images - image);
    fill(pixel, p->results);
    for (int64_t n = 0; n < images; n++)
        for (int64_t i = 0; i < rows; i++) {
            const int64_t y = (top + i) * p->step_h + phase / p->step_w;
            if (y < p->to_h)
                write_row(p, phase % p->step_w, ((image + n) * p->to_h + y) * p->to_w,
                          pixel + (n * p->high + i) * p->pitch);
        }
}
