/* add_test.c - add against its definition and finite differences. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/op_test.h"

static const op_case cases[] = {
    {.op = "add", .nin = 2, .in = {DESC(F32, 2, 4, 3), DESC(F32, 2, 4, 3)}},
    {.op = "add", .nin = 2, .in = {DESC(F32, 3, 2, 3, 4), DESC(F32, 1, 4)}},
    {.op = "add", .nin = 2, .in = {DESC(F32, 3, 2, 1, 4), DESC(F32, 3, 1, 3, 1)}},
    {.op = "add", .nin = 2, .in = {DESC(F32, 0, 0), DESC(F32, 1, 5)}},
    {.op = "add", .nin = 2, .in = {DESC(F32, 2, 0, 3), DESC(F32, 1, 3)}},
    {.op = "add", .nin = 2, .in = {DESC(F32, 2, 500, 130), DESC(F32, 2, 500, 130)}},
    {.op = "add", .nin = 2, .in = {DESC(F32, 2, 500, 130), DESC(F32, 2, 500, 1)}},
};

OP_TEST_MAIN(add)
