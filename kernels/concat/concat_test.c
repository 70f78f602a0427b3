/* concat_test.c - concat against its definition and finite differences. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/op_test.h"

static const op_case cases[] = {
    {.op = "concat",
     .nin = 2,
     .in = {DESC(F32, 2, 4, 3), DESC(F32, 2, 4, 2)},
     .nattr = 1,
     .attr = {{"axis", TUTTI_ATTR_I64, 0, 1, 0.0, NULL}}},
    {.op = "concat",
     .nin = 3,
     .in = {DESC(F32, 2, 1, 3), DESC(F32, 2, 0, 3), DESC(F32, 2, 2, 3)},
     .nattr = 1,
     .attr = {{"axis", TUTTI_ATTR_I64, 0, 0, 0.0, NULL}}},
};

OP_TEST_MAIN(concat)
