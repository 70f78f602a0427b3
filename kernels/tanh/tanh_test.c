/* tanh_test.c - tanh against its definition, finite differences, numbers by hand; what it refuses. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/op_example.h"

static const op_case cases[] = {
    OP_UNARY_CASES("tanh", .low = {-3, -3}, .high = {3, 3}),
    OP_GRADIENT_CASES("tanh_grad", .seed = 0),
};

static const op_example examples[] = {
    {.in = {DESC(F32, 1, 6)},
     .data = {F32S(0, 0.5f, -0.7f, 20, -INFINITY, NAN)},
     .out = DESC(F32, 1, 6),
     .want = F32S(0, 0.462117157f, -0.604367777f, 1, -1, NAN)},
};

static const op_refusal refusals[] = {
    {.in = {DESC(I32, 2, 2, 3)},
     .nin = 1,
     .status = TUTTI_E_ARG,
     .text = "tanh: x is I32 (2, 3), want F32"},
};

OP_TEST_FULL(tanh, 1)
