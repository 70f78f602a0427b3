/* ctc.h - connectionist temporal classification: states, steps and layout that C and device code share. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_CTC_CTC_H
#define KERNELS_CTC_CTC_H

#include "tutti/op.h"
#include "tutti/rng.h" /* TUTTI_HD */

#include <math.h>
#include <stdint.h>

/* logits (B, T, N), targets (B, S) of classes that end at the first negative number, lengths (B) or none.
 *
 * A sample's L = 2 s + 1 states are blank, y_1, blank, y_2, ... blank; a path stays, goes one state on, or skips a
 * blank between two classes that differ.  With p the softmax of a step's logits and l_i the class of state i:
 *   a_ti = (a_t-1,i + a_t-1,i-1 + [may skip] a_t-1,i-2) p_t(l_i),  loss = -log(a_T-1,L-1 + a_T-1,L-2)
 * and b_ti the same from behind.  A state's posterior probability is a_ti b_ti / (p_t(l_i) exp(-loss)),
 * so that
 *   dz_tn = dloss (p_tn - sum over i with l_i = n of posterior_ti)
 * a and b are kept as logarithms, in f64 (Graves et al., "Connectionist temporal classification", 2006). */
typedef struct ctc_shape {
    int64_t batch, steps, classes, longest; /* B, T, N, S */
    int64_t blank;
    int64_t zero_infinity;
} ctc_shape;

/* f64 numbers of scratch memory for the gradient of one sample: a (T, L), log-sums (T), two rows of b, one of
 * posteriors (L). */
TUTTI_HD int64_t ctc_states(int64_t length)
{
    return 2 * length + 1;
}

TUTTI_HD int64_t ctc_workspace(const ctc_shape *s)
{
    const int64_t most = ctc_states(s->longest);
    return s->steps * most + s->steps + 3 * most;
}

/* log(e^a + e^b + e^c); a NaN stays. */
TUTTI_HD double ctc_log_add(double a, double b, double c)
{
    double most = a;
    if (b > most)
        most = b;
    if (c > most)
        most = c;
    return most == -INFINITY ? most : most + log(exp(a - most) + exp(b - most) + exp(c - most));
}

/* State i of n from the row at the step before, or behind with `step` -1; `skips`: two states back may lead here. */
TUTTI_HD double ctc_reach(const double *row, int64_t i, int64_t n, int64_t step, int skips)
{
    const int64_t one = i - step, two = i - 2 * step;
    return ctc_log_add(row[i], one >= 0 && one < n ? row[one] : -INFINITY,
                       skips && two >= 0 && two < n ? row[two] : -INFINITY);
}

/* Minus the logarithm of all paths, from the last row of a. */
TUTTI_HD double ctc_loss_of(const double *last, int64_t n)
{
    return -ctc_log_add(last[n - 1], n > 1 ? last[n - 2] : -INFINITY, -INFINITY);
}

/* The posterior of a state; a class that no path can have has a log-probability of -infinity. */
TUTTI_HD double ctc_posterior(double a, double b, double log_p, double loss)
{
    return a == -INFINITY || b == -INFINITY ? 0.0 : exp(a + b - log_p + loss);
}

#endif
