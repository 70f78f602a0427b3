/* one_hot_test.c - one_hot against its definition, finite differences, numbers by hand; what it refuses. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/op_example.h"

static const op_case cases[] = {
    {.op = "one_hot",
     .nin = 1,
     .in = {DESC(I64, 1, 5)},
     .nattr = 1,
     .attr = {{"classes", TUTTI_ATTR_I64, 0, 4, 0.0, NULL, NULL}},
     .high = {4}},
    {.op = "one_hot",
     .nin = 1,
     .in = {DESC(I32, 2, 2, 3)},
     .nattr = 1,
     .attr = {{"classes", TUTTI_ATTR_I64, 0, 10, 0.0, NULL, NULL}},
     .high = {10}},
    {.op = "one_hot",
     .nin = 1,
     .in = {DESC(I32, 0, 0)},
     .nattr = 1,
     .attr = {{"classes", TUTTI_ATTR_I64, 0, 1, 0.0, NULL, NULL}}},
    {.op = "one_hot",
     .nin = 1,
     .in = {DESC(I32, 1, 0)},
     .nattr = 1,
     .attr = {{"classes", TUTTI_ATTR_I64, 0, 3, 0.0, NULL, NULL}}},
};

static const op_example examples[] = {
    {.in = {DESC(I32, 1, 2)},
     .data = {I32S(2, 0)},
     .out = DESC(F32, 2, 2, 3),
     .want = F32S(0, 0, 1, 1, 0, 0),
     .attr = &(const int64_t){3}},
    {.in = {DESC(I32, 1, 1)},
     .data = {I32S(3)},
     .out = DESC(F32, 2, 1, 3),
     .attr = &(const int64_t){3},
     .status = TUTTI_E_RANGE},
    {.in = {DESC(I64, 1, 1)},
     .data = {I64S(-1)},
     .out = DESC(F32, 2, 1, 3),
     .attr = &(const int64_t){3},
     .status = TUTTI_E_RANGE},
};

static const op_refusal refusals[] = {
    {.in = {DESC(F32, 1, 2)},
     .nin = 1,
     .attr = &(const int64_t){3},
     .status = TUTTI_E_ARG,
     .text = "one_hot: x is F32 (2), want I32 or I64"},
    {.in = {DESC(I32, 1, 2)},
     .nin = 1,
     .attr = &(const int64_t){0},
     .status = TUTTI_E_RANGE,
     .text = "one_hot: classes is 0, want 1 or more"},
    {.in = {DESC(I32, 6, 1, 1, 1, 1, 1, 1)},
     .nin = 1,
     .attr = &(const int64_t){3},
     .status = TUTTI_E_SHAPE,
     .text = "one_hot: x is I32 (1, 1, 1, 1, 1, 1), want rank 5 at most"},
};

OP_TEST_FULL(one_hot, 1)
