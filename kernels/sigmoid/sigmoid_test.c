/* sigmoid_test.c - sigmoid against its definition, finite differences, numbers by hand; what it refuses. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/op_example.h"

static const op_case cases[] = {
    OP_UNARY_CASES("sigmoid", .low = {-4, -4}, .high = {4, 4}),
    OP_GRADIENT_CASES("sigmoid_grad", .seed = 0),
};

static const op_example examples[] = {
    {.in = {DESC(F32, 1, 6)},
     .data = {F32S(0, 2, -2, -200, 200, NAN)},
     .out = DESC(F32, 1, 6),
     .want = F32S(0.5f, 0.880797078f, 0.119202922f, 0, 1, NAN)},
};

static const op_refusal refusals[] = {
    {.in = {DESC(I32, 2, 2, 3)},
     .nin = 1,
     .status = TUTTI_E_ARG,
     .text = "sigmoid: x is I32 (2, 3), want F32"},
};

OP_TEST_FULL(sigmoid, 1)
