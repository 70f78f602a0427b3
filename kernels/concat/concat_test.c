/* concat_test.c - concat against its definition, finite differences, numbers by hand; what it refuses. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/op_example.h"

static const op_case cases[] = {
    {.op = "concat",
     .nin = 2,
     .in = {DESC(F32, 2, 4, 3), DESC(F32, 2, 4, 2)},
     .nattr = 1,
     .attr = {{"axis", TUTTI_ATTR_I64, 0, 1, 0.0, NULL, NULL}}},
    {.op = "concat",
     .nin = 3,
     .in = {DESC(F32, 2, 1, 3), DESC(F32, 2, 0, 3), DESC(F32, 2, 2, 3)},
     .nattr = 1,
     .attr = {{"axis", TUTTI_ATTR_I64, 0, 0, 0.0, NULL, NULL}}},
    {.op = "concat",
     .nin = 2,
     .in = {DESC(F32, 3, 4, 3, 2), DESC(F32, 3, 4, 3, 1)},
     .nattr = 1,
     .attr = {{"axis", TUTTI_ATTR_I64, 0, -1, 0.0, NULL, NULL}}},
    {.op = "concat", .nin = 2, .in = {DESC(I64, 1, 4), DESC(I64, 1, 3)}, .high = {9, 9}},
    {.op = "concat", .nin = 1, .in = {DESC(F32, 1, 3)}},
    {.op = "concat",
     .nin = 2,
     .in = {DESC(F32, 2, 300, 80), DESC(F32, 2, 300, 121)},
     .nattr = 1,
     .attr = {{"axis", TUTTI_ATTR_I64, 0, 1, 0.0, NULL, NULL}},
     .no_second = 1},
};

static const op_example examples[] = {
    {.in = {DESC(F32, 2, 2, 1), DESC(F32, 2, 2, 2)},
     .data = {F32S(1, 2), F32S(3, 4, 5, 6)},
     .out = DESC(F32, 2, 2, 3),
     .want = F32S(1, 3, 4, 2, 5, 6),
     .attr = &(const int64_t){1}},
};

static const op_refusal refusals[] = {
    {.in = {DESC(F32, 2, 2, 3), DESC(F32, 2, 3, 3)},
     .nin = 2,
     .attr = &(const int64_t){1},
     .status = TUTTI_E_SHAPE,
     .text = "concat: input 1 is F32 (3, 3), input 0 is F32 (2, 3)"},
    {.in = {DESC(F32, 1, 2), DESC(I32, 1, 2)},
     .nin = 2,
     .attr = &(const int64_t){0},
     .status = TUTTI_E_SHAPE,
     .text = "concat: input 1 is I32 (2), input 0 is F32 (2)"},
    {.in = {DESC(F32, 1, 2), DESC(F32, 1, 2)},
     .nin = 2,
     .attr = &(const int64_t){1},
     .status = TUTTI_E_RANGE,
     .text = "concat: axis 1, want one of rank 1"},
};

OP_TEST_FULL(concat, 2)
