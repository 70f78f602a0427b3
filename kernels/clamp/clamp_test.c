/* clamp_test.c - clamp against its definition, finite differences, numbers by hand; what it refuses. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/op_example.h"

static const op_case cases[] = {
    OP_UNARY_CASES("clamp", .nattr = 2,
                   .attr = {{"min", TUTTI_ATTR_F64, 0, 0, -0.3, NULL, NULL},
                            {"max", TUTTI_ATTR_F64, 0, 0, 0.5, NULL, NULL}}),
    OP_UNARY_CASES("clamp", .nattr = 1,
                   .attr = {{"min", TUTTI_ATTR_F64, 0, 0, 0.1, NULL, NULL}}),
};

static const op_example examples[] = {
    {.in = {DESC(F32, 1, 5)},
     .data = {F32S(-2, 0, 3, NAN, -INFINITY)},
     .out = DESC(F32, 1, 5),
     .want = F32S(-1, 0, 2, NAN, -1),
     .attr = (const double[]){-1.0, 2.0}},
};

static const op_refusal refusals[] = {
    {.in = {DESC(I32, 2, 2, 3)},
     .nin = 1,
     .status = TUTTI_E_ARG,
     .text = "clamp: x is I32 (2, 3), want F32"},
};

OP_TEST_FULL(clamp, 1)
