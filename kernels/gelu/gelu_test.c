/* gelu_test.c - gelu against its definition, finite differences, numbers by hand; what it refuses. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/op_example.h"

/* Towards -3 the result is a small difference, 1 + erf, of which f32 keeps fewer digits. */
static const op_case cases[] = {
    OP_UNARY_CASES("gelu", .tolerance = 2e-5, .low = {-3, -3}, .high = {3, 3}),
    OP_UNARY_CASES("gelu", .tolerance = 2e-5, .low = {-3, -3}, .high = {3, 3}, .nattr = 1,
                   .attr = {{"approximate", TUTTI_ATTR_I64, 0, 1, 0.0, NULL, NULL}}),
    OP_GRADIENT_CASES("gelu_grad", .low = {-2, -2}, .high = {2, 2}),
    OP_GRADIENT_CASES("gelu_grad", .low = {-2, -2}, .high = {2, 2}, .nattr = 1,
                      .attr = {{"approximate", TUTTI_ATTR_I64, 0, 1, 0.0, NULL, NULL}}),
};

static const op_example examples[] = {
    {.in = {DESC(F32, 1, 4)},
     .data = {F32S(0, 1, -1, NAN)},
     .out = DESC(F32, 1, 4),
     .want = F32S(0, 0.841344746f, -0.158655254f, NAN),
     .attr = &(const int64_t){0}},
    {.in = {DESC(F32, 1, 3)},
     .data = {F32S(0, 1, -1)},
     .out = DESC(F32, 1, 3),
     .want = F32S(0, 0.841191991f, -0.158808009f),
     .attr = &(const int64_t){1}},
};

static const op_refusal refusals[] = {
    {.in = {DESC(I32, 2, 2, 3)},
     .nin = 1,
     .status = TUTTI_E_ARG,
     .text = "gelu: x is I32 (2, 3), want F32"},
};

OP_TEST_FULL(gelu, 1)
