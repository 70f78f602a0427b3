/* div_test.c - div against its definition, finite differences, numbers by hand; what it refuses. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/op_example.h"

static const op_case cases[] = {
    OP_BINARY_CASES("div", .low = {0.5, 0.5}, .high = {2.0, 2.0}),
};

static const op_example examples[] = {
    {.in = {DESC(F32, 1, 3), DESC(F32, 1, 1)},
     .data = {F32S(1, 0, NAN), F32S(8)},
     .out = DESC(F32, 1, 3),
     .want = F32S(0.125f, 0, NAN)},
    {.in = {DESC(F32, 2, 2, 1), DESC(F32, 1, 2)},
     .data = {F32S(3, -5), F32S(2, 0)},
     .out = DESC(F32, 2, 2, 2),
     .want = F32S(1.5f, INFINITY, -2.5f, -INFINITY)},
};

static const op_refusal refusals[] = {
    {.in = {DESC(F32, 1, 2), DESC(I32, 1, 2)},
     .nin = 2,
     .status = TUTTI_E_ARG,
     .text = "div: b is I32 (2), want F32"},
    {.in = {DESC(F32, 2, 2, 3), DESC(F32, 1, 2)},
     .nin = 2,
     .status = TUTTI_E_SHAPE,
     .text = "div: a is F32 (2, 3) and b is F32 (2), which do not broadcast"},
};

OP_TEST_FULL(div, 2)
