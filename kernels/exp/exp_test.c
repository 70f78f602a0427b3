/* exp_test.c - exp against its definition, finite differences, numbers by hand; what it refuses. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/op_example.h"

static const op_case cases[] = {
    OP_UNARY_CASES("exp", .seed = 0),
};

static const op_example examples[] = {
    {.in = {DESC(F32, 1, 8)},
     .data = {F32S(0, 1, -INFINITY, 89, -104.0f, NAN, 88.72f, -87.5f)},
     .out = DESC(F32, 1, 8),
     .want = F32S(1, 2.71828183f, 0, INFINITY, 0, NAN, 3.393180516e+38f, 9.982350931e-39f)},
};

static const op_refusal refusals[] = {
    {.in = {DESC(I32, 2, 2, 3)},
     .nin = 1,
     .status = TUTTI_E_ARG,
     .text = "exp: x is I32 (2, 3), want F32"},
};

OP_TEST_FULL(exp, 1)
