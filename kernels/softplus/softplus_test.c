/* softplus_test.c - softplus against its definition, finite differences, numbers by hand; what it refuses. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/op_example.h"

static const op_case cases[] = {
    OP_UNARY_CASES("softplus", .low = {-4, -4}, .high = {4, 4}),
};

static const op_example examples[] = {
    {.in = {DESC(F32, 1, 6)},
     .data = {F32S(0, 2, -2, -30, 200, NAN)},
     .out = DESC(F32, 1, 6),
     .want = F32S(0.693147181f, 2.12692801f, 0.126928011f, 9.35762297e-14f, 200, NAN)},
};

static const op_refusal refusals[] = {
    {.in = {DESC(I32, 2, 2, 3)},
     .nin = 1,
     .status = TUTTI_E_ARG,
     .text = "softplus: x is I32 (2, 3), want F32"},
};

OP_TEST_FULL(softplus, 1)
