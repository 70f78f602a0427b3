/* histogram.h - how many numbers of a tensor lie in which of TensorBoard's buckets. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TENSORBOARD_HISTOGRAM_H
#define TENSORBOARD_HISTOGRAM_H

#include <stdint.h>

/* Buckets end at 0 and at 1e-12 and each further power of 1.1 below 1e20, and at the same numbers negated, as
 * SummaryWriter.add_histogram of PyTorch has them. */
enum { HISTOGRAM_LIMITS_ABOVE = 774, HISTOGRAM_EDGES = 2 * HISTOGRAM_LIMITS_ABOVE + 1 };

typedef struct histogram {
    double min, max, sum, sum_of_squares; /* of those counted */
    int64_t numbers;                      /* counted */
    int64_t left_out;                     /* not finite, or beyond the last bucket */
    uint32_t
        buckets; /* from the one before the first with a number to the last with one; 0: none counted */
    uint32_t reserved;
    const double
        *limits; /* the right ends; these and the counts are borrowed from `edges` and `all` */
    const double *counts;
    double edges[HISTOGRAM_EDGES]; /* ascending */
    double all[HISTOGRAM_EDGES]; /* numbers left of each edge and not left of the one before */
} histogram;

void histogram_init(histogram *h); /* once */
void histogram_count(histogram *h, const float *numbers, int64_t n);

#endif
