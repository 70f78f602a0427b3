/* argmax_test.c - argmax against its definition, finite differences, numbers by hand; what it refuses. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/op_example.h"

static const op_case cases[] = {
    {.op = "argmax",
     .nin = 1,
     .in = {DESC(F32, 2, 5, 7)},
     .nattr = 1,
     .attr = {{"axis", TUTTI_ATTR_I64, 0, -1, 0.0, NULL, NULL}},
     .no_grad = 1},
    {.op = "argmax",
     .nin = 1,
     .in = {DESC(F32, 2, 5, 7)},
     .nattr = 2,
     .attr = {{"axis", TUTTI_ATTR_I64, 0, 0, 0.0, NULL, NULL},
              {"keepdim", TUTTI_ATTR_I64, 0, 1, 0.0, NULL, NULL}},
     .no_grad = 1},
    {.op = "argmax",
     .nin = 1,
     .in = {DESC(F32, 3, 2, 3, 4)},
     .nattr = 1,
     .attr = {{"axis", TUTTI_ATTR_I64, 0, 1, 0.0, NULL, NULL}},
     .no_grad = 1},
    {.op = "argmax",
     .nin = 1,
     .in = {DESC(F32, 2, 0, 4)},
     .nattr = 1,
     .attr = {{"axis", TUTTI_ATTR_I64, 0, 1, 0.0, NULL, NULL}},
     .no_grad = 1},
    {.op = "argmax", .nin = 1, .in = {DESC(F32, 2, 5000, 10)}, .no_grad = 1},
};

static const op_example examples[] = {
    {.in = {DESC(F32, 2, 3, 3)},
     .data = {F32S(1, 3, 3, -1, -1, -2, 5, NAN, 9)},
     .out = DESC(I64, 1, 3),
     .want = I64S(1, 0, 1),
     .attr = (const int64_t[]){1, 0}},
    {.in = {DESC(F32, 2, 2, 2)},
     .data = {F32S(1, 8, 2, 7)},
     .out = DESC(I64, 2, 1, 2),
     .want = I64S(1, 0),
     .attr = (const int64_t[]){-2, 1}},
};

static const op_refusal refusals[] = {
    {.in = {DESC(F32, 2, 2, 0)},
     .nin = 1,
     .attr = (const int64_t[]){-1, 0},
     .status = TUTTI_E_SHAPE,
     .text = "argmax: x is F32 (2, 0), which has nothing on axis 1"},
    {.in = {DESC(F32, 1, 2)},
     .nin = 1,
     .attr = (const int64_t[]){1, 0},
     .status = TUTTI_E_RANGE,
     .text = "argmax: axis 1, want one of rank 1"},
    {.in = {DESC(I64, 1, 2)},
     .nin = 1,
     .attr = (const int64_t[]){0, 0},
     .status = TUTTI_E_ARG,
     .text = "argmax: x is I64 (2), want F32"},
};

OP_TEST_FULL(argmax, 1)
