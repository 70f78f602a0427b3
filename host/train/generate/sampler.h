/* sampler.h - a token out of logits. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_TRAIN_GENERATE_SAMPLER_H
#define HOST_TRAIN_GENERATE_SAMPLER_H

#include "tutti/base.h"

typedef struct sampler_options {
    double temperature; /* logits are divided by it; 0: the first of the likeliest */
    int64_t top_k;      /* of the likeliest, and those as likely as the last of them; 0: all */
    double
        top_p; /* then the fewest of the likeliest that together have this probability; 1: all */
} sampler_options;

/* A token with its logit. */
typedef struct sampler_entry {
    float logit;
    int32_t token;
} sampler_entry;

/* A token below `n` by `uniform` in [0, 1).  `scratch` has room for n.  -1: a logit is no number, or the greatest is
 * infinite. */
int64_t sampler_draw(const float *logits, int64_t n, const sampler_options *o, double uniform,
                     sampler_entry *scratch);

#endif
