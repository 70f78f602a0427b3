/* affine_test.c - affine against its definition, finite differences, numbers by hand; what it refuses. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/op_example.h"

static const op_case cases[] = {
    OP_UNARY_CASES("affine", .nattr = 2,
                   .attr = {{"scale", TUTTI_ATTR_F64, 0, 0, -1.5, NULL, NULL},
                            {"shift", TUTTI_ATTR_F64, 0, 0, 0.25, NULL, NULL}}),
    {.op = "affine", .nin = 1, .in = {DESC(F32, 1, 3)}},
};

static const op_example examples[] = {
    {.in = {DESC(F32, 1, 3)},
     .data = {F32S(1, 0, NAN)},
     .out = DESC(F32, 1, 3),
     .want = F32S(-1.25f, 0.25f, NAN),
     .attr = (const double[]){-1.5, 0.25}},
};

static const op_refusal refusals[] = {
    {.in = {DESC(I32, 2, 2, 3)},
     .nin = 1,
     .status = TUTTI_E_ARG,
     .text = "affine: x is I32 (2, 3), want F32"},
};

OP_TEST_FULL(affine, 1)
