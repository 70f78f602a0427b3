/* sampler.c - temperature, top-k and top-p (Holtzman et al. 2020) by the inverse of the distribution. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/generate/sampler.h"

#include <math.h>
#include <stdlib.h>

/* The likeliest first; of equals the lower token. */
static int by_logit(const void *a, const void *b)
{
    const sampler_entry *x = a, *y = b;
    if (x->logit != y->logit)
        return x->logit < y->logit ? 1 : -1;
    return (x->token > y->token) - (x->token < y->token);
}

static double weight(const sampler_entry *e, float best, double temperature)
{
    return exp(((double)e->logit - (double)best) / temperature);
}

/* How many of the sorted entries remain. */
static int64_t cut(const sampler_entry *e, int64_t n, const sampler_options *o)
{
    int64_t kept = o->top_k > 0 && o->top_k < n ? o->top_k : n;
    while (kept < n && e[kept].logit == e[kept - 1].logit)
        kept++;
    if (!(o->top_p < 1.0))
        return kept;
    double total = 0.0, passed = 0.0;
    for (int64_t k = 0; k < kept; k++)
        total += weight(&e[k], e[0].logit, o->temperature);
    for (int64_t k = 0; k < kept; k++) {
        passed += weight(&e[k], e[0].logit, o->temperature);
        if (passed >= o->top_p * total)
            return k + 1;
    }
    return kept;
}

int64_t sampler_draw(const float *logits, int64_t n, const sampler_options *o, double uniform,
                     sampler_entry *scratch)
{
    int64_t best = 0;
    for (int64_t k = 0; k < n; k++) {
        if (isnan(logits[k]))
            return -1;
        best = logits[k] > logits[best] ? k : best;
        scratch[k] = (sampler_entry){logits[k], (int32_t)k};
    }
    if (n < 1 || isinf(logits[best]))
        return -1;
    if (!(o->temperature > 0.0))
        return best;
    if (o->top_k > 0 || o->top_p < 1.0) {
        qsort(scratch, (size_t)n, sizeof *scratch, by_logit);
        n = cut(scratch, n, o);
    }
    double total = 0.0, passed = 0.0;
    int64_t last = best;
    for (int64_t k = 0; k < n; k++)
        total += weight(&scratch[k], logits[best], o->temperature);
    for (int64_t k = 0; k < n; k++) {
        const double part = weight(&scratch[k], logits[best], o->temperature);
        if (part > 0.0)
            last = scratch[k].token; /* stays when rounding leaves a little of `uniform` */
        passed += part;
        if (passed > uniform * total)
            break;
    }
    return last;
}
