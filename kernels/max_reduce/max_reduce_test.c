/* max_reduce_test.c - max_reduce against its definition, finite differences, numbers by hand; what it refuses. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/op_example.h"

typedef struct axes_attr {
    tutti_list axes;
    int64_t keepdim;
} axes_attr;

static const op_case cases[] = {
    {.op = "max_reduce", .nin = 1, .in = {DESC(F32, 2, 4, 3)}},
    {.op = "max_reduce",
     .nin = 1,
     .in = {DESC(F32, 3, 2, 3, 4)},
     .nattr = 1,
     .attr = {LIST("axes", 1)}},
    {.op = "max_reduce",
     .nin = 1,
     .in = {DESC(F32, 3, 2, 3, 4)},
     .nattr = 2,
     .attr = {LIST("axes", 0, -1), {"keepdim", TUTTI_ATTR_I64, 0, 1, 0.0, NULL, NULL}}},
    {.op = "max_reduce",
     .nin = 1,
     .in = {DESC(F32, 2, 7, 45)},
     .nattr = 1,
     .attr = {LIST("axes", 1)}},
    {.op = "max_reduce",
     .nin = 1,
     .in = {DESC(F32, 4, 2, 3, 4, 5)},
     .nattr = 1,
     .attr = {LIST("axes", 1, 2)}},
    {.op = "max_reduce",
     .nin = 1,
     .in = {DESC(F32, 3, 3, 1, 1)},
     .nattr = 1,
     .attr = {LIST("axes", 1)}},
    {.op = "max_reduce",
     .nin = 1,
     .in = {DESC(F32, 2, 0, 3)},
     .nattr = 1,
     .attr = {LIST("axes", 1)}},
    {.op = "max_reduce",
     .nin = 1,
     .in = {DESC(F32, 2, 60, 700)},
     .nattr = 1,
     .attr = {LIST("axes", 1)},
     .no_second = 1},
    {.op = "max_reduce", .nin = 1, .in = {DESC(F32, 0, 0)}},
    {.op = "max_reduce",
     .nin = 1,
     .in = {DESC(F32, 2, 9001, 3)},
     .nattr = 1,
     .attr = {LIST("axes", 0)},
     .no_second = 1},
    {.op = "max_reduce",
     .nin = 1,
     .in = {DESC(F32, 2, 2, 24000)},
     .nattr = 1,
     .attr = {LIST("axes", 1)},
     .no_second = 1},
};

static const op_example examples[] = {
    {.in = {DESC(F32, 2, 2, 3)},
     .data = {F32S(1, 5, 2, -4, -6, -5)},
     .out = DESC(F32, 1, 2),
     .want = F32S(5, -4),
     .attr = &(const axes_attr){{1, {1}}, 0}},
    {.in = {DESC(F32, 2, 2, 3)},
     .data = {F32S(1, NAN, 2, -4, -6, -5)},
     .out = DESC(F32, 2, 1, 3),
     .want = F32S(1, NAN, 2),
     .attr = &(const axes_attr){{1, {0}}, 1}},
    {.in = {DESC(F32, 2, 2, 2)},
     .data = {F32S(1, -INFINITY, NAN, 9)},
     .out = DESC(F32, 0, 0),
     .want = F32S(NAN),
     .attr = &(const axes_attr){{0, {0}}, 0}},
};

static const op_refusal refusals[] = {
    {.in = {DESC(F32, 2, 2, 0)},
     .nin = 1,
     .attr = &(const axes_attr){{1, {1}}, 0},
     .status = TUTTI_E_SHAPE,
     .text = "max_reduce: x is F32 (2, 0), which has nothing to choose from"},
    {.in = {DESC(F32, 2, 2, 3)},
     .nin = 1,
     .attr = &(const axes_attr){{1, {2}}, 0},
     .status = TUTTI_E_RANGE,
     .text = "max_reduce: axis 2, want one of rank 2"},
    {.in = {DESC(I32, 1, 2)},
     .nin = 1,
     .attr = &(const axes_attr){{0, {0}}, 0},
     .status = TUTTI_E_ARG,
     .text = "max_reduce: x is I32 (2), want F32"},
};

OP_TEST_FULL(max_reduce, 1)
