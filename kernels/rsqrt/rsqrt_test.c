/* rsqrt_test.c - rsqrt against its definition, finite differences, numbers by hand; what it refuses. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/op_example.h"

static const op_case cases[] = {
    OP_UNARY_CASES("rsqrt", .low = {0.2, 0.2}, .high = {3.0, 3.0}),
};

static const op_example examples[] = {
    {.in = {DESC(F32, 1, 4)},
     .data = {F32S(4, 0.25f, 0, INFINITY)},
     .out = DESC(F32, 1, 4),
     .want = F32S(0.5f, 2, INFINITY, 0)},
};

static const op_refusal refusals[] = {
    {.in = {DESC(I32, 2, 2, 3)},
     .nin = 1,
     .status = TUTTI_E_ARG,
     .text = "rsqrt: x is I32 (2, 3), want F32"},
};

OP_TEST_FULL(rsqrt, 1)
