/* gradcheck.h - one call checks an op: kernel against reference, gradient against differences. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_SUPPORT_GRADCHECK_H
#define TESTS_SUPPORT_GRADCHECK_H

#include "tutti/op.h"
#include "tutti_host/device.h"

#define OP_CASE_MAX 8

/* One way to call an op.  A zeroed field means its default. */
typedef struct op_case {
    const char *op;
    uint32_t nin;
    tutti_desc in[OP_CASE_MAX];
    uint32_t nattr;
    tutti_attr attr[OP_CASE_MAX];
    /* Values are uniform in [low, high); [0, 0) means [-1, 1).  Integer dtypes draw whole numbers;
     * for them [0, 0) is all zeros. */
    double low[OP_CASE_MAX];
    double high[OP_CASE_MAX];
    uint32_t no_grad;     /* bit k: in[k] is not differentiated */
    uint32_t no_grad_out; /* bit k: out[k] gets no gradient (statistics, saved values) */
    uint32_t no_second;   /* 1: leave out the second order */
    /* Kernel against reference: max |got - want| over max |want| (at least 0.01).
     * 0: 1e-6 * sqrt(elements of the largest input), at most 1e-4. */
    double tolerance;
    double grad_tolerance; /* gradient against differences, likewise; 0: 1e-5 */
    uint64_t seed;
    /* On a device, bits: 1, results of F32 may have been rounded to the dtype of 16-bit inputs; 2, a result of 16 bits
     * may come from a value that was itself stored so, such as a product before its GELU. */
    uint32_t rounds;
    uint32_t reserved;
} op_case;

/* A desc on one line: op_desc(TUTTI_F32, 2, 3, 4). */
static inline tutti_desc op_desc_of(int32_t dtype, int32_t rank, const int64_t *dim)
{
    tutti_desc d = {{0}, rank, dtype};
    for (int32_t k = 0; k < rank; k++)
        d.dim[k] = dim[k];
    return d;
}
#define op_desc(dtype, ...)                                                                    \
    op_desc_of((dtype), (int32_t)(sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t)),   \
               (const int64_t[]){__VA_ARGS__})

/* Checks one case:
 * - infer accepts it;
 * - the CPU kernel, its outputs and scratch filled with NaN, against the f64 reference; again in
 *   place for every bit of `inplace` whose shapes and dtypes allow it;
 * - the gradient graph, run in f64, against central differences of the reference under a random
 *   projection of the floating outputs, for every floating input that no_grad leaves;
 * - `decompose`, where there is one, against the reference;
 * - the gradient's own gradient, when every op in it (or in the decomposed op's) has one.
 * An op without vjp must mark all floating inputs in no_grad.  A NaN never passes.  The sentence
 * in `err` names the op, what was compared, the worst element, what came and what was wanted.
 * `table` is NULL-terminated.  [any] */
TUTTI_NODISCARD tutti_status op_check(const tutti_op *const *table, const op_case *c,
                                      tutti_error *err);

/* Where a program sets this, op_check looks at nothing but the kernel of that device (none is no error):
 * plain, in place, and once more through a graph where the device has such, to the same bits; F32
 * operands as f32, as BF16, as F16 and as some of each, rounded for the reference too. */
extern const tutti_device *(*op_check_device)(tutti_error *err);

/* Other than 0, every case gets other inputs than those of its own seed. */
extern uint64_t op_check_seed;

#endif
