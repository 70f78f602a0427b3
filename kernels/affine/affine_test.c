/* affine_test.c - affine against its definition and finite differences. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/op_test.h"

static const op_case cases[] = {
    {.op = "affine",
     .nin = 1,
     .in = {DESC(F32, 1, 7)},
     .nattr = 2,
     .attr = {{"scale", TUTTI_ATTR_F64, 0, 0, -1.5, NULL},
              {"shift", TUTTI_ATTR_F64, 0, 0, 0.25, NULL}}},
    {.op = "affine",
     .nin = 1,
     .in = {DESC(F32, 3, 3, 1, 5)},
     .nattr = 2,
     .attr = {{"scale", TUTTI_ATTR_F64, 0, 0, -1.5, NULL},
              {"shift", TUTTI_ATTR_F64, 0, 0, 0.25, NULL}}},
    {.op = "affine",
     .nin = 1,
     .in = {DESC(F32, 2, 0, 4)},
     .nattr = 2,
     .attr = {{"scale", TUTTI_ATTR_F64, 0, 0, -1.5, NULL},
              {"shift", TUTTI_ATTR_F64, 0, 0, 0.25, NULL}}},
    {.op = "affine",
     .nin = 1,
     .in = {DESC(F32, 2, 300, 200)},
     .nattr = 2,
     .attr = {{"scale", TUTTI_ATTR_F64, 0, 0, -1.5, NULL},
              {"shift", TUTTI_ATTR_F64, 0, 0, 0.25, NULL}}},
};

OP_TEST_MAIN(affine)
