/* silu_test.c - silu against its definition, finite differences, numbers by hand; what it refuses. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/op_example.h"

static const op_case cases[] = {
    OP_UNARY_CASES("silu", .low = {-4, -4}, .high = {4, 4}),
    OP_GRADIENT_CASES("silu_grad", .low = {-3, -3}, .high = {3, 3}),
};

static const op_example examples[] = {
    {.in = {DESC(F32, 1, 4)},
     .data = {F32S(0, 2, -2, NAN)},
     .out = DESC(F32, 1, 4),
     .want = F32S(0, 1.76159416f, -0.238405844f, NAN)},
};

static const op_refusal refusals[] = {
    {.in = {DESC(I32, 2, 2, 3)},
     .nin = 1,
     .status = TUTTI_E_ARG,
     .text = "silu: x is I32 (2, 3), want F32"},
};

OP_TEST_FULL(silu, 1)
