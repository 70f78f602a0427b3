/* flip_test.c - flip against its definition, finite differences, numbers by hand; what it refuses. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/op_example.h"

typedef struct axes_attr {
    tutti_list axes;
    int64_t keepdim;
} axes_attr;

static const op_case cases[] = {
    {.op = "flip", .nin = 1, .in = {DESC(F32, 2, 4, 3)}},
    {.op = "flip",
     .nin = 1,
     .in = {DESC(F32, 3, 2, 3, 4)},
     .nattr = 1,
     .attr = {LIST("axes", 1)}},
    {.op = "flip",
     .nin = 1,
     .in = {DESC(F32, 3, 2, 3, 4)},
     .nattr = 1,
     .attr = {LIST("axes", 0, -1)}},
    {.op = "flip", .nin = 1, .in = {DESC(F32, 2, 2, 0)}},
    {.op = "flip", .nin = 1, .in = {DESC(F32, 0, 0)}},
    {.op = "flip", .nin = 1, .in = {DESC(I32, 2, 5, 7)}, .high = {99}},
    {.op = "flip",
     .nin = 1,
     .in = {DESC(F32, 3, 40, 40, 30)},
     .nattr = 1,
     .attr = {LIST("axes", 1)}},
};

static const op_example examples[] = {
    {.in = {DESC(U8, 2, 2, 3)},
     .data = {U8S(1, 2, 3, 4, 5, 6)},
     .out = DESC(U8, 2, 2, 3),
     .want = U8S(3, 2, 1, 6, 5, 4),
     .attr = &(const tutti_list){1, {1}}},
};

static const op_refusal refusals[] = {
    {.in = {DESC(F32, 2, 2, 3)},
     .nin = 1,
     .attr = &(const axes_attr){{1, {-3}}, 0},
     .status = TUTTI_E_RANGE,
     .text = "flip: axis -3, want one of rank 2"},
};

OP_TEST_FULL(flip, 1)
