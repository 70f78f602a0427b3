/* sqrt_test.c - sqrt against its definition and finite differences. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/op_test.h"

static const op_case cases[] = {
    {.op = "sqrt", .nin = 1, .in = {DESC(F32, 1, 7)}, .low = {0.3}, .high = {3.0}},
    {.op = "sqrt", .nin = 1, .in = {DESC(F32, 3, 3, 1, 5)}, .low = {0.3}, .high = {3.0}},
    {.op = "sqrt", .nin = 1, .in = {DESC(F32, 2, 0, 4)}, .low = {0.3}, .high = {3.0}},
    {.op = "sqrt", .nin = 1, .in = {DESC(F32, 2, 300, 200)}, .low = {0.3}, .high = {3.0}},
};

OP_TEST_MAIN(sqrt)
