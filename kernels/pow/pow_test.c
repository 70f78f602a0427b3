/* pow_test.c - pow against its definition, finite differences, numbers by hand; what it refuses. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/op_example.h"

static const op_case cases[] = {
    OP_BINARY_CASES("pow", .low = {0.5, 0.5}, .high = {2.0, 2.0}),
};

static const op_example examples[] = {
    {.in = {DESC(F32, 1, 5), DESC(F32, 1, 5)},
     .data = {F32S(2, -2, 0, 0, 9), F32S(10, 3, 0, 2, 0.5f)},
     .out = DESC(F32, 1, 5),
     .want = F32S(1024, -8, 1, 0, 3)},
};

static const op_refusal refusals[] = {
    {.in = {DESC(F32, 1, 2), DESC(I32, 1, 2)},
     .nin = 2,
     .status = TUTTI_E_ARG,
     .text = "pow: b is I32 (2), want F32"},
    {.in = {DESC(F32, 2, 2, 3), DESC(F32, 1, 2)},
     .nin = 2,
     .status = TUTTI_E_SHAPE,
     .text = "pow: a is F32 (2, 3) and b is F32 (2), which do not broadcast"},
};

OP_TEST_FULL(pow, 2)
