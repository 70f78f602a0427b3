/* relu_test.c - relu against its definition and finite differences. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/op_test.h"

static const op_case cases[] = {
    {.op = "relu", .nin = 1, .in = {DESC(F32, 1, 7)}},
    {.op = "relu", .nin = 1, .in = {DESC(F32, 3, 3, 1, 5)}},
    {.op = "relu", .nin = 1, .in = {DESC(F32, 2, 0, 4)}},
    {.op = "relu", .nin = 1, .in = {DESC(F32, 2, 300, 200)}},
    {.op = "relu_grad", .nin = 2, .in = {DESC(F32, 2, 9, 4), DESC(F32, 2, 9, 4)}, .no_grad = 2},
};

OP_TEST_MAIN(relu)
