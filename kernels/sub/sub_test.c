/* sub_test.c - sub against its definition, finite differences, numbers by hand; what it refuses. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/op_example.h"

static const op_case cases[] = {
    OP_BINARY_CASES("sub", .seed = 0),
};

static const op_example examples[] = {
    {.in = {DESC(F32, 1, 3), DESC(F32, 1, 1)},
     .data = {F32S(1, 2, NAN), F32S(10)},
     .out = DESC(F32, 1, 3),
     .want = F32S(-9, -8, NAN)},
    {.in = {DESC(F32, 2, 2, 1), DESC(F32, 1, 2)},
     .data = {F32S(3, 5), F32S(1, 2)},
     .out = DESC(F32, 2, 2, 2),
     .want = F32S(2, 1, 4, 3)},
};

static const op_refusal refusals[] = {
    {.in = {DESC(F32, 1, 2), DESC(I32, 1, 2)},
     .nin = 2,
     .status = TUTTI_E_ARG,
     .text = "sub: b is I32 (2), want F32"},
    {.in = {DESC(F32, 2, 2, 3), DESC(F32, 1, 2)},
     .nin = 2,
     .status = TUTTI_E_SHAPE,
     .text = "sub: a is F32 (2, 3) and b is F32 (2), which do not broadcast"},
};

OP_TEST_FULL(sub, 2)
