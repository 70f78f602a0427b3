/* histogram.c - numbers into buckets whose widths grow with their distance from 0. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "histogram.h"

#include <math.h>
#include <string.h>

void histogram_init(histogram *h)
{
    double edge = 1e-12;
    memset(h, 0, sizeof *h);
    for (int k = 1; k <= HISTOGRAM_LIMITS_ABOVE; k++) {
        h->edges[HISTOGRAM_LIMITS_ABOVE + k] = edge;
        h->edges[HISTOGRAM_LIMITS_ABOVE - k] = -edge;
        edge *= 1.1;
    }
}

/* The first edge above x, which is neither below the first nor above the last; the last one is its own. */
static uint32_t edge_above(const double *edges, double x)
{
    uint32_t low = 1, high = HISTOGRAM_EDGES - 1;
    while (low < high) {
        const uint32_t middle = (low + high) / 2;
        if (edges[middle] > x)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

void histogram_count(histogram *h, const float *numbers, int64_t n)
{
    const double last = h->edges[HISTOGRAM_EDGES - 1];
    uint32_t first = HISTOGRAM_EDGES, final = 0;
    h->sum = h->sum_of_squares = 0;
    h->min = INFINITY;
    h->max = -INFINITY;
    h->numbers = 0;
    memset(h->all, 0, sizeof h->all);
    for (int64_t k = 0; k < n; k++) {
        const double x = (double)numbers[k];
        if (!(fabs(x) <= last))
            continue;
        const uint32_t at = edge_above(h->edges, x);
        h->all[at]++;
        h->numbers++;
        h->sum += x;
        h->sum_of_squares += x * x;
        h->min = fmin(h->min, x);
        h->max = fmax(h->max, x);
        first = at < first ? at : first;
        final = at > final ? at : final;
    }
    h->left_out = n - h->numbers;
    h->buckets = h->numbers ? final - first + 2 : 0;
    h->limits = h->numbers ? &h->edges[first - 1] : NULL;
    h->counts = h->numbers ? &h->all[first - 1] : NULL;
}
