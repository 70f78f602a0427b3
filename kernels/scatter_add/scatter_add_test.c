/* scatter_add_test.c - scatter_add against its definition, finite differences, numbers by hand; what it refuses. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/op_example.h"

static const op_case cases[] = {
    {.op = "scatter_add",
     .nin = 3,
     .in = {DESC(F32, 2, 5, 3), DESC(I64, 1, 4), DESC(F32, 2, 4, 3)},
     .low = {-1, 0, -1},
     .high = {1, 5, 1}},
    {.op = "scatter_add",
     .nin = 3,
     .in = {DESC(F32, 3, 2, 5, 3), DESC(I32, 2, 2, 2), DESC(F32, 4, 2, 2, 2, 3)},
     .nattr = 1,
     .attr = {{"axis", TUTTI_ATTR_I64, 0, 1, 0.0, NULL}},
     .low = {-1, 0, -1},
     .high = {1, 5, 1}},
    {.op = "scatter_add",
     .nin = 3,
     .in = {DESC(F32, 2, 2, 6), DESC(I32, 0, 0), DESC(F32, 1, 2)},
     .nattr = 1,
     .attr = {{"axis", TUTTI_ATTR_I64, 0, -1, 0.0, NULL}},
     .low = {-1, 0, -1},
     .high = {1, 6, 1}},
    {.op = "scatter_add",
     .nin = 3,
     .in = {DESC(F32, 2, 4, 3), DESC(I64, 1, 0), DESC(F32, 2, 0, 3)}},
    {.op = "scatter_add",
     .nin = 3,
     .in = {DESC(F32, 2, 30, 80), DESC(I64, 1, 1000), DESC(F32, 2, 1000, 80)},
     .low = {-1, 0, -1},
     .high = {1, 30, 1},
     .no_second = 1},
};

static const op_example examples[] = {
    {.in = {DESC(F32, 2, 3, 2), DESC(I32, 1, 3), DESC(F32, 2, 3, 2)},
     .data = {F32S(1, 2, 3, 4, 5, 6), I32S(2, 0, 2), F32S(10, 20, 30, 40, 50, 60)},
     .out = DESC(F32, 2, 3, 2),
     .want = F32S(31, 42, 3, 4, 65, 86),
     .attr = &(const int64_t){0}},
    {.in = {DESC(F32, 1, 3), DESC(I32, 1, 1), DESC(F32, 1, 1)},
     .data = {F32S(1, 2, 3), I32S(3), F32S(1)},
     .out = DESC(F32, 1, 3),
     .attr = &(const int64_t){0},
     .status = TUTTI_E_RANGE},
};

static const op_refusal refusals[] = {
    {.in = {DESC(F32, 2, 3, 2), DESC(I32, 1, 3), DESC(F32, 2, 2, 2)},
     .nin = 3,
     .attr = &(const int64_t){0},
     .status = TUTTI_E_SHAPE,
     .text = "scatter_add: src is F32 (2, 2) and what the index asks for is F32 (3, 2), want "
             "the same shape"},
    {.in = {DESC(F32, 2, 3, 2), DESC(F32, 1, 3), DESC(F32, 2, 3, 2)},
     .nin = 3,
     .attr = &(const int64_t){0},
     .status = TUTTI_E_ARG,
     .text = "scatter_add: index is F32 (3), want I32 or I64"},
    {.in = {DESC(I32, 1, 3), DESC(I32, 1, 3), DESC(F32, 1, 3)},
     .nin = 3,
     .attr = &(const int64_t){0},
     .status = TUTTI_E_ARG,
     .text = "scatter_add: base is I32 (3), want F32"},
};

OP_TEST_FULL(scatter_add, 3)
