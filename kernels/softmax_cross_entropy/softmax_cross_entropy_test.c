/* softmax_cross_entropy_test.c - softmax_cross_entropy against its definition and finite differences. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/op_test.h"

static const op_case cases[] = {
    {.op = "softmax_cross_entropy",
     .nin = 2,
     .in = {DESC(F32, 2, 6, 5), DESC(I32, 1, 6)},
     .low = {-3, 0},
     .high = {3, 5}},
    {.op = "softmax_cross_entropy",
     .nin = 2,
     .in = {DESC(F32, 2, 6, 5), DESC(I64, 1, 6)},
     .low = {-3, 0},
     .high = {3, 5}},
    {.op = "softmax_cross_entropy",
     .nin = 2,
     .in = {DESC(F32, 2, 6, 5), DESC(F32, 2, 6, 5)},
     .low = {-3, 0},
     .high = {3, 1}},
    {.op = "softmax_cross_entropy",
     .nin = 2,
     .in = {DESC(F32, 2, 700, 10), DESC(F32, 2, 700, 10)},
     .low = {-3, 0},
     .high = {3, 1}},
    {.op = "softmax_cross_entropy", .nin = 2, .in = {DESC(F32, 2, 0, 5), DESC(I32, 1, 0)}},
};

OP_TEST_MAIN(softmax_cross_entropy)
