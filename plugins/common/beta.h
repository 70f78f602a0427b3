/* beta.h - draws from the symmetric beta distribution. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLUGIN_COMMON_BETA_H
#define PLUGIN_COMMON_BETA_H

#include "tutti/rng.h"

/* The logarithm of a draw from Gamma(shape, 1), shape > 0: Marsaglia and Tsang, "A simple method for
 * generating gamma variables" (2000).  Below shape 1 it is Gamma(shape + 1) times U^(1 / shape), in
 * logarithms because that power underflows. */
static inline double log_gamma_draw(tutti_stream *r, double shape)
{
    const double boost = shape < 1.0 ? log(1.0 - tutti_stream_uniform(r)) / shape : 0.0;
    const double d = (shape < 1.0 ? shape + 1.0 : shape) - 1.0 / 3.0, c = 1.0 / sqrt(9.0 * d);
    for (;;) {
        tutti_rng4 words;
        double x, unused;
        for (int k = 0; k < 4; k++)
            words.v[k] = tutti_stream_u32(r);
        tutti_normal_f64(words, &x, &unused);
        const double root = 1.0 + c * x, v = root * root * root;
        if (v > 0.0 &&
            log(1.0 - tutti_stream_uniform(r)) < 0.5 * x * x + d - d * v + d * log(v))
            return boost + log(d * v);
    }
}

/* A draw from Beta(alpha, alpha); 0 for alpha 0, where all the mass lies at the two ends. */
static inline double beta_symmetric(tutti_stream *r, double alpha)
{
    if (alpha <= 0.0)
        return 0.0;
    const double a = log_gamma_draw(r, alpha), b = log_gamma_draw(r, alpha);
    return 1.0 / (1.0 + exp(b - a)); /* e^a / (e^a + e^b) */
}

#endif
