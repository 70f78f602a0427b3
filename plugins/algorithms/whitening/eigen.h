/* eigen.h - eigenvalues and eigenvectors of a small symmetric matrix. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WHITENING_EIGEN_H
#define WHITENING_EIGEN_H

#include <stdint.h>

/* Of the symmetric n x n `a`, which is lost: values[k] from the largest to the smallest, and row k of `vectors`, of length
 * 1, which belongs to it.  Cyclic Jacobi rotations (Golub and Van Loan, "Matrix computations", section 8.5). */
void eigen_symmetric(double *a, int64_t n, double *ret_values, double *ret_vectors);

#endif
