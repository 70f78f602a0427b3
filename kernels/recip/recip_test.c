/* recip_test.c - recip against its definition and finite differences. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/op_test.h"

static const op_case cases[] = {
    {.op = "recip", .nin = 1, .in = {DESC(F32, 1, 7)}, .low = {0.5}, .high = {2.0}},
    {.op = "recip", .nin = 1, .in = {DESC(F32, 3, 3, 1, 5)}, .low = {0.5}, .high = {2.0}},
    {.op = "recip", .nin = 1, .in = {DESC(F32, 2, 0, 4)}, .low = {0.5}, .high = {2.0}},
    {.op = "recip", .nin = 1, .in = {DESC(F32, 2, 300, 200)}, .low = {0.5}, .high = {2.0}},
};

OP_TEST_MAIN(recip)
