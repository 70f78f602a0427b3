/* min_test.c - min against its definition, finite differences, numbers by hand; what it refuses. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/op_example.h"

static const op_case cases[] = {
    OP_BINARY_CASES("min", .seed = 0),
};

static const op_example examples[] = {
    {.in = {DESC(F32, 1, 5), DESC(F32, 1, 5)},
     .data = {F32S(1, 7, NAN, 1, 3), F32S(2, -7, 1, NAN, 3)},
     .out = DESC(F32, 1, 5),
     .want = F32S(1, -7, NAN, NAN, 3)},
};

static const op_refusal refusals[] = {
    {.in = {DESC(F32, 1, 2), DESC(I32, 1, 2)},
     .nin = 2,
     .status = TUTTI_E_ARG,
     .text = "min: b is I32 (2), want F32"},
    {.in = {DESC(F32, 2, 2, 3), DESC(F32, 1, 2)},
     .nin = 2,
     .status = TUTTI_E_SHAPE,
     .text = "min: a is F32 (2, 3) and b is F32 (2), which do not broadcast"},
};

OP_TEST_FULL(min, 2)
