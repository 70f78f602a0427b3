/* where_test.c - where against its definition, finite differences, numbers by hand; what it refuses. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/op_example.h"

static const op_case cases[] = {
    {.op = "where",
     .nin = 3,
     .in = {DESC(F32, 2, 4, 3), DESC(F32, 2, 4, 3), DESC(F32, 2, 4, 3)},
     .no_grad = 1,
     .low = {0},
     .high = {0}},
    {.op = "where",
     .nin = 3,
     .in = {DESC(F32, 2, 5, 1), DESC(F32, 1, 3), DESC(F32, 2, 1, 1)},
     .no_grad = 1},
    {.op = "where",
     .nin = 3,
     .in = {DESC(U8, 3, 2, 3, 4), DESC(F32, 2, 3, 1), DESC(F32, 3, 2, 1, 4)},
     .no_grad = 1,
     .low = {0, -1, -1},
     .high = {2, 1, 1}},
    {.op = "where",
     .nin = 3,
     .in = {DESC(BOOL, 1, 3), DESC(I64, 1, 3), DESC(I64, 0, 0)},
     .no_grad = 1,
     .low = {0, -9, -9},
     .high = {2, 9, 9}},
    {.op = "where",
     .nin = 3,
     .in = {DESC(F32, 2, 2, 0), DESC(F32, 1, 0), DESC(F32, 1, 1)},
     .no_grad = 1},
    {.op = "where",
     .nin = 3,
     .in = {DESC(F32, 2, 400, 1), DESC(F32, 2, 400, 130), DESC(F32, 1, 130)},
     .no_grad = 1,
     .no_second = 1},
};

static const op_example examples[] = {
    {.in = {DESC(F32, 2, 2, 2), DESC(F32, 1, 2), DESC(F32, 2, 2, 1)},
     .data = {F32S(1, 0, 0, -2), F32S(10, 20), F32S(30, 40)},
     .out = DESC(F32, 2, 2, 2),
     .want = F32S(10, 30, 40, 20)},
    {.in = {DESC(BOOL, 1, 3), DESC(U8, 1, 3), DESC(U8, 0, 0)},
     .data = {U8S(0, 1, 1), U8S(1, 2, 3), U8S(9)},
     .out = DESC(U8, 1, 3),
     .want = U8S(9, 2, 3)},
};

static const op_refusal refusals[] = {
    {.in = {DESC(I32, 1, 2), DESC(F32, 1, 2), DESC(F32, 1, 2)},
     .nin = 3,
     .status = TUTTI_E_ARG,
     .text = "where: c is I32 (2), want F32, U8 or BOOL"},
    {.in = {DESC(F32, 1, 2), DESC(F32, 1, 2), DESC(I32, 1, 2)},
     .nin = 3,
     .status = TUTTI_E_ARG,
     .text = "where: a is F32 (2) and b is I32 (2), want one dtype"},
    {.in = {DESC(F32, 1, 2), DESC(F32, 1, 2), DESC(F32, 1, 3)},
     .nin = 3,
     .status = TUTTI_E_SHAPE,
     .text = "where: a is F32 (2) and b is F32 (3), which do not broadcast"},
    {.in = {DESC(F32, 1, 4), DESC(F32, 1, 2), DESC(F32, 2, 2, 2)},
     .nin = 3,
     .status = TUTTI_E_SHAPE,
     .text = "where: c is F32 (4) and a with b is F32 (2, 2), which do not broadcast"},
};

OP_TEST_FULL(where, 3)
