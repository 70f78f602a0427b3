/* sqrt_test.c - sqrt against its definition, finite differences, numbers by hand; what it refuses. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/op_example.h"

static const op_case cases[] = {
    OP_UNARY_CASES("sqrt", .low = {0.1, 0.1}, .high = {3.0, 3.0}),
};

static const op_example examples[] = {
    {.in = {DESC(F32, 1, 5)},
     .data = {F32S(4, 2, 0, -1, INFINITY)},
     .out = DESC(F32, 1, 5),
     .want = F32S(2, 1.41421356f, 0, NAN, INFINITY)},
};

static const op_refusal refusals[] = {
    {.in = {DESC(I32, 2, 2, 3)},
     .nin = 1,
     .status = TUTTI_E_ARG,
     .text = "sqrt: x is I32 (2, 3), want F32"},
};

OP_TEST_FULL(sqrt, 1)
