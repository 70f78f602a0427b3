/* abs_test.c - abs against its definition, finite differences, numbers by hand; what it refuses. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/op_example.h"

static const op_case cases[] = {
    OP_UNARY_CASES("abs", .seed = 0),
};

static const op_example examples[] = {
    {.in = {DESC(F32, 1, 4)},
     .data = {F32S(1, -2.5f, -INFINITY, NAN)},
     .out = DESC(F32, 1, 4),
     .want = F32S(1, 2.5f, INFINITY, NAN)},
};

static const op_refusal refusals[] = {
    {.in = {DESC(I32, 2, 2, 3)},
     .nin = 1,
     .status = TUTTI_E_ARG,
     .text = "abs: x is I32 (2, 3), want F32"},
};

OP_TEST_FULL(abs, 1)
