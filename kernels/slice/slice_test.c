/* slice_test.c - slice against its definition, finite differences, numbers by hand; what it refuses. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/op_example.h"

static const op_case cases[] = {
    {.op = "slice",
     .nin = 1,
     .in = {DESC(F32, 2, 4, 3)},
     .nattr = 2,
     .attr = {LIST("begin", 0, 1), LIST("end", 4, 3)}},
    {.op = "slice",
     .nin = 1,
     .in = {DESC(F32, 4, 2, 6, 5, 3)},
     .nattr = 3,
     .attr = {LIST("begin", 0, 0, 0, 0), LIST("end", 2, 6, 5, 3), LIST("stride", 1, 2, 2, 1)}},
    {.op = "slice",
     .nin = 1,
     .in = {DESC(F32, 2, 4, 3)},
     .nattr = 2,
     .attr = {LIST("begin", 2, 1), LIST("end", 2, 3)}},
    {.op = "slice",
     .nin = 1,
     .in = {DESC(I64, 1, 9)},
     .nattr = 3,
     .attr = {LIST("begin", 1), LIST("end", 8), LIST("stride", 3)},
     .high = {99}},
    {.op = "slice",
     .nin = 1,
     .in = {DESC(F32, 2, 300, 201)},
     .nattr = 3,
     .attr = {LIST("begin", 7, 3), LIST("end", 290, 200), LIST("stride", 1, 2)},
     .no_second = 1},
};

static const op_example examples[] = {
    {.in = {DESC(F32, 2, 2, 4)},
     .data = {F32S(0, 1, 2, 3, 4, 5, 6, 7)},
     .out = DESC(F32, 2, 1, 2),
     .want = F32S(5, 7),
     .attr = (const tutti_list[]){{2, {1, 1}}, {2, {2, 4}}, {2, {1, 2}}, {0, {0}}}},
};

static const op_refusal refusals[] = {
    {.in = {DESC(F32, 2, 2, 3)},
     .nin = 1,
     .attr = (const tutti_list[]){{1, {0}}, {2, {1, 1}}, {0, {0}}, {0, {0}}},
     .status = TUTTI_E_ARG,
     .text = "slice: begin and end have 1 and 2 entries, want 2"},
    {.in = {DESC(F32, 2, 2, 3)},
     .nin = 1,
     .attr = (const tutti_list[]){{2, {0, 0}}, {2, {2, 4}}, {0, {0}}, {0, {0}}},
     .status = TUTTI_E_RANGE,
     .text = "slice: 0 to 4 by 1 on axis 1, which has 3"},
    {.in = {DESC(F32, 2, 2, 3)},
     .nin = 1,
     .attr = (const tutti_list[]){{2, {0, 0}}, {2, {2, 3}}, {2, {0, 1}}, {0, {0}}},
     .status = TUTTI_E_RANGE,
     .text = "slice: 0 to 2 by 0 on axis 0, which has 2"},
};

OP_TEST_FULL(slice, 1)
