/* erf_test.c - erf against its definition, finite differences, numbers by hand; what it refuses. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/op_example.h"

static const op_case cases[] = {
    OP_UNARY_CASES("erf", .low = {-2, -2}, .high = {2, 2}),
};

static const op_example examples[] = {
    {.in = {DESC(F32, 1, 6)},
     .data = {F32S(0, 0.5f, -1, 4.0f, -INFINITY, NAN)},
     .out = DESC(F32, 1, 6),
     .want = F32S(0, 0.520499878f, -0.842700793f, 1, -1, NAN)},
};

static const op_refusal refusals[] = {
    {.in = {DESC(I32, 2, 2, 3)},
     .nin = 1,
     .status = TUTTI_E_ARG,
     .text = "erf: x is I32 (2, 3), want F32"},
};

OP_TEST_FULL(erf, 1)
