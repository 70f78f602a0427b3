/* gelu_test.c - gelu against its definition and finite differences. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/op_test.h"

static const op_case cases[] = {
    {.op = "gelu",
     .nin = 1,
     .in = {DESC(F32, 1, 7)},
     .nattr = 1,
     .attr = {{"approximate", TUTTI_ATTR_I64, 0, 1, 0.0, NULL}}},
    {.op = "gelu",
     .nin = 1,
     .in = {DESC(F32, 3, 3, 1, 5)},
     .nattr = 1,
     .attr = {{"approximate", TUTTI_ATTR_I64, 0, 1, 0.0, NULL}}},
    {.op = "gelu",
     .nin = 1,
     .in = {DESC(F32, 2, 0, 4)},
     .nattr = 1,
     .attr = {{"approximate", TUTTI_ATTR_I64, 0, 1, 0.0, NULL}}},
    {.op = "gelu",
     .nin = 1,
     .in = {DESC(F32, 2, 300, 200)},
     .nattr = 1,
     .attr = {{"approximate", TUTTI_ATTR_I64, 0, 1, 0.0, NULL}}},
    {.op = "gelu", .nin = 1, .in = {DESC(F32, 1, 7)}},
    {.op = "gelu", .nin = 1, .in = {DESC(F32, 3, 3, 1, 5)}},
    {.op = "gelu", .nin = 1, .in = {DESC(F32, 2, 0, 4)}},
    {.op = "gelu", .nin = 1, .in = {DESC(F32, 2, 300, 200)}},
};

OP_TEST_MAIN(gelu)
