/* relu_test.c - relu against its definition, finite differences, numbers by hand; what it refuses. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/op_example.h"

static const op_case cases[] = {
    OP_UNARY_CASES("relu", .seed = 0),
    OP_GRADIENT_CASES("relu_grad", .no_grad = 2),
};

static const op_example examples[] = {
    {.in = {DESC(F32, 1, 5)},
     .data = {F32S(1, -2, 0, NAN, INFINITY)},
     .out = DESC(F32, 1, 5),
     .want = F32S(1, 0, 0, NAN, INFINITY)},
};

static const op_refusal refusals[] = {
    {.in = {DESC(I32, 2, 2, 3)},
     .nin = 1,
     .status = TUTTI_E_ARG,
     .text = "relu: x is I32 (2, 3), want F32"},
};

OP_TEST_FULL(relu, 1)
