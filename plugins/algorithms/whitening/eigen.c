/* eigen.c - eigenvalues and eigenvectors of a small symmetric matrix, by Jacobi's rotations. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "eigen.h"

#include <math.h>
#include <string.h>

enum { EIGEN_SWEEPS = 64 }; /* some 8 are needed */

/* x, y = c x - s y, s x + c y along a row or a column. */
static void eigen_rotate(double *x, double *y, int64_t step, int64_t n, double c, double s)
{
    for (int64_t k = 0; k < n; k++, x += step, y += step) {
        const double old = *x;
        *x = c * old - s * *y;
        *y = s * old + c * *y;
    }
}

/* Makes a[p][q] zero; the rotation joins those of `vectors`. */
static void eigen_clear(double *a, double *vectors, int64_t n, int64_t p, int64_t q)
{
    const double off = a[p * n + q];
    if (off == 0.0)
        return;
    const double theta = (a[q * n + q] - a[p * n + p]) / (2.0 * off);
    const double t = (theta < 0.0 ? -1.0 : 1.0) / (fabs(theta) + sqrt(theta * theta + 1.0));
    const double c = 1.0 / sqrt(t * t + 1.0), s = t * c;
    eigen_rotate(a + p, a + q, n, n, c, s);
    eigen_rotate(a + p * n, a + q * n, 1, n, c, s);
    eigen_rotate(vectors + p * n, vectors + q * n, 1, n, c, s);
    a[p * n + q] = a[q * n + p] = 0.0;
}

static int eigen_is_diagonal(const double *a, int64_t n)
{
    double off = 0.0, all = 0.0;
    for (int64_t k = 0; k < n * n; k++) {
        all += a[k] * a[k];
        off += k / n == k % n ? 0.0 : a[k] * a[k];
    }
    return off <= 1e-30 * all;
}

static void eigen_sort(double *values, double *vectors, int64_t n)
{
    for (int64_t k = 0; k < n; k++) {
        int64_t most = k;
        for (int64_t j = k + 1; j < n; j++)
            most = values[j] > values[most] ? j : most;
        const double value = values[k];
        values[k] = values[most];
        values[most] = value;
        for (int64_t j = 0; j < n; j++) {
            const double held = vectors[k * n + j];
            vectors[k * n + j] = vectors[most * n + j];
            vectors[most * n + j] = held;
        }
    }
}

void eigen_symmetric(double *a, int64_t n, double *ret_values, double *ret_vectors)
{
    memset(ret_vectors, 0, (uint64_t)(n * n) * sizeof *ret_vectors);
    for (int64_t k = 0; k < n; k++)
        ret_vectors[k * n + k] = 1.0;
    for (int sweep = 0; sweep < EIGEN_SWEEPS && !eigen_is_diagonal(a, n); sweep++)
        for (int64_t p = 0; p < n; p++)
            for (int64_t q = p + 1; q < n; q++)
                eigen_clear(a, ret_vectors, n, p, q);
    for (int64_t k = 0; k < n; k++)
        ret_values[k] = a[k * n + k];
    eigen_sort(ret_values, ret_vectors, n);
}
