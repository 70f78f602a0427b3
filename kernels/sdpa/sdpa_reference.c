/* sdpa_reference.c - attention and its gradient in f64, by the definition. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "sdpa/sdpa.h"

#include <math.h>

/* scale q_i k_j + bias */
static double score(const sdpa_shape *s, const double *q, const double *k, const double *bias,
                    int64_t i, int64_t j)
{
    double sum = 0.0;
    for (int64_t c = 0; c < s->d; c++)
        sum += q[i * s->q.t + c] * k[j * s->k.t + c];
    return s->scale * sum + (bias ? bias[i * s->bias.t + j * s->bias_key] : 0.0);
}

/* What the probability of query i and key j is multiplied by. */
static double factor(const sdpa_shape *s, int64_t head, int64_t i, int64_t j)
{
    if (s->drop == 0.0f)
        return 1.0;
    const uint32_t kept = sdpa_kept(s, s->seed, s->number, head, i, j, 1);
    return kept & 1 ? s->keep : 0.0;
}

void sdpa_reference(const sdpa_shape *s, const double *q, const double *k, const double *v,
                    const double *bias, double *y, double *lse)
{
    for (int64_t head = 0; head < s->batch * s->heads; head++) {
        const int64_t b = head / s->heads, h = head % s->heads;
        const double *qh = q + sdpa_at(&s->q, b, h, 0), *kh = k + sdpa_at(&s->k, b, h, 0);
        const double *vh = v + sdpa_at(&s->v, b, h, 0);
        const double *bh = bias ? bias + sdpa_at(&s->bias, b, h, 0) : NULL;
        for (int64_t i = 0; i < s->tq; i++) {
            double *row = y + sdpa_at(&s->y, b, h, i), max = -INFINITY, sum = 0.0;
            const int64_t seen = sdpa_seen(s, i);
            for (int64_t j = 0; j < seen; j++)
                max = fmax(max, score(s, qh, kh, bh, i, j));
            for (int64_t j = 0; j < seen; j++)
                sum += exp(score(s, qh, kh, bh, i, j) - max);
            for (int64_t c = 0; c < s->d; c++)
                row[c] = 0.0;
            for (int64_t j = 0; j < seen; j++) {
                const double p =
                    exp(score(s, qh, kh, bh, i, j) - max) / sum * factor(s, head, i, j);
                for (int64_t c = 0; c < s->d; c++)
                    row[c] += p * vh[j * s->v.t + c];
            }
            lse[head * s->tq + i] = max + log(sum);
        }
    }
}

/* With P = exp(s - lse) and F the factors of dropout: dV = (F P)^T dY, dS = P (F dY V^T - delta), dQ = scale dS K, dK = scale dS^T Q. */
void sdpa_grad_reference(const sdpa_shape *s, const sdpa_tensors64 *t)
{
    for (int64_t head = 0; head < s->batch * s->heads; head++) {
        const int64_t b = head / s->heads, h = head % s->heads;
        const int64_t aq = sdpa_at(&s->q, b, h, 0), ak = sdpa_at(&s->k, b, h, 0);
        const int64_t av = sdpa_at(&s->v, b, h, 0);
        const double *bias = t->bias ? t->bias + sdpa_at(&s->bias, b, h, 0) : NULL;
        for (int64_t i = 0; i < s->tq; i++) {
            const double *y = t->y + sdpa_at(&s->y, b, h, i), *dy = t->dy + (y - t->y);
            double delta = 0.0;
            for (int64_t c = 0; c < s->d; c++)
                delta += dy[c] * y[c];
            for (int64_t j = 0; j < sdpa_seen(s, i); j++) {
                const double p =
                    exp(score(s, t->q + aq, t->k + ak, bias, i, j) - t->lse[head * s->tq + i]);
                const double by = factor(s, head, i, j);
                double dp = 0.0;
                for (int64_t c = 0; c < s->d; c++)
                    dp += dy[c] * t->v[av + j * s->v.t + c];
                const double ds = p * (by * dp - delta) * s->scale;
                for (int64_t c = 0; c < s->d; c++) {
                    t->dq[aq + i * s->q.t + c] += ds * t->k[ak + j * s->k.t + c];
                    t->dk[ak + j * s->k.t + c] += ds * t->q[aq + i * s->q.t + c];
                    t->dv[av + j * s->v.t + c] += p * by * dy[c];
                }
            }
        }
    }
}
