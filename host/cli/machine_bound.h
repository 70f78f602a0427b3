/* machine_bound.h - what this machine can do at best: products a second, bytes a second. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_CLI_MACHINE_BOUND_H
#define HOST_CLI_MACHINE_BOUND_H

#include "tutti/op.h"

/* a[k] = b[k] + 0.5 c[k] for k < n, by so many threads; 16 n bytes pass, as lines of a are read before they are written. */
void machine_triad(float *restrict a, const float *restrict b, const float *restrict c,
                   int64_t n, int threads);

/* Bytes a second of the triad, the best of some rounds by the clock; 200 MB.  Errors: E_NOMEM. */
TUTTI_NODISCARD tutti_status machine_measure_bytes(int threads, double *ret_bytes,
                                                   tutti_error *err);

enum { MACHINE_PRODUCT = 1024 }; /* rows and columns of the product that is measured */

typedef struct machine_bound {
    double flops; /* a second, of a square product of MACHINE_PRODUCT in `dtype` */
    double bytes; /* a second, of the triad */
} machine_bound;

/* Measures both now, the best of some rounds by the clock.  Some tenths of a second, 200 MB.  Errors: E_NOMEM, what
 * a product cannot be computed for. */
TUTTI_NODISCARD tutti_status machine_measure(const tutti_op *const *ops, int32_t dtype,
                                             int threads, machine_bound *ret_bound,
                                             tutti_error *err);

#endif
