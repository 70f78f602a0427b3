/* plot.h - curves for the terminal, in dots of Braille or in ASCII. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_REPORT_PLOT_H
#define HOST_REPORT_PLOT_H

#include "base/text.h"
#include "report/history.h"

#include <stdbool.h>

typedef struct plot_options {
    int width;    /* of a line, in characters; at least PLOT_LEAST_WIDTH */
    int height;   /* of the drawing, in lines */
    bool braille; /* 2 x 4 dots a character; else one mark a character */
    bool colours;
} plot_options;
enum { PLOT_LEAST_WIDTH = 30, PLOT_COLOURS = 6 };

/* Adds a drawing of all curves over the batch with its axes; NULL among them are passed over.  In colours the k-th has
 * plot_colour(k).  Values that are no numbers leave a gap.  Without any number a line says so. */
void plot_draw(text_buffer *b, const series *const *curves, size_t n, const plot_options *o);
/* The sequence of the terminal; "" without colours. */
const char *plot_colour(size_t k, bool colours);
const char *plot_plain(bool colours); /* ends it */

#endif
