/* log_test.c - log against its definition, finite differences, numbers by hand; what it refuses. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/op_example.h"

static const op_case cases[] = {
    OP_UNARY_CASES("log", .low = {0.1, 0.1}, .high = {3.0, 3.0}),
};

static const op_example examples[] = {
    {.in = {DESC(F32, 1, 7)},
     .data = {F32S(1, 2.71828183f, 0, -1, INFINITY, NAN, 1e-40f)},
     .out = DESC(F32, 1, 7),
     .want = F32S(0, 1, -INFINITY, NAN, INFINITY, NAN, -92.1034037f)},
};

static const op_refusal refusals[] = {
    {.in = {DESC(I32, 2, 2, 3)},
     .nin = 1,
     .status = TUTTI_E_ARG,
     .text = "log: x is I32 (2, 3), want F32"},
};

OP_TEST_FULL(log, 1)
