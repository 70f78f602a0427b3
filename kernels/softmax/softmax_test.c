/* softmax_test.c - softmax against its definition and finite differences. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/op_test.h"

static const op_case cases[] = {
    {.op = "softmax", .nin = 1, .in = {DESC(F32, 2, 4, 7)}, .low = {-4}, .high = {4}},
    {.op = "softmax", .nin = 1, .in = {DESC(F32, 3, 2, 3, 1)}},
    {.op = "softmax", .nin = 1, .in = {DESC(F32, 2, 900, 33)}},
    {.op = "softmax", .nin = 1, .in = {DESC(F32, 2, 0, 3)}},
};

OP_TEST_MAIN(softmax)
