/* ctc_cpu.c - the loss and its gradient on the CPU, a sample at a time. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "ctc/ctc_cpu.h"

/* Where a sample's numbers lie in its workspace. */
typedef struct ctc_rows {
    double *a;         /* (T, L) */
    double *log_sum;   /* (T) */
    double *b[2];      /* (L) */
    double *posterior; /* (L) */
    int64_t n;         /* L */
} ctc_rows;

static ctc_rows rows_of(const ctc_shape *s, const ctc_sample *x, double *workspace)
{
    const int64_t n = ctc_states(x->length), steps = s->steps;
    double *behind = workspace + steps * n + steps;
    return (ctc_rows){
        workspace, workspace + steps * n, {behind, behind + n}, behind + 2 * n, n};
}

static double logit(const ctc_sample *x, int64_t k)
{
    return x->z ? (double)x->z[k] : x->z64[k];
}

static double log_sum_of(const ctc_shape *s, const ctc_sample *x, int64_t t)
{
    double most = logit(x, t * s->classes), sum = 0.0;
    for (int64_t k = 1; k < s->classes; k++) {
        const double z = logit(x, t * s->classes + k);
        most = z > most || isnan(z) ? z : most;
    }
    for (int64_t k = 0; k < s->classes; k++)
        sum += exp(logit(x, t * s->classes + k) - most);
    return most + log(sum);
}

static int64_t class_of(const ctc_shape *s, const ctc_sample *x, int64_t i)
{
    return i % 2 ? x->y[i / 2] : s->blank;
}

/* The logarithm of the probability of state i's class at step t. */
static double log_p(const ctc_shape *s, const ctc_sample *x, const ctc_rows *r, int64_t t,
                    int64_t i)
{
    return logit(x, t * s->classes + class_of(s, x, i)) - r->log_sum[t];
}

/* Whether a path may go between states i - 2 and i. */
static int skips(const ctc_sample *x, int64_t i)
{
    return i % 2 && i > 1 && x->y[i / 2] != x->y[i / 2 - 1];
}

/* Fills a and the log-sums; returns the loss. */
static double forward(const ctc_shape *s, const ctc_sample *x, const ctc_rows *r)
{
    if (x->steps == 0)
        return x->length == 0 ? 0.0 : INFINITY;
    for (int64_t t = 0; t < x->steps; t++) {
        double *row = r->a + t * r->n;
        r->log_sum[t] = log_sum_of(s, x, t);
        for (int64_t i = 0; i < r->n; i++) {
            const double before = t > 0   ? ctc_reach(row - r->n, i, r->n, 1, skips(x, i))
                                  : i < 2 ? 0.0
                                          : -INFINITY;
            row[i] = before + log_p(s, x, r, t, i);
        }
    }
    return ctc_loss_of(r->a + (x->steps - 1) * r->n, r->n);
}

double ctc_sample_loss(const ctc_shape *s, const ctc_sample *x, double *workspace)
{
    const ctc_rows r = rows_of(s, x, workspace);
    const double loss = forward(s, x, &r);
    return s->zero_infinity && loss == INFINITY ? 0.0 : loss;
}

/* The row of b at step t, from that behind it; posteriors of the states. */
static void backward(const ctc_shape *s, const ctc_sample *x, const ctc_rows *r, int64_t t,
                     double loss)
{
    const double *behind = r->b[(t + 1) % 2];
    double *row = r->b[t % 2];
    for (int64_t i = 0; i < r->n; i++) {
        const double later =
            t + 1 < x->steps ? ctc_reach(behind, i, r->n, -1, i + 2 < r->n && skips(x, i + 2))
            : i + 2 >= r->n  ? 0.0
                             : -INFINITY;
        const double p = log_p(s, x, r, t, i);
        row[i] = later + p;
        r->posterior[i] = ctc_posterior(r->a[t * r->n + i], row[i], p, loss);
    }
}

void ctc_sample_grad(const ctc_shape *s, const ctc_sample *x, double dloss, double *workspace,
                     float *dz, double *dz64)
{
    const ctc_rows r = rows_of(s, x, workspace);
    const int64_t n = s->classes;
    const double loss = forward(s, x, &r);
    const int none = s->zero_infinity && loss == INFINITY;
    for (int64_t t = s->steps - 1; t >= 0; t--) {
        const int counts = t < x->steps && !none;
        if (counts)
            backward(s, x, &r, t, loss);
        for (int64_t k = 0; k < n; k++) {
            const double p = counts ? dloss * exp(logit(x, t * n + k) - r.log_sum[t]) : 0.0;
            if (dz)
                dz[t * n + k] = (float)p;
            else
                dz64[t * n + k] = p;
        }
        for (int64_t i = 0; counts && i < r.n; i++) {
            const int64_t k = t * n + class_of(s, x, i);
            if (dz)
                dz[k] -= (float)(dloss * r.posterior[i]);
            else
                dz64[k] -= dloss * r.posterior[i];
        }
    }
}
