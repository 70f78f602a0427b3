/* pad_test.c - pad against its definition, finite differences, numbers by hand; what it refuses. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/op_example.h"

typedef struct pad_attr {
    tutti_list before;
    tutti_list after;
    double value;
} pad_attr;

static const op_case cases[] = {
    {.op = "pad",
     .nin = 1,
     .in = {DESC(F32, 2, 4, 3)},
     .nattr = 3,
     .attr = {LIST("before", 0, 1),
              LIST("after", 2, 3),
              {"value", TUTTI_ATTR_F64, 0, 0, 0.5, NULL, NULL}}},
    {.op = "pad",
     .nin = 1,
     .in = {DESC(F32, 4, 2, 3, 3, 4)},
     .nattr = 2,
     .attr = {LIST("before", 0, 0, 0, 0), LIST("after", 0, 0, 0, 4)}},
    {.op = "pad",
     .nin = 1,
     .in = {DESC(F32, 2, 0, 3)},
     .nattr = 2,
     .attr = {LIST("before", 0, 1), LIST("after", 2, 3)}},
    {.op = "pad",
     .nin = 1,
     .in = {DESC(I32, 2, 4, 3)},
     .nattr = 2,
     .attr = {LIST("before", 0, 1), LIST("after", 2, 3)},
     .high = {99}},
    {.op = "pad",
     .nin = 1,
     .in = {DESC(F32, 2, 200, 203)},
     .nattr = 3,
     .attr = {LIST("before", 1, 2),
              LIST("after", 3, 4),
              {"value", TUTTI_ATTR_F64, 0, 0, -2, NULL, NULL}},
     .no_second = 1},
    {.op = "pad",
     .nin = 1,
     .in = {DESC(F32, 4, 2, 5, 6, 16)},
     .nattr = 2,
     .attr = {LIST("before", 0, 1, 2, 0), LIST("after", 0, 3, 0, 0)}},
};

static const op_example examples[] = {
    {.in = {DESC(F32, 2, 1, 2)},
     .data = {F32S(1, 2)},
     .out = DESC(F32, 2, 2, 4),
     .want = F32S(9, 1, 2, 9, 9, 9, 9, 9),
     .attr = &(const pad_attr){{2, {0, 1}}, {2, {1, 1}}, 9}},
    {.in = {DESC(U8, 1, 2)},
     .data = {U8S(1, 2)},
     .out = DESC(U8, 1, 4),
     .want = U8S(0, 0, 1, 2),
     .attr = &(const pad_attr){{1, {2}}, {1, {0}}, 0}},
};

static const op_refusal refusals[] = {
    {.in = {DESC(I64, 1, 3)},
     .nin = 1,
     .attr = &(const pad_attr){{1, {0}}, {1, {1}}, 1},
     .status = TUTTI_E_ARG,
     .text = "pad: x is I64 (3), which can only be padded with 0"},
    {.in = {DESC(F32, 1, 3)},
     .nin = 1,
     .attr = &(const pad_attr){{1, {0}}, {1, {-1}}, 1},
     .status = TUTTI_E_RANGE,
     .text = "pad: a negative number of elements on axis 0"},
    {.in = {DESC(F32, 1, 3)},
     .nin = 1,
     .attr = &(const pad_attr){{2, {0, 0}}, {1, {1}}, 1},
     .status = TUTTI_E_ARG,
     .text = "pad: before and after have 2 and 1 entries, want 1"},
};

OP_TEST_FULL(pad, 1)
