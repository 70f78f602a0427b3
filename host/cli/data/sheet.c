/* sheet.c - samples as small pictures in rows, in one PNG file. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/data/inspect.h"

#include "base/output_file.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <png.h>

enum {
    ACROSS = 8,
    PICTURES = 64,
    CELL = 112,
    GAP = 4,
    SIDE = ACROSS * (CELL + GAP) + GAP,
    SHADE = 32
};

/* A sample as a picture. */
typedef struct cell {
    int64_t sample;
    double label;                  /* NaN: none */
    uint8_t pixels[CELL][CELL][3]; /* [row][column][red, green, blue] */
} cell;

/* How to find a pixel of a column. */
typedef struct raster {
    const tutti_tensor *t;
    int64_t height, width, channels;
    int64_t row, column, channel; /* from one to the next, in numbers */
    double least, scale;          /* to 0 .. 255 */
} raster;

static bool is_colours(int64_t n)
{
    return n == 1 || n == 3 || n == 4;
}

/* (H, W, C), (C, H, W) or (H, W); false: no picture. */
static bool read_raster(const tutti_tensor *t, raster *ret)
{
    const int64_t *d = t->desc.dim;
    const int32_t rank = t->desc.rank;
    if (rank == 3 && is_colours(d[2]))
        *ret = (raster){t, d[0], d[1], d[2], d[1] * d[2], d[2], 1, 0, 1};
    else if (rank == 3 && is_colours(d[0]))
        *ret = (raster){t, d[1], d[2], d[0], d[2], 1, d[1] * d[2], 0, 1};
    else if (rank == 2)
        *ret = (raster){t, d[0], d[1], 1, d[1], 1, 0, 0, 1};
    else
        return false;
    return ret->height > 0 && ret->width > 0;
}

/* Numbers that are no bytes go from the least to the largest of the sample. */
static void find_scale(raster *r)
{
    double least = INFINITY, most = -INFINITY;
    const int64_t n = tutti_numel(&r->t->desc);
    if (r->t->desc.dtype == TUTTI_U8)
        return;
    for (int64_t k = 0; k < n; k++) {
        least = fmin(least, data_value(r->t, k));
        most = fmax(most, data_value(r->t, k));
    }
    r->least = least;
    r->scale = most > least ? 255 / (most - least) : 0;
}

/* The mean of the pixels that fall into one of a smaller picture, or the pixel that one of a larger is in. */
static double mean_pixel(const raster *r, int64_t top, int64_t end, int64_t left, int64_t right,
                         int64_t channel)
{
    double sum = 0;
    for (int64_t y = top; y < end; y++)
        for (int64_t x = left; x < right; x++)
            sum += data_value(r->t, y * r->row + x * r->column + channel * r->channel);
    return sum / (double)((end - top) * (right - left));
}

static int64_t part_end(int64_t k, int64_t whole, int64_t parts)
{
    const int64_t begin = k * whole / parts, end = (k + 1) * whole / parts;
    return end > begin ? end : begin + 1;
}

/* The picture in the middle of its cell, its sides in proportion. */
static void draw_cell(const raster *r, cell *c)
{
    const int64_t longest = r->height > r->width ? r->height : r->width;
    const int64_t h = r->height * CELL / longest > 0 ? r->height * CELL / longest : 1;
    const int64_t w = r->width * CELL / longest > 0 ? r->width * CELL / longest : 1;
    memset(c->pixels, SHADE, sizeof c->pixels);
    for (int64_t y = 0; y < h; y++)
        for (int64_t x = 0; x < w; x++)
            for (int64_t k = 0; k < 3; k++) {
                const double value = mean_pixel(r, y * r->height / h, part_end(y, r->height, h),
                                                x * r->width / w, part_end(x, r->width, w),
                                                r->channels < 3 ? 0 : k);
                const double shade = (value - r->least) * r->scale + 0.5;
                c->pixels[(CELL - h) / 2 + y][(CELL - w) / 2 + x][k] =
                    (uint8_t)(shade > 0 ? fmin(shade, 255) : 0);
            }
}

static int compare_cells(const void *a_, const void *b_)
{
    const cell *a = a_, *b = b_;
    if (a->label != b->label && !isnan(a->label) && !isnan(b->label))
        return a->label < b->label ? -1 : 1;
    return a->sample < b->sample ? -1 : a->sample > b->sample;
}

static tutti_status draw_sample(data_set *d, int64_t index, cell *c, tutti_error *err)
{
    const int target = data_set_column(d, "target"), input = data_set_column(d, "input");
    const tutti_status s = data_set_read(d, index, err);
    raster r;
    if (s)
        return s;
    if (!read_raster(&d->columns[input < 0 ? 0 : input], &r))
        return tutti_fail(err, TUTTI_E_UNSUPPORTED,
                          "sample %lld is no picture: want (height, width, colours)",
                          (long long)index);
    find_scale(&r);
    draw_cell(&r, c);
    c->sample = index;
    c->label = target >= 0 && d->info.columns[target].desc.rank == 0
                   ? data_value(&d->columns[target], 0)
                   : (double)NAN;
    return TUTTI_OK;
}

static tutti_status write_png(const char *file, const cell *cells, int64_t count,
                              tutti_error *err)
{
    const int64_t rows = (count + ACROSS - 1) / ACROSS, height = rows * (CELL + GAP) + GAP;
    png_image image = {.version = PNG_IMAGE_VERSION,
                       .width = SIDE,
                       .height = (png_uint_32)height,
                       .format = PNG_FORMAT_RGB};
    uint8_t *pixels = malloc((size_t)height * SIDE * 3);
    if (!pixels)
        return tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory for a picture", file);
    memset(pixels, SHADE / 2, (size_t)height * SIDE * 3);
    for (int64_t k = 0; k < count; k++)
        for (int64_t y = 0; y < CELL; y++) {
            const int64_t row = GAP + k / ACROSS * (CELL + GAP) + y;
            const int64_t column = GAP + k % ACROSS * (CELL + GAP);
            memcpy(pixels + (row * SIDE + column) * 3, cells[k].pixels[y], CELL * 3);
        }
    output_file f;
    tutti_status s = output_file_open(file, NULL, &f, err);
    const bool opened = !s;
    if (!s && !png_image_write_to_stdio(&image, f.file, 0, pixels, 0, NULL))
        s = tutti_fail(err, TUTTI_E_IO, "%s: %s", file, image.message);
    free(pixels);
    if (opened) {
        const tutti_status closed = output_file_close(&f, s == TUTTI_OK, s ? NULL : err);
        s = s ? s : closed;
    }
    return s;
}

tutti_status sheet_write(data_set *d, const char *file, tutti_error *err)
{
    const int64_t n = d->info.samples < PICTURES ? d->info.samples : PICTURES;
    cell *cells = calloc((size_t)n + 1, sizeof *cells);
    tutti_status s =
        cells ? TUTTI_OK : tutti_fail(err, TUTTI_E_NOMEM, "no memory for pictures");
    for (int64_t k = 0; k < n && !s; k++)
        s = draw_sample(d, (int64_t)((double)k * (double)d->info.samples / (double)n),
                        &cells[k], err);
    if (!s) {
        qsort(cells, (size_t)n, sizeof *cells, compare_cells);
        s = write_png(file, cells, n, err);
    }
    free(cells);
    return s;
}
