/* sum_test.c - sum against its definition, finite differences, numbers by hand; what it refuses. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/op_example.h"

typedef struct axes_attr {
    tutti_list axes;
    int64_t keepdim;
} axes_attr;

static const op_case cases[] = {
    OP_REDUCE_CASES("sum"),
    {.op = "sum",
     .nin = 1,
     .in = {DESC(F32, 2, 5000, 10)},
     .nattr = 1,
     .attr = {LIST("axes", 0)},
     .no_second = 1},
    {.op = "sum",
     .nin = 1,
     .in = {DESC(F32, 2, 2, 20001)},
     .nattr = 1,
     .attr = {LIST("axes", 1)},
     .no_second = 1},
    {.op = "sum",
     .nin = 1,
     .in = {DESC(F32, 2, 3, 16384)},
     .nattr = 1,
     .attr = {LIST("axes", 1)},
     .no_second = 1},
    {.op = "sum",
     .nin = 1,
     .in = {DESC(F32, 4, 40, 7, 300, 5)},
     .nattr = 1,
     .attr = {LIST("axes", 0, 2)},
     .no_second = 1},
    {.op = "sum", .nin = 1, .in = {DESC(F32, 1, 30000)}, .no_second = 1},
    {.op = "sum", .nin = 1, .in = {DESC(F32, 1, 100003)}, .no_second = 1},
};

static const op_example examples[] = {
    {.in = {DESC(F32, 2, 2, 3)},
     .data = {F32S(1, 2, 6, -1, -2, -6)},
     .out = DESC(F32, 1, 2),
     .want = F32S(9, -9),
     .attr = &(const axes_attr){{1, {1}}, 0}},
    {.in = {DESC(F32, 2, 2, 3)},
     .data = {F32S(1, 2, 6, -1, -2, NAN)},
     .out = DESC(F32, 2, 1, 3),
     .want = F32S(0, 0, NAN),
     .attr = &(const axes_attr){{1, {0}}, 1}},
    {.in = {DESC(F32, 1, 0)},
     .data = {F32S(0)},
     .out = DESC(F32, 0, 0),
     .want = F32S(0),
     .attr = &(const axes_attr){{0, {0}}, 0}},
};

static const op_refusal refusals[] = {
    {.in = {DESC(F32, 2, 2, 3)},
     .nin = 1,
     .attr = &(const axes_attr){{1, {2}}, 0},
     .status = TUTTI_E_RANGE,
     .text = "sum: axis 2, want one of rank 2"},
    {.in = {DESC(I32, 1, 2)},
     .nin = 1,
     .attr = &(const axes_attr){{0, {0}}, 0},
     .status = TUTTI_E_ARG,
     .text = "sum: x is I32 (2), want F32"},
};

OP_TEST_FULL(sum, 1)
