/* sample.c - top-k and the inverse of the distribution. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "sample.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int generate_descending(const void *a, const void *b)
{
    const float x = *(const float *)a, y = *(const float *)b;
    return (x < y) - (x > y);
}

/* The k-th largest. */
static float generate_threshold(const float *logits, int64_t n, int64_t k, float *scratch)
{
    memcpy(scratch, logits, (size_t)n * sizeof *scratch);
    qsort(scratch, (size_t)n, sizeof *scratch, generate_descending);
    return scratch[k - 1];
}

int64_t sample_token(const float *logits, int64_t n, double temperature, int64_t top_k,
                     double uniform, float *scratch)
{
    int64_t best = 0;
    for (int64_t k = 0; k < n; k++) {
        if (isnan(logits[k]))
            return -1;
        if (logits[k] > logits[best])
            best = k;
    }
    if (n < 1 || isinf(logits[best]))
        return -1;
    if (!(temperature > 0.0))
        return best;
    const float least =
        top_k > 0 && top_k < n ? generate_threshold(logits, n, top_k, scratch) : -INFINITY;
    double total = 0.0, passed = 0.0;
    int64_t last = best;
    for (int64_t k = 0; k < n; k++)
        if (logits[k] >= least)
            total += exp(((double)logits[k] - (double)logits[best]) / temperature);
    for (int64_t k = 0; k < n; k++) {
        if (!(logits[k] >= least))
            continue;
        const double part = exp(((double)logits[k] - (double)logits[best]) / temperature);
        if (part > 0.0)
            last = k; /* stays when rounding leaves a little of `uniform` */
        passed += part;
        if (passed > uniform * total)
            return k;
    }
    return last;
}
