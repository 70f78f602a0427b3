/* dropout_test.c - dropout against its definition and finite differences. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/op_test.h"

static const op_case cases[] = {
    {.op = "dropout",
     .nin = 1,
     .in = {DESC(F32, 2, 9, 7)},
     .nattr = 1,
     .attr = {{"p", TUTTI_ATTR_F64, 0, 0, 0.3, NULL}}},
    {.op = "dropout",
     .nin = 1,
     .in = {DESC(F32, 2, 300, 70)},
     .nattr = 2,
     .attr = {{"p", TUTTI_ATTR_F64, 0, 0, 0.5, NULL},
              {"stream", TUTTI_ATTR_I64, 0, 3, 0.0, NULL}}},
    {.op = "dropout",
     .nin = 1,
     .in = {DESC(F32, 2, 4, 3)},
     .nattr = 1,
     .attr = {{"p", TUTTI_ATTR_F64, 0, 0, 0.0, NULL}}},
};

OP_TEST_MAIN(dropout)
