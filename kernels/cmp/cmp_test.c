/* cmp_test.c - cmp against its definition and finite differences. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/op_test.h"

static const op_case cases[] = {
    {.op = "cmp",
     .nin = 2,
     .in = {DESC(F32, 2, 4, 3), DESC(F32, 1, 3)},
     .nattr = 1,
     .attr = {{"kind", TUTTI_ATTR_I64, 0, 0, 0.0, NULL}}},
    {.op = "cmp",
     .nin = 2,
     .in = {DESC(F32, 2, 4, 3), DESC(F32, 1, 3)},
     .nattr = 1,
     .attr = {{"kind", TUTTI_ATTR_I64, 0, 1, 0.0, NULL}}},
    {.op = "cmp",
     .nin = 2,
     .in = {DESC(F32, 2, 4, 3), DESC(F32, 1, 3)},
     .nattr = 1,
     .attr = {{"kind", TUTTI_ATTR_I64, 0, 2, 0.0, NULL}}},
    {.op = "cmp",
     .nin = 2,
     .in = {DESC(F32, 2, 4, 3), DESC(F32, 1, 3)},
     .nattr = 1,
     .attr = {{"kind", TUTTI_ATTR_I64, 0, 3, 0.0, NULL}}},
    {.op = "cmp",
     .nin = 2,
     .in = {DESC(F32, 2, 4, 3), DESC(F32, 1, 3)},
     .nattr = 1,
     .attr = {{"kind", TUTTI_ATTR_I64, 0, 4, 0.0, NULL}}},
    {.op = "cmp",
     .nin = 2,
     .in = {DESC(F32, 2, 4, 3), DESC(F32, 1, 3)},
     .nattr = 1,
     .attr = {{"kind", TUTTI_ATTR_I64, 0, 5, 0.0, NULL}}},
};

OP_TEST_MAIN(cmp)
