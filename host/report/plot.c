/* plot.c - curves for the terminal, in dots of Braille or in ASCII. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "report/plot.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LABEL = 11 }; /* characters before the axis */

typedef struct range {
    double low, high;
} range;

/* The drawing: a mask of dots and the curve that drew last, a character. */
typedef struct canvas {
    int columns, rows; /* in characters */
    int across, down;  /* dots of a character */
    unsigned char *dots;
    unsigned char *owner;
} canvas;

const char *plot_colour(size_t k, bool colours)
{
    static const char *const codes[PLOT_COLOURS] = {"\033[36m", "\033[33m", "\033[35m",
                                                    "\033[32m", "\033[31m", "\033[34m"};
    return colours ? codes[k % PLOT_COLOURS] : "";
}

const char *plot_plain(bool colours)
{
    return colours ? "\033[0m" : "";
}

static void extend(range *r, double v)
{
    if (!isfinite(v))
        return;
    r->low = isnan(r->low) || v < r->low ? v : r->low;
    r->high = isnan(r->high) || v > r->high ? v : r->high;
}

static void measure(const series *const *curves, size_t n, range *x, range *y)
{
    *x = *y = (range){(double)NAN, (double)NAN};
    for (size_t c = 0; c < n; c++)
        for (size_t k = 0; curves[c] && k < curves[c]->count; k++)
            if (isfinite(curves[c]->value[k])) {
                extend(x, curves[c]->step[k]);
                extend(y, curves[c]->value[k]);
            }
    if (x->low == x->high)
        x->high += 1;
    if (y->low == y->high) {
        const double margin = y->low != 0.0 ? fabs(y->low) * 0.1 : 1.0;
        y->low -= margin;
        y->high += margin;
    }
}

/* The bit of a dot in its character: columns of Braille count 1 2 3 7 and 4 5 6 8. */
static void dot(canvas *c, size_t curve, int x, int y)
{
    static const unsigned char bits[4][2] = {
        {0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
    if (x < 0 || y < 0 || x >= c->columns * c->across || y >= c->rows * c->down)
        return;
    const int at = (y / c->down) * c->columns + x / c->across;
    c->dots[at] |= c->down == 4 ? bits[y % 4][x % 2] : 1;
    c->owner[at] = (unsigned char)curve;
}

/* From (x0, y0) to (x1, y1), a dot a column and the dots between two columns. */
static void segment(canvas *c, size_t curve, int x0, int y0, int x1, int y1)
{
    const int steps = abs(x1 - x0) > abs(y1 - y0) ? abs(x1 - x0) : abs(y1 - y0);
    for (int k = 0; k <= steps; k++) {
        const double t = steps ? (double)k / steps : 0.0;
        dot(c, curve, (int)lround(x0 + t * (x1 - x0)), (int)lround(y0 + t * (y1 - y0)));
    }
}

static void draw_curve(canvas *c, size_t curve, const series *s, range x, range y)
{
    const int wide = c->columns * c->across - 1, high = c->rows * c->down - 1;
    int px = -1, py = -1;
    for (size_t k = 0; k < s->count; k++) {
        if (!isfinite(s->value[k])) {
            px = -1;
            continue;
        }
        const int at = (int)lround((s->step[k] - x.low) / (x.high - x.low) * wide);
        const int up = high - (int)lround((s->value[k] - y.low) / (y.high - y.low) * high);
        if (px < 0)
            dot(c, curve, at, up);
        else
            segment(c, curve, px, py, at, up);
        px = at;
        py = up;
    }
}

static void add_cell(text_buffer *b, const canvas *c, int at, const plot_options *o)
{
    if (!c->dots[at])
        text_add(b, " ");
    else if (o->braille) { /* U+2800 and the bits, in UTF-8 */
        const unsigned code = 0x2800u + c->dots[at];
        text_add(b, "%c%c%c", (int)(0xE0u | code >> 12), (int)(0x80u | (code >> 6 & 0x3Fu)),
                 (int)(0x80u | (code & 0x3Fu)));
    } else
        text_add(b, "*");
}

/* The cells of a row up to the last that is not empty; a colour stands before its first. */
static void add_cells(text_buffer *b, const canvas *c, int row, const plot_options *o)
{
    int last = c->columns - 1, colour = -1;
    while (last >= 0 && !c->dots[row * c->columns + last])
        last--;
    for (int k = 0; k <= last; k++) {
        const int at = row * c->columns + k;
        if (c->dots[at] && c->owner[at] != colour) {
            colour = c->owner[at];
            text_add(b, "%s", plot_colour((size_t)colour, o->colours));
        }
        add_cell(b, c, at, o);
    }
    text_add(b, "%s\n", last < 0 ? "" : plot_plain(o->colours));
}

static void add_rows(text_buffer *b, const canvas *c, range y, const plot_options *o)
{
    for (int row = 0; row < c->rows; row++) {
        char label[LABEL + 16] = "";
        const bool tick = row == 0 || row == c->rows - 1 || row == c->rows / 2;
        const double at = y.high - (y.high - y.low) * row / (c->rows > 1 ? c->rows - 1 : 1);
        if (tick)
            (void)snprintf(label, sizeof label, "%.4g", at);
        text_add(b, "%*s %s", LABEL - 1, label, o->braille ? "\xe2\x94\x82" : "|");
        add_cells(b, c, row, o);
    }
}

static void add_axis(text_buffer *b, const canvas *c, range x, const plot_options *o)
{
    char low[32], high[32];
    text_add(b, "%*s%s", LABEL, "", o->braille ? "\xe2\x94\x94" : "+");
    for (int k = 0; k < c->columns; k++)
        text_add(b, "%s", o->braille ? "\xe2\x94\x80" : "-");
    (void)snprintf(low, sizeof low, "%.0f", x.low);
    (void)snprintf(high, sizeof high, "batch %.0f", x.high);
    text_add(b, "\n%*s%s%*s\n", LABEL + 1, "", low, c->columns - (int)strlen(low), high);
}

void plot_draw(text_buffer *b, const series *const *curves, size_t n, const plot_options *o)
{
    range x, y;
    const int width = o->width > PLOT_LEAST_WIDTH ? o->width : PLOT_LEAST_WIDTH;
    canvas c = {.columns = width - LABEL - 2,
                .rows = o->height,
                .across = o->braille ? 2 : 1,
                .down = o->braille ? 4 : 1};
    measure(curves, n, &x, &y);
    if (isnan(x.low)) {
        text_add(b, "no numbers\n");
        return;
    }
    c.dots = calloc((size_t)c.columns, (size_t)c.rows);
    c.owner = calloc((size_t)c.columns, (size_t)c.rows);
    if (c.dots && c.owner) {
        for (size_t k = 0; k < n; k++)
            if (curves[k])
                draw_curve(&c, k, curves[k], x, y);
        add_rows(b, &c, y, o);
        add_axis(b, &c, x, o);
    } else
        b->failed = 1;
    free(c.dots);
    free(c.owner);
}
