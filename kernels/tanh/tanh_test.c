/* tanh_test.c - tanh against its definition and finite differences. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/op_test.h"

static const op_case cases[] = {
    {.op = "tanh", .nin = 1, .in = {DESC(F32, 1, 7)}},
    {.op = "tanh", .nin = 1, .in = {DESC(F32, 3, 3, 1, 5)}},
    {.op = "tanh", .nin = 1, .in = {DESC(F32, 2, 0, 4)}},
    {.op = "tanh", .nin = 1, .in = {DESC(F32, 2, 300, 200)}},
};

OP_TEST_MAIN(tanh)
